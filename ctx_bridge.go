package fasthttp

import "fmt"

// What follows is for those who call handlers in the place of a Server, or who
// answer for handlers of another kind: see package fasthttpadaptor.

// Inform sends an informational response at once: the status code of h, which
// must be 102 to 199, and its fields, as they were set. The final response
// follows it. Nothing is sent to an HTTP/1.0 client, nor if the context does not
// belong to the handler of a server. The error is that of another status code, or of
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
	return ctx.responder.inform(h)
}

// HijackHandler returns what was given to Hijack and HijackSetNoResponse. It is
// for those who have called a RequestHandler without a Server, so that nobody
// else calls the HijackHandler.
func (ctx *RequestCtx) HijackHandler() (handler HijackHandler, noResponse bool) {
	return ctx.hijack, ctx.hijackNoResponse
}

// EnableFullDuplex lets the body of the request, where it is a stream, be read
// in one goroutine while the body stream of the response is produced in another,
// as a proxy does. The producer must not end before the reader.
//
// Otherwise whoever reads the one while the other is written must be the body
// stream of the response itself.
//
// Of such a request a TimeoutHandler leaves the header to its handler if the response has
// a body stream: those around it see that of before, without what the handler has set and
// without the trailers.
func (ctx *RequestCtx) EnableFullDuplex() {
	ctx.late.Lock()
	defer ctx.late.Unlock()
	if ctx.ownsConn() {
		ctx.responder.readBeside()
	}
}

// EndedSending reports whether the channel of Done was closed because the client
// has ended its sending side. It may have left, or still read the response: only
// writing shows that. It is false for a reset and for a shutdown of the server.
func (ctx *RequestCtx) EndedSending() bool {
	w := ctx.watch.Load()
	if w == nil {
		return false
	}
	return w.Half()
}
