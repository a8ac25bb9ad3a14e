package fasthttp

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// TestWhatReadDeadlinesAreOf checks all transitions between kinds of read deadlines.
func TestWhatReadDeadlinesAreOf(t *testing.T) {
	for _, c := range []struct {
		from                       timing
		over, ofHead               bool
		expired, goesOn            timing // after a deadline has expired, or was extended
		headRead, headReadAtTheEnd timing
	}{
		{timesWait, false, false, expiredRequest, timesWait, timesRequest, timesRequest},
		{timesRequest, false, false, expiredRequest, timesRequest, timesRequest, timesRequest},
		{timesHead, false, true, expiredHead, timesHead, timesRequest, timesRequest},
		{expiredRequest, true, false, expiredRequest, timesRequest, timesRequest, expiredRequest},
		{expiredHead, true, true, expiredHead, timesHead, timesRequest, expiredRequest},
	} {
		if c.from.over() != c.over || c.from.ofHead() != c.ofHead {
			t.Errorf("%d: over %v, of the head %v", c.from, c.from.over(), c.from.ofHead())
		}
		if got := c.from.expired(true); got != c.expired {
			t.Errorf("%d expires as %d, want %d", c.from, got, c.expired)
		}
		if got := c.from.expired(false); got != c.goesOn {
			t.Errorf("%d goes on as %d, want %d", c.from, got, c.goesOn)
		}
		if got := c.from.headRead(false); got != c.headRead {
			t.Errorf("%d is %d once the head was read, want %d", c.from, got, c.headRead)
		}
		if got := c.from.headRead(true); got != c.headReadAtTheEnd {
			t.Errorf("%d is %d once the head was read at the last moment, want %d", c.from, got, c.headReadAtTheEnd)
		}
	}
}

// A deadline that the handler sets does not look like the end of a client that is watched.
func TestDeadlineOfAHandlerIsNoDisconnect(t *testing.T) {
	var gone atomic.Bool
	inBubble(t, &Server{Handler: func(ctx *RequestCtx) {
		ctx.AfterDisconnect(func() { gone.Store(true) })
		if err := ctx.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Error("the context has ended at the deadline")
		}
		if string(ctx.Path()) == "/leave" {
			<-ctx.Done()
		}
	}}, func(t *testing.T, dial func() *servertest.Conn) {
		c := dial()
		for range 2 {
			c.Get("/")
			c.Expect(200, "")
		}
		c.Get("/leave")
		time.Sleep(2 * time.Minute)
		if gone.Load() {
			t.Error("a client has left that has not")
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if synctest.Wait(); !gone.Load() {
			t.Error("the end of the client is not noticed after a deadline")
		}
	})
}
