package fasthttp

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/forms"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/sender"
)

// outgoingContent is the content of a request, and its trailer section, which a goroutine of its own
// sends on a stream of HTTP/2 or HTTP/3 while the call waits for the response. Once the call has
// left it (detach), it uses no memory of the caller except for a body stream.
type outgoingContent struct {
	content  []byte
	body     content.Body // a stream, with its size; or nothing
	source   *sender.Stream
	borrowed bool          // the source reads memory that belongs to the caller
	done     chan struct{} // closed at the end

	// guarded by a lock of the sender
	trailers *header.Header // of the request or its stream, nil if there are none or the call has left it
	own      bool           // the trailers belong to the stream
	fields   field.List     // the trailer section, then
}

// take takes the content of the request of x, which is p if it is in memory.
func (c *outgoingContent) take(x *streamCall, e http1.Encoding, p []byte) {
	c.done, c.content = make(chan struct{}), p
	if x.use == bodyStreamed {
		// the call may return before all of it was sent
		c.content = bytes.Clone(p)
	}
	req := x.req
	if e.Kind == http1.Chunks {
		c.trailers = &req.Header.head
	}
	if req.body.Stream == nil {
		return
	}
	x.call.bodyConsumed = true
	if e.Kind == http1.Chunks {
		req.body.Unsize()
	}
	c.body = content.Body{Stream: req.body.Stream, Size: req.body.Size}
	if source, ok := c.body.Stream.(bridge.TrailerSource); ok {
		// in any case the stream no longer adds to the header of the request, which the caller may use
		own := source.Trailers().(*RequestHeader)
		if e.Kind == http1.Chunks {
			c.trailers, c.own = &own.head, true
		}
	}
	req.body.Stream = nil
	c.source = sender.WrapStream(&c.body.Stream)
	_, c.borrowed = c.source.Reader.(*forms.Stream)
}

// sendSafely writes the content to w, and then calls finish. A panic becomes an error.
func (c *outgoingContent) sendSafely(w flushWriter, finish func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = streamPanic("panic while sending a request", p)
		}
	}()
	if err := c.send(w); err != nil {
		return err
	}
	return finish()
}

// send writes the content to w.
func (c *outgoingContent) send(w flushWriter) (err error) {
	switch {
	case c.source == nil:
		_, err = w.Write(c.content)
	case c.body.Size >= 0:
		err = c.body.WriteFixed(w)
	default:
		err = c.body.WritePlain(w)
	}
	return err
}

// hasSection reports whether a trailer section follows. A stream may have added it to the header
// at its end, as the body of a request that a proxy forwards does. The lock is held.
func (c *outgoingContent) hasSection() bool {
	return c.trailers != nil && c.trailers.HasSection() || len(c.fields.Entries) > 0
}

// appendSection appends the trailer section. The lock is held.
func (c *outgoingContent) appendSection(dst []byte, enc *hpack.Encoder) []byte {
	if c.trailers != nil {
		return c.trailers.AppendTrailerBlock(dst, enc)
	}
	for i := range c.fields.Entries {
		dst = header.AppendBlockField(dst, enc, c.fields.Entries[i].ID, c.fields.Name(i), c.fields.Value(i))
	}
	return dst
}

// detach copies the memory of the caller if it is still needed. The lock is held.
func (c *outgoingContent) detach() {
	if c.trailers != nil && !c.own {
		for name, value := range c.trailers.EachTrailer {
			c.fields.Add(bytesconv.String(name), bytesconv.String(value)).ID = field.Lookup(name)
		}
		c.trailers = nil
	}
}

// end completes the end of the sending, once nothing more can be sent. It may take as long as
// closing the stream takes.
func (c *outgoingContent) end() {
	if c.source != nil {
		c.source.CloseQuietly()
	}
	if c.borrowed || c.source == nil {
		<-c.done
	}
}

// endsSoon waits a moment for the end of the sending, and reports whether it has ended. The memory of a
// form belongs to the caller again once the call has returned.
func (c *outgoingContent) endsSoon() bool {
	timer := time.NewTimer(sender.ReuseTimeout)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}
