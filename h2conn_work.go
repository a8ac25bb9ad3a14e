package fasthttp

import (
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
)

// Handlers mostly return at once. Then one goroutine, the leader, serves the requests that
// have come on a connection one after the other, and writes all responses with one call: to
// switch to another goroutine costs as much as such a handler does. On the event engine it is
// the goroutine of the loop.
//
// A handler that takes its time must not hold up the others, though. If the leader makes no
// progress, a timer has another goroutine lead; and while handlers take their time each
// request of the server gets a goroutine of its own.

var _ engine.Worker = (*h2Conn)(nil)

const (
	// h2Quick is how long a handler may take that holds up others.
	h2Quick = 30 * time.Microsecond
	// h2Credit is by how much handlers may exceed that together before they are slow, and
	// h2MostEach what counts of each: a processor may be busy with something else.
	h2Credit   = time.Millisecond
	h2MostEach = 500 * time.Microsecond
	// h2MostTogether is how many handlers are recorded together, if they are quick.
	h2MostTogether = 8
	// h2Patience is after how long the timer looks at the leader.
	h2Patience = 2 * time.Millisecond
	// h2HoldSize is how many bytes of responses wait at most until the leader has served
	// all.
	h2HoldSize = 32 << 10
)

// h2Pace is whether the handlers of a server are slow: by how much the last ones have
// exceeded their time.
type h2Pace struct{ excess atomic.Int64 }

func (p *h2Pace) slow() bool { return p.excess.Load() > int64(h2Credit) }

// record takes how long n handlers took together, and returns how many are to be recorded
// together next: to look at the clock costs much of a quick one's time. That another goroutine
// does so at the same moment does no harm.
func (p *h2Pace) record(took time.Duration, n int) (next int) {
	was := p.excess.Load()
	allowed := time.Duration(n) * h2Quick
	now := min(max(was+int64(min(took, h2MostEach)-allowed), 0), 2*int64(h2Credit))
	if now != was {
		p.excess.Store(now)
	}
	if took > allowed/4 {
		return 1
	}
	return min(2*n, h2MostTogether)
}

// h2Task is work for a goroutine of a server's pool: on a connection, or on an exchange.
type h2Task struct {
	kind h2TaskKind
	h    *h2Conn
	x    *h2Exchange
}

type h2TaskKind uint8

const (
	h2Lead    h2TaskKind = iota // serve the requests of h as its leader, or have others serve them
	h2Follow                    // serve requests of h
	h2Wake                      // have the engine write the output of h
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

// Wake implements http2body.Side: it has the engine write, for a goroutine that may be inside
// of a handler. It must not serve others, for whom its own request would wait, nor call hooks:
// they may want a mutex that the handler holds. So it only writes, and leaves the rest to a
// worker.
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

// HasWork implements engine.Worker.
func (h *h2Conn) HasWork() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hasWork()
}

// hasWork is HasWork for a caller who holds mu.
func (h *h2Conn) hasWork() bool {
	return h.queue.first != nil && h.leader == 0 && h.running < h.s.h2.limits.Streams
}

// Work implements engine.Worker.
func (h *h2Conn) Work() {
	if h.s.h2.pace.slow() {
		h.spread()
		return
	}
	h.mu.Lock()
	if !h.hasWork() {
		h.mu.Unlock()
		return
	}
	h.leaders++
	me := h.leaders
	h.leader = me
	h.running++
	h.watchLeader(h.waiting - 1)
	h.mu.Unlock()
	h.serve(me)
}

// spread has each request that waits served on a goroutine of its own.
func (h *h2Conn) spread() {
	h.mu.Lock()
	n := max(min(h.waiting, h.s.h2.limits.Streams-h.running), 0)
	h.running += n
	h.mu.Unlock()
	for range n {
		h.s.h2.workers.Do(h2Task{h2Follow, h, nil})
	}
}

// serve serves requests until none waits: as the leader that me is the number of, or as a
// follower if me is 0.
func (h *h2Conn) serve(me uint32) {
	ended := false
	var last *h2Exchange // was closed, and is to be finished
	defer func() {
		if !ended {
			// the application has ended the goroutine
			h.mu.Lock()
			wake := last != nil && last.finish()
			h.running--
			if me != 0 && h.leader == me {
				// what it has held must not wait for another
				h.leader, h.held = 0, 0
				wake = h.Wakes() || wake
			}
			h.mu.Unlock()
			h.spread()
			if wake {
				h.link.Wake()
			}
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

// next finishes last, unless that is nil, and returns the next exchange to be served, or nil:
// then the caller serves no more. The leader has the engine write before that.
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
		if x := h.queue.take(); x != nil {
			h.waiting--
			// the client may have given up what waited for others to end
			_, x.unwanted = x.cut.(h2Reset)
			if leads {
				x.led = me
				h.turns++
			}
			h.mu.Unlock()
			return x
		}
		h.held = 0
		if wake = leads && h.Wakes(); !wake {
			break
		}
	}
	h.running--
	if me != 0 && h.leader == me {
		h.leader = 0
	}
	h.mu.Unlock()
	return nil
}

// ends is wakes for a caller who has just ended the response of x. What the leader makes
// waits until it has served all, or much.
func (h *h2Conn) ends(x *h2Exchange) bool {
	if x.led != 0 && x.led == h.leader {
		if h.held += int(x.sent); h.held < h2HoldSize {
			return false
		}
		h.held = 0
	}
	return h.Wakes()
}

// watchLeader has a timer look whether the leader goes on, if others wait for that. mu is
// held.
func (h *h2Conn) watchLeader(others int) {
	if h.watching || others <= 0 {
		return
	}
	h.watching, h.watched = true, h.turns
	if h.watch == nil {
		h.watch = time.AfterFunc(h2Patience, h.lookAtLeader)
	} else {
		h.watch.Reset(h2Patience)
	}
}

// lookAtLeader is called by the timer.
func (h *h2Conn) lookAtLeader() {
	h.mu.Lock()
	h.watching = false
	stuck := h.leader != 0 && h.turns == h.watched
	if h.leader != 0 && !stuck {
		h.watchLeader(h.waiting)
	}
	wake := false
	if stuck {
		// what it has served must not wait for this handler, either
		h.leader, h.held = 0, 0
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
