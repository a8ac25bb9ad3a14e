// Package dial finds the addresses of names and tries them. Names caches the results
// of a resolver (names.go). Attempts tries addresses one after the other, or in a race
// as in RFC 8305 (attempts.go).
//
// It imports nothing of this module. Its caller supplies the function that connects to
// one address, and the one that makes errors.
package dial
