package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/coding"
)

// within returns content unless it is larger than limit; 0 or less stands for
// no limit.
func within(limit int, content []byte, err error) ([]byte, error) {
	if err == nil && limit > 0 && len(content) > limit {
		return nil, ErrBodyTooLarge
	}
	return content, err
}

// encode encodes what is buffered. It may get a few bytes larger by that.
func (b *body) encode(c coding.Coding, level int) {
	plain := b.bytes()
	buf := bufpool.Get(len(plain) / 2)
	buf.B = coding.AppendEncoded(buf.B, plain, c, level)
	bufpool.Put(b.buf)
	b.buf, b.raw = buf, nil
}

// encodeStream puts an encoder between the stream and those who read it.
func (b *body) encodeStream(c coding.Coding, level int) {
	b.stream = &encodedStream{src: b.stream, size: b.size, coding: c, level: level}
	b.size = -1
}

// encodedStream is a body stream that encodes another one while it is read. What
// the other one has given is never held back while there is a wait for more,
// unless its size was announced: then nobody expects to see it piece by piece.
type encodedStream struct {
	src    io.Reader
	size   int // that was announced for src; negative where none was
	coding coding.Coding
	level  int

	encoder *coding.Encoder // from the first read to the end
	plain   *bufpool.Buffer // what is read from src
	encoded *bufpool.Buffer
	rest    []byte // of encoded
	got     int    // bytes of src
	err     error  // what Read returns behind rest
}

// patientReader is a body stream that knows whether the next read has to wait.
type patientReader interface {
	waits() bool
}

// Read implements io.Reader.
func (s *encodedStream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(s.rest) == 0 {
		if s.err != nil {
			s.free()
			return 0, s.err
		}
		s.err = s.fill()
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// fill encodes the next piece.
func (s *encodedStream) fill() error {
	if s.encoder == nil {
		s.plain, s.encoded = bufpool.Get(copyBufferSize), bufpool.Get(copyBufferSize)
		s.encoder = coding.NewEncoder(s.coding, s.level, s.encoded)
	}
	e := s.encoder
	s.encoded.B = s.encoded.B[:0]
	n, err := s.src.Read(s.plain.B[:cap(s.plain.B)])
	s.got += n
	if s.size >= 0 && s.got > s.size {
		return errLongStream
	}
	if n > 0 {
		// the Buffer behind it takes everything
		_, _ = e.Write(s.plain.B[:n])
	}
	switch {
	case err == io.EOF && s.got < s.size:
		err = shortStream(s.got, s.size)
	case err == io.EOF:
		_ = e.Close()
	case err == nil && n > 0 && s.waits():
		_ = e.Flush()
	}
	s.rest = s.encoded.B
	return err
}

// waits reports whether the reader is to have everything that was read so far.
func (s *encodedStream) waits() bool {
	if src, ok := s.src.(patientReader); ok {
		return src.waits()
	}
	return s.size < 0
}

// free gives back what encoding took.
func (s *encodedStream) free() {
	if s.encoder == nil {
		return
	}
	s.encoder.Release()
	bufpool.Put(s.plain)
	bufpool.Put(s.encoded)
	s.encoder, s.plain, s.encoded, s.rest = nil, nil, nil, nil
}

// Close ends the stream, and the one that it encodes.
func (s *encodedStream) Close() error {
	s.free()
	s.err = errStreamClosed
	if c, ok := s.src.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
