//go:build linux

package netloop

import (
	"testing"
	"time"
)

// A shutdown may meet a connection that is known already and not yet on its
// loop.
func TestConnectionsCannotBeAcquiredBeforeTheyAreOnALoop(t *testing.T) {
	w := newWorld(t, 1)
	defer w.g.Close()
	nc, fd := pair(t)
	c := &echo{t: t, free: w.free, blocked: &w.blocked, served: &w.served, expired: make(chan struct{})}
	c.Init(fd, c)
	if c.TryAcquire() {
		t.Fatal("acquired a connection that is on no loop")
	}
	if err := w.g.Add(&c.Conn, 0); err != nil {
		t.Fatal(err)
	}
	w.ask(nc, "hello")
	eventually(t, "the connection can be acquired", c.TryAcquire)
	c.Close(false)
}

// The memory of a connection may have been on a loop that has ended, with a
// plan that nobody will follow.
func TestDeadlinesOfConnectionsThatAreUsedAgain(t *testing.T) {
	w := newWorld(t, 1)
	defer w.g.Close()
	_, fd := pair(t)
	c := &echo{t: t, free: w.free, blocked: &w.blocked, served: &w.served, expired: make(chan struct{})}
	c.planned.Store(1)
	c.Init(fd, c)
	if err := w.g.Add(&c.Conn, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.expired:
	case <-time.After(10 * time.Second):
		t.Fatal("the deadline was never looked at")
	}
}
