package fasthttp

import (
	"bufio"
	"io"
	"math"

	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
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
func readBody(in recvbuf.Source, f http1.Framing, limit int, dst *body, h *header) error {
	var r receiver
	return r.read(in, f, limit, dst, h)
}

// readBodyOnly is like readBody, but leaves the trailer section after a chunked
// body in the source: ReadTrailer reads it.
func readBodyOnly(in recvbuf.Source, f http1.Framing, limit int, dst *body, h *header) error {
	r := receiver{bodyOnly: true}
	return r.read(in, f, limit, dst, h)
}

// bodyReader is readBody or readBodyOnly.
type bodyReader func(in recvbuf.Source, f http1.Framing, limit int, dst *body, h *header) error

func (r *receiver) read(in recvbuf.Source, f http1.Framing, limit int, dst *body, h *header) error {
	if err := r.start(f, limit); err != nil {
		return err
	}
	dst.limit = limit
	for {
		n, done, err := r.feed(in.Peek(), dst, h)
		in.Discard(n)
		if done || err != nil {
			return err
		}
		switch err := in.Fill(); {
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
