package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"runtime/debug"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/requestid"
)

// statusError is an error that clients may see, with its status. Any other error is logged,
// and answered with 500.
type statusError struct {
	code        int
	text        string
	field, data string // a field of the response
}

func (e *statusError) Error() string { return e.text }

// with returns e with a field of the response.
func (e *statusError) with(field, data string) *statusError {
	return &statusError{e.code, e.text, field, data}
}

// because returns e with a reason, which clients see as well.
func (e *statusError) because(err error) *statusError {
	return &statusError{e.code, e.text + ": " + err.Error(), e.field, e.data}
}

var (
	errBadJSON     = &statusError{code: 400, text: "the body is not the expected JSON"}
	errBadForm     = &statusError{code: 400, text: "the form is malformed"}
	errBadNumber   = &statusError{code: 400, text: "before must be a number"}
	errNoSession   = &statusError{code: 401, text: "log in first"}
	errNotYours    = &statusError{code: 403, text: "this belongs to somebody else"}
	errOtherOrigin = &statusError{code: 403, text: "the page of another site has sent this"}
	errNoPath      = &statusError{code: 404, text: "there is nothing here"}
	errNoNote      = &statusError{code: 404, text: "there is no such note"}
	errNoPicture   = &statusError{code: 404, text: "the note has no picture"}
	errMethod      = &statusError{code: 405, text: "the path does not have this method"}
	errNotJSON     = &statusError{code: 415, text: "the body must be application/json"}
	errNotPicture  = &statusError{code: 415, text: "a picture is PNG, JPEG, GIF or WebP"}
	errBadName     = &statusError{code: 422, text: "a name has 1 to 40 letters"}
	errBadText     = &statusError{code: 422, text: "a text has 1 to 2000 letters"}
	errTooMany     = &statusError{code: 429, text: "too many requests"}
	errBusy        = &statusError{code: 503, text: "too much to do", field: "Retry-After", data: "1"}
	errLate        = &statusError{code: 503, text: "this has taken too long", field: "Retry-After", data: "1"}
	errFull        = &statusError{code: 507, text: "there is no room for more"}
)

// fail is the one place where an error becomes a response.
func (a *app) fail(ctx *fasthttp.RequestCtx, err error) {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = errLate
	}
	e, known := errors.AsType[*statusError](err)
	if !known {
		a.log.Error("request failed", "id", requestid.FromContext(ctx), "err", err)
		// the text of err may name files, hosts and users
		e = &statusError{code: fasthttp.StatusInternalServerError, text: "something went wrong"}
	}
	describe(ctx, e)
}

// describe replaces the response by one that describes e.
func describe(ctx *fasthttp.RequestCtx, e *statusError) {
	ctx.Response.Reset()
	ctx.SetStatusCode(e.code)
	if e.field != "" {
		ctx.Response.Header.Set(e.field, e.data)
	}
	// a map of strings can always be marshaled
	body, _ := json.Marshal(map[string]string{"error": e.text, "request": requestid.FromContext(ctx)})
	ctx.SetContentType("application/json")
	ctx.SetBody(append(body, '\n'))
}

// refuse responds to a request that the server itself refuses: it is malformed, too large
// or late, or allow has refused it.
func (a *app) refuse(ctx *fasthttp.RequestCtx, err error) {
	code := statusOf(err)
	text := fasthttp.StatusMessage(code)
	if code == fasthttp.StatusUnauthorized {
		text = errNoSession.text
	}
	describe(ctx, &statusError{code: code, text: text})
}

// statusOf returns the status for an error of the server. Any other error is a violation of
// HTTP.
func statusOf(err error) int {
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return fasthttp.StatusRequestTimeout
	}
	if _, ok := errors.AsType[*fasthttp.ErrSmallBuffer](err); ok {
		return fasthttp.StatusRequestHeaderFieldsTooLarge
	}
	switch {
	case errors.Is(err, fasthttp.ErrRequestRefused):
		return fasthttp.StatusUnauthorized
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return fasthttp.StatusRequestEntityTooLarge
	case errors.Is(err, fasthttp.ErrRequestBodyMemory):
		return fasthttp.StatusServiceUnavailable
	}
	return fasthttp.StatusBadRequest
}

// recover responds when a handler panics, and logs the stack. Without it the server does both,
// with its own text and without the id of the request.
func (a *app) recover(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				// the handler wants the connection to end
				panic(v)
			}
			a.log.Error("handler panics", "id", requestid.FromContext(ctx), "value", v, "stack", string(debug.Stack()))
			describe(ctx, &statusError{code: fasthttp.StatusInternalServerError, text: "something went wrong"})
		}()
		next(ctx)
	}
}
