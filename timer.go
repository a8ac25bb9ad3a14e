package fasthttp

import (
	"sync"
	"time"
)

// timers keeps timers for their next users. Each client and TimeoutHandler has its own: a timer
// made in a bubble of testing/synctest must not leave it, and a timer from outside runs by
// another clock.
type timers struct{ sync.Pool }

// timerPool has the timers of AcquireTimer.
var timerPool timers

// AcquireTimer returns a timer that sends the time on its channel after timeout, or at once
// if timeout is not positive. The timer may be from a pool: return it with ReleaseTimer
// when it is no longer needed, whether it has fired or not.
func AcquireTimer(timeout time.Duration) *time.Timer { return timerPool.acquire(timeout) }

// ReleaseTimer stops a timer from AcquireTimer and returns it to the pool. Neither t
// nor its channel may be used after that: the next time on it is for another caller of
// AcquireTimer.
func ReleaseTimer(t *time.Timer) { timerPool.release(t) }

func (p *timers) acquire(timeout time.Duration) *time.Timer {
	t, ok := p.Get().(*time.Timer)
	if !ok {
		return time.NewTimer(timeout)
	}
	t.Reset(timeout)
	return t
}

func (p *timers) release(t *time.Timer) {
	if !t.Stop() {
		// A program that runs with GODEBUG=asynctimerchan=1 may find the
		// time of the last run here.
		select {
		case <-t.C:
		default:
		}
	}
	p.Put(t)
}

// CoarseTimeNow returns the current time truncated to the second, without a monotonic clock
// reading.
//
// Deprecated: use time.Now, which is faster and more precise.
func CoarseTimeNow() time.Time {
	return time.Now().Truncate(time.Second)
}
