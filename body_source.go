package fasthttp

import (
	"bufio"
	"io"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// contentSource is the content of a message, read while it arrives, in whatever
// protocol. A message, its context and its handlers know no more of the transport of
// the content than this.
//
// It is used by one goroutine at a time, except for Ended.
type contentSource interface {
	// Close ends the reading. Unread content stays where it is.
	io.ReadCloser
	// Limit limits the bytes that Read may still return to n. It returns
	// ErrBodyTooLarge if there are certainly more: then Read fails, as it does when it
	// finds more.
	Limit(n int64) error
	// Drain reads and discards the rest of the message, even after Close: limit bytes
	// at most, which it subtracts from limit.
	Drain(limit *int) bodyio.Drained
	// DrainArrived is Drain that does not wait for the rest.
	DrainArrived(limit *int) bodyio.Drained
	// Ended reports whether the message was read to its end.
	Ended() bool
	// trailersTo makes h the header that gets the trailer section.
	trailersTo(h *header)
}

// h1Content is the content of a message in HTTP/1. It must not be copied once it was
// started.
type h1Content struct {
	bodyio.Incoming
	h      *header
	accept trailerFilter // nil except for a server
	owner  *body         // which uses it again after closing it, or nil
}

var (
	_ contentSource       = (*h1Content)(nil)
	_ ReadCloserWithError = (*h1Content)(nil)
	_ bodyio.Recipient    = (*h1Content)(nil)
)

// start makes c the content with framing f that begins in in.
func (c *h1Content) start(in recvbuf.Source, f http1.Framing, h *header, accept trailerFilter) {
	c.h, c.accept = h, accept
	c.Start(in, f, c)
}

// resume is start for content of which decoder has decoded a part.
func (c *h1Content) resume(in recvbuf.Source, decoder http1.Body, h *header, accept trailerFilter) {
	c.h, c.accept = h, accept
	c.Resume(in, decoder, c)
}

// clear makes c the zero value.
func (c *h1Content) clear() {
	c.Clear()
	c.h, c.accept = nil, nil
}

// trailersTo implements contentSource.
func (c *h1Content) trailersTo(h *header) { c.h = h }

// FeedTrailers implements bodyio.Recipient.
func (c *h1Content) FeedTrailers(b []byte) (n int, err error) { return c.h.feedTrailers(b, c.accept) }

// BrokenChunk implements bodyio.Recipient.
func (c *h1Content) BrokenChunk(err error) error { return brokenChunk(err) }

// leaveOn makes the content still on r the stream of the body; h is the header of its
// message.
func (b *body) leaveOn(r *bufio.Reader, f http1.Framing, h *header) {
	c := b.spare
	if b.spare = nil; c == nil {
		c = new(h1Content)
	}
	c.owner = b
	c.start(recvbuf.Buffered{R: r}, f, h, nil)
	b.setStream(c, h.contentLength)
}

// reclaim keeps a stream of leaveOn that b has closed for the next one. A stream that
// has moved to another body since is not kept: its owner may be reading it still.
func (b *body) reclaim(stream io.Reader) {
	if c, ok := stream.(*h1Content); ok && c.owner == b {
		c.Forget()
		c.h, c.owner = nil, nil
		b.spare = c
	}
}
