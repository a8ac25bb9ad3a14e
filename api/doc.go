// Package api holds the exported API that this module has promised to have,
// and a test that compares it with the one there is. It has no code to import.
//
// fasthttp-1.77.txt lists that API, one feature a line: constants with their
// values and types, variables, functions, types, fields and methods, without
// the names of parameters. fasthttp-1.78.txt has the lines that v1.78.0 adds.
// missing.txt has the lines of both that are not there yet. It may only shrink:
// an implemented feature is taken off by
//
//	go generate ./api
//
// and one that was there and is not any more fails the test.
package api

//go:generate go test -count=1 -run TestExportedAPI . -update
