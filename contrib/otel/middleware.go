package otelfasthttp

import (
	"io"
	"net/http"

	"github.com/valyala/fasthttp"
)

// Middleware returns a handler that traces and measures the requests that it passes to next, for
// programs that have no access to the Server, or several sets of options for one. Otherwise use
// Attach, which also sees refused requests, and whether the response has left.
//
// The span ends when next returns, or, if the body is a stream, when that was sent or closed. The
// status is the one that next has set, and 500 if it has panicked. SetRoute and WithRoute work as
// with Attach. For Fiber, next is the result of App.Handler.
func Middleware(next fasthttp.RequestHandler, opts ...Option) fasthttp.RequestHandler {
	in := newInstrumentation(opts)
	return func(ctx *fasthttp.RequestCtx) {
		if in.filter != nil && !in.filter(ctx) {
			next(ctx)
			return
		}
		r := in.begin(ctx)
		r.closes = true
		r.share(ctx)
		panics := true
		defer func() { r.handlerEnded(ctx, panics) }()
		next(ctx)
		panics = false
	}
}

var _ io.Closer = (*request)(nil)

// Close is called when the server drops the values of the request: its response was sent.
func (r *request) Close() error {
	if r.alone {
		if r.ended {
			r.release()
		}
		return nil
	}
	r.mu.Lock()
	ends := r.closes && r.returned
	status := r.status
	r.mu.Unlock()
	if ends {
		r.end(fasthttp.SentResponse{StatusCode: status}, r.responseSize)
	}
	return nil
}

// handlerEnded is called when the handler has returned or panicked.
func (r *request) handlerEnded(ctx *fasthttp.RequestCtx, panics bool) {
	if panics {
		r.end(fasthttp.SentResponse{StatusCode: http.StatusInternalServerError}, -1)
		return
	}
	resp := ctx.LastTimeoutErrorResponse()
	if resp == nil || resp == &ctx.Response {
		resp = &ctx.Response
		r.look(ctx)
	} else {
		r.responseSize = int64(resp.BodySize())
	}
	status := resp.StatusCode()
	if r.head || status < 200 || status == 204 || status == 304 {
		r.responseSize = 0
	}
	stream := resp == &ctx.Response && resp.IsBodyStream() && ctx.UserValue(requestKey) == any(r)
	r.mu.Lock()
	r.returned, r.status = true, status
	r.mu.Unlock()
	if !stream {
		r.end(fasthttp.SentResponse{StatusCode: status}, r.responseSize)
	}
}
