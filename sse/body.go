package sse

import (
	"errors"
	"io"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/bufpool"
)

// body is the body stream of a Stream. The server reads it with WriteTo, or an encoder with
// Read. One goroutine uses it, except for Close.
type body struct {
	s     *Stream
	began bool
	taken *bufpool.Buffer // events taken from the stream
	rest  []byte          // of taken, not yet read
}

var (
	errBodyClosed   = errors.New("sse: the response was closed")
	errDisconnected = errors.New("the client has disconnected")
)

var _ fasthttp.BodyWriterTo = (*body)(nil)

// fetch waits for events, and takes all of them.
func (b *body) fetch() error {
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	bufpool.Put(b.taken)
	b.taken, b.rest = nil, nil
	if !b.began {
		b.began = true
		s.begin()
	}
	for s.waiting == nil && s.err == nil {
		s.changed.Wait()
	}
	switch {
	case s.waiting != nil:
	case s.fault != nil:
		// the server logs the panic of a body stream, and aborts the response
		panic(s.fault)
	case errors.Is(s.err, errDisconnected):
		return errBodyClosed
	default:
		return io.EOF
	}
	b.taken, s.waiting = s.waiting, nil
	b.rest = b.taken.B
	s.changed.Broadcast()
	return nil
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if len(b.rest) == 0 && len(p) > 0 {
		if err := b.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// WriteTo implements io.WriterTo: all events that wait are written in one call.
func (b *body) WriteTo(w io.Writer) (n int64, err error) {
	for {
		if len(b.rest) == 0 {
			if err := b.fetch(); err == io.EOF {
				return n, nil
			} else if err != nil {
				return n, err
			}
		}
		k, err := w.Write(b.rest)
		n += int64(k)
		b.rest = b.rest[k:]
		if err != nil {
			return n, err
		}
	}
}

// SupportsBodyWriteTo implements fasthttp.BodyWriterTo.
func (b *body) SupportsBodyWriteTo() bool { return true }

// Waits reports whether the next Read has to wait. An encoder flushes its output then.
func (b *body) Waits() bool {
	if len(b.rest) > 0 {
		return false
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.s.waiting == nil && b.s.err == nil
}

// Close ends the stream: it was sent, or cannot be sent.
func (b *body) Close() error {
	s := b.s
	s.end(errDisconnected)
	s.mu.Lock()
	bufpool.Put(s.waiting)
	s.waiting = nil
	s.mu.Unlock()
	return nil
}
