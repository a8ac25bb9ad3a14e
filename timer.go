package fasthttp

import (
	"sync"
	"time"
)

var timerPool sync.Pool

// AcquireTimer returns a timer that sends the time on its channel once the
// timeout has passed, at once if timeout is not positive. It may be one that
// was released before; give it back with ReleaseTimer when it is not needed
// any more, whether it has fired or not.
func AcquireTimer(timeout time.Duration) *time.Timer {
	t, ok := timerPool.Get().(*time.Timer)
	if !ok {
		return time.NewTimer(timeout)
	}
	t.Reset(timeout)
	return t
}

// ReleaseTimer stops a timer that came from AcquireTimer and keeps it for the
// next caller. Neither t nor its channel may be used after that: what arrives
// there is meant for somebody else.
func ReleaseTimer(t *time.Timer) {
	if !t.Stop() {
		// A program that runs with GODEBUG=asynctimerchan=1 may find the
		// time of the last run here.
		select {
		case <-t.C:
		default:
		}
	}
	timerPool.Put(t)
}

// CoarseTimeNow returns the current time cut off to the whole second, without
// a monotonic reading.
//
// Deprecated: use time.Now, which costs less and says more.
func CoarseTimeNow() time.Time {
	return time.Now().Truncate(time.Second)
}
