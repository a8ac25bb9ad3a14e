package engine

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// logHost is a Host that keeps its log.
type logHost struct {
	linesHost
	logs chan string
}

func (h *logHost) Logf(format string, args ...any) { h.logs <- fmt.Sprintf(format, args...) }

// expectPanic reports an error unless a panic was logged, once if panics is set.
func (h *logHost) expectPanic(t *testing.T, panics bool) {
	t.Helper()
	got := ""
	for len(h.logs) > 0 {
		got += servertest.Receive(t, "a log", h.logs)
	}
	if n := strings.Count(got, "panic serving a connection: a mistake"); n > 1 || panics != (n == 1) {
		t.Errorf("the log is %q", got)
	}
}

// faultyConn is a connection with code of the application.
type faultyConn struct {
	net.Conn
	read, closed func()
	deadline     atomic.Pointer[func()] // called by SetReadDeadline
}

func (c *faultyConn) Read(p []byte) (int, error) {
	if c.read != nil {
		c.read()
	}
	return c.Conn.Read(p)
}

func (c *faultyConn) Close() error {
	err := c.Conn.Close()
	if c.closed != nil {
		c.closed()
	}
	return err
}

func (c *faultyConn) SetReadDeadline(t time.Time) error {
	if f := c.deadline.Load(); f != nil {
		(*f)()
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *faultyConn) CloseWrite() error { return nil }

var faults = map[string]func(){"panic": func() { panic("a mistake") }, "Goexit": runtime.Goexit}

// goneWatcher is a Watcher that passes on the end.
type goneWatcher chan bool

func (w goneWatcher) PeerGone(half bool) { w <- half }

// A Read that panics while a handler runs ends the connection, not the process.
func TestPanicsWhileWatchingEndTheConnection(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			h := &logHost{logs: make(chan string, 9)}
			near, far := net.Pipe()
			defer far.Close()
			e := &portable{nc: &faultyConn{Conn: near, read: fault, closed: func() { panic("another mistake") }}}
			e.Set, e.NC = &Set{Host: h}, e.nc
			w := make(goneWatcher, 9)
			e.Watch(w, true)
			if half := servertest.Receive(t, "the end of the peer", w); half {
				t.Error("only half of it")
			}
			e.Unwatch()
			if !e.IsAborted() {
				t.Error("the connection is not reset")
			}
			h.expectPanic(t, name == "panic")
			if len(w) > 0 {
				t.Error("the end is reported twice")
			}
		})
	}
}

// lingeringHost is a logHost whose connections linger.
type lingeringHost struct{ logHost }

func (h *lingeringHost) AcquireProtocol(c *Conn, _ Link, _ Protocol) Protocol {
	return &lastLines{lines{c: c}}
}

type lastLines struct{ lines }

func (p *lastLines) Step() Action {
	if len(p.in) > 0 {
		return Linger
	}
	return p.lines.Step()
}

// So does a fault while a connection closes.
func TestFaultsWhileClosingEndTheConnection(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			for part, at := range map[string]func(c *faultyConn, far net.Conn){
				"lingering": func(c *faultyConn, _ net.Conn) {
					c.read = func() { c.read = fault }
				},
				"closing": func(c *faultyConn, far net.Conn) {
					c.read = func() { _ = far.Close() }
					c.closed = fault
				},
			} {
				h := &lingeringHost{logHost{logs: make(chan string, 9)}}
				s := &Set{Host: h}
				s.Renew()
				near, far := net.Pipe()
				c := &faultyConn{Conn: near}
				at(c, far)
				go func() { _, _ = far.Write([]byte("x")) }()
				ended := make(chan any, 1)
				go func() {
					defer func() { ended <- recover() }()
					_ = s.ServeConn(c)
				}()
				if p := servertest.Receive(t, "the end of "+part, ended); p != nil {
					t.Errorf("%s: %v", part, p)
				}
				if n := s.Open(); n != 0 {
					t.Errorf("%s: %d connections are open", part, n)
				}
				h.expectPanic(t, name == "panic")
				_ = far.Close()
			}
		})
	}
}

// A shutdown continues if a method of a connection panics.
func TestPanicsInAShutdownEndTheConnection(t *testing.T) {
	t.Run("deadline", func(t *testing.T) {
		h := &logHost{logs: make(chan string, 9)}
		s := &Set{Host: h}
		s.Renew()
		near, far := net.Pipe()
		defer far.Close()
		reads := make(chan struct{}, 1)
		c := &faultyConn{Conn: near, read: func() { reads <- struct{}{} }}
		served := make(chan error, 1)
		go func() { served <- s.ServeConn(c) }()
		servertest.Receive(t, "a wait for a request", reads)
		fault := faults["panic"]
		c.deadline.Store(&fault)
		s.closeIdle(t.Context())
		_ = servertest.Receive(t, "the end of the connection", served)
		h.expectPanic(t, true)
	})
	t.Run("closing", func(t *testing.T) {
		h := &logHost{logs: make(chan string, 9)}
		near, far := net.Pipe()
		defer far.Close()
		c := &Conn{Set: &Set{Host: h}, NC: &faultyConn{Conn: near, closed: faults["panic"]}, shutdownProbes: maxShutdownProbes}
		for _, to := range []stage{stageWaiting, stageProbed} {
			c.change(c.loadStage(), to)
		}
		c.claimIdle()()
		if line := servertest.Receive(t, "the log", h.logs); !strings.Contains(line, "a mistake") {
			t.Errorf("the log is %q", line)
		}
	})
}

// admittingHost is a logHost that asks for addresses, as a limit for each address does, and counts
// the connections that it has admitted.
type admittingHost struct {
	logHost
	admitted atomic.Int32
	prepare  func()
}

func (h *admittingHost) Admit(nc net.Conn) (peer netip.Addr, err error) {
	_ = nc.RemoteAddr()
	h.admitted.Add(1)
	return peer, nil
}

func (h *admittingHost) Prepare(net.Conn) {
	if h.prepare != nil {
		h.prepare()
	}
}

func (h *admittingHost) ConnClosed(netip.Addr) { h.admitted.Add(-1) }

// placelessConn is a connection whose address cannot be had.
type placelessConn struct{ faultyConn }

func (*placelessConn) RemoteAddr() net.Addr { panic("a mistake") }

// A panic before a connection is served ends that connection, not Serve, nor the process if a
// worker has accepted the connection.
func TestPanicsWhileAcceptingEndTheConnection(t *testing.T) {
	for _, part := range []string{"admitting", "preparing"} {
		t.Run(part, func(t *testing.T) {
			h := &admittingHost{logHost: logHost{logs: make(chan string, 9)}}
			s := &Set{Host: h}
			s.Renew()
			near, far := net.Pipe()
			defer far.Close()
			_ = far.SetDeadline(time.Now().Add(servertest.Patience))
			c := net.Conn(&faultyConn{Conn: near})
			if part == "admitting" {
				c = &placelessConn{faultyConn{Conn: near, closed: faults["panic"]}}
			} else {
				h.prepare = faults["panic"]
			}
			if e := s.accepted(c); e != nil {
				t.Error("the connection is served")
			}
			if line := servertest.Receive(t, "the log", h.logs); !strings.Contains(line, "a mistake") {
				t.Errorf("the log is %q", line)
			}
			if n := h.admitted.Load(); n != 0 {
				t.Errorf("%d connections are counted", n)
			}
			if _, err := far.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the connection is not closed: %v", err)
			}
		})
	}
}
