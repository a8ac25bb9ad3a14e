package integrationtests

import (
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// A late handler in a nested TimeoutHandler keeps its body, and sees no bytes of
// later requests.
func TestLateHandlerWithinAnotherKeepsItsBody(t *testing.T) {
	t.Parallel()
	lateHandlerKeepsItsBody(t, func(inner fasthttp.RequestHandler) fasthttp.RequestHandler {
		return fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) { inner(ctx) }, servertest.Never, "outer")
	})
}

// So does a late handler after which another TimeoutHandler runs for the same
// request.
func TestLateHandlerBeforeAnotherKeepsItsBody(t *testing.T) {
	t.Parallel()
	lateHandlerKeepsItsBody(t, func(inner fasthttp.RequestHandler) fasthttp.RequestHandler {
		next := fasthttp.TimeoutHandler(func(*fasthttp.RequestCtx) {}, servertest.Never, "next")
		return func(ctx *fasthttp.RequestCtx) {
			inner(ctx)
			next(ctx)
		}
	})
}

func lateHandlerKeepsItsBody(t *testing.T, around func(fasthttp.RequestHandler) fasthttp.RequestHandler) {
	forEachEngine(t, func(t *testing.T, start starter) {
		release, body := make(chan struct{}), make(chan string, 1)
		inner := fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) {
			<-release
			body <- string(ctx.PostBody())
		}, 10*time.Millisecond, "late")
		outer := around(inner)
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/next" {
				ctx.SetBodyString("next")
				return
			}
			outer(ctx)
		}})
		first := strings.Repeat("A", 50)
		c := ts.Dial()
		c.Send(servertest.Post("/", first))
		c.Expect(fasthttp.StatusRequestTimeout, "late")
		for range 3 {
			c.Send(servertest.Post("/next", strings.Repeat("B", 50)))
			c.Expect(fasthttp.StatusOK, "next")
		}
		close(release)
		if got := servertest.Receive(t, "the late handler", body); got != first {
			t.Errorf("the late handler has the body %q", got)
		}
	})
}

// A handler that a late handler calls, before or after it is late, cannot use the connection.
func TestHandlerWithinALateOneHasNoConnection(t *testing.T) {
	t.Parallel()
	for _, begins := range []string{"before", "after"} {
		t.Run(begins, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, start starter) {
				begin, release, in, did := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error, 3)
				inner := fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) {
					<-release
					ctx.Response.Header.Set(fasthttp.HeaderLink, "</of-the-first>; rel=preload")
					did <- ctx.EarlyHints()
					did <- ctx.SetReadDeadline(time.Now().Add(servertest.Never))
					did <- ctx.SetWriteDeadline(time.Now().Add(servertest.Never))
				}, servertest.Never, "late")
				outer := fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) {
					<-begin
					inner(ctx)
				}, servertest.Short, "outer")
				ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
					if string(ctx.Path()) != "/next" {
						outer(ctx)
						return
					}
					close(in)
					servertest.Must(t, servertest.Receive(t, "the hints", did))
					for range 2 {
						if err := servertest.Receive(t, "a deadline", did); err != fasthttp.ErrDeadlineUpdatesDisabled {
							t.Errorf("setting a deadline: %v", err)
						}
					}
					ctx.SetBodyString("next")
				}})
				if begins == "before" {
					close(begin)
				}
				c := ts.Dial()
				c.Get("/")
				c.Expect(fasthttp.StatusRequestTimeout, "outer")
				if begins == "after" {
					close(begin)
				}
				c.Get("/next")
				servertest.Receive(t, "the next request", in)
				close(release)
				if resp := c.Next("GET"); resp.StatusCode != fasthttp.StatusOK || resp.Content != "next" {
					t.Errorf("got %d %q", resp.StatusCode, resp.Content)
				}
			})
		})
	}
}
