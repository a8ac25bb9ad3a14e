package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"regexp"
	"time"

	"github.com/valyala/fasthttp"
)

// idField is the field that has the id of a request, in requests of proxies and in
// responses.
const idField = "X-Request-Id"

// idKey is the key of the id among the values of a request. The separate type keeps it from
// being equal to keys of other packages.
type idKey struct{}

// goodID matches the ids that are accepted from requests: they are written to logs.
var goodID = regexp.MustCompile(`^[A-Za-z0-9_-]{8,64}$`)

// identify gives each request an id, by which its lines in the logs of all services can
// be found.
func identify(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		id := string(ctx.Request.Header.Peek(idField))
		if !goodID.MatchString(id) {
			id = rand.Text()
		}
		ctx.SetUserValue(idKey{}, id)
		next(ctx)
		// last, since errors reset the response
		ctx.Response.Header.Set(idField, id)
		secure(&ctx.Response.Header)
	}
}

// requestID returns the id of a request; "" if it was refused before it got one.
func requestID(ctx *fasthttp.RequestCtx) string {
	id, _ := ctx.UserValue(idKey{}).(string)
	return id
}

// secure sets the fields that restrict the use of a response in browsers.
func secure(h *fasthttp.ResponseHeader) {
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	h.Set(fasthttp.HeaderContentSecurityPolicy, "default-src 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set(fasthttp.HeaderReferrerPolicy, "same-origin")
}

// sent is called after each response, even if no handler was called. It writes the access log
// and counts the response.
func (a *app) sent(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
	key, _ := pattern(string(ctx.Path()))
	if _, ok := a.routes[key]; !ok {
		key = "other"
	}
	taken := time.Since(ctx.Time())
	a.metrics.count(label{key, sent.StatusCode}, taken, sent.Bytes)

	level := slog.LevelInfo
	if sent.StatusCode >= 500 {
		level = slog.LevelError
	}
	// the conversions copy: logging may still run when the next request reuses the memory
	a.log.LogAttrs(context.Background(), level, "request",
		slog.String("id", requestID(ctx)),
		slog.String("client", ctx.ClientIP().String()),
		slog.String("method", string(ctx.Method())),
		slog.String("target", string(ctx.RequestURI())),
		slog.String("protocol", string(ctx.Request.Header.Protocol())),
		slog.Int("status", sent.StatusCode),
		slog.Int64("bytes", sent.Bytes),
		slog.Duration("taken", taken),
		slog.Any("refused", sent.Refused),
		slog.Any("err", sent.Err),
	)
}
