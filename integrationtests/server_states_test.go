package integrationtests

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestConnStateMayWait has a hook that uses the server, closes its connection, and waits. The
// other connections are served meanwhile.
func TestConnStateMayWait(t *testing.T) {
	t.Parallel()
	for _, in := range []fasthttp.ConnState{fasthttp.StateActive, fasthttp.StateIdle, fasthttp.StateClosed} {
		t.Run(in.String(), func(t *testing.T) {
			t.Parallel()
			forEachEngine(t, func(t *testing.T, start starter) {
				t.Parallel()
				g := servertest.NewGate()
				var waits atomic.Bool
				waits.Store(true)
				s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("ok") }}
				s.ConnState = func(nc net.Conn, state fasthttp.ConnState) {
					if state == in && waits.Swap(false) {
						open := s.GetOpenConnectionsCount()
						_ = nc.Close()
						g.Pass(fmt.Sprint(open))
					}
				}
				ts := start(s)
				c := ts.Dial()
				if c.Get("/"); in == fasthttp.StateClosed {
					c.Expect(200, "ok")
					_ = c.Close()
				}
				if open := servertest.Receive(t, "the hook", g.Entered); open != "1" {
					t.Errorf("%s connections are open", open)
				}
				for range 8 {
					other := ts.Dial()
					other.Get("/")
					other.Expect(200, "ok")
					_ = other.Close()
				}
				close(g.Open)
				_ = c.Close()
				servertest.Eventually(t, "no connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
			})
		})
	}
}

// TestHTTP2ConnStateMayWait has a hook that waits when a connection becomes idle. The connection
// itself continues meanwhile, and the hook is called for all its states, one after the other.
func TestHTTP2ConnStateMayWait(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		states, g := &servertest.States[fasthttp.ConnState]{}, servertest.NewGate()
		var handled, waited atomic.Bool
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			handled.Store(true)
			ctx.SetBodyString("ok")
		}, ConnState: func(nc net.Conn, state fasthttp.ConnState) {
			states.Note(nc, state)
			if state == fasthttp.StateIdle && handled.Load() && !waited.Swap(true) {
				g.Pass("idle")
			}
		}})
		c := s.dialFrames(t)
		c.Sync()
		c.Begin(1, true, "GET", "/")
		c.ExpectResponse(1, "200", "ok")
		servertest.Receive(t, "the hook", g.Entered)
		c.Sync()
		c.Begin(3, true, "GET", "/")
		c.ExpectResponse(3, "200", "ok")
		other := s.dialFrames(t)
		other.Begin(1, true, "GET", "/")
		other.ExpectResponse(1, "200", "ok")
		_ = other.Conn.Close()
		before := states.Of(0)
		if !strings.HasSuffix(before, "active idle") {
			t.Errorf("the states are %q", before)
		}
		expect := func(want string) {
			t.Helper()
			servertest.Eventually(t, want, func() bool { return states.Of(0) == want })
		}
		close(g.Open)
		expect(before + " active idle")
		_ = c.Conn.Close()
		expect(before + " active idle closed")
	})
}

// TestHTTP2ConnStateMayClose has a hook that closes a connection when a request begins, and
// waits. The other connections are served meanwhile.
func TestHTTP2ConnStateMayClose(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		states, g := &servertest.States[fasthttp.ConnState]{}, servertest.NewGate()
		var handled, waited atomic.Bool
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			handled.Store(true)
			ctx.SetBodyString("ok")
		}, ConnState: func(nc net.Conn, state fasthttp.ConnState) {
			states.Note(nc, state)
			if state == fasthttp.StateActive && handled.Load() && !waited.Swap(true) {
				_ = nc.Close()
				g.Pass("active")
			}
		}})
		c := s.dialFrames(t)
		c.Sync()
		c.Begin(1, true, "GET", "/")
		c.ExpectResponse(1, "200", "ok")
		servertest.Eventually(t, "idle", func() bool { return strings.HasSuffix(states.Of(0), "active idle") })
		before := states.Of(0)
		c.Begin(3, true, "GET", "/")
		servertest.Receive(t, "the hook", g.Entered)
		for range 8 {
			other := s.dialFrames(t)
			other.Begin(1, true, "GET", "/")
			other.ExpectResponse(1, "200", "ok")
			_ = other.Conn.Close()
		}
		close(g.Open)
		servertest.Eventually(t, "closed", func() bool {
			now := states.Of(0)
			return now == before+" active closed" || now == before+" active idle closed"
		})
		_ = c.Conn.Close()
	})
}
