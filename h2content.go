package fasthttp

import (
	"io"
	"sync"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
)

// h2Content is the content of a request of HTTP/2 that is read while it arrives. The window
// of its stream bounds what has arrived and was not read.
//
// It outlives its exchange if a handler that is late still has it.
type h2Content struct {
	h      *h2Conn
	x      *h2Exchange   // nil after the end of the exchange
	stream *http2.Stream // nil then, too
	accept trailerFilter

	// guarded by the mutex of the connection
	more    sync.Cond // something has come, or err is set
	arrived *bufpool.Buffer
	read    int // of arrived
	ended   bool
	err     error // why no more comes
	known   bool  // left is the length of the rest
	left    int64
	closed  bool
	fields  field.List // the trailer section

	// used by the reader
	to      *header // gets the trailer section
	limited bool
	limit   int64
	over    error // that of Limit, or of the trailer section
	done    bool  // io.EOF was returned
}

var (
	_ contentSource       = (*h2Content)(nil)
	_ ReadCloserWithError = (*h2Content)(nil)
)

func newH2Content(x *h2Exchange) *h2Content {
	c := &h2Content{h: x.h, x: x, stream: x.stream, accept: x.h.s.AcceptTrailer, to: &x.ctx.Request.Header.header}
	c.more.L = &x.h.mu
	if x.framing.Kind == http1.Length {
		c.known, c.left = true, x.framing.Length
	}
	return c
}

// put takes content that has arrived. It is false if it is not wanted. mu is held.
func (c *h2Content) put(ev *http2.Event) bool {
	c.ended = ev.End
	c.more.Broadcast()
	if c.closed || c.err != nil {
		return false
	}
	if len(ev.Payload) == 0 {
		return true
	}
	if c.arrived == nil {
		c.arrived = bufpool.Get(len(ev.Payload))
	}
	b := c.arrived
	if c.read > 0 && cap(b.B)-len(b.B) < len(ev.Payload) {
		b.B = b.B[:copy(b.B, b.B[c.read:])]
		c.read = 0
	}
	if need := len(ev.Payload); cap(b.B)-len(b.B) < need {
		b.Grow(max(need, cap(b.B)))
	}
	b.B = append(b.B, ev.Payload...)
	return true
}

// putTrailers takes the trailer section. mu is held.
func (c *h2Content) putTrailers(m *http2.Message) {
	c.fields, m.Fields = m.Fields, c.fields
}

// fail ends the content early. mu is held.
func (c *h2Content) fail(err error) {
	if c.err == nil && !c.ended {
		c.err = err
	}
	c.more.Broadcast()
}

// leave says that the exchange has ended. mu is held.
func (c *h2Content) leave() {
	c.x, c.stream = nil, nil
	c.fail(errReadingCut)
	c.drop()
}

func (c *h2Content) drop() {
	bufpool.Put(c.arrived)
	c.arrived, c.read = nil, 0
}

// Read implements io.Reader.
func (c *h2Content) Read(p []byte) (int, error) {
	if c.over != nil {
		return 0, c.over
	}
	if len(p) == 0 {
		return 0, nil
	}
	if c.limited && c.limit < int64(len(p)) {
		// one byte more tells whether there is more
		p = p[:c.limit+1]
	}
	c.h.mu.Lock()
	if c.x != nil && c.x.putContinue() {
		c.h.mu.Unlock()
		c.h.link.Wake()
		c.h.mu.Lock()
	}
	for c.unread() == 0 && !c.ended && c.err == nil && !c.closed {
		if c.h.wakes() {
			// the client may wait for the head of the response before it sends more
			c.h.mu.Unlock()
			c.h.link.Wake()
			c.h.mu.Lock()
			continue
		}
		c.more.Wait()
	}
	n, wake := c.take(p), false
	err := error(nil)
	switch {
	case n > 0:
		wake = c.h.wakes()
	case c.closed:
		err = errStreamClosed
	case c.err != nil:
		err = c.err
	default:
		err = io.EOF
	}
	c.h.mu.Unlock()
	if wake {
		c.h.link.Wake()
	}
	if err == io.EOF && !c.done {
		// the goroutine of the reader owns the header
		c.done = true
		if c.over = c.to.addSection(&c.fields, c.accept); c.over != nil {
			return 0, c.over
		}
	}
	if c.limited && int64(n) > c.limit {
		n, err, c.over = int(c.limit), ErrBodyTooLarge, ErrBodyTooLarge
	}
	c.limit -= int64(n)
	return n, err
}

func (c *h2Content) unread() int {
	if c.arrived == nil {
		return 0
	}
	return len(c.arrived.B) - c.read
}

// take copies what has arrived to p, and lets the peer send as much again. mu is held.
func (c *h2Content) take(p []byte) (n int) {
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
		c.h.conn.Consumed(c.stream, n)
	}
	return n
}

// Close implements io.Closer.
func (c *h2Content) Close() error {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	c.closed = true
	if n := c.unread(); n > 0 && c.stream != nil {
		c.h.conn.Consumed(c.stream, n)
	}
	c.drop()
	c.more.Broadcast()
	return nil
}

// CloseWithError implements ReadCloserWithError.
func (c *h2Content) CloseWithError(error) error { return c.Close() }

// Limit implements contentSource.
func (c *h2Content) Limit(n int64) error {
	c.limited, c.limit = true, max(n, 0)
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	if c.known && c.left > c.limit || int64(c.unread()) > c.limit {
		c.over = ErrBodyTooLarge
	}
	return c.over
}

// Drain implements contentSource.
func (c *h2Content) Drain(limit *int) bodyio.Drained {
	buf := bufpool.Get(bodySpace)
	defer bufpool.Put(buf)
	for *limit > 0 {
		n, err := c.Read(buf.B[:min(cap(buf.B), *limit)])
		*limit -= n
		if err == io.EOF {
			return bodyio.DrainedAll
		}
		if err != nil {
			break
		}
	}
	return bodyio.DrainedNever
}

// DrainArrived implements contentSource. What is not read is no hindrance to other streams.
func (c *h2Content) DrainArrived(*int) bodyio.Drained {
	if c.Ended() {
		return bodyio.DrainedAll
	}
	return bodyio.DrainedNever
}

// Ended implements contentSource.
func (c *h2Content) Ended() bool {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	return c.ended && c.unread() == 0
}

// trailersTo implements contentSource.
func (c *h2Content) trailersTo(h *header) { c.to = h }
