//go:build linux

package netloop

import "time"

const (
	// shortHandler is what a handler may take to count as one that returns at
	// once.
	shortHandler = 50 * time.Microsecond
	// watchAfter is for how long an event may be served before the loop's timer
	// calls somebody else.
	watchAfter = 100 * time.Microsecond
	// slowFactor is for how many times the time that handlers took too long the
	// loop is slow: while it is not, they hold others up for one part in 256 of
	// the time at most. Less than slowMin of it does not count, since anything
	// may keep a handler from running for a moment: an interrupt, the garbage
	// collector, another process.
	slowFactor = 256
	slowMin    = 500 * time.Microsecond
	slowMax    = 40 * time.Millisecond
	// slowFirst is for how long a loop is slow that has just been started.
	slowFirst = time.Second
)

// pace is what a loop knows about the time that its handlers take while there are
// other events. While it is slow, handlers are expected to wait or to compute for
// long.
type pace struct {
	slow bool
	// until is when the handlers that were long are forgotten, on the clock
	until time.Duration
}

// note takes in for how long others had to wait for a handler, or would have had
// to if nobody had been called, and that it is now.
func (p *pace) note(took, now time.Duration) {
	if took <= shortHandler {
		p.slow = p.slow && now < p.until
		return
	}
	p.until = max(p.until, now) + slowFactor*min(took-shortHandler, slowMax)
	p.until = min(p.until, now+slowFactor*slowMax)
	p.slow = p.slow || p.until-now >= slowFactor*slowMin
}
