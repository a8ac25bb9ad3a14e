//go:build linux

package netloop

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/servertest"
)

// caller is a connection whose handler is a function, called for each byte.
type caller struct {
	Conn
	handle func(b byte)
}

func (c *caller) Serve(*Poller) bool {
	for {
		var buf [1]byte
		switch _, err := c.Read(buf[:]); err {
		case nil:
			c.handle(buf[0])
			_, _ = c.Write(buf[:], nil)
		case ErrAgain:
			return true
		default:
			c.Close(false)
			return false
		}
	}
}

func (c *caller) PeerGone() {}

func (c *caller) PeerSent()    {}
func (c *caller) Expire() bool { return true }

func (w *world) call(handle func(b byte)) net.Conn {
	w.t.Helper()
	nc, fd := pair(w.t)
	c := &caller{handle: handle}
	c.Init(fd, c)
	if err := w.g.Add(&c.Conn, 0); err != nil {
		w.t.Fatal(err)
	}
	return nc
}

// quicken makes a loop expect fast handlers.
func (l *Loop) quicken() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pace = pace{}
}

// rest waits until n handlers are running, and a poller waits for further events, with
// every other poller parked.
func (w *world) rest(l *Loop, n int) {
	w.t.Helper()
	servertest.Eventually(w.t, fmt.Sprintf("a loop that rests beside %d handlers", n), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.serving == n && l.starting == 0 && l.hasLeader && l.next == l.fetched
	})
}

// isSlow reports whether a loop expects slow handlers.
func (l *Loop) isSlow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pace.slow
}

// Handlers run concurrently even if each waits for less time than the timer needs to notice
// it: here, for no time at all.
func TestHandlersThatWaitALittleWaitTogether(t *testing.T) {
	w := newWorldAt(t, 1, newHandClock().now)
	const conns, rounds = 32, 50
	inside := make(chan struct{}, conns)
	goOn := make(chan struct{})
	handle := func(byte) {
		inside <- struct{}{}
		select {
		case <-goOn:
		case <-w.free:
		}
	}
	var all []net.Conn
	for range conns {
		all = append(all, w.call(handle))
	}
	for range rounds {
		for _, nc := range all {
			w.send(nc, "x")
		}
		for range conns {
			servertest.Receive(t, "a handler beside others that wait", inside)
		}
		for range conns {
			goOn <- struct{}{}
		}
		for _, nc := range all {
			w.expect(nc, "x")
		}
	}
}

// An unexpectedly slow handler delays others until the timer finds it. The next slow
// handlers delay no connection, until all this is forgotten.
func TestLoopLearnsThatHandlersAreLong(t *testing.T) {
	clock := newHandClock()
	w := newWorldAt(t, 1, clock.now)
	l := w.g.get(0)
	inside := make(chan struct{}, 1)
	handle := func(b byte) {
		if b == 'b' {
			inside <- struct{}{}
			<-w.free
		}
	}
	quick := w.call(handle)
	w.ask(quick, "x")
	var long []net.Conn
	block := func() {
		t.Helper()
		w.rest(l, len(long))
		nc := w.call(handle)
		long = append(long, nc)
		w.send(nc, "b")
		servertest.Receive(t, "a handler that blocks", inside)
	}
	l.quicken()
	for range 3 {
		block()
		if l.isSlow() {
			t.Fatal("a loop with fast handlers expects slow ones")
		}
		w.send(quick, "x")
		clock.pass(slowMax)
		w.expect(quick, "x")
		if !l.isSlow() {
			t.Fatal("the loop has learned nothing of a handler that blocks")
		}
		for range 3 {
			block()
			w.ask(quick, "x")
		}
		clock.pass(slowFactor * slowMax)
		w.ask(quick, "x")
		w.rest(l, len(long))
		if l.isSlow() {
			t.Fatal("the loop remembers for too long")
		}
	}
	w.release()
	for _, nc := range long {
		w.expect(nc, "b")
	}
}

// While handlers are slow, a poller is woken before a handler begins: the timer is
// not needed.
func TestPollerIsWokenBeforeASlowHandler(t *testing.T) {
	w := newWorldAt(t, 1, newHandClock().now)
	l := w.g.get(0)
	looks := make(chan bool, 1)
	nc := w.call(func(byte) {
		l.mu.Lock()
		looks <- l.needsPoller()
		l.timer.Stop()
		l.mu.Unlock()
		<-w.free
	})
	other := w.call(func(byte) {})
	w.send(nc, "x")
	if servertest.Receive(t, "a look at the loop", looks) {
		t.Error("a handler runs that is expected to be slow, and no poller was woken")
	}
	w.ask(other, "y")
	w.release()
	w.expect(nc, "x")
}

// While handlers are fast no other poller is woken: one poller does all the work.
func TestShortHandlersNeedOnePoller(t *testing.T) {
	w := newWorldAt(t, 1, newHandClock().now)
	l := w.g.get(0)
	var wakes atomic.Int32
	nc := w.call(func(byte) {
		l.mu.Lock()
		wakes.Add(int32(l.starting))
		l.mu.Unlock()
	})
	w.rest(l, 0)
	l.quicken()
	for range 200 {
		w.ask(nc, "x")
	}
	if n := wakes.Load(); n > 0 {
		t.Errorf("pollers were woken for %d of 200 handlers", n)
	}
}

// In any order of events, of handlers that block and return, and of connections
// that open and close: a handler begins for each event, even if others block.
func TestWhateverIsReadyIsBegun(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	// some handlers take long by the clock of the loop
	var passed atomic.Int64
	w := newWorldAt(t, 1, func() time.Duration { return clock.Monotonic() + time.Duration(passed.Load()) })
	l := w.g.get(0)
	type conn struct {
		nc       net.Conn
		begun    atomic.Int32
		sent     int32
		blocking bool
		free     chan struct{}
	}
	open := func() *conn {
		c := &conn{free: make(chan struct{}, 1)}
		c.nc = w.call(func(b byte) {
			c.begun.Add(1)
			switch b {
			case 'b':
				select {
				case <-c.free:
				case <-w.free:
				}
			case 's':
				passed.Add(int64(2 * shortHandler))
			case 'y':
				runtime.Gosched()
			}
		})
		return c
	}
	conns := make([]*conn, 24)
	for i := range conns {
		conns[i] = open()
	}
	begun := func() bool {
		for _, c := range conns {
			if c.begun.Load() != c.sent {
				return false
			}
		}
		return true
	}
	for step := range 1500 {
		// a few at once, so that they are fetched together
		for range 1 + r.IntN(6) {
			i := r.IntN(len(conns))
			c := conns[i]
			switch {
			case c.blocking:
				c.free <- struct{}{}
				w.expect(c.nc, "b")
				c.blocking = false
			case c.begun.Load() != c.sent:
			case r.IntN(20) == 0:
				_ = c.nc.Close()
				conns[i] = open()
			default:
				b := "bsyqqq"[r.IntN(6)]
				c.blocking = b == 'b'
				c.sent++
				w.send(c.nc, string(b))
				if !c.blocking {
					w.expect(c.nc, string(b))
				}
			}
		}
		if r.IntN(50) == 0 {
			l.quicken()
		}
		servertest.Eventually(t, fmt.Sprintf("all that is ready at step %d was begun", step), begun)
	}
	for _, c := range conns {
		if c.blocking {
			c.free <- struct{}{}
		}
		_ = c.nc.Close()
	}
}

// A goroutine that a handler has locked to its thread stops being a poller.
func TestLockedGoroutinesLeaveTheLoop(t *testing.T) {
	w := newWorld(t, 1)
	threads := make(chan int, 100)
	nc := w.call(func(b byte) {
		if b == 'l' {
			runtime.LockOSThread()
		}
		if lockedToThread() {
			threads <- syscall.Gettid()
		}
	})
	for range 3 {
		w.ask(nc, "l")
	}
	servertest.Eventually(t, "no locked goroutine serves any more", func() bool {
		for len(threads) > 0 {
			<-threads
		}
		w.ask(nc, "x")
		return len(threads) == 0
	})
}

func TestPollersThatAreNotNeededEnd(t *testing.T) {
	w := newWorld(t, 1)
	l := w.g.get(0)
	// only the test trims
	l.mu.Lock()
	l.trimmer = time.AfterFunc(time.Hour, func() {})
	l.mu.Unlock()
	const many = 50
	var blocked atomic.Int32
	var all []net.Conn
	for range many {
		nc := w.call(func(byte) {
			blocked.Add(1)
			<-w.free
		})
		w.send(nc, "b")
		all = append(all, nc)
	}
	servertest.Eventually(t, "all handlers block", func() bool { return blocked.Load() == many })
	w.release()
	for _, nc := range all {
		w.expect(nc, "b")
	}
	parked := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.idle)
	}
	w.rest(l, 0)
	// the first call cannot know which pollers were needed
	l.trim()
	if n := parked(); n < many-1 {
		t.Errorf("%d are kept of %d that were needed just now", n, many)
	}
	before := runtime.NumGoroutine()
	l.trim()
	if n := parked(); n != keepIdle {
		t.Errorf("%d are kept, want %d", n, keepIdle)
	}
	servertest.Eventually(t, "their goroutines end", func() bool { return runtime.NumGoroutine() <= before-many+keepIdle+2 })
	w.ask(all[0], "x")
}

func TestGroupsGrow(t *testing.T) {
	w := newWorld(t, 1)
	nc, _ := w.connect()
	w.ask(nc, "x")
	for _, n := range []int{3, 2} {
		if err := w.g.Grow(n); err != nil || w.g.Len() != 3 {
			t.Fatalf("%d loops, %v", w.g.Len(), err)
		}
	}
	used := map[*Loop]bool{}
	for range 6 {
		nc, c := w.connect()
		w.ask(nc, "y")
		used[c.loop] = true
	}
	if len(used) != 3 {
		t.Errorf("connections are on %d of 3 loops", len(used))
	}
	w.ask(nc, "x")
}

// timed is a connection that reports the result of EventTime, twice for each call of Serve.
// The first call does not return before there is another event.
type timed struct {
	Conn
	t       *testing.T
	reading chan bool
	times   chan [2]time.Duration
	calls   int
}

func (c *timed) Serve(p *Poller) bool {
	var times [2]time.Duration
	for i := range times {
		times[i], _ = p.EventTime()
	}
	var buf [16]byte
	for err := error(nil); err == nil; {
		_, err = c.Read(buf[:])
	}
	if c.calls++; c.calls == 1 {
		close(c.reading)
		servertest.Eventually(c.t, "another event", c.Pending)
	}
	c.times <- times
	return true
}

func (c *timed) PeerGone()    {}
func (c *timed) PeerSent()    {}
func (c *timed) Expire() bool { return true }

// TestEventTimeIsThatOfOneCall makes an event arrive while another is handled: the poller
// that serves it afterwards does not know when it arrived.
func TestEventTimeIsThatOfOneCall(t *testing.T) {
	w := newWorld(t, 1)
	nc, fd := pair(t)
	c := &timed{t: t, reading: make(chan bool), times: make(chan [2]time.Duration, 3)}
	c.Init(fd, c)
	servertest.Must(t, w.g.Add(&c.Conn, 0))
	send := func() (before time.Duration) {
		before = clock.Monotonic()
		_, err := nc.Write([]byte("x"))
		servertest.Must(t, err)
		return before
	}
	before := send()
	servertest.Receive(t, "the first call", c.reading)
	send()
	for i, known := range []bool{true, false, true} {
		if i == 2 {
			servertest.Eventually(t, "the connection is idle", c.TryAcquire)
			c.Release()
			before = send()
		}
		got := servertest.Receive(t, "the times", c.times)
		if known && (got[0] < before || got[0] > clock.Monotonic()) || !known && got[0] != 0 || got[1] != 0 {
			t.Errorf("call %d: the times are %v, sent at %v", i, got, before)
		}
	}
	servertest.Eventually(t, "the connection can be acquired", c.TryAcquire)
	c.Close(false)
}
