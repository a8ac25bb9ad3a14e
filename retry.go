package fasthttp

import (
	"errors"
	"math/rand/v2"
	"time"
)

// RetryWithBackoff returns a RetryIfErrFunc that waits before each new attempt:
// for a random time up to base after the first one, and up to twice as long after
// each further one, but never longer than limit. The randomness keeps many
// clients that failed together from coming back together.
//
// It tries again what may be repeated: requests that never reached a host, since
// no connection was to be had, and those with the methods GET, HEAD, PUT, OPTIONS,
// TRACE and QUERY whose connection failed or took too long, as long as nothing of a
// response was there. The wait counts as time of the call, and ends with it.
func RetryWithBackoff(base, limit time.Duration) RetryIfErrFunc {
	return func(req *Request, attempts int, err error) (resetTimeout, retry bool) {
		call := &req.call
		if call.outcome == attemptAnswered || errors.Is(err, ErrNoFreeConns) || call.outcome != attemptUnreached && !isIdempotent(req) {
			return false, false
		}
		wait := backoff(base, limit, attempts)
		if !call.deadline.IsZero() && time.Until(call.deadline) <= wait {
			return false, false
		}
		return false, call.sleep(wait)
	}
}

// backoff returns the time to wait after a number of attempts.
func backoff(base, limit time.Duration, attempts int) time.Duration {
	most := max(base, 0)
	for range min(attempts-1, 62) {
		if most >= limit/2 {
			most = limit
			break
		}
		most *= 2
	}
	most = min(most, limit)
	if most <= 0 {
		return 0
	}
	return rand.N(most) + 1
}

// sleep waits, and reports whether the call was not canceled meanwhile.
func (c *callState) sleep(d time.Duration) bool {
	timer := AcquireTimer(d)
	defer ReleaseTimer(timer)
	select {
	case <-timer.C:
		return true
	case <-c.done():
		return false
	}
}
