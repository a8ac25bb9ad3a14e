//go:build linux

package netloop

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/rawsys"
)

// Loop is an epoll set and the pollers that serve it.
//
// A Poller is a goroutine. One of them is the leader: it waits on the set. When it wakes it
// fetches events into the queue, gives up the role of the leader, and serves the events
// itself, one after another, without a switch to another goroutine. Then it becomes the
// leader again. As a rule handlers return at once, and then one poller does all the work.
//
// A handler may block or compute for as long as it likes, though, and must not delay other
// connections meanwhile: neither the later events in the queue nor new events of the set. The
// reaction of the loop depends on how long its handlers take (see pace):
//
//   - While handlers are slow, so that events waited for one or would have, a poller wakes
//     another one before it serves an event, unless one is starting already. The other
//     poller serves the rest of the queue, one event at a time, and wakes the next poller
//     for the same reason. If the queue is empty, it becomes the leader. If there is a
//     leader, too, because the first handler was quick after all, it parks. While handlers
//     are running, the leader holds events back for which it did not have to wait, until
//     the goroutines that are ready have run (yielder).
//   - While handlers are fast no other poller is woken, since that costs as much as the
//     handler does. If one is slow unexpectedly, a timer finds that the queue or the set has
//     no poller, and wakes one.
//
// The leader waits through Go's own network poller: an epoll descriptor is pollable, so a
// waiting poller is a parked goroutine and blocks no thread.
//
// The loop makes all its decisions about time by its own clock, now. A test moves that clock
// by hand.
type Loop struct {
	set        pollable // the epoll set
	group      *Group
	now        func() time.Duration
	yielder    yielder
	lastYield  time.Duration // when the leader last yielded, or waited for events
	waker      timerWaker
	prediction eventPrediction
	marks      *marks // nil unless waits are measured
	wheel      wheel

	mu lockorder.Mutex[lockorder.Loop]
	// queue[next:fetched] are the events that no poller has begun to serve. The
	// leader fills the queue, and only when it is empty.
	queue         [batchSize]syscall.EpollEvent
	next, fetched int
	hasLeader     bool // a poller waits on the set, or fetches from it
	starting      int  // how many pollers were woken or started, but do not run yet
	closed        bool
	pace          pace
	begun         time.Duration // when the handler of the last event began
	serving       int           // how many handlers are running
	last          int32         // the descriptor of the last event
	changes       uint64        // how often an event had another descriptor than the previous one

	// timer finds handlers that are slow unexpectedly
	timer     *time.Timer
	timerRuns bool
	begunSeen time.Duration // the value of begun when the timer last fired

	idle     []*Poller   // parked; the first one is parked longest
	unneeded int         // how many of them were not needed since trim last ran
	trimmer  *time.Timer // runs trim; nil while there are no pollers to end
	running  sync.WaitGroup
}

// pollable is a descriptor that Go's network poller watches.
type pollable struct {
	fd   int
	file *os.File
	raw  syscall.RawConn
}

// newPollable takes over fd, which must be nonblocking. It closes fd if it fails.
func newPollable(fd int, name string) (w pollable, err error) {
	w = pollable{fd: fd, file: os.NewFile(uintptr(fd), name)}
	if w.raw, err = w.file.SyscallConn(); err != nil {
		_ = w.file.Close()
	}
	return w, err
}

func newLoop(g *Group) (*Loop, error) {
	now := g.now
	l := &Loop{group: g, now: now}
	if err := l.open(); err != nil {
		return nil, err
	}
	if g.maxWait > 0 {
		var err error
		if l.marks, err = newMarks(l.set.fd, g.maxWait); err != nil {
			l.closeFiles()
			return nil, err
		}
	}
	l.wheel.start(now)
	l.mu.Lock()
	// until there are measurements, assume that handlers are slow
	l.pace = pace{slow: true, until: now() + slowFirst}
	l.timer = time.AfterFunc(time.Hour, l.onTimer)
	l.timer.Stop()
	l.wakePoller()
	l.mu.Unlock()
	return l, nil
}

// open makes the loop's descriptors.
func (l *Loop) open() error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return os.NewSyscallError("fcntl", err)
	}
	if l.set, err = newPollable(fd, "epoll"); err != nil {
		return err
	}
	if l.yielder, err = newYielder(); err != nil {
		_ = l.set.file.Close()
		return err
	}
	if l.waker, err = newTimerWaker(fd); err != nil {
		_ = l.set.file.Close()
		_ = l.yielder.file.Close()
	}
	return err
}

// close ends the loop and waits for its pollers.
func (l *Loop) close() {
	l.mu.Lock()
	l.closed = true
	for _, p := range l.idle {
		p.wake <- struct{}{}
	}
	l.idle = nil
	l.timer.Stop()
	if l.trimmer != nil {
		l.trimmer.Stop()
	}
	l.mu.Unlock()
	_ = l.set.file.Close()
	l.wheel.stop()
	l.running.Wait()
	l.closeFiles()
}

// closeFiles closes the loop's descriptors.
func (l *Loop) closeFiles() {
	_ = l.set.file.Close()
	_ = l.yielder.file.Close()
	_ = unix.Close(l.waker.fd)
	if l.marks != nil {
		l.marks.close()
	}
}

// add registers c with the epoll set. patience is the time to its first deadline.
func (l *Loop) add(c *Conn, patience time.Duration) error {
	c.loop = l
	// the caller owns the connection until it is registered: if another goroutine
	// closed it before, its descriptor could belong to another file by then
	c.state.Store(stateBusy)
	c.SetDeadline(patience)
	fd := int(c.fd)
	conns.put(fd, c)
	if errno := c.control(syscall.EPOLL_CTL_ADD, inputEvents); errno != 0 {
		conns.put(fd, nil)
		return os.NewSyscallError("epoll_ctl", errno)
	}
	// a poller may have received an event by now and left it to the owner. If there was
	// none, the connection may be served, closed and reused from here on
	c.Release()
	return nil
}

const (
	// batchSize is how many events a poller fetches at once.
	batchSize = 64
	// yieldAfter is how long a poller fetches events before it yields, if no handler is
	// running.
	yieldAfter = time.Millisecond
	// timerPeriod is how often the timer looks for a slow handler while handlers
	// are fast.
	timerPeriod = 2 * time.Millisecond
	// trimEvery is how long a loop keeps a poller that has nothing to do, and keepIdle is
	// how many such pollers it always keeps.
	trimEvery = 5 * time.Second
	keepIdle  = 4
	// lockCheck is how often a poller checks whether a handler has locked its
	// goroutine to a thread.
	lockCheck = 250 * time.Millisecond
)

// Poller is a goroutine that serves events of a loop.
type Poller struct {
	// Local is for the Handler, which may keep values in it between calls. No other
	// goroutine uses it.
	Local any

	l    *Loop
	wake chan struct{}

	// fetchFunc and yieldFunc are the methods that Go's network poller calls, kept
	// here since making a func value of a method allocates
	fetchFunc, yieldFunc func(uintptr) bool

	fetched    int           // how many events it has fetched; -1 after an error
	waited     bool          // it had to wait for them
	needsWaker bool          // handlers are running that may benefit from a nudge
	predicts   bool          // no handler is running, and none is expected to be slow
	begun      time.Duration // when the last of the running handlers began
	hasPoked   bool          // it has poked the yielder and waits
	now        time.Duration // the clock when it was last read
	eventAt    time.Duration // when it began with an event, for EventTime; 0 if unknown
	age        time.Duration // how long the event had waited then, if the loop has marks
	unrecorded time.Duration // the time of the last handler, if no event is known to have waited for it
	checked    time.Duration // when lockedToThread was last called
	exiting    bool          // it ends instead of serving on
}

// wakePoller wakes a parked poller, or starts one if there is none. mu is held.
func (l *Loop) wakePoller() {
	l.starting++
	if n := len(l.idle); n > 0 {
		p := l.idle[n-1]
		l.idle[n-1] = nil
		l.idle = l.idle[:n-1]
		l.unneeded = min(l.unneeded, n-1)
		p.wake <- struct{}{}
		return
	}
	p := &Poller{l: l, wake: make(chan struct{}, 1)}
	p.fetchFunc, p.yieldFunc = p.poll, p.poked
	l.running.Add(1)
	go p.run(true)
}

// poll fetches events, and reports whether the wait is over. Go's network poller calls it
// again when the set is ready.
func (p *Poller) poll(uintptr) bool {
	l := p.l
	if p.waited && p.predicts {
		if ev, ok := l.prediction.next(); ok {
			l.queue[0], p.fetched = ev, 1
			if l.marks != nil {
				l.marks.since[0] = 0
			}
			return true
		}
	}
	n, errno := rawsys.Poll(l.set.fd, l.queue[:])
	if n < 0 && errno != syscall.EINTR {
		p.fetched = -1
		return true
	}
	l.prediction.fetched(l.queue[:max(n, 0)], p.waited)
	p.fetched = max(n, 0)
	if l.waker.next != 0 {
		p.fetched = l.waker.remove(l.queue[:p.fetched])
	}
	if l.marks != nil {
		p.fetched = l.marks.take(l.queue[:p.fetched])
	}
	if p.fetched == 0 {
		p.waited = true
		if p.needsWaker {
			l.waker.arm(p.begun, l.now())
		}
	}
	return p.fetched != 0
}

// yield lets goroutines and descriptors go first that are ready by now. Only the leader
// calls it.
func (p *Poller) yield() {
	l := p.l
	p.hasPoked = false
	_ = l.yielder.raw.Read(p.yieldFunc)
	p.now = l.now()
	l.lastYield = p.now
}

// poked reports whether the wait of yield is over. The first call pokes the yielder; Go's
// network poller makes the second call when it has reached that event.
func (p *Poller) poked(uintptr) bool {
	if p.hasPoked {
		return true
	}
	p.hasPoked = true
	p.l.yielder.poke()
	return false
}

// needsPoller reports whether the queue or the epoll set has no poller, and none is
// starting. mu is held.
func (l *Loop) needsPoller() bool {
	return l.starting == 0 && !l.closed && (l.next < l.fetched || !l.hasLeader)
}

// run serves events until the loop is closed or the poller is to leave. woken is true if
// starting counts the poller.
func (p *Poller) run(woken bool) {
	l := p.l
	ended := false
	defer func() {
		if !ended {
			// a handler has ended the goroutine with runtime.Goexit: another goroutine
			// continues as this poller
			l.mu.Lock()
			l.serving--
			l.mu.Unlock()
			l.running.Add(1)
			go p.run(false)
		}
		l.running.Done()
	}()
	l.mu.Lock()
	if woken {
		l.starting--
	}
	p.now = l.now()
	p.checked = p.now
	for !l.closed && !p.exiting {
		switch {
		case l.next < l.fetched:
			p.serve()
		case !l.hasLeader:
			p.wait()
		default:
			p.park()
		}
	}
	if l.needsPoller() {
		l.wakePoller()
	}
	ended = true
	l.mu.Unlock()
}

// wait makes the poller the leader until it has events. mu is held on entry and on return,
// but not while it waits.
func (p *Poller) wait() {
	l := p.l
	l.hasLeader = true
	others := l.pace.slow && l.serving > 0
	p.needsWaker = others && l.serving >= wakerMinHandlers && l.waker.enabled()
	p.predicts = !l.pace.slow && l.serving == 0
	p.begun = l.begun
	l.mu.Unlock()
	p.fetched, p.waited = 0, false
	err := l.set.raw.Read(p.fetchFunc)
	p.now = l.now()
	if l.marks != nil && p.fetched > 0 {
		l.marks.fetched(p.fetched, p.now)
		if p.fetched > 1 || !p.waited {
			// others may be about to wait
			l.marks.set(l.now, p.now)
		}
	}
	switch {
	case p.waited:
		l.lastYield = p.now
	case p.fetched > 0 && (others || p.now-l.lastYield > yieldAfter):
		p.yield()
	}
	l.mu.Lock()
	l.hasLeader = false
	l.next, l.fetched = 0, max(p.fetched, 0)
	if !p.waited && l.fetched > 0 && (l.fetched > 1 || l.queue[0].Fd != l.last) {
		// these events may have waited for the last handler
		l.pace.record(p.unrecorded, p.now)
	}
	p.unrecorded = 0
	if err != nil || p.fetched < 0 {
		p.exiting = true
	}
}

// serve serves the next event of the queue. mu is held on entry and on return, but
// not while the handler runs.
func (p *Poller) serve() {
	l := p.l
	ev := l.queue[l.next]
	if l.marks != nil {
		p.age = p.now - l.marks.since[l.next]
		if l.fetched-l.next > 1 && !l.hasLeader {
			// events that arrive while a long queue is served are dated, too
			l.marks.set(l.now, p.now)
		}
	}
	l.next++
	l.serving++
	l.begun, p.eventAt = p.now, p.now
	if ev.Fd != l.last {
		l.last = ev.Fd
		l.changes++
	}
	changes := l.changes
	if !l.pace.slow {
		l.startTimer()
	} else if l.needsPoller() {
		l.wakePoller()
	}
	l.mu.Unlock()
	if c := find(ev); c != nil {
		c.ready(p, ev.Events)
	}
	now := l.now()
	took := now - p.now
	p.now = now
	l.mu.Lock()
	l.serving--
	if l.pace.slow {
		l.waker.record(took, now)
	}
	if l.changes != changes || l.next < l.fetched {
		l.pace.record(took, now)
	} else {
		p.unrecorded = took
		l.pace.record(0, now)
	}
	if now-p.checked > lockCheck {
		p.checked = now
		p.exiting = p.exiting || lockedToThread()
	}
}

// EventTime returns the time of clock.Monotonic at which p began with the event that it
// serves, if this is the first use of that event. It returns 0 from the second call on. waited
// is how long the event had waited for that, at least; 0 unless Options.MaxWait is set.
func (p *Poller) EventTime() (at, waited time.Duration) {
	at, waited = p.eventAt, p.age
	p.eventAt, p.age = 0, 0
	return at, waited
}

// lockedToThread reports whether the goroutine is locked to its thread. A locked poller
// must end, and its thread with it: each of its waits would cost two switches of threads,
// and the handler may have changed the thread.
func lockedToThread() bool {
	var text [128]byte
	header, _, _ := bytes.Cut(text[:runtime.Stack(text[:], false)], []byte("\n"))
	return bytes.Contains(header, []byte("locked to thread"))
}

// park waits until the poller is woken. mu is held on entry and on return, but not
// while it waits.
func (p *Poller) park() {
	l := p.l
	p.unrecorded = 0
	l.idle = append(l.idle, p)
	if len(l.idle) > keepIdle && l.trimmer == nil {
		l.unneeded = 0
		l.trimmer = time.AfterFunc(trimEvery, l.trim)
	}
	l.mu.Unlock()
	<-p.wake
	now := l.now()
	l.mu.Lock()
	p.now = now
	if !p.exiting {
		l.starting--
	}
}

// trim ends the parked pollers that were not needed since it last ran.
func (l *Loop) trim() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	n := max(min(l.unneeded, len(l.idle)-keepIdle), 0)
	for _, p := range l.idle[:n] {
		p.exiting = true
		p.wake <- struct{}{}
	}
	kept := copy(l.idle, l.idle[n:])
	clear(l.idle[kept:])
	l.idle = l.idle[:kept]
	l.unneeded = kept
	if kept > keepIdle {
		l.trimmer.Reset(trimEvery)
	} else {
		l.trimmer = nil
	}
}

// startTimer starts the timer if it does not run. mu is held.
func (l *Loop) startTimer() {
	if !l.timerRuns {
		l.timerRuns = true
		l.timer.Reset(timerPeriod)
	}
}

// onTimer wakes a poller if a handler is slow while handlers are expected to be
// fast.
func (l *Loop) onTimer() {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	quiet := l.begun == l.begunSeen && l.hasLeader && l.next == l.fetched
	l.begunSeen = l.begun
	if took := now - l.begun; l.needsPoller() && took > longHandler {
		l.pace.record(took, now)
		l.wakePoller()
	}
	if l.closed || quiet || l.pace.slow {
		// serve restarts the timer while handlers are fast
		l.timerRuns = false
		return
	}
	l.timer.Reset(timerPeriod)
}

// ensurePoller wakes a poller if the loop needs one. A handler that is about to wait for an
// event calls it, since its own poller cannot fetch that event.
func (l *Loop) ensurePoller() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.needsPoller() {
		l.wakePoller()
	}
}
