// Package peers has tests only: the clients of the root package talk to servers
// that others have written, each in a process of its own if it is not Go's
// net/http. A reader starts with origin_test.go, which says what every server
// is asked; tests of servers that are not installed are skipped.
package peers
