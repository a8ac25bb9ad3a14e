// Package dial finds the addresses of names and tries them. Names caches the results
// of a resolver (names.go). Attempts tries addresses one after the other, or in a race
// as in RFC 8305 (attempts.go). Dialer does both, and limits how many dials run at a time
// (dialer.go).
//
// It imports nothing of this module. The caller supplies the function that makes errors.
// Start with Dialer.Dial.
package dial
