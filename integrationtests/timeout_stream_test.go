package integrationtests

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// lateReader starts a server with middleware around a handler that is late while it
// reads a streamed body. ended receives the result of the late handler.
func lateReader(t *testing.T, start starter, around func(ctx *fasthttp.RequestCtx, late fasthttp.RequestHandler), inside func(*fasthttp.RequestCtx)) (c *servertest.Conn, ended chan error) {
	ended = make(chan error, 1)
	limited := fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) {
		inside(ctx)
		_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
		ended <- err
	}, time.Millisecond, "too slow")
	ts := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) { around(ctx, limited) }})
	return ts.Dial(), ended
}

// half returns a request with an incomplete body.
func half(version string) string {
	return servertest.Head("POST / HTTP/"+version, "Host: a", "Content-Length: 1000000") + "abc"
}

func TestLateReaderLetsGoOfUserValues(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		closed := make(chan string, 10)
		c, ended := lateReader(t, start, func(ctx *fasthttp.RequestCtx, late fasthttp.RequestHandler) {
			ctx.SetUserValue("outer", servertest.CloserFunc(func() { closed <- "outer" }))
			late(ctx)
			ctx.SetUserValue("after", servertest.CloserFunc(func() { closed <- "after" }))
		}, func(ctx *fasthttp.RequestCtx) {
			ctx.SetUserValue("inner", servertest.CloserFunc(func() { closed <- "inner" }))
		})
		c.Send(half("1.1"))
		c.Expect(408, "too slow")
		_ = servertest.Receive(t, "the end of the late handler", ended)
		got := map[string]int{}
		for range 3 {
			got[servertest.Receive(t, "a close", closed)]++
		}
		if len(got) != 3 {
			t.Errorf("closed are %v", got)
		}
	})
}

// A stream that the middleware of a late handler sets arrives at the client.
func TestStreamsAroundALateReader(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		for version, size := range map[string]int{"1.1": -1, "1.0": -1, "1.1 ": 12} {
			c, ended := lateReader(t, start, func(ctx *fasthttp.RequestCtx, late fasthttp.RequestHandler) {
				late(ctx)
				ctx.SetStatusCode(203)
				ctx.SetBodyStream(strings.NewReader("outer stream"), size)
			}, func(*fasthttp.RequestCtx) {})
			c.Send(half(strings.TrimSpace(version)))
			resp := c.Expect(203, "outer stream")
			if !resp.Close {
				t.Error("the connection is kept")
			}
			_ = servertest.Receive(t, "the end of the late handler", ended)
		}
	})
}

func TestPanicsAroundALateReader(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		for _, value := range []any{http.ErrAbortHandler, "a mistake"} {
			c, ended := lateReader(t, start, func(ctx *fasthttp.RequestCtx, late fasthttp.RequestHandler) {
				late(ctx)
				panic(value)
			}, func(*fasthttp.RequestCtx) {})
			c.Send(half("1.1"))
			if value == http.ErrAbortHandler {
				if b, _ := io.ReadAll(c.Conn); len(b) > 0 {
					t.Errorf("after an abort: %q", b)
				}
			} else {
				c.Expect(500, fasthttp.StatusMessage(500))
			}
			_ = servertest.Receive(t, "the end of the late handler", ended)
		}
	})
}

// A handler leaves its context with TimeoutError while another goroutine runs a
// TimeoutHandler on it. The race detector reports if the server touches the context.
func TestContextWithALateReaderIsGivenAway(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		begun, after := make(chan struct{}, 1), make(chan struct{}, 1)
		c, ended := lateReader(t, start, func(ctx *fasthttp.RequestCtx, late fasthttp.RequestHandler) {
			go func() {
				late(ctx)
				after <- struct{}{}
			}()
			<-begun
			ctx.TimeoutError("given away")
		}, func(*fasthttp.RequestCtx) { begun <- struct{}{} })
		c.Send(half("1.1"))
		if resp := c.Next("POST"); resp.StatusCode != 408 {
			t.Errorf("status %d", resp.StatusCode)
		}
		_ = servertest.Receive(t, "the end of the late handler", ended)
		servertest.Receive(t, "the handler around it", after)
	})
}

// If a handler continues after TimeoutError, a shutdown ends its context, even if it watches
// its client.
func TestShutdownEndsAHandlerAfterTimeoutError(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		begun, ended := make(chan struct{}), make(chan error, 1)
		s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.TimeoutError("left behind")
			ctx.WatchDisconnect()
			close(begun)
			<-ctx.Done()
			ended <- ctx.Err()
		}}
		c := start(s).Dial()
		c.Get("/")
		servertest.Receive(t, "the handler", begun)
		stopped := make(chan error, 1)
		go func() { stopped <- s.Shutdown() }()
		if err := servertest.Receive(t, "the end of the context", ended); err != context.Canceled {
			t.Errorf("Err is %v", err)
		}
		c.Expect(408, "left behind")
		servertest.Must(t, servertest.Receive(t, "the shutdown", stopped))
	})
}

// A body stream sets trailers, and reads the trailers of the request, in the context of the
// inner handler, after that context has been returned to the outer handler.
func TestTrailersOfStreamsUnderTimeoutHandlers(t *testing.T) {
	t.Parallel()
	h := func(ctx *fasthttp.RequestCtx) {
		in, out := &ctx.Request.Header, &ctx.Response.Header
		if err := out.SetTrailer("Sum, Sums, Canonical"); err != nil {
			t.Error(err)
		}
		_ = out.AnnounceTrailer("Seen")
		out.Set("Seen", "head")
		_ = out.AddTrailerField("Early", "0")
		content := ctx.RequestBodyStream()
		ctx.SetBodyStream(servertest.ReadFunc(func(p []byte) (int, error) {
			n, err := content.Read(p)
			if err == io.EOF {
				out.Set("Sum", "1")
				out.Add("Sums", "1")
				out.Add("Sums", "2")
				out.SetCanonical([]byte("Canonical"), []byte("1"))
				out.Set("Plain", "too late")
				_ = out.AddTrailerField("Seen", fmt.Sprintf("%s %s", in.PeekTrailer("X-Sum"), in.Peek("X-Sum")))
				for name := range in.TrailerFields() {
					_ = out.AddTrailerField("Names", string(name))
				}
				_ = out.AddTrailerField("Own", fmt.Sprintf("%s", out.PeekTrailerKeys()))
			}
			return n, err
		}), -1)
	}
	around := map[string]fasthttp.RequestHandler{
		"no timeout":   h,
		"a timeout":    fasthttp.TimeoutHandler(h, servertest.Never, "late"),
		"two timeouts": fasthttp.TimeoutHandler(fasthttp.TimeoutHandler(h, servertest.Never, "late"), servertest.Never, "late"),
		"a timeout, twice": fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) {
			fasthttp.TimeoutHandler(func(*fasthttp.RequestCtx) {}, servertest.Never, "late")(ctx)
			h(ctx)
		}, servertest.Never, "late"),
		"two, one after it": fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) {
			h(ctx)
			fasthttp.TimeoutHandler(func(*fasthttp.RequestCtx) {}, servertest.Never, "late")(ctx)
		}, servertest.Never, "late"),
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		for name, handler := range around {
			c := start(&fasthttp.Server{StreamRequestBody: true, Handler: handler}).Dial()
			for i := range 3 {
				c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Trailer: X-Sum") +
					fmt.Sprintf("3\r\nabc\r\n0\r\nX-Sum: %d\r\nX-Other: y\r\n\r\n", i))
				resp := c.Expect(200, "abc")
				want := http.Header{
					"Sum": {"1"}, "Sums": {"1", "2"}, "Canonical": {"1"}, "Early": {"0"}, "Seen": {fmt.Sprintf("%d %d", i, i)},
					"Names": {"X-Sum", "X-Other"}, "Own": {"[Sum Sums Canonical Seen Early Names]"},
				}
				if resp.Header.Get("Seen") != "head" || resp.Header.Get("Plain") != "" || !reflect.DeepEqual(resp.Trailer, want) {
					t.Errorf("%s, request %d: header %v, trailers %v", name, i, resp.Header, resp.Trailer)
				}
			}
		}
	})
}
