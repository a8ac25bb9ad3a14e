//go:build linux

package netloop

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/rawsys"
)

// ticker wakes Go's scheduler while handlers wait and nothing else happens.
//
// The scheduler waits for a whole number of milliseconds, so a handler that
// sleeps for 100 µs goes on after more than 1 ms if nothing else wakes the
// process, and one that sleeps for 2.5 ms after more than 3. With a ticker it is
// late by the distance of two ticks at most. For longer sleeps the scheduler is
// exact enough.
//
// To a handler that waits for a descriptor a tick is no help, but costs. Nobody
// can know what a handler waits for, so the loop tries it out: it compares what
// handlers take with ticks and without.
type ticker struct {
	fd int
	// next is when it ticks, on the clock. Whoever has the seat uses it.
	next time.Duration

	phase tickPhase
	left  int           // of trial handlers, in the phases that count them
	until time.Duration // when the other phases end, on the clock
	rest  time.Duration // for how long the next outcome holds that there is no help
	// without and with are what the handlers took that were measured
	without, with time.Duration
}

// tickPhase says whether there are ticks, and why.
type tickPhase uint8

const (
	ticksRest   tickPhase = iota // they were no help, or were not tried yet
	ticksAbsent                  // handlers are measured without them
	ticksBegin                   // handlers end that began without them
	ticksTried                   // handlers are measured with them
	ticksHelp                    // they were a help
)

const (
	// tickFor is how many handlers must be under way: they share the costs.
	tickFor = 4
	// tickTrial is how many handlers are measured.
	tickTrial = 256
	// tickGain is which part of the time must be saved.
	tickGain = 12
	// tickLong is what is counted of a handler at most: longer waits have no use
	// for ticks.
	tickLong = 6 * time.Millisecond
	// tickHelp is for how long the outcome of a trial holds that ticks are a help.
	// The opposite holds for tickRest at first, and each time for twice as long,
	// up to tickRestMax: trials cost something, too.
	tickHelp    = 2 * time.Second
	tickRest    = time.Second / 2
	tickRestMax = 8 * time.Second
)

// ticks are the times since the last handler was begun.
var ticks = [...]time.Duration{
	100 * time.Microsecond, 200 * time.Microsecond, 350 * time.Microsecond,
	550 * time.Microsecond, 800 * time.Microsecond, 1100 * time.Microsecond,
	1350 * time.Microsecond, 1600 * time.Microsecond, 1900 * time.Microsecond,
	2200 * time.Microsecond, 2600 * time.Microsecond, 3100 * time.Microsecond,
	3700 * time.Microsecond, 4400 * time.Microsecond,
}

// newTicker returns a ticker whose ticks are events of an epoll set.
func newTicker(set int) (ticker, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return ticker{}, os.NewSyscallError("timerfd_create", err)
	}
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN | unix.EPOLLET, Fd: int32(fd)}
	if errno := rawsys.Control(set, syscall.EPOLL_CTL_ADD, fd, &ev); errno != 0 {
		_ = syscall.Close(fd)
		return ticker{}, os.NewSyscallError("epoll_ctl", errno)
	}
	return ticker{fd: fd}, nil
}

// ticking reports whether there are to be ticks.
func (t *ticker) ticking() bool { return t.phase >= ticksBegin }

// note takes in what a handler took, of a loop whose handlers are expected to
// wait, and that it is now.
func (t *ticker) note(took, now time.Duration) {
	switch t.phase {
	case ticksRest, ticksHelp:
		if now >= t.until {
			t.enter(ticksAbsent)
			t.without, t.with = 0, 0
		}
		return
	case ticksAbsent:
		t.without += min(took, tickLong)
	case ticksTried:
		t.with += min(took, tickLong)
	}
	if t.left--; t.left > 0 {
		return
	}
	switch {
	case t.phase != ticksTried:
		t.enter(t.phase + 1)
	case t.with < t.without-t.without/tickGain:
		t.phase, t.until, t.rest = ticksHelp, now+tickHelp, 0
	default:
		t.rest = min(max(2*t.rest, tickRest), tickRestMax)
		t.phase, t.until = ticksRest, now+t.rest
	}
}

// enter begins a phase that counts handlers.
func (t *ticker) enter(phase tickPhase) { t.phase, t.left = phase, tickTrial }

// set sees to it that there is a tick, if there is to be one, for handlers the
// last of which was begun at begun.
func (t *ticker) set(begun, now time.Duration) {
	age := now - begun
	for _, tick := range ticks {
		if age >= tick {
			continue
		}
		if at := begun + tick; t.next <= now || t.next > at {
			t.next = at
			var spec unix.ItimerSpec
			spec.Value.Nsec = int64(at - now)
			_ = unix.TimerfdSettime(t.fd, 0, &spec, nil)
		}
		return
	}
}

// drop takes a tick out of events, and returns how many are left.
func (t *ticker) drop(events []syscall.EpollEvent) int {
	for i, ev := range events {
		if int(ev.Fd) == t.fd {
			copy(events[i:], events[i+1:])
			return len(events) - 1
		}
	}
	return len(events)
}
