package integrationtests

import (
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestAnswerOfAHandlerThatTimedOutArrives has clients that do not read before they
// have sent all their bytes, most of them after the response was sent.
func TestAnswerOfAHandlerThatTimedOutArrives(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		for name, read := range map[string]bool{"reading": true, "not reading": false} {
			t.Run(name, func(t *testing.T) {
				ended := make(chan struct{})
				answered := make(chan struct{})
				sent := make(chan struct{}, 1)
				ts := start(&fasthttp.Server{StreamRequestBody: true, ResponseSent: func(*fasthttp.RequestCtx, fasthttp.SentResponse) { sent <- struct{}{} }, Handler: func(ctx *fasthttp.RequestCtx) {
					go func() {
						defer close(ended)
						if !read {
							<-answered
						}
						if _, err := io.Copy(io.Discard, ctx.RequestBodyStream()); err == nil {
							t.Error("a body that was cut off ends in order")
						}
					}()
					ctx.TimeoutError("too slow")
				}})
				if !ts.Engine.Sockets {
					t.Skip("only sockets lose sent bytes")
				}
				c := ts.Dial()
				const piece, pieces = 10_000, 20
				c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 1000000"))
				servertest.Receive(t, "the answer", sent)
				for range pieces {
					c.Send(strings.Repeat("x", piece))
				}
				if resp := c.Expect(408, "too slow"); !resp.Close {
					t.Error("the connection is kept")
				}
				c.ExpectEnd()
				close(answered)
				servertest.Receive(t, "the end of the handler", ended)
			})
		}
	})
}

// Connections that linger cost no goroutine on the event engine, and end after a
// while whatever the peer does.
func TestManyConnectionsLinger(t *testing.T) {
	t.Parallel()
	const crowd = 100
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		count := servertest.CountGoroutines(t)
		var refused atomic.Int32
		ts := start(&fasthttp.Server{ErrorHandler: func(ctx *fasthttp.RequestCtx, _ error) { refused.Add(1) }, Handler: echo})
		before := count()
		for range crowd {
			c := ts.Dial()
			c.Send("no request\r\n\r\n")
		}
		servertest.Eventually(t, "all refusals", func() bool { return refused.Load() == crowd })
		if n := count(); ts.Engine.Name == "event/tcp" && n > before+crowd/2 && runtime.GOOS == "linux" {
			t.Errorf("%d goroutines, %d before", n, before)
		}
		servertest.Eventually(t, "the end of all connections", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
	})
}
