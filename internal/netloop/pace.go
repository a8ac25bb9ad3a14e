//go:build linux

package netloop

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/rawsys"
)

const (
	// shortHandler is how long a handler may take and still count as one that
	// returns at once.
	shortHandler = 50 * time.Microsecond
	// longHandler is how long a handler may run before the loop's timer wakes another
	// poller.
	longHandler = 100 * time.Microsecond
	// slowFactor is how long a loop is slow: slowFactor times the time by which handlers
	// exceeded shortHandler. So, while the loop is not slow, handlers delay others for at
	// most one part in slowFactor of the time. An excess below slowMin does not count,
	// since an interrupt, the garbage collector or another process may stop any handler for
	// a moment. An excess above slowMax counts as slowMax.
	slowFactor = 256
	slowMin    = 500 * time.Microsecond
	slowMax    = 40 * time.Millisecond
	// slowFirst is how long a loop counts as slow after its start.
	slowFirst = time.Second
)

// pace is a loop's knowledge of how long its handlers take while other events wait.
// While it is slow, the loop expects handlers to wait or to compute for long.
type pace struct {
	slow bool
	// until is when the slow handlers are forgotten, on the clock
	until time.Duration
}

// record accounts for a handler that ended at now. took is how long other events waited for
// it, or would have waited if no other poller had been woken.
func (p *pace) record(took, now time.Duration) {
	if took <= shortHandler {
		p.slow = p.slow && now < p.until
		return
	}
	p.until = max(p.until, now) + slowFactor*min(took-shortHandler, slowMax)
	p.until = min(p.until, now+slowFactor*slowMax)
	p.slow = p.slow || p.until-now >= slowFactor*slowMin
}

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
	// next is when the next nudge is due, on the clock; 0 if there was none yet. Only the
	// leader uses it.
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

// eventPrediction is the event that the leader expects to end its next wait. If events of one
// connection have ended many waits in a row, each of them alone, the leader serves that
// connection as soon as it is woken, and fetches events afterwards. It must fetch then
// anyway, before it waits again: a request takes one system call less. A wrong guess costs
// a read that finds nothing.
//
// Meanwhile the event stays in the epoll set. If there is nothing left to read when the
// leader fetches, the system forgets it.
//
// Only the leader uses the guess.
type eventPrediction struct {
	ev     syscall.EpollEvent // the event that ended the last wait
	streak int                // how many waits in a row it has ended, with no other event after it
	open   bool               // it is not known yet whether another event follows
}

// predictAfter is how many waits an event must have ended before it is expected. So few
// guesses are wrong: at most one in predictAfter requests.
const predictAfter = 32

// next returns the event expected to have ended a wait, if there is one.
func (g *eventPrediction) next() (ev syscall.EpollEvent, ok bool) {
	if g.streak < predictAfter {
		return ev, false
	}
	g.open = true
	return g.ev, true
}

// fetched accounts for events that the leader has fetched. waited is true if they woke the
// leader, and it has served no guess.
func (g *eventPrediction) fetched(events []syscall.EpollEvent, waited bool) {
	switch {
	case len(events) == 0:
		if g.open {
			g.streak++
		}
		g.open = false
	case len(events) > 1 || !waited:
		*g = eventPrediction{}
	default:
		if events[0].Fd != g.ev.Fd || events[0].Pad != g.ev.Pad {
			g.streak = 0
		}
		g.ev, g.open = events[0], true
		g.ev.Events = syscall.EPOLLIN
	}
}
