package fasthttp

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// A goroutine may call TimeoutError too late, after the response has begun. This does not affect
// later requests.
func TestTimeoutErrorThatIsTooLateConcernsNoOtherRequest(t *testing.T) {
	for name, first := range map[string]func(ctx *RequestCtx){
		"while the body stream is sent": func(ctx *RequestCtx) {
			ctx.SetBodyStream(readerFunc(func(p []byte) (int, error) {
				ctx.TimeoutErrorWithCode("too late", 503)
				return copy(p, "first"), io.EOF
			}), -1)
		},
		"for a handler that has returned": func(ctx *RequestCtx) {
			var inner *RequestCtx
			TimeoutHandler(func(ctx *RequestCtx) { inner = ctx; ctx.SetBodyString("first") }, servertest.Never, "late")(ctx)
			inner.TimeoutErrorWithCode("too late", 503)
		},
	} {
		t.Run(name, func(t *testing.T) {
			next := TimeoutHandler(func(ctx *RequestCtx) { ctx.SetBodyString("next") }, servertest.Never, "late")
			forEachEngine(t, func(t *testing.T, start starter) {
				c := start(&Server{Handler: func(ctx *RequestCtx) {
					if string(ctx.Path()) == "/first" {
						first(ctx)
						return
					}
					next(ctx)
				}}).Dial()
				// at once, so that the next request finds the context of the first one
				c.Send(servertest.Get("/first") + strings.Repeat(servertest.Get("/next"), 5))
				c.Expect(200, "first")
				for range 5 {
					c.Expect(200, "next")
				}
			})
		})
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Contexts of nested handlers each have their own response: the race detector reports if one is
// used under two locks.
func TestContextsShareNoTimeoutResponse(t *testing.T) {
	goOn := make(chan struct{})
	defer close(goOn)
	inner := TimeoutHandler(func(*RequestCtx) { <-goOn }, servertest.Short, "inner")
	var handlers sync.WaitGroup
	for range 20 {
		handlers.Go(func() {
			outer := TimeoutHandler(func(ctx *RequestCtx) {
				var called sync.WaitGroup
				called.Go(func() { ctx.TimeoutErrorWithCode("own", 504) })
				inner(ctx)
				called.Wait()
			}, servertest.Short, "outer")
			var ctx RequestCtx
			ctx.Init(nil, nil, nil)
			outer(&ctx)
			if resp := ctx.LastTimeoutErrorResponse(); resp == nil {
				t.Error("the handler was in time")
			}
		})
	}
	handlers.Wait()
}

// A goroutine to which a context was left may read the response that the client gets.
func TestTimeoutResponseMayBeReadWhileItIsSent(t *testing.T) {
	var readers sync.WaitGroup
	forEachEngine(t, func(t *testing.T, start starter) {
		c := start(&Server{Handler: func(ctx *RequestCtx) {
			ctx.TimeoutErrorWithCode("late", 504)
			readers.Go(func() {
				if got := string(ctx.LastTimeoutErrorResponse().Body()); got != "late" {
					t.Errorf("the response is %q", got)
				}
			})
		}}).Dial()
		for range 5 {
			c.Get("/")
			c.Expect(504, "late")
		}
		readers.Wait()
	})
}

// Code that calls handlers without a Server sends the timeout response, whatever follows.
func TestTakeTimeoutResponse(t *testing.T) {
	var ctx RequestCtx
	for range 2 {
		ctx.Init(nil, nil, nil)
		if resp := ctx.TakeTimeoutResponse(); resp != nil {
			t.Fatalf("without a timeout there is %v", resp)
		}
		var own, sent, unsent atomic.Int32
		stream := func(content string, closes *atomic.Int32) io.Reader {
			return struct {
				io.Reader
				io.Closer
			}{strings.NewReader(content), servertest.CloserFunc(func() { closes.Add(1) })}
		}
		response := func(stream io.Reader) *Response {
			resp := new(Response)
			resp.SetBodyStream(stream, -1)
			resp.ImmediateHeaderFlush = true
			return resp
		}
		ctx.SetBodyStream(stream("own", &own), -1)
		ctx.TimeoutErrorWithResponse(response(stream("sent", &sent)))
		resp := ctx.TakeTimeoutResponse()
		ctx.TimeoutErrorWithResponse(response(stream("unsent", &unsent)))
		if own.Load() != 1 || unsent.Load() != 1 || sent.Load() != 0 || !resp.ImmediateHeaderFlush {
			t.Errorf("closed %d, %d and %d times", own.Load(), unsent.Load(), sent.Load())
		}
		if got := string(resp.Body()); got != "sent" || sent.Load() != 1 {
			t.Errorf("got %q, closed %d times", got, sent.Load())
		}
	}
	late := new(RequestCtx)
	late.Init(nil, nil, nil)
	TimeoutHandler(func(ctx *RequestCtx) { ctx.TimeoutErrorWithCode("own", 504) }, servertest.Never, "late")(late)
	if resp := late.TakeTimeoutResponse(); resp != &late.Response || string(resp.Body()) != "own" {
		t.Errorf("got %v", resp)
	}
}

// A goroutine that waits for the end of a context without a server would wait forever.
func TestNothingWaitsForALentContextWithoutServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx := new(RequestCtx)
		ctx.Init(nil, nil, nil)
		TimeoutHandler(func(ctx *RequestCtx) {
			context.AfterFunc(ctx, func() { t.Error("the context has ended") })
		}, servertest.Never, "late")(ctx)
	})
}

// The functions given to OnShutdown end with the request, also if its handler still has the
// context: a server that never shuts down would keep them all.
func TestFunctionsForAShutdownEndWithARequestThatIsLate(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	defer close(goOn)
	add := func(ctx *RequestCtx) { ctx.OnShutdown(func(context.Context) {}) }
	leave := func(ctx *RequestCtx) { add(ctx); ctx.TimeoutError("late") }
	stay := func(ctx *RequestCtx) { add(ctx); <-goOn }
	for name, handler := range map[string]RequestHandler{
		"TimeoutError":                leave,
		"TimeoutError within":         TimeoutHandler(leave, servertest.Never, "late"),
		"a late handler":              TimeoutHandler(stay, servertest.Short, "late"),
		"a handler within a late one": TimeoutHandler(TimeoutHandler(stay, servertest.Never, "later"), servertest.Short, "late"),
	} {
		forEachEngine(t, func(t *testing.T, start starter) {
			r := start(withHTTP2(&Server{Handler: handler}))
			ended := func(protocol string) {
				t.Helper()
				servertest.Eventually(t, protocol+": no function after "+name, func() bool { return r.S.onStop.Len() == 0 })
			}
			c := r.Dial()
			c.Get("/")
			c.Expect(408, "late")
			ended("HTTP/1")
			client, base := h2Client(t, r)
			resp, err := client.Get(base + "/")
			servertest.Must(t, err)
			servertest.Must(t, resp.Body.Close())
			ended("HTTP/2")
		})
	}
}
