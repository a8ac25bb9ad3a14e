package fasthttp

import (
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// TestNilTraceReadsNoClock checks that a server without a Trace keeps no times of a request. All
// clocks that the hooks need are read into these times, so none is read without them.
func TestNilTraceReadsNoClock(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, traced := range []bool{false, true} {
			kept := make(chan bool, 2)
			keeps := func(ctx *RequestCtx) bool { return ctx.traced != nil && ctx.traced.head != 0 }
			s := &Server{Handler: func(ctx *RequestCtx) { kept <- keeps(ctx) }}
			s.ResponseSent = func(ctx *RequestCtx, _ SentResponse) {
				kept <- keeps(ctx) || ctx.traced.sent != notAsked
			}
			if traced {
				s.Trace = &ServerTrace{HeadReceived: func(*RequestCtx) {}}
			}
			ts := start(s)
			c := ts.Dial()
			c.Send(servertest.Post("/", "content"))
			c.Expect(200, "")
			for range cap(kept) {
				if got := servertest.Receive(t, "an answer", kept); got != traced {
					t.Errorf("with a trace %t: times are kept: %t", traced, got)
				}
			}
		}
	})
}

// TestDurationIsTheSameForAllHooks asks for the duration of requests in handlers and in hooks.
func TestDurationIsTheSameForAllHooks(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, settings := range []struct{ lazy, timed bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
			lazy, timed := settings.lazy, settings.timed
			var handled, traced time.Duration
			var sum time.Duration
			done := make(chan time.Duration, 1)
			s := &Server{LazyRequestTime: lazy, Handler: func(ctx *RequestCtx) { handled = ctx.Duration() }}
			s.Trace = &ServerTrace{ResponseSent: func(ctx *RequestCtx, sent TracedResponse) {
				traced = ctx.Duration()
				sum = sent.Receiving + sent.Handling + sent.Sending
			}}
			if !timed {
				s.Trace = nil
			}
			s.ResponseSent = func(ctx *RequestCtx, _ SentResponse) {
				if !timed {
					traced = ctx.Duration()
				}
				if since := time.Since(ctx.Time()); since < traced || ctx.Duration() != traced || traced < handled {
					t.Errorf("the duration is %v in the handler, then %v, and then %v of %v", handled, traced, ctx.Duration(), since)
				}
				done <- sum
			}
			ts := start(s)
			c := ts.Dial()
			for _, request := range []string{servertest.Post("/", "content"), servertest.Get("/"), "nonsense\r\n\r\n"} {
				c.Send(request)
				sum := servertest.Receive(t, "a response", done)
				if parsed := request != "nonsense\r\n\r\n"; parsed && timed && !lazy && (sum <= 0 || traced < sum-time.Millisecond) || !parsed && sum != 0 {
					t.Errorf("%q: the parts are %v of %v", request, sum, traced)
				}
				handled = 0
				if request != "nonsense\r\n\r\n" {
					c.Expect(200, "")
				}
			}
		}
	})
}

func TestDurationWithoutAServer(t *testing.T) {
	var ctx RequestCtx
	if d := ctx.Duration(); d != 0 {
		t.Errorf("the duration of no request is %v", d)
	}
	ctx.Init(&Request{}, nil, nil)
	ctx.initTime = ctx.initTime.Add(-time.Hour)
	if d := ctx.Duration(); d < time.Hour || d > 2*time.Hour {
		t.Errorf("the duration is %v", d)
	}
}

// TestHandlerBeginsWithTheHead checks when the clock need not be read again before a handler.
func TestHandlerBeginsWithTheHead(t *testing.T) {
	hook := func(*RequestCtx) {}
	timed := func(*RequestCtx, TracedResponse) {}
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, tc := range []struct {
			name    string
			s       *Server
			request string
			head    bool // the handler begins with the head
			body    bool // the handler begins with the body
		}{
			{"plain", &Server{Trace: &ServerTrace{ResponseSent: timed}}, servertest.Get("/"), true, false},
			{"a body", &Server{Trace: &ServerTrace{ResponseSent: timed}}, servertest.Post("/", "content"), false, true},
			{"a stream", &Server{Trace: &ServerTrace{ResponseSent: timed}, StreamRequestBody: true}, servertest.Post("/", "content"), false, false},
			{"a hook for heads", &Server{Trace: &ServerTrace{ResponseSent: timed, HeadReceived: hook}}, servertest.Get("/"), false, false},
			{"a hook for bodies", &Server{Trace: &ServerTrace{ResponseSent: timed, BodyReceived: hook}}, servertest.Post("/", "content"), false, false},
			{"HeaderReceived", &Server{Trace: &ServerTrace{ResponseSent: timed}, HeaderReceived: func(*RequestHeader) (c RequestConfig) { return c }}, servertest.Get("/"), false, false},
			{"ContinueHandler", &Server{Trace: &ServerTrace{ResponseSent: timed}, ContinueHandler: func(*RequestHeader) bool { return true }}, servertest.Get("/"), false, false},
		} {
			times := make(chan traceTimes, 1)
			s := &Server{Trace: tc.s.Trace, StreamRequestBody: tc.s.StreamRequestBody, HeaderReceived: tc.s.HeaderReceived, ContinueHandler: tc.s.ContinueHandler}
			s.Handler = func(ctx *RequestCtx) { times <- *ctx.traced }
			ts := start(s)
			c := ts.Dial()
			c.Send(tc.request)
			got := servertest.Receive(t, "the handler", times)
			c.Expect(200, "")
			if got.begun < max(got.head, got.body) || tc.head && got.begun != got.head || tc.body && got.begun != got.body {
				t.Errorf("%s: the times are %+v", tc.name, got)
			}
		}
	})
}
