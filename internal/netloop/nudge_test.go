//go:build linux

package netloop

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/servertest"
)

// comes waits until a descriptor has something to read.
func comes(t *testing.T, what string, fd int) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := 0, error(unix.EINTR)
	for err == unix.EINTR {
		n, err = unix.Poll(fds, int(servertest.Patience.Milliseconds()))
	}
	if n != 1 || err != nil {
		t.Fatalf("never came: %s; %v", what, err)
	}
}

// The nudges follow each other at the times of the list.
func TestNudgesComeUntilHandlersHaveWaitedLong(t *testing.T) {
	clock := newHandClock()
	l := &Loop{now: clock.now}
	servertest.Must(t, l.open())
	defer l.set.file.Close()
	defer l.yielder.file.Close()
	defer unix.Close(l.waker.fd)
	begun := clock.now()
	p := &Poller{l: l, needsWaker: true, begun: begun}
	for _, nudge := range wakeTimes {
		if p.poll(0) {
			t.Fatalf("%d events", p.fetched)
		}
		if next := l.waker.next - begun; next != nudge {
			t.Fatalf("the next nudge comes after %v, want %v", next, nudge)
		}
		comes(t, fmt.Sprint("the nudge after ", nudge), l.set.fd)
		clock.pass(begun + nudge - clock.now())
	}
	if p.poll(0) || l.waker.next > clock.now() {
		t.Errorf("a nudge more, at %v", l.waker.next-begun)
	}
}

func TestNudgesThatComeSoonEnoughAreKept(t *testing.T) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	servertest.Must(t, err)
	defer unix.Close(set)
	nudge, err := newTimerWaker(set)
	servertest.Must(t, err)
	defer unix.Close(nudge.fd)
	now := time.Hour
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
		without, with time.Duration // times of handlers
		phase         wakerPhase
	}{
		{"handlers that sleep", ms, ms / 2, wakerOn},
		{"handlers that sleep, a little", ms, ms * 19 / 20, wakerOff},
		{"handlers that wait for others", ms, ms, wakerOff},
		{"handlers that are slower with nudges", ms, 2 * ms, wakerOff},
		{"handlers that wait for long", time.Hour, time.Second, wakerOff},
		{"handlers that return at once", 0, 0, wakerOff},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var nudge timerWaker
			now := time.Hour
			for round := range 7 {
				if nudge.record(ms, now); nudge.phase != wakerBaseline {
					t.Fatalf("round %d begins with phase %d", round, nudge.phase)
				}
				for _, phase := range []wakerPhase{wakerBaseline, wakerStarting, wakerMeasured} {
					for n := range trialHandlers {
						if nudge.phase != phase || nudge.enabled() != (phase != wakerBaseline) {
							t.Fatalf("phase %d after %d handlers of phase %d", nudge.phase, n, phase)
						}
						now += ms
						took := tt.without
						if phase == wakerMeasured {
							took = tt.with
						}
						nudge.record(took, now)
					}
				}
				if nudge.phase != tt.phase || nudge.enabled() != (tt.phase == wakerOn) {
					t.Fatalf("phase %d, want %d", nudge.phase, tt.phase)
				}
				holds := wakerOnTime
				if tt.phase == wakerOff {
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
	nudge := timerWaker{fd: 7}
	events := []syscall.EpollEvent{{Fd: 3}, {Fd: 7}, {Fd: 4}, {Fd: 5}}
	if n := nudge.remove(events); n != 3 || events[0].Fd != 3 || events[1].Fd != 4 || events[2].Fd != 5 {
		t.Errorf("%d of %v", n, events)
	}
	if n := nudge.remove(events[:2]); n != 2 {
		t.Errorf("%d events of 2 are left", n)
	}
}

// A poller that waits beside enough handlers is nudged if that helps them.
func TestLoopsAreNudgedBesideHandlersThatWait(t *testing.T) {
	for name, tt := range map[string]struct {
		handlers int
		phase    wakerPhase
		want     bool
	}{
		"enough handlers":  {wakerMinHandlers, wakerOn, true},
		"a measurement":    {wakerMinHandlers, wakerMeasured, true},
		"too few handlers": {wakerMinHandlers - 1, wakerOn, false},
		"nudges are off":   {wakerMinHandlers, wakerOff, false},
	} {
		t.Run(name, func(t *testing.T) {
			// this clock stands still, so the first nudge is all there is
			clock := newHandClock()
			w := newWorldAt(t, 1, clock.now)
			l := w.g.get(0)
			l.mu.Lock()
			l.waker.phase, l.waker.left, l.waker.until = tt.phase, trialHandlers, clock.now()+time.Hour
			l.mu.Unlock()
			for range tt.handlers {
				w.send(w.call(func(byte) { <-w.free }), "x")
			}
			w.rest(l, tt.handlers)
			begun := clock.now()
			if tt.want {
				comes(t, "a nudge", l.waker.fd)
			}
			w.release()
			w.close()
			if armed := l.waker.next == begun+wakeTimes[0]; armed != tt.want {
				t.Errorf("the nudge is at %v, and the last handler began at %v", l.waker.next, begun)
			}
		})
	}
}
