// Package http2body reads and writes the content of messages of HTTP/2, for goroutines that
// may wait, on connections that others drive.
package http2body

import (
	"io"
	"sync"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
)

// Side is a connection, for those who use one of its streams.
type Side interface {
	// Locker guards the http2.Conn, and whatever is said to need the lock.
	sync.Locker
	// HTTP2 returns the http2.Conn. The lock is held while the result is used.
	HTTP2() *http2.Conn
	// Wakes reports whether there is output that nobody knows of: the caller, who has the
	// lock, calls Wake once it has released it.
	Wakes() bool
	// Wake has the output written.
	Wake()
}

// Incoming is content that is read while it arrives. The window of its stream bounds what has
// arrived and was not read. It may outlive the stream.
type Incoming struct {
	side Side

	// guarded by the lock
	stream  *http2.Stream // nil after Leave
	more    sync.Cond     // something has come, or err is set
	arrived *bufpool.Buffer
	read    int // of arrived
	ended   bool
	err     error // why no more comes
	known   bool  // left is the length of the rest
	left    int64
	closed  bool
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

// End says, before c is used, that all of the content has come.
func (c *Incoming) End() { c.ended = true }

// Put takes content that has arrived. It is false if nobody wants it, so that it counts as
// consumed. The lock is held.
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

// Leave says that the stream is about to be released. What has arrived is lost. The lock is
// held.
func (c *Incoming) Leave(err error) {
	c.stream = nil
	if c.unread() > 0 {
		// content without its end must not pass for all of it
		c.ended = false
	}
	c.Fail(err)
	c.drop()
}

func (c *Incoming) drop() {
	bufpool.Put(c.arrived)
	c.arrived, c.read = nil, 0
}

// Read implements io.Reader.
func (c *Incoming) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.side.Lock()
	for c.unread() == 0 && !c.ended && c.err == nil && !c.closed {
		if c.side.Wakes() {
			// the peer may wait for what is to be written before it sends more
			c.side.Unlock()
			c.side.Wake()
			c.side.Lock()
			continue
		}
		c.more.Wait()
	}
	n, wake := c.take(p), false
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

// Unread returns how many bytes have arrived and were not read. The lock is held.
func (c *Incoming) Unread() int { return c.unread() }

func (c *Incoming) unread() int {
	if c.arrived == nil {
		return 0
	}
	return len(c.arrived.B) - c.read
}

// take copies what has arrived to p, and lets the peer send as much again.
func (c *Incoming) take(p []byte) (n int) {
	if c.arrived == nil || c.closed {
		return 0
	}
	n = copy(p, c.arrived.B[c.read:])
	c.read += n
	c.left -= int64(n)
	if c.unread() == 0 {
		c.drop()
	}
	if n > 0 && c.stream != nil {
		c.side.HTTP2().Consumed(c.stream, n)
	}
	return n
}

// Close makes Read fail from now on. What arrives is discarded.
func (c *Incoming) Close() error {
	c.side.Lock()
	c.closed = true
	if n := c.unread(); n > 0 && c.stream != nil {
		c.side.HTTP2().Consumed(c.stream, n)
	}
	c.drop()
	c.more.Broadcast()
	wake := c.side.Wakes()
	c.side.Unlock()
	if wake {
		// the peer may wait for the window before it comes to the end
		c.side.Wake()
	}
	return nil
}

// Ended reports whether the content came and was read to its end.
func (c *Incoming) Ended() bool {
	c.side.Lock()
	defer c.side.Unlock()
	return c.ended && c.unread() == 0
}

// Left returns how much of the content was not read yet, if that is known. The lock is held.
func (c *Incoming) Left() (n int64, known bool) { return c.left, c.known }

// Section returns the trailer section, once Read has returned io.EOF.
func (c *Incoming) Section() *field.List { return &c.section }
