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
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/servertest"
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
		var idle []*servertest.Conn
		for range 5 {
			c := ts.Dial()
			c.Get("/")
			c.Expect(200, servertest.Echoed("GET", "/", ""))
			idle = append(idle, c)
		}
		for range 5 {
			idle = append(idle, ts.Dial()) // that send nothing
		}
		blank := ts.Dial()
		blank.Send("\r\n") // an empty line begins no request
		idle = append(idle, blank)
		servertest.Eventually(t, "all connections", func() bool { return s.GetOpenConnectionsCount() == 11 && active.Load() == 6 })

		if err := s.Shutdown(); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if n := s.GetOpenConnectionsCount(); n != 0 {
			t.Errorf("%d connections are open after Shutdown", n)
		}
		if err := servertest.Receive(t, "return of Serve", ts.Served); err != nil {
			t.Errorf("Serve: %v", err)
		}
		for _, c := range idle {
			c.ExpectCut()
		}
		if c, err := ts.Dialer(); err == nil {
			_ = c.Close()
			t.Error("the listener still accepts")
		}
		ts.Log.CheckEmpty(t)
	})
}

func TestShutdownLetsBusyConnectionsFinish(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		g := servertest.NewGate()
		s := &Server{Handler: passing(g)}
		ts := start(s)
		inHandler := ts.Dial()
		inHandler.Get("/handled")
		servertest.Receive(t, "the request", g.Entered)
		half := ts.Dial()
		half.Send("GET /half HTTP/1.1\r\nHo")
		halfBody := ts.Dial()
		halfBody.Send(servertest.Head("POST /body HTTP/1.1", "Host: a", "Content-Length: 4") + "ab")
		servertest.Eventually(t, "requests that have begun", func() bool { return s.busyConns() == 3 })

		done := make(chan error, 1)
		go func() { done <- s.Shutdown() }()
		if err := servertest.Receive(t, "return of Serve", ts.Served); err != nil {
			t.Errorf("Serve: %v", err)
		}
		select {
		case err := <-done:
			t.Fatalf("Shutdown returned %v while requests were on their way", err)
		default:
		}
		half.Send("st: a\r\n\r\n")
		halfBody.Send("cd")
		servertest.Receive(t, "the half request", g.Entered)
		servertest.Receive(t, "the half body", g.Entered)
		close(g.Open)
		for _, c := range []*servertest.Conn{inHandler, half, halfBody} {
			if resp := c.Expect(200, "through"); !resp.Close {
				t.Error("the last response does not say Connection: close")
			}
			c.ExpectEnd()
		}
		if err := servertest.Receive(t, "end of Shutdown", done); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// busyConns returns the number of connections for which a shutdown waits.
func (s *Server) busyConns() (n int) {
	s.conns.All(func(c *engine.Conn) {
		if !c.Opening() && !c.Waiting() {
			n++
		}
	})
	return n
}

func TestShutdownMayBeCalledMoreThanOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		g := servertest.NewGate()
		s := &Server{Handler: passing(g)}
		ts := start(s)
		c := ts.Dial()
		c.Get("/")
		servertest.Receive(t, "the request", g.Entered)
		results := make(chan error, 8)
		for range cap(results) {
			go func() { results <- s.Shutdown() }()
		}
		servertest.Receive(t, "return of Serve", ts.Served)
		close(g.Open)
		for range cap(results) {
			if err := servertest.Receive(t, "end of a Shutdown", results); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		}
		if err := s.Shutdown(); err != nil {
			t.Errorf("Shutdown of a server that is down: %v", err)
		}
		c.Expect(200, "through")
	})
}

func TestShutdownOfAServerThatNeverServed(t *testing.T) {
	s := &Server{Handler: echo}
	for range 2 {
		if err := s.Shutdown(); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	}
	ts := startServer(t, servertest.MemoryEngine, s)
	c := ts.Dial()
	c.Get("/")
	c.Expect(200, servertest.Echoed("GET", "/", ""))
}

func TestShutdownWithContextGivesUp(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		g := servertest.NewGate()
		var late *RequestCtx
		s := &Server{Handler: func(ctx *RequestCtx) {
			late = ctx
			passing(g)(ctx)
			if !servertest.IsClosed(ctx.Done()) || ctx.Err() != context.Canceled {
				t.Error("the request that goes on is not told that the server was shut down")
			}
		}}
		ts := start(s)
		c := ts.Dial()
		c.Get("/")
		servertest.Receive(t, "the request", g.Entered)
		if late.Err() != nil || servertest.IsClosed(late.Done()) {
			t.Error("Done is closed before the shutdown")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.ShutdownWithContext(ctx) }()
		servertest.Receive(t, "return of Serve", ts.Served)
		servertest.Receive(t, "end of Done", late.Done())
		cancel()
		if err := servertest.Receive(t, "end of ShutdownWithContext", done); err != context.Canceled {
			t.Errorf("ShutdownWithContext: %v", err)
		}
		if n := s.GetOpenConnectionsCount(); n != 1 {
			t.Errorf("%d connections, want that of the request that goes on", n)
		}
		close(g.Open)
		if resp := c.Expect(200, "through"); !resp.Close {
			t.Error("the client is not told that the connection ends")
		}
		c.ExpectEnd()
		servertest.Eventually(t, "the end of the connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
	})
}

func TestShutdownWithoutTimeClosesIdleConnections(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: echo}
		ts := start(s)
		idle, busy := ts.Dial(), ts.Dial()
		idle.Get("/")
		idle.Expect(200, servertest.Echoed("GET", "/", ""))
		busy.Get("/")
		busy.Expect(200, servertest.Echoed("GET", "/", ""))
		busy.Send("GET /half")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		// the server may still be about to wait for the next request
		servertest.Eventually(t, "the end of the idle connection", func() bool {
			if err := s.ShutdownWithContext(ctx); err != context.Canceled {
				t.Errorf("ShutdownWithContext: %v", err)
			}
			return s.GetOpenConnectionsCount() == 1
		})
		idle.ExpectCut()
		busy.Send(" HTTP/1.1\r\nHost: a\r\n\r\n")
		if resp := busy.Expect(200, servertest.Echoed("GET", "/half", "")); !resp.Close {
			t.Error("the client is not told that the connection ends")
		}
		busy.ExpectEnd()
	})
}

func TestServeAgainAfterShutdown(t *testing.T) {
	t.Parallel()
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
			c := ts.Dial()
			c.Get("/")
			if resp := c.Expect(200, "ok"); resp.Close {
				t.Error("the server still says that it ends")
			}
			if err := s.Shutdown(); err != nil {
				t.Fatalf("Shutdown: %v", err)
			}
			if !servertest.IsClosed(done) {
				t.Error("Done is not closed by the shutdown")
			}
			if err := servertest.Receive(t, "return of Serve", ts.Served); err != nil {
				t.Errorf("Serve: %v", err)
			}
			c.ExpectCut()
			ts.Serve()
		}
		c := ts.Dial()
		c.Get("/")
		c.Expect(200, "ok")
	})
}

// TestShutdownMeetsNewConnections has clients connect while the server shuts down
// again and again. Each client gets a response or is cut off, and no connection is
// left.
func TestShutdownMeetsNewConnections(t *testing.T) {
	t.Parallel()
	rounds := servertest.Times(100)
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: func(ctx *RequestCtx) { ctx.SetBodyString("ok") }}
		ts := start(s)
		for range rounds {
			var clients sync.WaitGroup
			var served atomic.Int32
			dialer := ts.Dialer
			for range 8 {
				clients.Go(func() {
					for {
						nc, err := dialer()
						if err != nil {
							return
						}
						_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
						_, _ = nc.Write([]byte(servertest.Get("/")))
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
			servertest.Eventually(t, "some requests", func() bool { return served.Load() > 10 })
			if err := s.Shutdown(); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if n := s.GetOpenConnectionsCount(); n != 0 {
				t.Errorf("%d connections are open after Shutdown", n)
			}
			servertest.Receive(t, "return of Serve", ts.Served)
			servertest.Soon(t, "the clients", clients.Wait)
			ts.Serve()
		}
	})
}

func TestServeOfSeveralListeners(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: echo}
		ts := start(s)
		others := []*testServer{ts}
		for range 2 {
			more := &testServer{T: t, S: s, Engine: ts.Engine, Served: make(chan error, 1)}
			more.Serve()
			others = append(others, more)
		}
		for _, other := range others {
			c := other.Dial()
			c.Get("/")
			c.Expect(200, servertest.Echoed("GET", "/", ""))
		}
		// the end of one listener does not end the others
		_ = others[2].Listener.Close()
		if err := servertest.Receive(t, "return of Serve", others[2].Served); err != nil {
			t.Errorf("Serve of a listener that was closed: %v", err)
		}
		c := others[1].Dial()
		c.Get("/")
		c.Expect(200, servertest.Echoed("GET", "/", ""))
		if err := s.Shutdown(); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		for _, other := range others[:2] {
			if err := servertest.Receive(t, "return of Serve", other.Served); err != nil {
				t.Errorf("Serve: %v", err)
			}
		}
	})
}

// failingListener fails with one error after the other.
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
	log := &servertest.Log{}
	s := &Server{Handler: echo, Logger: log}
	passing := &net.OpError{Op: "accept", Err: temporaryError{errors.New("too many open files")}}
	served := make(chan error, 1)
	go func() { served <- s.Serve(&failingListener{ln, []error{passing, passing}}) }()
	nc, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	c := &servertest.Conn{Conn: nc, T: t, R: bufio.NewReader(nc)}
	c.Get("/")
	c.Expect(200, servertest.Echoed("GET", "/", ""))
	log.WaitFor(t, "too many open files", "try again")
	_ = nc.Close()
	servertest.ShutDown(t, s)
	if err := servertest.Receive(t, "return of Serve", served); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// A program may close its listener to stop a server, and Serve returns no error
// then.
func TestServeReturnsNothingWhenItsListenerIsClosed(t *testing.T) {
	t.Parallel()
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
			served := inBackground(func() error { return (&Server{Handler: func(*RequestCtx) {}, Logger: &servertest.Log{}}).Serve(ln) })
			if !before {
				// a response shows that the address is served
				if status, _, err := Get(nil, "http://"+addr+"/"); status != StatusOK || err != nil {
					t.Fatalf("%s: %d, %v", name, status, err)
				}
				_ = ln.Close()
			}
			if err := servertest.Receive(t, "the end of Serve", served); err != nil {
				t.Errorf("%s, closed before: %v: %v", name, before, err)
			}
		}
	}
	// listeners of other packages have their own errors
	for _, err := range []error{io.EOF, errors.New("pipe: use of closed network connection")} {
		if err := (&Server{Handler: echo, Logger: &servertest.Log{}}).Serve(brokenListener{listen(), err}); err != nil {
			t.Error(err)
		}
	}
}

// inBackground calls f in a goroutine and returns a channel with its result.
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
	servertest.ShutDown(t, s)
	if err := servertest.Receive(t, "return of Serve", served); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestListenAndServeUNIX(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	// the server replaces a file that an earlier process has left
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
	servertest.Eventually(t, "the socket", func() (ok bool) {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o640 {
			return false
		}
		nc, err = net.Dial("unix", path)
		return err == nil
	})
	c := &servertest.Conn{Conn: nc, T: t, R: bufio.NewReader(nc)}
	c.Get("/")
	c.Expect(200, "ok")
	servertest.ShutDown(t, s)
	if err := servertest.Receive(t, "return of ListenAndServeUNIX", served); err != nil {
		t.Errorf("ListenAndServeUNIX: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if err := s.ListenAndServeUNIX(filepath.Join(path, "x"), 0o600); err == nil {
		t.Error("no error for a path that cannot be")
	}
}

// Two servers serve a path in turn, and the first ends after the second has started, as in a
// restart without a gap.
func TestAServerLeavesTheSocketOfItsSuccessorAlone(t *testing.T) {
	for name, engine := range map[string]Engine{"portable": EnginePortable, "event": EngineEvent} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "socket")
			serve := func(name string) (s *Server, served chan error) {
				s, served = &Server{Engine: engine, Handler: func(ctx *RequestCtx) { ctx.SetBodyString(name) }}, make(chan error, 1)
				go func() { served <- s.ListenAndServeUNIX(path, 0o600) }()
				servertest.Eventually(t, "the server "+name, func() bool {
					nc, err := net.Dial("unix", path)
					if err != nil {
						return false
					}
					c := servertest.NewConn(t, nc)
					defer func() { _ = c.Close() }()
					c.Get("/")
					return c.Next("GET").Content == name
				})
				return s, served
			}
			end := func(s *Server, served chan error) {
				servertest.ShutDown(t, s)
				if err := servertest.Receive(t, "return of ListenAndServeUNIX", served); err != nil {
					t.Error(err)
				}
			}
			first, firstServed := serve("first")
			second, secondServed := serve("second")
			end(first, firstServed)
			if _, err := os.Stat(path); err != nil {
				t.Errorf("the socket of the second server: %v", err)
			}
			end(second, secondServed)
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a socket is left: %v", err)
			}
		})
	}
}

func TestListenAndServe(t *testing.T) {
	s := &Server{Handler: echo, TCPKeepalive: true, TCPKeepalivePeriod: time.Minute}
	var addr string
	var served <-chan error
	servertest.Eventually(t, "a port that no other program takes meanwhile", func() bool {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		servertest.Must(t, err)
		addr = ln.Addr().String()
		if err := s.ListenAndServe(addr); err == nil {
			t.Error("no error for an address in use")
		}
		_ = ln.Close()
		served = inBackground(func() error { return s.ListenAndServe(addr) })
		servertest.Eventually(t, "the server", func() bool { return s.conns.Listeners() > 0 || len(served) > 0 })
		if len(served) == 0 {
			return true
		}
		if err := servertest.Receive(t, "the error", served); !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
		return false
	})
	nc, err := net.Dial("tcp4", addr)
	servertest.Must(t, err)
	c := servertest.NewConn(t, nc)
	c.Get("/")
	c.Expect(200, servertest.Echoed("GET", "/", ""))
	servertest.ShutDown(t, s)
	if err := servertest.Receive(t, "return of ListenAndServe", served); err != nil {
		t.Errorf("ListenAndServe: %v", err)
	}
}

func TestServeConnTellsHowItEnded(t *testing.T) {
	serve := func(in string, h RequestHandler) (*servertest.FakeConn, error) {
		c := &servertest.FakeConn{}
		if in != "" {
			// io.Reader allows a Read without a result
			c.Pieces = [][]byte{{}, []byte(in), {}}
		}
		s := &Server{Handler: h, Logger: &servertest.Log{}}
		err := s.ServeConn(c)
		if c.Closed == 0 {
			t.Errorf("%q: the connection was not closed", in)
		}
		return c, err
	}
	for _, in := range []string{"", servertest.Get("/"), servertest.Get("/", "Connection: close"), servertest.Get("/1") + servertest.Post("/2", "abc")} {
		if _, err := serve(in, echo); err != nil {
			t.Errorf("%q: ServeConn: %v", in, err)
		}
	}
	if _, err := serve("GET / HT", echo); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a request: %v", err)
	}
	if _, err := serve(servertest.Get("/", "Content-Length: x"), echo); err == nil {
		t.Error("no error for a malformed request")
	}
	s := &Server{Handler: echo, Logger: &servertest.Log{}}
	if err := s.ServeConn(&brokenConn{}); !errors.Is(err, errBroken) {
		t.Errorf("connection that cannot be read: %v", err)
	}
	c := &servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Get("/"))}}
	if err := s.ServeConn(&brokenConn{c}); !errors.Is(err, errBroken) {
		t.Errorf("connection that cannot be written: %v", err)
	}
}

var errBroken = errors.New("broken")

// brokenConn may read from another connection, and cannot be written to.
type brokenConn struct{ *servertest.FakeConn }

func (c *brokenConn) Read(p []byte) (int, error) {
	if c.FakeConn == nil {
		return 0, errBroken
	}
	return c.FakeConn.Read(p)
}
func (c *brokenConn) Write([]byte) (int, error) { return 0, errBroken }
func (c *brokenConn) Close() error              { return nil }
func (c *brokenConn) RemoteAddr() net.Addr      { return zeroTCPAddr }
func (c *brokenConn) LocalAddr() net.Addr       { return zeroTCPAddr }

func TestServerLeavesNothingBehind(t *testing.T) {
	piece := strings.Repeat("x", 10_000)
	forEachEngine(t, func(t *testing.T, start starter) {
		// a first round creates permanent resources, such as the poller of the runtime
		round := func() {
			s := &Server{Handler: func(ctx *RequestCtx) {
				switch string(ctx.Path()) {
				case "/stream":
					ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
						for {
							if _, err := w.WriteString(piece); err != nil {
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
				c := ts.Dial()
				switch i % 5 {
				case 0:
					c.Get("/")
					c.Expect(200, servertest.Echoed("GET", "/", ""))
				case 1:
					c.Get("/stream")
					_, _ = c.R.Discard(50_000)
				case 2:
					c.Get("/panic")
					if resp := c.Next("GET"); resp.StatusCode != 500 {
						t.Errorf("status %d", resp.StatusCode)
					}
				case 3:
					c.Send("GET / HT")
				case 4:
					c.Send("no request\r\n")
					c.Expect(400, "Error when parsing request")
				}
			}
			ts.Stop()
			ts.Conns = nil
			if err := servertest.Receive(t, "return of Serve", ts.Served); err != nil {
				t.Errorf("Serve: %v", err)
			}
		}
		round()
		goroutines, files := runtime.NumGoroutine(), servertest.OpenFiles(t)
		for range 3 {
			round()
		}
		servertest.Eventually(t, "as many goroutines as in the beginning", func() bool { return runtime.NumGoroutine() <= goroutines })
		servertest.Eventually(t, "as many open files as in the beginning", func() bool { return servertest.OpenFiles(t) <= files })
	})
}
