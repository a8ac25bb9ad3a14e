//go:build linux

package netloop

import "time"

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
