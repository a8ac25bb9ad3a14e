package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// never is a timeout that no test reaches.
const never = time.Hour

func TestTimeoutHandlerInTime(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: TimeoutHandler(func(ctx *RequestCtx) {
			ctx.Response.Header.Set("X-Own", "yes")
			switch string(ctx.Path()) {
			case "/own":
				// its own timeout goes before that of the wrapper
				ctx.TimeoutErrorWithCode("own", 504)
			default:
				echo(ctx)
			}
		}, never, "too slow")})
		c := ts.dial()
		for i := range 20 {
			c.send(post(fmt.Sprintf("/%d", i), "abc"))
			resp := c.expect(200, echoed("POST", fmt.Sprintf("/%d", i), "abc"))
			if resp.Header.Get("X-Own") != "yes" || resp.Close {
				t.Errorf("the response is %v", resp.Header)
			}
		}
		c.get("/own")
		c.expect(504, "own")
		if n := ts.s.timed.Load(); n != 0 {
			t.Errorf("%d handlers are counted as running", n)
		}
	})
}

// TestTimeoutHandlerLeavesItsContextToTheLateHandler holds known failure 33 for
// it: under the race detector it shows that the server does not touch a context
// again that a late handler uses, and that nothing of it reaches the client.
func TestTimeoutHandlerLeavesItsContextToTheLateHandler(t *testing.T) {
	for _, code := range []int{StatusRequestTimeout, StatusServiceUnavailable} {
		forEachEngine(t, func(t *testing.T, start starter) {
			goOn, ended := make(chan struct{}), make(chan *RequestCtx, 100)
			closed := make(chan struct{}, 100)
			slow := func(ctx *RequestCtx) {
				defer func() { ended <- ctx }()
				ctx.SetUserValue("x", closerFunc(func() { closed <- struct{}{} }))
				<-goOn
				for range 50 {
					ctx.SetBodyString("too late")
					ctx.Response.Header.Set("X-Late", "yes")
				}
				if n := string(ctx.QueryArgs().Peek("n")); string(ctx.PostBody()) != strings.Repeat(n, 100) {
					t.Errorf("late: the body of %s is %q", n, ctx.PostBody())
				}
				if err := ctx.SetReadDeadline(time.Time{}); err != ErrDeadlineUpdatesDisabled {
					t.Errorf("late: SetReadDeadline: %v", err)
				}
			}
			limited := TimeoutWithCodeHandler(slow, time.Millisecond, "too slow", code)
			if code == StatusRequestTimeout {
				limited = TimeoutHandler(slow, time.Millisecond, "too slow")
			}
			ts := start(&Server{Handler: func(ctx *RequestCtx) {
				if string(ctx.Path()) == "/quick" {
					ctx.SetBodyString("quick")
					return
				}
				limited(ctx)
				if ctx.LastTimeoutErrorResponse() == nil {
					t.Error("there is no timeout response")
				}
			}})
			c := ts.dial()
			for i := range 5 {
				c.send(post(fmt.Sprintf("/?n=%d", i), strings.Repeat(fmt.Sprint(i), 100)))
				if resp := c.expect(code, "too slow"); resp.Close || resp.Header.Get("X-Late") != "" {
					t.Errorf("the response is %v", resp.Header)
				}
				c.get("/quick")
				c.expect(200, "quick")
			}
			if n := ts.s.timed.Load(); n != 5 {
				t.Errorf("%d late handlers are counted", n)
			}
			close(goOn)
			for range 5 {
				receive(t, "the end of a late handler", ended)
				receive(t, "the close of a late user value", closed)
			}
			eventually(t, "no late handlers any more", func() bool { return ts.s.timed.Load() == 0 })
		})
	}
}

func TestTimeoutHandlerRunsNoMoreThanConcurrency(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		goOn := make(chan struct{})
		ts := start(&Server{Concurrency: 2, Handler: TimeoutHandler(func(ctx *RequestCtx) { <-goOn }, 0, "busy")})
		c := ts.dial()
		for range 2 {
			c.get("/")
			c.expect(408, "busy")
		}
		for range 2 {
			c.get("/")
			c.expect(429, "busy")
		}
		close(goOn)
		eventually(t, "the late handlers to end", func() bool { return ts.s.timed.Load() == 0 })
		c.get("/")
		if resp := c.next("GET"); resp.StatusCode == 429 {
			t.Error("handlers that have ended are still counted")
		}
	})
}

// TestTimeoutHandlerPassesPanicsOn holds known failure 19 for the goroutine of
// the handler.
func TestTimeoutHandlerPassesPanicsOn(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		caught := make(chan any, 1)
		limited := TimeoutHandler(func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/abort":
				panic(http.ErrAbortHandler)
			case "/goexit":
				runtime.Goexit()
			}
			panic(errors.New("a mistake"))
		}, never, "too slow")
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			defer func() {
				p := recover()
				caught <- p
				panic(p)
			}()
			limited(ctx)
		}})
		c := ts.dial()
		c.get("/")
		c.expect(500, "Internal Server Error")
		c.expectCut()
		if err, ok := receive(t, "the panic", caught).(error); !ok || errors.Unwrap(err).Error() != "a mistake" {
			t.Errorf("got %v", err)
		}
		// the stack is that of the handler
		ts.log.waitFor(t, "a mistake", "TestTimeoutHandlerPassesPanicsOn")
		c = ts.dial()
		c.get("/goexit")
		c.expect(500, "Internal Server Error")
		receive(t, "the panic", caught)
		c = ts.dial()
		c.get("/abort")
		c.expectCut()
		if p := receive(t, "the panic", caught); p != http.ErrAbortHandler {
			t.Errorf("got %v", p)
		}
	})
}

func TestTimeoutHandlerLogsLatePanics(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		goOn, closed := make(chan struct{}), make(chan struct{}, 2)
		ts := start(&Server{Handler: TimeoutHandler(func(ctx *RequestCtx) {
			ctx.SetUserValue("x", closerFunc(func() { closed <- struct{}{} }))
			<-goOn
			if string(ctx.Path()) == "/abort" {
				panic(http.ErrAbortHandler)
			}
			panic("a late mistake")
		}, time.Millisecond, "too slow")})
		c := ts.dial()
		for _, path := range []string{"/", "/abort"} {
			c.get(path)
			c.expect(408, "too slow")
		}
		close(goOn)
		ts.log.waitFor(t, "a late mistake", "after its timeout", "timeout_test.go")
		receive(t, "the close of a user value", closed)
		receive(t, "the close of a user value", closed)
		if n := len(ts.log.all()); n != 1 {
			t.Errorf("logged %q", ts.log.all())
		}
	})
}

// TestLateHandlersProducerIsEnded has a late handler set a stream that nobody
// will read.
func TestLateHandlersProducerIsEnded(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		timedOut, ended := make(chan struct{}), make(chan struct{})
		ts := start(&Server{Handler: TimeoutHandler(func(ctx *RequestCtx) {
			<-timedOut
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				for {
					if _, err := w.Write(make([]byte, 1000)); err != nil {
						close(ended)
						return
					}
				}
			})
		}, time.Millisecond, "too slow")})
		c := ts.dial()
		c.get("/")
		c.expect(408, "too slow")
		close(timedOut)
		receive(t, "the end of the producer", ended)
	})
}

// TestTimeoutHandlersInOneAnother has the inner one, the outer one, or both time
// out. What all handlers have is closed when the last of them has returned, and
// only once.
func TestTimeoutHandlersInOneAnother(t *testing.T) {
	for _, tt := range []struct {
		name         string
		inner, outer time.Duration
		middle       bool // the handler between them is late, too
	}{
		{"inner", time.Millisecond, never, false},
		{"outer", never, time.Millisecond, false},
		{"inner first", time.Millisecond, 20 * time.Millisecond, true},
		{"both", time.Millisecond, time.Millisecond, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, start starter) {
				goOn := make(chan struct{})
				var running, closedEarly, closes atomic.Int32
				inner := TimeoutHandler(func(ctx *RequestCtx) {
					running.Add(1)
					<-goOn
					_ = ctx.Path()
					ctx.SetBodyString("late")
					running.Add(-1)
				}, tt.inner, "inner")
				outer := TimeoutHandler(func(ctx *RequestCtx) {
					running.Add(1)
					inner(ctx)
					if tt.middle {
						<-goOn
					}
					running.Add(-1)
				}, tt.outer, "outer")
				ts := start(&Server{Handler: func(ctx *RequestCtx) {
					ctx.SetUserValue("x", closerFunc(func() {
						closedEarly.Store(running.Load())
						closes.Add(1)
					}))
					outer(ctx)
				}})
				c := ts.dial()
				c.get("/")
				if resp := c.next("GET"); resp.StatusCode != 408 || resp.body != "inner" && resp.body != "outer" {
					t.Errorf("got %d %q", resp.StatusCode, resp.body)
				}
				close(goOn)
				eventually(t, "the close of the user value", func() bool { return closes.Load() == 1 })
				eventually(t, "the end of all handlers", func() bool { return ts.s.timed.Load() == 0 })
				if n := closedEarly.Load(); n != 0 || closes.Load() != 1 {
					t.Errorf("closed %d times, with %d handlers running", closes.Load(), n)
				}
			})
		})
	}
}

// TestTimeoutHandlerKeepsAContextThatWasGivenAway has a late handler leave its
// context to another goroutine in its turn.
func TestTimeoutHandlerKeepsAContextThatWasGivenAway(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		goOn, checked := make(chan struct{}), make(chan struct{})
		var late sync.WaitGroup
		ts := start(&Server{Handler: TimeoutHandler(func(ctx *RequestCtx) {
			<-goOn
			ctx.SetUserValue("x", closerFunc(func() { t.Error("the user value was closed") }))
			late.Go(func() {
				<-checked
				if ctx.UserValue("x") == nil {
					t.Error("the user value is gone")
				}
				ctx.RemoveUserValue("x")
			})
			ctx.TimeoutError("mine")
		}, time.Millisecond, "too slow")})
		c := ts.dial()
		c.get("/")
		c.expect(408, "too slow")
		close(goOn)
		eventually(t, "the end of the late handler", func() bool { return ts.s.timed.Load() == 0 })
		close(checked)
		late.Wait()
	})
}

func TestTimeoutHandlerReadsAStreamedBody(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ended := make(chan error, 1)
		ts := start(&Server{StreamRequestBody: true, Handler: TimeoutHandler(func(ctx *RequestCtx) {
			_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
			ended <- err
		}, 5*time.Millisecond, "too slow")})
		c := ts.dial()
		c.send(head("POST / HTTP/1.1", "Host: a", "Content-Length: 100") + "part")
		if resp := c.expect(408, "too slow"); !resp.Close {
			t.Error("the connection is kept though the late handler reads from it")
		}
		_ = c.Close()
		if err := receive(t, "the end of the late handler", ended); err == nil {
			t.Error("a body that was cut off ends in order")
		}
	})
}

func TestTimeoutHandlerWithoutServer(t *testing.T) {
	var ctx RequestCtx
	TimeoutHandler(func(ctx *RequestCtx) { ctx.SetBodyString("in time") }, never, "too slow")(&ctx)
	if string(ctx.Response.Body()) != "in time" || ctx.LastTimeoutErrorResponse() != nil {
		t.Errorf("got %q", ctx.Response.Body())
	}
	goOn, late := make(chan struct{}), new(RequestCtx)
	TimeoutHandler(func(*RequestCtx) { <-goOn }, 0, "too slow")(late)
	if resp := late.LastTimeoutErrorResponse(); resp == nil || resp.StatusCode() != 408 || string(resp.Body()) != "too slow" {
		t.Errorf("got %v", resp)
	}
	close(goOn)
}

func TestTimeoutHandlerInTimeAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("under the race detector a sync.Pool drops some of what it is given, on purpose")
	}
	ctx := RequestCtx{responder: new(exchange)}
	h := TimeoutHandler(func(ctx *RequestCtx) { ctx.SetStatusCode(204) }, never, "too slow")
	if n := testing.AllocsPerRun(1000, func() {
		h(&ctx)
		ctx.reset()
	}); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}
