package integrationtests

import (
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// Close of user values can read the request and the response before they are reset. Its reads
// do not affect the next request.
func TestUserValuesAreClosedBeforeTheRequestIsReset(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		closed := make(chan string, 1)
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetUserValue("key", servertest.CloserFunc(func() { closed <- seenOf(ctx) }))
			if path := string(ctx.Path()); path != "/p" {
				ctx.SetBodyString(path)
				return
			}
			ctx.SetStatusCode(202)
			ctx.SetBodyString("taken")
		}})
		c := ts.Dial()
		c.Send(servertest.Head("POST /p?q=1 HTTP/1.1", "Host: a", "X: y", "Content-Length: 3") + "abc")
		c.Expect(202, "taken")
		if seen := servertest.Receive(t, "the end of user values", closed); seen != seenBefore {
			t.Errorf("a user value has %s", seen)
		}
		c.Get("/next")
		c.Expect(200, "/next")
		servertest.Receive(t, "the end of user values", closed)
	})
	var req fasthttp.Request
	req.SetRequestURI("http://a/p")
	path := ""
	req.SetUserValue("key", servertest.CloserFunc(func() { path = string(req.URI().Path()) }))
	req.Reset()
	if path != "/p" || string(req.URI().FullURI()) != "http:///" {
		t.Errorf("the path was %q, the URI is %s", path, req.URI())
	}
}

func TestUserValueThatPanicsIsClosedOnce(t *testing.T) {
	ts := startServer(t, servertest.MemoryEngine, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetUserValue("key", servertest.CloserFunc(func() { panic("closed") }))
	}})
	c := ts.Dial()
	c.Get("/")
	c.ExpectCut()
	if n := len(ts.Log.All()); n != 1 {
		t.Errorf("%d lines: %q", n, ts.Log.All())
	}
}
