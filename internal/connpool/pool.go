// Package connpool pools a client's connections to one host: it keeps the idle
// ones, counts all of them, and queues the callers that wait for one.
//
// A Pool does not know the protocol of its connections, which decides whether a
// connection has room for several users.
//
// Start with Pool.Get.
package connpool

import (
	"errors"
	"io"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/lockorder"
	"golang.org/x/sys/cpu"
)

// The errors of Get.
var (
	ErrTimeout  = errors.New("fasthttp: no connection became free in time")
	ErrCanceled = errors.New("fasthttp: the wait for a connection was canceled")
)

// Pool holds the connections to one host.
//
// Each connection takes one of Max places. A caller that gets a connection, or the
// permission to open one, holds its place, and returns it with Put, Discard or ReleasePlace. While
// all places are taken, callers wait in the order of their calls; a place that becomes
// free is passed directly to the first of them, so that no later caller overtakes it.
//
// A connection has one user, unless its holder calls Share: then it has a user for each
// reservation, all of them in the one place.
//
// A timer closes connections that are idle for MaxIdle. It runs only while there are any:
// a pool has no goroutine of its own.
//
// The exported fields must be set before the first call; SetMax changes Max
// later. All methods may be called concurrently. A Pool must not be copied.
type Pool[C Conn] struct {
	// Max is the largest number of connections, at least 1.
	Max int
	// OldestFirst makes Get return the connection that has been idle longest instead of
	// the one that was used last.
	OldestFirst bool
	// MaxIdle is how long a connection may be idle; 0 means no limit.
	MaxIdle time.Duration
	// Reserve reports whether a shared connection accepts one more user, and if so, makes
	// the reservation. It is called with the lock of the pool held, and only if a
	// connection is shared.
	Reserve func(C) bool

	_       cpu.CacheLinePad // every call writes the following fields
	mu      lockorder.Mutex[lockorder.ConnPool]
	open    int // places taken, including those of idle connections
	opening int // places in which a connection is being opened, in the phase inTurn
	policy  openPolicy
	idle    queue[C]
	waiting waiters[C]
	shared  []*shared[C] // connections whose reservations Get may return

	sweeper *time.Timer
	armed   bool // sweeper will run
}

// Conn is a connection in a Pool.
type Conn interface {
	comparable
	io.Closer
}

// Grant is the result of Get: a place with an idle connection, or with none, or one
// reservation of a shared connection.
type Grant[C Conn] struct {
	Conn  C             // valid if Found is set
	Found bool          // there is a connection; otherwise one may be opened
	Since time.Duration // when it was last known to be usable, as clock.Elapsed
}

// TryGet is Get without waiting: ok is false if Get would wait.
func (p *Pool[C]) TryGet() (g Grant[C], ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.get()
}

func (p *Pool[C]) get() (g Grant[C], ok bool) {
	if g, ok = p.popOpen(); ok {
		return g, true
	}
	if !p.mayOpen() {
		return g, false
	}
	p.beginOpen()
	return g, true
}

// Get returns an idle connection, or the permission to open one. If neither is available
// it waits: until the time until, unless it is zero, or until done is closed, unless
// it is nil.
func (p *Pool[C]) Get(until time.Time, done <-chan struct{}) (Grant[C], error) {
	p.mu.Lock()
	if g, ok := p.get(); ok {
		p.mu.Unlock()
		return g, nil
	}
	w := p.waiting.add()
	p.mu.Unlock()

	g, err := w.wait(until, done)
	if err != nil && !p.removeWaiter(w) {
		// the place was granted at the last moment, and must not get lost
		g, err = <-w.ready, nil
	}
	p.mu.Lock()
	p.waiting.keep(w)
	p.mu.Unlock()
	return g, err
}

// removeWaiter removes w, whose caller gave up, from the queue. It reports whether w was still
// there.
func (p *Pool[C]) removeWaiter(w *waiter[C]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting.remove(w)
}

// Replace closes a connection that its caller has found to be unusable, and returns
// another one, or the permission to open one in its place. It does not wait: if c is
// shared and still in use, there may be neither.
func (p *Pool[C]) Replace(c C) (g Grant[C], ok bool) {
	p.mu.Lock()
	last, holds := p.retire(c)
	switch g, ok = p.popOpen(); {
	case ok && holds:
		p.freePlace()
	case holds && p.policy == openSerially:
		p.freePlace()
		g, ok = p.get()
	case holds:
		ok = true
	case !ok:
		g, ok = p.get()
	}
	p.mu.Unlock()
	if last {
		_ = c.Close()
	}
	return g, ok
}

// popOpen returns an open connection.
func (p *Pool[C]) popOpen() (g Grant[C], ok bool) {
	if len(p.shared) > 0 {
		if g, ok = p.reserve(); ok {
			return g, true
		}
	}
	if p.idle.n == 0 {
		return g, false
	}
	var taken idleConn[C]
	if p.OldestFirst {
		taken = p.idle.popFirst()
	} else {
		taken = p.idle.popLast()
	}
	return Grant[C]{Conn: taken.conn, Found: true, Since: taken.since}, true
}

// Put returns a place with its connection, which another caller may use, or a reservation.
// The connection is closed if there are too many. now is the result of clock.Elapsed.
func (p *Pool[C]) Put(c C, now time.Duration) {
	p.mu.Lock()
	if len(p.shared) > 0 {
		if s := p.lookUp(c); s != nil {
			last := p.releaseReservation(s, now)
			p.mu.Unlock()
			if last {
				_ = c.Close()
			}
			return
		}
	}
	if p.open > p.Max {
		p.freePlace()
		p.mu.Unlock()
		_ = c.Close()
		return
	}
	if w := p.waiting.first(); w != nil {
		w.ready <- Grant[C]{Conn: c, Found: true, Since: now}
		p.mu.Unlock()
		return
	}
	p.idle.push(idleConn[C]{c, now})
	if !p.armed && p.MaxIdle > 0 {
		p.arm(p.MaxIdle)
	}
	p.mu.Unlock()
}

// Discard returns a place or a reservation whose connection is unusable. The connection is
// closed; if it is shared, when its last reservation is returned.
func (p *Pool[C]) Discard(c C) {
	p.mu.Lock()
	last, holds := p.retire(c)
	p.mu.Unlock()
	if last {
		_ = c.Close()
	}
	if holds {
		p.mu.Lock()
		p.freePlace()
		p.mu.Unlock()
	}
}

// ReleasePlace returns a place in which no connection was opened.
func (p *Pool[C]) ReleasePlace() {
	p.mu.Lock()
	p.openFailed()
	p.freePlace()
	p.mu.Unlock()
}

// MarkLate marks a dial that its caller has abandoned: its place stays taken until Put or
// ReleaseLatePlace. Callers that want to open a connection do not wait for the dial either.
func (p *Pool[C]) MarkLate() {
	p.mu.Lock()
	p.openFailed()
	p.admit()
	p.mu.Unlock()
}

// ReleaseLatePlace is ReleasePlace after MarkLate.
func (p *Pool[C]) ReleaseLatePlace() {
	p.mu.Lock()
	p.freePlace()
	p.mu.Unlock()
}

// freePlace releases a place, and gives it to the first waiter.
func (p *Pool[C]) freePlace() {
	p.open--
	p.admit()
}

// admit gives all free places to waiters.
func (p *Pool[C]) admit() {
	for p.mayOpen() {
		w := p.waiting.first()
		if w == nil {
			return
		}
		p.beginOpen()
		w.ready <- Grant[C]{}
	}
}

// SetMax changes Max. If there are more connections, idle ones are closed at once, and the
// others when they are returned.
func (p *Pool[C]) SetMax(n int) {
	p.mu.Lock()
	p.Max = max(n, 1)
	p.admit()
	var closing []C
	for p.open > p.Max && p.idle.n > 0 {
		closing = append(closing, p.idle.popFirst().conn)
		p.open--
	}
	if p.open > p.Max {
		closing = p.removeIdleShared(closing, func(time.Duration) bool { return p.open > p.Max })
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
	closing := p.removeIdle(func(time.Duration) bool { return true })
	p.mu.Unlock()
	closeAll(closing)
}

// removeIdle removes idle connections, the oldest first, as long as condition holds for the
// time when they became idle.
func (p *Pool[C]) removeIdle(condition func(since time.Duration) bool) (dropped []C) {
	for p.idle.n > 0 && condition(p.idle.at(0).since) {
		dropped = append(dropped, p.idle.popFirst().conn)
		p.freePlace()
	}
	return p.removeIdleShared(dropped, condition)
}

// sweep closes the connections that were idle for too long.
func (p *Pool[C]) sweep() {
	now := time.Now()
	p.mu.Lock()
	closing := p.removeIdle(func(since time.Duration) bool { return now.Sub(clock.At(since)) >= p.MaxIdle })
	p.armed = false
	if since, ok := p.oldest(); ok {
		p.arm(p.MaxIdle - now.Sub(clock.At(since)))
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

func closeAll[C Conn](conns []C) {
	for _, c := range conns {
		_ = c.Close()
	}
}

// Open returns the number of taken places, including those of idle connections.
func (p *Pool[C]) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// Idle returns the number of idle connections.
func (p *Pool[C]) Idle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle.n + p.idleShared()
}

// Waiting returns the number of waiting callers.
func (p *Pool[C]) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting.n
}

// openPolicy controls whether connections are opened one after the other. If one connection
// accepts many users, callers that arrive while the first one is being opened wait for it,
// rather than open one each.
type openPolicy uint8

const (
	openConcurrently openPolicy = iota // callers open connections at any time, up to Max
	openSerially                       // only one connection is being opened
	// dialFailing is inTurn after a connection could not be opened: the waiting callers all
	// try at once, since each of them may have to wait as long for an answer.
	dialFailing
)

// OpenSerially makes the pool let callers open connections one after the other, or at any
// time. The opening of a shared connection ends when HasRoom is called for it.
func (p *Pool[C]) OpenSerially(on bool) {
	p.mu.Lock()
	switch {
	case !on:
		p.policy, p.opening = openConcurrently, 0
	case p.policy == openConcurrently:
		p.policy = openSerially
	}
	p.admit()
	p.mu.Unlock()
}

// mayOpen reports whether a caller may open a connection now.
func (p *Pool[C]) mayOpen() bool {
	return p.open < p.Max && (p.policy != openSerially || p.opening == 0)
}

// beginOpen takes a place for a connection that will be opened.
func (p *Pool[C]) beginOpen() {
	p.open++
	if p.policy != openConcurrently {
		p.opening++
	}
}

// opened records that a connection was opened in turn, and dropped that opening failed.
func (p *Pool[C]) opened() {
	p.opening = max(p.opening-1, 0)
	if p.policy == dialFailing {
		p.policy = openSerially
	}
}

func (p *Pool[C]) openFailed() {
	p.opening = max(p.opening-1, 0)
	if p.policy == openSerially && p.waiting.n > 0 {
		p.policy = dialFailing
	}
}

// idleConn is a connection that waits for its next use.
type idleConn[C any] struct {
	conn  C
	since time.Duration // on the clock
}

// queue holds the idle connections of a pool in the order in which they became
// idle. Connections are taken from either end, so it is a ring.
type queue[C any] struct {
	ring []idleConn[C]
	head int // of the oldest
	n    int
}

// at returns the connection i places after the oldest.
func (q *queue[C]) at(i int) *idleConn[C] { return &q.ring[(q.head+i)%len(q.ring)] }

func (q *queue[C]) push(c idleConn[C]) {
	if q.n == len(q.ring) {
		larger := make([]idleConn[C], max(8, 2*q.n))
		for i := range q.n {
			larger[i] = *q.at(i)
		}
		q.ring, q.head = larger, 0
	}
	q.n++
	*q.at(q.n - 1) = c
}

func (q *queue[C]) popFirst() idleConn[C] {
	taken := *q.at(0)
	*q.at(0) = idleConn[C]{}
	q.head = (q.head + 1) % len(q.ring)
	q.n--
	return taken
}

func (q *queue[C]) popLast() idleConn[C] {
	last := q.at(q.n - 1)
	taken := *last
	*last = idleConn[C]{}
	q.n--
	return taken
}

// waiter is a waiting caller of Get. Waiters are reused: each has a channel and,
// once it needed one, a timer.
type waiter[C Conn] struct {
	prev, next *waiter[C]
	queued     bool
	// ready has room for the one grant that a waiter gets, so that sending it never
	// blocks
	ready chan Grant[C]
	timer *time.Timer
}

// wait returns the grant of w, or the error if its caller has to give up.
func (w *waiter[C]) wait(until time.Time, done <-chan struct{}) (Grant[C], error) {
	var expired <-chan time.Time
	if !until.IsZero() {
		left := time.Until(until)
		if w.timer == nil {
			w.timer = time.NewTimer(left)
		} else {
			w.timer.Reset(left)
		}
		expired = w.timer.C
		defer w.stopTimer()
	}
	select {
	case g := <-w.ready:
		return g, nil
	case <-expired:
		return Grant[C]{}, ErrTimeout
	case <-done:
		return Grant[C]{}, ErrCanceled
	}
}

func (w *waiter[C]) stopTimer() {
	if !w.timer.Stop() {
		// needed with GODEBUG=asynctimerchan=1 only
		select {
		case <-w.timer.C:
		default:
		}
	}
}

// waiters is a queue of them, and a stock of unused ones.
type waiters[C Conn] struct {
	head, tail *waiter[C]
	n          int

	stock  *waiter[C]
	stored int
}

// maxStored is the largest number of waiters kept for other callers.
const maxStored = 1024

// add puts a waiter at the end of the queue.
func (q *waiters[C]) add() *waiter[C] {
	w := q.stock
	if w == nil {
		w = &waiter[C]{ready: make(chan Grant[C], 1)}
	} else {
		q.stock = w.next
		q.stored--
		w.next = nil
	}
	w.queued = true
	w.prev = q.tail
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
	q.n++
	return w
}

// remove removes w from the queue. It reports whether w was in it.
func (q *waiters[C]) remove(w *waiter[C]) bool {
	if !w.queued {
		return false
	}
	if w.prev == nil {
		q.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
	q.n--
	return true
}

// first removes the first waiter from the queue, or returns nil.
func (q *waiters[C]) first() *waiter[C] {
	w := q.head
	if w != nil {
		q.remove(w)
	}
	return w
}

// keep puts w, which is neither in the queue nor in use, into the stock.
func (q *waiters[C]) keep(w *waiter[C]) {
	if q.stored < maxStored {
		w.next, q.stock = q.stock, w
		q.stored++
	}
}
