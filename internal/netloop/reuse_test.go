//go:build linux

package netloop

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// A shutdown may find a connection registered with the server, but not yet
// on its loop.
func TestConnectionsCannotBeAcquiredBeforeTheyAreOnALoop(t *testing.T) {
	w := newWorld(t, 1)
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
	servertest.Eventually(t, "the connection can be acquired", c.TryAcquire)
	c.Close(false)
}

// If Add fails, the caller still owns the connection and closes it. If it had no owner, its
// deadline could close it as well.
func TestConnectionsThatCannotBeAddedStayTheCallers(t *testing.T) {
	w := newWorld(t, 1)
	fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &echo{t: t, free: w.free, blocked: &w.blocked, served: &w.served, expired: make(chan struct{})}
	c.Init(fd, c)
	if err := w.g.Add(&c.Conn, time.Nanosecond); err == nil {
		t.Fatal("what cannot be polled was added")
	}
	if c.TryAcquire() {
		t.Error("the connection has no owner")
	}
	c.Close(false)
}
