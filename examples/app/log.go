package main

import (
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/accesslog"
	"github.com/valyala/fasthttp/requestid"
)

// observe gives each request of a server an id, and each response a line in the access log, with
// that id. Both include responses of the server itself, for which no handler is called.
func (a *app) observe(s *fasthttp.Server) error {
	// Behind a proxy that sends ids, name its addresses in From.
	ids, err := requestid.New(requestid.Options{})
	if err != nil {
		return err
	}
	ids.Attach(s)
	a.access.Attach(s)
	return nil
}

// newAccessLog returns a log whose lines have the form of the other lines of the service. No
// request waits for it.
func (a *app) newAccessLog() *accesslog.Log {
	return accesslog.New(accesslog.Options{Handler: a.log.Handler(), Logger: a.log, IDField: requestid.DefaultField})
}

// secure sets the fields that restrict the use of a response in browsers.
func secure(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	h.Set(fasthttp.HeaderContentSecurityPolicy, "default-src 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set(fasthttp.HeaderReferrerPolicy, "same-origin")
}

// sent counts each response, even if no handler was called.
func (a *app) sent(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
	key, _ := pattern(string(ctx.Path()))
	if _, ok := a.routes[key]; !ok {
		key = "other"
	}
	a.metrics.count(label{key, sent.StatusCode}, time.Since(ctx.Time()), sent.Bytes)
}
