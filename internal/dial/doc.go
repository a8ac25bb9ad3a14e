// Package dial resolves names and connects to their addresses. Names caches the results
// of a resolver (names.go). Attempts tries addresses one after the other, or in a race as
// in RFC 8305 (attempts.go). Dialer does both, and limits the number of concurrent dials
// (dialer.go).
//
// The caller supplies the function that makes errors. Start with Dialer.Dial.
package dial
