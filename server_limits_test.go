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
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestServerRefusesMoreThanConcurrency(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		g := servertest.NewGate()
		s := &Server{Handler: passing(g), Concurrency: 2}
		ts := start(s)
		busy := ts.Dial()
		busy.Get("/busy")
		servertest.Receive(t, "the first request", g.Entered)
		silent := ts.Dial() // counts, although it sends nothing
		servertest.Eventually(t, "two served connections", func() bool { return s.GetCurrentConcurrency() == 2 })

		for i := range 3 {
			more := ts.Dial()
			// if the client is sending, the server must not reset the connection
			// before the client has the response
			_, _ = more.Write([]byte(servertest.Get("/more")))
			resp := more.Next("GET")
			if resp.StatusCode != StatusServiceUnavailable || !resp.Close || resp.Content == "" {
				t.Errorf("got %d %q, close %v", resp.StatusCode, resp.Content, resp.Close)
			}
			more.ExpectEnd()
			if n := s.GetRejectedConnectionsCount(); n != uint32(i+1) {
				t.Errorf("%d rejected connections, want %d", n, i+1)
			}
		}
		if n := s.GetOpenConnectionsCount(); n != 2 {
			t.Errorf("%d open connections, want 2", n)
		}
		ts.Log.WaitFor(t, ErrConcurrencyLimit.Error())

		_ = silent.Close()
		servertest.Eventually(t, "one served connection", func() bool { return s.GetCurrentConcurrency() == 1 })
		close(g.Open)
		again := ts.Dial()
		again.Get("/again")
		again.Expect(200, "through")
		busy.Expect(200, "through")
	})
}

func TestServeConnCountsOnce(t *testing.T) {
	g := servertest.NewGate()
	s := &Server{Handler: passing(g), Concurrency: 2, Logger: &servertest.Log{}}
	var done sync.WaitGroup
	for range 2 {
		pc := fasthttputil.NewPipeConns()
		defer pc.Close()
		done.Go(func() {
			if err := s.ServeConn(pc.Conn2()); err != nil {
				t.Errorf("ServeConn: %v", err)
			}
		})
		_, _ = pc.Conn1().Write([]byte(servertest.Get("/", "Connection: close")))
		servertest.Receive(t, "a request", g.Entered)
	}
	if n := s.GetCurrentConcurrency(); n != 2 {
		t.Errorf("concurrency is %d, want 2", n)
	}
	c := &servertest.FakeConn{}
	if err := s.ServeConn(c); err != ErrConcurrencyLimit {
		t.Errorf("ServeConn: %v", err)
	}
	if !strings.HasPrefix(c.Out.String(), "HTTP/1.1 503 ") || c.Closed == 0 {
		t.Errorf("got %q, closed %d times", c.Out.String(), c.Closed)
	}
	close(g.Open)
	servertest.Soon(t, "the connections", done.Wait)
	if a, b := s.GetCurrentConcurrency(), s.GetOpenConnectionsCount(); a != 0 || b != 0 {
		t.Errorf("concurrency %d, open connections %d in the end", a, b)
	}
}

// ipConn is a connection from a given address.
type ipConn struct {
	net.Conn
	from net.Addr
}

func (c ipConn) RemoteAddr() net.Addr { return c.from }

func TestServerLimitsConnectionsPerIP(t *testing.T) {
	s := &Server{Handler: echo, MaxConnsPerIP: 2, Logger: &servertest.Log{}}
	serve := func(from net.Addr) (client net.Conn, served chan error) {
		pc := fasthttputil.NewPipeConns()
		t.Cleanup(func() { _ = pc.Close() })
		served = make(chan error, 1)
		before := s.GetOpenConnectionsCount()
		go func() { served <- s.ServeConn(ipConn{pc.Conn2(), from}) }()
		servertest.Eventually(t, "the connection to be taken or refused", func() bool {
			return s.GetOpenConnectionsCount() > before || len(served) > 0
		})
		return pc.Conn1(), served
	}
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1234} }
	refused := func(from net.Addr) {
		t.Helper()
		c, served := serve(from)
		if err := servertest.Receive(t, "the refusal", served); err != ErrPerIPConnLimit {
			t.Errorf("%v: ServeConn returned %v", from, err)
			return
		}
		tc := &servertest.Conn{Conn: c, T: t, R: bufio.NewReader(c)}
		resp := tc.Next("GET")
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

	// the end of a connection makes room for another
	_ = first.Close()
	if err := servertest.Receive(t, "the end of the first", firstServed); err != nil {
		t.Errorf("ServeConn: %v", err)
	}
	serve(tcp("10.0.0.1"))
	refused(tcp("10.0.0.1"))
	if n := s.GetRejectedConnectionsCount(); n != 0 {
		t.Errorf("%d connections were rejected for concurrency", n)
	}
}

// faultyConn is a connection whose method panics.
type faultyConn struct {
	servertest.FakeConn
	method string
}

func (c *faultyConn) Write(p []byte) (int, error) {
	if c.method == "Write" {
		panic("a mistake")
	}
	return c.FakeConn.Write(p)
}

func (c *faultyConn) Close() error {
	err := c.FakeConn.Close()
	if c.method == "Close" {
		panic("a mistake")
	}
	return err
}

// The engines refuse connections in goroutines in which a panic would end the process.
func TestRefusedConnectionsMayPanic(t *testing.T) {
	for _, method := range []string{"Write", "Close"} {
		log := &servertest.Log{}
		s := &Server{Handler: echo, Logger: log}
		c := &faultyConn{method: method}
		(*host)(s).Refuse(c, ErrConcurrencyLimit)
		log.WaitFor(t, "panic in a connection that is refused: a mistake")
		if c.Closed != 1 {
			t.Errorf("%s: closed %d times", method, c.Closed)
		}
		if n := s.refusals.Load(); n != 0 {
			t.Errorf("%s: %d refusals are counted", method, n)
		}
	}
}

func TestPerIPCountsAreForgotten(t *testing.T) {
	s := &Server{Handler: echo, Concurrency: 1, MaxConnsPerIP: 1, Logger: &servertest.Log{}}
	for i := range 100 {
		from := &net.TCPAddr{IP: net.IPv4(10, 0, 0, byte(i))}
		if err := s.ServeConn(ipConn{&servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Get("/"))}}, from}); err != nil {
			t.Fatal(err)
		}
		// a refused connection does not count
		s.serving.Add(1)
		if err := s.ServeConn(ipConn{&servertest.FakeConn{}, from}); err != ErrConcurrencyLimit {
			t.Fatal(err)
		}
		s.serving.Add(^uint32(0))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, _ := s.perIP.Len(); n != 0 {
		t.Errorf("%d addresses are held", n)
	}
}

func TestServerLimitsConnectionsPerIPOfSockets(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: echo, MaxConnsPerIP: 1}
		ts := start(s)
		if !ts.Engine.Sockets {
			t.Skip("connections without an IP address are not limited")
		}
		first := ts.Dial()
		first.Get("/")
		first.Expect(200, servertest.Echoed("GET", "/", ""))
		for range 3 {
			second := ts.Dial()
			_, _ = second.Write([]byte(servertest.Get("/2")))
			second.Expect(StatusTooManyRequests, "The number of connections from your ip exceeds MaxConnsPerIP")
			second.ExpectEnd()
		}
		_ = first.Close()
		servertest.Eventually(t, "no open connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
		third := ts.Dial()
		third.Get("/3")
		third.Expect(200, servertest.Echoed("GET", "/3", ""))
	})
}

func TestServerSleepsWhenConcurrencyIsExceeded(t *testing.T) {
	const pause = 30 * time.Millisecond
	s := &Server{Handler: echo, Concurrency: 1, SleepWhenConcurrencyLimitsExceeded: pause}
	ts := startServer(t, servertest.MemoryEngine, s)
	first := ts.Dial()
	first.Get("/")
	first.Expect(200, servertest.Echoed("GET", "/", ""))
	start := time.Now()
	// the server accepts the second connection after the pause that the first one
	// caused
	for range 2 {
		c := ts.Dial()
		if resp := c.Next("GET"); resp.StatusCode != 503 {
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
			c := ts.Dial()
			for i := range 3 {
				c.Get("/")
				resp := c.Expect(200, strings.Repeat("x", i+1))
				if resp.Close != (i == 2) {
					t.Errorf("response %d says close: %v", i+1, resp.Close)
				}
			}
			c.ExpectEnd()
		}
	})
}

func TestServerRefusesBodiesOverTheLimit(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		var handled atomic.Int32
		ts := start(&Server{MaxRequestBodySize: 1 << 20, Handler: func(ctx *RequestCtx) {
			handled.Add(1)
			ctx.SetBodyString("read")
		}})
		c := ts.Dial()
		c.Send(servertest.Post("/", strings.Repeat("x", 1<<20)))
		c.Expect(200, "read")

		// the client is still sending when the server refuses it, and gets the
		// response
		c = ts.Dial()
		go func() { _, _ = c.Write([]byte(servertest.Post("/", strings.Repeat("x", 2<<20)))) }()
		c.Expect(413, "Request Entity Too Large")

		c = ts.Dial()
		go func() {
			_, _ = c.Write([]byte(servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked")))
			for range 40 {
				_, _ = c.Write([]byte("10000\r\n" + strings.Repeat("x", 0x10000) + "\r\n"))
			}
		}()
		c.Expect(413, "Request Entity Too Large")
		if n := handled.Load(); n != 1 {
			t.Errorf("the handler was called %d times", n)
		}
	})
}

func TestServerDefaultsToItsBodyLimit(t *testing.T) {
	for _, limit := range []int{0, -1} {
		c := &servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 4194305"))}}
		s := &Server{Handler: echo, MaxRequestBodySize: limit, Logger: &servertest.Log{}}
		if err := s.ServeConn(c); !errors.Is(err, ErrBodyTooLarge) {
			t.Errorf("ServeConn: %v", err)
		}
		if !strings.HasPrefix(c.Out.String(), "HTTP/1.1 413 ") {
			t.Errorf("got %q", c.Out.String())
		}
	}
}

// TestServerDoesNotAllocateDeclaredLengths has clients that declare long bodies and
// send nothing.
func TestServerDoesNotAllocateDeclaredLengths(t *testing.T) {
	s := &Server{Handler: echo, MaxRequestBodySize: 1 << 40, Logger: &servertest.Log{}}
	for _, request := range []string{
		servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 1000000000000"),
		servertest.Chunked("/", "10000000000\r\nx"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = s.ServeConn(&servertest.FakeConn{Pieces: [][]byte{[]byte(request)}})
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%d bytes were allocated for %q", n, request)
		}
	}
}
