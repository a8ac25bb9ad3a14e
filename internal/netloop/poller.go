//go:build linux

package netloop

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

// Loop is an epoll set and the pollers that serve it.
//
// One poller waits on the set: it has the waiting seat. When it wakes with
// events it leaves the seat and serves them itself, with no switch to another
// goroutine, and comes back to the seat. As a rule handlers return at once, and
// then it is the only one at work.
//
// A handler may block, though, and then somebody must look after what becomes
// ready meanwhile. A timer that runs while there is traffic finds out: it sends
// another poller to the seat, and makes the loop careful for some seconds. In
// a careful loop a poller that leaves the seat does not rely on coming back:
//
//   - With more than one event at hand it sends another poller to the seat at
//     once, who takes over events that were fetched and not begun.
//   - With a single event that is not worth it: with one busy connection two
//     pollers would take turns on two processors, at three times the cost.
//     Instead a second epoll set that holds the first is armed. Whoever has
//     the guard seat waits on that, and goes to the waiting seat if an event
//     comes before the first poller is back.
//   - The guard is no help while a handler computes: the thread that took its
//     event from Go's poller was the one that waited there, and the runtime sends
//     no other one for up to 10 ms, to timers neither. Where the timer above
//     comes late for that reason the loop is crowded for some seconds: a single
//     event is treated like several then.
//
// Waiting is done through Go's own poller: an epoll descriptor is pollable, so
// a waiting poller is a parked goroutine and blocks no thread.
type Loop struct {
	set   pollSet
	guard pollSet
	wheel wheel

	// begun counts the events that were begun: where it stands still and
	// nobody waits, a handler blocks
	begun atomic.Uint32
	// careful is the tick up to which handlers are expected to block
	careful atomic.Uint32
	// crowded is the tick up to which handlers are expected to compute for long
	crowded atomic.Uint32

	// left counts the events that were fetched and not begun, so that nobody
	// looks through the pollers for none
	left atomic.Int32

	mu       sync.Mutex
	waiting  bool // the waiting seat is taken
	guarding bool // the guard seat is taken
	armed    bool // the guard is to wake up when the set has events
	closed   bool
	watched  bool   // the timer runs
	seen     uint32 // begun, when the timer looked last
	timer    *time.Timer
	planned  time.Time // when the timer was set
	idle     []*Poller
	pollers  []*Poller
	running  sync.WaitGroup
}

// pollSet is an epoll descriptor that Go's poller watches.
type pollSet struct {
	fd   int
	file *os.File
	raw  syscall.RawConn
}

func newPollSet() (s pollSet, err error) {
	s.fd, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return s, err
	}
	if err = syscall.SetNonblock(s.fd, true); err == nil {
		s.file = os.NewFile(uintptr(s.fd), "epoll")
		s.raw, err = s.file.SyscallConn()
	}
	if err != nil {
		_ = syscall.Close(s.fd)
	}
	return s, err
}

func newLoop() (*Loop, error) {
	l := &Loop{}
	var err error
	if l.set, err = newPollSet(); err != nil {
		return nil, err
	}
	if l.guard, err = newPollSet(); err != nil {
		_ = l.set.file.Close()
		return nil, err
	}
	if err = l.control(syscall.EPOLL_CTL_ADD, 0); err != nil {
		_ = l.set.file.Close()
		_ = l.guard.file.Close()
		return nil, err
	}
	l.wheel.start()
	l.mu.Lock()
	l.timer = time.AfterFunc(time.Hour, l.look)
	l.timer.Stop()
	l.waiting = true
	l.startPoller(waitingSeat)
	l.mu.Unlock()
	return l, nil
}

// control changes what the guard set watches the loop's set for.
func (l *Loop) control(op int, events uint32) error {
	ev := syscall.EpollEvent{Events: events, Fd: int32(l.set.fd)}
	return syscall.EpollCtl(l.guard.fd, op, l.set.fd, &ev)
}

// arm and disarm are called with mu held.
func (l *Loop) arm() {
	l.armed = true
	_ = l.control(syscall.EPOLL_CTL_MOD, syscall.EPOLLIN|syscall.EPOLLONESHOT)
}

func (l *Loop) disarm() {
	if l.armed {
		l.armed = false
		_ = l.control(syscall.EPOLL_CTL_MOD, 0)
	}
}

// close ends the loop and waits for its pollers.
func (l *Loop) close() {
	l.mu.Lock()
	l.closed = true
	for _, p := range l.idle {
		p.seat <- noSeat
	}
	l.idle = nil
	l.timer.Stop()
	l.mu.Unlock()
	_ = l.set.file.Close()
	_ = l.guard.file.Close()
	l.wheel.stop()
	l.running.Wait()
}

func (l *Loop) add(c *Conn, patience time.Duration) error {
	c.loop = l
	// the caller owns it until it is watched: were it closed before, its
	// descriptor could be something else by then
	c.state.Store(stateBusy)
	c.SetDeadline(patience)
	fd := c.fd
	conns.put(fd, c)
	ev := syscall.EpollEvent{Events: inputEvents, Fd: int32(fd)}
	if errno := bytesconv.RawControl(l.set.fd, syscall.EPOLL_CTL_ADD, fd, &ev); errno != 0 {
		conns.put(fd, nil)
		return os.NewSyscallError("epoll_ctl", errno)
	}
	// from here on the connection may be served, closed and used again at any
	// moment
	if c.state.CompareAndSwap(stateBusy, stateIdle) {
		return nil
	}
	// somebody was so quick to see an event that it was left to the owner: let
	// there be another one
	c.set(flagOutput)
	c.state.Store(stateIdle)
	ev.Events = allEvents
	_ = bytesconv.RawControl(l.set.fd, syscall.EPOLL_CTL_MOD, fd, &ev)
	return nil
}

type seat int

const (
	noSeat seat = iota
	waitingSeat
	guardSeat
	standing // at work, with events left
)

const (
	// batchSize is how many events a poller fetches at a time.
	batchSize = 64
	// maxIdle is how many pollers are kept that have nothing to do. More of
	// them come up when many handlers block at a time.
	maxIdle = 16
	// yieldEvery is after how many batches in a row a poller lets other
	// goroutines of the process run.
	yieldEvery = 64
)

// Poller is a goroutine that serves events of a loop.
type Poller struct {
	// Local is for the Handler, to keep things from one call to the next. No
	// other goroutine uses it.
	Local any

	l    *Loop
	seat chan seat

	// what Go's poller is to call; made once, since each would be allocated
	fetchReady, fetchGuard func(uintptr) bool
	fetched                int
	guarded                [1]syscall.EpollEvent

	turn   int
	mu     sync.Mutex
	events [batchSize]syscall.EpollEvent
	next   int // the first event that nobody has begun
	n      int
}

// startPoller starts a poller on a seat that was taken for it. mu is held.
func (l *Loop) startPoller(at seat) {
	p := &Poller{l: l, seat: make(chan seat, 1)}
	p.fetchReady = func(uintptr) bool {
		p.fetched = p.fetch()
		return p.fetched != 0
	}
	p.fetchGuard = func(uintptr) bool {
		n, _ := bytesconv.RawPoll(l.guard.fd, p.guarded[:])
		return n != 0
	}
	l.pollers = append(l.pollers, p)
	l.running.Add(1)
	go p.run(at)
}

// send gives a seat that was taken to an idle poller or to a new one. mu is held.
func (l *Loop) send(to seat) {
	if n := len(l.idle); n > 0 {
		p := l.idle[n-1]
		l.idle = l.idle[:n-1]
		p.seat <- to
		return
	}
	l.startPoller(to)
}

func (p *Poller) run(at seat) {
	ended := false
	defer func() {
		if !ended {
			// a handler has ended the goroutine with runtime.Goexit: another
			// one goes on with the events that it has left
			p.l.running.Add(1)
			go p.run(standing)
		}
		p.l.running.Done()
	}()
	for at != noSeat {
		switch {
		case at == guardSeat:
			at = p.watch()
		case at == standing:
			p.serveBatch(p)
			at = p.sit()
		case p.help():
			at = p.sit()
		default:
			at = p.wait()
		}
	}
	ended = true
}

// wait sits on the waiting seat, serves what comes, and returns the next seat.
func (p *Poller) wait() seat {
	l := p.l
	err := l.set.raw.Read(p.fetchReady)
	if err != nil || p.fetched < 0 {
		return p.leave()
	}
	l.mu.Lock()
	p.rise()
	if !l.watched {
		l.watched = true
		l.seen = l.begun.Load()
		l.lookLater()
	}
	l.mu.Unlock()
	p.serveBatch(p)
	if p.turn++; p.turn%yieldEvery == 0 {
		runtime.Gosched()
	}
	return p.sit()
}

// rise leaves the waiting seat with events, to somebody else where their handlers
// may need long. mu is held.
func (p *Poller) rise() {
	l := p.l
	switch tick := now(); {
	case l.careful.Load() < tick:
		l.waiting = false
	case p.fetched > 1 || l.crowded.Load() >= tick:
		// the seat stays taken, by whoever is sent to it
		l.send(waitingSeat)
	default:
		l.waiting = false
		l.putOnGuard()
	}
}

const (
	// lookEvery is how often a loop with traffic is looked at for handlers
	// that block: others wait that long when one does so out of the blue.
	lookEvery = 2 * time.Millisecond
	// carefulTicks is for how many ticks a loop is careful after one did.
	carefulTicks = uint32(5 * time.Second / tick)
)

// look finds out whether a handler blocks.
func (l *Loop) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.planned) > 2*lookEvery {
		l.crowded.Store(now() + carefulTicks)
	}
	begun := l.begun.Load()
	switch {
	case l.closed:
		return
	case begun != l.seen:
		l.seen = begun
	case l.waiting && l.left.Load() == 0:
		// no traffic: the next poller that leaves the seat starts the timer
		l.watched = false
		return
	default:
		l.careful.Store(now() + carefulTicks)
		if !l.waiting {
			l.waiting = true
			l.disarm()
			l.send(waitingSeat)
		}
	}
	l.lookLater()
}

// lookLater sets the timer. mu is held.
func (l *Loop) lookLater() {
	l.planned = time.Now()
	l.timer.Reset(lookEvery)
}

// relieve sees to it that somebody waits on the set, for a handler that is about
// to wait for an event itself.
func (l *Loop) relieve() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.waiting {
		return
	}
	l.waiting = true
	l.disarm()
	l.send(waitingSeat)
}

// putOnGuard makes sure that somebody wakes up when the set has events. mu is
// held.
func (l *Loop) putOnGuard() {
	if !l.guarding {
		l.guarding = true
		l.send(guardSeat)
	}
	l.arm()
}

// watch sits on the guard seat until nobody else looks after the set.
func (p *Poller) watch() seat {
	l := p.l
	for {
		err := l.guard.raw.Read(p.fetchGuard)
		l.mu.Lock()
		if err != nil || l.closed {
			l.mu.Unlock()
			return p.leave()
		}
		if l.waiting {
			l.armed = false
			l.mu.Unlock()
			continue
		}
		// the set has events, and whoever should see to them is in a handler:
		// take the waiting seat, from which they are seen at once
		l.careful.Store(now() + carefulTicks)
		l.armed = false
		l.guarding = false
		l.waiting = true
		l.mu.Unlock()
		return waitingSeat
	}
}

// sit looks for a free seat.
func (p *Poller) sit() seat {
	l := p.l
	l.mu.Lock()
	switch {
	case l.closed:
		l.mu.Unlock()
		return p.leave()
	case !l.waiting:
		l.waiting = true
		l.disarm()
		l.mu.Unlock()
		return waitingSeat
	case !l.guarding:
		l.guarding = true
		l.mu.Unlock()
		return guardSeat
	case len(l.idle) >= maxIdle:
		l.mu.Unlock()
		return p.leave()
	}
	l.idle = append(l.idle, p)
	l.mu.Unlock()
	return <-p.seat
}

// leave ends the poller.
func (p *Poller) leave() seat {
	l := p.l
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, q := range l.pollers {
		if q == p {
			l.pollers = append(l.pollers[:i], l.pollers[i+1:]...)
			break
		}
	}
	return noSeat
}

// fetch gets a batch of ready events without waiting, and returns how many,
// or -1 where the loop has ended.
func (p *Poller) fetch() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, errno := bytesconv.RawPoll(p.l.set.fd, p.events[:])
	if errno == syscall.EINTR {
		n = 0
	} else if errno != 0 {
		return -1
	}
	p.next, p.n = 0, n
	p.l.left.Add(int32(n))
	return n
}

// take returns the next event that nobody has begun.
func (p *Poller) take() (ev syscall.EpollEvent, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == p.n {
		return ev, false
	}
	ev = p.events[p.next]
	p.next++
	p.l.left.Add(-1)
	return ev, true
}

// serveBatch serves the events of from.
func (p *Poller) serveBatch(from *Poller) {
	for {
		ev, ok := from.take()
		if !ok {
			return
		}
		p.l.begun.Add(1)
		if c := conns.get(int(ev.Fd)); c != nil {
			c.ready(p, ev.Events)
		}
	}
}

// help serves what other pollers have fetched and not begun, since they may be
// in a handler that blocks. As its own handlers may, it first gives the
// waiting seat on, to somebody who helps in turn. It tells whether there was
// anything to do.
func (p *Poller) help() bool {
	l := p.l
	helped := false
	for l.left.Load() > 0 {
		l.mu.Lock()
		from := l.behind(p)
		if from != nil && !helped {
			helped = true
			l.send(waitingSeat)
		}
		l.mu.Unlock()
		if from == nil {
			break
		}
		p.serveBatch(from)
	}
	return helped
}

// behind returns a poller other than p that has events left. mu is held.
func (l *Loop) behind(p *Poller) *Poller {
	for _, q := range l.pollers {
		if q != p && q.left() {
			return q
		}
	}
	return nil
}

func (p *Poller) left() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next < p.n
}
