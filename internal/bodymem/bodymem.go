// Package bodymem counts the memory of the bodies that a server holds, and ends
// stalled bodies if there is no more memory.
//
// Bodies take memory for as long as their clients take to send them. The limit for
// one body does not bound the memory of all. So the capacity of their buffers is
// counted, from the moment when it grows until the response is being sent.
//
// If there is no room for more, stalled bodies are ended, the longest stalled first.
// Only if there are none, the request that needs the room is refused. So clients that
// hold back their bodies lose the memory to clients that send.
package bodymem

import (
	"cmp"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/lockorder"
)

const (
	// stallSize: a body stalls if it receives fewer bytes within StallTime.
	stallSize = 4 << 10
	// StallTime is the time in which a body must receive stallSize bytes.
	StallTime = time.Second
	// A search for stalled bodies frees at least limit/roomShare bytes, since
	// searching is expensive.
	roomShare = 16
	// Between two garbage collections at least limit/collectShare bytes are
	// allocated, and at least collectMin.
	collectShare = 16
	collectMin   = 8 << 20
	// busySearchPause is the pause before the next search if all stalled bodies were being
	// served.
	busySearchPause = 10 * time.Millisecond
	// shards is the number of lists for arriving bodies. Several lists reduce lock
	// contention.
	shards = 16
)

// began is the origin of all times.
var began = time.Now()

func now() int64 { return int64(time.Since(began)) }

// Request is the request that a body belongs to.
type Request interface {
	// InterruptBody ends the Read of the goroutine that waits for more of the body,
	// and releases the memory of the body. Body.Resume reports it to the goroutine.
	InterruptBody()
	// ClaimStalledBody claims a request that waits for more of its body without a
	// goroutine. The lock of a list is held. confirm is nil if the request is being served.
	// Otherwise the caller must call it without that lock, since it may ask the system, and
	// then end, which ends the request, without any lock. end is nil if more of the body has
	// arrived.
	ClaimStalledBody() (confirm func() (end func()))
}

// Memory counts the memory of the buffered bodies of a server.
type Memory struct {
	limit  int64
	used   atomic.Int64
	shards [shards]shard
	// no body can have stalled before quietUntil
	quietUntil atomic.Int64
	searching  lockorder.Mutex[lockorder.MemorySearch] // held during the search for stalled bodies
	// collected is the value of bufpool.Large at the last garbage collection, during
	// which collecting is held
	collected  atomic.Int64
	collecting sync.Mutex
}

// shard is one list of arriving bodies.
type shard struct {
	mu    lockorder.Mutex[lockorder.MemoryShard]
	first *Body
	_     [112]byte
}

// Begin sets the limit for all bodies, in bytes. It is called before all other
// methods.
func (m *Memory) Begin(limit int64) {
	m.limit = limit
	m.quietUntil.Store(math.MinInt64)
	// what the process has allocated for other servers is no garbage of these bodies
	m.collected.Store(bufpool.Large())
}

// Used returns the number of counted bytes.
func (m *Memory) Used() int64 { return m.used.Load() }

// Fits reports whether a body of n bytes can ever be held.
func (m *Memory) Fits(n int) bool { return int64(n) <= m.limit }

// Body is a counted body.
type Body struct {
	request    Request
	key        uint64       // selects its list
	bytes      atomic.Int64 // counted
	sinceMoved int          // bytes received since moved
	moved      atomic.Int64 // when it had received stallSize bytes more
	wait       atomic.Int32

	// its place in the list of arriving bodies, guarded by the lock of the shard
	listed     bool
	prev, next *Body
}

// The values of Body.wait, the state of the goroutine that may wait in Read.
const (
	served   int32 = iota // no goroutine waits in Read
	blocked               // a goroutine waits in Read
	claiming              // another goroutine is about to end that wait
	claimed               // another goroutine has ended it
)

var bodies = sync.Pool{New: func() any { return new(Body) }}

// New returns a body without counted bytes. Drop takes it back. The key spreads
// bodies over the lists of a Memory.
func (m *Memory) New(owner Request, key uint64) *Body {
	h := bodies.Get().(*Body)
	h.request, h.key = owner, key
	h.move()
	return h
}

// Reserve counts room bytes for a body that has just received got bytes. A body that is
// done cannot stall any more. Hold returns false if there is no room.
func (m *Memory) Reserve(h *Body, room, got int, done bool) bool {
	h.Progress(got)
	if more := int64(room) - h.bytes.Load(); more > 0 {
		if !m.tryReserve(more) {
			return false
		}
		h.bytes.Add(more)
	}
	if done {
		m.Arrived(h)
	} else if !h.listed {
		m.list(h)
	}
	return true
}

// Bytes returns the number of counted bytes.
func (h *Body) Bytes() int64 { return h.bytes.Load() }

// Progress records that n bytes have arrived.
func (h *Body) Progress(n int) {
	if h.sinceMoved += n; h.sinceMoved >= stallSize {
		h.move()
	}
}

func (h *Body) move() {
	h.sinceMoved = 0
	h.moved.Store(now())
}

func (m *Memory) shardOf(h *Body) *shard { return &m.shards[h.key%shards] }

// list adds the body to its list, so that it may be ended if it stalls.
func (m *Memory) list(h *Body) {
	l := m.shardOf(h)
	l.mu.Lock()
	if h.next = l.first; h.next != nil {
		h.next.prev = h
	}
	l.first, h.listed = h, true
	l.mu.Unlock()
}

// Arrived records that no more of the body is expected.
func (m *Memory) Arrived(h *Body) {
	if h.listed {
		l := m.shardOf(h)
		l.mu.Lock()
		l.remove(h)
		l.mu.Unlock()
	}
}

// remove removes a body from the list. mu is held.
func (l *shard) remove(h *Body) {
	if !h.listed {
		return
	}
	if h.next != nil {
		h.next.prev = h.prev
	}
	if h.prev != nil {
		h.prev.next = h.next
	} else {
		l.first = h.next
	}
	h.prev, h.next, h.listed = nil, nil, false
}

// Release stops counting the body, which is not used any more.
func (m *Memory) Release(h *Body) {
	m.Arrived(h)
	m.used.Add(-h.bytes.Swap(0))
	h.request = nil
	h.wait.Store(served)
	bodies.Put(h)
}

// Detach is Release for a body that a handler keeps after its request: the body stays
// counted until Detached.Release.
func (m *Memory) Detach(h *Body) Detached {
	left := Detached{m, h.bytes.Swap(0)}
	m.Release(h)
	return left
}

// Detached is a body that a handler keeps after its request.
type Detached struct {
	of    *Memory
	bytes int64
}

// Release stops counting the body.
func (l Detached) Release() { l.of.used.Add(-l.bytes) }

// Block records that the goroutine of the request is about to wait in Read for more
// of the body.
func (h *Body) Block() { h.wait.Store(blocked) }

// Resumed is Resume for a goroutine that may not have waited.
func (h *Body) Resumed() bool { return h.wait.Load() == served || h.Resume() }

// Resume records that the goroutine waits no longer. It returns false if the body was
// ended.
func (h *Body) Resume() bool {
	for !h.wait.CompareAndSwap(blocked, served) {
		if h.wait.Load() == claimed {
			return false
		}
		runtime.Gosched()
	}
	return true
}

// claim gives the body to the caller, which must call confirm and end as ClaimStalledBody
// requires. The lock of the shard is held.
func (h *Body) claim() (confirm func() (end func())) {
	if h.wait.CompareAndSwap(blocked, claiming) {
		return func() (end func()) {
			return func() {
				h.request.InterruptBody()
				h.wait.Store(claimed)
			}
		}
	}
	return h.request.ClaimStalledBody()
}

// tryReserve counts n more bytes, unless there is no room for them.
func (m *Memory) tryReserve(n int64) bool {
	for {
		used := m.used.Load()
		switch {
		case used+n > m.limit:
			if !m.endStalled(n) {
				return false
			}
		case m.used.CompareAndSwap(used, used+n):
			return true
		}
	}
}

// Tidy is called before a large buffer is allocated whose memory was counted.
//
// If bodies and their garbage may exceed the limit, Tidy collects the garbage first:
// the runtime would wait until there is as much garbage as memory in use. Goroutines
// that need more room meanwhile wait; otherwise they would take more than is freed.
func (m *Memory) Tidy() {
	if m.worthCollecting() {
		m.collecting.Lock()
		defer m.collecting.Unlock()
		if m.worthCollecting() {
			m.collect()
		}
	}
}

func (m *Memory) collect() {
	begin := bufpool.Large()
	// buffers in pools are freed by the second collection
	runtime.GC()
	debug.FreeOSMemory()
	m.collected.Store(begin)
}

// worthCollecting reports whether a garbage collection is worth its cost.
func (m *Memory) worthCollecting() bool {
	fresh := bufpool.Large() - m.collected.Load()
	return fresh > max(m.limit/collectShare, collectMin) && m.used.Load() > m.limit-fresh
}

// endStalled ends stalled bodies to make room for n bytes. It returns false if there
// are none.
func (m *Memory) endStalled(n int64) bool {
	if now() < m.quietUntil.Load() {
		return false
	}
	m.searching.Lock()
	if m.used.Load()+n <= m.limit {
		m.searching.Unlock()
		return true
	}
	ends := m.claimStalled(n)
	m.searching.Unlock()
	for _, end := range ends {
		end()
	}
	return len(ends) > 0
}

// claimStalled claims the bodies that have stalled for the longest time, as many as n
// bytes need, and stops counting them.
func (m *Memory) claimStalled(n int64) (ends []func()) {
	now := now()
	last, next, some := m.stalledSince(now-int64(StallTime), max(n, m.limit/roomShare))
	if !some {
		m.quietUntil.Store(min(next, now) + int64(StallTime))
		return nil
	}
	type claim struct {
		body    *Body
		confirm func() (end func())
	}
	var claims []claim
	for i := range m.shards {
		shard := &m.shards[i]
		shard.mu.Lock()
		for h := shard.first; h != nil; h = h.next {
			if h.moved.Load() > last {
				continue
			}
			if confirm := h.claim(); confirm != nil {
				claims = append(claims, claim{h, confirm})
			}
		}
		shard.mu.Unlock()
		for _, c := range claims {
			if end := c.confirm(); end != nil {
				m.Arrived(c.body)
				m.used.Add(-c.body.bytes.Swap(0))
				ends = append(ends, end)
			}
		}
		claims = claims[:0]
	}
	if len(ends) == 0 {
		m.quietUntil.Store(now + int64(busySearchPause))
	}
	return ends
}

// stalledSince looks for bodies that have not moved since a time, and reports whether
// there are some. The longest stalled ones that together take n bytes, or all if they
// take less, have not moved since last. The body that will stall next has moved at
// next.
func (m *Memory) stalledSince(since, n int64) (last, next int64, some bool) {
	type stalled struct{ moved, bytes int64 }
	var found []stalled
	next = math.MaxInt64
	for i := range m.shards {
		shard := &m.shards[i]
		shard.mu.Lock()
		for h := shard.first; h != nil; h = h.next {
			if moved := h.moved.Load(); moved <= since {
				found = append(found, stalled{moved, h.bytes.Load()})
			} else {
				next = min(next, moved)
			}
		}
		shard.mu.Unlock()
	}
	slices.SortFunc(found, func(a, b stalled) int { return cmp.Compare(a.moved, b.moved) })
	for _, body := range found {
		last = body.moved
		if n -= body.bytes; n <= 0 {
			break
		}
	}
	return last, next, len(found) > 0
}

// Age makes it appear that the arriving bodies last moved that long ago, those with a
// lower key earlier; a negative age is in the future. It returns how many they are: a body that is
// counted may not be among them yet. It is for tests.
func (m *Memory) Age(age time.Duration) (arriving int) {
	then := now() - int64(age)
	for i := range m.shards {
		shard := &m.shards[i]
		shard.mu.Lock()
		for h := shard.first; h != nil; h = h.next {
			h.moved.Store(then + int64(h.key))
			arriving++
		}
		shard.mu.Unlock()
	}
	m.quietUntil.Store(math.MinInt64)
	return arriving
}
