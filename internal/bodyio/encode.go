package bodyio

import (
	"io"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/coding"
)

// NewEncoded returns a stream that encodes src. size is the announced size of src,
// or negative if none was announced.
func NewEncoded(src io.Reader, size int, c coding.Coding, level int) *Encoded {
	return &Encoded{src: src, size: size, coding: c, level: level}
}

// Encoded is a body stream that encodes another one while it is read. While it waits
// for more, it holds back nothing of the source's bytes, unless the size of the
// source was announced: then the recipient does not expect separate pieces.
type Encoded struct {
	src    io.Reader
	size   int // announced size of src; negative if none
	coding coding.Coding
	level  int

	encoder *coding.Encoder // from the first read to the end
	plain   *bufpool.Buffer // bytes read from src
	encoded *bufpool.Buffer
	unread  []byte // of encoded
	got     int    // bytes of src
	err     error  // returned by Read after rest
}

// Waiter is a body stream that can report that it has no bytes yet.
type Waiter interface {
	// Waits reports whether the next read has to wait.
	Waits() bool
}

// Read implements io.Reader.
func (s *Encoded) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(s.unread) == 0 {
		if s.err != nil {
			s.release()
			return 0, s.err
		}
		s.err = s.fill()
	}
	n := copy(p, s.unread)
	s.unread = s.unread[n:]
	return n, nil
}

// fill encodes the next piece.
func (s *Encoded) fill() error {
	if s.encoder == nil {
		s.plain, s.encoded = bufpool.Get(PieceSize), bufpool.Get(PieceSize)
		s.encoder = coding.NewEncoder(s.coding, s.level, s.encoded)
	}
	e := s.encoder
	s.encoded.B = s.encoded.B[:0]
	n, err := s.src.Read(s.plain.B[:cap(s.plain.B)])
	s.got += n
	if s.size >= 0 && s.got > s.size {
		return ErrLong
	}
	if n > 0 {
		// the underlying Buffer takes everything
		_, _ = e.Write(s.plain.B[:n])
	}
	switch {
	case err == io.EOF && s.got < s.size:
		err = short(s.got, s.size)
	case err == io.EOF:
		_ = e.Close()
	case err == nil && n > 0 && s.waits():
		_ = e.Flush()
	}
	s.unread = s.encoded.B
	return err
}

// waits reports whether the reader gets everything that was read so far.
func (s *Encoded) waits() bool {
	if src, ok := s.src.(Waiter); ok {
		return src.Waits()
	}
	return s.size < 0
}

// release releases the encoder and the buffers.
func (s *Encoded) release() {
	if s.encoder == nil {
		return
	}
	s.encoder.Release()
	bufpool.Put(s.plain)
	bufpool.Put(s.encoded)
	s.encoder, s.plain, s.encoded, s.unread = nil, nil, nil, nil
}

// Holds reports whether the stream holds an encoder and buffers, which it releases
// after its end.
func (s *Encoded) Holds() bool { return s.encoder != nil || s.plain != nil || s.encoded != nil }

// Source returns a pointer to the source, through which it can be replaced.
func (s *Encoded) Source() *io.Reader { return &s.src }

// Close ends the stream, and the one that it encodes.
func (s *Encoded) Close() error {
	s.release()
	s.err = ErrClosed
	if c, ok := s.src.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
