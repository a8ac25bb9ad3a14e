package fasthttp

import (
	"errors"
	"io"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/forms"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/sender"
)

// clientStream is the body of a response that the caller reads while it arrives.
// It holds the connection until its end, or until it is closed.
//
// It may be closed while another goroutine reads from it: that read fails then. If the
// connection no longer speaks HTTP, because the response was 101 or the request was
// CONNECT, the stream can be written to, also after the server has ended its direction: only
// Close gives it up.
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
	n, err := s.guard.Read(s, p)
	if n == 0 && err == nil && s.switched && s.body.Ended() {
		err = io.EOF
	}
	return n, err
}

// TrailersTo makes h the header that gets the trailer section. No goroutine reads
// meanwhile.
func (s *clientStream) TrailersTo(h *header.Header) { s.body.TrailersTo(h) }

// Next implements bodyio.GuardedStream.
func (s *clientStream) Next(p []byte) (n int, done bool, err error) {
	n, err = s.body.Read(p)
	switch {
	case err == io.EOF && s.switched:
		// the other direction lasts until Close
		return n, false, nil
	case err != nil && err != io.EOF:
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
	return s.x.cc.line.Net.Close()
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
	return s.x.cc.line.Net.Write(p)
}

// CloseWrite ends the direction to the server, if the connection no longer speaks HTTP.
func (s *clientStream) CloseWrite() error {
	if s.guard.IsClosed() {
		return errStreamClosed
	}
	if !s.switched {
		return errNotSwitched
	}
	if half, ok := s.x.cc.line.Net.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

var (
	_ ReadCloserWithError = (*clientStream)(nil)
	_ io.ReadWriteCloser  = (*clientStream)(nil)
)

// bodySender sends the content of a request while the call watches for the answer.
type bodySender struct {
	sender.Sender
	// hc and deadline, the deadline of the call, determine how long the response may
	// take once the request is written
	hc       *HostClient
	deadline time.Time
	header   *RequestHeader // has the trailers: the one of the request, or of its stream
	body     content.Body   // of the goroutine alone: the stream with its size
}

// startSender leaves out and p, the content, to a bodySender.
func (x *clientExchange) startSender(out *bufpool.Buffer, p []byte) {
	req := x.req
	s := &bodySender{hc: x.hc, deadline: x.call.deadline, header: &req.Header}
	r := sender.Request{
		Conn: &x.cc.line, Out: out, Trailers: s, ErrTimeout: ErrTimeout, Detaches: x.mayStream(),
		Chunked: x.encoding.Kind == http1.Chunks,
	}
	if req.body.Stream != nil {
		x.call.bodyConsumed = true
		if r.Chunked {
			req.body.Unsize()
		}
		s.body = content.Body{Stream: req.body.Stream, Size: req.body.Size}
		if own, ok := s.body.Stream.(bridge.TrailerSource); ok {
			s.header, r.OwnTrailers = own.Trailers().(*RequestHeader), true
		}
		req.body.Stream = nil
		r.Stream = sender.WrapStream(&s.body.Stream)
		_, r.Borrowed = r.Stream.Reader.(*forms.Stream)
	} else {
		r.Content = p
	}
	x.sender, x.cc.line.Duplex = s, true
	s.Start(r, s)
}

// finishSender ends the sending of a request whose response is complete. wait is
// set if the connection could be reused then.
func (x *clientExchange) finishSender(wait bool) error {
	phase, err := x.sender.finish(wait)
	x.cc.line.Duplex = false
	switch phase {
	case http1.Sent:
		x.cc.phases.Advance(http1.SendEnds)
	case http1.SendFailed:
		x.cc.phases.Advance(http1.SendFails)
	default:
		x.cc.phases.Advance(http1.SendStops)
	}
	x.traceWrote(wroteRequest, err)
	if phase == http1.SendFailed && x.cc.line.WriteErr == nil {
		// the stream has failed, so the response may be to something other than the
		// request
		return err
	}
	return nil
}

// WriteStream implements sender.Call.
func (s *bodySender) WriteStream(w flushWriter) error {
	if s.body.Size >= 0 {
		return s.body.WriteFixed(w)
	}
	return s.body.WriteChunked(w)
}

// LimitResponse implements sender.Call.
func (s *bodySender) LimitResponse() { _ = s.hc.limitResponse(&s.Conn.Guard, s.deadline) }

// LimitDraining implements sender.Call.
func (s *bodySender) LimitDraining() { _ = s.hc.limitDraining(&s.Conn.Guard, s.deadline) }

// Panicked implements sender.Call.
func (s *bodySender) Panicked(value any) error {
	return streamPanic("panic while sending a request", value)
}

// AppendTrailers implements sender.Trailers.
func (s *bodySender) AppendTrailers(dst []byte) []byte { return s.header.head.AppendTrailers(dst) }

// finish ends the sending, and returns how that went. If wait is set, it is given
// a moment to end by itself.
func (s *bodySender) finish(wait bool) (http1.SendPhase, error) {
	if !wait {
		return s.Finish(nil)
	}
	timer := time.NewTimer(sender.ReuseTimeout)
	defer timer.Stop()
	return s.Finish(timer.C)
}

// detach lets the sender continue after the call, if it can.
func (s *bodySender) detach() {
	if s.Borrowed {
		_, _ = s.finish(true)
		return
	}
	s.Detach()
}
