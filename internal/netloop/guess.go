//go:build linux

package netloop

import "syscall"

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
