package fasthttp

import (
	"bufio"
	"io"
	"os"
)

// source is a stream of received bytes of which the next ones can be looked at
// before they are taken. Heads, bodies and trailers are read from one, whether
// it is a connection of the server or a bufio.Reader of the caller.
type source interface {
	// peek returns the bytes that are there, without waiting for any.
	peek() []byte
	// discard takes n of them away.
	discard(n int)
	// fill waits until there is at least one byte more, or fails: with
	// bufio.ErrBufferFull where no more fit.
	fill() error
}

// bufferedSource is a bufio.Reader as a source.
type bufferedSource struct{ r *bufio.Reader }

func (s bufferedSource) peek() []byte {
	b, _ := s.r.Peek(s.r.Buffered())
	return b
}

func (s bufferedSource) discard(n int) { _, _ = s.r.Discard(n) }

func (s bufferedSource) fill() error {
	if s.r.Buffered() == s.r.Size() {
		return bufio.ErrBufferFull
	}
	had := s.r.Buffered()
	_, err := s.r.Peek(had + 1)
	if s.r.Buffered() > had {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// fileSpan is a body stream whose bytes lie in a file of the operating system,
// so that a connection may have them copied without looking at them. Who does
// that sends length bytes from offset on, never moves the file's own position,
// which other streams share, and closes the stream as it would any other.
type fileSpan interface {
	span() (file *os.File, offset, length int64)
}
