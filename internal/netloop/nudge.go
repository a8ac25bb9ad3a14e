//go:build linux

package netloop

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/rawsys"
)

// nudger wakes Go's scheduler while handlers wait and nothing else happens.
//
// The scheduler waits for a whole number of milliseconds. So a handler that sleeps for 100
// µs continues after more than 1 ms if nothing else wakes the process, and one that sleeps
// for 2.5 ms after more than 3 ms. With a nudger a handler is late by the distance of two
// nudges at most. For longer sleeps the scheduler is exact enough.
//
// A nudge costs time, and does not help a handler that waits for a descriptor. The loop
// cannot know what a handler waits for, so it measures: it compares the times of handlers
// with and without nudges.
type nudger struct {
	fd int
	// next is when the next nudge is due, on the clock. Only the leader uses it.
	next time.Duration

	// the loop's mutex guards the rest

	phase nudgePhase
	left  int           // handlers still to be counted, in the phases that count
	until time.Duration // when a phase that does not count ends, on the clock
	pause time.Duration // how long nudgesOff lasts, or lasted the last time
	// without and with are the times of the measured handlers
	without, with time.Duration
}

// nudgePhase is whether there are nudges, and why.
type nudgePhase uint8

const (
	nudgesOff      nudgePhase = iota // off: they did not help, or were not measured yet
	nudgesBaseline                   // off: handlers are measured without them
	nudgesStarting                   // on: handlers that began without them end
	nudgesMeasured                   // on: handlers are measured with them
	nudgesOn                         // on: they helped
)

const (
	// nudgeMin is how many handlers must be running for a nudge: they share its costs.
	nudgeMin = 4
	// trialHandlers is how many handlers a phase counts.
	trialHandlers = 256
	// nudgeGain is how much time nudges must save to be kept: one part in nudgeGain.
	nudgeGain = 12
	// nudgeLong limits how much of one handler's time counts: nudges do not help with
	// longer waits.
	nudgeLong = 6 * time.Millisecond
	// helpFor is how long nudges stay on after they helped. If they did not, they stay off
	// for pauseMin at first, and for twice as long each time, up to pauseMax: measuring
	// costs something, too.
	helpFor  = 2 * time.Second
	pauseMin = time.Second / 2
	pauseMax = 8 * time.Second
)

// nudges are the times of the nudges, counted from the start of the last handler.
var nudges = [...]time.Duration{
	100 * time.Microsecond, 200 * time.Microsecond, 350 * time.Microsecond,
	550 * time.Microsecond, 800 * time.Microsecond, 1100 * time.Microsecond,
	1350 * time.Microsecond, 1600 * time.Microsecond, 1900 * time.Microsecond,
	2200 * time.Microsecond, 2600 * time.Microsecond, 3100 * time.Microsecond,
	3700 * time.Microsecond, 4400 * time.Microsecond,
}

// newNudger returns a nudger whose nudges are events of an epoll set.
func newNudger(set int) (nudger, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nudger{}, os.NewSyscallError("timerfd_create", err)
	}
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN | unix.EPOLLET, Fd: int32(fd)}
	if errno := rawsys.Control(set, syscall.EPOLL_CTL_ADD, fd, &ev); errno != 0 {
		_ = syscall.Close(fd)
		return nudger{}, os.NewSyscallError("epoll_ctl", errno)
	}
	return nudger{fd: fd}, nil
}

// nudging reports whether nudges are on.
func (t *nudger) nudging() bool { return t.phase >= nudgesStarting }

// record accounts for a handler that took that long and ended at now. The loop calls it
// only while it is slow.
func (t *nudger) record(took, now time.Duration) {
	switch t.phase {
	case nudgesOff, nudgesOn:
		if now >= t.until {
			t.enter(nudgesBaseline)
			t.without, t.with = 0, 0
		}
		return
	case nudgesBaseline:
		t.without += min(took, nudgeLong)
	case nudgesMeasured:
		t.with += min(took, nudgeLong)
	}
	if t.left--; t.left > 0 {
		return
	}
	switch {
	case t.phase != nudgesMeasured:
		t.enter(t.phase + 1)
	case t.with < t.without-t.without/nudgeGain:
		t.phase, t.until, t.pause = nudgesOn, now+helpFor, 0
	default:
		t.pause = min(max(2*t.pause, pauseMin), pauseMax)
		t.phase, t.until = nudgesOff, now+t.pause
	}
}

// enter begins a phase that counts handlers.
func (t *nudger) enter(phase nudgePhase) { t.phase, t.left = phase, trialHandlers }

// arm sets the timer for the next nudge, if one is due. The last of the running handlers
// began at begun.
func (t *nudger) arm(begun, now time.Duration) {
	age := now - begun
	for _, nudge := range nudges {
		if age >= nudge {
			continue
		}
		if at := begun + nudge; t.next <= now || t.next > at {
			t.next = at
			spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at - now))}
			_ = unix.TimerfdSettime(t.fd, 0, &spec, nil)
		}
		return
	}
}

// remove removes a nudge from events, and returns how many events are left.
func (t *nudger) remove(events []syscall.EpollEvent) int {
	for i, ev := range events {
		if int(ev.Fd) == t.fd {
			copy(events[i:], events[i+1:])
			return len(events) - 1
		}
	}
	return len(events)
}
