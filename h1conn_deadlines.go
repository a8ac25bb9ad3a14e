package fasthttp

import (
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/http1"
)

// The deadlines of a connection are set in this file, and nowhere else; an engine
// only applies them. Deadlines that the application sets instead hold until the
// server sets its own again, or the next request begins.
//
// Most requests arrive in one piece and most responses go out at once. So a deadline
// is set when the connection is about to wait for the first time, and the clock is
// not read for messages that need no wait.

// timing says to which part of an exchange the deadline for reading belongs.
type timing uint8

const (
	timesWait    timing = iota // the wait for a request, or an earlier one
	timesRequest               // the current request
	timesHead                  // its head
	overRequest                // the current request, whose time is over: only bytes that have arrived are read
	overHead                   // its head, in the same way
)

// over reports whether only bytes that have arrived are read.
func (t timing) over() bool { return t >= overRequest }

// ofHead reports whether the deadline belongs to a head.
func (t timing) ofHead() bool { return t == timesHead || t == overHead }

// expired returns the next timing if the deadline has passed although bytes have
// come; over says that the time has ended.
func (t timing) expired(over bool) timing {
	switch {
	case t.ofHead() && over:
		return overHead
	case t.ofHead():
		return timesHead
	case over:
		return overRequest
	}
	return min(t, timesRequest)
}

// headRead returns the next timing when a head was read; over says that the time of
// the whole request has ended as well.
func (t timing) headRead(over bool) timing {
	if t.over() && over {
		return overRequest
	}
	return timesRequest
}

// forgetDeadlines removes the deadlines that the application has set for an earlier
// request, which it can only do on a connection that was pinned.
func (h *h1Conn) forgetDeadlines() {
	if h.timing == timesWait {
		// it belonged to an earlier wait
		h.readUntil = time.Time{}
	}
	h.writeUntil = time.Time{}
	h.link.ForgetDeadlines(h.readUntil)
}

// limitFirst sets how long a new connection may take for its first request.
func (h *h1Conn) limitFirst() {
	s := h.s
	h.limitIdle(s.set.firstTimeout)
	if s.set.headTimeout > 0 {
		h.timing = timesRequest
		if s.ReadHeaderTimeout > 0 {
			h.timing = timesHead
		}
		h.wholeUntil = afterTimeout(s.ReadTimeout)
	}
}

// limitIdle sets how long the connection may wait for a request.
func (h *h1Conn) limitIdle(timeout time.Duration) {
	if timeout > 0 || !h.readUntil.IsZero() {
		h.limitWait(timeout)
	}
}

func (h *h1Conn) limitWait(timeout time.Duration) { h.setReadUntil(afterTimeout(timeout)) }

func (h *h1Conn) setReadUntil(until time.Time) {
	if until.IsZero() && h.readUntil.IsZero() {
		return
	}
	h.readUntil = until
	h.link.LimitReads(until)
}

// blocking returns the connection with Read and Write that wait.
func (h *h1Conn) blocking() net.Conn {
	return h.link.Blocking(h.readUntil, h.writeUntil)
}

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

// defaultBodyRateGrace is Server.MinRequestBodyRateGrace if it is not set.
const defaultBodyRateGrace = 5 * time.Second

// pace is how much of its time a body that must come at a minimum rate has left. It
// begins with the grace; bytes that come add to that, and waiting takes from it.
// There is never more of it than the grace, so a client that has sent much cannot
// hold the rest back for long.
type pace struct {
	begun bool
	left  time.Duration
	since time.Duration // when the wait began that is under way, for a body that is buffered
	got   int64         // bytes by then
}

// spend records that n bytes have come during a wait for the peer.
func (p *pace) spend(s *Server, waited time.Duration, n int64) {
	grace := s.set.bodyRateGrace
	if !p.begun {
		p.begun, p.left = true, grace
		return
	}
	earned := time.Duration(float64(n) / float64(s.MinRequestBodyRate) * float64(time.Second))
	p.left = min(p.left-waited+min(earned, grace), grace)
}

// paceUntil returns when the wait ends that is about to begin for more of a buffered
// body: at the time until, if not before.
func (x *h1Exchange) paceUntil(until time.Time) time.Time {
	if x.s.MinRequestBodyRate <= 0 {
		return until
	}
	p, now := &x.pace, clock.Monotonic()
	p.spend(x.s, now-p.since, x.recv.got-p.got)
	p.since, p.got = now, x.recv.got
	return sooner(until, time.Now().Add(p.left))
}

// awaitPaced is awaitBody for a body that a handler reads. The time that the handler
// takes does not count.
func (x *h1Exchange) awaitPaced(conn net.Conn) (int, error) {
	if x.s.MinRequestBodyRate <= 0 {
		return x.awaitBody(conn)
	}
	p, now := &x.pace, time.Now()
	if !p.begun {
		p.spend(x.s, 0, 0)
	}
	x.h.link.LimitReads(sooner(x.h.readUntil, now.Add(p.left)))
	if x.cut.Load() {
		// LimitReads may have replaced the deadline that ends the reading
		return 0, errReadingCut
	}
	n, err := x.awaitBody(conn)
	p.spend(x.s, time.Since(now), int64(n))
	return n, err
}

// endPace does away with the deadline of the last wait.
func (x *h1Exchange) endPace() {
	x.pace = pace{}
	x.h.link.LimitReads(x.h.readUntil)
}

// passed reports whether a time has come that is not the zero time.
func passed(until time.Time) bool { return !until.IsZero() && !time.Now().Before(until) }
