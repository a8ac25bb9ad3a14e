package integrationtests

import (
	"bufio"
	"fmt"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestEventsGoOnBeyondReadTimeout has streams of events that last longer than
// ReadTimeout, on each request of a connection, while the handler watches for the
// end of the client. The timeout of a request does not apply to the watch.
func TestEventsGoOnBeyondReadTimeout(t *testing.T) {
	t.Parallel()
	for _, forAll := range []bool{false, true} {
		t.Run(fmt.Sprint("for all requests ", forAll), func(t *testing.T) {
			t.Parallel()
			overTime(t, func(t testing.TB, start starter) { checkEventsGoOn(t, start, forAll) })
		})
	}
}

func checkEventsGoOn(t testing.TB, start starter, forAll bool) {
	gone := make(chan struct{}, 1)
	proceed := make(chan struct{})
	s := &fasthttp.Server{ReadTimeout: reach, IdleTimeout: reach * 5 / 4, StreamRequestBody: forAll, CancelOnDisconnect: forAll}
	s.Handler = func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == outlasting {
			return
		}
		if !forAll {
			ctx.WatchDisconnect()
		}
		done := ctx.Done()
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for range 2 {
				_, _ = w.WriteString("event\n")
				if w.Flush() != nil {
					return
				}
				select {
				case <-done:
					gone <- struct{}{}
					return
				case <-proceed:
				}
			}
		})
	}
	ts := start(s)
	c := ts.Dial()
	for i, request := range []string{servertest.Post("/", "abc"), servertest.Get("/")} {
		c.Send(request)
		events := newTestEcho(t, c.R)
		events.expect("event\n")
		outlast(ts)
		if len(gone) > 0 {
			t.Fatalf("the stream of request %d has ended before its client left", i)
		}
		servertest.Send(t, "the second event", proceed, struct{}{})
		events.expect("event\n")
		if i < 1 {
			servertest.Send(t, "the end", proceed, struct{}{})
			events.expectEnd()
		}
	}
	// the handler still notices the end of the client
	_ = c.Close()
	servertest.Receive(t, "the end of the client", gone)
}
