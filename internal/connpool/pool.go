package connpool

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"golang.org/x/sys/cpu"
)

// What Get returns where it does not get anything.
var (
	ErrTimeout  = errors.New("fasthttp: no connection became free in time")
	ErrCanceled = errors.New("fasthttp: the wait for a connection was canceled")
)

// Pool is the connections to one host.
//
// Who gets a connection, or the leave to open one, holds one of Max places, and
// gives it back with Put or Drop. While all places are taken, callers wait in
// the order in which they came; a place that becomes free goes to the first of
// them directly, so that nobody who comes later is faster.
//
// Connections that nobody needs are closed after MaxIdle by a timer, which
// runs only while there are any: a pool has no goroutine of its own.
//
// The exported fields must be set before the first call; SetMax changes Max
// later. All methods may be called concurrently. A Pool must not be copied.
type Pool[C io.Closer] struct {
	// Max is how many connections there may be, 1 at least.
	Max int
	// OldestFirst makes Get return the connection that has been idle for
	// longest instead of the one that was used last.
	OldestFirst bool
	// MaxIdle is how long a connection may be idle, 0 for as long as it likes.
	MaxIdle time.Duration

	_       cpu.CacheLinePad // every call writes what follows
	mu      sync.Mutex
	open    int // places taken, those of idle connections included
	idle    queue[C]
	waiting waiters[C]

	sweeper *time.Timer
	armed   bool // sweeper will run
}

// Grant is what Get returns: a place with an idle connection, or with none.
type Grant[C io.Closer] struct {
	Conn  C             // valid where Found is set
	Found bool          // there is a connection; otherwise one may be opened
	Since time.Duration // when it became idle: what clock.Elapsed returned
}

// TryGet is Get that does not wait: it is false where Get would.
func (p *Pool[C]) TryGet() (g Grant[C], ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.get()
}

func (p *Pool[C]) get() (g Grant[C], ok bool) {
	if g, ok = p.takeIdle(); ok {
		return g, true
	}
	if p.open >= p.Max {
		return g, false
	}
	p.open++
	return g, true
}

// Get returns an idle connection, or the leave to open one. Where neither is to
// be had it waits: until the time is reached, unless that is zero, or until
// done is closed, unless that is nil.
func (p *Pool[C]) Get(until time.Time, done <-chan struct{}) (Grant[C], error) {
	p.mu.Lock()
	if g, ok := p.get(); ok {
		p.mu.Unlock()
		return g, nil
	}
	w := p.waiting.add()
	p.mu.Unlock()

	g, err := w.wait(until, done)
	if err != nil && !p.leave(w) {
		// the place came at the last moment, and must not get lost
		g, err = <-w.ready, nil
	}
	p.mu.Lock()
	p.waiting.keep(w)
	p.mu.Unlock()
	return g, err
}

// leave takes w, which gave up, out of the queue. It is false where w is not
// there any more.
func (p *Pool[C]) leave(w *waiter[C]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting.remove(w)
}

// TakeIdle returns an idle connection if there is one. The place of the caller,
// which holds one already, is given back then.
func (p *Pool[C]) TakeIdle() (Grant[C], bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, ok := p.takeIdle()
	if ok {
		p.free()
	}
	return g, ok
}

func (p *Pool[C]) takeIdle() (g Grant[C], ok bool) {
	if p.idle.n == 0 {
		return g, false
	}
	var taken idleConn[C]
	if p.OldestFirst {
		taken = p.idle.takeFirst()
	} else {
		taken = p.idle.takeLast()
	}
	return Grant[C]{Conn: taken.conn, Found: true, Since: taken.since}, true
}

// Put gives a place back with its connection, which somebody else may use. The
// connection is closed where there are too many. now is what clock.Elapsed returns.
func (p *Pool[C]) Put(c C, now time.Duration) {
	p.mu.Lock()
	if p.open > p.Max {
		p.free()
		p.mu.Unlock()
		_ = c.Close()
		return
	}
	if w := p.waiting.first(); w != nil {
		w.ready <- Grant[C]{Conn: c, Found: true, Since: now}
		p.mu.Unlock()
		return
	}
	p.idle.add(idleConn[C]{c, now})
	if !p.armed && p.MaxIdle > 0 {
		p.arm(p.MaxIdle)
	}
	p.mu.Unlock()
}

// Drop gives a place back whose connection is gone, or was never opened.
func (p *Pool[C]) Drop() {
	p.mu.Lock()
	p.free()
	p.mu.Unlock()
}

// free gives a place to the first who waits for one.
func (p *Pool[C]) free() {
	p.open--
	p.admit()
}

// admit gives all places that are not taken to those who wait.
func (p *Pool[C]) admit() {
	for p.open < p.Max {
		w := p.waiting.first()
		if w == nil {
			return
		}
		p.open++
		w.ready <- Grant[C]{}
	}
}

// SetMax changes Max. Where there are more connections, those that are idle are
// closed, and the others once they are given back.
func (p *Pool[C]) SetMax(n int) {
	p.mu.Lock()
	p.Max = max(n, 1)
	p.admit()
	var closing []C
	for p.open > p.Max && p.idle.n > 0 {
		closing = append(closing, p.idle.takeFirst().conn)
		p.open--
	}
	p.mu.Unlock()
	closeAll(closing)
}

// CloseIdle closes all idle connections.
func (p *Pool[C]) CloseIdle() {
	p.mu.Lock()
	if p.armed {
		p.sweeper.Stop()
		p.armed = false
	}
	closing := p.dropIdle(func(time.Duration) bool { return true })
	p.mu.Unlock()
	closeAll(closing)
}

// dropIdle takes idle connections out, the oldest first, as long as condition
// holds for the time when they became idle.
func (p *Pool[C]) dropIdle(condition func(since time.Duration) bool) (dropped []C) {
	for p.idle.n > 0 && condition(p.idle.first().since) {
		dropped = append(dropped, p.idle.takeFirst().conn)
		p.free()
	}
	return dropped
}

// sweep closes what has been idle for too long.
func (p *Pool[C]) sweep() {
	now := time.Now()
	p.mu.Lock()
	closing := p.dropIdle(func(since time.Duration) bool { return now.Sub(clock.At(since)) >= p.MaxIdle })
	p.armed = false
	if p.idle.n > 0 {
		p.arm(p.MaxIdle - now.Sub(clock.At(p.idle.first().since)))
	}
	p.mu.Unlock()
	closeAll(closing)
}

func (p *Pool[C]) arm(after time.Duration) {
	p.armed = true
	if p.sweeper == nil {
		p.sweeper = time.AfterFunc(after, p.sweep)
		return
	}
	p.sweeper.Reset(after)
}

func closeAll[C io.Closer](conns []C) {
	for _, c := range conns {
		_ = c.Close()
	}
}

// Open returns how many places are taken, those of idle connections included.
func (p *Pool[C]) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// Idle returns how many connections are idle.
func (p *Pool[C]) Idle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle.n
}

// Waiting returns how many callers wait.
func (p *Pool[C]) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting.n
}
