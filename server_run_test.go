package fasthttp

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
)

// runner is a server that runs on two listeners.
type runner struct {
	lns    []net.Listener
	dials  []func() (net.Conn, error)
	cancel context.CancelFunc
	ran    chan error
}

// forEachRunner runs a test with a server on each engine, over TCP and TLS. begin makes the
// server run.
func forEachRunner(t *testing.T, test func(t *testing.T, begin func(s *Server) *runner)) {
	dir := t.TempDir()
	cert, key := servertest.Certificate()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	servertest.Must(t, errors.Join(os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600)))
	for _, e := range servertest.OfEachKind(t, servertest.Engines) {
		t.Run(e.Name, func(t *testing.T) {
			test(t, func(s *Server) *runner {
				if log := prepare(s, e); log != nil {
					t.Cleanup(func() { log.CheckEmpty(t) })
				}
				r := &runner{ran: make(chan error, 1)}
				for range 2 {
					ln, dial := e.Listen(t)
					r.lns, r.dials = append(r.lns, ln), append(r.dials, dial)
				}
				var ctx context.Context
				ctx, r.cancel = context.WithCancel(t.Context())
				go func() {
					if e.TLS {
						r.ran <- s.RunTLS(ctx, certFile, keyFile, r.lns...)
					} else {
						r.ran <- s.Run(ctx, r.lns...)
					}
				}()
				return r
			})
		})
	}
}

func (r *runner) dial(t *testing.T, i int) *servertest.Conn {
	t.Helper()
	nc, err := r.dials[i]()
	if err != nil {
		t.Fatal(err)
	}
	c := servertest.NewConn(t, nc)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ended checks that Run returns, and that nothing is left.
func (r *runner) ended(t *testing.T, s *Server) error {
	t.Helper()
	err := servertest.Receive(t, "return of Run", r.ran)
	for i, dial := range r.dials {
		if nc, err := dial(); err == nil {
			_ = nc.Close()
			t.Errorf("listener %d still accepts", i)
		}
	}
	if n := s.GetOpenConnectionsCount(); n != 0 {
		t.Errorf("%d connections are open", n)
	}
	return err
}

func TestRunServesUntilItsContextEnds(t *testing.T) {
	forEachRunner(t, func(t *testing.T, begin func(s *Server) *runner) {
		g := servertest.NewGate()
		s := &Server{Handler: passing(g)}
		r := begin(s)
		busy, idle := r.dial(t, 0), r.dial(t, 1)
		idle.Get("/idle")
		servertest.Receive(t, "a request", g.Entered)
		g.Open <- struct{}{}
		idle.Expect(200, "through")
		busy.Get("/busy")
		servertest.Receive(t, "a request", g.Entered)
		r.cancel()
		idle.ExpectCut()
		select {
		case err := <-r.ran:
			t.Fatalf("Run returned %v before the response", err)
		default:
		}
		close(g.Open)
		if resp := busy.Expect(200, "through"); !resp.Close {
			t.Error("the last response does not announce the close")
		}
		if err := r.ended(t, s); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// lateFailure is a listener whose Accept fails when the channel is closed.
type lateFailure struct {
	fail <-chan struct{}
	shut chan struct{}
}

var errAcceptFailed = errors.New("accept has failed")

func (ln lateFailure) Accept() (net.Conn, error) {
	select {
	case <-ln.fail:
		return nil, errAcceptFailed
	case <-ln.shut:
		return nil, net.ErrClosed
	}
}

func (ln lateFailure) Addr() net.Addr { return servertest.ZeroAddr }

func (ln lateFailure) Close() error {
	select {
	case <-ln.shut:
	default:
		close(ln.shut)
	}
	return nil
}

func TestRunEndsAllListenersIfOneFails(t *testing.T) {
	for _, e := range servertest.Engines[:2] {
		t.Run(e.Name, func(t *testing.T) {
			s := &Server{Handler: echo}
			prepare(s, e)
			ln, dial := e.Listen(t)
			fail := make(chan struct{})
			r := &runner{dials: []func() (net.Conn, error){dial}, ran: make(chan error, 1)}
			go func() { r.ran <- s.Run(t.Context(), ln, lateFailure{fail, make(chan struct{})}) }()
			c := r.dial(t, 0)
			c.Get("/")
			c.Expect(200, servertest.Echoed("GET", "/", ""))
			close(fail)
			c.ExpectCut()
			if err := r.ended(t, s); !errors.Is(err, errAcceptFailed) {
				t.Errorf("Run: %v, want the error of Accept", err)
			}
		})
	}
}

func TestRunRefusesToServe(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		run  func(s *Server, ln net.Listener) error
		want string
	}{
		"no listener":      {func(s *Server, ln net.Listener) error { defer ln.Close(); return s.Run(t.Context()) }, "there is no listener"},
		"no handler":       {func(s *Server, ln net.Listener) error { s.Handler = nil; return s.Run(t.Context(), ln) }, "Handler is nil"},
		"no certificate":   {func(s *Server, ln net.Listener) error { return s.RunTLS(t.Context(), "", "", ln) }, "cert or key"},
		"no file":          {func(s *Server, ln net.Listener) error { return s.RunTLS(t.Context(), "/no/file", "/no/file", ln) }, "no such file"},
		"an ended context": {func(s *Server, ln net.Listener) error { return s.Run(ended, ln) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ln, dial := servertest.ListenTCP(t)
			s := &Server{Handler: echo, Logger: &servertest.Log{}}
			err := tc.run(s, ln)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if nc, err := dial(); err == nil {
				_ = nc.Close()
				t.Error("the listener is open")
			}
		})
	}
}

// Run returns nil after Shutdown, however many calls there are.
func TestRunBesideShutdown(t *testing.T) {
	forEachRunner(t, func(t *testing.T, begin func(s *Server) *runner) {
		g := servertest.NewGate()
		s := &Server{Handler: passing(g)}
		r := begin(s)
		c := r.dial(t, 0)
		c.Get("/")
		servertest.Receive(t, "the request", g.Entered)
		done := make(chan error, 3)
		for range cap(done) {
			go func() { done <- s.Shutdown() }()
		}
		servertest.Eventually(t, "the shutdown", func() bool { return s.conns.Stopping() })
		r.cancel()
		close(g.Open)
		c.Expect(200, "through")
		for range cap(done) {
			if err := servertest.Receive(t, "Shutdown", done); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		}
		if err := r.ended(t, s); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// The context may end at any moment, such as before Serve has begun.
func TestRunEndsAtAnyMoment(t *testing.T) {
	for _, e := range servertest.Engines[:2] {
		t.Run(e.Name, func(t *testing.T) {
			for i := range servertest.Times(200) {
				s := &Server{Handler: echo}
				prepare(s, e)
				ln, dial := e.Listen(t)
				r := &runner{dials: []func() (net.Conn, error){dial}, ran: make(chan error, 1)}
				ctx, cancel := context.WithCancel(t.Context())
				nc, err := dial() // in the queue of the listener
				servertest.Must(t, err)
				go func() { r.ran <- s.Run(ctx, ln) }()
				for range i % 50 {
					_ = s.GetOpenConnectionsCount()
				}
				cancel()
				if err := r.ended(t, s); err != nil {
					t.Fatalf("Run: %v", err)
				}
				_ = servertest.Close(nc)
			}
		})
	}
}

func TestRunGivesUpAfterShutdownTimeout(t *testing.T) {
	for _, tc := range []struct{ timeout, handler, want time.Duration }{
		{0, time.Hour, defaultShutdownTimeout},
		{time.Minute, time.Hour, time.Minute},
		{time.Minute, time.Second, 0},
		{-1, time.Hour, 0},
	} {
		bubble(t, func(t *testing.T) {
			var begun atomic.Bool
			entered := make(chan struct{})
			s := &Server{NoDefaultDate: true, Logger: &servertest.Log{}, ShutdownTimeout: tc.timeout, Handler: func(*RequestCtx) {
				if begun.CompareAndSwap(false, true) {
					close(entered)
				}
				time.Sleep(tc.handler)
			}}
			ln := fasthttputil.NewInmemoryListener()
			ctx, cancel := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() { ran <- s.Run(ctx, ln) }()
			nc, err := ln.Dial()
			servertest.Must(t, err)
			c := servertest.NewConn(t, nc)
			c.Get("/")
			<-entered
			cancel()
			start := time.Now()
			err = <-ran
			took := time.Since(start)
			if tc.want == 0 {
				if err != nil || took > tc.handler+time.Second || took < tc.handler {
					t.Errorf("%v: Run returned %v after %v", tc, err, took)
				}
			} else if !errors.Is(err, context.DeadlineExceeded) || took != tc.want {
				t.Errorf("%v: Run returned %v after %v", tc, err, took)
			}
			c.Next("GET")
			_ = c.Close()
		})
	}
}
