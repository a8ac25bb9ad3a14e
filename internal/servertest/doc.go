// Package servertest has what tests of whole servers and whole clients need: a
// server on every engine, the client's side of its connections, peers that do
// what a test says, and waits for what must come.
//
// It imports nothing of the root package, so that tests inside of that can use it
// as well as those in integrationtests.
package servertest
