package fasthttp

import (
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
)

// h3Pace measures a body that must arrive at a minimum rate: the waits of the goroutine that receives it.
type h3Pace struct {
	pace
	until atomic.Int64 // the deadline of the body in nanoseconds of Unix time, or 0
}

// limitReads sets the deadline for the rest of the request.
func (x *h3Exchange) limitReads(t time.Time) {
	until := int64(0)
	if !t.IsZero() {
		until = t.UnixNano()
	}
	x.pacing.until.Store(until)
	_ = x.stream.SetReadDeadline(t)
}

// beginWait begins a wait for a part of the body. It returns when, for endWait.
func (x *h3Exchange) beginWait() (since time.Duration) {
	if x.s.MinRequestBodyRate <= 0 {
		return 0
	}
	p := &x.pacing
	if !p.begun {
		p.spend(x.s, 0, 0)
	}
	for {
		until := p.until.Load()
		by := time.Now().Add(p.left)
		if until != 0 {
			by = earlier(by, time.Unix(0, until))
		}
		_ = x.stream.SetReadDeadline(by)
		// another goroutine of the handler may set the deadline
		if p.until.Load() == until {
			return clock.Monotonic()
		}
	}
}

// endWait ends a wait in which n bytes have arrived.
func (x *h3Exchange) endWait(since time.Duration, n int) {
	if x.s.MinRequestBodyRate > 0 {
		x.pacing.spend(x.s, clock.Monotonic()-since, int64(n))
	}
}
