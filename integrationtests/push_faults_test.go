package integrationtests

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// failingPush is a PushHandler one of whose methods panics, or ends its goroutine.
type failingPush struct {
	push  fasthttp.Push
	at    string
	how   func()
	began chan struct{}
	ended chan error
}

func (f *failingPush) step(name string) {
	if f.at == name {
		f.how()
	}
}

func (f *failingPush) Opened(p *fasthttp.Push) {
	_ = p.Send([]byte("opened\n"))
	p.SetTick(time.Millisecond)
	f.began <- struct{}{}
	f.step("Opened")
}

func (f *failingPush) Tick(p *fasthttp.Push) {
	f.step("Tick")
	if f.at == "Ended" {
		p.Close()
	}
}

func (f *failingPush) ShuttingDown(p *fasthttp.Push) {
	f.step("ShuttingDown")
	p.Close()
}

func (f *failingPush) Ended(_ *fasthttp.Push, err error) {
	f.ended <- err
	f.step("Ended")
}

// A panic in a method of a PushHandler, and runtime.Goexit, end the response, and nothing else. Ended
// is called once in any case.
func TestPushHandlerPanics(t *testing.T) {
	hows := map[string]func(){"panic": func() { panic("a mistake") }, "Goexit": runtime.Goexit}
	forEachPush(t, func(t *testing.T, start func(s *fasthttp.Server) *pushClient) {
		for how, fail := range hows {
			for _, at := range []string{"Opened", "Tick", "ShuttingDown", "Ended"} {
				made := make(chan *failingPush, 1)
				cl := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
					if len(ctx.Path()) > 1 {
						ctx.SetBodyString("other")
						return
					}
					f := &failingPush{at: at, how: fail, began: make(chan struct{}, 10), ended: make(chan error, 10)}
					ctx.PushBody(&f.push, f)
					made <- f
				}})
				got := make(chan error, 1)
				go func() {
					// the head may be cut off, too
					resp, err := cl.client.Get(cl.url("/"))
					if err == nil {
						_, err = io.ReadAll(resp.Body)
						_ = resp.Body.Close()
					}
					got <- err
				}()
				f := servertest.Receive(t, "a pushed body", made)
				servertest.Receive(t, "its beginning", f.began)
				if at == "ShuttingDown" {
					done := make(chan error, 1)
					go func() { done <- cl.ts.S.Shutdown() }()
					servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
				}
				if err := servertest.Receive(t, "the end of the response", got); err == nil && at != "Ended" {
					t.Errorf("%s in %s: the response is complete", how, at)
				}
				if err := servertest.Receive(t, "Ended", f.ended); err == nil && at != "Ended" {
					t.Errorf("%s in %s: Ended without an error", how, at)
				}
				if how == "panic" {
					cl.ts.Log.WaitFor(t, "a mistake")
				}
				if err := f.push.Send([]byte("late")); err == nil {
					t.Errorf("%s in %s: Send after the end", how, at)
				}
				if at != "ShuttingDown" {
					r, _ := cl.open(t, "/other")
					if all, err := io.ReadAll(r); string(all) != "other" || err != nil {
						t.Errorf("%s in %s: another request: %q, %v", how, at, all, err)
					}
				}
				if n := len(f.ended); n != 0 {
					t.Errorf("%s in %s: Ended was called %d times more", how, at, n)
				}
			}
		}
	})
}

// A handler within a TimeoutHandler may push a body, which outlasts the time, unless the handler is
// too late: then the body is not sent.
func TestPushedBodiesUnderTimeoutHandlers(t *testing.T) {
	forEachPush(t, func(t *testing.T, start func(s *fasthttp.Server) *pushClient) {
		handler, made := pushes(nil)
		cl := start(&fasthttp.Server{Handler: fasthttp.TimeoutHandler(handler, servertest.Never, "late")})
		r, _ := cl.open(t, "/")
		p := beginning(t, made)
		for _, piece := range []string{"one\n", "two\n"} {
			servertest.Must(t, p.push.Send([]byte(piece)))
			wantText(t, r, piece)
		}
		p.push.Close()
		if rest, err := io.ReadAll(r); len(rest) != 0 || err != nil {
			t.Errorf("the body ends with %q, %v", rest, err)
		}
		p.wantEnd(t, isNil)

		g := servertest.NewGate()
		handler, made = pushes(func(*fasthttp.RequestCtx, *pushed) { g.Pass("the handler") })
		cl = start(&fasthttp.Server{Handler: fasthttp.TimeoutHandler(handler, servertest.Short, "too late")})
		r, _ = cl.open(t, "/")
		if all, err := io.ReadAll(r); !strings.Contains(string(all), "too late") || err != nil {
			t.Errorf("got %q, %v", all, err)
		}
		close(g.Open)
		p = servertest.Receive(t, "a pushed body", made)
		p.wantEnd(t, func(err error) bool { return errors.Is(err, fasthttp.ErrPushNotSent) })
		if err := p.push.Send([]byte("x")); err == nil {
			t.Error("Send after the end")
		}
	})
}
