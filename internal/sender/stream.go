package sender

import (
	"io"
	"sync"

	"github.com/valyala/fasthttp/internal/bodyio"
)

// Stream is the body stream of a request that is being sent. The first call of Close
// closes it.
type Stream struct {
	io.Reader
	once sync.Once
	err  error
}

// WrapStream wraps the reader that the application has set in place into a Stream, below
// existing wrappers, which belong to the reading goroutine.
func WrapStream(place *io.Reader) *Stream {
	for {
		switch s := (*place).(type) {
		case *bodyio.Exact:
			place = &s.Reader
			continue
		case *bodyio.Encoded:
			place = s.Source()
			continue
		}
		s := &Stream{Reader: *place}
		*place = s
		return s
	}
}

// Waits implements bodyio.Waiter.
func (s *Stream) Waits() bool {
	p, ok := s.Reader.(bodyio.Waiter)
	return ok && p.Waits()
}

// Close implements io.Closer.
func (s *Stream) Close() error {
	s.once.Do(func() {
		if c, ok := s.Reader.(io.Closer); ok {
			s.err = c.Close()
		}
	})
	return s.err
}

// CloseQuietly is Close for callers that cannot handle a panic in it.
func (s *Stream) CloseQuietly() {
	defer func() { _ = recover() }()
	_ = s.Close()
}

// SupportsBodyWriteTo reports whether WriteTo may be called.
func (s *Stream) SupportsBodyWriteTo() bool {
	c, ok := s.Reader.(bodyio.WriterTo)
	return ok && c.SupportsBodyWriteTo()
}

// WriteTo implements io.WriterTo. It may be called if SupportsBodyWriteTo returns
// true.
func (s *Stream) WriteTo(w io.Writer) (int64, error) {
	return s.Reader.(bodyio.WriterTo).WriteTo(w)
}

// SendsPieces reports whether each piece is sent as soon as it was read.
func (s *Stream) SendsPieces() bool {
	p, ok := s.Reader.(interface{ SendsPieces() bool })
	return ok && p.SendsPieces()
}
