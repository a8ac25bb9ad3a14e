package fasthttp

import (
	"errors"
	"io"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
)

// readHead reads the head of the final response, and decides how its body is read.
// Informational responses are passed to the trace.
func (x *clientExchange) readHead() error {
	for x.awaitsHead() {
		if err := x.nextHead(); err != nil {
			return err
		}
	}
	cc, h := x.cc, &x.resp.Header
	x.frame = cc.head.FrameResponse(http1.Exchange{Head: x.isHead, Connect: x.isConnect})
	if x.isHead {
		x.resp.skipHead()
		h.head.SetState(header.Closing, !cc.head.KeepsAlive())
	}
	if h.head.Status == StatusSwitchingProtocols || x.isConnect && h.head.Status/100 == 2 {
		cc.phases.Advance(http1.ProtocolSwitches)
	}
	return nil
}

// awaitsHead reports whether the head of the final response is still expected.
func (x *clientExchange) awaitsHead() bool { return x.cc.phases.Receiving() < http1.ReceivingBody }

// switched reports whether the connection speaks another protocol from now on.
func (x *clientExchange) switched() bool { return x.cc.phases.Receiving() == http1.Switched }

// nextHead reads one head. If there is none, the response gets no fields.
func (x *clientExchange) nextHead() error {
	cc, h := x.cc, &x.resp.Header
	if cc.phases.Receiving() == http1.NotReceiving {
		cc.phases.Advance(http1.AwaitsResponse)
		x.resp.reuse()
		h.head.SetState(header.NamesKept, h.head.Is(header.NamesKept) || x.hc.DisableHeaderNamesNormalizing)
	}
	for {
		if b := cc.line.Recv.Peek(); len(b) > 0 {
			n, final, err := x.heads.feed(h, &cc.head, x.hc.ReadBufferSize, b)
			if err != nil {
				h.head.Reset(header.Configured)
				return err
			}
			if n > 0 {
				cc.line.Recv.Discard(n)
				if final {
					cc.phases.Advance(http1.HeadEnds)
					return nil
				}
				return x.call.informed(x.req, h)
			}
		}
		if err := x.receive(); err != nil {
			h.head.Reset(header.Configured)
			return err
		}
	}
}

// receive reads some bytes of a head.
func (x *clientExchange) receive() error {
	err := x.cc.line.Fill()
	x.traceSent()
	switch {
	case err == nil && x.call.outcome != attemptResponded:
		x.call.outcome = attemptResponded
		if trace := x.call.trace; trace != nil && trace.GotFirstResponseByte != nil {
			trace.GotFirstResponseByte()
		}
	case err == io.EOF && x.call.outcome == attemptResponded:
		err = headerError("response", io.ErrUnexpectedEOF)
	}
	return err
}

// readBody reads the body into the response.
func (x *clientExchange) readBody() error {
	resp := x.resp
	if x.frame.Kind == http1.NoBody {
		return nil
	}
	if resp.SkipBody {
		// a body that the caller does not want stays unread
		x.frame.MustClose = x.frame.MustClose || x.frame.Kind != http1.Length || x.frame.Length > 0
		return nil
	}
	limit := x.hc.MaxResponseBodySize
	resp.body.Limit = limit
	if x.frame.Kind == http1.Length && (limit <= 0 || x.frame.Length <= int64(limit)) {
		return x.readLength()
	}
	if err := content.Read(&x.cc.line, x.frame, limit, &resp.body, &resp.Header.head); err != nil {
		return err
	}
	if x.frame.Kind == http1.UntilClose {
		resp.Header.SetContentLength(len(resp.body.Bytes()))
	}
	return nil
}

// readStep is the least room that a long body gets for each read. The server may
// announce any length, so it is not allocated at once.
const readStep = 32 << 10

// readLength reads a body of a known length into the response, without passing through
// the buffer of the connection.
func (x *clientExchange) readLength() error {
	cc, body, left := x.cc, &x.resp.body, x.frame.Length
	b := cc.line.Recv.Peek()
	n := int(min(int64(len(b)), left))
	if left -= int64(n); n > 0 {
		body.Write(b[:n])
		cc.line.Recv.Discard(n)
	}
	for left > 0 {
		step := int(min(left, readStep))
		if body.Buf == nil {
			body.Buf = bufpool.Get(step)
		}
		buf := body.Buf
		buf.Grow(step)
		room := buf.B[len(buf.B):cap(buf.B)]
		n, err := cc.line.Read(room[:min(int64(len(room)), left)])
		buf.B = buf.B[:len(buf.B)+n]
		left -= int64(n)
		if n == 0 {
			return content.AtEnd(err)
		}
	}
	return nil
}

// headReader reads the heads of the responses to one request: informational ones,
// of which there may be maxInformational, and the final one. It never waits.
type headReader struct {
	h     *ResponseHeader // that a head is being read into, nil between two
	hints int             // informational responses received
}

// feed reads a head into h from the beginning of b, which holds all of it that was
// received so far, and returns its length, or 0 if it needs more. head is the one of
// the connection, and bufferSize the ReadBufferSize of the client. final is false for
// the head of an informational response.
func (r *headReader) feed(h *ResponseHeader, head *http1.Head, bufferSize int, b []byte) (n int, final bool, err error) {
	if r.h != h {
		r.h = h
		h.head.Begin(head)
		h.head.Status = 0
		head.Limits = http1.Limits{}
		if bufferSize > 0 {
			// it alone is the limit: there may be as many fields as it has room for
			head.Limits = header.HeadLimits(bufferSize)
		}
	}
	n, err = h.head.Feed(http1.Response, head, b)
	if err != nil {
		return n, false, headerError("response", err)
	}
	if n == 0 {
		return 0, false, nil
	}
	r.h = nil
	h.head.Status = int32(head.Status)
	switch {
	case h.head.Status < http1.FirstStatus:
		// no class of responses begins with 0
		return n, false, headerError("response", http1.ErrStatusLine)
	case h.head.Status/100 != 1 || h.head.Status == StatusSwitchingProtocols:
		return n, true, nil
	case r.hints == maxInformational:
		return n, false, errTooManyInformational
	}
	r.hints++
	return n, false, nil
}

// clientStream is the body of a response that the caller reads while it arrives.
// It holds the connection until its end, or until it is closed.
//
// It may be closed while another goroutine reads from it: that read fails then. If the
// connection no longer speaks HTTP, because the response was 101 or the request was
// CONNECT, the stream can be written to.
type clientStream struct {
	body content.Incoming
	x    clientExchange
	// keepable is set if the connection may be used for another request once the body
	// was read
	keepable bool
	// switched is set if the connection no longer speaks HTTP. It is a copy of x.switched(): Write
	// may be called when the connection has been given back, and its phases are another call's.
	switched bool
	guard    bodyio.ReadGuard
}

// mayStream reports whether the body may be left on the connection, as far as is known
// before the response arrives.
func (x *clientExchange) mayStream() bool {
	if x.call.content == contentBuffered {
		return false
	}
	// a discarded body needs no check of its size
	discards := x.call.content == contentDiscarded && x.hc.MaxResponseBodySize <= 0
	return x.resp.StreamBody || x.hc.StreamResponseBody || discards
}

// streams reports whether the body is left on the connection.
func (x *clientExchange) streams() bool {
	if x.resp.SkipBody || !x.mayStream() {
		return false
	}
	if x.switched() {
		return x.resp.StreamBody || x.hc.StreamResponseBody
	}
	return x.frame.Kind != http1.NoBody && !x.buffersReceived()
}

// buffersReceived reports whether the body is read into memory although it could be a stream: see
// bridge.BufferReceived.
func (x *clientExchange) buffersReceived() bool {
	length, limit := x.frame.Length, x.hc.MaxResponseBodySize
	return x.resp.buffersReceived && x.frame.Kind == http1.Length && length <= int64(len(x.cc.line.Recv.Peek())) &&
		(limit <= 0 || length <= int64(limit)) && x.sender == nil
}

// startStream leaves the body on the connection. The sending of the request may
// continue meanwhile.
func (x *clientExchange) startStream() error {
	resp := x.resp
	if x.switched() {
		x.frame = http1.Framing{Kind: http1.UntilClose, MustClose: true}
		// the bytes that follow are neither a request nor a response
		if err := x.cc.line.Guard.Limit(x.call.deadline, x.call.deadline); err != nil {
			return err
		}
	}
	if x.sender != nil {
		x.sender.detach()
	}
	s := &clientStream{x: *x, switched: x.switched()}
	s.body.StartIn(&x.cc.line, x.frame, &resp.Header.head, nil)
	// request and call belong to the caller again
	s.x.call = &callState{ctx: x.call.ctx, deadline: x.call.deadline, trace: x.call.trace}
	s.keepable = x.keepsConn()
	s.x.req, s.x.resp = nil, nil
	x.released = true
	size := resp.Header.head.Length
	if x.switched() {
		size = -2
	}
	resp.body.SetStream(s, size)
	resp.body.Limit = x.hc.MaxResponseBodySize
	if x.frame.Kind == http1.Length && x.frame.Length == 0 && x.sender == nil {
		// a caller that knows that the body is empty may never close it
		s.guard.End(s, closeTime)
	}
	return nil
}

// Read implements io.Reader. It returns io.ErrUnexpectedEOF if the connection
// ends before the body does, and ErrTimeout when the time of the call is up.
func (s *clientStream) Read(p []byte) (int, error) {
	return s.guard.Read(s, p)
}

// TrailersTo makes h the header that gets the trailer section. No goroutine reads
// meanwhile.
func (s *clientStream) TrailersTo(h *header.Header) { s.body.TrailersTo(h) }

// Next implements bodyio.GuardedStream.
func (s *clientStream) Next(p []byte) (n int, done bool, err error) {
	n, err = s.body.Read(p)
	if err != nil && err != io.EOF {
		err = s.x.failed(err)
	}
	return n, s.body.Ended(), err
}

// Release implements bodyio.GuardedStream: it gives the connection back.
func (s *clientStream) Release(cut bool) {
	if s.body.Ended() {
		s.x.cc.phases.Advance(http1.ResponseEnds)
	}
	keep := !cut && s.body.Ended() && s.keepable && len(s.x.cc.line.Recv.Peek()) == 0
	if s.x.sender != nil && s.x.finishSender(keep) != nil {
		keep = false
	}
	s.x.finish(keep)
}

// Discard implements bodyio.GuardedStream.
func (s *clientStream) Discard(within time.Duration) {
	if within >= 0 {
		s.drain(within)
	}
	_ = s.body.Close()
}

// Interrupt implements bodyio.GuardedStream.
func (s *clientStream) Interrupt() error {
	s.x.cc.line.Guard.Cancel(errStreamClosed)
	return s.x.cc.line.Net().Close()
}

// Close ends the stream. The connection is kept if the body was read to its end, or
// its small rest has arrived or is about to; it is closed otherwise.
func (s *clientStream) Close() error { return s.CloseWithError(nil) }

// CloseWithError is Close; err is the reason why the body is not read to its end. The
// connection is closed if there is such a reason.
func (s *clientStream) CloseWithError(err error) error {
	if err != nil {
		return s.end(-1)
	}
	return s.end(closeTime)
}

// end ends the stream. The rest of the body has the time within to arrive, and is not
// waited for if within is negative. When end returns, no goroutine reads from it.
func (s *clientStream) end(within time.Duration) error {
	return s.guard.Close(s, within)
}

// The limits for reading a discarded body, which is read so that the connection can
// be reused: maxDrained bytes at most, if they arrive within a time.
const (
	maxDrained = 256 << 10
	// closeTime is for a caller that closes a stream and expects that to take no time
	closeTime = 25 * time.Millisecond
	// drainTime is for a call that would wait for its response in any case
	drainTime = 250 * time.Millisecond
)

// drain discards the rest of the body, if the connection can be of use after that.
func (s *clientStream) drain(within time.Duration) {
	left, known := s.body.Remaining()
	if !s.keepable || left > maxDrained {
		return
	}
	if s.x.sender != nil {
		if ended, _ := s.x.sender.Ended(); !ended {
			// it would give the server more time when it is done
			return
		}
	}
	if !known || left > int64(len(s.x.cc.line.Recv.Peek())) {
		if s.x.cc.line.Guard.Shorten(time.Now().Add(within)) != nil {
			return
		}
	}
	limit := maxDrained
	s.body.Drain(&limit)
}

// drainSmall closes the stream of a discarded response. If its body is over the limit,
// only the bytes at hand are read.
func (s *clientStream) drainSmall() {
	within := drainTime
	if limit := s.x.hc.MaxResponseBodySize; limit > 0 && s.x.frame.Kind == http1.Length && s.x.frame.Length > int64(limit) {
		within = 0
	}
	_ = s.end(within)
}

var errNotSwitched = errors.New("fasthttp: only a connection that has switched protocols can be written to")

// Write writes to a connection that no longer speaks HTTP.
func (s *clientStream) Write(p []byte) (int, error) {
	if s.guard.IsClosed() {
		return 0, errStreamClosed
	}
	if !s.switched {
		return 0, errNotSwitched
	}
	return s.x.cc.line.Net().Write(p)
}

// CloseWrite ends the direction to the server, if the connection no longer speaks HTTP.
func (s *clientStream) CloseWrite() error {
	if s.guard.IsClosed() {
		return errStreamClosed
	}
	if !s.switched {
		return errNotSwitched
	}
	if half, ok := s.x.cc.line.Net().(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

var (
	_ ReadCloserWithError = (*clientStream)(nil)
	_ io.ReadWriteCloser  = (*clientStream)(nil)
)
