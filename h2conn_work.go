package fasthttp

import (
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
)

// Most handlers return quickly. Then one goroutine, the leader, serves the requests that have
// arrived on a connection one after the other, and writes all responses with one call: a
// switch to another goroutine would cost as much as such a handler. On the event engine the
// leader is the goroutine of the loop.
//
// But a slow handler must not delay other requests. If the leader makes no progress, a timer
// makes another goroutine the leader. While the handlers of the server are slow, each request
// gets its own goroutine.

var _ engine.Worker = (*h2Conn)(nil)

const (
	// h2QuickTime is how long a handler may delay other requests.
	h2QuickTime = 30 * time.Microsecond
	// h2Credit is by how much handlers may exceed that in sum before they count as slow, and
	// h2MaxExcess is the most that counts of one of them, since a processor may be busy with
	// something else.
	h2Credit    = time.Millisecond
	h2MaxExcess = 500 * time.Microsecond
	// h2MaxRecordBatch is how many quick handlers are recorded together at most.
	h2MaxRecordBatch = 8
	// h2LeaderTimeout is the time after which the timer checks the leader's progress.
	h2LeaderTimeout = 2 * time.Millisecond
	// h2HoldSize is how many bytes of responses are held back at most until the leader has
	// served all requests.
	h2HoldSize = 32 << 10
)

// h2Pace measures whether the handlers of a server are slow: by how much the last ones have
// exceeded h2QuickTime.
type h2Pace struct{ excess atomic.Int64 }

func (p *h2Pace) slow() bool { return p.excess.Load() > int64(h2Credit) }

// record records that n handlers took this long together, and returns how many to record
// together next: reading the clock costs much of a quick handler's time. Goroutines that call
// it concurrently may lose a record, which does no harm.
func (p *h2Pace) record(took time.Duration, n int) (next int) {
	was := p.excess.Load()
	allowed := time.Duration(n) * h2QuickTime
	now := min(max(was+int64(min(took, h2MaxExcess)-allowed), 0), 2*int64(h2Credit))
	if now != was {
		p.excess.Store(now)
	}
	if took > allowed/4 {
		return 1
	}
	return min(2*n, h2MaxRecordBatch)
}

// h2Task is a task for a goroutine of the server's pool: on a connection, or on an exchange.
type h2Task struct {
	kind h2TaskKind
	h    *h2Conn
	x    *h2Exchange
}

type h2TaskKind uint8

const (
	h2Lead    h2TaskKind = iota // serve the requests of h as its leader, or start followers
	h2Follow                    // serve requests of h as a follower
	h2Wake                      // make the engine write the output of h
	h2Release                   // release x
)

func (t h2Task) do() {
	switch t.kind {
	case h2Lead:
		t.h.Work()
	case h2Follow:
		t.h.serve(0)
	case h2Wake:
		t.h.link.Wake()
	case h2Release:
		t.x.release()
	}
}

// Wake implements http2body.Side. It makes the engine write, and may be called inside a
// handler. So it must not serve other requests, which would delay the handler's own, and must
// not call hooks, which may need a mutex that the handler holds. It only writes, and leaves
// the rest to a worker.
func (h *h2Conn) Wake() {
	over := h.link.Push()
	if over {
		h.mu.Lock()
		over = !h.conn.Done() && h.fault == nil
		h.mu.Unlock()
	}
	if !over {
		h.s.h2.workers.Do(h2Task{h2Wake, h, nil})
	}
}

// h2Queue is a list of exchanges, first in, first out.
type h2Queue struct{ first, last *h2Exchange }

func (q *h2Queue) push(x *h2Exchange) {
	if q.last == nil {
		q.first = x
	} else {
		q.last.next = x
	}
	q.last = x
}

func (q *h2Queue) pop() *h2Exchange {
	x := q.first
	if x == nil {
		return nil
	}
	if q.first = x.next; q.first == nil {
		q.last = nil
	}
	x.next = nil
	return x
}

// dispatch puts an exchange into the queue, to be served.
func (h *h2Conn) dispatch(x *h2Exchange) {
	h.mu.Lock()
	h.enqueue(x)
	h.mu.Unlock()
}

// enqueue is dispatch for a caller that holds mu.
func (h *h2Conn) enqueue(x *h2Exchange) {
	if h.s.set.maxQueueTime > 0 && x.refusal == nil {
		x.waitsSince = clock.Monotonic() - h.waited
	}
	x.phase, x.feeding = h2Serves, false
	h.queue.push(x)
	h.waiting++
}

// HasWork implements engine.Worker.
func (h *h2Conn) HasWork() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hasWork()
}

// hasWork is HasWork for a caller that holds mu.
func (h *h2Conn) hasWork() bool {
	return h.queue.first != nil && h.leader == 0 && int(h.running) < h.s.h2.limits.Streams
}

// Work implements engine.Worker. It serves the requests that wait as their leader, or, while
// handlers are slow, starts a follower for each.
func (h *h2Conn) Work() {
	if h.s.h2.pace.slow() {
		h.spread()
		return
	}
	h.mu.Lock()
	h.leadQueued = false
	if !h.hasWork() {
		h.mu.Unlock()
		return
	}
	h.leaders++
	me := h.leaders
	h.leader = me
	h.running++
	h.startLeaderTimer(int(h.waiting) - 1)
	h.mu.Unlock()
	h.serve(me)
}

// spread makes goroutines of the pool serve the waiting requests, one each.
func (h *h2Conn) spread() {
	h.mu.Lock()
	h.leadQueued = false
	n := max(min(int(h.waiting), h.s.h2.limits.Streams-int(h.running)), 0)
	h.running += int32(n)
	h.mu.Unlock()
	for range n {
		h.s.h2.workers.Do(h2Task{h2Follow, h, nil})
	}
}

// serve serves requests until none waits: as the leader with the number me, or, if me is 0, as
// a follower.
func (h *h2Conn) serve(me uint32) {
	ended := false
	var last *h2Exchange // was closed, and must be finished
	defer func() {
		if !ended {
			// the application has ended the goroutine
			h.mu.Lock()
			wake := last != nil && last.finish()
			h.running--
			if me != 0 && h.leader == me {
				// the responses that it has held back must not wait for another leader
				h.leader, h.heldBytes = 0, 0
				wake = h.Wakes() || wake
			}
			h.mu.Unlock()
			h.spread()
			if wake {
				h.link.Wake()
			}
			h.reportStates()
		}
	}()
	began, since, every := clock.Monotonic(), 0, 1
	for x := h.next(me, nil); x != nil; x = h.next(me, last) {
		last = nil
		if x.unwanted || x.run() {
			last = x
			x.close()
		}
		if since++; since >= every {
			now := clock.Monotonic()
			every = h.s.h2.pace.record(now-began, since)
			began, since = now, 0
		}
	}
	ended = true
}

// next finishes last, unless it is nil, and returns the next exchange to serve. If there is
// none it returns nil, and the caller stops serving; for a leader, next has made the engine
// write all responses.
func (h *h2Conn) next(me uint32, last *h2Exchange) *h2Exchange {
	h.mu.Lock()
	wake := last != nil && last.finish()
	for {
		if wake {
			h.mu.Unlock()
			h.link.Wake()
			h.mu.Lock()
		}
		leads := me != 0 && h.leader == me
		if x := h.queue.pop(); x != nil {
			h.waiting--
			// the client may have reset the stream while the request waited
			_, reset := x.abortErr.(h2Reset)
			x.unwanted = reset && !x.broken
			if x.waitsSince != 0 && !x.unwanted && !x.broken {
				x.refuseLate()
			}
			if leads {
				x.leader = me
				h.leaderServed++
			}
			h.mu.Unlock()
			return x
		}
		h.heldBytes = 0
		if wake = leads && h.Wakes(); !wake {
			break
		}
	}
	h.running--
	if me != 0 && h.leader == me {
		h.leader = 0
	}
	h.mu.Unlock()
	if last != nil {
		h.reportStates()
	}
	return nil
}

// wakesAfter is Wakes for a caller that has just ended the response of x. Responses of the leader are
// held back until it has served all requests, or there are h2HoldSize bytes of them.
func (h *h2Conn) wakesAfter(x *h2Exchange) bool {
	if x.leader != 0 && x.leader == h.leader {
		if h.heldBytes += int(x.sent); h.heldBytes < h2HoldSize {
			return false
		}
		h.heldBytes = 0
	}
	return h.Wakes()
}

// startLeaderTimer starts the timer that checks the leader's progress, if other requests wait for
// it. mu is held.
func (h *h2Conn) startLeaderTimer(others int) {
	if others > 0 {
		h.leaderStall.Start(h2LeaderTimeout, h.leaderServed, h)
	}
}

// CheckStall implements workers.Staller. If the leader has made no progress, another goroutine
// becomes the leader.
func (h *h2Conn) CheckStall() {
	h.mu.Lock()
	stuck := h.leaderStall.Ended(h.leaderServed) && h.leader != 0
	if h.leader != 0 && !stuck {
		h.startLeaderTimer(int(h.waiting))
	}
	wake := false
	if stuck {
		// the responses that it has held back must not wait for this handler, either
		h.leader, h.heldBytes = 0, 0
		wake = h.Wakes()
	}
	h.mu.Unlock()
	if !stuck {
		return
	}
	if wake {
		h.link.Wake()
	}
	h.s.h2.workers.Do(h2Task{h2Lead, h, nil})
}
