package fasthttp

import (
	"time"

	"github.com/valyala/fasthttp/internal/http1"
)

// The deadlines of a connection are set in this file, and nowhere else; an engine
// only applies them. Deadlines that the application sets instead hold until the
// server sets its own again, or the next request begins.
//
// Most requests arrive in one piece and most responses go out at once. So a deadline
// is set when the connection is about to wait for the first time, and the clock is
// not read for messages that need no wait.

// afterTimeout returns when a time is over that begins now. Without one it is the
// zero time, which stands for never.
func afterTimeout(timeout time.Duration) time.Time {
	if timeout <= 0 {
		return time.Time{}
	}
	return time.Now().Add(timeout)
}

// sooner returns the earlier one of two times, of which the zero time is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// limitRequest sets how long the rest of the current request may take to arrive,
// before the first wait for it, and before each wait for more of a body that must
// come at a minimum rate.
func (x *h1Exchange) limitRequest() {
	buffers := x.h.conn.Reading() == http1.ReadBody
	if x.h.timing != timesWait && (!buffers || x.s.MinRequestBodyRate <= 0) {
		return
	}
	if x.h.timing == timesWait {
		x.h.timing = timesRequest
		x.h.wholeUntil = x.requestEnd()
	}
	until := x.h.wholeUntil
	switch {
	case buffers:
		until = x.paceUntil(until)
	case x.s.ReadHeaderTimeout > 0 && !x.headRead():
		x.h.timing = timesHead
		until = x.requestTimeout(x.s.set.headTimeout)
	}
	x.h.setReadUntil(until)
}

// headRead reports whether all of the head of the current request is there.
func (x *h1Exchange) headRead() bool { return x.ctx != nil && x.ctx.Request.Header.is(wasRead) }

func (x *h1Exchange) requestEnd() time.Time {
	if x.config.ReadTimeout > 0 {
		return time.Now().Add(x.config.ReadTimeout)
	}
	return x.requestTimeout(x.s.ReadTimeout)
}

// requestTimeout returns when a time is over that begins with the current request.
func (x *h1Exchange) requestTimeout(timeout time.Duration) time.Time {
	if timeout > 0 && x.c.Requests == 0 {
		return x.c.OpenedAt().Add(timeout)
	}
	return afterTimeout(timeout)
}

// endHead ends the time of a head that has arrived.
func (x *h1Exchange) endHead() {
	// it may have come at the last moment; the rest of the request has its own time
	x.h.timing = x.h.timing.headRead(passed(x.h.wholeUntil))
	x.h.setReadUntil(x.h.wholeUntil)
}

// limitResponse sets how long the peer may take to receive the bytes that are about
// to be written.
func (x *h1Exchange) limitResponse() {
	if timeout := x.writeTimeout(); timeout > 0 || !x.h.writeUntil.IsZero() {
		x.h.writeUntil = afterTimeout(timeout)
		x.h.link.LimitWrites(x.h.writeUntil)
	}
}

// writeTimeout returns how long writing the current response may take, or 0.
func (x *h1Exchange) writeTimeout() time.Duration {
	if x.config.WriteTimeout > 0 {
		return x.config.WriteTimeout
	}
	return x.s.WriteTimeout
}
