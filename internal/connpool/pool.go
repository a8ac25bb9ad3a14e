// Package connpool pools a client's connections to one host: it keeps the idle
// ones, counts all of them, and queues the callers that wait for one.
//
// A Pool does not know the protocol of its connections, which decides whether a
// connection has room for several users. A caller says by its Need whether it can use
// such a connection.
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
// reservation, all of them in the one place. While OpenSerially is set, callers with the Need
// Any wait for shared connections, and leave the others to callers with the Need Own. If all
// places are taken, a connection that the first waiting caller cannot use is closed for it: an
// idle one at once, and a shared one once its users have returned it.
//
// A closed connection holds its place until Close has returned.
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
	open    int // places taken, idle connections included
	opening int // places in which a connection is being opened, in the phase inTurn
	policy  openPolicy
	idle    queue[C]
	waiting [needs]waiters[C]
	waits   uint64       // how many callers have waited
	shared  []*shared[C] // connections whose reservations Get may return
	closing []C          // connections that unlock closes; they hold their places
	leaving int          // those, and the ones that are being closed

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

// Need is the kind of connection that a caller can use.
type Need uint8

const (
	Any Need = iota // a connection of its own, or a reservation
	Own             // a connection of its own
	needs
)

// TryGet is Get without waiting: ok is false if Get would wait.
func (p *Pool[C]) TryGet(need Need) (g Grant[C], ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.get(need)
}

func (p *Pool[C]) get(need Need) (g Grant[C], ok bool) {
	if g, ok = p.popOpen(need); ok {
		return g, true
	}
	if !p.mayOpen(need) {
		return g, false
	}
	p.beginOpen(need)
	return g, true
}

// Get returns an idle connection, or the permission to open one. If neither is available
// it waits: until the time until, unless it is zero, or until done is closed, unless
// it is nil.
func (p *Pool[C]) Get(need Need, until time.Time, done <-chan struct{}) (Grant[C], error) {
	p.mu.Lock()
	if g, ok := p.get(need); ok {
		p.mu.Unlock()
		return g, nil
	}
	p.waits++
	w := p.waiting[need].add(need, p.waits)
	p.makeRoom()
	p.unlock()

	g, err := w.wait(until, done)
	p.mu.Lock()
	if err != nil && !p.waiting[need].remove(w) {
		// the place was granted at the last moment, and must not get lost
		g, err = <-w.ready, nil
	}
	p.waiting[need].keep(w)
	p.mu.Unlock()
	return g, err
}

// Replace closes a connection that its caller has found to be unusable, and returns
// another one, or the permission to open one in its place. It does not wait: if c is
// shared and still in use, there may be neither.
func (p *Pool[C]) Replace(c C, need Need) (g Grant[C], ok bool) {
	p.mu.Lock()
	if s := p.lookUp(c); s != nil {
		p.giveUp(s)
		p.unlock()
		return p.TryGet(need)
	}
	g, ok = p.popOpen(need)
	passesPlace := !ok
	switch {
	case ok:
		p.drop(c)
	case need == Any && p.policy == openSerially:
		p.freePlace()
		g, ok = p.get(need)
	default:
		ok = true
	}
	p.unlock()
	if passesPlace {
		closeConn(c)
	}
	return g, ok
}

// popOpen returns an open connection.
func (p *Pool[C]) popOpen(need Need) (g Grant[C], ok bool) {
	if len(p.shared) > 0 && need == Any {
		if g, ok = p.reserve(); ok {
			return g, true
		}
	}
	if p.idle.n == 0 || !p.takesIdle(need) {
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

// takesIdle reports whether callers use the connections of the queue of idle ones.
func (p *Pool[C]) takesIdle(need Need) bool { return p.policy == openConcurrently || need == Own }

// Put returns a place with its connection, which another caller may use, or a reservation.
// The connection is closed if there are too many. now is the result of clock.Elapsed.
func (p *Pool[C]) Put(c C, now time.Duration) {
	p.mu.Lock()
	waits := p.waiting[Any].n+p.waiting[Own].n > 0
	switch s := p.lookUp(c); {
	case s != nil:
		p.releaseReservation(s, now)
	case p.staying() > p.Max:
		p.drop(c)
	case waits && p.passOn(c, now):
	default:
		p.idle.push(idleConn[C]{c, now})
		if !p.armed && p.MaxIdle > 0 {
			p.arm(p.MaxIdle)
		}
		if waits {
			p.makeRoom()
		}
	}
	p.unlock()
}

// passOn gives a connection to a caller that waits for it.
func (p *Pool[C]) passOn(c C, now time.Duration) bool {
	w := p.first(p.takesIdle)
	if w == nil {
		return false
	}
	w.ready <- Grant[C]{Conn: c, Found: true, Since: now}
	return true
}

// Discard returns a place or a reservation whose connection is unusable. The connection is
// closed; if it is shared, when its last reservation is returned.
func (p *Pool[C]) Discard(c C) {
	p.mu.Lock()
	if s := p.lookUp(c); s != nil {
		p.giveUp(s)
	} else {
		p.drop(c)
	}
	p.unlock()
}

// ReleasePlace returns a place in which no connection was opened.
func (p *Pool[C]) ReleasePlace(need Need) {
	p.mu.Lock()
	p.openFailed(need)
	p.freePlace()
	p.unlock()
}

// MarkLate marks a dial that its caller has abandoned: its place stays taken until Put or
// ReleaseLatePlace. Callers that want to open a connection do not wait for the dial either.
func (p *Pool[C]) MarkLate(need Need) {
	p.mu.Lock()
	p.openFailed(need)
	p.admit()
	p.unlock()
}

// ReleaseLatePlace is ReleasePlace after MarkLate.
func (p *Pool[C]) ReleaseLatePlace() {
	p.mu.Lock()
	p.freePlace()
	p.unlock()
}

// drop makes unlock close c, which then gives up its place.
func (p *Pool[C]) drop(c C) {
	p.closing = append(p.closing, c)
	p.leaving++
}

// unlock ends a change that may have dropped connections: it closes them without the lock.
func (p *Pool[C]) unlock() {
	if len(p.closing) > 0 {
		p.closeDropped()
	}
	p.mu.Unlock()
}

// closeDropped closes the dropped connections, and gives their places to waiters. The lock is held,
// but not while a connection is being closed.
func (p *Pool[C]) closeDropped() {
	for len(p.closing) > 0 {
		closing := p.closing
		p.closing = nil
		p.mu.Unlock()
		for _, c := range closing {
			closeConn(c)
		}
		p.mu.Lock()
		p.open -= len(closing)
		p.leaving -= len(closing)
		clear(closing)
		if p.closing == nil {
			p.closing = closing[:0]
		}
		p.admit()
	}
}

// closeConn closes a connection. The caller, or the timer of the pool, is mostly not its user, so a
// panic in its Close matters no more than an error.
func closeConn(c io.Closer) {
	defer func() { _ = recover() }()
	_ = c.Close()
}

// staying returns the number of places that no dropped connection holds.
func (p *Pool[C]) staying() int { return p.open - p.leaving }

// freePlace releases a place, and gives it to the first waiter.
func (p *Pool[C]) freePlace() {
	p.open--
	p.admit()
}

// admit gives all free places to waiters.
func (p *Pool[C]) admit() {
	for w := p.first(p.mayOpen); w != nil; w = p.first(p.mayOpen) {
		p.beginOpen(w.need)
		w.ready <- Grant[C]{}
	}
	p.makeRoom()
}

// first removes the caller that has waited longest from those whose need fits, or returns nil.
func (p *Pool[C]) first(fits func(Need) bool) *waiter[C] {
	var longest *waiter[C]
	for need := range needs {
		w := p.waiting[need].head
		if w != nil && (longest == nil || w.turn < longest.turn) && fits(need) {
			longest = w
		}
	}
	if longest != nil {
		p.waiting[longest.need].remove(longest)
	}
	return longest
}

// makeRoom drops a connection, or retires a shared one, if all places are taken and a caller
// waits that cannot use it.
func (p *Pool[C]) makeRoom() {
	if p.staying() < p.Max {
		return
	}
	own := p.waiting[Own].n
	switch {
	case own > 0:
		p.retireFor(own)
	case p.waiting[Any].n > 0 && !p.takesIdle(Any) && p.idle.n > 0 && (p.policy != openSerially || p.opening == 0):
		p.drop(p.idle.popFirst().conn)
	}
}

// SetMax changes Max. If there are more connections, idle ones are closed at once, and the
// others when they are returned.
func (p *Pool[C]) SetMax(n int) {
	p.mu.Lock()
	p.Max = max(n, 1)
	p.admit()
	p.dropIdle(func(time.Duration) bool { return p.staying() > p.Max })
	p.unlock()
}

// CloseIdle closes all idle connections.
func (p *Pool[C]) CloseIdle() {
	p.mu.Lock()
	if p.armed {
		p.sweeper.Stop()
		p.armed = false
	}
	p.dropIdle(func(time.Duration) bool { return true })
	p.unlock()
}

// dropIdle drops idle connections, the oldest first, as long as condition holds for the
// time when they became idle.
func (p *Pool[C]) dropIdle(condition func(since time.Duration) bool) {
	for p.idle.n > 0 && condition(p.idle.at(0).since) {
		p.drop(p.idle.popFirst().conn)
	}
	for i := len(p.shared) - 1; i >= 0; i-- {
		if s := p.shared[i]; s.users == 0 && condition(s.since) {
			p.dropShared(s)
		}
	}
}

// sweep closes the connections that were idle for too long.
func (p *Pool[C]) sweep() {
	now := time.Now()
	p.mu.Lock()
	p.dropIdle(func(since time.Duration) bool { return now.Sub(clock.At(since)) >= p.MaxIdle })
	p.armed = false
	if since, ok := p.oldest(); ok {
		p.arm(p.MaxIdle - now.Sub(clock.At(since)))
	}
	p.unlock()
}

func (p *Pool[C]) arm(after time.Duration) {
	p.armed = true
	if p.sweeper == nil {
		p.sweeper = time.AfterFunc(after, p.sweep)
		return
	}
	p.sweeper.Reset(after)
}

// Open returns the number of taken places, idle connections included.
func (p *Pool[C]) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// Idle returns the number of idle connections.
func (p *Pool[C]) Idle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.idle.n
	for _, s := range p.shared {
		if s.users == 0 {
			n++
		}
	}
	return n
}

// Waiting returns the number of waiting callers.
func (p *Pool[C]) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting[Any].n + p.waiting[Own].n
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

// OpenSerially makes the pool let callers that can share a connection open them one after the
// other, or at any time. The opening of a shared connection ends when HasRoom is called for it.
func (p *Pool[C]) OpenSerially(on bool) {
	p.mu.Lock()
	switch {
	case !on:
		p.policy, p.opening = openConcurrently, 0
		p.grantOpen()
	case p.policy == openConcurrently:
		p.policy = openSerially
	}
	p.admit()
	p.unlock()
}

// mayOpen reports whether a caller may open a connection now.
func (p *Pool[C]) mayOpen(need Need) bool {
	return p.open < p.Max && (p.policy != openSerially || p.opening == 0 || need == Own)
}

// beginOpen takes a place for a connection that will be opened.
func (p *Pool[C]) beginOpen(need Need) {
	p.open++
	if p.policy != openConcurrently && need == Any {
		p.opening++
	}
}

// opened records that a connection was opened in turn, and openFailed that opening failed.
func (p *Pool[C]) opened() {
	p.opening = max(p.opening-1, 0)
	if p.policy == dialFailing {
		p.policy = openSerially
	}
}

func (p *Pool[C]) openFailed(need Need) {
	if need == Own {
		return
	}
	p.opening = max(p.opening-1, 0)
	if p.policy == openSerially && p.waiting[Any].n > 0 {
		p.policy = dialFailing
	}
}

// idleConn is a connection that waits for its next use.
type idleConn[C any] struct {
	conn  C
	since time.Duration // on the clock
}

// queue holds the idle connections of a pool in the order in which they became
// idle. Connections are taken from either end, so it is a ring, with a power of 2 as its length.
type queue[C any] struct {
	ring []idleConn[C]
	head int // of the oldest, modulo the length
	n    int
}

// at returns the connection i places after the oldest.
func (q *queue[C]) at(i int) *idleConn[C] { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

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
	first := q.at(0)
	taken := *first
	*first = idleConn[C]{}
	q.head++
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

// oldest returns the start of the longest idle time of all idle connections.
func (p *Pool[C]) oldest() (since time.Duration, ok bool) {
	if p.idle.n > 0 {
		since, ok = p.idle.at(0).since, true
	}
	for _, s := range p.shared {
		if s.users == 0 && (!ok || s.since < since) {
			since, ok = s.since, true
		}
	}
	return since, ok
}
