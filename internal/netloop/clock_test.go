//go:build linux

package netloop

import (
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// handClock is a clock that stands still until a test moves it.
type handClock struct{ at atomic.Int64 }

func newHandClock() *handClock {
	c := new(handClock)
	c.pass(time.Hour)
	return c
}

func (c *handClock) now() time.Duration { return time.Duration(c.at.Load()) }

func (c *handClock) pass(d time.Duration) { c.at.Add(int64(d)) }

// newRestingLoop returns a loop without pollers, for a bubble of synctest: the bubble's
// time stands still while a poller waits for the system. Timed actions of the loop, it
// still does.
func newRestingLoop(t *testing.T) *Loop {
	t.Helper()
	began := time.Now()
	l := &Loop{now: func() time.Duration { return time.Since(began) + 1 }, hasLeader: true}
	servertest.Must(t, l.open())
	l.wheel.start(l.now)
	l.timer = time.AfterFunc(time.Hour, func() {})
	l.timer.Stop()
	t.Cleanup(l.close)
	return l
}

// descriptor returns one end of a stream whose other end does nothing.
func descriptor(t *testing.T) int {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	servertest.Must(t, err)
	t.Cleanup(func() { _ = syscall.Close(fds[0]) })
	return fds[1]
}

// mortal is a connection that reports when its deadline has passed.
type mortal struct {
	Conn
	expired chan time.Time
}

func (c *mortal) Serve(*Poller) bool { return true }
func (c *mortal) PeerGone()          {}
func (c *mortal) PeerSent()          {}

func (c *mortal) Expire() bool {
	c.expired <- time.Now()
	c.Close(false)
	return false
}

// newMortal adds a connection to a loop, with a first deadline.
func newMortal(t *testing.T, l *Loop, patience time.Duration) *mortal {
	t.Helper()
	c := &mortal{expired: make(chan time.Time, 1)}
	c.Init(descriptor(t), c)
	servertest.Must(t, l.add(&c.Conn, patience))
	return c
}

// own calls f as the owner of an idle connection.
func (c *mortal) own(t *testing.T, f func()) {
	t.Helper()
	if !c.TryAcquire() {
		t.Fatal("the connection is not idle")
	}
	f()
	c.Release()
}
