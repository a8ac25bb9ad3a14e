package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bufpool"
)

// maxCodings is how many codings of one body are undone. Nobody has a reason to
// apply more than one; each of them can make the content a thousand times larger.
const maxCodings = 4

// appliedCodings are the codings of a body in the order in which they were
// applied (RFC 9110 section 8.4).
type appliedCodings struct {
	codings [maxCodings]contentCoding
	n       int
}

// add takes over the value of one Content-Encoding field.
func (a *appliedCodings) add(value []byte) error {
	for rest := value; rest != nil; {
		var name []byte
		name, rest = ascii.NextElement(rest)
		if len(name) == 0 {
			continue
		}
		c, ok := codingNamed(name)
		if !ok {
			return ErrContentEncodingUnsupported
		}
		if c == codingIdentity {
			continue
		}
		if a.n == maxCodings {
			return ErrContentEncodingUnsupported
		}
		a.codings[a.n] = c
		a.n++
	}
	return nil
}

// undo returns what content decodes to, or content itself where no coding was
// applied to it. Content that is empty has none: that is what the answer to a
// HEAD request is like. Each step is under the bound.
func (a *appliedCodings) undo(content []byte, bound decodeBound) (_ []byte, err error) {
	if len(content) == 0 {
		return content, nil
	}
	for i := a.n - 1; i >= 0; i-- {
		if content, err = decoded(content, a.codings[i], bound); err != nil {
			return nil, err
		}
	}
	return content, nil
}

// decoded returns what content decodes to, or nothing where that fails.
func decoded(content []byte, coding contentCoding, bound decodeBound) ([]byte, error) {
	result, err := appendDecoded(nil, content, coding, bound)
	if err != nil {
		return nil, err
	}
	return result, nil
}

// within returns content unless it is larger than limit; 0 or less stands for
// no limit.
func within(limit int, content []byte, err error) ([]byte, error) {
	if err == nil && limit > 0 && len(content) > limit {
		return nil, ErrBodyTooLarge
	}
	return content, err
}

// encode encodes what is buffered. It may get a few bytes larger by that.
func (b *body) encode(coding contentCoding, level int) {
	plain := b.bytes()
	buf := bufpool.Get(len(plain) / 2)
	buf.B = appendEncoded(buf.B, plain, coding, level)
	bufpool.Put(b.buf)
	b.buf, b.raw = buf, nil
}

// encodeStream puts an encoder between the stream and those who read it.
func (b *body) encodeStream(coding contentCoding, level int) {
	b.stream = &encodedStream{src: b.stream, size: b.size, coding: coding, level: level}
	b.size = -1
}

// encodedStream is a body stream that encodes another one while it is read. What
// the other one has given is never held back while there is a wait for more,
// unless its size was announced: then nobody expects to see it piece by piece.
type encodedStream struct {
	src    io.Reader
	size   int // that was announced for src; negative where none was
	coding contentCoding
	level  int

	encoder *encoder        // from the first read to the end
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
		s.encoder = acquireEncoder(s.coding, s.level)
		s.encoder.Reset(&s.encoder.out)
		s.plain, s.encoded = bufpool.Get(copyBufferSize), bufpool.Get(copyBufferSize)
	}
	e := s.encoder
	e.out.b = s.encoded.B[:0]
	n, err := s.src.Read(s.plain.B[:cap(s.plain.B)])
	s.got += n
	if s.size >= 0 && s.got > s.size {
		return errLongStream
	}
	if n > 0 {
		// the writer behind it takes everything
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
	s.encoded.B = e.out.b
	s.rest = e.out.b
	return err
}

// waits tells whether the reader is to have everything that was read so far.
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
	s.encoder.release()
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
