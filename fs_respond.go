package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/files"
)

var noSniffValue = []byte("nosniff")

// send answers with the representation c. It takes over the caller's share of c.
func (h *fileHandler) send(ctx *RequestCtx, n *files.Node, c *files.Content) {
	req, resp := &ctx.Request.Header, &ctx.Response
	isRead := ctx.IsGet() || ctx.IsHead()
	if isRead {
		switch files.EvalPreconditions(&req.list, c.Validator()) {
		case StatusNotModified:
			c.Release()
			resp.ResetBody()
			resp.SetStatusCode(StatusNotModified)
			h.setValidators(resp, n, c)
			return
		case StatusPreconditionFailed:
			c.Release()
			ctx.Error("Precondition failed", StatusPreconditionFailed)
			return
		}
	}
	var few [files.MaxRanges]files.Span
	var spans []files.Span
	if h.ranges && isRead && req.list.FindID(field.Range, 0) >= 0 && files.RangeApplies(&req.list, c.Validator(), clock.Now()) {
		var err error
		if spans, err = files.ParseRanges(few[:0], req.peekID(field.Range), c.Size); err != nil {
			c.Release()
			var text [48]byte
			ctx.Error("Range Not Satisfiable", StatusRequestedRangeNotSatisfiable)
			resp.Header.setID(field.ContentRange, files.AppendUnsatisfied(text[:0], c.Size))
			return
		}
	}
	h.setFields(resp, n, c)
	if err := h.setBody(ctx, c, spans); err != nil {
		h.refuse(ctx, err)
	}
}

// setFields sets the fields that 200 and 206 have in common. It keeps a Content-Type
// that the application has set. If the application has set no other field, the
// fields set here are the same for all responses with this content, and are cached.
func (h *fileHandler) setFields(resp *Response, n *files.Node, c *files.Content) {
	if resp.Header.slots[slotContentType].Len == 0 {
		resp.Header.SetContentTypeBytes(c.Type)
	}
	if c.Coding != "" {
		resp.Header.SetContentEncoding(c.Coding)
	}
	alike := h.finder.IsCaching() && len(resp.Header.list.Entries) == 0 && resp.StatusCode() == StatusOK
	if lines, ok := c.Fields.Load().(*fieldLines); alike && ok {
		resp.Header.appendLines(lines)
		return
	}
	if h.ranges {
		resp.Header.setID(field.AcceptRanges, []byte("bytes"))
	}
	if h.noSniff || n.IsPage() {
		setDefault(&resp.Header, field.XContentTypeOptions, noSniffValue)
	}
	if n.IsPage() {
		setDefault(&resp.Header, field.ContentSecurityPolicy, files.PagePolicy)
	}
	h.setValidators(resp, n, c)
	if alike {
		c.Fields.Store(linesOf(&resp.Header.list))
	}
}

// setValidators sets the fields that a 304 needs as well (RFC 9110 section 15.4.5).
func (h *fileHandler) setValidators(resp *Response, n *files.Node, c *files.Content) {
	if len(c.ETag) > 0 {
		resp.Header.setID(field.Etag, c.ETag)
	}
	// the tag is the better validator for a client that has the content
	if len(c.LastModified) > 0 && (len(c.ETag) == 0 || resp.StatusCode() != StatusNotModified) {
		resp.Header.setID(field.LastModified, c.LastModified)
	}
	if len(h.control) > 0 {
		setDefault(&resp.Header, field.CacheControl, h.control)
	}
	if h.finder.HasCodings() {
		resp.Header.varyBy(HeaderAcceptEncoding)
	}
	if n.IsPage() {
		resp.Header.varyBy(HeaderAccept)
	}
}

// setBody sets the status and the body: all of the content if there are no spans,
// otherwise these parts of it.
func (h *fileHandler) setBody(ctx *RequestCtx, c *files.Content, spans []files.Span) error {
	resp := &ctx.Response
	resp.SetStatusCode(StatusOK)
	part := files.Span{Length: c.Size}
	switch len(spans) {
	case 0:
	case 1:
		part = spans[0]
		var text [72]byte
		resp.SetStatusCode(StatusPartialContent)
		resp.Header.setID(field.ContentRange, files.AppendContentRange(text[:0], part, c.Size))
	default:
		if src := c.ReaderAt(); src != nil {
			sendRanges(ctx, c, src, spans)
			return nil
		}
		// this content has no random access, so the client gets all of it
	}
	if ctx.IsHead() {
		c.Release()
		skipBody(resp, part.Length)
		return nil
	}
	if data, ok := c.Bytes(part); ok {
		resp.SetBodyRaw(data)
		return nil
	}
	stream, err := streamOf(c, part)
	if err != nil {
		return err
	}
	resp.SetBodyStream(stream, int(part.Length))
	return nil
}

// streamOf returns a stream of a part of content outside of memory. The stream takes
// over the caller's share of c, even if there is an error.
func streamOf(c *files.Content, part files.Span) (io.ReadCloser, error) {
	if shared := c.Shared(); shared != nil {
		return newFileStream(shared.Part(part)), nil
	}
	return c.Reopen(part)
}

// sendRanges makes several ranges the body, as multipart/byteranges.
func sendRanges(ctx *RequestCtx, c *files.Content, src io.ReaderAt, spans []files.Span) {
	resp := &ctx.Response
	boundary := files.NewBoundary()
	body := files.NewByteRanges(src, spans, c.Size, resp.Header.ContentType(), boundary, func() error {
		c.Release()
		return nil
	})
	resp.SetStatusCode(StatusPartialContent)
	resp.Header.SetContentType("multipart/byteranges; boundary=" + boundary)
	if ctx.IsHead() {
		_ = body.Close()
		skipBody(resp, body.Size)
		return
	}
	resp.SetBodyStream(body, int(body.Size))
}

// skipBody makes the response fit HEAD: without the body, but with its length.
func skipBody(resp *Response, size int64) {
	resp.ResetBody()
	resp.SkipBody = true
	resp.Header.SetContentLength(int(size))
}

// setDefault sets a field, unless the application has set it.
func setDefault(h *ResponseHeader, id field.ID, value []byte) {
	if h.list.FindID(id, 0) < 0 {
		h.setID(id, value)
	}
}
