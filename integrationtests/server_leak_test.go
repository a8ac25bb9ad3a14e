package integrationtests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// noLog is a Logger that drops all lines.
type noLog struct{}

func (noLog) Printf(string, ...any) {}

// leavings are ways in which a connection ends, each with its own settings of the server.
var leavings = map[string]struct {
	configure func(s *fasthttp.Server)
	use       func(t *testing.T, c *servertest.Conn)
}{
	"answered": {func(*fasthttp.Server) {}, func(t *testing.T, c *servertest.Conn) {
		c.Get("/")
		c.Expect(200, "hello")
	}},
	"cut in a head": {func(*fasthttp.Server) {}, func(t *testing.T, c *servertest.Conn) { c.Send("GET / HT") }},
	"cut in a body": {func(*fasthttp.Server) {}, func(t *testing.T, c *servertest.Conn) {
		c.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 100_000))
	}},
	"cut in the stream of a body": {func(s *fasthttp.Server) { s.StreamRequestBody = true }, func(t *testing.T, c *servertest.Conn) {
		c.Send("POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n" + strings.Repeat("x", 10_000))
	}},
	"left before it may go on": {func(s *fasthttp.Server) { s.StreamRequestBody = true }, func(t *testing.T, c *servertest.Conn) {
		c.Send("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n")
		if resp := c.Next("POST"); resp.StatusCode != 100 {
			t.Errorf("got %d", resp.StatusCode)
		}
	}},
	"cut in an answer": {func(*fasthttp.Server) {}, func(t *testing.T, c *servertest.Conn) {
		c.Get("/large")
		_, _ = c.R.Discard(1000)
	}},
	"cut in an answer before others": {func(*fasthttp.Server) {}, func(t *testing.T, c *servertest.Conn) {
		c.Send(strings.Repeat(servertest.Get("/large"), 20))
		_, _ = c.R.Discard(1000)
	}},
	"cut in a stream": {func(*fasthttp.Server) {}, func(t *testing.T, c *servertest.Conn) {
		c.Get("/stream")
		_, _ = c.R.Discard(100_000)
	}},
	"not read in time": {func(s *fasthttp.Server) { s.WriteTimeout = 20 * time.Millisecond }, func(t *testing.T, c *servertest.Conn) {
		c.Get("/stream")
		_, _ = c.R.Discard(100_000)
	}},
	"panic": {func(*fasthttp.Server) {}, func(t *testing.T, c *servertest.Conn) {
		c.Get("/panic")
		c.Expect(500, fasthttp.StatusMessage(500))
	}},
	"abort": {func(*fasthttp.Server) {}, func(t *testing.T, c *servertest.Conn) {
		c.Get("/abort")
		c.ExpectCut()
	}},
	"goexit": {func(*fasthttp.Server) {}, func(t *testing.T, c *servertest.Conn) {
		c.Get("/goexit")
		c.ExpectCut()
	}},
	"timed out handler": {func(*fasthttp.Server) {}, func(t *testing.T, c *servertest.Conn) {
		c.Get("/late")
		c.Expect(503, "late")
	}},
	"timed out handler with a stream": {func(s *fasthttp.Server) { s.StreamRequestBody = true }, func(t *testing.T, c *servertest.Conn) {
		c.Send("POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\nbegin")
		c.Expect(503, "late")
	}},
	"hijacked": {func(*fasthttp.Server) {}, func(t *testing.T, c *servertest.Conn) {
		c.Get("/hijack")
		c.Expect(200, "")
		c.Send("more")
	}},
	"no request": {func(*fasthttp.Server) {}, func(t *testing.T, c *servertest.Conn) {
		c.Send("no request\r\n\r\n" + strings.Repeat("x", 50_000))
		_, _ = io.ReadAll(c.R)
	}},
	// a slow machine may miss the response or the handshake
	"idle for too long": {func(s *fasthttp.Server) { s.IdleTimeout = servertest.Short }, func(t *testing.T, c *servertest.Conn) {
		_, _ = io.WriteString(c.Conn, servertest.Get("/"))
	}},
	"too slow": {func(s *fasthttp.Server) { s.ReadTimeout = servertest.Short }, func(t *testing.T, c *servertest.Conn) {
		_, _ = io.WriteString(c.Conn, "GET / HT")
	}},
	"one too many": {func(s *fasthttp.Server) { s.Concurrency = 1 }, func(t *testing.T, c *servertest.Conn) {
		_ = c.SetWriteDeadline(time.Now().Add(servertest.Patience))
		_, _ = io.WriteString(c.Conn, servertest.Get("/"))
		_, _ = io.ReadAll(io.LimitReader(c.R, 50))
	}},
	"one too many of its address": {func(s *fasthttp.Server) { s.MaxConnsPerIP = 1 }, func(t *testing.T, c *servertest.Conn) {
		_, _ = io.WriteString(c.Conn, servertest.Get("/"))
		_, _ = io.ReadAll(io.LimitReader(c.R, 50))
	}},
}

// timedOut are the leavings that the server ends by a timeout. They run at the same
// time.
var timedOut = map[string]func(c *servertest.Conn){
	"idle for too long": untilEnd,
	"too slow":          untilEnd,
}

// untilEnd reads until the server has ended a connection.
func untilEnd(c *servertest.Conn) {
	if _, err := io.ReadAll(c.R); errors.Is(err, os.ErrDeadlineExceeded) {
		c.T.Error("the server does not end the connection")
	}
}

// largeLeaving is content of the responses that clients do not read to the end.
var largeLeaving = make([]byte, 1<<20)

func handleLeaving(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/large":
		ctx.SetBody(largeLeaving)
	case "/stream":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for err := error(nil); err == nil; {
				_, err = w.Write(largeLeaving[:10_000])
			}
		})
	case "/read":
		_, _ = io.Copy(io.Discard, ctx.RequestBodyStream())
	case "/panic":
		panic("this one ends")
	case "/abort":
		panic(http.ErrAbortHandler)
	case "/goexit":
		runtime.Goexit()
	case "/late":
		ctx.TimeoutErrorWithCode("late", fasthttp.StatusServiceUnavailable)
		if stream := ctx.RequestBodyStream(); stream != nil {
			go func() { _, _ = io.Copy(io.Discard, stream) }()
		}
	case "/hijack":
		ctx.Hijack(func(nc net.Conn) { _, _ = io.ReadFull(nc, make([]byte, len("more"))) })
	default:
		ctx.SetBodyString("hello")
	}
}

// After a connection has ended in any way, the server keeps no memory, goroutine or
// descriptor of it.
func TestConnectionsLeaveNothingBehind(t *testing.T) {
	servertest.Apart(t, testConnectionsLeaveNothingBehind)
}

func testConnectionsLeaveNothingBehind(t *testing.T) {
	for _, e := range servertest.OfEachKind(t, servertest.Engines) {
		t.Run(e.Name, func(t *testing.T) {
			rounds := make(map[string]func())
			for name, leaving := range leavings {
				// idle workers are not a leak
				s := &fasthttp.Server{Handler: handleLeaving, Logger: noLog{}, MaxIdleWorkerDuration: time.Millisecond}
				leaving.configure(s)
				ts := startServer(t, e, s)
				rounds[name] = func() {
					leaveInACrowd(t, ts, leaving.use, timedOut[name])
				}
			}
			expectNothingLeft(t, 3<<20, rounds)
		})
	}
}

// leaveInACrowd opens concurrent connections to a server, which all end in one way. end waits for
// that, if the server ends them.
func leaveInACrowd(t *testing.T, ts *testServer, leave func(t *testing.T, c *servertest.Conn), end func(c *servertest.Conn)) {
	const crowd = 6
	for range crowd {
		nc, err := ts.Dialer()
		switch {
		case err == nil:
			leave(t, ts.Wrap(nc))
		case end == nil:
			t.Fatal(err)
		}
	}
	for _, c := range ts.Conns {
		if end != nil {
			end(c)
		}
		_ = c.Close()
	}
	ts.Conns = nil
	servertest.Eventually(t, "the end of all connections", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
}

// expectNothingLeft runs rounds of connections, each several times. It expects that, after the
// first time, none of them leaves a goroutine or descriptor, and all together leave at most memory
// bytes. The servers of all rounds still run then.
func expectNothingLeft(t *testing.T, memory int64, rounds map[string]func()) {
	t.Helper()
	const more = 2 // times
	names := slices.Sorted(maps.Keys(rounds))
	for _, name := range names {
		rounds[name]()
	}
	before := servertest.Measure(t)
	after := before
	what := "all rounds"
	defer func() {
		if t.Failed() {
			t.Errorf("%s: in use after the first time: %v; at last: %v\n%s", what, before, after, servertest.Stacks())
		}
	}()
	// workers that have nothing to do end a moment later
	for _, name := range names {
		what = name
		pollers := servertest.Count(t).Pollers()
		for range more {
			rounds[name]()
		}
		servertest.Eventually(t, "the files and goroutines of the first time", func() bool {
			after = servertest.Count(t)
			return after.Others <= before.Others && after.Files <= before.Files &&
				after.Pollers()-pollers <= maxIdlePollers
		})
	}
	what = "all rounds"
	servertest.Eventually(t, "the memory of the first time", func() bool {
		after = servertest.Measure(t)
		return after.Heap-before.Heap <= memory
	})
}

// maxIdlePollers is the number of goroutines that the loops of a server may keep for
// handlers that block.
var maxIdlePollers = 18 * runtime.GOMAXPROCS(0)

// After many handlers have blocked, most of their goroutines end.
func TestManyBlockedHandlersLeaveFewGoroutines(t *testing.T) {
	t.Parallel()
	crowd := max(100, 2*maxIdlePollers)
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		count := servertest.CountGoroutines(t)
		gate := servertest.NewGate()
		ts := start(&fasthttp.Server{Handler: passing(gate), MaxIdleWorkerDuration: time.Millisecond})
		before := count()
		for range crowd {
			ts.Dial().Get("/")
		}
		for range crowd {
			servertest.Receive(t, "a handler", gate.Entered)
		}
		close(gate.Open)
		for _, c := range ts.Conns {
			// a busy machine takes long for the crowd
			_ = c.SetDeadline(time.Now().Add(servertest.Patience))
			c.Expect(200, "through")
			_ = c.Close()
		}
		servertest.Eventually(t, "the end of most goroutines", func() bool { return count() <= before+maxIdlePollers })
	})
}

// An idle connection costs a descriptor and little memory, and on the event engine
// no goroutine.
func TestIdleConnectionsCostLittle(t *testing.T) { servertest.Apart(t, testIdleConnectionsCostLittle) }

func testIdleConnectionsCostLittle(t *testing.T) {
	const crowd = 500
	for _, e := range servertest.Engines {
		if e.Name != "event/tcp" || runtime.GOOS != "linux" {
			continue
		}
		ts := startServer(t, e, &fasthttp.Server{Handler: echo})
		before := servertest.Measure(t)
		conns := make([]net.Conn, 0, crowd)
		answer := make([]byte, 4096)
		for range crowd {
			nc, err := ts.Dialer()
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			conns = append(conns, nc)
			if _, err := io.WriteString(nc, servertest.Get("/")); err != nil {
				t.Fatal(err)
			}
			if _, err := nc.Read(answer); err != nil {
				t.Fatal(err)
			}
		}
		after := servertest.Measure(t)
		if n := after.Goroutines - before.Goroutines; n > maxIdlePollers {
			t.Errorf("%d connections have %d goroutines", crowd, n)
		}
		// the memory of the client counts as well
		if each := (after.Heap - before.Heap) / crowd; each > 1500 {
			t.Errorf("an idle connection costs %d bytes", each)
		} else {
			t.Logf("an idle connection costs %d bytes, the client's side included", each)
		}
		runtime.KeepAlive(conns)
	}
}

// During a shutdown under load, every response arrives complete, and every request
// that a handler has seen gets a response.
func TestShutdownUnderLoad(t *testing.T) {
	t.Parallel()
	const clients, rounds = 8, 5
	body := bytes.Repeat([]byte("answer "), 5000)
	forEachEngine(t, func(t *testing.T, start starter) {
		for range rounds {
			var handled, answered atomic.Int64
			ts := start(&fasthttp.Server{ReadTimeout: time.Minute, Handler: func(ctx *fasthttp.RequestCtx) {
				handled.Add(1)
				switch handled.Load() % 3 {
				case 0:
					ctx.SetBodyStream(bytes.NewReader(body), -1)
				case 1:
					runtime.Gosched()
					fallthrough
				default:
					ctx.SetBody(body)
				}
			}})
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					for loadUntilShutdown(t, ts, body, &answered) {
					}
				})
			}
			servertest.Eventually(t, "the load", func() bool { return answered.Load() > 50 })
			servertest.ShutDown(t, ts.S)
			wg.Wait()
			if handled.Load() != answered.Load() {
				t.Errorf("%d requests were handled, and %d answered", handled.Load(), answered.Load())
			}
			if err := servertest.Receive(t, "return of Serve", ts.Served); err != nil {
				t.Errorf("Serve: %v", err)
			}
		}
	})
}

// loadUntilShutdown sends requests over one connection until it ends. It returns
// false if the server accepts no more connections.
func loadUntilShutdown(t *testing.T, ts *testServer, body []byte, answered *atomic.Int64) bool {
	nc, err := ts.Dialer()
	if err != nil {
		return false
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
	r := bufio.NewReader(nc)
	for i := range 20 {
		if _, err := io.WriteString(nc, servertest.Get("/")); err != nil {
			return true
		}
		if _, err := r.Peek(1); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("no answer, and no end of the connection: %v", err)
			}
			return true
		}
		resp, err := servertest.ReadResponse(r, "GET")
		if err != nil || resp.Content != string(body) {
			t.Errorf("answer %d: %d bytes of %d, %v", i, len(resp.Content), len(body), err)
			return false
		}
		answered.Add(1)
		if resp.Close {
			if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
				t.Errorf("%s after the last response, %v", fmt.Sprintf("%.50q", rest), err)
			}
			return true
		}
	}
	return true
}
