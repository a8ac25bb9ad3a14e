package fasthttp

import (
	"bufio"
	"io"
	"math"

	"github.com/valyala/fasthttp/internal/http1"
)

// receiver receives the content of one message, piece by piece as it arrives, and
// appends it to the body of the message. It never blocks.
type receiver struct {
	decoder http1.Body
	limit   int64 // of the content in bytes; 0 for none
	got     int64
	// bodyOnly means that the caller reads the trailer section
	bodyOnly bool
	accept   trailerFilter // nil except for a server
}

func (r *receiver) start(f http1.Framing, limit int) error {
	r.decoder.Start(f)
	r.limit, r.got = int64(max(limit, 0)), 0
	if r.limit > 0 && f.Kind == http1.Length && f.Length > r.limit {
		return ErrBodyTooLarge
	}
	return nil
}

// feed reads the bytes of b that belong to the message, and returns their number.
// They include the trailer section, which is added to h. done reports whether the
// message is complete.
func (r *receiver) feed(b []byte, dst *body, h *header) (n int, done bool, err error) {
	for !r.decoder.Done() {
		content, used, err := r.decoder.Next(b[n:])
		n += used
		if err != nil {
			return n, false, brokenChunk(err)
		}
		r.got += int64(len(content))
		// the size of a chunk is checked before its content arrives
		if r.limit > 0 && (r.got > r.limit || r.decoder.Left() > r.limit-r.got) {
			return n, false, ErrBodyTooLarge
		}
		if len(content) == 0 {
			if r.decoder.Done() {
				break
			}
			return n, false, nil
		}
		if r.got > int64(len(content)) && r.decoder.Kind() == http1.Length {
			dst.makeRoom(len(content), int64(len(content))+r.decoder.Left())
		}
		dst.write(content)
	}
	if r.decoder.Kind() != http1.Chunks || r.bodyOnly {
		return n, true, nil
	}
	used, err := h.feedTrailers(b[n:], r.accept)
	if err != nil {
		return n, false, err
	}
	return n + used, used > 0, nil
}

// grown returns the largest size that the buffer of dst can get if n bytes are fed,
// or 0 if it is large enough.
func (r *receiver) grown(dst *body, n int) int {
	if r.decoder.Kind() != http1.Length {
		return dst.grown(n, math.MaxInt64)
	}
	left := r.decoder.Left()
	return dst.grown(int(min(int64(n), left)), left)
}

// brokenChunk wraps an error of the chunked coding.
func brokenChunk(err error) error {
	return ErrBrokenChunk{err}
}

// readBody reads the content of a message from in into dst, and the trailer section
// after a chunked body into h.
func readBody(in source, f http1.Framing, limit int, dst *body, h *header) error {
	var r receiver
	return r.read(in, f, limit, dst, h)
}

// readBodyOnly is like readBody, but leaves the trailer section after a chunked
// body in the source: ReadTrailer reads it.
func readBodyOnly(in source, f http1.Framing, limit int, dst *body, h *header) error {
	r := receiver{bodyOnly: true}
	return r.read(in, f, limit, dst, h)
}

// bodyReader is readBody or readBodyOnly.
type bodyReader func(in source, f http1.Framing, limit int, dst *body, h *header) error

func (r *receiver) read(in source, f http1.Framing, limit int, dst *body, h *header) error {
	if err := r.start(f, limit); err != nil {
		return err
	}
	dst.limit = limit
	for {
		n, done, err := r.feed(in.peek(), dst, h)
		in.discard(n)
		if done || err != nil {
			return err
		}
		switch err := in.fill(); {
		case err == nil:
		case err == io.EOF && f.Kind == http1.UntilClose:
			return nil
		case err == io.EOF:
			return io.ErrUnexpectedEOF
		case err == bufio.ErrBufferFull:
			// only a trailer section stays in the buffer until it is whole
			return atEnd(h.readTrailers(in, r.accept))
		default:
			return err
		}
	}
}

// atEnd returns the error of reading a part that a message must have at its end:
// the end of the stream is unexpected there.
func atEnd(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// bodyStream is the content of a message that the application reads while it
// arrives.
type bodyStream struct {
	in      source
	decoder http1.Body
	h       *header
	accept  trailerFilter // nil except for a server
	err     error         // the result of all further calls of Read
	done    bool          // the message was read to its end
	limited bool          // Read may return no more than left bytes
	left    int64
}

func (s *bodyStream) start(in source, f http1.Framing, h *header) {
	*s = bodyStream{in: in, h: h}
	s.decoder.Start(f)
	if f.Kind == http1.NoBody {
		s.finish()
	}
}

// resume makes the stream continue with a decoder that has decoded a part of the
// content.
func (s *bodyStream) resume(in source, decoder http1.Body, h *header) {
	*s = bodyStream{in: in, h: h, decoder: decoder}
}

func (s *bodyStream) finish() {
	s.done, s.err = true, io.EOF
}

// Read reads content. It returns io.EOF after the last byte of the message, and
// io.ErrUnexpectedEOF if the connection ends before that.
func (s *bodyStream) Read(p []byte) (int, error) {
	for s.err == nil {
		if s.decoder.Done() {
			s.readTrailers()
			continue
		}
		if len(p) == 0 {
			return 0, nil
		}
		b := s.in.peek()
		if len(b) == 0 {
			s.wait()
			continue
		}
		n, err := s.take(p, b)
		if err != nil {
			s.err = err
		}
		if s.limited {
			n = s.spend(n)
		}
		if n > 0 {
			if s.decoder.Done() && s.decoder.Kind() == http1.Length {
				s.finish()
			}
			return n, nil
		}
	}
	return 0, s.err
}

// limit limits the bytes that can still be read to n. If the body is known to be
// larger, no byte of it can be read.
func (s *bodyStream) limit(n int64) error {
	if s.err != nil {
		return nil
	}
	if s.decoder.Kind() == http1.Length && s.decoder.Left() > n {
		s.err = ErrBodyTooLarge
		return s.err
	}
	if !s.limited || n < s.left {
		s.limited, s.left = true, n
	}
	return nil
}

// spend subtracts n from the bytes that may be read, and returns how many of the n
// bytes may be read.
func (s *bodyStream) spend(n int) int {
	if int64(n) > s.left {
		n = int(s.left)
		s.err = ErrBodyTooLarge
	}
	s.left -= int64(n)
	return n
}

// take decodes content from b, the bytes that have arrived, into p.
func (s *bodyStream) take(p, b []byte) (int, error) {
	if left := s.decoder.Left(); left > 0 || s.decoder.Kind() == http1.UntilClose {
		b = b[:min(len(b), len(p))]
	}
	content, used, err := s.decoder.Next(b)
	if err != nil {
		s.in.discard(used)
		return 0, brokenChunk(err)
	}
	n := copy(p, content)
	if n < len(content) {
		// only a chunk that begins in b can be longer than p
		s.decoder.PutBack(len(content) - n)
		used -= len(content) - n
	}
	s.in.discard(used)
	return n, nil
}

// wait blocks until more bytes arrive, or sets err.
func (s *bodyStream) wait() {
	switch err := s.in.fill(); {
	case err == nil:
	case err == io.EOF && s.decoder.Kind() == http1.UntilClose:
		s.finish()
	case err == io.EOF:
		s.err = io.ErrUnexpectedEOF
	default:
		s.err = err
	}
}

func (s *bodyStream) readTrailers() {
	if s.decoder.Kind() == http1.Chunks {
		s.err = atEnd(s.h.readTrailers(s.in, s.accept))
	}
	if s.err == nil {
		s.finish()
	}
}

// Close ends the stream. Bytes that were not read stay on the connection.
func (s *bodyStream) Close() error { return s.CloseWithError(nil) }

// CloseWithError ends the stream as Close does.
func (s *bodyStream) CloseWithError(error) error {
	if s.err == nil {
		s.err = errStreamClosed
	}
	return nil
}

// drain reads and discards the rest of the message, up to limit bytes, and subtracts
// from limit what it has read. It reports whether it has reached the end of the
// message.
func (s *bodyStream) drain(limit *int) bool {
	if s.err == errStreamClosed {
		s.err = nil
	}
	var discarded [512]byte
	for *limit > 0 && !s.done {
		n, err := s.Read(discarded[:min(*limit, len(discarded))])
		*limit -= n
		if err != nil {
			break
		}
	}
	return s.done
}

var _ ReadCloserWithError = (*bodyStream)(nil)
