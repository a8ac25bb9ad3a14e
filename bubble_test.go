package fasthttp

import (
	"bufio"
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/servertest"
)

// bubble runs a test on a fake clock: time passes only while all goroutines of the test wait,
// so all instants are exact. State shared by the process stays outside: its clock uses the
// system's time, and no pooled timer is used on both sides. Such a test does not run in
// parallel with others.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	over, kept := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(kept)
		ticker := time.NewTicker(clock.Resolution)
		defer ticker.Stop()
		for !servertest.IsClosed(over) {
			// a clock in use is not started inside the bubble
			_ = clock.Elapsed()
			<-ticker.C
		}
	}()
	_ = clock.Elapsed()
	emptyTimers()
	servertest.Bubble(t, test)
	emptyTimers()
	close(over)
	servertest.Receive(t, "the end of the other goroutine", kept)
}

func emptyTimers() {
	for timerPool.Get() != nil {
	}
}

// inBubble runs a test with a server on an in-memory listener and a fake clock.
func inBubble(t *testing.T, s *Server, test func(t *testing.T, dial func() *servertest.Conn)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		// the clock of the Date field does not run on the fake time
		s.NoDefaultDate = true
		if s.Logger == nil {
			s.Logger = &servertest.Log{}
		}
		if s.Handler == nil {
			s.Handler = echo
		}
		ln := fasthttputil.NewInmemoryListener()
		served := make(chan error)
		go func() { served <- s.Serve(ln) }()
		var conns []net.Conn
		defer func() {
			for _, c := range conns {
				_ = c.Close()
			}
			if err := s.Shutdown(); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		}()
		test(t, func() *servertest.Conn {
			nc, err := ln.Dial()
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, nc)
			return &servertest.Conn{Conn: nc, T: t, R: bufio.NewReader(nc)}
		})
	})
}

// endsAfter checks that the server closes the connection after that time, without a
// response.
func endsAfter(c *servertest.Conn, after time.Duration) {
	c.T.Helper()
	start := time.Now()
	b, err := io.ReadAll(c.R)
	if got := time.Since(start); len(b) > 0 || err != nil || got != after {
		c.T.Fatalf("got %q, %v after %v, want the end after %v", b, err, got, after)
	}
}

// timesOutAfter checks that the server answers with 408 and closes the connection
// after that time.
func timesOutAfter(c *servertest.Conn, after time.Duration) {
	c.T.Helper()
	start := time.Now()
	resp := c.Next("GET")
	if got := time.Since(start); resp.StatusCode != StatusRequestTimeout || !resp.Close || got != after {
		c.T.Fatalf("got %d after %v, want 408 after %v", resp.StatusCode, got, after)
	}
	endsAfter(c, 0)
}

// callInBubble runs a test with a client of a peer in memory and a fake clock. serve is run
// for every connection, which is closed afterwards.
func callInBubble(t *testing.T, serve func(c *servertest.PeerConn), test func(t *testing.T, hc *HostClient)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		ln := fasthttputil.NewInmemoryListener()
		p := &servertest.Peer{T: t}
		var serving sync.WaitGroup
		serving.Go(func() {
			for {
				nc, err := ln.Accept()
				if err != nil {
					return
				}
				n := int(p.Conns.Add(1))
				serving.Go(func() {
					defer nc.Close()
					serve(&servertest.PeerConn{Conn: nc, Peer: p, Number: n, R: bufio.NewReader(nc)})
				})
			}
		})
		hc := &HostClient{Addr: "peer.test", DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }}
		defer func() {
			hc.CloseIdleConnections()
			_ = ln.Close()
			serving.Wait()
			if n, pending := hc.ConnsCount(), hc.PendingRequests(); n != 0 || pending != 0 {
				t.Errorf("%d connections and %d calls are left", n, pending)
			}
		}()
		test(t, hc)
	})
}

// takesTime checks that a call takes that time by the fake clock.
func takesTime(t *testing.T, what string, want time.Duration, call func()) {
	t.Helper()
	start := time.Now()
	call()
	if got := time.Since(start); got != want {
		t.Errorf("%s takes %v, want %v", what, got, want)
	}
}

// withLongerTimeouts makes attempts with longer and longer timeouts until one succeeds. It is
// for tests of steps that a timeout must not cut off, on sockets, which have no fake clock: on
// a busy machine the steps before them may take longer than a short timeout. Faulty code fails
// with every timeout.
func withLongerTimeouts(t *testing.T, attempt func(timeout time.Duration) (why string)) {
	t.Helper()
	why := ""
	for timeout := servertest.Short; timeout < servertest.Patience; timeout *= 3 {
		if why = attempt(timeout); why == "" {
			return
		}
	}
	t.Fatal(why)
}

// expires waits until the server ends a connection because of a timeout, with a response or
// without one: then the same time has passed for other connections.
func expires(c *servertest.Conn) {
	c.T.Helper()
	if b, err := io.ReadAll(c.R); isTimeout(err) {
		c.T.Fatalf("got %q, %v, want the end of a connection that is late", b, err)
	}
}

// answered sends a request, and reports whether the response has the status 200.
func answered(c *servertest.Conn, request string) bool {
	_, _ = io.WriteString(c.Conn, request)
	resp, err := servertest.ReadResponse(c.R, "GET")
	return err == nil && resp.StatusCode == StatusOK
}

// letOthersRun gives other goroutines time for their next steps, if the machine has that time.
// No test depends on it: without it a test is only less strict.
func letOthersRun() {
	for range 1000 {
		runtime.Gosched()
	}
}
