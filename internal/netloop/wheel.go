//go:build linux

package netloop

import (
	"math"
	"math/bits"
	"sync"
	"time"
)

// tick is the resolution of deadlines. Ticks are counted from the start of the
// process in 64 bits, which do not wrap.
const tick = 10 * time.Millisecond

var began = time.Now()

// clock returns the time since the start of the process.
func clock() time.Duration { return time.Since(began) }

// now returns the current tick. Tick 0 never comes: it stands for none.
func now() uint64 { return tickOf(clock()) }

func tickOf(t time.Duration) uint64 { return uint64(t/tick) + 1 }

// tickAfter returns the first tick that is d or more away, or one that has passed
// if d is negative.
func tickAfter(d time.Duration) uint64 {
	if d < 0 {
		return tickOf(max(clock()+d, 0))
	}
	return now() + uint64((min(d, 1<<62)+tick-1)/tick) + 1
}

// The wheel has a level for every 6 bits of a tick. A slot of the lowest level
// holds what is looked at in one tick, a slot of a level above holds what is 64
// times as far apart.
const (
	levelBits = 6
	slotCount = 1 << levelBits
	levels    = (64 + levelBits - 1) / levelBits
)

// busyTicks is after how many ticks the wheel looks again at a connection that
// was owned when its deadline had passed.
const busyTicks = 5

// unplanning is where a connection is planned while the wheel finds out whether it
// may let go of it: behind any deadline.
const unplanning = math.MaxUint64

// wheel is a hierarchical timing wheel. A connection whose deadline moves away,
// as it does with every request, stays where it is and is looked at when that
// comes up: so setting a deadline is a store most of the time. The timer sleeps
// until the next slot that holds something.
//
// A connection is in the wheel while its planned tick is not 0. That changes
// under mu only, and never passes through 0 on its way to another value: so the
// owner of a connection who has set its deadline to 0 and then finds planned to
// be 0 knows that the wheel has let go of it.
type wheel struct {
	mu      sync.Mutex
	slots   [levels][slotCount]*Conn
	full    [levels]uint64 // a bit for each slot that may hold something
	last    uint64         // the tick up to which connections were looked at
	alarm   uint64         // the tick that the timer is set for; 0 for none
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

// plan has the wheel look at c, which the caller owns, at its deadline at the
// latest.
func (w *wheel) plan(c *Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if w.alarm == 0 {
		// nothing is planned: nothing has to be looked at in between
		w.last = max(w.last, now()-1)
	}
	at := c.deadline.Load()
	planned := c.planned.Load()
	if at == 0 || planned != 0 && planned <= at {
		return
	}
	if planned != 0 {
		c.unlink()
	}
	w.setAlarm(w.place(c, at))
}

// setAlarm sets the timer, if it is not set for an earlier tick. mu is held.
func (w *wheel) setAlarm(at uint64) {
	if w.alarm != 0 && w.alarm <= at {
		return
	}
	w.alarm = at
	w.timer.Reset(time.Duration(at-1)*tick - clock())
}

// forget takes c, which is closed, out of the wheel.
func (w *wheel) forget(c *Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.planned.Load() != 0 {
		c.unlink()
		c.planned.Store(0)
	}
}

// place puts c, which is in no slot, into that of the tick at, and returns the
// tick at which the wheel will look at it. mu is held.
func (w *wheel) place(c *Conn, at uint64) uint64 {
	at = max(at, w.last+1)
	// all bits above a level are those of last
	level := (bits.Len64(at^w.last) - 1) / levelBits
	n := at >> (level * levelBits) % slotCount
	slot := &w.slots[level][n]
	w.full[level] |= 1 << n
	c.next, c.link = *slot, slot
	if c.next != nil {
		c.next.link = &c.next
	}
	*slot = c
	c.planned.Store(at)
	return at
}

// unlink takes c out of its slot. The mu of the wheel is held.
func (c *Conn) unlink() {
	*c.link = c.next
	if c.next != nil {
		c.next.link = c.link
	}
	c.next, c.link = nil, nil
}

// upcoming returns the first slot that may hold something and the tick at which
// its time comes. mu is held.
func (w *wheel) upcoming() (at uint64, level, slot int, ok bool) {
	for level := range levels {
		shift := level * levelBits
		position := w.last >> shift % slotCount
		if ahead := w.full[level] >> position; ahead != 0 {
			slot := int(position) + bits.TrailingZeros64(ahead)
			// within the turn of this level that last is in
			start := w.last >> shift >> levelBits << levelBits
			return (start + uint64(slot)) << shift, level, slot, true
		}
	}
	return 0, 0, 0, false
}

// turn looks at all connections whose time has come.
func (w *wheel) turn() {
	w.mu.Lock()
	due := w.advance(now(), nil)
	w.alarm = 0
	if at, _, _, ok := w.upcoming(); ok && !w.stopped {
		w.setAlarm(at)
	}
	w.mu.Unlock()
	for _, c := range due {
		c.expire()
	}
}

// advance looks at everything up to a tick, and appends to due the connections
// that have expired. The caller owns these. mu is held.
func (w *wheel) advance(until uint64, due []*Conn) []*Conn {
	for {
		at, level, slot, ok := w.upcoming()
		if !ok || at > until {
			w.last = max(w.last, until)
			return due
		}
		w.last = max(w.last, at)
		c := w.slots[level][slot]
		w.slots[level][slot] = nil
		w.full[level] &^= 1 << slot
		for c != nil {
			next := c.next
			c.next, c.link = nil, nil
			if w.look(c) {
				due = append(due, c)
			}
			c = next
		}
	}
}

// look finds a new slot for c, which was taken out of the one it had, and reports
// whether it has expired and is the caller's. Its owner may set the deadline
// meanwhile: either it sees where c is planned then, or look sees the deadline.
// mu is held.
func (w *wheel) look(c *Conn) (expired bool) {
	for {
		deadline := c.deadline.Load()
		switch {
		case deadline == 0:
			// who sets the deadline now finds that it has to plan, and waits
			// for mu; planned is 0 only when c is not touched any more
			c.planned.Store(unplanning)
			if c.deadline.Load() == 0 {
				c.planned.Store(0)
				return false
			}
			continue
		case deadline > w.last:
			w.place(c, deadline)
		case c.state.CompareAndSwap(stateIdle, stateBusy):
			c.planned.Store(0)
			return true
		default:
			// its owner will most likely move the deadline
			w.place(c, w.last+busyTicks)
			return false
		}
		if sooner := c.deadline.Load(); sooner == 0 || sooner >= deadline {
			return false
		}
		c.unlink()
	}
}

// expire runs Expire for a connection that the caller owns, on a goroutine of
// its own since it may block, unless the deadline has moved meanwhile.
func (c *Conn) expire() {
	go func() {
		for {
			deadline := c.deadline.Load()
			alive := true
			if deadline != 0 && deadline <= now() {
				c.deadline.Store(0)
				alive = c.handler.Expire()
			} else if deadline != 0 {
				c.loop.wheel.plan(c)
			}
			if !alive || c.release() || !c.handler.Serve(&Poller{}) {
				return
			}
		}
	}()
}
