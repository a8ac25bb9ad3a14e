package fasthttpadaptor

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/valyala/fasthttp"
)

// NewFastHTTPHandlerFunc is like NewFastHTTPHandler, for a function.
func NewFastHTTPHandlerFunc(h http.HandlerFunc) fasthttp.RequestHandler {
	return NewFastHTTPHandler(h)
}

// NewFastHTTPHandler returns a RequestHandler that calls h, so that a fasthttp.Server can
// serve h. h is called as a net/http server would call it:
//
//   - If Server.StreamRequestBody is set, the body of the request is received while h reads
//     it. Otherwise the server receives it before it calls h.
//   - The response is sent when h has returned, or in pieces as soon as h flushes it or has
//     written more than 32 KiB. From then on short writes are collected, up to 4 KiB, until
//     the next Flush, and if h panics or writes less than it has announced, the connection is
//     aborted, so that the client notices. A panic is logged; the response is 500 if nothing
//     was sent or flushed before the panic. A panic with http.ErrAbortHandler always aborts
//     the connection, and is not logged.
//   - The ResponseWriter is an http.Flusher and an http.Hijacker, and supports all methods
//     of http.ResponseController, but it is no http.CloseNotifier and no io.ReaderFrom.
//     Deadlines work over HTTP/2, too; there a deadline that lies in the future when it is
//     set may end a response up to a second late. An informational status is sent at once.
//     Trailers are announced in the Trailer field or set with http.TrailerPrefix.
//   - h may read the body of the request while it writes the response over HTTP/2, and
//     over HTTP/1 if it has called EnableFullDuplex, or a handler around it has called
//     that of ctx. Otherwise up to 256 KiB of unread content are discarded before the
//     response begins, unless the body is in memory. If the size of the body shows that
//     there is more, h may read on, and the connection is closed after the response. A
//     response that begins when h has returned does not wait for that, unlike those of
//     net/http: it has "Connection: close" if there is known to be more by then, and else
//     the connection may end after it.
//   - h may hijack a connection of HTTP/1 also in the middle of a response, unless a handler
//     around it sends that in another form, as CompressHandler does.
//   - The context of the request ends when h returns, and when the connection ends, or the
//     stream of HTTP/2. A client that has ended its sending side only may still read the
//     response. Then the context ends after 5 seconds, or at once if writing fails. A
//     graceful shutdown does not end it, unlike RequestCtx.Done. As with net/http, a response
//     without an end, such as a stream of events, needs another signal. The values of the
//     context are the user values of the RequestCtx, and the local address under
//     http.LocalAddrContextKey; there is no http.ServerContextKey. In a handler from
//     NewHTTPHandler, the context is derived from the one of NetHTTPRequest.
//
// If a handler around this one has set the status or fields in ctx.Response, they are kept
// unless h sets them, too. The response to a request whose target is not a URL is 400.
//
// h runs in a separate goroutine. The RequestHandler returns when h has returned, or
// when the response begins. In the latter case the response has a body stream whose
// Close waits for h.
func NewFastHTTPHandler(h http.Handler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		c := new(requestContext)
		r := new(http.Request).WithContext(c)
		if err := convertRequest(ctx, r, true); err != nil {
			ctx.Error("Bad Request", fasthttp.StatusBadRequest)
			return
		}
		body, _ := r.Body.(*requestBody)
		if body != nil && body.streamed && ctx.FullDuplex() {
			// over HTTP/2, too, a handler around this one must leave the header to the reader
			ctx.EnableFullDuplex()
		}
		c.begin(ctx, r, body)
		w := newResponseWriter(ctx, r, body, c)
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
		if w.done != nil {
			close(w.done)
		} else {
			w.turn <- turnReturned
		}
	}()
	h.ServeHTTP(w, r)
	returned = true
}

// await waits until the handler has returned or has begun to send its response, and sets the
// response of the context.
func (w *responseWriter) await() {
	switch <-w.turn {
	case turnBegun:
		w.sendStream()
	case turnHijack:
		w.handOver()
	case turnReturned:
		w.context.detach()
		if w.fault != nil && !w.flushed {
			panic(w.fault)
		}
		w.sendBuffered()
	}
}

// handlerPanic is the value of a panic of a handler, with its stack. The goroutine that
// called the RequestHandler panics with it.
type handlerPanic struct {
	value any
	stack []byte
}

// faultOf returns the value with which the server's goroutine repeats a panic of the handler.
// It returns http.ErrAbortHandler unchanged, since callers may compare it. A nil value means
// that the handler has ended its goroutine, which is an abort, too.
func faultOf(value any) any {
	if value == nil || value == http.ErrAbortHandler {
		return http.ErrAbortHandler
	}
	return &handlerPanic{value, debug.Stack()}
}

// Error returns the value of the panic and its stack.
func (p *handlerPanic) Error() string {
	return fmt.Sprintf("panic in an http.Handler: %v\n%s", p.value, p.stack)
}

// Unwrap returns the value if it is an error.
func (p *handlerPanic) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// loggedPanic is a handlerPanic that was logged already. The server takes it for an abort,
// which it does not log.
type loggedPanic struct{ *handlerPanic }

// Unwrap returns http.ErrAbortHandler.
func (loggedPanic) Unwrap() error { return http.ErrAbortHandler }
