package fasthttp

import (
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// TestNilTraceReadsNoClock checks that a server without a Trace keeps no times of a request. All
// clocks that the hooks need are read into these times, so none is read without them.
func TestNilTraceReadsNoClock(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, traced := range []bool{false, true} {
			kept := make(chan bool, 2)
			s := &Server{Handler: func(ctx *RequestCtx) { kept <- ctx.traced != nil }}
			s.ResponseSent = func(ctx *RequestCtx, _ SentResponse) { kept <- ctx.traced != nil }
			if traced {
				s.Trace = &ServerTrace{HeadReceived: func(*RequestCtx) {}}
			}
			ts := start(s)
			c := ts.Dial()
			c.Send(servertest.Post("/", "content"))
			c.Expect(200, "")
			for range cap(kept) {
				if got := <-kept; got != traced {
					t.Errorf("with a trace %t: times are kept: %t", traced, got)
				}
			}
		}
	})
}
