// Package http2body makes the body of an HTTP/2 message an io.Reader or io.Writer. The
// goroutine that uses it may block; other goroutines drive the connection.
package http2body

import (
	"io"
	"os"
	"sync"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
)

// Side is a connection, as seen by a user of one of its streams.
type Side interface {
	// Locker guards the http2.Conn, and everything documented as needing the lock.
	sync.Locker
	// HTTP2 returns the http2.Conn. Hold the lock while using the result.
	HTTP2() *http2.Conn
	// Wakes reports whether there is output that no goroutine writes yet: the caller, which
	// holds the lock, then calls Wake after releasing it.
	Wakes() bool
	// Wake writes the output, or makes another goroutine write it.
	Wake()
}

// Incoming is content to read while it arrives. The window of its stream limits the
// unread bytes. It may outlive the stream.
type Incoming struct {
	side Side

	// guarded by the lock
	stream  *http2.Stream // nil after Detach
	more    sync.Cond     // something has arrived, or err is set
	arrived *bufpool.Buffer
	read    int // of arrived
	ended   bool
	err     error // why no more arrives
	known   bool  // left is the length of the rest
	left    int64
	closed  bool
	late    bool // the deadline of a Tunnel has passed
	section field.List
}

// Init makes c the content of the message that arrives on a stream.
func (c *Incoming) Init(side Side, s *http2.Stream, framing http1.Framing) {
	c.side, c.stream, c.more.L = side, s, side
	switch framing.Kind {
	case http1.NoBody:
		c.known = true
	case http1.Length:
		c.known, c.left = true, framing.Length
	}
}

// End marks the content as complete, before c is used.
func (c *Incoming) End() { c.ended = true }

// Put adds content that has arrived. It returns false if the content is not wanted, and so
// counts as consumed. The lock is held.
func (c *Incoming) Put(p []byte, end bool) bool {
	c.ended = end
	c.more.Broadcast()
	if c.closed || c.err != nil {
		return false
	}
	if len(p) == 0 {
		return true
	}
	if c.arrived == nil {
		c.arrived = bufpool.Get(len(p))
	}
	b := c.arrived
	if c.read > 0 && cap(b.B)-len(b.B) < len(p) {
		b.B = b.B[:copy(b.B, b.B[c.read:])]
		c.read = 0
	}
	if cap(b.B)-len(b.B) < len(p) {
		b.Grow(max(len(p), cap(b.B)))
	}
	b.B = append(b.B, p...)
	return true
}

// PutTrailers takes the trailer section, which ends the content. The lock is held.
func (c *Incoming) PutTrailers(m *http2.Message) {
	c.section, m.Fields = m.Fields, c.section
	c.ended = true
	c.more.Broadcast()
}

// Fail ends the content early, unless it has ended. The lock is held.
func (c *Incoming) Fail(err error) {
	if c.err == nil && !c.ended {
		c.err = err
	}
	c.more.Broadcast()
}

// Detach is called when the stream is about to be released. Unread bytes are lost. The lock
// is held.
func (c *Incoming) Detach(err error) {
	c.stream = nil
	if c.unread() > 0 {
		// content without its end must not seem complete
		c.ended = false
	}
	c.Fail(err)
	c.discard()
}

func (c *Incoming) discard() {
	bufpool.Put(c.arrived)
	c.arrived, c.read = nil, 0
}

// Read implements io.Reader.
func (c *Incoming) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.side.Lock()
	for c.unread() == 0 && !c.ended && c.err == nil && !c.closed && !c.late {
		if c.side.Wakes() {
			// the peer may wait for this side's output before it sends more
			c.side.Unlock()
			c.side.Wake()
			c.side.Lock()
			continue
		}
		c.more.Wait()
	}
	if c.late && !c.closed {
		c.side.Unlock()
		return 0, os.ErrDeadlineExceeded
	}
	n, wake := c.copyArrived(p), false
	var err error
	switch {
	case n > 0:
		wake = c.side.Wakes()
	case c.closed:
		err = bodyio.ErrClosed
	case c.err != nil:
		err = c.err
	default:
		err = io.EOF
	}
	c.side.Unlock()
	if wake {
		c.side.Wake()
	}
	return n, err
}

// setLate makes Read fail with os.ErrDeadlineExceeded, or no longer. The lock is held.
func (c *Incoming) setLate(late bool) {
	c.late = late
	c.more.Broadcast()
}

// Unread returns how many bytes have arrived but are unread. The lock is held.
func (c *Incoming) Unread() int { return c.unread() }

func (c *Incoming) unread() int {
	if c.arrived == nil {
		return 0
	}
	return len(c.arrived.B) - c.read
}

// copyArrived copies bytes that have arrived to p, and lets the peer send as many again.
func (c *Incoming) copyArrived(p []byte) (n int) {
	if c.arrived == nil || c.closed {
		return 0
	}
	n = copy(p, c.arrived.B[c.read:])
	c.read += n
	c.left -= int64(n)
	if c.unread() == 0 {
		c.discard()
	}
	if n > 0 && c.stream != nil {
		c.side.HTTP2().Consumed(c.stream, n)
	}
	return n
}

// Close makes Read fail from now on. Bytes that arrive are discarded.
func (c *Incoming) Close() error {
	c.side.Lock()
	c.closed = true
	if n := c.unread(); n > 0 && c.stream != nil {
		c.side.HTTP2().Consumed(c.stream, n)
	}
	c.discard()
	c.more.Broadcast()
	wake := c.side.Wakes()
	c.side.Unlock()
	if wake {
		// the peer may wait for the window before it sends the end
		c.side.Wake()
	}
	return nil
}

// Ended reports whether the content has arrived and was read completely.
func (c *Incoming) Ended() bool {
	c.side.Lock()
	defer c.side.Unlock()
	return c.ended && c.unread() == 0
}

// Remaining returns how much of the content is unread, if known. The lock is held.
func (c *Incoming) Remaining() (n int64, known bool) { return c.left, c.known }

// Section returns the trailer section, once Read has returned io.EOF.
func (c *Incoming) Section() *field.List { return &c.section }
