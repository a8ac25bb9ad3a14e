package fasthttp

import (
	"bufio"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
)

// gate is a handler that waits until it is opened.
type gate struct {
	entered chan string
	open    chan struct{}
}

func newGate() *gate {
	return &gate{entered: make(chan string, 100), open: make(chan struct{})}
}

func (g *gate) handle(ctx *RequestCtx) {
	g.entered <- string(ctx.Path())
	<-g.open
	ctx.SetBodyString("through")
}

func TestServerRefusesMoreThanConcurrency(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		g := newGate()
		s := &Server{Handler: g.handle, Concurrency: 2}
		ts := start(s)
		busy := ts.dial()
		busy.get("/busy")
		receive(t, "the first request", g.entered)
		silent := ts.dial() // counts, though it says nothing
		eventually(t, "two served connections", func() bool { return s.GetCurrentConcurrency() == 2 })

		for i := range 3 {
			more := ts.dial()
			// a request that is on its way must not cost the client the answer
			_, _ = more.Write([]byte(get("/more")))
			resp := more.next("GET")
			if resp.StatusCode != StatusServiceUnavailable || !resp.Close || resp.body == "" {
				t.Errorf("got %d %q, close %v", resp.StatusCode, resp.body, resp.Close)
			}
			more.expectEnd()
			if n := s.GetRejectedConnectionsCount(); n != uint32(i+1) {
				t.Errorf("%d rejected connections, want %d", n, i+1)
			}
		}
		if n := s.GetOpenConnectionsCount(); n != 2 {
			t.Errorf("%d open connections, want 2", n)
		}
		ts.log.waitFor(t, ErrConcurrencyLimit.Error())

		_ = silent.Close()
		eventually(t, "one served connection", func() bool { return s.GetCurrentConcurrency() == 1 })
		close(g.open)
		again := ts.dial()
		again.get("/again")
		again.expect(200, "through")
		busy.expect(200, "through")
	})
}

func TestServeConnCountsOnce(t *testing.T) {
	g := newGate()
	s := &Server{Handler: g.handle, Concurrency: 2, Logger: &testLog{}}
	var done sync.WaitGroup
	for range 2 {
		pc := fasthttputil.NewPipeConns()
		defer pc.Close()
		done.Go(func() {
			if err := s.ServeConn(pc.Conn2()); err != nil {
				t.Errorf("ServeConn: %v", err)
			}
		})
		_, _ = pc.Conn1().Write([]byte(get("/", "Connection: close")))
		receive(t, "a request", g.entered)
	}
	if n := s.GetCurrentConcurrency(); n != 2 {
		t.Errorf("concurrency is %d, want 2", n)
	}
	c := &fakeConn{}
	if err := s.ServeConn(c); err != ErrConcurrencyLimit {
		t.Errorf("ServeConn: %v", err)
	}
	if !strings.HasPrefix(c.out.String(), "HTTP/1.1 503 ") || c.closed == 0 {
		t.Errorf("got %q, closed %d times", c.out.String(), c.closed)
	}
	close(g.open)
	done.Wait()
	if a, b := s.GetCurrentConcurrency(), s.GetOpenConnectionsCount(); a != 0 || b != 0 {
		t.Errorf("concurrency %d, open connections %d in the end", a, b)
	}
}

// ipConn is a connection from an address.
type ipConn struct {
	net.Conn
	from net.Addr
}

func (c ipConn) RemoteAddr() net.Addr { return c.from }

func TestServerLimitsConnectionsPerIP(t *testing.T) {
	s := &Server{Handler: echo, MaxConnsPerIP: 2, Logger: &testLog{}}
	serve := func(from net.Addr) (client net.Conn, served chan error) {
		pc := fasthttputil.NewPipeConns()
		t.Cleanup(func() { _ = pc.Close() })
		served = make(chan error, 1)
		before := s.GetOpenConnectionsCount()
		go func() { served <- s.ServeConn(ipConn{pc.Conn2(), from}) }()
		eventually(t, "the connection to be taken or refused", func() bool {
			return s.GetOpenConnectionsCount() > before || len(served) > 0
		})
		return pc.Conn1(), served
	}
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1234} }
	refused := func(from net.Addr) {
		t.Helper()
		c, served := serve(from)
		if err := receive(t, "the refusal", served); err != ErrPerIPConnLimit {
			t.Errorf("%v: ServeConn returned %v", from, err)
			return
		}
		tc := &testConn{Conn: c, t: t, r: bufio.NewReader(c)}
		resp := tc.next("GET")
		if resp.StatusCode != StatusTooManyRequests || !resp.Close {
			t.Errorf("got %d, close %v", resp.StatusCode, resp.Close)
		}
	}

	first, firstServed := serve(tcp("10.0.0.1"))
	serve(tcp("10.0.0.1"))
	refused(tcp("10.0.0.1"))
	refused(tcp("::ffff:10.0.0.1"))
	serve(tcp("10.0.0.2"))
	serve(tcp("2001:db8::1"))
	serve(tcp("2001:db8::2:0:0:1"))
	refused(tcp("2001:db8::1"))
	refused(tcp("2001:db8::ffff:ffff:ffff:ffff"))
	serve(tcp("2001:db8:0:1::1"))
	for range 5 {
		serve(&net.UnixAddr{Name: "/x", Net: "unix"})
	}

	// a connection that has gone makes room
	_ = first.Close()
	if err := receive(t, "the end of the first", firstServed); err != nil {
		t.Errorf("ServeConn: %v", err)
	}
	serve(tcp("10.0.0.1"))
	refused(tcp("10.0.0.1"))
	if n := s.GetRejectedConnectionsCount(); n != 0 {
		t.Errorf("%d connections were rejected for concurrency", n)
	}
}

func TestPerIPCountsAreForgotten(t *testing.T) {
	s := &Server{Handler: echo, Concurrency: 1, MaxConnsPerIP: 1, Logger: &testLog{}}
	for i := range 100 {
		from := &net.TCPAddr{IP: net.IPv4(10, 0, 0, byte(i))}
		if err := s.ServeConn(ipConn{&fakeConn{pieces: [][]byte{[]byte(get("/"))}}, from}); err != nil {
			t.Fatal(err)
		}
		// refused ones count for nobody
		s.serving.Add(1)
		if err := s.ServeConn(ipConn{&fakeConn{}, from}); err != ErrConcurrencyLimit {
			t.Fatal(err)
		}
		s.serving.Add(^uint32(0))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.perIP); n != 0 {
		t.Errorf("%d addresses are held", n)
	}
}

func TestServerLimitsConnectionsPerIPOfSockets(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: echo, MaxConnsPerIP: 1}
		ts := start(s)
		if !ts.engine.sockets {
			t.Skip("connections without an IP address are not limited")
		}
		first := ts.dial()
		first.get("/")
		first.expect(200, echoed("GET", "/", ""))
		for range 3 {
			second := ts.dial()
			_, _ = second.Write([]byte(get("/2")))
			second.expect(StatusTooManyRequests, "The number of connections from your ip exceeds MaxConnsPerIP")
			second.expectEnd()
		}
		_ = first.Close()
		eventually(t, "no open connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
		third := ts.dial()
		third.get("/3")
		third.expect(200, echoed("GET", "/3", ""))
	})
}

func TestServerSleepsWhenConcurrencyIsExceeded(t *testing.T) {
	const pause = 30 * time.Millisecond
	s := &Server{Handler: echo, Concurrency: 1, SleepWhenConcurrencyLimitsExceeded: pause}
	ts := startServer(t, memoryEngine, s)
	first := ts.dial()
	first.get("/")
	first.expect(200, echoed("GET", "/", ""))
	start := time.Now()
	// the second Dial is accepted only after the pause that the first has caused
	for range 2 {
		c := ts.dial()
		if resp := c.next("GET"); resp.StatusCode != 503 {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if took := time.Since(start); took < pause {
		t.Errorf("two connections were refused within %v", took)
	}
}

func TestServerCountsRequestsPerConnection(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{MaxRequestsPerConn: 3, Handler: func(ctx *RequestCtx) {
			ctx.SetBodyString(strings.Repeat("x", int(ctx.ConnRequestNum())))
		}})
		for range 2 {
			c := ts.dial()
			for i := range 3 {
				c.get("/")
				resp := c.expect(200, strings.Repeat("x", i+1))
				if resp.Close != (i == 2) {
					t.Errorf("response %d says close: %v", i+1, resp.Close)
				}
			}
			c.expectEnd()
		}
	})
}

func TestServerRefusesBodiesOverTheLimit(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		var handled atomic.Int32
		ts := start(&Server{MaxRequestBodySize: 1 << 20, Handler: func(ctx *RequestCtx) {
			handled.Add(1)
			ctx.SetBodyString("read")
		}})
		c := ts.dial()
		c.send(post("/", strings.Repeat("x", 1<<20)))
		c.expect(200, "read")

		// the client is still sending when it is refused, and gets the answer
		c = ts.dial()
		go func() { _, _ = c.Write([]byte(post("/", strings.Repeat("x", 2<<20)))) }()
		c.expect(413, "Request Entity Too Large")

		c = ts.dial()
		go func() {
			_, _ = c.Write([]byte(head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked")))
			for range 40 {
				_, _ = c.Write([]byte("10000\r\n" + strings.Repeat("x", 0x10000) + "\r\n"))
			}
		}()
		c.expect(413, "Request Entity Too Large")
		if n := handled.Load(); n != 1 {
			t.Errorf("the handler was called %d times", n)
		}
	})
}

func TestServerDefaultsToItsBodyLimit(t *testing.T) {
	for _, limit := range []int{0, -1} {
		c := &fakeConn{pieces: [][]byte{[]byte(head("POST / HTTP/1.1", "Host: a", "Content-Length: 4194305"))}}
		s := &Server{Handler: echo, MaxRequestBodySize: limit, Logger: &testLog{}}
		if err := s.ServeConn(c); !errors.Is(err, ErrBodyTooLarge) {
			t.Errorf("ServeConn: %v", err)
		}
		if !strings.HasPrefix(c.out.String(), "HTTP/1.1 413 ") {
			t.Errorf("got %q", c.out.String())
		}
	}
}

// TestServerDoesNotAllocateDeclaredLengths has clients that promise much and send
// nothing.
func TestServerDoesNotAllocateDeclaredLengths(t *testing.T) {
	s := &Server{Handler: echo, MaxRequestBodySize: 1 << 40, Logger: &testLog{}}
	for _, request := range []string{
		head("POST / HTTP/1.1", "Host: a", "Content-Length: 1000000000000"),
		chunked("/", "10000000000\r\nx"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = s.ServeConn(&fakeConn{pieces: [][]byte{[]byte(request)}})
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%d bytes were allocated for %q", n, request)
		}
	}
}
