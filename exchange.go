package fasthttp

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp/internal/bodymem"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/forms"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/watch"
)

// exchange is a request that a server receives, and its response. It does the work common to
// all protocols. Its transport, an h1Exchange, or the h2Exchange or h3Exchange of a
// streamExchange, receives the request and sends the response.
//
// The life of an exchange:
//
//	admit    decides how to continue, once the head was received:
//	           planServe    there is no content: handle is next
//	           planCollect  the transport collects the content in memory, which
//	                        reserveBodyMemory counts
//	           planStream   the handler reads the content from a content.Source
//	           planParse    parseForm reads a large form from a content.Source
//	           planRefuse   buildRefusal makes the response, and the handler is not called
//	handle   calls the handler; reclaimCtx takes the context back from it, unless handle has
//	         already done so; after a timeout, replaceCtx leaves it to the handler's goroutines
//	respond  is a method of the transport: it sends the response
//
// Only one goroutine at a time uses an exchange: first the one that receives the request,
// then the one that runs the handler.
type exchange struct {
	s   *Server
	c   *engine.Conn
	t   serverTransport
	ctx *RequestCtx

	terms      requestTerms  // returned by Server.HeaderReceived
	refusal    error         // why the request is refused, or nil
	bodyMemory *bodymem.Body // the body, if it counts towards MaxRequestBodyMemory
	status     uint16        // of the response if the Expect field is not met
	duplex     bool          // see RequestCtx.EnableFullDuplex
	handling   bool          // the handler is running
}

// requestTerms is a RequestConfig in less memory.
type requestTerms struct {
	readTimeout, writeTimeout time.Duration
	maxBodySize               int
	maxWait                   uint32 // MaxQueueTime in microseconds, or anyWait
	refuseStatus              uint16
	bodyMode                  BodyMode
}

// anyWait is the requestTerms.maxWait of a request that may have waited for any time.
const anyWait = math.MaxUint32

func (c *RequestConfig) terms() requestTerms {
	t := requestTerms{readTimeout: c.ReadTimeout, writeTimeout: c.WriteTimeout, maxBodySize: c.MaxRequestBodySize, bodyMode: c.BodyMode}
	switch wait := c.MaxQueueTime; {
	case wait < 0:
		t.maxWait = anyWait
	case wait > 0:
		t.maxWait = uint32(min(max(wait.Microseconds(), 1), anyWait))
	}
	switch status := c.RefuseStatus; {
	case status >= StatusOK && status <= 599:
		t.refuseStatus = uint16(status)
	case status != 0:
		t.refuseStatus = StatusBadRequest
	}
	return t
}

// serverTransport carries the messages of an exchange: over an HTTP/1.1 connection, or over
// a stream of HTTP/2 or HTTP/3.
type serverTransport interface {
	// Request has the methods for the case that other requests need the memory of the body.
	bodymem.Request
	// sendInterim sends an informational response at once, with all fields of h if only is
	// 0, or else with the fields of that name.
	sendInterim(status int, h *ResponseHeader, only field.ID) error
	// watchPeer makes the transport call w when the client disconnects, until unwatchPeer is
	// called. Goroutines with different contexts of the request may call it concurrently.
	watchPeer(w *watch.Watch)
	unwatchPeer()
	// ctxReplaced is called after the context was left to goroutines of the handler. They also
	// have the content, and must no longer read it.
	ctxReplaced()
	// formParsed is called after a form was parsed as it arrived. It discards the content
	// that follows the form.
	formParsed()
}

// plan is how an exchange continues after the head of its request.
type plan uint8

const (
	planServe   plan = iota // there is no content: call the handler
	planRefuse              // refuse the request because of exchange.refusal
	planCollect             // collect the content in memory, then call the handler
	planStream              // call the handler, which reads the content as it arrives
	planParse               // the content is a large form: parse it as it arrives, then call the handler
)

// expectation is the value of the Expect field.
type expectation uint8

const (
	expectsNothing expectation = iota
	expectsContinue
	expectsOther // unknown, so it cannot be met
)

// expectationOf returns what the client expects before it sends the content.
func expectationOf(head *http1.Head) expectation {
	switch {
	case head.Has(http1.ExpectOther):
		return expectsOther
	case head.Has(http1.Expect100):
		return expectsContinue
	}
	return expectsNothing
}

// admit decides how the exchange continues after the head of the request. framing delimits
// the content. waited is how long the request has waited at least. If isTunnel is set, the
// content belongs to a tunnel and has no limit.
func (x *exchange) admit(framing http1.Framing, expects expectation, waited time.Duration, isTunnel bool) plan {
	if framing.Kind == http1.NoBody && expects == expectsNothing && x.s.HeaderReceived == nil && !x.s.GetOnly && x.s.Trace == nil &&
		waited <= x.s.set.maxQueueTime {
		return planServe
	}
	return x.examine(framing, expects, waited, isTunnel)
}

// examine is admit for a request that is not plain.
func (x *exchange) examine(framing http1.Framing, expects expectation, waited time.Duration, isTunnel bool) plan {
	s, h := x.s, &x.ctx.Request.Header
	if x.s.Trace != nil && x.tracesHead(framing) {
		x.traceHead()
	}
	if s.GetOnly && !h.IsGet() && !h.IsHead() && !h.head.IsExtended() {
		return x.setRefusal(ErrGetOnly)
	}
	if s.HeaderReceived != nil {
		config := s.HeaderReceived(h)
		if x.terms = config.terms(); x.terms.refuseStatus != 0 {
			return x.setRefusal(ErrRequestRefused)
		}
	}
	if x.waitsTooLong(waited) {
		return x.setRefusal(ErrQueueTime)
	}
	if framing.Kind == http1.NoBody && expects == expectsNothing {
		return planServe
	}
	limit := x.bodyLimit()
	next := planCollect
	switch {
	case framing.Kind == http1.NoBody:
		next = planServe
	case isTunnel || x.streamsBodies():
		next = planStream
	case framing.Kind == http1.Length && framing.Length > int64(limit) && limit > 0:
		return x.setRefusal(ErrBodyTooLarge)
	case x.parsesForm(framing, 0):
		next = planParse
	}
	if expects != expectsNothing {
		if status := x.checkExpect(expects); status != StatusContinue {
			x.status = uint16(status)
			return x.setRefusal(ErrRequestRefused)
		}
	}
	x.ctx.Request.body.Limit = limit // also limits the decoded body
	return next
}

// waitsTooLong reports whether the request must not have waited as long as this.
func (x *exchange) waitsTooLong(waited time.Duration) bool {
	switch own := x.terms.maxWait; own {
	case 0:
		limit := x.s.set.maxQueueTime
		return limit > 0 && waited > limit
	case anyWait:
		return false
	default:
		return waited > time.Duration(own)*time.Microsecond
	}
}

// setRefusal returns planRefuse with a reason.
func (x *exchange) setRefusal(why error) plan {
	x.refusal = why
	return planRefuse
}

// checkExpect asks the application whether the client may send the content (RFC 9110 section
// 10.1.1). It returns StatusContinue, or the status to refuse the request with.
func (x *exchange) checkExpect(expects expectation) int {
	s := x.s
	switch {
	case expects == expectsOther:
		return StatusExpectationFailed
	case s.ExpectHandler != nil:
		if status := s.ExpectHandler(x.ctx); status == StatusContinue || status >= StatusOK && status <= 599 {
			return status
		}
		return StatusExpectationFailed
	case s.ContinueHandler != nil && !s.ContinueHandler(&x.ctx.Request.Header):
		return StatusExpectationFailed
	}
	return StatusContinue
}

// bodyLimit returns how many bytes the body may have.
func (x *exchange) bodyLimit() int {
	if x.terms.maxBodySize > 0 {
		return x.terms.maxBodySize
	}
	return x.s.set.maxBodySize
}

// writeTimeout returns how long writing the response may take, or 0 for no limit.
func (x *exchange) writeTimeout() time.Duration {
	if x.terms.writeTimeout > 0 {
		return x.terms.writeTimeout
	}
	return x.s.WriteTimeout
}

// servesLast reports whether, by its settings, the server ends a connection after the request with
// this number.
func (s *Server) servesLast(number uint64) bool {
	return s.DisableKeepalive || s.MaxRequestsPerConn > 0 && number >= uint64(s.MaxRequestsPerConn)
}

// streamsBodies reports whether the handler gets the body as it arrives.
func (x *exchange) streamsBodies() bool {
	if mode := x.terms.bodyMode; mode != BodyModeServer {
		return mode == BodyModeStream
	}
	return x.s.StreamRequestBody
}

// count counts a request to which a response will be sent, and records its time. received is
// when it arrived. count sets a zero Moment to the current time, so that requests that
// arrived together share one reading of the clock.
func (x *exchange) count(received *clock.Moment) {
	ctx := x.ctx
	x.c.Requests++
	ctx.requestNum = x.c.Requests
	if x.s.LazyRequestTime {
		return
	}
	if received.IsZero() {
		*received = clock.Read()
	}
	ctx.receivedAt = *received
}

// buildRefusal makes the response to a refused request, and reports whether the method was
// HEAD.
func (x *exchange) buildRefusal() (isHead bool) {
	ctx := x.ctx
	h := &ctx.Request.Header
	if x.refusal != ErrRequestRefused && !h.head.Is(header.WasRead) {
		h.head.Reset(header.Configured)
	}
	isHead = h.IsHead()
	switch {
	case x.refusal != ErrRequestRefused:
		ctx.Response.Reset()
		x.s.configureResponse(&ctx.Response)
		x.s.errorResponse(ctx, x.refusal)
	case x.terms.refuseStatus != 0:
		x.s.makeRefusal(ctx, int(x.terms.refuseStatus))
	case !ctx.timedOut():
		ctx.Response.SetStatusCode(int(x.status))
	}
	if ctx.timedOut() {
		x.replaceCtx()
	}
	return isHead
}

// makeRefusal makes the response to a request that was refused with the status.
func (s *Server) makeRefusal(ctx *RequestCtx, status int) {
	ctx.Error(StatusMessage(status), status)
	if s.ErrorHandler != nil {
		s.ErrorHandler(ctx, ErrRequestRefused)
		ctx.SetStatusCode(status)
	}
}

// handle calls the handler. Usually no other goroutine uses the context after it, since the
// request has no timeout, no watch and no body stream: then handle takes the context back
// and returns true. Otherwise the caller must call reclaimCtx.
func (x *exchange) handle() (alone bool) {
	ctx := x.ctx
	ctx.setExchange(x)
	x.handling = true
	if x.s.Trace == nil {
		x.s.Handler(ctx)
	} else {
		x.handleTraced()
	}
	x.handling = false
	if x.s.CancelOnDisconnect || ctx.timedOut() || ctx.watch.Load() != nil || ctx.lendsBody() || ctx.Response.body.Stream != nil {
		ctx.watchPush()
		return false
	}
	ctx.exchange = nil
	return true
}

// ending is how a handler has left its context.
type ending uint8

const (
	endedWell     ending = iota // ctx.Response is the response
	endedByPanic                // there is no response
	endedTimedOut               // a TimeoutError method has set the response
	endedInside                 // a late handler within a TimeoutHandler still has the body
)

// reclaimCtx takes the context back from a handler that has returned, or, if ok is false, has
// panicked. After endedTimedOut the caller must call replaceCtx.
func (x *exchange) reclaimCtx(ok bool) ending {
	ctx := x.ctx
	end := endedWell
	switch {
	case ctx.timedOut():
		end = endedTimedOut
	case ctx.lendsBody():
		end = endedInside
	case !ok:
		end = endedByPanic
	}
	streams := ok && end != endedTimedOut && ctx.Response.body.Stream != nil
	// goroutines with derived contexts may be calling methods of ctx
	ctx.endExchanges()
	if w := ctx.watch.Load(); w != nil && !streams {
		// the producer of a body stream still needs the watch
		if end == endedWell && ctx.hijack != nil {
			x.t.unwatchPeer() // for a HijackHandler the watch only reports a shutdown
		} else {
			x.endWatch(w, end != endedWell)
		}
	}
	return end
}

// replaceCtx leaves the context to goroutines of the handler that still use it. The exchange
// continues with a new context, which has the timeout response.
func (x *exchange) replaceCtx() {
	left := x.ctx
	x.c.RecordEscape()
	x.detachBodyMemory(left)
	x.ctx = x.s.acquireCtx(x.c)
	x.ctx.traced, left.traced = left.traced, nil
	x.ctx.requestNum = left.requestNum
	if !x.s.LazyRequestTime {
		x.ctx.receivedAt = left.receivedAt
	}
	x.ctx.setTimeoutResponse(left.takeTimeoutResponse())
	x.ctx.adoptShutdownFuncs(left.takeShutdownFuncs())
	x.t.ctxReplaced()
}

// setTimeoutResponse copies the response to the context, and moves its body stream there.
func (ctx *RequestCtx) setTimeoutResponse(response timedOutResponse) {
	resp := &ctx.Response
	response.CopyTo(resp)
	response.moveStreamTo(resp)
	resp.Header.head.SetState(header.NoDefaultType, resp.Header.head.Is(header.NoDefaultType) || ctx.s.NoDefaultContentType)
	resp.Header.head.SetState(header.NoDefaultDate, resp.Header.head.Is(header.NoDefaultDate) || ctx.s.NoDefaultDate)
}

// checkStatus replaces a response whose status does not have three digits (RFC 9110 section 15):
// a client may read the first three of four.
func (x *exchange) checkStatus() {
	if status := x.ctx.Response.Header.head.StatusCode(); (status < http1.FirstStatus || status > largestStatus) && x.ctx.hijack == nil {
		x.replaceResponse(status)
	}
}

// largestStatus is the largest number of three digits.
const largestStatus = 999

// replaceResponse replaces a response that cannot be sent because of its status.
func (x *exchange) replaceResponse(status int) {
	x.s.logger().Printf("fasthttp: the status %d of a response is none of a final one", status)
	x.ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
}

// finishResponse calls Server.ResponseReady. Afterwards the response is encoded.
func (x *exchange) finishResponse() {
	if x.s.ResponseReady == nil || x.ctx.hijack != nil && x.ctx.hijackNoResponse {
		return
	}
	defer x.s.catchPanic("ResponseReady")
	x.s.ResponseReady(x.ctx)
}

// recordHead is called before the response is sent with e. If the application may read the
// response afterwards, recordHead records the fields that e adds.
func (x *exchange) recordHead(e http1.Encoding) {
	if x.s.set.reports || len(x.ctx.Request.values) > 0 || x.ctx.Response.Header.head.Is(header.HasBadName) {
		x.recordFields(e)
	}
}

func (x *exchange) recordFields(e http1.Encoding) {
	resp := &x.ctx.Response
	if x.s.set.reports || len(x.ctx.Request.values) > 0 {
		// user values may be closers, which may read the response
		resp.Header.head.RecordResponse(e)
	}
	if resp.Header.head.Is(header.HasBadName) {
		x.s.logBadName(&resp.Header.head.List)
	}
}

// mayReuseCtx reports whether the context can serve another request. If its Done channel was
// closed it cannot: goroutines that have waited for that may still call Err.
func (x *exchange) mayReuseCtx() bool {
	w := x.ctx.watch.Load()
	return (w == nil || w.Finished()) && !x.ctx.timedOut()
}

// discardCtx releases a context that cannot serve another request.
func (x *exchange) discardCtx() {
	ctx := x.ctx
	x.ctx = nil
	ctx.Request.closeSource()
	ctx.discard()
}

// inform sends an informational response at once.
func (x *exchange) inform(h *ResponseHeader) error {
	if err := x.t.sendInterim(h.StatusCode(), h, 0); err != nil {
		return fmt.Errorf("fasthttp: cannot send an informational response: %w", err)
	}
	return nil
}

// earlyHints sends a 103 response with the Link fields of h, if there are any.
func (x *exchange) earlyHints(h *ResponseHeader) error {
	if h.head.List.FindID(field.Link, 0) < 0 {
		return nil
	}
	if err := x.t.sendInterim(StatusEarlyHints, h, field.Link); err != nil {
		return fmt.Errorf("fasthttp: cannot send early hints: %w", err)
	}
	return nil
}

// requestWatch returns the watch that all contexts of the request share. The first call
// creates it. Calls are allowed until endExchanges was called on the contexts.
func (x *exchange) requestWatch() *watch.Watch { return x.ctx.ownWatch() }

// endWatch ends the watch of a request that was handled. If late is set, a late handler still
// runs: the watch is canceled, even if the handler only starts to watch later, since the
// client no longer waits for its response.
func (x *exchange) endWatch(w *watch.Watch, late bool) {
	x.t.unwatchPeer()
	if late {
		x.s.watches.Abandon(w)
	} else {
		x.s.watches.Finish(w)
	}
}

// enableFullDuplex allows one goroutine to read the body while another writes the response.
func (x *exchange) enableFullDuplex() { x.duplex = true }

// Bodies in memory count towards Server.MaxRequestBodyMemory, except small ones, which are
// the usual case. The methods up to detachBodyMemory follow the life of such a body:
// reserveBodyMemory while it arrives, bodyArrived at its end, and then one of the other three.

// reserveBodyMemory counts room bytes as the memory of the body, after got more bytes of it
// have arrived. If done is set it was received as a whole, so it cannot stall anymore. The
// error is ErrBodyTooLarge or ErrRequestBodyMemory if there is no memory for the body.
func (x *exchange) reserveBodyMemory(room, got int, done bool) error {
	m := &x.s.bodies
	if !m.Fits(room) {
		return ErrBodyTooLarge
	}
	if x.bodyMemory == nil {
		x.bodyMemory = m.New(x.t, x.c.ID)
	}
	if !m.Reserve(x.bodyMemory, room, got, done) {
		return ErrRequestBodyMemory
	}
	return nil
}

// bodyArrived is called when the body has arrived, or is no longer awaited.
func (x *exchange) bodyArrived() {
	if x.bodyMemory != nil {
		x.s.bodies.Arrived(x.bodyMemory)
	}
}

// endBodyMemory is called when the exchange no longer uses the body. The body is still counted
// while a late handler within a TimeoutHandler has it.
func (x *exchange) endBodyMemory() {
	if x.ctx != nil && x.ctx.lendsBody() {
		x.detachBodyMemory(x.ctx.lateRun.ctx)
	} else {
		x.releaseBodyMemory()
	}
}

// releaseBodyMemory stops counting the body, which is no longer used.
func (x *exchange) releaseBodyMemory() {
	if held := x.bodyMemory; held != nil {
		x.bodyMemory = nil
		x.s.bodies.Release(held)
	}
}

// detachBodyMemory counts the body until ctx, which keeps it, is garbage-collected.
func (x *exchange) detachBodyMemory(ctx *RequestCtx) {
	if held := x.bodyMemory; held != nil {
		x.bodyMemory = nil
		runtime.AddCleanup(ctx, bodymem.Detached.Release, x.s.bodies.Detach(held))
	}
}

// parseFrom is the size in bytes above which the body of a multipart form is parsed while it
// arrives. The default limit of bodies never allows such a body.
const parseFrom = DefaultMaxRequestBodySize

// parsesForm reports whether the body, of which got bytes have arrived, is a form too large
// to be collected in memory. A form with content codings is collected like any other body:
// it is decoded if the handler asks for that.
func (x *exchange) parsesForm(framing http1.Framing, got int64) bool {
	if framing.Kind == http1.Length {
		got = framing.Length
	}
	if got <= parseFrom || x.s.DisablePreParseMultipartForm || x.streamsBodies() {
		return false
	}
	h := &x.ctx.Request.Header
	return len(h.MultipartFormBoundary()) > 0 && h.head.List.FindID(field.ContentEncoding, 0) < 0
}

// streamBody turns a body whose beginning is in memory into a stream: first the beginning, then
// the content of source. The caller releases the buffer of the beginning once it was read.
func (x *exchange) streamBody(source content.Source) (beginning *bufpool.Buffer) {
	req := &x.ctx.Request
	beginning, req.body.Buf = req.body.Buf, nil
	req.source = source
	req.body.SetStream(io.MultiReader(bytes.NewReader(beginning.B), source), -1)
	return beginning
}

// parseForm parses the form of the request, whose body is a stream, and discards the content
// after the form. beginning is the buffer that streamBody has returned, or nil.
func (x *exchange) parseForm(beginning *bufpool.Buffer) error {
	room := formMemory
	if x.bodyMemory != nil {
		room += int(x.bodyMemory.Bytes())
	}
	if err := x.reserveBodyMemory(room, 0, false); err != nil {
		return err
	}
	if err := x.ctx.Request.parseForm(int64(max(x.bodyLimit(), 0)), forms.StartPlain); err != nil {
		return err
	}
	bufpool.Put(beginning)
	x.t.formParsed()
	x.bodyArrived()
	if x.s.Trace != nil {
		x.traceBody()
	}
	return nil
}

// ErrRequestBodyMemory is the error of a request that was refused because the bodies in the
// memory of the Server have reached MaxRequestBodyMemory.
var ErrRequestBodyMemory error = http1.ErrBodyMemory

const (
	// defaultBodyMemory is the limit in bytes for the buffers of all bodies, if the runtime
	// has no memory limit.
	defaultBodyMemory = 1 << 30
	// uncountedBody is the size up to which a buffer is not counted.
	uncountedBody = 16 << 10
	// aheadRoom is the size above which a buffer is counted before it is allocated.
	aheadRoom = 64 << 10
	// bodyRetryAfter is the number of seconds after which a refused client may try again.
	bodyRetryAfter = "1"
)

// bodyMemoryLimit returns the limit in bytes for the buffers of all bodies. The default has
// room for the largest allowed body, whose buffer may be twice its size.
func (s *Server) bodyMemoryLimit() int64 {
	switch {
	case s.MaxRequestBodyMemory > 0:
		return int64(s.MaxRequestBodyMemory)
	case s.MaxRequestBodyMemory < 0:
		return math.MaxInt64
	}
	limit := int64(defaultBodyMemory)
	if all := debug.SetMemoryLimit(-1); all < math.MaxInt64 {
		limit = all / 2
	}
	largest := int64(s.settings().maxBodySize)
	return max(limit, min(largest, math.MaxInt64/2)*2)
}
