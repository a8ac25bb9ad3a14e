package fasthttpprometheus

import (
	"sync"
	"sync/atomic"
	"time"
)

// bodies has the times from the heads of requests to the ends of their bodies, by the numbers of the
// requests. A user value would be lost if the handler is late: the response has another context then.
type bodies struct {
	waiting atomic.Int64 // how many there are: most requests have no body

	mu    sync.Mutex
	times map[uint64]time.Duration
	_     [96]byte // other processors change the next ones
}

// add remembers a time until the response was sent.
func (b *bodies) add(id uint64, receiving time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.times == nil {
		b.times = make(map[uint64]time.Duration)
	}
	b.times[id] = receiving
	b.waiting.Store(int64(len(b.times)))
}

// take returns the time of a request, or 0 if it had no body, and forgets it.
func (b *bodies) take(id uint64) time.Duration {
	if b.waiting.Load() == 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	receiving := b.times[id]
	delete(b.times, id)
	b.waiting.Store(int64(len(b.times)))
	return receiving
}
