//go:build linux

package netloop

import (
	"io"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// talker sends a text, and reads no input before that.
type talker struct {
	Conn
	rest   []byte
	served atomic.Int32
	full   chan struct{} // gets a value when output waits
}

func (c *talker) Serve(*Poller) bool {
	c.served.Add(1)
	n, err := c.Write(c.rest, nil)
	if c.rest = c.rest[n:]; err == nil || err == ErrAgain {
		select {
		case c.full <- struct{}{}:
		default:
		}
		return true
	}
	c.Close(false)
	return false
}

func (c *talker) PeerGone()    {}
func (c *talker) PeerSent()    {}
func (c *talker) Expire() bool { return true }

// A peer that has sent more than is read, and that does not read, costs nothing: the input is
// an event, but only once. When the peer reads, the output continues.
func TestPeerThatDoesNotReadIsNotServedAllTheTime(t *testing.T) {
	w := newWorld(t, 1)
	nc, fd := pair(t)
	const size = 64 << 20
	c := &talker{rest: make([]byte, size), full: make(chan struct{}, 1)}
	c.Init(fd, c)
	servertest.Must(t, w.g.Add(&c.Conn, 0))
	for range 3 {
		w.send(nc, "input")
		servertest.Receive(t, "output that waits", c.full)
	}
	other, _ := w.connect()
	before := c.served.Load()
	const rounds = 200
	for range rounds {
		w.ask(other, "x")
	}
	// the last input and a little room
	if n := c.served.Load() - before; n > rounds/10 {
		t.Errorf("served %d times while nothing happened, and another connection %d times", n, rounds)
	}
	_, err := io.CopyN(io.Discard, nc, size)
	servertest.Must(t, err)
}
