package failover

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Failures count for three seconds, which are divided into periods.
const (
	period  = 500 * time.Millisecond
	periods = 6
)

// Recent counts the failures of the last three seconds. It stores no times, but a
// count for each half second. The zero value has none. The methods may be called
// concurrently.
type Recent struct {
	until atomic.Int64 // the number of the first period in which no failure counts

	mu     sync.Mutex
	counts [periods]int
	last   int64 // the period of the latest count
}

func number(now time.Time) int64 { return now.UnixNano() / int64(period) }

// Add counts a failure.
func (r *Recent) Add(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	current := r.discardOld(number(now))
	r.counts[current%periods]++
	r.until.Store(current + periods)
}

// Count returns the number of recent failures.
func (r *Recent) Count() (sum int) {
	until := r.until.Load()
	if until == 0 {
		return 0
	}
	current := number(time.Now())
	if current >= until {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.discardOld(current)
	for _, n := range r.counts {
		sum += n
	}
	return sum
}

// discardOld drops the counts that are too old in the given period, and returns the
// current period, which differs if the clock was set back.
func (r *Recent) discardOld(current int64) int64 {
	for range min(max(current-r.last, 0), periods) {
		r.last++
		r.counts[r.last%periods] = 0
	}
	r.last = max(r.last, current)
	return r.last
}

// Backoff returns the time to wait after a number of attempts: a random time up to
// base after the first, and up to twice as long after each further one, but never
// longer than limit.
func Backoff(base, limit time.Duration, attempts int) time.Duration {
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
