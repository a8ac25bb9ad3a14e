package servertest

import "testing"

// Client is the interface that this package needs of a client of the root package.
type Client interface {
	CloseIdleConnections() // closes unused ones
	ConnsCount() int       // open connections
	PendingRequests() int  // calls
}

// EndsWith ends a client with the test: after it has closed its idle connections, it has
// neither connections nor calls.
func EndsWith[C Client](t testing.TB, c C) C {
	t.Cleanup(func() { NothingLeft(t, c) })
	return c
}

// NothingLeft waits until a client has neither connections nor calls, and closes connections
// that become idle.
func NothingLeft(t testing.TB, c Client) {
	var n, pending int
	if !holdsInTime(func() bool {
		c.CloseIdleConnections()
		n, pending = c.ConnsCount(), c.PendingRequests()
		return n == 0 && pending == 0
	}) {
		t.Errorf("%d connections and %d calls are left", n, pending)
	}
}

// Borrow acquires a value that is released when the test ends.
func Borrow[T any](t testing.TB, acquire func() T, release func(T)) T {
	v := acquire()
	t.Cleanup(func() { release(v) })
	return v
}
