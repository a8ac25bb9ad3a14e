//go:build linux

package netloop

import (
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTickerTicksUntilHandlersHaveWaitedLong(t *testing.T) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(set)
	tick, err := newTicker(set)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(tick.fd)
	last := ticks[len(ticks)-1]
	n := 0
	for begun := clock(); ; n++ {
		now := clock()
		tick.set(begun, now)
		if tick.next <= now {
			if now-begun < last {
				t.Errorf("no tick after %v", now-begun)
			}
			break
		}
		var events [2]syscall.EpollEvent
		got, err := syscall.EpollWait(set, events[:], 1000)
		if err == syscall.EINTR {
			continue
		}
		if got != 1 || int(events[0].Fd) != tick.fd {
			t.Fatalf("%d events, %v", got, err)
		}
	}
	if n == 0 || n > len(ticks) {
		t.Errorf("%d ticks", n)
	}
	// a tick that comes soon enough is left alone, one that comes late is not
	tick = ticker{fd: tick.fd}
	now := clock()
	tick.set(now, now)
	next := tick.next
	tick.set(now+50*time.Microsecond, now+60*time.Microsecond)
	if tick.next != next {
		t.Error("a tick was put off")
	}
	tick.next = now + time.Hour
	if tick.set(now, now); tick.next != next {
		t.Error("a tick that comes late was kept")
	}
}

// A trial decides whether there are ticks, and another one comes when its outcome
// is old.
func TestTicksAreTriedOut(t *testing.T) {
	ms := time.Millisecond
	for _, tt := range []struct {
		name          string
		without, with time.Duration // what handlers take
		phase         tickPhase
	}{
		{"handlers that sleep", ms, ms / 2, ticksHelp},
		{"handlers that sleep, a little", ms, ms * 19 / 20, ticksRest},
		{"handlers that wait for others", ms, ms, ticksRest},
		{"handlers that are slower with ticks", ms, 2 * ms, ticksRest},
		{"handlers that wait for long", time.Hour, time.Second, ticksRest},
		{"handlers that return at once", 0, 0, ticksRest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tick ticker
			now := time.Hour
			for round := range 7 {
				if tick.note(ms, now); tick.phase != ticksAbsent {
					t.Fatalf("round %d begins with phase %d", round, tick.phase)
				}
				for _, phase := range []tickPhase{ticksAbsent, ticksBegin, ticksTried} {
					for n := range tickTrial {
						if tick.phase != phase || tick.ticking() != (phase != ticksAbsent) {
							t.Fatalf("phase %d after %d handlers of phase %d", tick.phase, n, phase)
						}
						now += ms
						took := tt.without
						if phase == ticksTried {
							took = tt.with
						}
						tick.note(took, now)
					}
				}
				if tick.phase != tt.phase || tick.ticking() != (tt.phase == ticksHelp) {
					t.Fatalf("phase %d, want %d", tick.phase, tt.phase)
				}
				holds := tickHelp
				if tt.phase == ticksRest {
					holds = min(tickRest<<round, tickRestMax)
				}
				now += holds - 1
				if tick.note(0, now); tick.phase != tt.phase {
					t.Fatalf("phase %d before its time", tick.phase)
				}
				now++
			}
		})
	}
}

func TestTicksAreNoEvents(t *testing.T) {
	tick := ticker{fd: 7}
	events := []syscall.EpollEvent{{Fd: 3}, {Fd: 7}, {Fd: 4}, {Fd: 5}}
	if n := tick.drop(events); n != 3 || events[0].Fd != 3 || events[1].Fd != 4 || events[2].Fd != 5 {
		t.Errorf("%d of %v", n, events)
	}
	if n := tick.drop(events[:2]); n != 2 {
		t.Errorf("%d events of 2 are left", n)
	}
}

// Handlers that sleep for less than a millisecond go on within less than one.
func TestShortSleepsAreShort(t *testing.T) {
	w := newWorld(t, 1)
	defer w.g.Close()
	const conns, rounds = 2 * tickFor, 4 * tickTrial / tickFor
	var longest atomic.Int64
	var left atomic.Int32
	handle := func(byte) {
		begin := clock()
		time.Sleep(100 * time.Microsecond)
		for took := int64(clock() - begin); ; {
			if old := longest.Load(); took <= old || longest.CompareAndSwap(old, took) {
				break
			}
		}
		left.Add(-1)
	}
	var peers [conns]net.Conn
	for i := range peers {
		peers[i] = w.call(handle)
	}
	best := time.Hour
	for range rounds {
		longest.Store(0)
		left.Store(conns)
		for _, nc := range peers {
			if _, err := nc.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		// the test sleeps in the system, so that the scheduler has nothing to do
		for left.Load() > 0 {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: int64(1200 * time.Microsecond)}, nil)
		}
		best = min(best, time.Duration(longest.Load()))
	}
	w.empty(peers[:])
	if best >= time.Millisecond {
		t.Errorf("the best of %d rounds of sleeping for 100 µs took %v", rounds, best)
	}
}
