package content

import (
	"io"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// Source is the content of a message, read while it arrives, in whatever
// protocol. A message, its context and its handlers know no more of the transport of
// the content than this.
//
// It is used by one goroutine at a time, except for Ended.
type Source interface {
	// Close ends the reading. Unread content stays where it is.
	io.ReadCloser
	// Limit limits the bytes that Read may still return to n. It returns
	// http1.ErrBodyTooLarge if there are certainly more: then Read fails, as it does when it
	// finds more.
	Limit(n int64) error
	// Drain reads and discards the rest of the message, even after Close: limit bytes
	// at most, which it subtracts from limit.
	Drain(limit *int) bodyio.Drained
	// DrainArrived is Drain that does not wait for the rest.
	DrainArrived(limit *int) bodyio.Drained
	// Ended reports whether the message was read to its end.
	Ended() bool
	// TrailersTo makes h the header that gets the trailer section.
	TrailersTo(h *header.Header)
}

// Incoming is the content of a message in HTTP/1. It must not be copied once it was
// started.
type Incoming struct {
	bodyio.Incoming
	H      *header.Header       // gets the trailer section
	Accept header.TrailerFilter // nil except for a server
	Owner  *Body                // which uses it again after closing it, or nil
}

var (
	_ Source           = (*Incoming)(nil)
	_ bodyio.Recipient = (*Incoming)(nil)
)

// StartIn makes c the content with framing f that begins in in.
func (c *Incoming) StartIn(in recvbuf.Source, f http1.Framing, h *header.Header, accept header.TrailerFilter) {
	c.H, c.Accept = h, accept
	c.Start(in, f, c)
}

// ResumeIn is StartIn for content of which decoder has decoded a part.
func (c *Incoming) ResumeIn(in recvbuf.Source, decoder http1.Body, h *header.Header, accept header.TrailerFilter) {
	c.H, c.Accept = h, accept
	c.Resume(in, decoder, c)
}

// Forget makes c the zero value.
func (c *Incoming) Forget() {
	c.Incoming = bodyio.Incoming{}
	c.H, c.Accept = nil, nil
}

// TrailersTo implements Source.
func (c *Incoming) TrailersTo(h *header.Header) { c.H = h }

// FeedTrailers implements bodyio.Recipient.
func (c *Incoming) FeedTrailers(b []byte) (n int, err error) {
	return c.H.FeedTrailers(b, c.Accept)
}

// BrokenChunk implements bodyio.Recipient.
func (c *Incoming) BrokenChunk(err error) error { return BrokenChunk(err) }
