package engine

import (
	"runtime"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/workers"
)

// handshakes is a queue for the places in which TLS handshakes compute. A handshake costs a
// thousand times as much as a request, and many new clients must not delay the connected
// ones. A handshake that waits for its peer leaves its place. It takes a place again
// afterwards, before the handshakes that have not begun.
//
// Hooks of the application, such as one that fetches a certificate, may wait in a place. So
// a queue that has not moved for a while gets another place.
type handshakes struct {
	limit int // places
	// run has the goroutines. A handshake needs a large stack, and a new goroutine spends
	// some 5 % of the handshake on growing to it
	run *workers.Pool[*eventConn]

	mu    sync.Mutex
	taken int
	more  int // places beyond the limit
	begun queue[chan struct{}]
	new   queue[*eventConn]
	moves uint64 // how often a place was left

	timer *time.Timer // checks whether the queue moves; nil before it is first needed
	ticks bool
	seen  uint64 // moves when the timer last fired
}

// stillTime is how long a queue may stand still before it gets another place.
const stillTime = 50 * time.Millisecond

// idleHandshake is how long at most a goroutine waits for another handshake.
const idleHandshake = time.Second

// newHandshakes returns a queue whose goroutines wait for no longer than idle, unless idle
// is 0.
func newHandshakes(idle time.Duration) *handshakes {
	if idle <= 0 || idle > idleHandshake {
		idle = idleHandshake
	}
	return &handshakes{
		limit: HandshakesEach * runtime.GOMAXPROCS(0),
		run:   workers.New(idle, (*eventConn).handshake),
	}
}

// stop ends the goroutines. None of them may have a handshake any more.
func (h *handshakes) stop() { h.run.Stop() }

// begin gives c to a goroutine for its handshake when there is a place.
func (h *handshakes) begin(c *eventConn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.take() {
		h.run.Do(c)
		return
	}
	h.new.add(c)
	h.watch()
}

// enter waits for a place.
func (h *handshakes) enter() {
	h.mu.Lock()
	if h.take() {
		h.mu.Unlock()
		return
	}
	free := make(chan struct{})
	h.begun.add(free)
	h.watch()
	h.mu.Unlock()
	<-free
}

// take takes a place if there is one. mu is held.
func (h *handshakes) take() bool {
	if h.taken >= h.limit+h.more {
		return false
	}
	h.taken++
	return true
}

// leave gives up a place.
func (h *handshakes) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moves++
	if !h.next() {
		h.taken--
		h.more = min(h.more, max(h.taken-h.limit, 0))
	}
}

// next gives a place to the first of the queue. It returns false if there is none. mu is
// held.
func (h *handshakes) next() bool {
	if free, ok := h.begun.take(); ok {
		close(free)
		return true
	}
	c, ok := h.new.take()
	if ok {
		h.run.Do(c)
	}
	return ok
}

// watch starts the timer. mu is held.
func (h *handshakes) watch() {
	if h.ticks {
		return
	}
	h.ticks, h.seen = true, h.moves
	if h.timer == nil {
		h.timer = time.AfterFunc(stillTime, h.look)
	} else {
		h.timer.Reset(stillTime)
	}
}

// look adds a place to a queue that has not moved.
func (h *handshakes) look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.moves == h.seen && h.next() {
		h.taken++
		h.more++
	}
	h.seen = h.moves
	if h.ticks = h.begun.len()+h.new.len() > 0; h.ticks {
		h.timer.Reset(stillTime)
	}
}

// queue is a first-in, first-out list.
type queue[T any] struct {
	all  []T
	next int
}

func (q *queue[T]) len() int { return len(q.all) - q.next }

func (q *queue[T]) add(v T) {
	if q.next > 0 && len(q.all) == cap(q.all) {
		n := copy(q.all, q.all[q.next:])
		clear(q.all[n:])
		q.all, q.next = q.all[:n], 0
	}
	q.all = append(q.all, v)
}

func (q *queue[T]) take() (v T, ok bool) {
	if q.len() == 0 {
		return v, false
	}
	first := &q.all[q.next]
	v, *first = *first, v
	if q.next++; q.next == len(q.all) {
		// a queue that was long once holds no memory
		*q = queue[T]{}
	}
	return v, true
}
