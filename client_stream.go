package fasthttp

import (
	"errors"
	"io"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/http1"
)

// clientStream is the body of a response that the caller reads while it arrives.
// It holds the connection until its end, or until it is closed.
//
// It may be closed while another goroutine reads from it: that read fails then.
// Where the connection speaks something else than HTTP from now on, because the
// response was 101 or the request was CONNECT, the stream can be written to.
type clientStream struct {
	body  *bodyStream
	x     clientExchange
	phase atomic.Int32
	err   error // what Read returns in the phase streamOver
}

// The phases of a clientStream.
const (
	streamIdle    int32 = iota
	streamReading       // a Read is under way
	streamCut           // closed while it was, so that Read has to clean up
	streamOver          // the connection is gone
)

// streams tells whether the body is left on the connection.
func (x *clientExchange) streams() bool {
	if x.call.buffered || x.resp.SkipBody {
		return false
	}
	if x.switched {
		return x.resp.StreamBody || x.hc.StreamResponseBody
	}
	return x.frame.Kind != http1.NoBody && (x.resp.StreamBody || x.hc.StreamResponseBody || x.call.discard)
}

func (x *clientExchange) startStream() {
	resp := x.resp
	frame := x.frame
	if x.switched {
		frame = http1.Framing{Kind: http1.UntilClose, MustClose: true}
	}
	resp.stream.start(x.cc, frame, &resp.Header.header)
	s := &clientStream{body: &resp.stream, x: *x}
	// the request is its caller's again, and so is the call
	s.x.call = &callState{ctx: x.call.ctx, deadline: x.call.deadline, trace: x.call.trace}
	s.x.whole = x.whole && resp.Header.head.KeepsAlive() && !frame.MustClose && !x.req.Header.ConnectionClose()
	s.x.req, s.x.resp = nil, nil
	size := resp.Header.contentLength
	if x.switched {
		size = -2
	}
	resp.body.setStream(s, size)
	resp.body.limit = x.hc.MaxResponseBodySize
	resp.stream.onClose = nil
}

// Read implements io.Reader. It returns io.ErrUnexpectedEOF where the connection
// ends before the body does, and ErrTimeout when the time of the call is up.
func (s *clientStream) Read(p []byte) (int, error) {
	if !s.phase.CompareAndSwap(streamIdle, streamReading) {
		if s.phase.Load() == streamOver && s.err != nil {
			return 0, s.err
		}
		return 0, errStreamClosed
	}
	n, err := s.body.Read(p)
	if err != nil && err != io.EOF {
		err = s.x.failed(err)
		s.body.err = err
	}
	switch {
	case err != nil || s.body.done:
		if err == nil {
			s.err = io.EOF
		} else {
			s.err = err
		}
		if s.release() {
			err = errStreamClosed
		}
	case !s.phase.CompareAndSwap(streamReading, streamIdle):
		s.release()
		err = errStreamClosed
	}
	return n, err
}

// release gives the connection back, and tells whether the stream was closed by
// somebody else meanwhile. The phase changes first: whoever closes the stream
// after that leaves the connection alone, which may be in use again.
func (s *clientStream) release() (cut bool) {
	cut = s.phase.Swap(streamOver) == streamCut
	s.x.finish(!cut && s.body.done && s.x.whole && len(s.x.cc.peek()) == 0)
	return cut
}

// Close ends the stream. The connection is kept where the body was read to its
// end, or the rest of it is at hand, and closed otherwise.
func (s *clientStream) Close() error { return s.CloseWithError(nil) }

// CloseWithError is Close; err says why the body is not read to its end. The
// connection is closed where there is such a reason.
func (s *clientStream) CloseWithError(err error) error {
	for {
		switch phase := s.phase.Load(); phase {
		case streamIdle:
			if !s.phase.CompareAndSwap(phase, streamReading) {
				continue
			}
			if err == nil {
				s.takeRest()
			}
			_ = s.body.Close()
			s.release()
			return nil
		case streamReading:
			if s.phase.CompareAndSwap(phase, streamCut) {
				// whoever reads sees that, and does the rest
				return s.x.cc.conn.Close()
			}
		default:
			return nil
		}
	}
}

// takeRest reads the rest of a body away that is there already.
func (s *clientStream) takeRest() {
	if left := s.body.decoder.Left(); s.body.decoder.Kind() == http1.Length && left <= int64(len(s.x.cc.peek())) {
		s.body.drain(int(left))
	}
}

// drainSmall reads a body away that nobody wants, where it is known to be small.
func (s *clientStream) drainSmall() {
	if left := s.body.decoder.Left(); s.body.decoder.Kind() == http1.Length && left <= maxDrained {
		var waste [4 << 10]byte
		for {
			if _, err := s.Read(waste[:]); err != nil {
				return
			}
		}
	}
}

// maxDrained is the size up to which reading a body that nobody wants is
// cheaper than another connection.
const maxDrained = 64 << 10

var errNotSwitched = errors.New("fasthttp: only a connection that has switched protocols can be written to")

// Write writes to a connection that does not speak HTTP any more.
func (s *clientStream) Write(p []byte) (int, error) {
	if s.phase.Load() >= streamCut {
		return 0, errStreamClosed
	}
	if s.body.decoder.Kind() != http1.UntilClose || !s.x.switched {
		return 0, errNotSwitched
	}
	return s.x.cc.conn.Write(p)
}

var (
	_ ReadCloserWithError = (*clientStream)(nil)
	_ io.ReadWriteCloser  = (*clientStream)(nil)
)
