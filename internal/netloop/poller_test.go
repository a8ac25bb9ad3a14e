//go:build linux

package netloop

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
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

// Handlers run at the same time even if each waits for less time than the timer
// needs to notice it.
func TestHandlersThatWaitALittleWaitTogether(t *testing.T) {
	w := newWorld(t, 1)
	defer w.g.Close()
	const conns = 32
	var inside, most atomic.Int32
	handle := func(byte) {
		n := inside.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(time.Millisecond)
		inside.Add(-1)
	}
	var wg sync.WaitGroup
	for range conns {
		nc := w.call(handle)
		wg.Go(func() {
			for range 50 {
				w.ask(nc, "x")
			}
			_ = nc.Close()
		})
	}
	wg.Wait()
	if n := most.Load(); n < conns/2 {
		t.Errorf("%d of %d handlers wait at a time", n, conns)
	}
}

// A handler that is slow unexpectedly holds up others until the timer fires. The
// next one holds up no connection.
func TestLoopLearnsThatHandlersAreLong(t *testing.T) {
	w := newWorld(t, 1)
	defer w.g.Close()
	l := w.g.get(0)
	free := make(chan struct{})
	var blocked atomic.Int32
	handle := func(b byte) {
		if b == 'b' {
			blocked.Add(1)
			<-free
		}
	}
	quick := w.call(handle)
	w.ask(quick, "x")
	var long []net.Conn
	missed := 0
	for n := int32(1); n <= 10; n++ {
		if n == 1 || n == 5 {
			l.quicken()
		}
		nc := w.call(handle)
		long = append(long, nc)
		if _, err := nc.Write([]byte("b")); err != nil {
			t.Fatal(err)
		}
		servertest.Eventually(t, "the handler blocks", func() bool { return blocked.Load() == n })
		w.ask(quick, "x")
		// whether one such handler is enough depends on when the timer fires
		l.mu.Lock()
		if l.pace.until == 0 {
			t.Errorf("after %d handlers that block the loop knows of none", n)
		}
		if !l.pace.slow {
			// the timer has to find the next one, too
			missed++
		}
		l.mu.Unlock()
	}
	if missed > 6 {
		t.Errorf("after %d of 10 handlers that block the loop expects short ones", missed)
	}
	close(free)
	for _, nc := range long {
		w.expect(nc, "b")
	}
}

// While handlers are slow, a poller is woken before a handler begins: the timer is
// not needed.
func TestPollerIsWokenBeforeASlowHandler(t *testing.T) {
	w := newWorld(t, 1)
	defer w.g.Close()
	l := w.g.get(0)
	l.mu.Lock()
	l.pace = pace{slow: true, until: clock.Monotonic() + time.Hour}
	l.mu.Unlock()
	free := make(chan struct{})
	looks := make(chan bool, 1)
	nc := w.call(func(byte) {
		l.mu.Lock()
		looks <- l.needsPoller()
		l.timer.Stop()
		l.mu.Unlock()
		<-free
	})
	other := w.call(func(byte) {})
	if _, err := nc.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if <-looks {
		t.Error("a handler runs that is expected to be slow, and no poller was woken")
	}
	w.ask(other, "y")
	close(free)
	w.expect(nc, "x")
}

// While handlers are fast no other poller is woken: one does all the work. The loop
// may take a few handlers for slow ones, since the machine may be busy.
func TestShortHandlersNeedOnePoller(t *testing.T) {
	w := newWorld(t, 1)
	defer w.g.Close()
	l := w.g.get(0)
	const asks = 200
	var calls atomic.Int32
	nc := w.call(func(byte) {
		l.mu.Lock()
		calls.Add(int32(l.starting))
		l.mu.Unlock()
	})
	for range asks {
		l.quicken()
		w.ask(nc, "x")
	}
	if n := calls.Load(); n > asks/10 {
		t.Errorf("pollers were woken for %d of %d handlers", n, asks)
	}
}

// In any order of events, of handlers that block and return, and of connections
// that open and close: a handler begins for each event, even if others block.
func TestWhateverIsReadyIsBegun(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, 1)
	defer w.g.Close()
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
				<-c.free
			case 's':
				time.Sleep(50 * time.Microsecond)
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
				if _, err := c.nc.Write([]byte{b}); err != nil {
					t.Fatal(err)
				}
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
	defer w.g.Close()
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
	defer w.g.Close()
	l := w.g.get(0)
	const many = 50
	free := make(chan struct{})
	var blocked atomic.Int32
	var all []net.Conn
	for range many {
		nc := w.call(func(byte) {
			blocked.Add(1)
			<-free
		})
		if _, err := nc.Write([]byte("b")); err != nil {
			t.Fatal(err)
		}
		all = append(all, nc)
	}
	servertest.Eventually(t, "all handlers block", func() bool { return blocked.Load() == many })
	close(free)
	for _, nc := range all {
		w.expect(nc, "b")
	}
	parked := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.idle)
	}
	servertest.Eventually(t, "the pollers are parked", func() bool { return parked() >= many-1 })
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
	defer w.g.Close()
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

// timed is a connection that tells what EventTime returns, twice for each call of Serve. The
// first call does not return before there is another event.
type timed struct {
	Conn
	t       *testing.T
	reading chan bool
	times   chan [2]time.Duration
	calls   int
}

func (c *timed) Serve(p *Poller) bool {
	times := [2]time.Duration{p.EventTime(), p.EventTime()}
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

// TestEventTimeIsThatOfOneCall has an event come while another is handled: when that was is
// not known to the poller that serves it afterwards.
func TestEventTimeIsThatOfOneCall(t *testing.T) {
	w := newWorld(t, 1)
	defer w.g.Close()
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
	<-c.reading
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
