package engine

import (
	"runtime"
	"time"

	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/workers"
)

// handshakeLimiter is a queue for the places in which TLS handshakes compute. A handshake costs a
// thousand times as much as a request, and many new clients must not delay the connected
// ones. A handshake that waits for its peer leaves its place. It takes a place again
// afterwards, before the handshakes that have not begun.
//
// Hooks of the application, such as one that fetches a certificate, may wait in a place. So
// a queue that has not moved for a while gets another place.
type handshakeLimiter struct {
	limit int // places
	// run has the goroutines. A handshake needs a large stack, and a new goroutine spends
	// some 5 % of the handshake on growing to it
	run *workers.Pool[*eventConn]

	mu       lockorder.Mutex[lockorder.Handshakes]
	inUse    int
	extra    int // places beyond the limit
	begun    queue[chan struct{}]
	new      queue[*eventConn]
	releases uint32 // how often a place was left: the progress of the queue
	stall    workers.Stall
}

// stallTimeout is how long a queue may stand still before it gets another place.
const stallTimeout = 50 * time.Millisecond

// handshakeIdleTimeout is how long at most a goroutine waits for another handshake.
const handshakeIdleTimeout = time.Second

// newHandshakeLimiter returns a queue whose goroutines wait for no longer than idle, unless idle
// is 0.
func newHandshakeLimiter(idle time.Duration) *handshakeLimiter {
	if idle <= 0 || idle > handshakeIdleTimeout {
		idle = handshakeIdleTimeout
	}
	return &handshakeLimiter{
		limit: HandshakesPerProc * runtime.GOMAXPROCS(0),
		run:   workers.New(idle, (*eventConn).handshake),
	}
}

// stop ends the goroutines. None of them may have a handshake any more.
func (h *handshakeLimiter) stop() { h.run.Stop() }

// begin gives c to a goroutine for its handshake when there is a place.
func (h *handshakeLimiter) begin(c *eventConn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tryAcquire() {
		h.run.Do(c)
		return
	}
	h.new.push(c)
	h.stall.Start(stallTimeout, h.releases, h)
}

// acquire waits for a place.
func (h *handshakeLimiter) acquire() {
	h.mu.Lock()
	if h.tryAcquire() {
		h.mu.Unlock()
		return
	}
	free := make(chan struct{})
	h.begun.push(free)
	h.stall.Start(stallTimeout, h.releases, h)
	h.mu.Unlock()
	<-free
}

// tryAcquire takes a place if there is one. mu is held.
func (h *handshakeLimiter) tryAcquire() bool {
	if h.inUse >= h.limit+h.extra {
		return false
	}
	h.inUse++
	return true
}

// release gives up a place.
func (h *handshakeLimiter) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.releases++
	if !h.admitNext() {
		h.inUse--
		h.extra = min(h.extra, max(h.inUse-h.limit, 0))
	}
}

// admitNext gives a place to the first of the queue. It returns false if there is none. mu is
// held.
func (h *handshakeLimiter) admitNext() bool {
	if free, ok := h.begun.pop(); ok {
		close(free)
		return true
	}
	c, ok := h.new.pop()
	if ok {
		h.run.Do(c)
	}
	return ok
}

// CheckStall implements workers.Staller. It adds a place to a queue that has not moved.
func (h *handshakeLimiter) CheckStall() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stall.Ended(h.releases) && h.admitNext() {
		h.inUse++
		h.extra++
	}
	if h.begun.len()+h.new.len() > 0 {
		h.stall.Start(stallTimeout, h.releases, h)
	}
}

// queue is a first-in, first-out list.
type queue[T any] struct {
	all  []T
	next int
}

func (q *queue[T]) len() int { return len(q.all) - q.next }

func (q *queue[T]) push(v T) {
	if q.next > 0 && len(q.all) == cap(q.all) {
		n := copy(q.all, q.all[q.next:])
		clear(q.all[n:])
		q.all, q.next = q.all[:n], 0
	}
	q.all = append(q.all, v)
}

func (q *queue[T]) pop() (v T, ok bool) {
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
