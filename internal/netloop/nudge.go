//go:build linux

package netloop

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/rawsys"
)

// timerWaker wakes Go's scheduler while handlers wait and nothing else happens.
//
// The scheduler waits for a whole number of milliseconds. So a handler that sleeps for 100
// µs continues after more than 1 ms if nothing else wakes the process, and one that sleeps
// for 2.5 ms after more than 3 ms. With a nudger a handler is late by the distance of two
// nudges at most. For longer sleeps the scheduler is exact enough.
//
// A nudge costs time, and does not help a handler that waits for a descriptor. The loop
// cannot know what a handler waits for, so it measures: it compares the times of handlers
// with and without nudges.
type timerWaker struct {
	fd int
	// next is when the next nudge is due, on the clock. Only the leader uses it.
	next time.Duration

	// the loop's mutex guards the rest

	phase wakerPhase
	left  int           // handlers still to be counted, in the phases that count
	until time.Duration // when a phase that does not count ends, on the clock
	pause time.Duration // how long wakerOff lasts, or lasted the last time
	// without and with are the times of the measured handlers
	without, with time.Duration
}

// wakerPhase is whether there are nudges, and why.
type wakerPhase uint8

const (
	wakerOff      wakerPhase = iota // off: they did not help, or were not measured yet
	wakerBaseline                   // off: handlers are measured without them
	wakerStarting                   // on: handlers that began without them end
	wakerMeasured                   // on: handlers are measured with them
	wakerOn                         // on: they helped
)

const (
	// wakerMinHandlers is how many handlers must be running for a nudge: they share its costs.
	wakerMinHandlers = 4
	// trialHandlers is how many handlers a phase counts.
	trialHandlers = 256
	// wakerMinGain is how much time nudges must save to be kept: one part in wakerMinGain.
	wakerMinGain = 12
	// wakerMaxTime limits how much of one handler's time counts: nudges do not help with
	// longer waits.
	wakerMaxTime = 6 * time.Millisecond
	// wakerOnTime is how long nudges stay on after they helped. If they did not, they stay off
	// for pauseMin at first, and for twice as long each time, up to pauseMax: measuring
	// costs something, too.
	wakerOnTime = 2 * time.Second
	pauseMin    = time.Second / 2
	pauseMax    = 8 * time.Second
)

// wakeTimes are the times of the nudges, counted from the start of the last handler.
var wakeTimes = [...]time.Duration{
	100 * time.Microsecond, 200 * time.Microsecond, 350 * time.Microsecond,
	550 * time.Microsecond, 800 * time.Microsecond, 1100 * time.Microsecond,
	1350 * time.Microsecond, 1600 * time.Microsecond, 1900 * time.Microsecond,
	2200 * time.Microsecond, 2600 * time.Microsecond, 3100 * time.Microsecond,
	3700 * time.Microsecond, 4400 * time.Microsecond,
}

// newTimerWaker returns a nudger whose nudges are events of an epoll set.
func newTimerWaker(set int) (timerWaker, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return timerWaker{}, os.NewSyscallError("timerfd_create", err)
	}
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN | unix.EPOLLET, Fd: int32(fd)}
	if errno := rawsys.Control(set, syscall.EPOLL_CTL_ADD, fd, &ev); errno != 0 {
		_ = syscall.Close(fd)
		return timerWaker{}, os.NewSyscallError("epoll_ctl", errno)
	}
	return timerWaker{fd: fd}, nil
}

// enabled reports whether nudges are on.
func (t *timerWaker) enabled() bool { return t.phase >= wakerStarting }

// record accounts for a handler that took that long and ended at now. The loop calls it
// only while it is slow.
func (t *timerWaker) record(took, now time.Duration) {
	switch t.phase {
	case wakerOff, wakerOn:
		if now >= t.until {
			t.enter(wakerBaseline)
			t.without, t.with = 0, 0
		}
		return
	case wakerBaseline:
		t.without += min(took, wakerMaxTime)
	case wakerMeasured:
		t.with += min(took, wakerMaxTime)
	}
	if t.left--; t.left > 0 {
		return
	}
	switch {
	case t.phase != wakerMeasured:
		t.enter(t.phase + 1)
	case t.with < t.without-t.without/wakerMinGain:
		t.phase, t.until, t.pause = wakerOn, now+wakerOnTime, 0
	default:
		t.pause = min(max(2*t.pause, pauseMin), pauseMax)
		t.phase, t.until = wakerOff, now+t.pause
	}
}

// enter begins a phase that counts handlers.
func (t *timerWaker) enter(phase wakerPhase) { t.phase, t.left = phase, trialHandlers }

// arm sets the timer for the next nudge, if one is due. The last of the running handlers
// began at begun.
func (t *timerWaker) arm(begun, now time.Duration) {
	age := now - begun
	for _, nudge := range wakeTimes {
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
func (t *timerWaker) remove(events []syscall.EpollEvent) int {
	for i, ev := range events {
		if int(ev.Fd) == t.fd {
			copy(events[i:], events[i+1:])
			return len(events) - 1
		}
	}
	return len(events)
}
