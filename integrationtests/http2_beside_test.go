package integrationtests

import (
	"bufio"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// busyStream is a request whose handler uses the connection all the time.
type busyStream struct {
	name string
	run  func(b *busyHandler, ctx *fasthttp.RequestCtx)
	// feeds is set if the client sends content, which the handler reads
	feeds bool
}

// busyHandler is the state that the handler of a busyStream shares with the test.
type busyHandler struct {
	moves atomic.Int64 // how often it has used the connection, or how much it has read
	stop  atomic.Bool
	ended chan struct{}
}

var busyStreams = []busyStream{
	{name: "flush", run: func(b *busyHandler, ctx *fasthttp.RequestCtx) {
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			defer close(b.ended)
			for !b.stop.Load() {
				_, _ = w.WriteString("a message")
				if w.Flush() != nil {
					return
				}
				b.moves.Add(1)
			}
		})
	}},
	{name: "read", feeds: true, run: func(b *busyHandler, ctx *fasthttp.RequestCtx) {
		defer close(b.ended)
		for p := make([]byte, 1<<10); ; {
			n, err := ctx.RequestBodyStream().Read(p)
			b.moves.Add(int64(n))
			if err != nil {
				return
			}
		}
	}},
	{name: "echo", feeds: true, run: func(b *busyHandler, ctx *fasthttp.RequestCtx) {
		body := ctx.RequestBodyStream()
		ctx.EnableFullDuplex()
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			defer close(b.ended)
			for p := make([]byte, 1<<10); ; {
				n, err := body.Read(p)
				b.moves.Add(int64(n))
				_, _ = w.Write(p[:n])
				if w.Flush() != nil || err != nil {
					return
				}
			}
		})
	}},
}

// TestHTTP2HandlersServeNoOthers has a handler use its connection all the time, while the
// handlers of other requests wait: each of these must wait on a separate goroutine, whichever
// goroutine has received its request.
func TestHTTP2HandlersServeNoOthers(t *testing.T) {
	t.Parallel()
	for _, busy := range busyStreams {
		t.Run(busy.name, func(t *testing.T) {
			overHTTP2(t, func(t *testing.T, start http2Starter) {
				gate := servertest.NewGate()
				arrived := func() { servertest.Receive(t, "the request beside it", gate.Entered) }
				busy.check(t, start, func() { gate.Pass("") }, arrived, func() { close(gate.Open) })
			})
		})
	}
}

// TestHTTP2HandlersNeverWaitForThemselves has the busy handler hold a mutex for which the
// handlers of the other requests wait.
func TestHTTP2HandlersNeverWaitForThemselves(t *testing.T) {
	t.Parallel()
	for _, busy := range busyStreams {
		t.Run(busy.name, func(t *testing.T) {
			overHTTP2(t, func(t *testing.T, start http2Starter) {
				var mu sync.Mutex
				mu.Lock() // for the busy handler
				beside := func() {
					mu.Lock()
					defer mu.Unlock()
				}
				busy.check(t, start, beside, func() {}, mu.Unlock)
			})
		})
	}
}

// check sends the request of b, and requests beside it, which beside serves. arrived waits until
// one of them is served, and leave makes all of them return.
func (b busyStream) check(t *testing.T, start http2Starter, beside, arrived, leave func()) {
	const others, piece = 12, 32
	h := &busyHandler{ended: make(chan struct{})}
	s := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/busy" {
			b.run(h, ctx)
			return
		}
		beside()
		ctx.SetBodyString("done")
	}})
	let := sync.OnceFunc(leave)
	defer let()
	c := greetHTTP2(s.testServer, uint32(http2.SettingInitialWindowSize), largeStep).Window(0, largeStep-65535).Listen()
	feed := func() (n int64) {
		if b.feeds {
			for range piece {
				c.Data(1, 0, strings.Repeat("d", 1<<10))
			}
		}
		return piece << 10
	}
	if b.feeds {
		c.Post(1, "/busy").Flush()
	} else {
		c.Get(1, "/busy").Flush()
	}
	fed := int64(0)
	for i := range uint32(others) {
		fed += feed()
		c.Get(3+2*i, "/beside")
		fed += feed()
		c.Flush()
		arrived()
		want := h.moves.Load() + 10
		if b.feeds {
			want = fed
		}
		servertest.Eventually(t, "progress of the busy stream", func() bool {
			if c.IsOver() {
				t.Fatalf("the connection has ended: %s", c.Verdict())
			}
			return h.moves.Load() >= want
		})
	}
	let()
	for i := range uint32(others) {
		if got := c.Await(3 + 2*i).String(); got != "200 done" {
			t.Errorf("beside: %s", got)
		}
	}
	h.stop.Store(true)
	if b.feeds {
		c.Data(1, servertest.EndStream, "").Flush()
	}
	servertest.Receive(t, "the end of the busy handler", h.ended)
	if got := c.Await(1).Status(); got != "200" {
		t.Errorf("the busy stream: %s", got)
	}
}
