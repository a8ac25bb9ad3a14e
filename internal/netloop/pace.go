//go:build linux

package netloop

import "time"

const (
	// longHandler is what a handler may take at most to count as one that
	// returns at once: others wait for it that long.
	longHandler = 100 * time.Microsecond
	// longMean is what handlers may take on average.
	longMean = 50 * time.Microsecond
	// slowFactor is for how many times what a handler took too long its loop is
	// slow afterwards. Until it is slow again the next such handler holds others
	// up: they are one in a thousand at most.
	slowFactor = 1000
	minSlow    = 100 * time.Millisecond
	maxSlow    = 10 * time.Second
	// firstSlow is for how long a loop is slow that has just been started.
	firstSlow = time.Second
)

// pace is what a loop knows about the time that its handlers take. While it is
// slow, handlers are expected to wait or to compute for long.
type pace struct {
	slowUntil time.Duration // on the clock
	mean      time.Duration // smoothed
}

// note takes in that a handler has taken so long, and that it is now.
func (p *pace) note(took, now time.Duration) {
	p.mean += (min(took, maxSlow) - p.mean) / 16
	if took > longHandler || p.mean > longMean {
		p.slowUntil = max(p.slowUntil, now+min(max(slowFactor*min(took, maxSlow), minSlow), maxSlow))
	}
}

func (p *pace) slow(now time.Duration) bool { return now < p.slowUntil }
