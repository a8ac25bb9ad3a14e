package fasthttp

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/servertest"
)

// crowd serves s, and dials more connections than can keep their contexts.
func crowd(t *testing.T, s *Server) (clients []*servertest.Conn) {
	t.Helper()
	ln := fasthttputil.NewInmemoryListener()
	served := inBackground(func() error { return s.Serve(ln) })
	t.Cleanup(func() {
		servertest.ShutDown(t, s)
		if err := servertest.Receive(t, "return of Serve", served); err != nil {
			t.Error(err)
		}
	})
	for range 2 * maxCachedCtxs {
		nc, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		clients = append(clients, &servertest.Conn{Conn: nc, T: t})
	}
	servertest.Eventually(t, "all connections", func() bool { return s.GetOpenConnectionsCount() == 2*maxCachedCtxs })
	return clients
}

// expectEcho reads the response of echo.
func expectEcho(t *testing.T, c net.Conn, method, path, body string) {
	t.Helper()
	var all []byte
	for want := servertest.Echoed(method, path, body); !strings.HasSuffix(string(all), want); {
		b := make([]byte, 4096)
		n, err := c.Read(b)
		if all = append(all, b[:n]...); err != nil {
			t.Fatalf("got %q, %v, want %q at its end", all, err, want)
		}
	}
}

// Whatever the request, the connection is in the state that the previous request has left.
func TestManyConnectionsGoOnAfterTheyHaveWaited(t *testing.T) {
	t.Parallel()
	s := &Server{Handler: echo, IdleTimeout: time.Hour}
	clients := crowd(t, s)
	for round := range 3 {
		for i, c := range clients {
			path := fmt.Sprintf("/%d/%d", round, i)
			_ = c.SetDeadline(time.Now().Add(servertest.Patience))
			switch i % 4 {
			case 0:
				c.Send(servertest.Get(path))
				expectEcho(t, c, "GET", path, "")
			case 1:
				c.Send("\r\n")
				c.Send("POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo")
				c.Send("dy")
				expectEcho(t, c, "POST", path, "body")
			case 2:
				c.Send(servertest.Get(path + "a")[:7])
				c.Send(servertest.Get(path + "a")[7:] + servertest.Get(path+"b"))
				expectEcho(t, c, "GET", path+"b", "")
			default:
				body := strings.Repeat("much", 10<<10)
				c.Send(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body))
				expectEcho(t, c, "POST", path, body)
			}
		}
	}
	if n := s.cachedCtxs.Load(); n != 0 {
		t.Errorf("%d connections of many keep their contexts", n)
	}
	for _, c := range clients {
		_ = c.Close()
	}
	servertest.Eventually(t, "no connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
}

// The timeout of a wait does not apply to the request after it.
func TestTimeOfAWaitIsNotThatOfTheRequest(t *testing.T) {
	const idle = time.Minute
	bubble(t, func(t *testing.T) {
		s := &Server{NoDefaultDate: true, StreamRequestBody: true, IdleTimeout: idle, Handler: func(ctx *RequestCtx) {
			if b, err := io.ReadAll(ctx.RequestBodyStream()); string(b) != "body" || err != nil {
				t.Errorf("the body is %q, %v", b, err)
			}
		}}
		c := crowd(t, s)[0]
		for range 2 {
			time.Sleep(idle - time.Second)
			c.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo")
			time.Sleep(2 * idle)
			c.Send("dy")
			b := make([]byte, 4096)
			if n, err := c.Read(b); !strings.HasPrefix(string(b[:n]), "HTTP/1.1 200 ") || err != nil {
				t.Fatalf("got %q, %v", b[:n], err)
			}
		}
		takesTime(t, "the wait for another request", idle, func() {
			if b, err := io.ReadAll(c); len(b) > 0 || err != nil {
				t.Errorf("got %q, %v, want the end of a connection that has waited for long", b, err)
			}
		})
	})
}

// The timeout of one response does not apply to the next one, even if that is a stream.
func TestTimeOfAResponseIsNotThatOfTheNext(t *testing.T) {
	const once = time.Minute
	bubble(t, func(t *testing.T) {
		s := &Server{
			NoDefaultDate: true,
			HeaderReceived: func(h *RequestHeader) (c RequestConfig) {
				if string(h.RequestURI()) == "/once" {
					c.WriteTimeout = once
				}
				return c
			},
			Handler: func(ctx *RequestCtx) {
				if string(ctx.Path()) == "/stream" {
					ctx.SetBodyStream(strings.NewReader(strings.Repeat("x", 1<<20)), 1<<20)
				}
			},
		}
		c := crowd(t, s)[0]
		c.Send(servertest.Get("/once"))
		b := make([]byte, 4096)
		if _, err := c.Read(b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * once)
		c.Send(servertest.Get("/stream", "Connection: close"))
		if all, err := io.ReadAll(c); len(all) < 1<<20 || err != nil {
			t.Errorf("%d bytes, %v", len(all), err)
		}
	})
}

// Beside a crowd, new connections reuse the memory of closed ones, whatever the settings.
func TestConnectionsBesideACrowdAllocateLittle(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the pools forget things under the race detector")
	}
	for name, s := range map[string]*Server{
		"no timeouts": {Handler: echo},
		"timeouts":    {Handler: echo, ReadTimeout: time.Hour, WriteTimeout: time.Hour, IdleTimeout: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			crowd(t, s)
			once := func() {
				h := (*host)(s)
				c := &engine.Conn{Set: &s.conns, Service: s.conns.Service(), HasReadGoroutine: true}
				p := h.AcquireProtocol(c, noEngine{}, nil).(*h1Conn)
				p.Wait(engine.WaitRequest)
				answerRequest(t, p, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
				if last, _ := h.ReleaseProtocol(p, true); last != nil {
					t.Error("a connection of many keeps its protocol for the next one")
				}
			}
			// the connection and its engine, and the strings that the handler formats. The goroutines
			// of the crowd allocate, too, until they wait.
			servertest.Eventually(t, "at most 8 allocations for a connection", func() bool {
				return testing.AllocsPerRun(200, once) <= 8
			})
		})
	}
}

// A connection that ends leaves its protocol to the next one. A waiting connection keeps only
// its buffer.
func TestConnectionThatWaitsLeavesItsProtocol(t *testing.T) {
	s := &Server{Handler: echo}
	crowd(t, s)
	for _, bare := range []bool{false, true} {
		h := driven(t, s, true)
		c := h.c
		if _, _, ok := (*host)(s).ParkProtocol(h, bare); ok {
			t.Error("a connection leaves its protocol before its first request")
		}
		answerRequest(t, h, servertest.Get("/"))
		space, _, ok := (*host)(s).ParkProtocol(h, bare)
		if !ok || h.c != nil || h.link != nil || h.x.ctx.c != nil || h.x.ctx.used {
			t.Fatalf("the connection leaves its protocol: %t, with %+v", ok, h.x.ctx)
		}
		if hasSpace := space != nil && len(space.B) == 0 && cap(space.B) >= defaultReadSize; hasSpace == bare || !bare && h.in != nil {
			t.Errorf("the connection waits with %v, bare: %t", space, bare)
		}
		until := time.Now().Add(time.Hour)
		next := (*host)(s).ResumeProtocol(c, noEngine{}, space, until, until).(*h1Conn)
		if next.c != c || next.readUntil != until || next.writeUntil != until || space != nil && next.in != space {
			t.Error("the connection goes on in another way")
		}
		answerRequest(t, next, servertest.Get("/again"))
	}
}

func TestConnectionsThatKeepTheirProtocol(t *testing.T) {
	few, many := &Server{Handler: echo}, &Server{Handler: echo}
	late := &Server{Handler: func(ctx *RequestCtx) { ctx.TimeoutError("late") }}
	crowd(t, many)
	crowd(t, late)
	pinned := driven(t, many, true)
	pinned.c.MarkEscaped()
	for name, h := range map[string]*h1Conn{"one of few": driven(t, few, true), "a pinned one": pinned} {
		answerRequest(t, h, servertest.Get("/"))
		if _, _, ok := (*host)(h.s).ParkProtocol(h, false); ok {
			t.Errorf("%s leaves its protocol", name)
		}
	}
	h := driven(t, late, true)
	h.give(servertest.Get("/"))
	expectAction(t, h, engine.FlushIdle)
	left := h.x.ctx
	(*host)(late).ParkProtocol(h, false)
	if h.x.ctx == left && left.timeoutResponse.Load() != nil {
		t.Error("another connection gets the context of a handler that is late")
	}
}

// If the server fails while a late handler may be reading a body, no other connection gets the
// exchange, from which that handler reads.
func TestFailedExchangesStayWithLateHandlers(t *testing.T) {
	var h *h1Conn
	called := false
	s := &Server{StreamRequestBody: true, Logger: new(servertest.Log), Handler: func(ctx *RequestCtx) {
		ctx.TimeoutError("late")
		called = true
		h.x.handling = false // as after the handler
		panic("a mistake")
	}}
	h = driven(t, s, false)
	h.link = waitingEngine{nc: h.c.NC}
	h.give(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 9"))
	expectAction(t, h, engine.Close)
	if !called || h.reusable() || !h.phases.ReadingDetached() {
		t.Errorf("another connection may use the exchange, or the handler was not called: %t", called)
	}
}

// waitingEngine is a noEngine with a connection that waits.
type waitingEngine struct {
	noEngine
	nc net.Conn
}

func (e waitingEngine) Blocking(_, _ time.Time) net.Conn { return e.nc }
