package servertest

import "testing"

// Client is what this package does with a client of the root package.
type Client interface {
	CloseIdleConnections() // those that no call uses
	ConnsCount() int       // open connections
	PendingRequests() int  // calls
}

// EndsWith has a client end with the test: there are neither connections nor calls then, once
// it has closed those that are idle.
func EndsWith[C Client](t testing.TB, c C) C {
	t.Cleanup(func() { NothingLeft(t, c) })
	return c
}

// NothingLeft waits until a client has neither connections nor calls, and closes those that
// become idle.
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

// Borrow acquires what is released when the test ends.
func Borrow[T any](t testing.TB, acquire func() T, release func(T)) T {
	v := acquire()
	t.Cleanup(func() { release(v) })
	return v
}
