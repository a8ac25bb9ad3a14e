package integrationtests

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

const (
	// nearTime is a time that tests wait for. They never reach farTime.
	nearTime = 100 * time.Millisecond
	farTime  = time.Hour
)

// endedAfter checks that the connection ends, and not before that time.
func endedAfter(c *servertest.Conn, after time.Duration, since time.Time) {
	c.T.Helper()
	_ = c.SetReadDeadline(time.Now().Add(servertest.Patience))
	c.ExpectCut()
	if took := time.Since(since); took < after {
		c.T.Errorf("the connection ended after %v, want %v", took, after)
	}
}

// If a program sets a deadline while the connection waits, it applies at once.
func TestDeadlineOfAnIdleConnection(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		for name, server := range map[string]*fasthttp.Server{"no timeouts": {}, "timeouts": {ReadTimeout: farTime, IdleTimeout: farTime}} {
			for _, in := range []fasthttp.ConnState{fasthttp.StateNew, fasthttp.StateActive, fasthttp.StateIdle, fasthttp.StateClosed} {
				t.Run(fmt.Sprintf("%s, %v", name, in), func(t *testing.T) {
					if in == fasthttp.StateNew && server.ReadTimeout > 0 {
						t.Skip("the server sets its own deadline after that")
					}
					var conn atomic.Value
					var set atomic.Bool
					idle := make(chan struct{}, 10)
					begun := time.Now()
					ts := start(&fasthttp.Server{ReadTimeout: server.ReadTimeout, IdleTimeout: server.IdleTimeout, Handler: echo,
						ConnState: func(nc net.Conn, state fasthttp.ConnState) {
							conn.Store(&nc)
							if state == in {
								set.Store(true)
								_ = nc.SetReadDeadline(time.Now().Add(nearTime))
							}
							if state == fasthttp.StateIdle {
								idle <- struct{}{}
							}
						}})
					if ts.Engine.TLS && in == fasthttp.StateNew {
						t.Skip("the handshake has a deadline")
					}
					c := ts.Dial()
					switch in {
					case fasthttp.StateNew:
						endedAfter(c, nearTime, begun)
						return
					case fasthttp.StateActive:
						c.Send("GET / HT")
						if server.ReadTimeout > 0 {
							// the server has its own deadline while it waits for the
							// rest
							servertest.Eventually(t, "a request", set.Load)
							saysNothing(t, c, 2*nearTime)
							c.Send("TP/1.1\r\nHost: a\r\n\r\n")
							c.Expect(200, servertest.Echoed("GET", "/", ""))
							return
						}
						if resp := c.Next("GET"); resp.StatusCode != fasthttp.StatusRequestTimeout {
							t.Errorf("status %d", resp.StatusCode)
						}
						endedAfter(c, nearTime, begun)
						return
					}
					c.Get("/")
					c.Expect(200, servertest.Echoed("GET", "/", ""))
					servertest.Receive(t, "an idle connection", idle)
					if in == fasthttp.StateClosed {
						// set at any time, not in a hook
						_ = (*conn.Load().(*net.Conn)).SetReadDeadline(time.Now().Add(nearTime))
					}
					endedAfter(c, nearTime, begun)
				})
			}
		}
	})
}

// saysNothing checks that a server sends nothing, and does not end the connection, for a
// while.
func saysNothing(t *testing.T, c *servertest.Conn, d time.Duration) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(d))
	if b, err := c.R.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the server sends %q, %v", b, err)
	}
	_ = c.SetReadDeadline(time.Now().Add(servertest.Patience))
}

// A deadline in the past ends an idle connection at once.
func TestDeadlineInThePast(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		conns := make(chan net.Conn, 1)
		idle := make(chan struct{}, 1)
		ts := start(&fasthttp.Server{
			IdleTimeout: farTime,
			ConnState: func(_ net.Conn, state fasthttp.ConnState) {
				if state == fasthttp.StateIdle {
					idle <- struct{}{}
				}
			},
			Handler: func(ctx *fasthttp.RequestCtx) { conns <- ctx.Conn() },
		})
		c := ts.Dial()
		c.Get("/")
		c.Expect(200, "")
		servertest.Receive(t, "an idle connection", idle)
		_ = servertest.Receive(t, "the connection", conns).SetDeadline(time.Unix(1, 0))
		c.ExpectCut()
	})
}

// A deadline that a handler sets does not apply to the next request.
func TestDeadlinesOfTheApplicationEndWithTheNextRequest(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{false, true} {
		for _, apart := range []bool{true, false} {
			t.Run(fmt.Sprintf("streams %v, apart %v", streams, apart), func(t *testing.T) {
				t.Parallel()
				overTime(t, func(t testing.TB, start starter) {
					ts := start(&fasthttp.Server{StreamRequestBody: streams, IdleTimeout: reach * 5 / 4, Handler: func(ctx *fasthttp.RequestCtx) {
						body := len(ctx.PostBody())
						if string(ctx.Path()) == "/limit" {
							_ = ctx.SetReadDeadline(time.Now().Add(reach))
							_ = ctx.Conn().SetWriteDeadline(time.Now().Add(reach))
						}
						fmt.Fprint(ctx, body)
					}})
					c := limitedBefore(ts, apart, servertest.Head("POST /half HTTP/1.1", "Host: a", "Content-Length: 6")+"abc")
					outlast(ts)
					c.Send("def")
					c.Expect(200, "6")
				})
			})
		}
	}
}

// limitedBefore sends the request for /limit, and the beginning of the next one: after the response
// if apart is set. It returns the connection. A machine may be so busy that a deadline passes
// before that: then it tries again.
func limitedBefore(ts *testServer, apart bool, next string) *servertest.Conn {
	const tries = 5
	for try := 1; ; try++ {
		c := ts.Dial()
		began := time.Now()
		first := servertest.Get("/limit")
		if !apart {
			first += next
		}
		c.Send(first)
		resp, err := http.ReadResponse(c.R, nil)
		body := []byte(nil)
		if err == nil {
			body, err = io.ReadAll(resp.Body)
		}
		if err == nil && apart {
			_, err = c.Write([]byte(next))
		}
		switch {
		case time.Since(began) > reach/2 && try < tries:
			_ = c.Close()
			continue
		case err != nil || string(body) != "0":
			ts.T.Fatalf("got %q, %v", body, err)
		}
		return c
	}
}

// A write deadline that a handler sets applies if the server has no timeout.
func TestWriteDeadlineOfAHandler(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 32<<20)
	forEachEngine(t, func(t *testing.T, start starter) {
		closed := make(chan struct{}, 1)
		ts := start(&fasthttp.Server{
			Handler: func(ctx *fasthttp.RequestCtx) {
				_ = ctx.SetWriteDeadline(time.Now().Add(nearTime))
				ctx.SetBodyString(large)
			},
			ConnState: func(_ net.Conn, state fasthttp.ConnState) {
				if state == fasthttp.StateClosed {
					closed <- struct{}{}
				}
			},
		})
		ts.Dial().Get("/")
		servertest.Receive(t, "end of the connection", closed)
	})
}

// ReadTimeout covers a whole request, however a handler reads the body: it ends before the
// timeout of a request on another connection that begins later, but before the body.
func TestReadTimeoutOfAStreamIsThatOfTheRequest(t *testing.T) {
	t.Parallel()
	overTime(t, func(t testing.TB, start starter) {
		// a machine may be so busy that a third of the timeout passes before the event that
		// must happen first
		const tries = 10
		for try := 1; !timesOutFirst(start); try++ {
			if try == tries {
				t.Fatalf("a request that began later has timed out before, in each of %d tries", try)
			}
		}
	})
}

// timesOutFirst sends the parts of a request, and reports whether its body ends before a
// request on another connection that began later.
func timesOutFirst(start starter) bool {
	failed := make(chan error, 10) // of this try alone
	ts := start(&fasthttp.Server{StreamRequestBody: true, ReadTimeout: reach, IdleTimeout: farTime, Handler: func(ctx *fasthttp.RequestCtx) {
		_, err := io.ReadAll(ctx.RequestBodyStream())
		failed <- err
	}})
	t := ts.T
	var c, other *servertest.Conn
	for _, begins := range []**servertest.Conn{&c, &other} {
		c := ts.Dial() // the time for its first request begins here
		*begins = c
		c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 3") + "abc")
		if err := servertest.Receive(t, "the body", failed); err != nil {
			t.Fatal(err)
		}
		c.Expect(200, "")
	}
	later := make(chan error, 1)
	go func() {
		_, err := other.R.ReadByte() // of 408
		later <- err
	}()
	begun := time.Now()
	c.Send("POST / HTTP/1.1\r\n")
	for _, next := range []struct {
		c    *servertest.Conn
		text string
	}{{other, "GET / HTTP/1.1\r\n"}, {c, "Host: a\r\nContent-Length: 3\r\n\r\n"}} {
		pass(reach / 3)
		_, _ = io.WriteString(next.c.Conn, next.text) // it may have ended
	}
	select {
	case err := <-failed:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the body ends with %v", err)
		}
		if took := time.Since(begun); took < reach {
			t.Errorf("the request timed out after %v, want %v", took, reach)
		}
		return true
	case <-later:
		return false
	case <-time.After(servertest.Patience):
		t.Error("the body does not end")
		return true
	}
}

// The server may serve a pipeline for longer than the deadline of the first wait. A
// request that arrived in time is not late because the server is busy.
func TestDeadlineOfAnEarlierWait(t *testing.T) {
	t.Parallel()
	const clients, requests = 24, 400
	onEvents(t, func(t *testing.T, start starter) {
		var begun, ended sync.Map // addresses of clients
		note := func(nc net.Conn, state fasthttp.ConnState) {
			switch state {
			case fasthttp.StateActive:
				begun.Store(nc.RemoteAddr().String(), true)
			case fasthttp.StateClosed:
				ended.Store(nc.RemoteAddr().String(), true)
			}
		}
		var passed atomic.Bool // the deadline of the first wait
		ts := start(&fasthttp.Server{ReadTimeout: reach / 5, IdleTimeout: farTime, WriteTimeout: farTime, ConnState: note, Handler: func(ctx *fasthttp.RequestCtx) {
			// each handler takes so long that the pipelines take turns, and none is finished
			// early
			for end := time.Now().Add(500 * time.Microsecond); !passed.Load() && time.Now().Before(end); {
			}
			ctx.SetBodyString("ok")
		}})
		pipeline := strings.Repeat(servertest.Get("/"), requests)
		// the first request includes a wait
		const half = 10
		begin := func() *servertest.Conn {
			c := ts.Dial()
			_, _ = io.WriteString(c.Conn, pipeline[:half])
			return c
		}
		// hasBegun reports whether the first bytes have arrived before the end of the connection: the
		// machine may be so busy that they are late
		hasBegun := func(c *servertest.Conn) (ok bool) {
			servertest.Eventually(t, "the first bytes, or the end", func() bool {
				_, over := ended.Load(c.LocalAddr().String())
				_, ok = begun.Load(c.LocalAddr().String())
				return ok || over
			})
			return ok
		}
		var conns []*servertest.Conn
		for range clients {
			conns = append(conns, begin())
		}
		// this one waits for longer than all others
		last := begin()
		for !hasBegun(last) {
			last = begin()
		}
		conns = slices.DeleteFunc(conns, func(c *servertest.Conn) bool { return !hasBegun(c) })
		for _, c := range conns {
			// at once, so that only the first request can be late
			_, _ = io.WriteString(c.Conn, pipeline[half:])
		}
		var all servertest.Crowd
		var inTime atomic.Int32
		for _, c := range conns {
			all.Go(func() {
				for i := range requests {
					resp, err := servertest.ReadResponse(c.R, "GET")
					if i == 0 && err == nil && resp.StatusCode == fasthttp.StatusRequestTimeout {
						// the machine was so busy that the rest of the request was late
						return
					}
					if err != nil || resp.StatusCode != 200 {
						t.Errorf("after %d responses: %v, %v", i, resp.Response, err)
						return
					}
					all.Step()
				}
				inTime.Add(1)
			})
		}
		if resp := last.Next("GET"); resp.StatusCode != fasthttp.StatusRequestTimeout {
			t.Errorf("a request that does not come gets %d", resp.StatusCode)
		}
		passed.Store(true)
		all.Wait(t, "the clients")
		if inTime.Load() == 0 && !t.Failed() {
			t.Skip("no request came in time")
		}
	})
}

// ConnState never reports one state twice in a row, because programs count
// connections by it.
func TestConnStateOfStreamedExchanges(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		log := &servertest.States[fasthttp.ConnState]{}
		ts := start(&fasthttp.Server{StreamRequestBody: true, ConnState: log.Note, Handler: func(ctx *fasthttp.RequestCtx) {
			_, _ = io.Copy(io.Discard, ctx.RequestBodyStream())
			ctx.SetBodyStream(strings.NewReader("streamed"), -1)
		}})
		c := ts.Dial()
		for range 3 {
			c.Send(servertest.Post("/", "abc"))
			c.Expect(200, "streamed")
			servertest.Eventually(t, "idle", func() bool { return strings.HasSuffix(log.Of(0), "idle") })
		}
		_ = c.Close()
		const want = "new active idle active idle active idle closed"
		servertest.Eventually(t, "closed", func() bool { return strings.HasSuffix(log.Of(0), "closed") })
		if got := log.Of(0); got != want {
			t.Errorf("states are %q, want %q", got, want)
		}
	})
}
