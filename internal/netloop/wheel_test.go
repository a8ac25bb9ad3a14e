//go:build linux

package netloop

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// stillWheel returns a wheel whose timer does not run: the test sets the time.
func stillWheel(last uint64) *wheel {
	w := &wheel{last: last, timer: time.AfterFunc(time.Hour, func() {})}
	w.timer.Stop()
	return w
}

// put plans c like an owner that sets a deadline.
func (w *wheel) put(c *Conn, at uint64) {
	c.deadline.Store(at)
	w.mu.Lock()
	defer w.mu.Unlock()
	if planned := c.wheelTick.Load(); planned != 0 {
		if planned <= at {
			return
		}
		c.unlink()
	}
	w.place(c, at)
}

func TestWheelExpiresAtTheTick(t *testing.T) {
	// the second of these is close to the end of 32 bits of ticks, after 497 days
	for _, last := range []uint64{1, 1<<32 - 100, 1<<36 - 1, 64*64*64 - 1} {
		for _, ahead := range []uint64{1, 2, 63, 64, 65, 100, 4095, 4096, 5000, 300_000, 1 << 31, 1 << 40} {
			w := stillWheel(last)
			c := &Conn{}
			w.put(c, last+ahead)
			if due := w.advance(last+ahead-1, nil); len(due) != 0 {
				t.Errorf("from %d: expired before %d more ticks", last, ahead)
			}
			if due := w.advance(last+ahead, nil); len(due) != 1 || due[0] != c || c.wheelTick.Load() != 0 {
				t.Errorf("from %d: not expired after %d ticks, planned for %d", last, ahead, c.wheelTick.Load())
			}
		}
	}
}

// The wheel is compared with a list of deadlines, in steps of all sizes.
func TestWheelExpiresEachInItsTurn(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	w := stillWheel(1<<32 - 1000)
	conns := make([]*Conn, 200)
	for i := range conns {
		conns[i] = &Conn{}
	}
	for range 20_000 {
		c := conns[r.IntN(len(conns))]
		switch r.IntN(8) {
		case 0:
			c.deadline.Store(0)
		case 1:
			// as Close does
			c.deadline.Store(0)
			w.remove(c)
			if c.wheelTick.Load() != 0 || c.prevNext != nil {
				t.Fatal("a forgotten connection is still planned")
			}
		case 2, 3, 4, 5:
			w.put(c, w.last+1+r.Uint64N(1<<r.IntN(24)))
		default:
			until := w.last + r.Uint64N(1<<r.IntN(18))
			var want []*Conn
			for _, c := range conns {
				if d := c.deadline.Load(); d != 0 && d <= until {
					want = append(want, c)
				}
			}
			due := w.advance(until, nil)
			for _, c := range due {
				c.state.Store(stateIdle)
				if !slices.Contains(want, c) {
					t.Fatal("expired too early")
				}
				c.deadline.Store(0)
			}
			if len(due) != len(want) {
				t.Fatalf("%d have expired, want %d", len(due), len(want))
			}
			if w.last != until {
				t.Fatalf("the wheel is at %d, want %d", w.last, until)
			}
		}
	}
}

// The wheel leaves a busy connection to its owner, and checks it again soon.
func TestWheelLeavesTheBusyAlone(t *testing.T) {
	w := stillWheel(100)
	c := &Conn{}
	c.state.Store(stateBusy)
	w.put(c, 110)
	if due := w.advance(110, nil); len(due) != 0 {
		t.Fatal("expired while it had an owner")
	}
	c.state.Store(stateIdle)
	if due := w.advance(110+busyTicks, nil); len(due) != 1 {
		t.Error("not checked again")
	}
}

// The wheel may read a late deadline at the moment at which the owner sets an early one and
// relies on the planned tick that it read.
func TestWheelSeesADeadlineThatIsSetMeanwhile(t *testing.T) {
	for range 2000 {
		w := stillWheel(1000)
		c := &Conn{}
		c.loop = &Loop{}
		w.put(c, 1010)
		c.deadline.Store(1_000_000)
		done := make(chan struct{})
		go func() {
			defer close(done)
			// as SetDeadline does
			const near = 1020
			c.deadline.Store(near)
			if planned := c.wheelTick.Load(); planned == 0 || near < planned {
				w.put(c, near)
			}
		}()
		w.mu.Lock()
		w.advance(1010, nil)
		w.mu.Unlock()
		servertest.Receive(t, "the end of put", done)
		if planned := c.wheelTick.Load(); planned == 0 || planned > 1020 {
			t.Fatalf("checks again at tick %d, want 1020 at the latest", planned)
		}
	}
}

// The timer of a wheel full of idle connections sleeps until something is due.
func TestWheelWakesForNothing(t *testing.T) {
	const now = time.Hour
	w := stillWheel(tickOf(now))
	w.now = func() time.Duration { return now }
	defer w.timer.Stop()
	conns := make([]Conn, 400)
	for i := range conns {
		at := tickOf(now) + 6000 + uint64(i) // a minute and more
		conns[i].deadline.Store(at)
		w.schedule(&conns[i])
	}
	end := w.last + 6000 - 1
	wakes := 0
	w.mu.Lock()
	for at, _, _, ok := w.upcoming(); ok && at <= end; at, _, _, ok = w.upcoming() {
		wakes++
		if due := w.advance(at, nil); len(due) != 0 {
			t.Fatalf("expired %d ticks early", end-at)
		}
	}
	w.mu.Unlock()
	if wakes > 20 {
		t.Errorf("wakes %d times in a minute for nothing", wakes)
	}
}
