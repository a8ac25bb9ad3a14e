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

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestTimeoutHandlerInTime(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: TimeoutHandler(func(ctx *RequestCtx) {
			ctx.Response.Header.Set("X-Own", "yes")
			switch string(ctx.Path()) {
			case "/own":
				// the handler's own timeout precedes that of the wrapper
				ctx.TimeoutErrorWithCode("own", 504)
			default:
				echo(ctx)
			}
		}, servertest.Never, "too slow")})
		c := ts.Dial()
		for i := range 20 {
			c.Send(servertest.Post(fmt.Sprintf("/%d", i), "abc"))
			resp := c.Expect(200, servertest.Echoed("POST", fmt.Sprintf("/%d", i), "abc"))
			if resp.Header.Get("X-Own") != "yes" || resp.Close {
				t.Errorf("the response is %v", resp.Header)
			}
		}
		c.Get("/own")
		c.Expect(504, "own")
		if n := ts.S.timed.Load(); n != 0 {
			t.Errorf("%d handlers are counted as running", n)
		}
	})
}

// A handler is late if it has taken longer than its timeout, even if it has returned before the
// waiting goroutine checks.
func TestTimeoutHandlerMeasuresTheHandler(t *testing.T) {
	for took, want := range map[time.Duration]bool{time.Minute - 1: false, time.Minute + 1: true} {
		bubble(t, func(t *testing.T) {
			var ctx RequestCtx
			closed := false
			run := ctx.newRun(func(ctx *RequestCtx) {
				time.Sleep(took)
				ctx.SetUserValue("x", servertest.CloserFunc(func() { closed = true }))
			})
			run.limit(time.Minute, "too slow", 408)
			timer := time.NewTimer(time.Minute)
			go run.start()
			// both the timer and the handler have ended before it looks
			time.Sleep(time.Hour)
			if late := run.isLate(timer.C); late != want || closed != want {
				t.Errorf("after %v it is late: %v, and its context was released: %v", took, late, closed)
			}
			if resp := run.ctx.timeoutResponse.Load(); (resp != nil) != want || want && (resp.StatusCode() != 408 || string(resp.Body()) != "too slow") {
				t.Errorf("after %v the answer is %v", took, resp)
			}
		})
	}
}

// TestTimeoutHandlerLeavesItsContextToTheLateHandler checks known failure 33 for
// TimeoutHandler. The server does not touch a context that a late handler uses,
// which the race detector would report, and no part of it reaches the client.
func TestTimeoutHandlerLeavesItsContextToTheLateHandler(t *testing.T) {
	t.Parallel()
	for _, code := range []int{StatusRequestTimeout, StatusServiceUnavailable} {
		forEachEngine(t, func(t *testing.T, start starter) {
			goOn, ended := make(chan struct{}), make(chan *RequestCtx, 100)
			closed := make(chan struct{}, 100)
			slow := func(ctx *RequestCtx) {
				defer func() { ended <- ctx }()
				ctx.SetUserValue("x", servertest.CloserFunc(func() { closed <- struct{}{} }))
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
			c := ts.Dial()
			for i := range 5 {
				c.Send(servertest.Post(fmt.Sprintf("/?n=%d", i), strings.Repeat(fmt.Sprint(i), 100)))
				if resp := c.Expect(code, "too slow"); resp.Close || resp.Header.Get("X-Late") != "" {
					t.Errorf("the response is %v", resp.Header)
				}
				c.Get("/quick")
				c.Expect(200, "quick")
			}
			if n := ts.S.timed.Load(); n != 5 {
				t.Errorf("%d late handlers are counted", n)
			}
			close(goOn)
			for range 5 {
				servertest.Receive(t, "the end of a late handler", ended)
				servertest.Receive(t, "the close of a late user value", closed)
			}
			servertest.Eventually(t, "the end of the late handlers", func() bool { return ts.S.timed.Load() == 0 })
		})
	}
}

func TestTimeoutHandlerRunsNoMoreThanConcurrency(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		goOn := make(chan struct{})
		ts := start(&Server{Concurrency: 2, Handler: TimeoutHandler(func(ctx *RequestCtx) { <-goOn }, 0, "busy")})
		c := ts.Dial()
		for range 2 {
			c.Get("/")
			c.Expect(408, "busy")
		}
		for range 2 {
			c.Get("/")
			c.Expect(429, "busy")
		}
		close(goOn)
		servertest.Eventually(t, "the late handlers to end", func() bool { return ts.S.timed.Load() == 0 })
		c.Get("/")
		if resp := c.Next("GET"); resp.StatusCode == 429 {
			t.Error("handlers that have ended are still counted")
		}
	})
}

// TestTimeoutHandlerPassesPanicsOn checks known failure 19 for the goroutine of the
// handler.
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
		}, servertest.Never, "too slow")
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			defer func() {
				p := recover()
				caught <- p
				panic(p)
			}()
			limited(ctx)
		}})
		c := ts.Dial()
		c.Get("/")
		c.Expect(500, "Internal Server Error")
		c.ExpectCut()
		if err, ok := servertest.Receive(t, "the panic", caught).(error); !ok || errors.Unwrap(err).Error() != "a mistake" {
			t.Errorf("got %v", err)
		}
		// the log has the stack of the handler
		ts.Log.WaitFor(t, "a mistake", "TestTimeoutHandlerPassesPanicsOn")
		c = ts.Dial()
		c.Get("/goexit")
		c.Expect(500, "Internal Server Error")
		servertest.Receive(t, "the panic", caught)
		c = ts.Dial()
		c.Get("/abort")
		c.ExpectCut()
		if p := servertest.Receive(t, "the panic", caught); p != http.ErrAbortHandler {
			t.Errorf("got %v", p)
		}
	})
}

func TestTimeoutHandlerLogsLatePanics(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		goOn, closed := make(chan struct{}), make(chan struct{}, 2)
		ts := start(&Server{Handler: TimeoutHandler(func(ctx *RequestCtx) {
			ctx.SetUserValue("x", servertest.CloserFunc(func() { closed <- struct{}{} }))
			<-goOn
			if string(ctx.Path()) == "/abort" {
				panic(http.ErrAbortHandler)
			}
			panic("a late mistake")
		}, time.Millisecond, "too slow")})
		c := ts.Dial()
		for _, path := range []string{"/", "/abort"} {
			c.Get(path)
			c.Expect(408, "too slow")
		}
		close(goOn)
		ts.Log.WaitFor(t, "a late mistake", "after its timeout", "timeout_test.go")
		servertest.Receive(t, "the close of a user value", closed)
		servertest.Receive(t, "the close of a user value", closed)
		if n := len(ts.Log.All()); n != 1 {
			t.Errorf("logged %q", ts.Log.All())
		}
	})
}

// TestLateHandlersProducerIsEnded has a late handler set a stream, which the server
// does not read.
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
		c := ts.Dial()
		c.Get("/")
		c.Expect(408, "too slow")
		close(timedOut)
		servertest.Receive(t, "the end of the producer", ended)
	})
}

// TestTimeoutHandlersInOneAnother has the inner handler, the outer one, or both time
// out. User values of all handlers are closed once, when the last handler has
// returned.
func TestTimeoutHandlersInOneAnother(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		inner, outer time.Duration
		middle       bool // the handler between them is late, too
	}{
		{"inner", time.Millisecond, servertest.Never, false},
		{"outer", servertest.Never, time.Millisecond, false},
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
					ctx.SetUserValue("x", servertest.CloserFunc(func() {
						closedEarly.Store(running.Load())
						closes.Add(1)
					}))
					outer(ctx)
				}})
				c := ts.Dial()
				c.Get("/")
				if resp := c.Next("GET"); resp.StatusCode != 408 || resp.Content != "inner" && resp.Content != "outer" {
					t.Errorf("got %d %q", resp.StatusCode, resp.Content)
				}
				close(goOn)
				servertest.Eventually(t, "the close of the user value", func() bool { return closes.Load() == 1 })
				servertest.Eventually(t, "the end of all handlers", func() bool { return ts.S.timed.Load() == 0 })
				if n := closedEarly.Load(); n != 0 || closes.Load() != 1 {
					t.Errorf("closed %d times, with %d handlers running", closes.Load(), n)
				}
			})
		})
	}
}

// TestTimeoutHandlerKeepsAContextThatWasGivenAway has a late handler leave its
// context to another goroutine.
func TestTimeoutHandlerKeepsAContextThatWasGivenAway(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		goOn, checked := make(chan struct{}), make(chan struct{})
		var late sync.WaitGroup
		ts := start(&Server{Handler: TimeoutHandler(func(ctx *RequestCtx) {
			<-goOn
			ctx.SetUserValue("x", servertest.CloserFunc(func() { t.Error("the user value was closed") }))
			late.Go(func() {
				<-checked
				if ctx.UserValue("x") == nil {
					t.Error("the user value was removed")
				}
				ctx.RemoveUserValue("x")
			})
			ctx.TimeoutError("mine")
		}, time.Millisecond, "too slow")})
		c := ts.Dial()
		c.Get("/")
		c.Expect(408, "too slow")
		close(goOn)
		servertest.Eventually(t, "the end of the late handler", func() bool { return ts.S.timed.Load() == 0 })
		close(checked)
		servertest.Soon(t, "the goroutine that has the context", late.Wait)
	})
}

func TestTimeoutHandlerReadsAStreamedBody(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ended := make(chan error, 1)
		ts := start(&Server{StreamRequestBody: true, Handler: TimeoutHandler(func(ctx *RequestCtx) {
			_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
			ended <- err
		}, 5*time.Millisecond, "too slow")})
		c := ts.Dial()
		c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 100") + "part")
		if resp := c.Expect(408, "too slow"); !resp.Close {
			t.Error("the connection is kept though the late handler reads from it")
		}
		_ = c.Close()
		if err := servertest.Receive(t, "the end of the late handler", ended); err == nil {
			t.Error("a body that was cut off ends in order")
		}
	})
}

func TestTimeoutHandlerWithoutServer(t *testing.T) {
	var ctx RequestCtx
	TimeoutHandler(func(ctx *RequestCtx) { ctx.SetBodyString("in time") }, servertest.Never, "too slow")(&ctx)
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
	if servertest.RaceDetector {
		t.Skip("under the race detector a sync.Pool drops some values on purpose")
	}
	ctx := RequestCtx{exchange: new(exchange)}
	h := TimeoutHandler(func(ctx *RequestCtx) { ctx.SetStatusCode(204) }, servertest.Never, "too slow")
	if n := testing.AllocsPerRun(1000, func() {
		h(&ctx)
		ctx.reset()
	}); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}
