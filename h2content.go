package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2body"
)

// h2Side is an h2Conn for those who read and write content.
type h2Side h2Conn

var _ http2body.Side = (*h2Side)(nil)

// Lock implements http2body.Side.
func (h *h2Side) Lock() { h.mu.Lock() }

// Unlock implements http2body.Side.
func (h *h2Side) Unlock() { h.mu.Unlock() }

// HTTP2 implements http2body.Side.
func (h *h2Side) HTTP2() *http2.Conn { return &h.conn }

// Wakes implements http2body.Side.
func (h *h2Side) Wakes() bool { return (*h2Conn)(h).wakes() }

// Wake implements http2body.Side.
func (h *h2Side) Wake() { (*h2Conn)(h).push() }

// h2Content is the content of a request of HTTP/2 that is read while it arrives.
//
// It outlives its exchange if a handler that is late still has it.
type h2Content struct {
	h      *h2Conn
	x      *h2Exchange // nil after the end of the exchange; guarded by the mutex of h
	in     http2body.Incoming
	accept trailerFilter

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

// newH2Content makes the content of the request of x. end says that all of it has come.
func newH2Content(x *h2Exchange, end bool) *h2Content {
	c := &h2Content{h: x.h, x: x, accept: x.s.AcceptTrailer, to: &x.ctx.Request.Header.header}
	c.in.Init((*h2Side)(x.h), x.stream, x.framing)
	if end {
		c.in.End()
	}
	return c
}

// leave says that the exchange has ended. mu is held.
func (c *h2Content) leave() {
	c.x = nil
	c.in.Leave(errReadingCut)
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
	says := c.x != nil && c.x.putContinue()
	c.h.mu.Unlock()
	if says {
		c.h.push()
	}
	n, err := c.in.Read(p)
	if err == io.EOF && !c.done {
		// the goroutine of the reader owns the header
		c.done = true
		if c.over = c.to.addSection(c.in.Section(), c.accept); c.over != nil {
			return 0, c.over
		}
	}
	if c.limited && int64(n) > c.limit {
		n, err, c.over = int(c.limit), ErrBodyTooLarge, ErrBodyTooLarge
	}
	c.limit -= int64(n)
	return n, err
}

// Interrupt ends the reading now, also that of a goroutine which waits in Read. Package
// fasthttpadaptor calls it, from any goroutine.
func (c *h2Content) Interrupt() { _ = c.in.Close() }

// Close implements io.Closer.
func (c *h2Content) Close() error { return c.in.Close() }

// CloseWithError implements ReadCloserWithError.
func (c *h2Content) CloseWithError(error) error { return c.Close() }

// Limit implements contentSource.
func (c *h2Content) Limit(n int64) error {
	if n = max(n, 0); !c.limited || n < c.limit {
		c.limited, c.limit = true, n
	}
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	if left, known := c.in.Left(); known && left > c.limit || int64(c.in.Unread()) > c.limit {
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
func (c *h2Content) Ended() bool { return c.in.Ended() }

// trailersTo implements contentSource.
func (c *h2Content) trailersTo(h *header) { c.to = h }
