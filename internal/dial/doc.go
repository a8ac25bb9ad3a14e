// Package dial finds the addresses of names and tries them: Names remembers what a
// resolver has said (names.go), Attempts tries addresses one after the other, or lets
// them race as RFC 8305 wants it (attempts.go).
//
// It imports nothing of this module. How one address is connected to, and what an
// error looks like, its user says.
package dial
