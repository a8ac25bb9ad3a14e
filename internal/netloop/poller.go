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

	"github.com/valyala/fasthttp/internal/rawsys"
)

// Loop is an epoll set and the pollers that serve it.
//
// A poller is a goroutine. One of them at a time has the seat: it waits on the
// set. When it wakes it leaves the seat, fetches events into the queue, and
// serves them itself, one after the other, with no switch to another goroutine.
// Then it takes the seat again. As a rule handlers return at once, and then it is
// the only one at work.
//
// A handler may block or compute for as long as it likes, though, and meanwhile
// nobody may wait for it: neither the events behind it in the queue nor those
// that come to the set. One number decides what is done for that, the time that
// handlers take (pace):
//
//   - While they are long, so that others had to wait or would have, a poller
//     that is about to serve an event first calls another one, unless one is on
//     its way. Whoever was called takes over what it finds: the rest of the
//     queue, one event at a time, having called the next poller for the same
//     reason, or the seat. If it finds nothing, since the first one was quick
//     after all, it goes to rest. Events that nobody had to wait for are held
//     back until those were served that are under way and can go on (line).
//   - While they are short nobody is called, since that costs as much as the
//     handler does. If one is long out of the blue, a timer finds the queue or
//     the set without anybody to look after it, and calls a poller.
//
// Waiting is done through Go's own poller: an epoll descriptor is pollable, so
// a waiting poller is a parked goroutine and blocks no thread.
type Loop struct {
	set    watched // the epoll set
	line   line
	lined  time.Duration // when the poller that has the seat was in line last, or waited
	nudger nudger
	wheel  wheel

	mu sync.Mutex
	// queue[next:fetched] are the events that nobody has begun. Whoever has the
	// seat fills it, which happens only when it is empty.
	queue         [batchSize]syscall.EpollEvent
	next, fetched int
	seated        bool // a poller has the seat
	coming        int  // how many pollers were called, or have yielded, and are not here yet
	closed        bool
	pace          pace
	begun         time.Duration // when the last event was begun
	serving       int           // how many handlers are under way
	last          int32         // for which descriptor it was
	changes       uint64        // how many were for another one than that before

	// timer looks for handlers that are long out of the blue
	timer   *time.Timer
	watched bool          // it runs
	seen    time.Duration // begun, when it looked last

	idle    []*Poller   // by how long they have been at rest, the longest first
	spare   int         // how many of them were not needed since trimmer came by
	trimmer *time.Timer // ends what is spare; nil while there is nothing to end
	running sync.WaitGroup
}

// watched is a descriptor that Go's poller watches.
type watched struct {
	fd   int
	file *os.File
	raw  syscall.RawConn
}

// newWatched takes over fd, which does not block. It closes fd if it fails.
func newWatched(fd int, name string) (w watched, err error) {
	w = watched{fd: fd, file: os.NewFile(uintptr(fd), name)}
	if w.raw, err = w.file.SyscallConn(); err != nil {
		_ = w.file.Close()
	}
	return w, err
}

func newLoop() (*Loop, error) {
	l := &Loop{}
	if err := l.open(); err != nil {
		return nil, err
	}
	l.wheel.start()
	l.mu.Lock()
	// nothing is known of the handlers yet
	l.pace = pace{slow: true, until: clock() + slowFirst}
	l.timer = time.AfterFunc(time.Hour, l.look)
	l.timer.Stop()
	l.call()
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
	if l.set, err = newWatched(fd, "epoll"); err != nil {
		return err
	}
	if l.line, err = newLine(); err != nil {
		_ = l.set.file.Close()
		return err
	}
	if l.nudger, err = newNudger(fd); err != nil {
		_ = l.set.file.Close()
		_ = l.line.file.Close()
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
	_ = l.line.file.Close()
	_ = unix.Close(l.nudger.fd)
}

func (l *Loop) add(c *Conn, patience time.Duration) error {
	c.loop = l
	// the caller owns it until it is watched: were it closed before, its
	// descriptor could be something else by then
	c.state.Store(stateBusy)
	c.SetDeadline(patience)
	fd := int(c.fd)
	conns.put(fd, c)
	if errno := c.control(syscall.EPOLL_CTL_ADD, inputEvents); errno != 0 {
		conns.put(fd, nil)
		return os.NewSyscallError("epoll_ctl", errno)
	}
	// somebody may have been so quick to see an event that it was left to the
	// owner; without one the connection may be served, closed and used again from
	// here on
	c.Release()
	return nil
}

const (
	// batchSize is how many events a poller fetches at a time.
	batchSize = 64
	// lineAfter is for how long a poller fetches events before it gets in line, if
	// no handler is under way.
	lineAfter = time.Millisecond
	// watchEvery is how often a loop is looked at whose handlers are short.
	watchEvery = 2 * time.Millisecond
	// trimEvery is how long a poller is kept that has nothing to do, and
	// keepIdle is how many of them always are.
	trimEvery = 5 * time.Second
	keepIdle  = 4
	// lockCheck is how often a poller finds out whether a handler has locked it
	// to its thread.
	lockCheck = 250 * time.Millisecond
)

// Poller is a goroutine that serves events of a loop.
type Poller struct {
	// Local is for the Handler, to keep things from one call to the next. No
	// other goroutine uses it.
	Local any

	l    *Loop
	wake chan struct{}

	// fetch and turn are what Go's poller is to call
	fetch, turn func(uintptr) bool

	got     int           // how many events it has fetched, or -1
	waited  bool          // it had to wait for them
	nudges  bool          // handlers are under way that a nudge may help
	begun   time.Duration // when the last of them was begun
	joined  bool          // it is in line
	now     time.Duration // the clock when it was read last
	alone   time.Duration // what the last handler took, if nobody is known to have waited for it
	checked time.Duration // when lockCheck was done
	leaving bool
}

// call calls a poller that is at rest, or a new one. mu is held.
func (l *Loop) call() {
	l.coming++
	if n := len(l.idle); n > 0 {
		p := l.idle[n-1]
		l.idle[n-1] = nil
		l.idle = l.idle[:n-1]
		l.spare = min(l.spare, n-1)
		p.wake <- struct{}{}
		return
	}
	p := &Poller{l: l, wake: make(chan struct{}, 1)}
	p.fetch, p.turn = p.poll, p.inLine
	l.running.Add(1)
	go p.run(true)
}

// poll fetches events, and reports whether there is nothing to wait for.
func (p *Poller) poll(uintptr) bool {
	l := p.l
	n, errno := rawsys.Poll(l.set.fd, l.queue[:])
	if n < 0 && errno != syscall.EINTR {
		p.got = -1
		return true
	}
	p.got = l.nudger.drop(l.queue[:max(n, 0)])
	if p.got == 0 {
		p.waited = true
		if p.nudges {
			l.nudger.set(p.begun, clock())
		}
	}
	return p.got != 0
}

// getInLine waits until it is the poller's turn. It has the seat.
func (p *Poller) getInLine() {
	l := p.l
	p.joined = false
	_ = l.line.raw.Read(p.turn)
	p.now = clock()
	l.lined = p.now
}

// inLine reports whether it was the poller's turn, which is the second time that
// it is called.
func (p *Poller) inLine(uintptr) bool {
	if p.joined {
		return true
	}
	p.joined = true
	p.l.line.join()
	return false
}

// deserted reports whether there are events, or may be, that nobody looks after.
// mu is held.
func (l *Loop) deserted() bool {
	return l.coming == 0 && !l.closed && (l.next < l.fetched || !l.seated)
}

// run is a poller's life.
func (p *Poller) run(called bool) {
	l := p.l
	ended := false
	defer func() {
		if !ended {
			// a handler has ended the goroutine with runtime.Goexit: another
			// one goes on in its place
			l.mu.Lock()
			l.serving--
			l.mu.Unlock()
			l.running.Add(1)
			go p.run(false)
		}
		l.running.Done()
	}()
	l.mu.Lock()
	if called {
		l.coming--
	}
	p.now = clock()
	p.checked = p.now
	for !l.closed && !p.leaving {
		switch {
		case l.next < l.fetched:
			p.serve()
		case !l.seated:
			p.wait()
		default:
			p.rest()
		}
	}
	if l.deserted() {
		l.call()
	}
	ended = true
	l.mu.Unlock()
}

// wait sits on the seat until there are events. mu is held before and after, not
// meanwhile.
func (p *Poller) wait() {
	l := p.l
	l.seated = true
	others := l.pace.slow && l.serving > 0
	p.nudges = others && l.serving >= nudgeFor && l.nudger.nudging()
	p.begun = l.begun
	l.mu.Unlock()
	p.got, p.waited = 0, false
	err := l.set.raw.Read(p.fetch)
	p.now = clock()
	switch {
	case p.waited:
		l.lined = p.now
	case p.got > 0 && (others || p.now-l.lined > lineAfter):
		p.getInLine()
	}
	l.mu.Lock()
	l.seated = false
	l.next, l.fetched = 0, max(p.got, 0)
	if !p.waited && l.fetched > 0 && (l.fetched > 1 || l.queue[0].Fd != l.last) {
		// others are there, and may have been there all the time
		l.pace.note(p.alone, p.now)
	}
	p.alone = 0
	if err != nil || p.got < 0 {
		p.leaving = true
	}
}

// serve serves the next event. mu is held before and after, not meanwhile.
func (p *Poller) serve() {
	l := p.l
	ev := l.queue[l.next]
	l.next++
	l.serving++
	l.begun = p.now
	if ev.Fd != l.last {
		l.last = ev.Fd
		l.changes++
	}
	changes := l.changes
	if !l.pace.slow {
		l.watch()
	} else if l.deserted() {
		l.call()
	}
	l.mu.Unlock()
	if c := find(ev); c != nil {
		c.ready(p, ev.Events)
	}
	now := clock()
	took := now - p.now
	p.now = now
	l.mu.Lock()
	l.serving--
	if l.pace.slow {
		l.nudger.note(took, now)
	}
	if l.changes != changes || l.next < l.fetched {
		l.pace.note(took, now)
	} else {
		p.alone = took
		l.pace.note(0, now)
	}
	if now-p.checked > lockCheck {
		p.checked = now
		p.leaving = p.leaving || lockedToThread()
	}
}

// lockedToThread reports whether the goroutine is locked to its thread. One that
// is costs two switches of threads wherever it waits, and its thread may not be
// as others are: it has to end, and the thread with it.
func lockedToThread() bool {
	var text [128]byte
	header, _, _ := bytes.Cut(text[:runtime.Stack(text[:], false)], []byte("\n"))
	return bytes.Contains(header, []byte("locked to thread"))
}

// rest waits until the poller is called. mu is held before and after, not
// meanwhile.
func (p *Poller) rest() {
	l := p.l
	p.alone = 0
	l.idle = append(l.idle, p)
	if len(l.idle) > keepIdle && l.trimmer == nil {
		l.spare = 0
		l.trimmer = time.AfterFunc(trimEvery, l.trim)
	}
	l.mu.Unlock()
	<-p.wake
	now := clock()
	l.mu.Lock()
	p.now = now
	if !p.leaving {
		l.coming--
	}
}

// trim ends the pollers at rest that were not needed since it came by last.
func (l *Loop) trim() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	n := max(min(l.spare, len(l.idle)-keepIdle), 0)
	for _, p := range l.idle[:n] {
		p.leaving = true
		p.wake <- struct{}{}
	}
	kept := copy(l.idle, l.idle[n:])
	clear(l.idle[kept:])
	l.idle = l.idle[:kept]
	l.spare = kept
	if kept > keepIdle {
		l.trimmer.Reset(trimEvery)
	} else {
		l.trimmer = nil
	}
}

// watch makes sure that the timer runs. mu is held.
func (l *Loop) watch() {
	if !l.watched {
		l.watched = true
		l.timer.Reset(watchEvery)
	}
}

// look calls a poller if a handler is long while handlers were short.
func (l *Loop) look() {
	now := clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	quiet := l.begun == l.seen && l.seated && l.next == l.fetched
	l.seen = l.begun
	if took := now - l.begun; l.deserted() && took > watchAfter {
		l.pace.note(took, now)
		l.call()
	}
	if l.closed || quiet || l.pace.slow {
		// the next poller that serves while handlers are short starts it again
		l.watched = false
		return
	}
	l.timer.Reset(watchEvery)
}

// relieve sees to it that somebody looks after the loop, for a handler that is
// about to wait for an event itself.
func (l *Loop) relieve() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deserted() {
		l.call()
	}
}
