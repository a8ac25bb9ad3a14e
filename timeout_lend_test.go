package fasthttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// TestMiddlewareAroundATimeoutHandler has middleware around a late handler that
// reads everything, and sets fields before and after it. The race detector reports
// if they share memory.
func TestMiddlewareAroundATimeoutHandler(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		goOn, ended := make(chan struct{}), make(chan struct{}, 100)
		busy := func(ctx *RequestCtx) {
			for range 200 {
				ctx.SetStatusCode(200)
				ctx.SetBodyString("late")
				ctx.Response.Header.Set("X-Late", "yes")
				ctx.Response.Header.Set("X-Before", "late")
				ctx.SetUserValue("late", "yes")
				ctx.SetUserValue("outer", "late")
				ctx.Request.Header.Set("X-Asked", "late")
				ctx.Request.SetBodyString("late")
				ctx.URI().SetPath("/late")
				ctx.QueryArgs().Set("n", "late")
				ctx.SetRemoteAddr(zeroTCPAddr)
				ctx.Hijack(nil)
				ctx.Request.ResetUserValues()
			}
		}
		limited := TimeoutWithCodeHandler(func(ctx *RequestCtx) {
			defer func() { ended <- struct{}{} }()
			go func() { goOn <- struct{}{} }()
			busy(ctx)
			<-goOn
			busy(ctx)
			<-goOn
			busy(ctx)
		}, time.Millisecond, "too slow", 503)
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			path, uri := ctx.Path(), ctx.URI()
			ctx.SetUserValue("outer", "mine")
			ctx.SetContentType("application/json")
			ctx.Response.Header.Set("X-Before", "before")
			ctx.Response.Header.SetContentEncoding("gzip")
			ctx.SetBodyString("before")
			remote := ctx.RemoteAddr()
			limited(ctx)
			ctx.Response.Header.Set("X-After", "after")
			got := fmt.Sprint(ctx.Response.StatusCode(), string(ctx.Response.Body()), string(path), string(uri.Path()), string(ctx.QueryArgs().Peek("n")),
				string(ctx.Request.Header.Peek("X-Asked")), string(ctx.PostBody()), ctx.UserValue("outer"), ctx.UserValue("late"), ctx.RemoteAddr() == remote,
				ctx.Hijacked(), ctx.LastTimeoutErrorResponse().StatusCode())
			if want := fmt.Sprint(503, "too slow", "/slow", "/slow", "1", "yes", "content", "mine", nil, true, false, 503); got != want {
				t.Errorf("the handler around sees %s, want %s", got, want)
			}
			goOn <- struct{}{}
		}})
		c := ts.Dial()
		for range 3 {
			c.Send(servertest.Post("/slow?n=1", "content", "X-Asked: yes"))
			resp := c.Expect(503, "too slow")
			for name, want := range map[string]string{"X-Before": "before", "X-After": "after", "X-Late": "", "Content-Type": "text/plain; charset=utf-8", "Content-Encoding": ""} {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			if resp.Close {
				t.Error("the connection ends")
			}
			servertest.Receive(t, "the end of the late handler", ended)
		}
	})
}

// TestTimeoutHandlerInTimeChangesItsRequest has handlers return in time: the
// middleware sees all their changes.
func TestTimeoutHandlerInTimeChangesItsRequest(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		closed := make(chan string, 10)
		limited := TimeoutHandler(func(ctx *RequestCtx) {
			if string(ctx.Response.Header.Peek("X-Before")) != "before" || string(ctx.Response.Body()) != "before " || ctx.UserValue("a") != 1 {
				t.Error("the fields that were set before are missing")
			}
			ctx.SetUserValue("path", ctx.Path())
			ctx.SetUserValue("body", ctx.PostBody())
			ctx.SetUserValue("a", nil)
			ctx.SetUserValue("c", servertest.CloserFunc(func() { closed <- "c" }))
			_, _ = ctx.WriteString("inner")
			ctx.SetStatusCode(201)
			ctx.URI().SetPath("/changed")
			ctx.Request.Header.Set("X-Asked", "changed")
			ctx.Response.Header.Del("X-Before")
			ctx.SetRemoteAddr(zeroTCPAddr)
			if string(ctx.QueryArgs().Peek("n")) == "2" {
				ctx.Request.SetBodyString("changed")
			}
		}, servertest.Never, "too slow")
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			ctx.SetUserValue("a", 1)
			ctx.SetUserValue("b", servertest.CloserFunc(func() { closed <- "b" }))
			ctx.Response.Header.Set("X-Before", "before")
			_, _ = ctx.WriteString("before ")
			limited(ctx)
			limitedAgain := TimeoutHandler(func(ctx *RequestCtx) { ctx.Response.Header.Set("X-Twice", "yes") }, servertest.Never, "")
			limitedAgain(ctx)
			got := fmt.Sprintf("%d %s %s %s %s %s %s %v %v", ctx.Response.StatusCode(), ctx.Response.Body(), ctx.UserValue("path"), ctx.UserValue("body"), ctx.Path(),
				ctx.Request.Header.Peek("X-Asked"), ctx.PostBody(), ctx.RemoteAddr(), ctx.UserValue("a"))
			body := "content"
			if string(ctx.QueryArgs().Peek("n")) == "2" {
				body = "changed"
			}
			if want := "201 before inner /slow content /changed changed " + body + " 0.0.0.0:0 <nil>"; got != want {
				t.Errorf("the handler around sees %q, want %q", got, want)
			}
		}})
		c := ts.Dial()
		for i := range 3 {
			c.Send(servertest.Post(fmt.Sprint("/slow?n=", i), "content"))
			resp := c.Next("POST")
			if resp.StatusCode != 201 || resp.Content != "before inner" || resp.Header.Get("X-Before") != "" || resp.Header.Get("X-Twice") != "yes" {
				t.Errorf("got %d %q %v", resp.StatusCode, resp.Content, resp.Header)
			}
			if a, b := servertest.Receive(t, "a close", closed), servertest.Receive(t, "a close", closed); a == b {
				t.Errorf("%s was closed twice", a)
			}
		}
		if len(closed) > 0 {
			t.Errorf("%s was closed again", <-closed)
		}
	})
}

// TestTimeoutHandlerThatHasTheConnection has handlers with a timeout use the
// connection.
func TestTimeoutHandlerThatHasTheConnection(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ended := make(chan error, 1)
		ts := start(&Server{Handler: TimeoutHandler(func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/hints":
				ctx.Response.Header.Set("Link", "</a>; rel=preload")
				if err := ctx.EarlyHints(); err != nil {
					t.Error(err)
				}
				ctx.SetBodyString("hinted")
			case "/gone":
				ctx.WatchDisconnect()
				inner, cancel := context.WithCancel(ctx)
				defer cancel()
				<-inner.Done()
				ended <- ctx.Err()
			case "/stream":
				ctx.WatchDisconnect()
				ctx.SetBodyStream(strings.NewReader("streamed"), -1)
			}
		}, servertest.Never, "too slow")})
		c := ts.Dial()
		for range 3 {
			c.Get("/hints")
			if resp := c.Next("GET"); resp.StatusCode != 103 {
				t.Errorf("got %d", resp.StatusCode)
			}
			c.Expect(200, "hinted")
			c.Get("/stream")
			c.Expect(200, "streamed")
		}
		c.Get("/gone")
		_ = c.Close()
		if err := servertest.Receive(t, "the end of the client", ended); err != context.Canceled {
			t.Errorf("Err is %v", err)
		}
	})
}

// TestTimeoutHandlerReadsTrailers has nested handlers with timeouts read streamed
// bodies to their end, and echo them.
func TestTimeoutHandlerReadsTrailers(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		inner := TimeoutHandler(func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/echo" {
				ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
				return
			}
			body, err := io.ReadAll(ctx.RequestBodyStream())
			fmt.Fprintf(ctx, "%s %v %s", body, err, ctx.Request.Header.Peek("X-Sum"))
		}, servertest.Never, "too slow")
		middle := TimeoutHandler(func(ctx *RequestCtx) {
			_, _ = io.ReadFull(ctx.RequestBodyStream(), make([]byte, 1))
			inner(ctx)
		}, servertest.Never, "too slow")
		ts := start(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			middle(ctx)
			ctx.Response.Header.Set("X-Seen", string(ctx.Request.Header.Peek("X-Sum")))
		}})
		c := ts.Dial()
		for range 3 {
			for path, want := range map[string][2]string{"/read": {"bc <nil> 3", "3"}, "/echo": {"bc", ""}} {
				c.Send(servertest.Head("POST "+path+" HTTP/1.1", "Host: a", "Trailer: X-Sum", "Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\nX-Sum: 3\r\n\r\n")
				if resp := c.Expect(200, want[0]); resp.Header.Get("X-Seen") != want[1] {
					t.Errorf("%s: seen %q, want %q", path, resp.Header.Get("X-Seen"), want[1])
				}
			}
		}
	})
}

func TestTimeoutHandlerLimitsItsBody(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{StreamRequestBody: true, Handler: TimeoutHandler(func(ctx *RequestCtx) {
			known := ctx.LimitRequestBody(2)
			_, err := io.ReadAll(ctx.RequestBodyStream())
			fmt.Fprint(ctx, errors.Is(known, ErrBodyTooLarge), errors.Is(err, ErrBodyTooLarge))
		}, servertest.Never, "too slow")})
		for request, want := range map[string]string{
			servertest.Post("/", "abc"): "true true", servertest.Chunked("/", "3\r\nabc\r\n0\r\n\r\n"): "false true", servertest.Post("/", "ab"): "false false",
		} {
			c := ts.Dial()
			c.Send(request)
			c.Expect(200, want)
		}
	})
}

// TestTimeoutErrorUnderATimeoutHandler has a handler time out by itself, before the
// wrapper does, with its own response.
func TestTimeoutErrorUnderATimeoutHandler(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		limited := TimeoutHandler(func(ctx *RequestCtx) {
			var resp Response
			resp.SetStatusCode(504)
			resp.SetBodyString("own")
			resp.Header.SetContentType("text/own")
			resp.Header.Set("X-Own", "yes")
			resp.Header.Set("X-Both", "own")
			resp.Header.Add("X-Twice", "1")
			resp.Header.Add("X-Twice", "2")
			ctx.TimeoutErrorWithResponse(&resp)
		}, servertest.Never, "too slow")
		ts := start(&Server{Handler: CompressHandler(func(ctx *RequestCtx) {
			ctx.Response.Header.Set("X-Both", "outer")
			ctx.Response.Header.Set("X-Before", "yes")
			limited(ctx)
			ctx.Response.Header.Set("X-After", "yes")
		})})
		c := ts.Dial()
		for range 3 {
			c.Get("/")
			h := c.Expect(504, "own").Header
			if got := fmt.Sprint(h.Get("X-Own"), h.Values("X-Both"), h.Values("X-Twice"), h.Get("X-Before"), h.Get("X-After"), h.Get("Content-Type")); got != "yes[own] [1 2]yesyestext/own" {
				t.Errorf("the fields are %s", got)
			}
		}
	})
}

// TestContextGivenAwayAroundATimeoutHandler has the middleware end with TimeoutError
// while the inner handler runs. The inner handler must not touch the connection,
// which serves the next request.
func TestContextGivenAwayAroundATimeoutHandler(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		running, left, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		limited := TimeoutHandler(func(ctx *RequestCtx) {
			close(running)
			<-left
			ctx.Response.Header.Set("Link", "</a>; rel=preload")
			if err := ctx.EarlyHints(); err != nil {
				t.Error(err)
			}
			if err := ctx.SetReadDeadline(time.Unix(1, 0)); err != ErrDeadlineUpdatesDisabled {
				t.Errorf("SetReadDeadline: %v", err)
			}
			ctx.WatchDisconnect()
		}, servertest.Never, "too slow")
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/next" {
				ctx.SetBodyString("next")
				return
			}
			go func() {
				defer close(ended)
				limited(ctx)
			}()
			<-running
			ctx.TimeoutError("given away")
		}})
		c := ts.Dial()
		c.Get("/")
		c.Expect(408, "given away")
		close(left)
		servertest.Receive(t, "the end of the handler", ended)
		c.Get("/next")
		c.Expect(200, "next")
	})
}

// trailingReader is a body stream that calls a function when the request of its trailers is set.
type trailingReader struct {
	io.Reader
	told func()
}

// TrailersTo implements trailingStream.
func (s trailingReader) TrailersTo(func(name, value string) error) { s.told() }

// TestTimeoutWhileAnInnerHandlerEnds has a handler take its context back from an inner one,
// while a timeout around it passes and the client gets the answer. The race detector reports
// if one does not wait for the other.
func TestTimeoutWhileAnInnerHandlerEnds(t *testing.T) {
	for range 100 {
		outer := RequestCtx{exchange: new(exchange)}
		run := outer.newRun(nil)
		run.limit(servertest.Never, "too slow", 408)
		inner := run.ctx.newRun(nil)
		inner.limit(servertest.Never, "too slow", 408)
		inner.end()
		// this is called in the middle of taking back
		inner.ctx.Request.body.Stream = trailingReader{strings.NewReader(""), func() {
			for range 10 {
				runtime.Gosched()
			}
		}}
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			run.timeOut()
			outer.abandonRun(run)
			outer.endExchanges()
		}()
		run.ctx.copyBack(inner)
		servertest.Receive(t, "the answer", answered)
		for name, ctx := range map[string]*RequestCtx{"outer": &outer, "late": run.ctx, "inner": inner.ctx} {
			if ctx.exchange != nil {
				t.Fatalf("the %s context has kept the exchange", name)
			}
		}
		if !run.ctx.isLate() {
			t.Fatal("the late context has kept the connection")
		}
	}
}
