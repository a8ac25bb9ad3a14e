package fasthttp

import (
	"fmt"

	"github.com/valyala/fasthttp/internal/bodymem"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/watch"
)

// exchange is one request that a server has received, and the response to it: what the
// server does with them in every protocol. Its transport knows how they travel.
//
// One goroutine at a time uses it: first the one that receives the request, then the one
// that runs the handler.
type exchange struct {
	s   *Server
	c   *engine.Conn
	t   serverTransport
	ctx *RequestCtx

	config   RequestConfig // returned by Server.HeaderReceived
	refusal  error         // why the handler does not get the request, or nil
	held     *bodymem.Body // the body, if it counts for MaxRequestBodyMemory
	status   uint16        // of the response to an Expect field that is not met
	duplex   bool          // see RequestCtx.EnableFullDuplex
	handling bool          // the handler is running
}

// serverTransport is the way of an exchange's messages: a connection of HTTP/1.1, or a stream of
// HTTP/2.
type serverTransport interface {
	// Owner is told if the memory of the body is needed for others.
	bodymem.Owner
	// sendInterim sends an informational response at once: all fields of h, or only those
	// with the name.
	sendInterim(status int, h *ResponseHeader, only field.ID) error
	// watchPeer makes the transport call w when the client leaves, until unwatchPeer. Contexts
	// of more than one goroutine may call it.
	watchPeer(w *watch.Watch)
	unwatchPeer()
	// ctxLeft says that a goroutine of the handler has the context, and with it the
	// content, which it must not read any more.
	ctxLeft()
	// formParsed discards the content after a form that was parsed as it arrived.
	formParsed()
}

// plan is how an exchange continues after the head of its request.
type plan uint8

const (
	planServe   plan = iota // there is no content: the handler is called
	planRefuse              // exchange.refusal is the reason
	planCollect             // the content is received into memory first
	planStream              // the handler reads the content as it arrives
	planParse               // the content is a large form, which is parsed as it arrives
)

// expectation is the content of the Expect field.
type expectation uint8

const (
	expectsNothing expectation = iota
	expectsContinue
	expectsOther // which no server can meet
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

// admit decides how the exchange continues after a head whose content has the framing.
// isTunnel says that the content belongs to a tunnel, which nothing limits.
func (x *exchange) admit(framing http1.Framing, expects expectation, isTunnel bool) plan {
	s, h := x.s, &x.ctx.Request.Header
	if s.GetOnly && !h.IsGet() && !h.IsHead() {
		return x.deny(ErrGetOnly)
	}
	if s.HeaderReceived != nil {
		if x.config = s.HeaderReceived(h); x.config.RefuseStatus != 0 {
			return x.deny(ErrRequestRefused)
		}
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
		return x.deny(ErrBodyTooLarge)
	case x.parsesForm(framing, 0):
		next = planParse
	}
	if expects != expectsNothing {
		if status := x.meet(expects); status != StatusContinue {
			x.status = uint16(status)
			return x.deny(ErrRequestRefused)
		}
	}
	x.ctx.Request.body.limit = limit // for decoding it, too
	return next
}

// deny refuses the request.
func (x *exchange) deny(why error) plan {
	x.refusal = why
	return planRefuse
}

// meet asks the application whether the client may send the content (RFC 9110 section
// 10.1.1). It returns StatusContinue, or the status to refuse the request with.
func (x *exchange) meet(expects expectation) int {
	s := x.s
	switch {
	case expects == expectsOther:
		return StatusExpectationFailed
	case s.ExpectHandler != nil:
		return s.ExpectHandler(x.ctx)
	case s.ContinueHandler != nil && !s.ContinueHandler(&x.ctx.Request.Header):
		return StatusExpectationFailed
	}
	return StatusContinue
}

// bodyLimit returns how many bytes the body may have.
func (x *exchange) bodyLimit() int {
	if x.config.MaxRequestBodySize > 0 {
		return x.config.MaxRequestBodySize
	}
	return x.s.set.maxBodySize
}

// streamsBodies reports whether the handler gets the body as it arrives.
func (x *exchange) streamsBodies() bool {
	if mode := x.config.BodyMode; mode != BodyModeServer {
		return mode == BodyModeStream
	}
	return x.s.StreamRequestBody
}

// count counts the request as answered. received is when it came, or the zero Moment, which
// count replaces: requests that came together share it.
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
	ctx.at = *received
}

// answerRefusal makes the response to a request that the handler does not get, and reports
// whether the method was HEAD.
func (x *exchange) answerRefusal() (isHead bool) {
	ctx := x.ctx
	h := &ctx.Request.Header
	if x.refusal != ErrRequestRefused && !h.is(wasRead) {
		h.reset(configured)
	}
	isHead = h.IsHead()
	switch {
	case x.refusal != ErrRequestRefused:
		ctx.Response.Reset()
		x.s.configureResponse(&ctx.Response)
		x.s.errorResponse(ctx, x.refusal)
	case x.config.RefuseStatus != 0:
		x.s.makeRefusal(ctx, x.config.RefuseStatus)
	case ctx.timeoutResponse.Load() == nil:
		ctx.Response.SetStatusCode(int(x.status))
	}
	if ctx.timeoutResponse.Load() != nil {
		x.leaveCtx()
	}
	return isHead
}

// makeRefusal makes the response to a request that was refused with the status.
func (s *Server) makeRefusal(ctx *RequestCtx, status int) {
	if status < StatusOK || status > 599 {
		status = StatusBadRequest
	}
	ctx.Error(StatusMessage(status), status)
	if s.ErrorHandler != nil {
		s.ErrorHandler(ctx, ErrRequestRefused)
		ctx.SetStatusCode(status)
	}
}

// handle calls the handler. It reports whether nothing but the exchange uses the context
// then, as is usual: no timeout, no watch, no producer of a stream. Otherwise takeCtx must
// be called.
func (x *exchange) handle() (alone bool) {
	ctx := x.ctx
	ctx.setExchange(x)
	x.handling = true
	x.s.Handler(ctx)
	x.handling = false
	if x.s.CancelOnDisconnect || ctx.timeoutResponse.Load() != nil || ctx.watch.Load() != nil || ctx.left != nil || ctx.Response.body.stream != nil {
		return false
	}
	ctx.exchange = nil
	return true
}

// ending is how a handler has left its context.
type ending uint8

const (
	endedWell     ending = iota // the response is the context's
	endedByPanic                // there is no response
	endedTimedOut               // a TimeoutError method has set the response
	endedInside                 // a handler within a TimeoutHandler still has the body
)

// takeCtx takes the context back from a handler that has returned, or has panicked if ok is
// false.
func (x *exchange) takeCtx(ok bool) ending {
	ctx := x.ctx
	end := endedWell
	switch {
	case ctx.timeoutResponse.Load() != nil:
		end = endedTimedOut
	case ctx.left != nil:
		end = endedInside
	case !ok:
		end = endedByPanic
	}
	streams := ok && end != endedTimedOut && ctx.Response.body.stream != nil
	// goroutines of derived contexts may ask ctx at this moment
	ctx.endExchanges()
	if w := ctx.watch.Load(); w != nil && !streams {
		// the producer of a body stream needs the watch, too
		x.endWatch(w, end != endedWell)
	}
	return end
}

// leaveCtx leaves the context to goroutines of the handler that still use it, and continues
// with another one that has the response.
func (x *exchange) leaveCtx() {
	left := x.ctx
	x.c.Pin()
	x.leaveBodyCount(left)
	x.ctx = x.s.acquireCtx(x.c)
	x.ctx.requestNum = left.requestNum
	if !x.s.LazyRequestTime {
		x.ctx.at = left.at
	}
	x.ctx.take(left.takeTimeoutResponse())
	x.t.ctxLeft()
}

// take makes the context have a copy of the response, and its stream.
func (ctx *RequestCtx) take(response timedOutResponse) {
	resp := &ctx.Response
	response.CopyTo(resp)
	response.giveStreamTo(resp)
	resp.Header.setState(noDefaultType, resp.Header.is(noDefaultType) || ctx.s.NoDefaultContentType)
	resp.Header.setState(noDefaultDate, resp.Header.is(noDefaultDate) || ctx.s.NoDefaultDate)
}

// noteHead prepares the response for readers that come after it was sent with e.
func (x *exchange) noteHead(e http1.Encoding) {
	resp := &x.ctx.Response
	if x.s.ResponseSent != nil || len(x.ctx.Request.values) > 0 {
		// values may be closers
		resp.Header.record(e)
	}
	if resp.Header.is(hasBadName) {
		x.s.logBadName(&resp.Header.list)
	}
}

// mayReuseCtx reports whether the context can serve another request. After its channel was
// closed, goroutines that wait for that may still call Err.
func (x *exchange) mayReuseCtx() bool {
	w := x.ctx.watch.Load()
	return (w == nil || w.Finished()) && x.ctx.timeoutResponse.Load() == nil
}

// dropCtx releases a context that cannot serve another request.
func (x *exchange) dropCtx() {
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
	if h.list.FindID(field.Link, 0) < 0 {
		return nil
	}
	if err := x.t.sendInterim(StatusEarlyHints, h, field.Link); err != nil {
		return fmt.Errorf("fasthttp: cannot send early hints: %w", err)
	}
	return nil
}

// requestWatch returns the watch of the request, which all its contexts share, and makes it
// if there is none. It may be called until endExchanges of these contexts.
func (x *exchange) requestWatch() *watch.Watch { return x.ctx.ownWatch() }

// endWatch ends the watch of the request that was handled. If a handler is late, it learns
// from its watch that no client waits for its response any more, also if it begins to watch
// only then.
func (x *exchange) endWatch(w *watch.Watch, late bool) {
	x.t.unwatchPeer()
	if late {
		x.s.watches.Abandon(w)
	} else {
		x.s.watches.Finish(w)
	}
}

// enableFullDuplex lets the body be read in one goroutine while another writes the response.
func (x *exchange) enableFullDuplex() { x.duplex = true }
