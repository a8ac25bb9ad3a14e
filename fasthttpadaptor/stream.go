package fasthttpadaptor

import (
	"fmt"
	"io"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/bridge"
)

// stream is the body stream of a response that a handler is still writing. A piece passes from
// the handler's goroutine to the server's without a copy: the handler waits until the server
// has written it. Short writes are collected first.
type stream struct {
	w *responseWriter

	// used by the handler's goroutine, with responseWriter.mu held, and by the server's
	// goroutine once the handler has returned
	unsent []byte // bytes written but not passed yet; at first, all before the response began

	// used by the handler's goroutine, with responseWriter.mu held
	err error // the error of all further writes

	pieces    chan []byte
	taken     chan error    // for each piece: the error of writing it, or nil
	hijacking chan struct{} // closed when the handler calls Hijack
	closed    chan struct{} // closed when the server does not read any more
	gone      error         // the error of writing from then on; valid after closed is closed

	// used by the server's goroutine
	began   bool
	offered bool   // the stream may end with bridge.ErrConnHijacked
	rest    []byte // of the piece that is being read
	owed    bool   // the handler waits for the result of a piece
	ended   error  // the result of all further calls of Read
}

func newStream(w *responseWriter) *stream {
	return &stream{
		w:         w,
		pieces:    make(chan []byte),
		taken:     make(chan error),
		hijacking: make(chan struct{}),
		closed:    make(chan struct{}),
	}
}

// collectLimit is how many bytes are collected before they are passed. Passing them costs two
// goroutine switches and a system call. A handler that writes many words must not pay that for
// each word.
const collectLimit = 4 << 10

// write passes p to the server's goroutine, or keeps a copy of it until there is more.
func (s *stream) write(p []byte) (int, error) {
	if s.err == nil && len(s.unsent)+len(p) <= collectLimit {
		select {
		case <-s.closed:
			s.err = s.gone
		default:
			s.unsent = append(s.unsent, p...)
			return len(p), nil
		}
	}
	if err := s.flush(); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if err := s.pass(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush passes the collected content to the server's goroutine.
func (s *stream) flush() error {
	if s.err == nil && len(s.unsent) > 0 {
		p := s.unsent
		s.unsent = nil
		err := s.pass(p)
		if err == nil && cap(p) <= 2*collectLimit {
			// the server is done with it
			s.unsent = p[:0]
		}
		return err
	}
	return s.err
}

func (s *stream) pass(p []byte) error {
	select {
	case s.pieces <- p:
		s.err = <-s.taken
	case <-s.closed:
		s.err = s.gone
	}
	return s.err
}

// next waits for a piece.
func (s *stream) next() error {
	if !s.began {
		s.began = true
		s.w.deadline.keep(s.w.ctx)
	}
	if s.owed {
		s.owed = false
		s.taken <- nil
	}
	if s.ended != nil {
		return s.ended
	}
	for {
		select {
		case p := <-s.pieces:
			if len(p) > 0 {
				s.rest, s.owed = p, true
				return nil
			}
			// the handler asks whether it may take the connection over
			if s.offered {
				s.taken <- nil
			} else {
				s.taken <- errBegun
			}
		case <-s.hijacking:
			s.ended = bridge.ErrConnHijacked
			return s.ended
		case <-s.w.done:
			return s.end()
		}
	}
}

// end returns the error with which the stream ends after the handler has returned.
func (s *stream) end() error {
	if len(s.unsent) > 0 && s.w.fault == nil {
		s.rest, s.unsent = s.unsent, nil
		return nil
	}
	s.ended = io.EOF
	switch fault := s.w.fault.(type) {
	case nil:
		s.w.endTrailers()
	case *handlerPanic:
		s.ended = loggedPanic{fault}
	case error:
		s.ended = fault
	}
	return s.ended
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(s.rest) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// WriteTo implements io.WriterTo.
func (s *stream) WriteTo(dst io.Writer) (n int64, err error) {
	for {
		for len(s.rest) > 0 {
			k, err := dst.Write(s.rest)
			n += int64(k)
			s.rest = s.rest[k:]
			if err != nil {
				s.ended = err
				return n, err
			}
		}
		if err := s.next(); err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// SupportsBodyWriteTo implements fasthttp.BodyWriterTo.
func (s *stream) SupportsBodyWriteTo() bool { return true }

// SendsPieces implements fasthttp.PiecewiseStream: flushed content is sent at once,
// even if the handler has announced a length.
func (s *stream) SendsPieces() bool { return true }

// Close implements io.Closer. It makes further writes of the handler fail and ends its
// context. Then it waits until the handler has returned, since that may use the request
// until then, unless it has taken the connection over.
func (s *stream) Close() error {
	select {
	case <-s.closed:
		return nil
	default:
	}
	s.gone = errGone
	if s.ended != nil && s.ended != io.EOF {
		// a handler may ask whether a deadline has passed
		s.gone = fmt.Errorf("%w: %w", errGone, s.ended)
	}
	close(s.closed)
	if s.owed {
		s.owed = false
		s.taken <- s.gone
	}
	if s.ended == bridge.ErrConnHijacked {
		return nil
	}
	select {
	case <-s.w.done:
	default:
		s.w.context.cancel()
		<-s.w.done
	}
	s.w.context.detach()
	return nil
}

var (
	_ fasthttp.BodyWriterTo    = (*stream)(nil)
	_ fasthttp.PiecewiseStream = (*stream)(nil)
	_ bridge.ConnHijacker      = (*stream)(nil)
)

// OfferConn implements bridge.ConnHijacker.
func (s *stream) OfferConn() { s.offered = true }

// HijackConn implements bridge.ConnHijacker.
func (s *stream) HijackConn(ctx any) { s.w.hijackConn(ctx.(*fasthttp.RequestCtx)) }

// mayHijack passes the collected content, and asks the server's goroutine whether the stream
// may end with bridge.ErrConnHijacked. The handler's goroutine calls it.
func (s *stream) mayHijack() error {
	if err := s.flush(); err != nil {
		return err
	}
	select {
	case s.pieces <- nil:
		return <-s.taken
	case <-s.closed:
		return s.gone
	}
}

// endTrailers sets the trailers at the end of the body.
func (w *responseWriter) endTrailers() {
	for name, values := range w.trailers {
		for _, value := range values {
			_ = w.ctx.Response.Header.AddTrailerField(name, value)
		}
	}
}
