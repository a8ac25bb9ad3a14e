//go:build linux

package netloop

import (
	"sync"
	"time"
)

// tick is the resolution of deadlines.
const tick = 10 * time.Millisecond

// wheelSize is how many ticks the wheel looks ahead. A deadline that is
// further away is looked at once in a turn of the wheel.
const wheelSize = 512

var began = time.Now()

// now returns the current tick. Tick 0 never comes: it stands for none.
func now() uint32 { return uint32(time.Since(began)/tick) + 1 }

// tickAfter returns the first tick that is d or more away.
func tickAfter(d time.Duration) uint32 {
	return now() + uint32(min((d+tick-1)/tick, 1<<30)) + 1
}

// busyTicks is after how many ticks the wheel looks again at a connection that
// was owned when its deadline had passed.
const busyTicks = 5

// wheel is a timing wheel. A connection whose deadline moves away, as it does
// with every request, is left where it is, and looked at when that comes up:
// so setting a deadline is a store most of the time.
type wheel struct {
	mu      sync.Mutex
	slots   [wheelSize][]*Conn
	planned int
	last    uint32 // the last tick that was looked at
	timer   *time.Timer
	stopped bool
}

func (w *wheel) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = now()
	w.timer = time.AfterFunc(time.Hour, w.turn)
	w.timer.Stop()
}

func (w *wheel) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}

// plan makes the wheel look at c at the tick at, or a turn of the wheel from
// now.
func (w *wheel) plan(c *Conn, at uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if w.planned == 0 {
		w.last = now()
		w.timer.Reset(tick)
	}
	w.insert(c, at)
}

// insert is called with mu held.
func (w *wheel) insert(c *Conn, at uint32) {
	at = max(min(at, w.last+wheelSize-1), w.last+1)
	c.planned.Store(at)
	slot := &w.slots[at%wheelSize]
	*slot = append(*slot, c)
	w.planned++
}

// turn looks at all connections that were planned for by now.
func (w *wheel) turn() {
	var due []*Conn
	w.mu.Lock()
	for until := now(); w.last < until && w.planned > 0; {
		w.last++
		due = w.look(w.last, due)
	}
	if w.planned > 0 && !w.stopped {
		w.timer.Reset(tick)
	}
	w.mu.Unlock()
	for _, c := range due {
		if c.acquireIdle() {
			c.expire()
		} else if c.deadline.Load() != 0 {
			// its owner will most likely move the deadline
			w.plan(c, now()+busyTicks)
		}
	}
}

// look goes through the slot of a tick, and adds to due what has expired.
func (w *wheel) look(at uint32, due []*Conn) []*Conn {
	slot := w.slots[at%wheelSize]
	w.slots[at%wheelSize] = nil
	w.planned -= len(slot)
	for _, c := range slot {
		if c.planned.Load() != at {
			// it was planned for an earlier tick since
			continue
		}
		deadline := c.deadline.Load()
		switch {
		case deadline == 0:
			c.planned.Store(0)
			// whoever has set one meanwhile may have relied on the plan
			if deadline = c.deadline.Load(); deadline != 0 {
				w.insert(c, deadline)
			}
		case deadline <= at:
			c.planned.Store(0)
			due = append(due, c)
		default:
			w.insert(c, deadline)
		}
	}
	if cap(slot) <= 1024 && w.slots[at%wheelSize] == nil {
		clear(slot)
		w.slots[at%wheelSize] = slot[:0]
	}
	return due
}

func (c *Conn) acquireIdle() bool {
	return c.state.CompareAndSwap(stateIdle, stateBusy)
}

// expire runs Expire, on a goroutine of its own since it may block, unless the
// deadline has moved while the wheel came by.
func (c *Conn) expire() {
	go func() {
		for {
			deadline := c.deadline.Load()
			alive := true
			if deadline != 0 && deadline <= now() {
				c.deadline.Store(0)
				alive = c.handler.Expire()
			} else if deadline != 0 {
				c.loop.wheel.plan(c, deadline)
			}
			if !alive {
				return
			}
			if c.release() {
				return
			}
			if !c.handler.Serve(&Poller{}) {
				return
			}
		}
	}()
}
