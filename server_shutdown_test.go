package fasthttp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/engine"
)

func TestShutdownClosesIdleConnectionsAtOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		var active atomic.Int32
		s := &Server{Handler: echo, ConnState: func(_ net.Conn, state ConnState) {
			if state == StateActive {
				active.Add(1)
			}
		}}
		ts := start(s)
		var idle []*testConn
		for range 5 {
			c := ts.dial()
			c.get("/")
			c.expect(200, echoed("GET", "/", ""))
			idle = append(idle, c)
		}
		for range 5 {
			idle = append(idle, ts.dial()) // that say nothing
		}
		blank := ts.dial()
		blank.send("\r\n") // which begins no request
		idle = append(idle, blank)
		eventually(t, "all connections", func() bool { return s.GetOpenConnectionsCount() == 11 && active.Load() == 6 })

		if err := s.Shutdown(); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if n := s.GetOpenConnectionsCount(); n != 0 {
			t.Errorf("%d connections are open after Shutdown", n)
		}
		if err := receive(t, "return of Serve", ts.served); err != nil {
			t.Errorf("Serve: %v", err)
		}
		for _, c := range idle {
			c.expectCut()
		}
		if c, err := ts.dialer(); err == nil {
			_ = c.Close()
			t.Error("the listener still accepts")
		}
		ts.log.checkEmpty(t)
	})
}

func TestShutdownLetsBusyConnectionsFinish(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		g := newGate()
		s := &Server{Handler: g.handle}
		ts := start(s)
		inHandler := ts.dial()
		inHandler.get("/handled")
		receive(t, "the request", g.entered)
		half := ts.dial()
		half.send("GET /half HTTP/1.1\r\nHo")
		halfBody := ts.dial()
		halfBody.send(head("POST /body HTTP/1.1", "Host: a", "Content-Length: 4") + "ab")
		eventually(t, "requests that have begun", func() bool { return s.busyConns() == 3 })

		done := make(chan error, 1)
		go func() { done <- s.Shutdown() }()
		if err := receive(t, "return of Serve", ts.served); err != nil {
			t.Errorf("Serve: %v", err)
		}
		select {
		case err := <-done:
			t.Fatalf("Shutdown returned %v while requests were on their way", err)
		default:
		}
		half.send("st: a\r\n\r\n")
		halfBody.send("cd")
		receive(t, "the half request", g.entered)
		receive(t, "the half body", g.entered)
		close(g.open)
		for _, c := range []*testConn{inHandler, half, halfBody} {
			if resp := c.expect(200, "through"); !resp.Close {
				t.Error("the last response does not say Connection: close")
			}
			c.expectEnd()
		}
		if err := receive(t, "end of Shutdown", done); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// busyConns returns how many connections a shutdown would wait for.
func (s *Server) busyConns() (n int) {
	s.conns.All(func(c *engine.Conn) {
		if !c.Opening() && !c.Waiting() {
			n++
		}
	})
	return n
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestShutdownMayBeCalledMoreThanOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		g := newGate()
		s := &Server{Handler: g.handle}
		ts := start(s)
		c := ts.dial()
		c.get("/")
		receive(t, "the request", g.entered)
		results := make(chan error, 8)
		for range cap(results) {
			go func() { results <- s.Shutdown() }()
		}
		receive(t, "return of Serve", ts.served)
		close(g.open)
		for range cap(results) {
			if err := receive(t, "end of a Shutdown", results); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		}
		if err := s.Shutdown(); err != nil {
			t.Errorf("Shutdown of a server that is down: %v", err)
		}
		c.expect(200, "through")
	})
}

func TestShutdownOfAServerThatNeverServed(t *testing.T) {
	s := &Server{Handler: echo}
	for range 2 {
		if err := s.Shutdown(); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	}
	ts := startServer(t, memoryEngine, s)
	c := ts.dial()
	c.get("/")
	c.expect(200, echoed("GET", "/", ""))
}

func TestShutdownWithContextGivesUp(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		g := newGate()
		var late *RequestCtx
		s := &Server{Handler: func(ctx *RequestCtx) {
			late = ctx
			g.handle(ctx)
			if !isClosed(ctx.Done()) || ctx.Err() != context.Canceled {
				t.Error("the request that goes on is not told that the server was shut down")
			}
		}}
		ts := start(s)
		c := ts.dial()
		c.get("/")
		receive(t, "the request", g.entered)
		if late.Err() != nil || isClosed(late.Done()) {
			t.Error("Done is closed before the shutdown")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.ShutdownWithContext(ctx) }()
		receive(t, "return of Serve", ts.served)
		receive(t, "end of Done", late.Done())
		cancel()
		if err := receive(t, "end of ShutdownWithContext", done); err != context.Canceled {
			t.Errorf("ShutdownWithContext: %v", err)
		}
		if n := s.GetOpenConnectionsCount(); n != 1 {
			t.Errorf("%d connections, want that of the request that goes on", n)
		}
		close(g.open)
		c.expect(200, "through")
	})
}

func TestShutdownWithoutTimeClosesIdleConnections(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: echo}
		ts := start(s)
		idle, busy := ts.dial(), ts.dial()
		idle.get("/")
		idle.expect(200, echoed("GET", "/", ""))
		busy.get("/")
		busy.expect(200, echoed("GET", "/", ""))
		busy.send("GET /half")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		// the server may not know yet that it waits for the next request
		eventually(t, "the end of the idle connection", func() bool {
			if err := s.ShutdownWithContext(ctx); err != context.Canceled {
				t.Errorf("ShutdownWithContext: %v", err)
			}
			return s.GetOpenConnectionsCount() == 1
		})
		idle.expectCut()
		_ = busy.Close()
	})
}

func TestServeAgainAfterShutdown(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		var done <-chan struct{}
		s := &Server{Handler: func(ctx *RequestCtx) {
			done = ctx.Done()
			if ctx.Err() != nil {
				ctx.Error("already cancelled", 500)
				return
			}
			ctx.SetBodyString("ok")
		}}
		ts := start(s)
		for range 5 {
			c := ts.dial()
			c.get("/")
			if resp := c.expect(200, "ok"); resp.Close {
				t.Error("the server still says that it ends")
			}
			if err := s.Shutdown(); err != nil {
				t.Fatalf("Shutdown: %v", err)
			}
			if !isClosed(done) {
				t.Error("Done is not closed by the shutdown")
			}
			if err := receive(t, "return of Serve", ts.served); err != nil {
				t.Errorf("Serve: %v", err)
			}
			c.expectCut()
			ts.serve()
		}
		c := ts.dial()
		c.get("/")
		c.expect(200, "ok")
	})
}

// TestShutdownMeetsNewConnections has clients come while the server goes down
// again and again. Each of them gets an answer or is cut off, and nothing is left
// behind.
func TestShutdownMeetsNewConnections(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: func(ctx *RequestCtx) { ctx.SetBodyString("ok") }}
		ts := start(s)
		for range rounds {
			var clients sync.WaitGroup
			var served atomic.Int32
			dialer := ts.dialer
			for range 8 {
				clients.Go(func() {
					for {
						nc, err := dialer()
						if err != nil {
							return
						}
						_ = nc.SetDeadline(time.Now().Add(patience))
						_, _ = nc.Write([]byte(get("/")))
						b := make([]byte, 1000)
						n, err := nc.Read(b)
						if errors.Is(err, os.ErrDeadlineExceeded) {
							t.Error("a connection was left open")
						}
						if strings.HasPrefix(string(b[:n]), "HTTP/1.1 200 ") {
							served.Add(1)
						}
						_ = nc.Close()
					}
				})
			}
			eventually(t, "some requests", func() bool { return served.Load() > 10 })
			if err := s.Shutdown(); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if n := s.GetOpenConnectionsCount(); n != 0 {
				t.Errorf("%d connections are open after Shutdown", n)
			}
			receive(t, "return of Serve", ts.served)
			clients.Wait()
			ts.serve()
		}
	})
}

func TestServeOfSeveralListeners(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: echo}
		ts := start(s)
		others := []*testServer{ts}
		for range 2 {
			more := &testServer{t: t, s: s, engine: ts.engine, served: make(chan error, 1)}
			more.serve()
			others = append(others, more)
		}
		for _, other := range others {
			c := other.dial()
			c.get("/")
			c.expect(200, echoed("GET", "/", ""))
		}
		// the end of one listener is no end of the others
		_ = others[2].ln.Close()
		if err := receive(t, "return of Serve", others[2].served); err != nil {
			t.Errorf("Serve of a listener that was closed: %v", err)
		}
		c := others[1].dial()
		c.get("/")
		c.expect(200, echoed("GET", "/", ""))
		if err := s.Shutdown(); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		for _, other := range others[:2] {
			if err := receive(t, "return of Serve", other.served); err != nil {
				t.Errorf("Serve: %v", err)
			}
		}
	})
}

// failingListener fails with the errors in turn.
type failingListener struct {
	net.Listener
	errs []error
}

type temporaryError struct{ error }

func (temporaryError) Temporary() bool { return true }
func (temporaryError) Timeout() bool   { return false }

func (l *failingListener) Accept() (net.Conn, error) {
	if len(l.errs) > 0 {
		err := l.errs[0]
		l.errs = l.errs[1:]
		return nil, err
	}
	return l.Listener.Accept()
}

func TestServeGoesOnAfterErrorsThatPass(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	log := &testLog{}
	s := &Server{Handler: echo, Logger: log}
	passing := &net.OpError{Op: "accept", Err: temporaryError{errors.New("too many open files")}}
	served := make(chan error, 1)
	go func() { served <- s.Serve(&failingListener{ln, []error{passing, passing}}) }()
	nc, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	c := &testConn{Conn: nc, t: t, r: bufio.NewReader(nc)}
	c.get("/")
	c.expect(200, echoed("GET", "/", ""))
	log.waitFor(t, "too many open files", "try again")
	_ = nc.Close()
	shutDown(t, s)
	if err := receive(t, "return of Serve", served); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// Programs close their listener to stop serving, and take an error for a failure.
func TestServeReturnsNothingWhenItsListenerIsClosed(t *testing.T) {
	listen := func() net.Listener {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return ln
	}
	wrapped := func() net.Listener { return struct{ net.Listener }{listen()} }
	for name, open := range map[string]func() net.Listener{"tcp": listen, "wrapped": wrapped} {
		for _, before := range []bool{true, false} {
			ln := open()
			addr := ln.Addr().String()
			if before {
				_ = ln.Close()
			}
			served := inBackground(func() error { return (&Server{Handler: func(*RequestCtx) {}, Logger: &testLog{}}).Serve(ln) })
			if !before {
				// it is being served when it answers
				if status, _, err := Get(nil, "http://"+addr+"/"); status != StatusOK || err != nil {
					t.Fatalf("%s: %d, %v", name, status, err)
				}
				_ = ln.Close()
			}
			if err := receive(t, "the end of Serve", served); err != nil {
				t.Errorf("%s, closed before: %v: %v", name, before, err)
			}
		}
	}
	// the listeners of other packages have errors of their own
	for _, err := range []error{io.EOF, errors.New("pipe: use of closed network connection")} {
		if err := (&Server{Handler: echo, Logger: &testLog{}}).Serve(brokenListener{listen(), err}); err != nil {
			t.Error(err)
		}
	}
}

// inBackground calls f in a goroutine and returns what it returns.
func inBackground(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

type brokenListener struct {
	net.Listener
	err error
}

func (l brokenListener) Accept() (net.Conn, error) { return nil, l.err }

func TestServeReturnsErrorsThatDoNotPass(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	final := errors.New("no more")
	s := &Server{Handler: echo}
	if err := s.Serve(&failingListener{ln, []error{final}}); err != final {
		t.Errorf("Serve: %v", err)
	}
	if _, err := ln.Dial(); err == nil {
		t.Error("the listener was not closed")
	}
}

// badListener cannot be compared.
type badListener struct {
	net.Listener
	_ []int
}

func TestServeTakesListenersThatCannotBeCompared(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	s := &Server{Handler: echo}
	served := make(chan error, 1)
	go func() { served <- s.Serve(badListener{Listener: ln}) }()
	nc, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	_ = nc.Close()
	shutDown(t, s)
	if err := receive(t, "return of Serve", served); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestListenAndServeUNIX(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	// what an earlier process left behind is replaced
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Server{Handler: func(ctx *RequestCtx) {
		if a, ok := ctx.LocalAddr().(*net.UnixAddr); !ok || a.Name != path {
			t.Errorf("LocalAddr is %v", ctx.LocalAddr())
		}
		if !ctx.RemoteIP().Equal(net.IPv4zero) {
			t.Errorf("RemoteIP is %v", ctx.RemoteIP())
		}
		ctx.SetBodyString("ok")
	}}
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServeUNIX(path, 0o640) }()
	var nc net.Conn
	eventually(t, "the socket", func() (ok bool) {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o640 {
			return false
		}
		nc, err = net.Dial("unix", path)
		return err == nil
	})
	c := &testConn{Conn: nc, t: t, r: bufio.NewReader(nc)}
	c.get("/")
	c.expect(200, "ok")
	shutDown(t, s)
	if err := receive(t, "return of ListenAndServeUNIX", served); err != nil {
		t.Errorf("ListenAndServeUNIX: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if err := s.ListenAndServeUNIX(filepath.Join(path, "x"), 0o600); err == nil {
		t.Error("no error for a path that cannot be")
	}
}

func TestListenAndServe(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	s := &Server{Handler: echo, TCPKeepalive: true, TCPKeepalivePeriod: time.Minute}
	if err := s.ListenAndServe(addr); err == nil {
		t.Error("no error for an address in use")
	}
	_ = ln.Close()
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe(addr) }()
	var nc net.Conn
	eventually(t, "the server", func() bool {
		nc, err = net.Dial("tcp4", addr)
		return err == nil
	})
	c := &testConn{Conn: nc, t: t, r: bufio.NewReader(nc)}
	c.get("/")
	c.expect(200, echoed("GET", "/", ""))
	shutDown(t, s)
	if err := receive(t, "return of ListenAndServe", served); err != nil {
		t.Errorf("ListenAndServe: %v", err)
	}
}

func TestServeConnTellsHowItEnded(t *testing.T) {
	serve := func(in string, h RequestHandler) (*fakeConn, error) {
		c := &fakeConn{}
		if in != "" {
			// a Read without a result is allowed, if not encouraged
			c.pieces = [][]byte{{}, []byte(in), {}}
		}
		s := &Server{Handler: h, Logger: &testLog{}}
		err := s.ServeConn(c)
		if c.closed == 0 {
			t.Errorf("%q: the connection was not closed", in)
		}
		return c, err
	}
	for _, in := range []string{"", get("/"), get("/", "Connection: close"), get("/1") + post("/2", "abc")} {
		if _, err := serve(in, echo); err != nil {
			t.Errorf("%q: ServeConn: %v", in, err)
		}
	}
	if _, err := serve("GET / HT", echo); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a request: %v", err)
	}
	if _, err := serve(get("/", "Content-Length: x"), echo); err == nil {
		t.Error("no error for a malformed request")
	}
	s := &Server{Handler: echo, Logger: &testLog{}}
	if err := s.ServeConn(&brokenConn{}); !errors.Is(err, errBroken) {
		t.Errorf("connection that cannot be read: %v", err)
	}
	c := &fakeConn{pieces: [][]byte{[]byte(get("/"))}}
	if err := s.ServeConn(&brokenConn{c}); !errors.Is(err, errBroken) {
		t.Errorf("connection that cannot be written: %v", err)
	}
}

var errBroken = errors.New("broken")

// brokenConn reads from the other one, if any, and cannot be written.
type brokenConn struct{ *fakeConn }

func (c *brokenConn) Read(p []byte) (int, error) {
	if c.fakeConn == nil {
		return 0, errBroken
	}
	return c.fakeConn.Read(p)
}
func (c *brokenConn) Write([]byte) (int, error) { return 0, errBroken }
func (c *brokenConn) Close() error              { return nil }
func (c *brokenConn) RemoteAddr() net.Addr      { return zeroTCPAddr }
func (c *brokenConn) LocalAddr() net.Addr       { return zeroTCPAddr }

// openFiles returns the number of descriptors of the process.
func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	return len(entries)
}

func TestServerLeavesNothingBehind(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		// what is made once and stays, such as the poller of the runtime, is
		// there after a first round
		round := func() {
			s := &Server{Handler: func(ctx *RequestCtx) {
				switch string(ctx.Path()) {
				case "/stream":
					ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
						for {
							if _, err := w.WriteString(strings.Repeat("x", 10_000)); err != nil {
								return
							}
						}
					})
				case "/panic":
					panic("end of this one")
				default:
					echo(ctx)
				}
			}}
			ts := start(s)
			for i := range 20 {
				c := ts.dial()
				switch i % 5 {
				case 0:
					c.get("/")
					c.expect(200, echoed("GET", "/", ""))
				case 1:
					c.get("/stream")
					_, _ = c.r.Discard(50_000)
				case 2:
					c.get("/panic")
					if resp := c.next("GET"); resp.StatusCode != 500 {
						t.Errorf("status %d", resp.StatusCode)
					}
				case 3:
					c.send("GET / HT")
				case 4:
					c.send("no request\r\n")
					c.expect(400, "Error when parsing request")
				}
			}
			ts.stop()
			ts.conns = nil
			if err := receive(t, "return of Serve", ts.served); err != nil {
				t.Errorf("Serve: %v", err)
			}
		}
		round()
		goroutines, files := runtime.NumGoroutine(), openFiles(t)
		for range 3 {
			round()
		}
		eventually(t, "as many goroutines as in the beginning", func() bool { return runtime.NumGoroutine() <= goroutines })
		eventually(t, "as many open files as in the beginning", func() bool { return openFiles(t) <= files })
	})
}

// A request that was there when the shutdown began is answered.
func TestShutdownAnswersWhatHasArrived(t *testing.T) {
	const rounds = 40
	forEachEngine(t, func(t *testing.T, start starter) {
		for name, prepare := range map[string]func(c *testConn){
			"first request": func(*testConn) {},
			"next request": func(c *testConn) {
				c.get("/1")
				c.expect(200, echoed("GET", "/1", ""))
			},
		} {
			t.Run(name, func(t *testing.T) {
				dropped := 0
				for range rounds {
					ts := start(&Server{Handler: echo})
					eventually(t, "Serve", func() bool { return ts.s.conns.Listeners() > 0 })
					c := ts.dial()
					prepare(c)
					c.get("/2")
					if err := ts.s.Shutdown(); err != nil {
						t.Fatal(err)
					}
					resp, err := readResponse(c.r, "GET")
					if err != nil {
						dropped++
						continue
					}
					if resp.body != echoed("GET", "/2", "") {
						t.Errorf("got %q", resp.body)
					}
					c.expectEnd()
				}
				if dropped > 0 {
					t.Errorf("%d of %d requests were dropped", dropped, rounds)
				}
			})
		}
	})
}
