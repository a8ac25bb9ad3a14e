//go:build linux

package netloop

import (
	"math"
	"math/bits"
	"time"

	"github.com/valyala/fasthttp/internal/lockorder"
)

// The wheel has a level for every 6 bits of a tick. A slot of the lowest level
// holds the connections that are checked in one tick; a slot of each higher level
// spans 64 times as many ticks.
const (
	levelBits = 6
	slotCount = 1 << levelBits
	levels    = (64 + levelBits - 1) / levelBits
)

// busyTicks is the number of ticks after which the wheel checks a connection again that had
// an owner when its deadline passed.
const busyTicks = 5

// wheelTickNone is the planned tick of a connection while the wheel finds out whether
// it may remove the connection. It is later than any deadline.
const wheelTickNone = math.MaxUint64

// wheel is a hierarchical timing wheel. A connection whose deadline becomes later, as it
// does with every request, stays in its slot, and gets another slot when the wheel reaches
// it. So setting a deadline is a single store most of the time. The timer sleeps until the
// next slot in use.
//
// A connection is in the wheel while its planned tick is not 0. The planned tick changes
// only under mu, and is never 0 between two other values. So an owner that has set the
// deadline to 0 and then finds planned to be 0 knows that the wheel has removed the
// connection.
type wheel struct {
	now     func() time.Duration // the clock
	mu      lockorder.Mutex[lockorder.Wheel]
	slots   [levels][slotCount]*Conn
	full    [levels]uint64 // a bit for each slot that may hold a connection
	last    uint64         // the tick up to which connections were checked
	alarm   uint64         // the tick that the timer is set for; 0 for none
	timer   *time.Timer
	stopped bool
}

// start makes the wheel check connections by the clock now.
func (w *wheel) start(now func() time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now, w.last = now, tickOf(now())
	w.timer = time.AfterFunc(time.Hour, w.checkDue)
	w.timer.Stop()
}

func (w *wheel) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}

// schedule makes the wheel check c, which the caller owns, at its deadline or before.
func (w *wheel) schedule(c *Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if w.alarm == 0 {
		// no connection is planned: there is nothing to check up to here
		w.last = max(w.last, tickOf(w.now())-1)
	}
	at := c.deadline.Load()
	planned := c.wheelTick.Load()
	if at == 0 || planned != 0 && planned <= at {
		return
	}
	if planned != 0 {
		c.unlink()
	}
	w.setAlarm(w.place(c, at))
}

// setAlarm sets the timer to the tick at, unless it is set for an earlier tick. mu is held.
func (w *wheel) setAlarm(at uint64) {
	if w.alarm != 0 && w.alarm <= at {
		return
	}
	w.alarm = at
	w.timer.Reset(time.Duration(at-1)*tick - w.now())
}

// remove removes c, which is closed, from the wheel.
func (w *wheel) remove(c *Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.wheelTick.Load() != 0 {
		c.unlink()
		c.wheelTick.Store(0)
	}
}

// place puts c, which is in no slot, into the slot of the tick at, and returns the
// tick at which the wheel will check it. mu is held.
func (w *wheel) place(c *Conn, at uint64) uint64 {
	at = max(at, w.last+1)
	// all bits above a level equal the bits of last
	level := (bits.Len64(at^w.last) - 1) / levelBits
	n := at >> (level * levelBits) % slotCount
	slot := &w.slots[level][n]
	w.full[level] |= 1 << n
	c.next, c.prevNext = *slot, slot
	if c.next != nil {
		c.next.prevNext = &c.next
	}
	*slot = c
	c.wheelTick.Store(at)
	return at
}

// unlink removes c from its slot. The mu of the wheel is held.
func (c *Conn) unlink() {
	*c.prevNext = c.next
	if c.next != nil {
		c.next.prevNext = c.prevNext
	}
	c.next, c.prevNext = nil, nil
}

// upcoming returns the first slot that may hold a connection, and the tick at which
// it is due. mu is held.
func (w *wheel) upcoming() (at uint64, level, slot int, ok bool) {
	for level := range levels {
		shift := level * levelBits
		position := w.last >> shift % slotCount
		if ahead := w.full[level] >> position; ahead != 0 {
			slot := int(position) + bits.TrailingZeros64(ahead)
			// within the turn of this level that includes last
			start := w.last >> shift >> levelBits << levelBits
			return (start + uint64(slot)) << shift, level, slot, true
		}
	}
	return 0, 0, 0, false
}

// checkDue checks all connections that are due.
func (w *wheel) checkDue() {
	w.mu.Lock()
	due := w.advance(tickOf(w.now()), nil)
	w.alarm = 0
	if at, _, _, ok := w.upcoming(); ok && !w.stopped {
		w.setAlarm(at)
	}
	w.mu.Unlock()
	for _, c := range due {
		c.expire()
	}
}

// advance checks all connections up to the tick until, and appends the expired ones to due.
// The caller owns these. mu is held.
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
			c.next, c.prevNext = nil, nil
			if w.check(c) {
				due = append(due, c)
			}
			c = next
		}
	}
}

// check finds another slot for c, which was removed from its slot, or reports that
// it has expired and that the caller owns it. The owner of c may set the deadline
// meanwhile: either it sees the tick for which c is planned, or check sees the
// deadline. mu is held.
func (w *wheel) check(c *Conn) (expired bool) {
	for {
		deadline := c.deadline.Load()
		switch {
		case deadline == 0:
			// an owner that sets the deadline from here on finds that it must
			// call plan, and waits there for mu; planned becomes 0 only after
			// the last use of c
			c.wheelTick.Store(wheelTickNone)
			if c.deadline.Load() == 0 {
				c.wheelTick.Store(0)
				return false
			}
			continue
		case deadline > w.last:
			w.place(c, deadline)
		case c.state.CompareAndSwap(stateIdle, stateBusy):
			c.wheelTick.Store(0)
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

// expire calls Expire for a connection that the caller owns, unless the deadline
// has moved meanwhile. It starts a goroutine for that, since Expire may block.
func (c *Conn) expire() {
	go func() {
		for {
			deadline := c.deadline.Load()
			alive := true
			if deadline != 0 && deadline <= tickOf(c.loop.now()) {
				c.deadline.Store(0)
				alive = c.handler.Expire()
			} else if deadline != 0 {
				c.loop.wheel.schedule(c)
			}
			if !alive || c.release() || !c.handler.Serve(&Poller{}) {
				return
			}
		}
	}()
}
