package content

import (
	"bufio"
	"io"
	"math"

	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// Receiver receives the content of one message, piece by piece as it arrives, and
// appends it to the body of the message. It never blocks.
type Receiver struct {
	Decoder http1.Body // finds the end
	Limit   int64      // of the content in bytes; 0 for none
	Got     int64      // bytes of content so far
	// bodyOnly means that the caller reads the trailer section
	bodyOnly bool
	Accept   header.TrailerFilter // nil except for a server
}

// Start prepares for content of limit bytes at most, or any number if limit is not positive.
func (r *Receiver) Start(f http1.Framing, limit int) error {
	r.Decoder.Start(f)
	r.Limit, r.Got = int64(max(limit, 0)), 0
	if r.Limit > 0 && f.Kind == http1.Length && f.Length > r.Limit {
		return http1.ErrBodyTooLarge
	}
	return nil
}

// Feed reads the bytes of b that belong to the message, and returns their number.
// They include the trailer section, which is added to h. done reports whether the
// message is complete.
func (r *Receiver) Feed(b []byte, dst *Body, h *header.Header) (n int, done bool, err error) {
	for !r.Decoder.Done() {
		content, used, err := r.Decoder.Next(b[n:])
		n += used
		if err != nil {
			return n, false, BrokenChunk(err)
		}
		r.Got += int64(len(content))
		// the size of a chunk is checked before its content arrives
		if r.Limit > 0 && (r.Got > r.Limit || r.Decoder.Remaining() > r.Limit-r.Got) {
			return n, false, http1.ErrBodyTooLarge
		}
		if len(content) == 0 {
			if r.Decoder.Done() {
				break
			}
			return n, false, nil
		}
		if r.Got > int64(len(content)) && r.Decoder.Kind() == http1.Length {
			dst.MakeRoom(len(content), int64(len(content))+r.Decoder.Remaining())
		}
		dst.Write(content)
	}
	if r.Decoder.Kind() != http1.Chunks || r.bodyOnly {
		return n, true, nil
	}
	used, err := h.FeedTrailers(b[n:], r.Accept)
	if err != nil {
		return n, false, err
	}
	return n + used, used > 0, nil
}

// Grown returns the largest size that the buffer of dst can get if n bytes are fed,
// or 0 if it is large enough.
func (r *Receiver) Grown(dst *Body, n int) int {
	if r.Decoder.Kind() != http1.Length {
		return dst.grown(n, math.MaxInt64)
	}
	left := r.Decoder.Remaining()
	return dst.grown(int(min(int64(n), left)), left)
}

// Read reads the content of a message from in into dst, and the trailer section
// after a chunked body into h.
func Read(in recvbuf.Source, f http1.Framing, limit int, dst *Body, h *header.Header) error {
	var r Receiver
	return r.read(in, f, limit, dst, h)
}

// ReadOnly is like Read, but leaves the trailer section after a chunked
// body in the source: ReadTrailer reads it.
func ReadOnly(in recvbuf.Source, f http1.Framing, limit int, dst *Body, h *header.Header) error {
	r := Receiver{bodyOnly: true}
	return r.read(in, f, limit, dst, h)
}

// Reader is Read or ReadOnly.
type Reader func(in recvbuf.Source, f http1.Framing, limit int, dst *Body, h *header.Header) error

func (r *Receiver) read(in recvbuf.Source, f http1.Framing, limit int, dst *Body, h *header.Header) error {
	if err := r.Start(f, limit); err != nil {
		return err
	}
	dst.Limit = limit
	for {
		n, done, err := r.Feed(in.Peek(), dst, h)
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
			return AtEnd(h.ReadTrailers(in, r.Accept))
		default:
			return err
		}
	}
}

// AtEnd returns the error of reading a part that a message must have at its end:
// the end of the stream is unexpected there.
func AtEnd(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
