package otelfasthttp

import "github.com/valyala/fasthttp"

// Next calls next for a middleware of a framework such as Fiber, whose router runs in the handler of
// the server: it sets the route that route returns afterwards, and records the error of next in the
// span. For version 3 of Fiber:
//
//	app.Use(func(c fiber.Ctx) error { return otelfasthttp.Next(c.RequestCtx(), c.Next, c.FullPath) })
//
// The server, or the handler, has Attach or Middleware as well. The route is not set if SetRoute
// was called, and if next has failed and route returns the same as before: the path of the middleware,
// since no route has matched. Next returns the error of next.
func Next(ctx *fasthttp.RequestCtx, next func() error, route func() string) error {
	before := route()
	err := next()
	r, _ := ctx.UserValue(key{}).(*request)
	if r == nil || r == skipped {
		return err
	}
	if err != nil && r.span != nil {
		r.span.RecordError(err)
	}
	if found := route(); err == nil || found != before {
		r.mu.Lock()
		if r.route == "" {
			r.route = found
		}
		r.mu.Unlock()
	}
	return err
}
