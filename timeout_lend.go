package fasthttp

import (
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// A handler with a timeout may go on long after its request was answered, and so do
// the handlers around it: they log the answer, and set fields of it. So it gets a
// context of its own. Text is copied, since the handlers around it may hold pieces of
// it; large content and open streams are handed over.

// lend returns a run of h with a context that begins as ctx.
func (ctx *RequestCtx) lend(h RequestHandler) *timedRun {
	run := ctx.s.timedRun()
	run.handler = h
	to := run.ctx
	to.used = true
	if ctx.c != nil {
		to.serveOn(ctx.c)
	}
	to.requestNum, to.initAddr, to.initLogger = ctx.requestNum, ctx.initAddr, ctx.initLogger
	ctx.Request.lendTo(&to.Request)
	ctx.exchangeWith(to)
	ctx.late.Lock()
	defer ctx.late.Unlock()
	if resp := ctx.timeoutResponse.Load(); resp != nil && ctx.kept {
		// a TimeoutError method has already left it to other goroutines
		to.timeoutResponse.Store(resp.withoutStream())
		to.kept = true
	}
	to.late.Lock()
	to.exchange, to.lost = ctx.exchange, ctx.lost
	to.late.Unlock()
	run.before, ctx.run = ctx.run, run
	return run
}

// exchangeWith gives to everything that a handler sets except the request.
func (ctx *RequestCtx) exchangeWith(to *RequestCtx) {
	ctx.Response.moveTo(&to.Response)
	to.at, to.initTime, to.remoteAddr = ctx.at, ctx.initTime, ctx.remoteAddr
	to.hijack, to.hijackNoResponse, to.hijackAtOnce = ctx.hijack, ctx.hijackNoResponse, ctx.hijackAtOnce
	to.content, to.fullDuplex = ctx.content, ctx.fullDuplex
	if w := ctx.watch.Load(); w != nil {
		to.watch.CompareAndSwap(nil, w)
	}
}

// takeBack copies back the changes of a handler that has returned in time. The
// application may keep its context until the request was handled, so the context is
// released with ctx.
func (ctx *RequestCtx) takeBack(run *timedRun) {
	from := run.ctx
	from.endExchange()
	from.exchangeWith(ctx)
	if ctx.Response.body.stream != nil {
		from.Response.Header.moveTrailers(&ctx.Response.Header.header)
	}
	// the body may be read at this moment, although the handler has returned
	reading := ctx.fullDuplex && ctx.Response.body.stream != nil
	ctx.Request.takeBack(&from.Request, ctx.left != nil || from.left != nil, reading)
	ctx.late.Lock()
	defer ctx.late.Unlock()
	ctx.takeLeft(from)
	if ctx.exchange == nil {
		// there is no exchange that says when that is
		ctx.run = run.before
	}
}

// takeLeft takes over the late runs of a context whose handler has returned. late is held.
func (ctx *RequestCtx) takeLeft(from *RequestCtx) {
	if from.left == nil {
		return
	}
	first := from.left
	for first.before != nil {
		first = first.before
	}
	first.before, ctx.left, from.left = ctx.left, from.left, nil
}

// giveUp answers with the timeout response of the run, and leaves the context of the
// run to its handler.
func (ctx *RequestCtx) giveUp(run *timedRun) {
	ctx.late.Lock()
	ctx.run = run.before
	run.before, ctx.left = ctx.left, run
	ctx.late.Unlock()
	if ctx.c != nil && ctx.c.NC != nil {
		ctx.c.Pin()
	}
	ctx.Request.giveUp()
	response := run.ctx.takeTimeoutResponse()
	ctx.Response.answer(response.Response)
	response.giveStreamTo(&ctx.Response)
	ctx.hijack, ctx.content = nil, nil
}

// releaseRuns releases the contexts of handlers that have returned in time.
func (ctx *RequestCtx) releaseRuns() {
	for run := ctx.run; run != nil; {
		before := run.before
		lent := run.ctx
		lent.releaseRuns()
		lent.Request.Header.onward, lent.Response.Header.onward = nil, nil
		lent.watch.Store(nil)
		lent.c = nil
		lent.endExchange()
		if lent.timeoutResponse.Load() != nil {
			// a TimeoutError method was called after the handler had returned
			lent.discard()
			run = before
			continue
		}
		lent.reset()
		lent.Request.Header.shrink()
		lent.Response.Header.shrink()
		*run = timedRun{ctx: lent, start: run.start, done: run.done}
		lent.s.pooledRuns().Put(run)
		run = before
	}
	ctx.run = nil
}

// lendTo makes dst the request as a handler gets it. Bytes of the body are shared:
// dst copies them before it changes anything.
func (req *Request) lendTo(dst *Request) {
	req.copyTextTo(dst)
	dst.body = req.body
	dst.body.spare = nil
	if p := req.body.bytes(); p != nil {
		dst.body.buf, dst.body.raw = nil, p
	}
	dst.pointStream(dst)
	req.values.LendTo(&dst.values)
	dst.form, req.form = req.form, nil
}

// trailingStream is a body stream of another package that adds the trailers after it
// to its request.
type trailingStream interface {
	// TrailersTo gives it the function to add them with.
	TrailersTo(add func(name, value string) error)
}

// pointStream makes the stream of the body add its trailer section to the request to.
// The stream itself is not moved.
func (req *Request) pointStream(to *Request) {
	switch stream := req.body.stream.(type) {
	case contentSource:
		stream.trailersTo(&to.Header.header)
	case trailingStream:
		stream.TrailersTo(to.Header.AddTrailerField)
	}
	if req.source != nil {
		req.source.trailersTo(&to.Header.header)
	}
}

// copyTextTo copies everything except the body and the values derived from it.
func (req *Request) copyTextTo(dst *Request) {
	req.Header.CopyTo(&dst.Header)
	req.copyTargetTo(dst)
}

// copyTargetTo is copyTextTo without the header.
func (req *Request) copyTargetTo(dst *Request) {
	if req.uriParsed {
		req.uri.CopyTo(&dst.uri)
	}
	if req.argsParsed {
		req.args.CopyTo(&dst.args)
	}
	dst.uriParsed, dst.argsParsed, dst.argsErr = req.uriParsed, req.argsParsed, req.argsErr
	dst.knownAs = 0
	dst.KeepBodyBuffer, dst.UseHostHeader = req.KeepBodyBuffer, req.UseHostHeader
	dst.DisableRedirectPathNormalizing = req.DisableRedirectPathNormalizing
	dst.GetBody, dst.timeout, dst.isTLS = req.GetBody, req.timeout, req.isTLS
}

// takeBack takes back the parts that lendTo gave away. If an inner handler is late,
// that one keeps the body. If a goroutine is reading the body, the header stays with
// it, since trailers may come at any moment.
func (req *Request) takeBack(from *Request, late, reading bool) {
	if !reading {
		from.Header.CopyTo(&req.Header)
	}
	from.copyTargetTo(req)
	own := req.body
	req.body = from.body
	if lent := from.body.raw; lent != nil && !late && sameBytes(lent, own.bytes()) {
		req.body.raw, req.body.buf = own.raw, own.buf
	}
	from.body = body{}
	if !late && !reading {
		req.pointStream(req)
		if req.body.stream != nil {
			from.Header.moveTrailers(&req.Header.header)
		}
	}
	req.values.TakeBack(&from.values)
	req.form, from.form = from.form, nil
}

// sameBytes reports whether a and b are the same piece of memory.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// giveUp leaves the parts that were lent to a late handler with it.
func (req *Request) giveUp() {
	req.body = body{raw: req.body.bytes(), limit: req.body.limit}
}

// moveTo makes dst the response, which loses its body.
func (resp *Response) moveTo(dst *Response) {
	resp.Header.CopyTo(&dst.Header)
	dst.ImmediateHeaderFlush, dst.StreamBody = resp.ImmediateHeaderFlush, resp.StreamBody
	dst.SkipBody, dst.skipsHead, dst.KeepBodyBuffer = resp.SkipBody, resp.skipsHead, resp.KeepBodyBuffer
	dst.remoteAddr, dst.localAddr = resp.remoteAddr, resp.localAddr
	from, to := resp.body.owner, dst.body.owner
	stream, size := resp.body.takeStream()
	dst.body, resp.body = resp.body, body{owner: from}
	dst.body.owner = to
	if stream != nil {
		dst.body.setStream(stream, size)
	}
}

// answer gives the response status, content and fields of another one. Its own fields
// stay if the other has no field of the same name, unless they describe the content.
func (resp *Response) answer(other *Response) {
	h, from := &resp.Header, &other.Header
	resp.ResetBody()
	resp.SkipBody, resp.ImmediateHeaderFlush = other.SkipBody, false
	h.SetStatusCode(other.StatusCode())
	h.SetStatusMessage(from.StatusMessage())
	for _, id := range contentFields {
		h.del(http1.Response, key{id.Bytes(), id})
	}
	for name := range from.All() {
		if k := keyOf(name); k.id != field.SetCookie {
			h.del(http1.Response, k)
		}
	}
	for name, value := range from.All() {
		switch k := keyOf(name); k.id {
		case field.ContentLength, field.TransferEncoding, field.ContentType:
		default:
			h.add(http1.Response, k, value)
		}
	}
	h.SetContentTypeBytes(from.text(from.slots[slotContentType]))
	h.setState(noDefaultType, h.is(noDefaultType) || from.is(noDefaultType))
	h.setState(noDate, h.is(noDate) || from.is(noDate))
	if other.ConnectionClose() {
		h.SetConnectionClose()
	}
	if p := other.body.bytes(); len(p) > 0 {
		resp.body.set(p)
	}
}

// contentFields describe the content of a response, and not the response itself.
var contentFields = []field.ID{
	field.ContentType, field.ContentEncoding, field.ContentLength, field.ContentRange, field.Etag, field.LastModified,
}
