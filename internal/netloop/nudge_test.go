//go:build linux

package netloop

import (
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/clock"
)

func TestNudgesComeUntilHandlersHaveWaitedLong(t *testing.T) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(set)
	nudge, err := newNudger(set)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(nudge.fd)
	last := nudges[len(nudges)-1]
	n := 0
	for begun := clock.Monotonic(); ; {
		now := clock.Monotonic()
		nudge.arm(begun, now)
		if nudge.next <= now {
			if now-begun < last {
				t.Errorf("no nudge after %v", now-begun)
			}
			break
		}
		var events [2]syscall.EpollEvent
		got, err := syscall.EpollWait(set, events[:], 1000)
		if err == syscall.EINTR {
			continue
		}
		if got != 1 || int(events[0].Fd) != nudge.fd {
			t.Fatalf("%d events, %v", got, err)
		}
		n++
	}
	if n > len(nudges) {
		t.Errorf("%d nudges", n)
	}
	// arm keeps a nudge that comes soon enough, and replaces one that comes late
	nudge = nudger{fd: nudge.fd}
	now := clock.Monotonic()
	nudge.arm(now, now)
	next := nudge.next
	nudge.arm(now+50*time.Microsecond, now+60*time.Microsecond)
	if nudge.next != next {
		t.Error("a nudge was put off")
	}
	nudge.next = now + time.Hour
	if nudge.arm(now, now); nudge.next != next {
		t.Error("a nudge that comes late was kept")
	}
}

// A measurement decides whether there are nudges. It is repeated after a while.
func TestNudgesAreTriedOut(t *testing.T) {
	ms := time.Millisecond
	for _, tt := range []struct {
		name          string
		without, with time.Duration // what handlers take
		phase         nudgePhase
	}{
		{"handlers that sleep", ms, ms / 2, nudgesOn},
		{"handlers that sleep, a little", ms, ms * 19 / 20, nudgesOff},
		{"handlers that wait for others", ms, ms, nudgesOff},
		{"handlers that are slower with nudges", ms, 2 * ms, nudgesOff},
		{"handlers that wait for long", time.Hour, time.Second, nudgesOff},
		{"handlers that return at once", 0, 0, nudgesOff},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var nudge nudger
			now := time.Hour
			for round := range 7 {
				if nudge.record(ms, now); nudge.phase != nudgesBaseline {
					t.Fatalf("round %d begins with phase %d", round, nudge.phase)
				}
				for _, phase := range []nudgePhase{nudgesBaseline, nudgesStarting, nudgesMeasured} {
					for n := range trialHandlers {
						if nudge.phase != phase || nudge.nudging() != (phase != nudgesBaseline) {
							t.Fatalf("phase %d after %d handlers of phase %d", nudge.phase, n, phase)
						}
						now += ms
						took := tt.without
						if phase == nudgesMeasured {
							took = tt.with
						}
						nudge.record(took, now)
					}
				}
				if nudge.phase != tt.phase || nudge.nudging() != (tt.phase == nudgesOn) {
					t.Fatalf("phase %d, want %d", nudge.phase, tt.phase)
				}
				holds := helpFor
				if tt.phase == nudgesOff {
					holds = min(pauseMin<<round, pauseMax)
				}
				now += holds - 1
				if nudge.record(0, now); nudge.phase != tt.phase {
					t.Fatalf("phase %d before its time", nudge.phase)
				}
				now++
			}
		})
	}
}

func TestNudgesAreNoEvents(t *testing.T) {
	nudge := nudger{fd: 7}
	events := []syscall.EpollEvent{{Fd: 3}, {Fd: 7}, {Fd: 4}, {Fd: 5}}
	if n := nudge.remove(events); n != 3 || events[0].Fd != 3 || events[1].Fd != 4 || events[2].Fd != 5 {
		t.Errorf("%d of %v", n, events)
	}
	if n := nudge.remove(events[:2]); n != 2 {
		t.Errorf("%d events of 2 are left", n)
	}
}

// Handlers that sleep for less than a millisecond continue in less than one.
func TestShortSleepsAreShort(t *testing.T) {
	w := newWorld(t, 1)
	defer w.g.Close()
	const conns, rounds = 2 * nudgeMin, 4 * trialHandlers / nudgeMin
	var longest atomic.Int64
	var left atomic.Int32
	handle := func(byte) {
		begin := clock.Monotonic()
		time.Sleep(100 * time.Microsecond)
		for took := int64(clock.Monotonic() - begin); ; {
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
			pause := unix.NsecToTimespec(int64(1200 * time.Microsecond))
			_ = unix.Nanosleep(&pause, nil)
		}
		best = min(best, time.Duration(longest.Load()))
	}
	w.empty(peers[:])
	if best >= time.Millisecond {
		t.Errorf("the best of %d rounds of sleeping for 100 µs took %v", rounds, best)
	}
}
