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
// The scheduler waits for a whole number of milliseconds, so a handler that
// sleeps for 100 µs goes on after more than 1 ms if nothing else wakes the
// process, and one that sleeps for 2.5 ms after more than 3. With a nudger it is
// late by the distance of two nudges at most. For longer sleeps the scheduler is
// exact enough.
//
// To a handler that waits for a descriptor a nudge is no help, but costs. Nobody
// can know what a handler waits for, so the loop tries it out: it compares what
// handlers take with nudges and without.
type nudger struct {
	fd int
	// next is when it nudges, on the clock. Whoever has the seat uses it.
	next time.Duration

	// what follows is guarded by the loop's mutex

	phase nudgePhase
	left  int           // of trial handlers, in the phases that count them
	until time.Duration // when the other phases end, on the clock
	rest  time.Duration // for how long the next outcome holds that there is no help
	// without and with are what the handlers took that were measured
	without, with time.Duration
}

// nudgePhase says whether there are nudges, and why.
type nudgePhase uint8

const (
	nudgesRest   nudgePhase = iota // they were no help, or were not tried yet
	nudgesAbsent                   // handlers are measured without them
	nudgesBegin                    // handlers end that began without them
	nudgesTried                    // handlers are measured with them
	nudgesHelp                     // they were a help
)

const (
	// nudgeFor is how many handlers must be under way: they share the costs.
	nudgeFor = 4
	// nudgeTrial is how many handlers are measured.
	nudgeTrial = 256
	// nudgeGain says what must be saved of the time: one part in so many.
	nudgeGain = 12
	// nudgeLong is what is counted of a handler at most: longer waits have no use
	// for nudges.
	nudgeLong = 6 * time.Millisecond
	// helpFor is for how long the outcome of a trial holds that nudges are a help.
	// The opposite holds for restFor at first, and each time for twice as long,
	// up to restMax: trials cost something, too.
	helpFor = 2 * time.Second
	restFor = time.Second / 2
	restMax = 8 * time.Second
)

// nudges are the times since the last handler was begun.
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

// nudging reports whether there are to be nudges.
func (t *nudger) nudging() bool { return t.phase >= nudgesBegin }

// note takes in what a handler took, of a loop whose handlers are expected to
// wait, and that it is now.
func (t *nudger) note(took, now time.Duration) {
	switch t.phase {
	case nudgesRest, nudgesHelp:
		if now >= t.until {
			t.enter(nudgesAbsent)
			t.without, t.with = 0, 0
		}
		return
	case nudgesAbsent:
		t.without += min(took, nudgeLong)
	case nudgesTried:
		t.with += min(took, nudgeLong)
	}
	if t.left--; t.left > 0 {
		return
	}
	switch {
	case t.phase != nudgesTried:
		t.enter(t.phase + 1)
	case t.with < t.without-t.without/nudgeGain:
		t.phase, t.until, t.rest = nudgesHelp, now+helpFor, 0
	default:
		t.rest = min(max(2*t.rest, restFor), restMax)
		t.phase, t.until = nudgesRest, now+t.rest
	}
}

// enter begins a phase that counts handlers.
func (t *nudger) enter(phase nudgePhase) { t.phase, t.left = phase, nudgeTrial }

// set sees to it that there is a nudge, if there is to be one, for handlers the
// last of which was begun at begun.
func (t *nudger) set(begun, now time.Duration) {
	age := now - begun
	for _, nudge := range nudges {
		if age >= nudge {
			continue
		}
		if at := begun + nudge; t.next <= now || t.next > at {
			t.next = at
			var spec unix.ItimerSpec
			spec.Value.Nsec = int64(at - now)
			_ = unix.TimerfdSettime(t.fd, 0, &spec, nil)
		}
		return
	}
}

// drop takes a nudge out of events, and returns how many are left.
func (t *nudger) drop(events []syscall.EpollEvent) int {
	for i, ev := range events {
		if int(ev.Fd) == t.fd {
			copy(events[i:], events[i+1:])
			return len(events) - 1
		}
	}
	return len(events)
}
