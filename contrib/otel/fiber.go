package otelfasthttp

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Next calls next for a middleware of a framework such as Fiber, whose router runs in the handler of
// the server: it sets the route that route returns afterwards, and records the error of next in the
// span. For version 3 of Fiber:
//
//	app.Use(func(c fiber.Ctx) error { return otelfasthttp.Next(c.RequestCtx(), c.Next, c.FullPath) })
//
// The server, or the handler, has Attach or Middleware as well. The route is not set if SetRoute
// was called, and if next returns Fiber's error that no route has matched and route returns the same as
// before: the path of the middleware. Next returns the error of next.
func Next(ctx *fasthttp.RequestCtx, next func() error, route func() string) error {
	before := route()
	err := next()
	r, _ := ctx.UserValue(requestKey).(*request)
	if r == nil || r == skipped {
		return err
	}
	if err != nil && r.span != nil {
		recordError(r.span, err)
	}
	if found := route(); err == nil || found != before || !isUnrouted(ctx, err) {
		r.mu.Lock()
		if r.route == "" {
			r.route = found
		}
		r.mu.Unlock()
	}
	return err
}

// recordError is span.RecordError for an error whose text may not be valid UTF-8: the error of Fiber
// if no route has matched has the path of the client in it.
func recordError(span trace.Span, err error) {
	text := err.Error()
	if utf8.ValidString(text) {
		span.RecordError(err)
		return
	}
	span.AddEvent(semconv.ExceptionEventName, trace.WithAttributes(
		semconv.ExceptionType(semconv.ErrorType(err).Value.AsString()),
		semconv.ExceptionMessage(validText(text)),
	))
}

// isUnrouted reports whether an error looks like one of Fiber if no route has matched. Its type has no
// method that tells, and handlers may return the same error.
func isUnrouted(ctx *fasthttp.RequestCtx, err error) bool {
	text := err.Error()
	if text == http.StatusText(http.StatusNotFound) || text == http.StatusText(http.StatusMethodNotAllowed) {
		return true
	}
	rest, found := strings.CutPrefix(text, "Cannot ")
	return found && strings.HasPrefix(rest, string(ctx.Method())+" ")
}
