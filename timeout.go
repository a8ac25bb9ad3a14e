package fasthttp

import (
	"errors"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
)

// TimeoutHandler returns a handler that runs h with a time limit. If h takes longer than
// timeout, the client gets a 408 with msg at that moment.
//
// h runs in its own goroutine, with its own context, which starts as a copy of the caller's
// context. If h returns in time, all its changes are copied back to the caller's context,
// including the trailers that its body stream sets in the context of h when it is read. If h
// is late, no changes are copied back: the response has the status and msg, and the fields
// that were set before h was called, except the fields that describe the content. Middleware around
// the returned handler sees that response, and may change it.
//
// A late h is not stopped. It may use its context until it returns, but its changes have no
// effect. When it returns, values set with SetUserValue and its response's body stream are
// closed, and the files of its multipart form are removed. If it watches the client (see
// WatchDisconnect), its context is canceled when the client gets the other response. A streamed
// body that has not fully arrived is left to h, and the connection ends.
//
// At most Server.Concurrency handlers of a Server run this way at once, including late ones.
// Beyond that, the client gets a 429 with msg, and h is not called.
func TimeoutHandler(h RequestHandler, timeout time.Duration, msg string) RequestHandler {
	return TimeoutWithCodeHandler(h, timeout, msg, StatusRequestTimeout)
}

// TimeoutWithCodeHandler is TimeoutHandler with another status code than 408.
func TimeoutWithCodeHandler(h RequestHandler, timeout time.Duration, msg string, statusCode int) RequestHandler {
	var pool timers
	return func(ctx *RequestCtx) {
		if !ctx.s.admitTimed() {
			ctx.Error(msg, StatusTooManyRequests)
			return
		}
		run := ctx.newRun(h)
		run.limit(timeout, msg, statusCode)
		go run.start()
		timer := pool.acquire(timeout)
		defer pool.release(timer)
		if run.isLate(timer.C) {
			ctx.abandonRun(run)
			return
		}
		if run.ctx.timedOut() {
			ctx.abandonRun(run)
			run.logFault()
			return
		}
		fault := run.fault
		ctx.copyBack(run)
		if fault != nil {
			panic(fault)
		}
	}
}

// timedRun is a call of a handler in its own goroutine, with its own context.
type timedRun struct {
	ctx     *RequestCtx
	handler RequestHandler

	deadline   time.Time // the handler is late if it has not returned by then
	msg        string    // of the response if the handler is late
	statusCode int

	phase    runPhase  // guarded by ctx.timeoutMu
	fault    any       // the value of the handler's panic
	previous *timedRun // in RequestCtx.run or lateRun; guarded by timeoutMu of that context

	start func()        // the method value serve, allocated once
	done  chan struct{} // receives a value when the handler has ended
}

// timedRun returns a run for a handler of s, which may be nil. The server of its context never
// changes, since late calls of Done may read it at any time.
func (s *Server) timedRun() *timedRun {
	if r, ok := s.pooledRuns().Get().(*timedRun); ok {
		return r
	}
	r := &timedRun{ctx: newRequestCtx(s), done: make(chan struct{}, 1)}
	r.start = r.serve
	return r
}

// bareRuns is the pool of runs for contexts without a server.
var bareRuns sync.Pool

func (s *Server) pooledRuns() *sync.Pool {
	if s == nil {
		return &bareRuns
	}
	return &s.runs
}

// errHandlerExited is the fault of a handler that has ended its goroutine without returning.
var errHandlerExited = errors.New("fasthttp: the handler has ended its goroutine")

// serve calls the handler.
func (r *timedRun) serve() {
	r.fault = errHandlerExited
	defer func() {
		if p := recover(); p != nil {
			r.fault = passPanic(p)
		}
		r.end()
		r.done <- struct{}{}
	}()
	r.handler(r.ctx)
	r.fault = nil
}

// admitTimed counts a handler that will run in its own goroutine. It returns false if there are
// too many.
func (s *Server) admitTimed() bool {
	if s == nil {
		// the context was made without a server
		return true
	}
	if s.timed.Add(1) > int64(s.set.concurrency) {
		s.timed.Add(-1)
		return false
	}
	return true
}

// limit sets a time limit that starts now, and the response for the case that the handler takes
// longer.
func (r *timedRun) limit(timeout time.Duration, msg string, statusCode int) {
	r.deadline, r.msg, r.statusCode = time.Now().Add(timeout), msg, statusCode
}

// isLate waits until the handler has returned or timed out, and reports whether it has timed
// out.
func (r *timedRun) isLate(timeout <-chan time.Time) bool {
	select {
	case <-timeout:
		if r.timeOut() {
			return true
		}
		// the handler has returned at the same moment
		<-r.done
	case <-r.done:
	}
	return r.phase.isLate()
}

// timeOut marks the handler as late and returns true, unless the handler has returned.
func (r *timedRun) timeOut() bool {
	r.ctx.timeoutMu.Lock()
	defer r.ctx.timeoutMu.Unlock()
	if r.phase.isOver() {
		return false
	}
	r.expire()
	return true
}

// expire marks the handler as late. ctx.timeoutMu is held.
func (r *timedRun) expire() {
	r.change(runLate)
	// the response of a TimeoutError method takes precedence
	if !r.ctx.timedOut() {
		r.ctx.timeoutResponse.Store(timeoutErrorResponse(r.msg, r.statusCode))
	}
	r.ctx.move(ctxExpire)
	r.ctx.revokeLent()
}

// timeOutWith is called if a TimeoutError method was called on the context from which this one was
// lent. It makes resp the response of the handler if that still runs. It returns unsent
// streams, see timeOutLocked.
func (r *timedRun) timeOutWith(resp *Response) (unsent []io.Reader) {
	r.ctx.timeoutMu.Lock()
	defer r.ctx.timeoutMu.Unlock()
	if !r.phase.isOver() {
		unsent = r.ctx.timeOutLocked(resp)
	}
	return unsent
}

// end is called when the handler has returned. If the handler is late, end discards the
// context, unless a TimeoutError method has left that to other goroutines of the application.
func (r *timedRun) end() {
	ctx := r.ctx
	if ctx.s != nil {
		ctx.s.timed.Add(-1)
	}
	ctx.timeoutMu.Lock()
	if r.phase == runRuns && time.Now().After(r.deadline) {
		// the waiting goroutine has not yet noticed that the time is over
		r.expire()
	}
	late := r.phase.isLate()
	if late {
		r.change(runLeft)
	} else {
		r.change(runReturned)
	}
	kept := ctx.loadPhase().isDetached()
	ctx.timeoutMu.Unlock()
	if !late {
		return
	}
	r.logFault()
	if !kept {
		ctx.discard()
	}
}

// logFault logs a panic of a handler whose caller no longer waits. Of the context it logs only
// the address, which is always valid.
func (r *timedRun) logFault() {
	if err, ok := r.fault.(error); r.fault == nil || ok && isAbort(err) {
		return
	}
	r.ctx.serverLogger().Printf("fasthttp: panic serving %s after its timeout: %v", r.ctx.RemoteAddr(), r.fault)
}

// revokeLent takes the connection from the contexts lent from a context of a late run, whose
// timeoutMu is held. They keep the exchange until it sends the response, since it has the watch
// that reports this to them.
func (ctx *RequestCtx) revokeLent() {
	for run := range ctx.runs() {
		run.ctx.timeoutMu.Lock()
		run.ctx.move(ctxRevoke)
		run.ctx.revokeLent()
		run.ctx.timeoutMu.Unlock()
	}
}

// runs returns the runs with contexts lent from ctx in the current request, late or not.
// timeoutMu is held.
func (ctx *RequestCtx) runs() iter.Seq[*timedRun] {
	return func(yield func(*timedRun) bool) {
		for _, last := range [...]*timedRun{ctx.run, ctx.lateRun} {
			for run := last; run != nil; run = run.previous {
				if !yield(run) {
					return
				}
			}
		}
	}
}

// TimeoutError sets the response to a 408 with msg. After it, the handler may return while
// other goroutines still use the context: the server leaves the context to them, and never
// reuses it.
func (ctx *RequestCtx) TimeoutError(msg string) {
	ctx.TimeoutErrorWithCode(msg, StatusRequestTimeout)
}

// TimeoutErrorWithCode is TimeoutError with another status code.
func (ctx *RequestCtx) TimeoutErrorWithCode(msg string, statusCode int) {
	ctx.timeOut(timeoutErrorResponse(msg, statusCode))
}

func timeoutErrorResponse(msg string, statusCode int) *Response {
	resp := new(Response)
	resp.SetStatusCode(statusCode)
	resp.SetBodyString(msg)
	return resp
}

// TimeoutErrorWithResponse is TimeoutError with a copy of resp as the response. A body stream is
// moved from resp, not copied. It is closed after it was sent, or at once if it will not be
// sent because the client already has another response.
func (ctx *RequestCtx) TimeoutErrorWithResponse(resp *Response) {
	own := new(Response)
	resp.CopyTo(own)
	if stream, size := resp.body.DetachStream(); stream != nil {
		own.body.Stream, own.body.Size = stream, size
		own.pointStream()
	}
	own.ImmediateHeaderFlush, own.PieceTimeout = resp.ImmediateHeaderFlush, resp.PieceTimeout
	ctx.timeOut(own)
}

// timeOut makes resp the response. It waits for methods that use the connection.
func (ctx *RequestCtx) timeOut(resp *Response) {
	ctx.timeoutMu.Lock()
	unsent := ctx.timeOutLocked(resp)
	ctx.timeoutMu.Unlock()
	for _, stream := range unsent {
		content.CloseUnsent(stream)
	}
}

// timeOutLocked is timeOut with timeoutMu held. It returns the streams that will not be sent: the caller
// closes them after releasing the lock.
func (ctx *RequestCtx) timeOutLocked(resp *Response) (unsent []io.Reader) {
	if run := ctx.run; run != nil {
		unsent = run.timeOutWith(resp.withoutStream())
	}
	taken := ctx.loadPhase().isTaken()
	if before := ctx.timeoutResponse.Load(); before != nil && !taken {
		if stream, _ := before.body.DetachStream(); stream != nil {
			unsent = append(unsent, stream)
		}
	}
	if taken {
		if stream, _ := resp.body.DetachStream(); stream != nil {
			unsent = append(unsent, stream)
		}
		if ctx.stream != nil {
			unsent = append(unsent, ctx.stream)
			ctx.stream = nil
		}
	}
	ctx.timeoutResponse.Store(resp)
	ctx.move(ctxDetach)
	return unsent
}

// timedOutResponse is the response that the client gets instead of the handler's.
type timedOutResponse struct {
	*Response // without its stream
	stream    io.Reader
	size      int
}

// takeTimeoutResponse returns the response that the client gets instead of the context's own.
// If the context is left to goroutines of the handler, takeTimeoutResponse closes the stream of
// the context's own response, which will not be sent; RecordStream refuses later streams.
func (ctx *RequestCtx) takeTimeoutResponse() (resp timedOutResponse) {
	ctx.timeoutMu.Lock()
	ctx.move(ctxTake)
	resp.Response = ctx.timeoutResponse.Load()
	resp.stream, resp.size = resp.body.DetachStream()
	var unsent io.Reader
	if ctx.loadPhase().isDetached() {
		unsent, ctx.stream = ctx.stream, nil
	}
	ctx.timeoutMu.Unlock()
	content.CloseUnsent(unsent)
	return resp
}

// moveStreamTo moves the stream, if there is one, to dst.
func (resp timedOutResponse) moveStreamTo(dst *Response) {
	if resp.stream != nil {
		dst.SetBodyStream(resp.stream, resp.size)
		dst.ImmediateHeaderFlush, dst.PieceTimeout = resp.ImmediateHeaderFlush, resp.PieceTimeout
		dst.pointStream()
	}
}

// pointStream is called after a body stream was moved to resp. If a client receives the stream,
// it adds its trailer section to resp from now on: the response from which it was taken may be
// reused meanwhile.
func (resp *Response) pointStream() {
	if stream, ok := resp.body.Stream.(interface{ TrailersTo(h *header.Header) }); ok {
		stream.TrailersTo(&resp.Header.head)
	}
}

// withoutStream returns a copy of resp without its stream, for a context with its own lock.
func (resp *Response) withoutStream() *Response {
	own := new(Response)
	resp.CopyTo(own)
	return own
}

// RecordStream is for this module only: a response calls it when a stream becomes its body. It
// reports whether r may still be sent: not if the client has got another response.
func (ctx *RequestCtx) RecordStream(r io.Reader) (sent bool) {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	if ctx.loadPhase() == ctxDetachedTaken {
		return false
	}
	ctx.stream = r
	return true
}

// ClaimStream is for this module only: it reports whether the caller must close the stream that
// RecordStream has recorded last.
func (ctx *RequestCtx) ClaimStream() bool {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	claimed := ctx.stream != nil
	ctx.stream = nil
	return claimed
}

// LastTimeoutErrorResponse returns the response set by the last call of a TimeoutError method,
// or nil. After a TimeoutHandler with a late handler, it returns the address of ctx.Response.
func (ctx *RequestCtx) LastTimeoutErrorResponse() *Response {
	if resp := ctx.timeoutResponse.Load(); resp != nil || !ctx.lendsBody() {
		return resp
	}
	return &ctx.Response
}

// A handler with a timeout may run long after its request was answered, and concurrently with
// the handlers around it, which log the response and set its fields. So it gets its own
// context. Text is copied, since the handlers around it may hold slices of it. Large content
// and open streams are moved.

// newRun returns a run of h whose context starts as a copy of ctx.
func (ctx *RequestCtx) newRun(h RequestHandler) *timedRun {
	run := ctx.s.timedRun()
	run.handler = h
	to := run.ctx
	to.used = true
	if ctx.c != nil {
		to.serveOn(ctx.c)
	}
	to.requestNum, to.initAddr, to.initLogger = ctx.requestNum, ctx.initAddr, ctx.initLogger
	ctx.Request.shareWith(&to.Request)
	ctx.moveStateTo(to)
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	to.timeoutMu.Lock()
	to.exchange = ctx.exchange
	switch phase := ctx.loadPhase(); {
	case phase.isDetached():
		// a TimeoutError method has already left ctx to other goroutines
		to.timeoutResponse.Store(ctx.timeoutResponse.Load().withoutStream())
		to.move(ctxDetach)
	case phase.isRevoked():
		to.move(ctxRevoke)
	}
	to.timeoutMu.Unlock()
	run.previous, ctx.run = ctx.run, run
	return run
}

// moveStateTo moves everything that a handler may set, except the request, from ctx to the
// context to.
func (ctx *RequestCtx) moveStateTo(to *RequestCtx) {
	ctx.Response.moveTo(&to.Response)
	to.receivedAt, to.initTime, to.remoteAddr = ctx.receivedAt, ctx.initTime, ctx.remoteAddr
	to.hijack, to.hijackNoResponse, to.hijackImmediately = ctx.hijack, ctx.hijackNoResponse, ctx.hijackImmediately
	to.switched, to.hijackReleases = ctx.switched, ctx.hijackReleases
	to.content, to.fullDuplex = ctx.content, ctx.fullDuplex
	if w := ctx.watch.Load(); w != nil {
		to.watch.CompareAndSwap(nil, w)
	}
}

// copyBack copies back the changes of a handler that has returned in time. The application may
// use the handler's context until the request was handled, so it is released with ctx.
func (ctx *RequestCtx) copyBack(run *timedRun) {
	from := run.ctx
	from.endExchange()
	from.moveStateTo(ctx)
	ctx.adoptShutdownFuncs(from.takeShutdownFuncs())
	if ctx.Response.body.Stream != nil {
		from.Response.Header.head.MoveTrailers(&ctx.Response.Header.head)
	}
	// another goroutine may be reading the body, although the handler has returned
	reading := ctx.fullDuplex && ctx.Response.body.Stream != nil
	ctx.Request.copyBack(&from.Request, ctx.lendsBody() || from.lendsBody(), reading)
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	ctx.adoptLateRuns(from)
	if ctx.exchange == nil {
		// without an exchange, nothing releases the run with ctx
		ctx.run = run.previous
	}
}

// adoptLateRuns takes over the late runs of a context whose handler has returned. timeoutMu is
// held.
func (ctx *RequestCtx) adoptLateRuns(from *RequestCtx) {
	if from.lateRun == nil {
		return
	}
	first := from.lateRun
	for first.previous != nil {
		first = first.previous
	}
	first.previous, ctx.lateRun, from.lateRun = ctx.lateRun, from.lateRun, nil
}

// abandonRun sets the response to the timeout response of the run, and leaves the context of the
// run to its handler.
func (ctx *RequestCtx) abandonRun(run *timedRun) {
	ctx.timeoutMu.Lock()
	ctx.run = run.previous
	run.previous, ctx.lateRun = ctx.lateRun, run
	ctx.timeoutMu.Unlock()
	if ctx.c != nil && ctx.c.NC != nil {
		ctx.c.RecordEscape()
	}
	ctx.adoptShutdownFuncs(run.ctx.takeShutdownFuncs()) // the handler may run on after the request
	ctx.Request.detachShared()
	response := run.ctx.takeTimeoutResponse()
	ctx.Response.overwriteWith(response.Response)
	response.moveStreamTo(&ctx.Response)
	ctx.hijack, ctx.switched, ctx.hijackReleases, ctx.content = nil, nil, false, nil
}

// releaseRuns releases the contexts of handlers that have returned in time.
func (ctx *RequestCtx) releaseRuns() {
	for run := ctx.run; run != nil; {
		before := run.previous
		lent := run.ctx
		lent.releaseRuns()
		lent.Request.Header.head.TrailerTarget, lent.Response.Header.head.TrailerTarget = nil, nil
		lent.watch.Store(nil)
		lent.c = nil
		lent.endExchange()
		if lent.timedOut() {
			// a TimeoutError method was called after the handler had returned
			lent.discard()
			run = before
			continue
		}
		lent.reset()
		lent.Request.Header.head.Shrink()
		lent.Response.Header.head.Shrink()
		*run = timedRun{ctx: lent, start: run.start, done: run.done}
		lent.s.pooledRuns().Put(run)
		run = before
	}
	ctx.run = nil
}

// shareWith makes dst a copy of the request for a handler. They share the bytes of the body, which
// dst copies before changing them.
func (req *Request) shareWith(dst *Request) {
	req.copyTextTo(dst)
	dst.body = req.body
	dst.body.FreeContent = nil
	if p := req.body.Bytes(); p != nil {
		dst.body.Buf, dst.body.Raw = nil, p
	}
	dst.pointStream(dst)
	req.values.ShareWith(&dst.values)
	dst.form, req.form = req.form, nil
}

// trailingStream is a body stream of another package that adds its trailers to the request.
type trailingStream interface {
	// TrailersTo sets the function that adds a trailer.
	TrailersTo(add func(name, value string) error)
}

// pointStream makes the stream of the body add its trailer section to the request to. It does
// not move the stream itself.
func (req *Request) pointStream(to *Request) { req.pointStreamTo(&to.Header) }

// pointStreamTo is pointStream for the header of a request.
func (req *Request) pointStreamTo(h *RequestHeader) {
	switch stream := req.body.Stream.(type) {
	case content.Source:
		stream.TrailersTo(&h.head)
	case trailingStream:
		stream.TrailersTo(h.AddTrailerField)
	}
	if req.source != nil {
		req.source.TrailersTo(&h.head)
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
	dst.parsedVersion = 0
	dst.KeepBodyBuffer, dst.UseHostHeader = req.KeepBodyBuffer, req.UseHostHeader
	dst.DisableRedirectPathNormalizing = req.DisableRedirectPathNormalizing
	dst.GetBody, dst.timeout, dst.isTLS = req.GetBody, req.timeout, req.isTLS
}

// copyBack takes back the parts that shareWith has lent to from. If late is set, an inner handler
// is late and keeps the body. If reading is set, a goroutine may be reading the body, and keeps
// the header, to which trailers may be added at any moment.
func (req *Request) copyBack(from *Request, late, reading bool) {
	if !reading {
		from.Header.CopyTo(&req.Header)
	}
	from.copyTargetTo(req)
	own := req.body
	req.body = from.body
	if lent := from.body.Raw; lent != nil && !late && sameBytes(lent, own.Bytes()) {
		req.body.Raw, req.body.Buf = own.Raw, own.Buf
	}
	from.body = content.Body{}
	if !late && !reading {
		req.pointStream(req)
		if req.body.Stream != nil {
			from.Header.head.MoveTrailers(&req.Header.head)
		}
	}
	req.values.MoveFrom(&from.values)
	req.form, from.form = from.form, nil
}

// sameBytes reports whether a and b are the same piece of memory.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// detachShared leaves the parts that were lent to a late handler to it.
func (req *Request) detachShared() {
	req.body = content.Body{Raw: req.body.Bytes(), Limit: req.body.Limit}
}

// moveTo copies the response to dst, and moves its body there.
func (resp *Response) moveTo(dst *Response) {
	resp.Header.CopyTo(&dst.Header)
	dst.ImmediateHeaderFlush, dst.StreamBody = resp.ImmediateHeaderFlush, resp.StreamBody
	dst.PieceTimeout = resp.PieceTimeout
	dst.SkipBody, dst.skipsHead, dst.KeepBodyBuffer = resp.SkipBody, resp.skipsHead, resp.KeepBodyBuffer
	dst.remoteAddr, dst.localAddr = resp.remoteAddr, resp.localAddr
	from, to := resp.body.Owner, dst.body.Owner
	stream, size := resp.body.DetachStream()
	dst.body, resp.body = resp.body, content.Body{Owner: from}
	dst.body.Owner = to
	if stream != nil {
		dst.body.SetStream(stream, size)
	}
}

// overwriteWith gives the response the status, content and fields of another one. The response keeps
// its own fields, except the fields that describe the content and the ones with names that the other
// one also has.
func (resp *Response) overwriteWith(other *Response) {
	h, from := &resp.Header, &other.Header
	resp.ResetBody()
	resp.SkipBody, resp.ImmediateHeaderFlush, resp.PieceTimeout = other.SkipBody, false, 0
	h.SetStatusCode(other.StatusCode())
	h.SetStatusMessage(from.StatusMessage())
	for _, id := range contentFields {
		h.head.Del(http1.Response, header.KeyOfID(id))
	}
	for name := range from.All() {
		if k := header.KeyOf(name); k.ID != field.SetCookie {
			h.head.Del(http1.Response, k)
		}
	}
	for name, value := range from.All() {
		switch k := header.KeyOf(name); k.ID {
		case field.ContentLength, field.TransferEncoding, field.ContentType:
		default:
			h.head.Add(http1.Response, k, value)
		}
	}
	h.SetContentTypeBytes(from.head.Text(from.head.Slots[header.SlotContentType]))
	h.head.SetState(header.NoDefaultType, h.head.Is(header.NoDefaultType) || from.head.Is(header.NoDefaultType))
	h.head.SetState(header.NoDate, h.head.Is(header.NoDate) || from.head.Is(header.NoDate))
	if other.ConnectionClose() {
		h.SetConnectionClose()
	}
	if p := other.body.Bytes(); len(p) > 0 {
		resp.body.Set(p)
	}
}

// contentFields are the fields that describe the content of a response.
var contentFields = []field.ID{
	field.ContentType, field.ContentEncoding, field.ContentLength, field.ContentRange, field.Etag, field.LastModified,
}
