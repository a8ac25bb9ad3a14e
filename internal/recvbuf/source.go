package recvbuf

import (
	"bufio"
	"io"
)

// Source is a stream of received bytes, whose next bytes can be peeked at before they
// are discarded. Heads, content and trailer sections are read from a Source: a
// connection, or a bufio.Reader of the application.
type Source interface {
	// Peek returns the available bytes. It does not block.
	Peek() []byte
	// Discard removes the first n of them.
	Discard(n int)
	// Fill blocks until there is at least one more byte, or returns an error:
	// bufio.ErrBufferFull if the buffer is full.
	Fill() error
}

// Buffered is a bufio.Reader as a Source.
type Buffered struct {
	// R is the reader, whose buffer the Source uses.
	R *bufio.Reader
}

var _ Source = Buffered{}

// Peek implements Source.
func (s Buffered) Peek() []byte {
	b, _ := s.R.Peek(s.R.Buffered())
	return b
}

// Discard implements Source.
func (s Buffered) Discard(n int) { _, _ = s.R.Discard(n) }

// Fill implements Source.
func (s Buffered) Fill() error {
	if s.R.Buffered() == s.R.Size() {
		return bufio.ErrBufferFull
	}
	had := s.R.Buffered()
	_, err := s.R.Peek(had + 1)
	if s.R.Buffered() > had {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// ReadSection reads a section from in that may be larger than the buffer of in. parse
// receives the section's bytes so far, and returns its length, or 0 if it is
// incomplete. ReadSection discards the section, and no byte after it. The error is
// io.EOF if in ends before the first byte.
func ReadSection(in Source, parse func(b []byte) (n int, err error)) error {
	var held []byte // the bytes received before those in the buffer of in
	for {
		b := in.Peek()
		had := len(held)
		if had > 0 {
			held = append(held, b...)
			b = held
		}
		n, err := parse(b)
		if err != nil {
			return err
		}
		if n > 0 {
			in.Discard(n - had)
			return nil
		}
		if had > 0 {
			in.Discard(len(b) - had)
		}
		err = in.Fill()
		if err == bufio.ErrBufferFull {
			held = append(held, b...)
			in.Discard(len(b))
			err = in.Fill()
		}
		if err == io.EOF && len(b) > 0 {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
}
