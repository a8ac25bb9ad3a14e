package engine

import (
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/netloop"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestPhasesOfEventConnections walks all changes from each phase to each other one.
func TestPhasesOfEventConnections(t *testing.T) {
	want := map[eventPhase][]eventPhase{
		eventServing:     {eventUnsent, eventYielded, eventLingering, eventCloseNotify, eventEnded},
		eventUnsent:      {eventServing, eventUnsent, eventLingering, eventCloseNotify, eventEnded},
		eventYielded:     {eventServing, eventLingering, eventCloseNotify, eventEnded},
		eventLingering:   {eventEnded},
		eventHeader:      {eventServing, eventHello, eventEnded},
		eventHello:       {eventHandshake, eventEnded},
		eventHandshake:   {eventServing, eventLingering, eventEnded},
		eventCloseNotify: {eventLingering, eventEnded},
	}
	for from := range eventPhases {
		legal := map[eventPhase]bool{}
		for _, to := range want[from] {
			legal[to] = true
		}
		for to := range eventPhases {
			c := &eventConn{phase: from}
			changed := true
			func() {
				defer func() { changed = recover() == nil }()
				c.change(to)
			}()
			if changed != legal[to] || changed != (c.phase == to) && from != to {
				t.Errorf("phase %d to %d: %v, now %d", from, to, changed, c.phase)
			}
		}
	}
}

// Go raises GOMAXPROCS by itself if the limit of a container is raised.
func TestLoopsFollowTheNumberOfProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newLines()
	serve(t, s, ln, "event")
	dial := func() net.Conn {
		nc, err := net.Dial("tcp4", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		return nc
	}
	ask := func(nc net.Conn) {
		t.Helper()
		_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
		var got [2]byte
		if _, err := nc.Write([]byte("x\n")); err != nil {
			t.Fatal(err)
		}
		if n, err := nc.Read(got[:]); n == 0 {
			t.Fatal(err)
		}
	}
	first := dial()
	ask(first)
	loops := func() (n int) {
		s.All(func(c *Conn) { n = c.NC.(*eventConn).group().Len() })
		return n
	}
	if n := loops(); n != 1 {
		t.Fatalf("%d loops for one processor", n)
	}
	runtime.GOMAXPROCS(3)
	for range growEvery {
		ask(dial())
	}
	if n := loops(); n != 3 {
		t.Errorf("%d loops for three processors", n)
	}
	for _, nc := range []net.Conn{first, dial(), dial(), dial()} {
		ask(nc)
	}
}

// emptyLines is a Protocol whose requests may have empty lines before them.
type emptyLines struct{ lines }

func (p *emptyLines) Step() Action {
	for len(p.in) > 0 && p.in[0] == '\n' {
		p.in = p.in[:copy(p.in, p.in[1:])]
		p.c.Empty++
	}
	return p.lines.Step()
}

type emptyLinesHost struct{ linesHost }

func (*emptyLinesHost) AcquireProtocol(c *Conn, _ Link, _ Protocol) Protocol {
	return &emptyLines{lines{c: c}}
}

// acquired returns the only connection of a Set once it is on its loop and, unless ready is nil, ready
// holds. The caller owns it.
func acquired(t *testing.T, s *Set, ready func(*eventConn) bool) (c *eventConn) {
	t.Helper()
	servertest.Eventually(t, "the connection is on its loop", func() bool {
		s.All(func(found *Conn) { c = transportOf(found.NC).(*eventConn) })
		return c != nil && (ready == nil || ready(c)) && c.net.TryAcquire()
	})
	return c
}

// If a deadline passes while an empty line lies unread, the connection must not wait
// forever.
func TestEmptyLinesDoNotTakeTheFirstDeadlineAway(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Set{Host: new(emptyLinesHost), Limits: Limits{First: time.Hour, RespondsOnTimeout: true}}
	s.Renew()
	serve(t, s, ln, "event")
	peer, err := net.Dial("tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	c := acquired(t, s, nil)
	if _, err := peer.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the empty line is there", c.hasInput)
	// as the wheel does
	c.net.SetDeadline(0)
	if c.Expire() {
		c.net.Release()
	}
	servertest.Eventually(t, "the connection is closed", func() bool { return s.Open() == 0 })
}

var _ netloop.Handler = (*eventConn)(nil)

// bytewise is a Protocol that takes one byte per read, so that a connection soon has to let
// others go first.
type bytewise struct{ lines }

func (p *bytewise) ReadBuffer() []byte               { return p.lines.ReadBuffer()[:1] }
func (p *bytewise) Yield() (w Wait, until time.Time) { return WaitNone, until }

type bytewiseHost struct{ linesHost }

func (*bytewiseHost) AcquireProtocol(c *Conn, _ Link, _ Protocol) Protocol {
	return &bytewise{lines{c: c}}
}

// Bytes received before a connection let others go first are served afterwards, even if
// nothing follows them.
func TestInputBeforeATurnIsServedAfterIt(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Set{Host: new(bytewiseHost)}
	s.Renew()
	serve(t, s, ln, "event")
	for size := 1; size <= 4*ioBudget; size++ {
		nc, err := net.Dial("tcp4", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
		text := strings.Repeat("x", size-1) + "\n"
		if _, err := io.WriteString(nc, text); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, size)
		if _, err := io.ReadFull(nc, got); err != nil || string(got) != text {
			t.Fatalf("%d bytes came back as %q, %v", size, got, err)
		}
		_ = nc.Close()
	}
}
