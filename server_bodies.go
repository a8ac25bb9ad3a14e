package fasthttp

import (
	"cmp"
	"math"
	"net"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/ioread"
)

// ErrRequestBodyMemory says that a request was refused since the bodies that a
// Server holds have reached MaxRequestBodyMemory.
var ErrRequestBodyMemory error = http1.ErrBodyMemory

// Bodies take memory for as long as their clients like to take for sending them.
// The limit for one of them does not bound what all of them take, so their buffers
// are counted: by their capacity, when it grows, until the response is on its way.
//
// If there is no room for more, those bodies end first that have stalled, the oldest
// before the others. Only if there are none the request that needs the room is
// refused. So whoever holds bodies back loses them to those who send.
//
// A body that is no larger than most are is not counted, and costs nothing here.

const (
	// defaultBodyMemory is how much all bodies may take, unless the memory limit of
	// the runtime is set.
	defaultBodyMemory = 1 << 30
	// uncountedBody is the size up to which a buffer is not counted.
	uncountedBody = 16 << 10
	// aheadRoom is the size over which a buffer is counted before it is there.
	aheadRoom = 64 << 10
	// A body stalls that has received less than stallSize bytes in stallTime.
	stallTime = time.Second
	stallSize = 4 << 10
	// roomShare is which part of the limit is made free at least if stalled bodies
	// are looked for: looking has its price.
	roomShare = 16
	// collectShare is which part of the limit is allocated at least between two
	// collections of garbage, and collectLeast how many bytes.
	collectShare = 16
	collectLeast = 8 << 20
	// busyLook is for how long nobody looks again if the stalled bodies that there
	// are were just being served.
	busyLook = 10 * time.Millisecond
	// bodyRetryAfter is in how many seconds a client may try again that was refused.
	bodyRetryAfter = "1"
)

// bodyMemory is what the buffered request bodies of a server take.
type bodyMemory struct {
	limit  int64
	used   atomic.Int64
	shards [bodyShards]bodyShard
	// quietUntil is until when no body can have stalled, from engine.Began
	quietUntil atomic.Int64
	looking    sync.Mutex // held while stalled bodies are looked for
	// collected is what bufpool.Large was when the garbage was last collected, which
	// is done with collecting held
	collected  atomic.Int64
	collecting sync.Mutex
}

func (m *bodyMemory) begin(limit int64) {
	m.limit = limit
	m.quietUntil.Store(math.MinInt64)
}

// bodyMemoryLimit returns how many bytes the buffers of all bodies may have. By
// default the largest body fits, whose buffer may be twice its size.
func (s *Server) bodyMemoryLimit() int64 {
	switch {
	case s.MaxRequestBodyMemory > 0:
		return int64(s.MaxRequestBodyMemory)
	case s.MaxRequestBodyMemory < 0:
		return math.MaxInt64
	}
	limit := int64(defaultBodyMemory)
	if all := debug.SetMemoryLimit(-1); all < math.MaxInt64 {
		limit = all / 2
	}
	largest := int64(s.settings().maxBodySize)
	return max(limit, min(largest, math.MaxInt64/2)*2)
}

// bodyShards is the number of lists that the bodies are spread over which are
// arriving, for the sake of the lock.
const bodyShards = 16

// bodyShard is one list of bodies that are arriving.
type bodyShard struct {
	mu    sync.Mutex
	first *heldBody
	_     [112]byte
}

func (m *bodyMemory) shardOf(c *engine.Conn) *bodyShard { return &m.shards[c.ID%bodyShards] }

// heldBody is a body that is counted.
type heldBody struct {
	x     *exchange
	bytes atomic.Int64 // that are counted
	fresh int          // bytes that have come since it moved
	moved atomic.Int64 // when stallSize bytes had come again, from engine.Began
	wait  atomic.Int32

	// its place in the list of those that are still arriving, guarded by the lock
	// of the shard
	listed     bool
	prev, next *heldBody
}

// The values of heldBody.wait, which is for a goroutine that waits in Read.
const (
	bodyServed   int32 = iota // nobody waits in Read
	bodyBlocked               // a goroutine does
	bodyClaiming              // somebody is about to end that
	bodyClaimed               // somebody has
)

var heldBodies = sync.Pool{New: func() any { return new(heldBody) }}

// bodyRoom returns how much the body of the current request takes whose buffer has
// this size, with the space for a large one if the engine waits with that in hand.
func (x *exchange) bodyRoom(size int) int {
	if x.link.KeepsSpace() && (x.in != nil && cap(x.in.B) >= bodySpace || x.recv.decoder.Left() > bodySpace) {
		size += bodySpace
	}
	return size
}

// holdBody counts room for the body of the current request, of which got bytes have
// just come. A body that is done cannot stall any more.
func (x *exchange) holdBody(room, got int, done bool) error {
	if int64(room) > x.s.bodies.limit {
		return ErrBodyTooLarge
	}
	h := x.held
	if h == nil {
		h = heldBodies.Get().(*heldBody)
		h.x, x.held = x, h
		h.move()
	}
	h.progress(got)
	if more := int64(room) - h.bytes.Load(); more > 0 {
		if !x.s.takeBodyMemory(more) {
			return ErrRequestBodyMemory
		}
		h.bytes.Add(more)
	}
	if done {
		x.unlistBody()
	} else if !h.listed {
		x.listBody()
	}
	return nil
}

// progress says that n bytes have come.
func (h *heldBody) progress(n int) {
	if h.fresh += n; h.fresh >= stallSize {
		h.move()
	}
}

func (h *heldBody) move() {
	h.fresh = 0
	h.moved.Store(int64(time.Since(engine.Began)))
}

// listBody makes the body one that may be ended while it stalls.
func (x *exchange) listBody() {
	shard := x.s.bodies.shardOf(x.c)
	shard.mu.Lock()
	h := x.held
	if h.next = shard.first; h.next != nil {
		h.next.prev = h
	}
	shard.first, h.listed = h, true
	shard.mu.Unlock()
}

// unlistBody says that the body has arrived.
func (x *exchange) unlistBody() {
	if h := x.held; h != nil && h.listed {
		shard := x.s.bodies.shardOf(x.c)
		shard.mu.Lock()
		shard.unlist(h)
		shard.mu.Unlock()
	}
}

// unlist takes a body out of the list. mu is held.
func (l *bodyShard) unlist(h *heldBody) {
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

// dropBodyCount says that nobody uses the body any more.
func (x *exchange) dropBodyCount() {
	h := x.held
	if h == nil {
		return
	}
	x.unlistBody()
	x.held = nil
	x.s.bodies.used.Add(-h.bytes.Swap(0))
	h.x = nil
	h.wait.Store(bodyServed)
	heldBodies.Put(h)
}

// leaveBodyCount counts the body for as long as somebody has the context, to whom
// it was left.
func (x *exchange) leaveBodyCount(ctx *RequestCtx) {
	if x.held == nil {
		return
	}
	left := leftBody{&x.s.bodies, x.held.bytes.Swap(0)}
	runtime.AddCleanup(ctx, leftBody.drop, left)
	x.dropBodyCount()
}

// leftBody is a body that was left to a handler that has timed out.
type leftBody struct {
	of    *bodyMemory
	bytes int64
}

func (l leftBody) drop() { l.of.used.Add(-l.bytes) }

// awaitBody reads more of a request from its connection, in a goroutine that waits
// for that. A body that stalls meanwhile may be ended by others.
func (x *exchange) awaitBody(conn net.Conn) (int, error) {
	h := x.held
	if h == nil {
		return ioread.Some(conn, x.Space())
	}
	h.block()
	n, err := ioread.Some(conn, x.Space())
	if !h.resume() {
		return 0, ErrRequestBodyMemory
	}
	return n, err
}

// block says that the goroutine of the connection is about to wait in Read for more of
// the body.
func (h *heldBody) block() { h.wait.Store(bodyBlocked) }

// resumed is resume for a goroutine that may not have waited.
func (h *heldBody) resumed() bool { return h.wait.Load() == bodyServed || h.resume() }

// resume says that the goroutine waits no longer. It is false if the body was ended.
func (h *heldBody) resume() bool {
	for !h.wait.CompareAndSwap(bodyBlocked, bodyServed) {
		if h.wait.Load() == bodyClaimed {
			return false
		}
		runtime.Gosched()
	}
	return true
}

// claim makes the body the caller's, who is to call end without holding a lock of
// the server. It is nil for a body that is being served. The lock of the shard is
// held.
func (h *heldBody) claim() (end func()) {
	if h.wait.CompareAndSwap(bodyBlocked, bodyClaiming) {
		return func() {
			h.x.link.Interrupt()
			// it may take its time until the goroutine gets a processor
			h.x.ctx.Request.body.drop()
			h.wait.Store(bodyClaimed)
		}
	}
	if stop := h.x.link.ClaimStalled(h.x.h1Conn); stop != nil {
		end = func() { stop(ErrRequestBodyMemory) }
	}
	return end
}

// takeBodyMemory counts n bytes more, unless there is no room for them.
func (s *Server) takeBodyMemory(n int64) bool {
	m := &s.bodies
	for {
		used := m.used.Load()
		switch {
		case used+n > m.limit:
			if !s.endStalledBodies(n) {
				return false
			}
		case m.used.CompareAndSwap(used, used+n):
			return true
		}
	}
}

// growBody gives the body of the current request a buffer of the size, which counts
// before it is there, and is not there if it does not fit.
//
// If bodies and their garbage may come to more than the limit that is collected before:
// the runtime would wait until it is as much as what is in use. Whoever needs more room
// meanwhile waits, or they would take more than is got back.
func (x *exchange) growBody(size int) error {
	if err := x.holdBody(x.bodyRoom(size), 0, false); err != nil {
		return err
	}
	if m := &x.s.bodies; m.littered() {
		m.collecting.Lock()
		defer m.collecting.Unlock()
		if m.littered() {
			m.collect()
		}
	}
	x.ctx.Request.body.grow(size)
	return nil
}

func (m *bodyMemory) collect() {
	begin := bufpool.Large()
	// what pools hold is let go at the second time
	runtime.GC()
	debug.FreeOSMemory()
	m.collected.Store(begin)
}

// littered reports whether it is worth while to collect garbage.
func (m *bodyMemory) littered() bool {
	fresh := bufpool.Large() - m.collected.Load()
	return fresh > max(m.limit/collectShare, collectLeast) && m.used.Load() > m.limit-fresh
}

// endStalledBodies makes room for n bytes, as far as there are bodies that have
// stalled. It is false if there are none.
func (s *Server) endStalledBodies(n int64) bool {
	m := &s.bodies
	if int64(time.Since(engine.Began)) < m.quietUntil.Load() {
		return false
	}
	m.looking.Lock()
	if m.used.Load()+n <= m.limit {
		m.looking.Unlock()
		return true
	}
	ends := s.claimStalledBodies(n)
	m.looking.Unlock()
	for _, end := range ends {
		end()
	}
	return len(ends) > 0
}

// claimStalledBodies claims the bodies that have stalled for the longest time, as
// many as it takes, which are not counted any more.
func (s *Server) claimStalledBodies(n int64) (ends []func()) {
	m := &s.bodies
	now := int64(time.Since(engine.Began))
	last, next, some := m.stalledSince(now-int64(stallTime), max(n, m.limit/roomShare))
	if !some {
		m.quietUntil.Store(min(next, now) + int64(stallTime))
		return nil
	}
	for i := range m.shards {
		shard := &m.shards[i]
		shard.mu.Lock()
		for h := shard.first; h != nil; {
			body := h
			h = h.next
			if body.moved.Load() > last {
				continue
			}
			if end := body.claim(); end != nil {
				shard.unlist(body)
				m.used.Add(-body.bytes.Swap(0))
				ends = append(ends, end)
			}
		}
		shard.mu.Unlock()
	}
	if len(ends) == 0 {
		m.quietUntil.Store(now + int64(busyLook))
	}
	return ends
}

// stalledSince looks for bodies that have not moved since a time, and reports whether
// there are some. Those that take n bytes together, if they do, have not moved since
// last. The oldest of the others has moved at next.
func (m *bodyMemory) stalledSince(since, n int64) (last, next int64, some bool) {
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
