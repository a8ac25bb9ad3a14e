package fasthttp

import (
	"io"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
)

// h3Body is the body of a response that the caller reads while it arrives. It holds the stream until
// its end, or until it is closed; then the server stops sending.
//
// It may be closed while another goroutine reads from it: that read fails then.
type h3Body struct {
	x             *h3Call // without its request and response
	guard         bodyio.ReadGuard
	trailerTarget *header // gets the trailer section
	ended         bool    // all has arrived
}

var _ ReadCloserWithError = (*h3Body)(nil)

// startStream leaves the body to the caller. The sending of the request may continue meanwhile.
func (x *h3Call) startStream() {
	resp := x.resp
	if x.sender != nil {
		if x.sender.borrowed {
			x.sender.finishBorrowed()
		}
		x.sender.detach()
	}
	s := &h3Body{x: x, trailerTarget: &resp.Header.header}
	resp.body.setStream(s, resp.Header.contentLength)
	resp.body.limit = x.hc.MaxResponseBodySize
	x.detach()
}

// detach leaves request and call to the caller again.
func (x *h3Call) detach() {
	x.call = &callState{ctx: x.call.ctx, deadline: x.call.deadline, trace: x.call.trace, outcome: x.call.outcome}
	x.req, x.resp = nil, nil
}

// trailersTo makes h the header that gets the trailer section. No goroutine reads meanwhile.
func (s *h3Body) trailersTo(h *header) { s.trailerTarget = h }

// Read implements io.Reader. It returns io.ErrUnexpectedEOF if the connection ends before the
// body does, and ErrTimeout when the time of the call is up.
func (s *h3Body) Read(p []byte) (int, error) { return s.guard.Read(s, p) }

// Close ends the stream, and has the server end it if it has not.
func (s *h3Body) Close() error { return s.guard.Close(s, 0) }

// CloseWithError is Close.
func (s *h3Body) CloseWithError(error) error { return s.Close() }

// Next implements bodyio.GuardedStream.
func (s *h3Body) Next(p []byte) (n int, done bool, err error) {
	if len(p) == 0 {
		return 0, false, nil
	}
	b, err := s.x.stream.Next(len(p))
	switch {
	case err == nil:
		return copy(p, b), false, nil
	case err != io.EOF:
		return 0, false, s.x.failed(err)
	}
	s.ended = true
	if fields := s.x.stream.Trailers(); fields != nil {
		if err := s.trailerTarget.addSection(fields, nil); err != nil {
			return 0, true, err
		}
	}
	return 0, true, io.EOF
}

// Discard implements bodyio.GuardedStream. Unread content does not block other calls.
func (s *h3Body) Discard(time.Duration) {}

// Interrupt implements bodyio.GuardedStream.
func (s *h3Body) Interrupt() error {
	s.x.stream.Cancel()
	return nil
}

// Release implements bodyio.GuardedStream.
func (s *h3Body) Release(bool) {
	s.x.finish(s.ended)
	s.x.traceWrote(wroteRequest, nil)
}
