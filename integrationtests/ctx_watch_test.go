package integrationtests

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// hang is a handler that waits for the end of its context.
type hang struct {
	entered chan *fasthttp.RequestCtx
	left    chan error
	watch   bool
}

func newHang(watch bool) *hang {
	return &hang{entered: make(chan *fasthttp.RequestCtx, 1), left: make(chan error, 1), watch: watch}
}

func (h *hang) handle(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) != "/hang" {
		ctx.SetBodyString("at once")
		return
	}
	if h.watch {
		ctx.WatchDisconnect()
	}
	done := ctx.Done()
	h.entered <- ctx
	<-done
	h.left <- ctx.Err()
}

func TestHandlerLearnsThatItsClientHasGone(t *testing.T) {
	goodbyes := map[string]func(c *servertest.Conn){
		"close": func(c *servertest.Conn) { _ = c.Close() },
		"end of sending": func(c *servertest.Conn) {
			if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			} else {
				_ = c.Close()
			}
		},
	}
	for how, leave := range goodbyes {
		for _, forAll := range []bool{false, true} {
			forEachEngine(t, func(t *testing.T, start starter) {
				h := newHang(!forAll)
				ts := start(&fasthttp.Server{Handler: h.handle, CancelOnDisconnect: forAll})
				if ts.Engine.TLS && ts.Engine.Kind == servertest.Event && how == "end of sending" {
					t.Skip("the end of sending is a message of TLS, which nobody reads while the handler runs")
				}
				c := ts.Dial()
				c.Get("/")
				c.Expect(200, "at once")
				c.Get("/hang")
				servertest.Receive(t, "the request", h.entered)
				leave(c)
				if err := servertest.Receive(t, "the end of the context after "+how, h.left); err != context.Canceled {
					t.Errorf("Err is %v", err)
				}
			})
		}
	}
}

func TestHandlerLearnsOfAResetAndOfAClientThatLeftBefore(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		h := newHang(true)
		ready := make(chan struct{})
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			servertest.Receive(t, "the end of the client", ready)
			h.handle(ctx)
		}})
		c := ts.Dial()
		c.Get("/hang")
		_ = c.Close()
		close(ready)
		servertest.Receive(t, "the request", h.entered)
		servertest.Receive(t, "the end of the context", h.left)
	})
}

func TestWatchedContextEndsWithShutdown(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		h := newHang(true)
		ts := start(&fasthttp.Server{Handler: h.handle})
		c := ts.Dial()
		c.Get("/hang")
		servertest.Receive(t, "the request", h.entered)
		stopped := make(chan error, 1)
		go func() { stopped <- ts.S.Shutdown() }()
		servertest.Receive(t, "the end of the context", h.left)
		c.Expect(200, "")
		servertest.Receive(t, "the end of Shutdown", stopped)
	})
}

// A context that is derived from a RequestCtx may live a little longer. It must then
// find the RequestCtx ended, and not serving another request.
func TestContextsDerivedFromAWatchedOneEndWell(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		derived := make(chan context.Context, 1)
		ts := start(&fasthttp.Server{CancelOnDisconnect: true, Handler: func(ctx *fasthttp.RequestCtx) {
			inner, cancel := context.WithCancel(ctx)
			defer cancel()
			if ctx.Err() != nil || inner.Err() != nil {
				t.Error("ended at once")
			}
			derived <- inner
			if string(ctx.Path()) == "/hang" {
				<-ctx.Done()
			}
		}})
		before := runtime.NumGoroutine()
		for range 20 {
			c := ts.Dial()
			for range 3 {
				c.Get("/")
				c.Expect(200, "")
				servertest.Receive(t, "the end of the derived context", servertest.Receive(t, "the derived context", derived).Done())
			}
			c.Get("/hang")
			inner := servertest.Receive(t, "the derived context", derived)
			_ = c.Close()
			servertest.Receive(t, "the end of the derived context", inner.Done())
			if inner.Err() != context.Canceled {
				t.Errorf("Err is %v", inner.Err())
			}
		}
		servertest.Eventually(t, "no more goroutines than before", func() bool { return runtime.NumGoroutine() <= before+8 })
	})
}

// If a request arrives while the connection is watched, none of its bytes is lost.
func TestWatchingLosesNoBytes(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		g := servertest.NewGate()
		ts := start(&fasthttp.Server{CancelOnDisconnect: true, IdleTimeout: time.Minute, Handler: func(ctx *fasthttp.RequestCtx) {
			if ctx.Err() != nil {
				t.Error("ended at once")
			}
			passing(g)(ctx)
		}})
		c := ts.Dial()
		c.Get("/1")
		servertest.Receive(t, "the request", g.Entered)
		c.Get("/2")
		c.Get("/3")
		close(g.Open)
		for range 3 {
			resp := c.Next(http.MethodGet)
			_, _ = io.Copy(io.Discard, resp.Body)
			if resp.StatusCode != 200 {
				t.Errorf("got %d", resp.StatusCode)
			}
		}
	})
}

func TestWithoutWatchingNobodyLearnsOfTheClient(t *testing.T) {
	ctx := new(fasthttp.RequestCtx)
	ctx.WatchDisconnect()
	if ctx.Done() != nil || ctx.Err() != nil {
		t.Error("a context without a server ends")
	}
	ctx.Init(nil, nil, nil)
	ctx.WatchDisconnect()
	if ctx.Done() == nil || ctx.Err() != nil {
		t.Error("a context without a handler has ended")
	}
}

// The producer of a body stream goes on when its handler has returned. If it begins to
// watch the client then, under TimeoutHandler or not, the watch must not take anything of
// the next request.
func TestWatchOfAProducerTakesNothing(t *testing.T) {
	produce := func(ctx *fasthttp.RequestCtx) {
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			ctx.WatchDisconnect()
			_, _ = w.WriteString("produced")
		})
	}
	for name, h := range map[string]fasthttp.RequestHandler{
		"alone":             produce,
		"under a timeout":   fasthttp.TimeoutHandler(produce, time.Hour, "late"),
		"under two of them": fasthttp.TimeoutHandler(fasthttp.TimeoutHandler(produce, time.Hour, "late"), time.Hour, "late"),
	} {
		t.Run(name, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, start starter) {
				c := start(&fasthttp.Server{Handler: h}).Dial()
				for range 3 {
					c.Get("/")
					c.Expect(200, "produced")
				}
			})
		})
	}
}
