package fasthttp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// lateReader starts a server with a handler around one that is late while it reads a
// body that is a stream. What the latter has come to is the value of ended.
func lateReader(t *testing.T, start starter, around func(ctx *RequestCtx, late RequestHandler), inside func(*RequestCtx)) (c *testConn, ended chan error) {
	ended = make(chan error, 1)
	limited := TimeoutHandler(func(ctx *RequestCtx) {
		inside(ctx)
		_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
		ended <- err
	}, time.Millisecond, "too slow")
	ts := start(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) { around(ctx, limited) }})
	return ts.dial(), ended
}

// half is a request whose body does not end.
func half(version string) string {
	return head("POST / HTTP/"+version, "Host: a", "Content-Length: 1000000") + "abc"
}

func TestLateReaderLetsGoOfUserValues(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		closed := make(chan string, 10)
		c, ended := lateReader(t, start, func(ctx *RequestCtx, late RequestHandler) {
			ctx.SetUserValue("outer", closerFunc(func() { closed <- "outer" }))
			late(ctx)
			ctx.SetUserValue("after", closerFunc(func() { closed <- "after" }))
		}, func(ctx *RequestCtx) {
			ctx.SetUserValue("inner", closerFunc(func() { closed <- "inner" }))
		})
		c.send(half("1.1"))
		c.expect(408, "too slow")
		_ = receive(t, "the end of the late handler", ended)
		got := map[string]int{}
		for range 3 {
			got[receive(t, "a close", closed)]++
		}
		if len(got) != 3 {
			t.Errorf("closed are %v", got)
		}
	})
}

// What handlers around a late one answer with a stream gets to the client.
func TestStreamsAroundALateReader(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		for version, size := range map[string]int{"1.1": -1, "1.0": -1, "1.1 ": 12} {
			c, ended := lateReader(t, start, func(ctx *RequestCtx, late RequestHandler) {
				late(ctx)
				ctx.SetStatusCode(203)
				ctx.SetBodyStream(strings.NewReader("outer stream"), size)
			}, func(*RequestCtx) {})
			c.send(half(strings.TrimSpace(version)))
			resp := c.expect(203, "outer stream")
			if !resp.Close {
				t.Error("the connection is kept")
			}
			_ = receive(t, "the end of the late handler", ended)
		}
	})
}

func TestPanicsAroundALateReader(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, value := range []any{http.ErrAbortHandler, "a mistake"} {
			c, ended := lateReader(t, start, func(ctx *RequestCtx, late RequestHandler) {
				late(ctx)
				panic(value)
			}, func(*RequestCtx) {})
			c.send(half("1.1"))
			if value == http.ErrAbortHandler {
				if b, _ := io.ReadAll(c.Conn); len(b) > 0 {
					t.Errorf("behind an abort there is %q", b)
				}
			} else {
				c.expect(500, StatusMessage(500))
			}
			_ = receive(t, "the end of the late handler", ended)
		}
	})
}

// A context that is left to others with TimeoutError while one of them has a timeout of
// its own: under the race detector this shows that the server leaves it alone.
func TestContextWithALateReaderIsGivenAway(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		begun, after := make(chan struct{}, 1), make(chan struct{}, 1)
		c, ended := lateReader(t, start, func(ctx *RequestCtx, late RequestHandler) {
			go func() {
				late(ctx)
				after <- struct{}{}
			}()
			<-begun
			ctx.TimeoutError("given away")
		}, func(*RequestCtx) { begun <- struct{}{} })
		c.send(half("1.1"))
		if resp := c.next("POST"); resp.StatusCode != 408 {
			t.Errorf("status %d", resp.StatusCode)
		}
		_ = receive(t, "the end of the late handler", ended)
		receive(t, "the handler around it", after)
	})
}

// A late handler that has asked for the end of its client learns that it is answered.
func TestLateHandlerThatWatchesIsTold(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ended := make(chan error, 1)
		limited := TimeoutHandler(func(ctx *RequestCtx) {
			ctx.WatchDisconnect()
			inner, cancel := context.WithCancel(ctx)
			defer cancel()
			<-inner.Done()
			ended <- ctx.Err()
		}, time.Millisecond, "too slow")
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/next" {
				fmt.Fprint(ctx, ctx.Err())
				return
			}
			limited(ctx)
		}})
		c := ts.dial()
		for range 3 {
			c.get("/")
			c.expect(408, "too slow")
			if err := receive(t, "the end of the late handler", ended); err != context.Canceled {
				t.Errorf("Err is %v", err)
			}
			c.get("/next")
			c.expect(200, "<nil>")
		}
	})
}
