package fasthttpadaptor

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/valyala/fasthttp"
)

// NewFastHTTPHandlerFunc is NewFastHTTPHandler for a function.
func NewFastHTTPHandlerFunc(h http.HandlerFunc) fasthttp.RequestHandler {
	return NewFastHTTPHandler(h)
}

// NewFastHTTPHandler returns a RequestHandler that answers with h, so that h can
// be served by a fasthttp.Server. For h it is as if a server of net/http had
// called it:
//
//   - The body of the request is read as h reads it, where Server.StreamRequestBody
//     is set; else the server has read it before.
//   - The response goes out when h has returned, or, in pieces, once h flushes it
//     or has written more than 32 KiB. Where h then panics or writes less than it
//     has announced, the connection is cut off, so that the client knows. A panic is
//     logged, and answered with 500 where nothing was sent or flushed.
//     http.ErrAbortHandler as the value of one cuts the connection off at any time,
//     and is not logged.
//   - The ResponseWriter is an http.Flusher, an http.Hijacker, and takes all that
//     http.ResponseController does. An informational status is sent at once.
//     Trailers are announced in the Trailer field or set with http.TrailerPrefix.
//   - Before the response begins, the rest of the request's body is read away,
//     up to 256 KiB, unless h has called EnableFullDuplex or the body is in
//     memory.
//   - The context of the request ends when h returns, when the client goes away,
//     and when the server shuts down. A client that has ended its sending side may
//     have left, or still read the response: for that one the context ends after 5
//     seconds, and at once when writing fails. Its values are the user values of the
//     RequestCtx, and the address under http.LocalAddrContextKey; there is no
//     http.ServerContextKey.
//
// Fields and the status that a handler around this one has set in ctx.Response are
// kept unless h sets them too. A request whose target is no URL is answered with 400.
//
// h runs in a goroutine of its own. The RequestHandler returns when h has, or
// when the response begins: the response has a body stream then, whose Close
// waits for h.
func NewFastHTTPHandler(h http.Handler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		r := new(http.Request)
		if err := convertRequest(ctx, r, true); err != nil {
			ctx.Error("Bad Request", fasthttp.StatusBadRequest)
			return
		}
		body, _ := r.Body.(*requestBody)
		c := newRequestContext(ctx, body)
		w := newResponseWriter(ctx, r, body, c)
		r = r.WithContext(c)
		if body != nil {
			// its trailers are to be seen in the request that h gets
			body.r = r
		}
		go w.run(h, r)
		w.await()
	}
}

// run calls the handler.
func (w *responseWriter) run(h http.Handler, r *http.Request) {
	returned := false
	defer func() {
		if !returned {
			w.fault = faultOf(recover())
		}
		w.finish()
		if r.MultipartForm != nil {
			_ = r.MultipartForm.RemoveAll()
		}
		close(w.done)
	}()
	h.ServeHTTP(w, r)
	returned = true
}

// await waits until the handler has returned, or until it wants to send
// something before that, and makes of it the response of the context.
func (w *responseWriter) await() {
	select {
	case <-w.begun:
		// it may be over in the same moment, which makes no difference
		w.sendStream()
	case <-w.hijacking:
		w.handOver()
	case <-w.done:
		select {
		case <-w.begun:
			w.sendStream()
			return
		case <-w.hijacking:
			w.handOver()
			return
		default:
		}
		w.context.detach()
		if w.fault != nil && !w.flushed {
			panic(w.fault)
		}
		w.sendBuffered()
	}
}

// handlerPanic is what the panic of a handler becomes on its way to the
// goroutine that called the RequestHandler: it tells where it began.
type handlerPanic struct {
	value any
	stack []byte
}

// faultOf returns the value to panic with in another goroutine. An abort stays
// as it is, since others may compare it. A nil value says that the handler has
// ended its goroutine, which is an abort, too.
func faultOf(value any) any {
	if value == nil || value == http.ErrAbortHandler {
		return http.ErrAbortHandler
	}
	return &handlerPanic{value, debug.Stack()}
}

// Error returns the value of the panic and the stack that led to it.
func (p *handlerPanic) Error() string {
	return fmt.Sprintf("panic in an http.Handler: %v\n%s", p.value, p.stack)
}

// Unwrap returns the value where it is an error.
func (p *handlerPanic) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// toldPanic is a handlerPanic that was logged. For the server it is an abort, which it
// does not log.
type toldPanic struct{ *handlerPanic }

// Unwrap returns http.ErrAbortHandler.
func (toldPanic) Unwrap() error { return http.ErrAbortHandler }
