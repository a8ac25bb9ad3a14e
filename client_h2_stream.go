package fasthttp

import (
	"context"
	"io"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2body"
	"github.com/valyala/fasthttp/internal/http2client"
)

// h2Stream is the body of a response that the caller reads while it arrives. It holds the
// stream of HTTP/2 until its end, or until it is closed; other calls use the connection
// meanwhile.
//
// It may be closed while another goroutine reads from it: that read fails then. If the request
// was CONNECT, it can be written to.
type h2Stream struct {
	x    *h2Call // has the reservation, until Release
	c    *http2client.Conn
	in   http2body.Incoming
	gate bodyio.Gate
	to   *header // gets the trailer section
	done bool    // to has got it

	tunnel *http2body.Outgoing // nil unless the request was CONNECT
	sender *h2Sender           // of the request, if it is still being sent
	stream *http2.Stream       // nil after Release; guarded by the lock of c

	timer *time.Timer // of the deadline, or nil
	stop  func() bool // of watching the context, or nil
}

// newH2Stream makes the body of the response of x, whose head has arrived. The lock is
// held.
func newH2Stream(x *h2Call, opens, end bool) *h2Stream {
	s := &h2Stream{x: x, c: x.p.conn, stream: x.stream, to: &x.resp.Header.header}
	framing := x.framing
	if opens {
		framing = http1.Framing{Kind: http1.UntilClose}
		s.tunnel = new(http2body.Outgoing)
		s.tunnel.Init(x.p.conn, x.stream)
	}
	s.in.Init(x.p.conn, x.stream, framing)
	if end {
		s.in.End()
	}
	return s
}

// trailersTo makes h the header that gets the trailer section. No goroutine reads
// meanwhile.
func (s *h2Stream) trailersTo(h *header) { s.to = h }

// startStream leaves the body to the caller. The sending of the request may continue
// meanwhile.
func (x *h2Call) startStream() {
	s, resp, c := x.body, x.resp, x.p.conn
	if x.sender != nil && x.sender.lent {
		x.finishLent()
	}
	deadline, ctx := x.call.deadline, x.call.ctx
	if timeout := x.hc.ReadTimeout; timeout > 0 && s.tunnel == nil {
		deadline = clock.Earliest(deadline, time.Now().Add(timeout))
	}
	size := resp.Header.contentLength
	if s.tunnel != nil {
		size = -2
	}
	resp.body.setStream(s, size)
	resp.body.limit = x.hc.MaxResponseBodySize
	c.Lock()
	// request and call belong to the caller again
	if x.sender != nil {
		s.sender = x.sender
		x.sender.detach()
	} else if x.send < h2Sent {
		c.HTTP2().Own(x.stream)
	}
	x.call = &callState{ctx: ctx, deadline: deadline}
	x.req, x.resp = nil, nil
	x.stopLeading()
	_, known := s.in.Left()
	empty := known && x.framing.Kind == http1.NoBody && s.tunnel == nil && x.send >= h2Sent
	c.Unlock()
	if empty {
		// a caller that knows that the body is empty may never close it
		s.gate.End((*gatedH2Stream)(s), 0)
		return
	}
	if !deadline.IsZero() {
		s.timer = time.AfterFunc(time.Until(deadline), func() { s.cancel(ErrTimeout) })
	}
	if ctx != nil && ctx.Done() != nil {
		s.stop = context.AfterFunc(ctx, func() { s.cancel(contextError(ctx)) })
	}
}

// cancel ends the stream early.
func (s *h2Stream) cancel(err error) {
	c := s.c
	c.Lock()
	if s.stream != nil {
		s.in.Fail(err)
		s.cut(err)
		c.HTTP2().Reset(s.stream, http2.Cancel)
	}
	wake := c.Wakes()
	c.Unlock()
	if wake {
		c.Wake()
	}
}

// leave is called before the stream of HTTP/2 is released. The lock is held.
func (s *h2Stream) leave() {
	s.stream = nil
	s.in.Leave(errStreamClosed)
	s.cut(errStreamClosed)
}

// cut records that nothing more can be sent. The lock is held.
func (s *h2Stream) cut(err error) {
	if s.tunnel != nil {
		s.tunnel.Cut(err)
	}
	if s.sender != nil {
		s.sender.out.Cut(err)
	}
}

// Read implements io.Reader. It returns io.ErrUnexpectedEOF if the connection ends before the
// body does, and ErrTimeout when the time of the call is up.
func (s *h2Stream) Read(p []byte) (int, error) { return s.gate.Read((*gatedH2Stream)(s), p) }

// Close ends the stream, and has the server end it if it has not.
func (s *h2Stream) Close() error { return s.gate.Close((*gatedH2Stream)(s), 0) }

// CloseWithError is Close.
func (s *h2Stream) CloseWithError(error) error { return s.Close() }

// Write writes to the tunnel that CONNECT has opened.
func (s *h2Stream) Write(p []byte) (int, error) {
	switch {
	case s.tunnel == nil:
		return 0, errNotSwitched
	case s.gate.IsClosed():
		return 0, errStreamClosed
	}
	n, err := s.tunnel.Write(p)
	if err == nil {
		err = s.tunnel.Flush()
	}
	return n, err
}

// gatedH2Stream is an h2Stream behind its gate.
type gatedH2Stream h2Stream

// Next implements bodyio.Gated.
func (s *gatedH2Stream) Next(p []byte) (n int, done bool, err error) {
	n, err = s.in.Read(p)
	done = s.in.Ended()
	if done && !s.done && (err == nil || err == io.EOF) {
		s.done = true
		if bad := s.to.addSection(s.in.Section(), nil); bad != nil {
			return n, true, bad
		}
	}
	return n, done, err
}

// Release implements bodyio.Gated: it gives the reservation back.
func (s *gatedH2Stream) Release(bool) {
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.stop != nil {
		s.stop()
	}
	x := s.x
	s.x = nil
	x.leave()
}

// Discard implements bodyio.Gated. Unread content does not block other calls.
func (s *gatedH2Stream) Discard(time.Duration) { _ = s.in.Close() }

// Interrupt implements bodyio.Gated.
func (s *gatedH2Stream) Interrupt() error {
	c := s.c
	c.Lock()
	s.in.Fail(errStreamClosed)
	c.Unlock()
	return nil
}

var (
	_ ReadCloserWithError = (*h2Stream)(nil)
	_ io.ReadWriteCloser  = (*h2Stream)(nil)
)
