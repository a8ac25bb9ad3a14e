//go:build linux

package netloop

import (
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/servertest"
)

// aged is a connection that reports how long each of its events has waited.
type aged struct {
	Conn
	handle func()
	waited chan time.Duration
}

func (c *aged) Serve(p *Poller) bool {
	_, waited := p.EventTime()
	var buf [16]byte
	for err := error(nil); err == nil; {
		_, err = c.Read(buf[:])
	}
	c.waited <- waited
	c.handle()
	return true
}

func (c *aged) PeerGone()    {}
func (c *aged) PeerSent()    {}
func (c *aged) Expire() bool { return true }

// backlog is a loop whose poller is inside a handler while events of other connections wait.
type backlog struct {
	*world
	clock  *handClock
	loop   *Loop
	waited chan time.Duration // of all events after the first
	finish func()             // ends the first handler
}

// newBacklog makes n events wait. The handler of the first of them takes this long.
func newBacklog(t *testing.T, n int, maxWait, takes time.Duration) *backlog {
	t.Helper()
	b := &backlog{clock: newHandClock(), waited: make(chan time.Duration, n+1)}
	b.world = newWorldOf(t, Options{Loops: 1, MaxWait: maxWait, Now: b.clock.now})
	b.loop = b.g.get(0)
	add := func(handle func()) net.Conn {
		nc, fd := pair(t)
		c := &aged{handle: handle, waited: b.waited}
		c.Init(fd, c)
		servertest.Must(t, b.g.Add(&c.Conn, 0))
		return nc
	}
	first := make(chan struct{}, 1)
	first <- struct{}{}
	var conns []net.Conn
	for range n {
		conns = append(conns, add(func() {
			select {
			case <-first:
				b.clock.pass(takes)
			default:
			}
		}))
	}
	blocks := add(func() { <-b.free })
	b.rest(b.loop, 0)
	// the clock stands still, so the timer finds no slow handler
	b.loop.quicken()
	b.send(blocks, "b")
	servertest.Receive(t, "the handler that holds the loop up", b.waited)
	for _, nc := range conns {
		b.send(nc, "x")
	}
	b.finish = b.release
	return b
}

// times ends the first handler, and returns how long the n events have waited, in order.
func (b *backlog) times(n int) (waited []time.Duration) {
	b.t.Helper()
	b.finish()
	for range n {
		waited = append(waited, servertest.Receive(b.t, "an event", b.waited))
	}
	slices.Sort(waited)
	return waited
}

// The events of a batch wait for each other.
func TestEventsHaveWaitedSinceTheyWereFetched(t *testing.T) {
	const takes = 30 * time.Millisecond
	b := newBacklog(t, 3, time.Second, takes)
	if got, want := b.times(3), []time.Duration{0, takes, takes}; !slices.Equal(got, want) {
		t.Errorf("the events have waited for %v, want %v", got, want)
	}
}

// Marks are also set while a batch is served, so that the events that arrive meanwhile are dated.
func TestMarksAreSetWhileABatchIsServed(t *testing.T) {
	const takes = 30 * time.Millisecond
	b := newBacklog(t, 3, 40*time.Millisecond, takes)
	began := b.clock.now()
	b.times(3)
	b.rest(b.loop, 0)
	b.loop.mu.Lock()
	defer b.loop.mu.Unlock()
	if after := b.loop.marks.last - began; after != takes {
		t.Errorf("the last mark was set after %v, want %v", after, takes)
	}
}

// Events that do not fit into a batch wait in the set, which does not say since when.
func TestEventsHaveWaitedSinceAMarkBehindThem(t *testing.T) {
	const takes = 30 * time.Millisecond
	b := newBacklog(t, 3*batchSize, 40*time.Millisecond, takes)
	if waited := b.times(3 * batchSize); waited[0] != 0 || waited[1] != takes || waited[len(waited)-1] != takes {
		t.Errorf("the events have waited for %v, want %v for all but one", waited, takes)
	}
}

// A loop that need not measure has no marks.
func TestWaitsAreMeasuredOnlyIfTheyMatter(t *testing.T) {
	b := newBacklog(t, 3, 0, 30*time.Millisecond)
	if waited := b.times(3); waited[2] != 0 {
		t.Errorf("the events have waited for %v", waited)
	}
	if b.loop.marks != nil {
		t.Error("the loop has marks")
	}
}

// Marks alone wake no handler, and are set again and again.
func TestMarksAreNoEvents(t *testing.T) {
	clock := newHandClock()
	w := newWorldOf(t, Options{Loops: 1, MaxWait: markCount * time.Millisecond, Now: clock.now})
	l := w.g.get(0)
	var conns []net.Conn
	for range 4 {
		nc, _ := w.connect()
		conns = append(conns, nc)
	}
	for range 20 * markCount {
		clock.pass(time.Millisecond)
		for _, nc := range conns {
			w.send(nc, "x")
		}
		for _, nc := range conns {
			w.expect(nc, "x")
		}
	}
	w.rest(l, 0)
	if n := w.served.Load(); n != 80*markCount {
		t.Errorf("%d messages were served of %d", n, 80*markCount)
	}
}

// The set is a queue: a mark dates the events before it.
func TestMarksDateTheEventsBeforeThem(t *testing.T) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	servertest.Must(t, err)
	defer unix.Close(set)
	clock := newHandClock()
	m, err := newMarks(set, 4*time.Second)
	servertest.Must(t, err)
	defer m.close()
	began := clock.now()
	fd := func(i int) int32 { return int32(m.marks[i].event.FD()) }
	for range markCount + 1 {
		m.set(clock.now, clock.now())
		m.set(clock.now, clock.now()) // too soon
		clock.pass(time.Second)
	}
	take := func(fds ...int32) []time.Duration {
		t.Helper()
		var events, rest []syscall.EpollEvent
		for _, fd := range fds {
			events = append(events, syscall.EpollEvent{Fd: fd})
			if m.find(fd) == nil {
				rest = append(rest, syscall.EpollEvent{Fd: fd})
			}
		}
		n := m.take(events)
		if !slices.Equal(events[:n], rest) {
			t.Errorf("%v is left of %v", events[:n], fds)
		}
		m.fetched(n, clock.now())
		var ages []time.Duration
		for _, since := range m.since[:n] {
			ages = append(ages, (since-began)/time.Second)
		}
		return ages
	}
	for _, test := range []struct {
		fds  []int32
		want []time.Duration // in seconds after the first mark
	}{
		{[]int32{-1, -2}, []time.Duration{0, 0}},
		{[]int32{-1, fd(0), -2, -3, fd(1), -4}, []time.Duration{0, 1, 1, 2}},
		{[]int32{fd(2)}, nil},
		{[]int32{-1}, []time.Duration{3}},
		{[]int32{-1, fd(3), -2}, []time.Duration{3, markCount + 1}},
	} {
		if got := take(test.fds...); !slices.Equal(got, test.want) {
			t.Errorf("events %v wait since %v, want %v", test.fds, got, test.want)
		}
	}
	if m.set(clock.now, clock.now()); m.oldest() != clock.now() {
		t.Error("no mark is set once all were fetched")
	}
}
