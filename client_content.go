package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/sender"
)

// outgoingContent is the content of a request, and its trailer section, which a goroutine of its own
// sends on a stream of HTTP/2 or HTTP/3 while the call waits for the response. Once the call has
// left it (detach), it uses no memory of the caller except for a body stream.
type outgoingContent struct {
	content  []byte
	body     body // a stream, with its size; or nothing
	source   *sender.Stream
	borrowed bool // the source reads memory that belongs to the caller

	// guarded by a lock of the sender
	trailers *header    // of the request or its stream, nil if there are none or the call has left it
	own      bool       // the trailers belong to the stream
	fields   field.List // the trailer section, then
}

// take takes the content of req. If outlasts is set, the call may return before all of it was
// sent.
func (c *outgoingContent) take(call *callState, req *Request, e http1.Encoding, content []byte, outlasts, trailers bool) {
	c.content = content
	if outlasts {
		c.content = bytes.Clone(content)
	}
	if trailers {
		c.trailers = &req.Header.header
	}
	if req.body.stream == nil {
		return
	}
	call.bodyConsumed = true
	if e.Kind == http1.Chunks {
		req.body.unsize()
	}
	c.body = body{stream: req.body.stream, size: req.body.size}
	if own, ok := c.body.stream.(bridge.TrailerSource); ok && trailers {
		c.trailers, c.own = &own.Trailers().(*RequestHeader).header, true
	}
	req.body.stream = nil
	c.source = sender.WrapStream(&c.body.stream)
	_, c.borrowed = c.source.Reader.(*formStream)
}

// send writes the content to w.
func (c *outgoingContent) send(w flushWriter) (err error) {
	switch {
	case c.source == nil:
		_, err = w.Write(c.content)
	case c.body.size >= 0:
		err = c.body.writeFixed(w)
	default:
		err = c.body.writePlain(w)
	}
	return err
}

// hasSection reports whether a trailer section follows. A stream may have added it to the header
// at its end, as the body of a request that a proxy forwards does. The lock is held.
func (c *outgoingContent) hasSection() bool {
	return c.trailers != nil && c.trailers.hasSection() || len(c.fields.Entries) > 0
}

// appendSection appends the trailer section. The lock is held.
func (c *outgoingContent) appendSection(dst []byte, enc *hpack.Encoder) []byte {
	if c.trailers != nil {
		return c.trailers.appendTrailerBlock(dst, enc)
	}
	for i := range c.fields.Entries {
		dst = appendBlockField(dst, enc, c.fields.Entries[i].ID, c.fields.Name(i), c.fields.Value(i))
	}
	return dst
}

// detach copies the memory of the caller that is still needed. The lock is held.
func (c *outgoingContent) detach() {
	if c.trailers != nil && !c.own {
		for name, value := range c.trailers.eachTrailer {
			c.fields.Add(bytesconv.String(name), bytesconv.String(value)).ID = field.Lookup(name)
		}
		c.trailers = nil
	}
}
