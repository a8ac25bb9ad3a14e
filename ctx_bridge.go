package fasthttp

import (
	"fmt"

	"github.com/valyala/fasthttp/internal/bridge"
)

// This file is for code that calls handlers instead of a Server, or answers for
// handlers of another kind: see package fasthttpadaptor.

func init() {
	bridge.LeaveOutDate = func(header any) { header.(*ResponseHeader).setState(noDate, true) }
	bridge.LeavesOutDate = func(header any) bool { return header.(*ResponseHeader).is(noDate) }
	bridge.HijackAtOnce = func(ctx any) {
		ctx.(*RequestCtx).hijackNoResponse, ctx.(*RequestCtx).hijackAtOnce = true, true
	}
}

// Inform sends an informational response at once: the status code of h, which must be
// 102 to 199, and its fields, as they were set. The final response follows it. Nothing
// is sent to an HTTP/1.0 client, nor if the context does not belong to the handler of a
// server. It returns an error if the status code is out of this range, or the error of
// the connection. See EarlyHints for the usual case.
func (ctx *RequestCtx) Inform(h *ResponseHeader) error {
	code := h.StatusCode()
	if code <= StatusSwitchingProtocols || code > 199 {
		return fmt.Errorf("fasthttp: %d is no status of an informational response", code)
	}
	ctx.late.Lock()
	defer ctx.late.Unlock()
	if !ctx.ownsConn() || !ctx.Request.Header.IsHTTP11() {
		return nil
	}
	return ctx.exchange.inform(h)
}

// HijackHandler returns the arguments of Hijack and HijackSetNoResponse. It is for
// code that has called a RequestHandler without a Server, and must call the
// HijackHandler itself.
func (ctx *RequestCtx) HijackHandler() (handler HijackHandler, noResponse bool) {
	return ctx.hijack, ctx.hijackNoResponse
}

// TakeTimeoutResponse returns the response that the client gets instead of ctx.Response: a
// copy of the response set by the last TimeoutError method, with its body stream, or the
// response of a TimeoutHandler whose handler was late, or nil. It is for code that has called
// a RequestHandler without a Server, and sends that response. Responses set by later calls of
// TimeoutError methods are not sent, and body streams that are not sent are closed.
func (ctx *RequestCtx) TakeTimeoutResponse() *Response {
	if ctx.timeoutResponse.Load() == nil {
		return ctx.LastTimeoutErrorResponse()
	}
	taken, resp := ctx.takeTimeoutResponse(), new(Response)
	taken.CopyTo(resp)
	taken.giveStreamTo(resp)
	return resp
}

// EnableFullDuplex lets one goroutine read the body of the request, if it is a
// stream, while another produces the body stream of the response, as a proxy does.
// The producer must not end before the reader.
//
// Otherwise only the body stream of the response itself may read the request body
// while the response is written. HTTP/2 allows both without this call.
//
// If the response to such a request has a body stream, a TimeoutHandler leaves the
// request header to its handler: the handlers around it see the header as it was
// before, without changes of that handler and without the trailers.
func (ctx *RequestCtx) EnableFullDuplex() {
	ctx.late.Lock()
	defer ctx.late.Unlock()
	ctx.fullDuplex = true
	if ctx.ownsConn() {
		ctx.exchange.enableFullDuplex()
	}
}

// FullDuplex reports whether the body of the request may be read while another goroutine
// produces the response: EnableFullDuplex was called, or the protocol is HTTP/2.
func (ctx *RequestCtx) FullDuplex() bool {
	ctx.late.Lock()
	defer ctx.late.Unlock()
	return ctx.fullDuplex || ctx.c != nil && ctx.c.Variant == variantHTTP2
}

// AfterDisconnect calls f in a goroutine of its own when the client ends the connection: it
// starts to watch the client, as WatchDisconnect does. A shutdown of the server closes the
// channel of Done, but does not call f, because requests that have begun are still answered.
// EndedSending reports whether the client may still read the response. stop cancels the call
// of f, and reports whether it was in time. f is not called once the handler has returned
// or, if its response is a stream, once the stream was sent.
//
// It does nothing unless ctx belongs to a handler of a server.
func (ctx *RequestCtx) AfterDisconnect(f func()) (stop func() bool) {
	ctx.WatchDisconnect()
	ctx.late.Lock()
	w := ctx.watched(true)
	ctx.late.Unlock()
	if w == nil {
		return func() bool { return false }
	}
	return w.AfterLeave(f)
}

// EndedSending reports whether the channel of Done is closed, and the client has ended its
// sending side. It may have left, or may still read the response: only writing shows that.
// It is false for a reset and for a shutdown of the server alone.
func (ctx *RequestCtx) EndedSending() bool {
	w := ctx.watch.Load()
	if w == nil {
		return false
	}
	return w.HalfClosed()
}
