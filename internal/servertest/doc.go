// Package servertest provides helpers for tests of whole servers and whole clients:
// a server on every engine, the client side of its connections, scripted peers, and
// waits for expected events.
//
// It does not import the root package, so both the tests inside that package and
// those in integrationtests can use it.
package servertest
