//go:build linux

package netloop

import (
	"io"
	"net"
	"syscall"
	"testing"
)

func TestGuessNeedsAStreakOfOneConnection(t *testing.T) {
	a := syscall.EpollEvent{Fd: 1, Pad: 1, Events: syscall.EPOLLIN}
	hangup := syscall.EpollEvent{Fd: 1, Pad: 1, Events: syscall.EPOLLIN | syscall.EPOLLRDHUP}
	reused := syscall.EpollEvent{Fd: 1, Pad: 2, Events: syscall.EPOLLIN}
	b := syscall.EpollEvent{Fd: 2, Pad: 1, Events: syscall.EPOLLIN}
	for name, c := range map[string]struct {
		last   []syscall.EpollEvent
		waited bool
		alone  bool // a fetch finds nothing afterwards
		want   bool
	}{
		"the same event":        {[]syscall.EpollEvent{a}, true, true, true},
		"a hangup as well":      {[]syscall.EpollEvent{hangup}, true, true, true},
		"one event behind it":   {[]syscall.EpollEvent{a}, true, false, false},
		"without a wait":        {[]syscall.EpollEvent{a}, false, true, false},
		"another descriptor":    {[]syscall.EpollEvent{b}, true, true, false},
		"the next use of it":    {[]syscall.EpollEvent{reused}, true, true, false},
		"two events":            {[]syscall.EpollEvent{a, b}, true, true, false},
		"two events of another": {[]syscall.EpollEvent{b, a}, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			var g eventPrediction
			for range predictAfter {
				if _, ok := g.next(); ok {
					t.Fatalf("a guess after %d events", g.streak)
				}
				g.fetched([]syscall.EpollEvent{a}, true)
				g.fetched(nil, false)
				// woken for nothing
				g.fetched(nil, true)
			}
			if ev, ok := g.next(); !ok || ev != a {
				t.Fatalf("%v, %v after %d events", ev, ok, predictAfter)
			}
			g.fetched(nil, false)
			g.fetched(c.last, c.waited)
			if c.alone {
				g.fetched(nil, false)
			} else {
				g.fetched([]syscall.EpollEvent{a}, false)
			}
			ev, ok := g.next()
			if ok != c.want {
				t.Errorf("a guess: %v, want %v", ok, c.want)
			}
			if ok && ev != a {
				t.Errorf("it is %v", ev)
			}
		})
	}
}

// A guess may be wrong: another connection has the event, or the expected connection was
// closed, or has ended.
func TestEventsThatWereNotExpectedAreServed(t *testing.T) {
	w := newWorld(t, 1)
	ask := func(nc net.Conn) {
		t.Helper()
		w.g.get(0).quicken()
		for range 2 * predictAfter {
			w.ask(nc, "hello")
		}
	}
	a, _ := w.connect()
	b, _ := w.connect()
	for range 5 {
		ask(a)
		w.ask(b, "hello")
	}
	ask(b)
	_ = a.Close()
	ask(b)
	_ = b.Close()
	c, _ := w.connect()
	ask(c)
	if err := c.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the end of the stream was answered by %v", err)
	}
}
