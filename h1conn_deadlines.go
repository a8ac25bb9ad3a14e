package fasthttp

import (
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
)

// This file sets all deadlines of a connection; an engine only applies them. Deadlines that the
// application sets replace them until the server sets its own again, or the next request
// begins.
//
// Most requests arrive as one piece, and most responses are written at once. So a deadline is
// set just before the connection waits for the first time: a message that needs no wait does
// not need the clock.

// timing is the part of an exchange for which the deadline for reading is set.
type timing uint8

const (
	timesWait      timing = iota // the wait for a request, or an earlier one
	timesRequest                 // the current request
	timesHead                    // its head
	expiredRequest               // the current request; its time is over, so only bytes that have arrived are read
	expiredHead                  // its head; its time is over likewise
)

// over reports whether the time is over, so that only bytes that have arrived are read.
func (t timing) over() bool { return t >= expiredRequest }

// ofHead reports whether the deadline is for a head.
func (t timing) ofHead() bool { return t == timesHead || t == expiredHead }

// expired returns the next timing after the deadline has passed although bytes have arrived.
// over is set unless these bytes have extended the time.
func (t timing) expired(over bool) timing {
	switch {
	case t.ofHead() && over:
		return expiredHead
	case t.ofHead():
		return timesHead
	case over:
		return expiredRequest
	}
	return min(t, timesRequest)
}

// headRead returns the next timing after a head was read. over is set if the time of the whole
// request has ended as well.
func (t timing) headRead(over bool) timing {
	if t.over() && over {
		return expiredRequest
	}
	return timesRequest
}

// forgetDeadlines removes the deadlines that the application has set for an earlier request.
// It can only set them on a pinned connection.
func (h *h1Conn) forgetDeadlines() {
	if h.timing == timesWait {
		// the deadline was for an earlier wait
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
		h.requestUntil = afterTimeout(s.ReadTimeout)
	}
}

// limitIdle sets how long the connection may wait for a request.
func (h *h1Conn) limitIdle(timeout time.Duration) {
	if timeout > 0 || !h.readUntil.IsZero() {
		h.setReadUntil(afterTimeout(timeout))
	}
}

func (h *h1Conn) setReadUntil(until time.Time) {
	if until.IsZero() && h.readUntil.IsZero() {
		return
	}
	h.readUntil = until
	h.link.LimitReads(until)
}

// blocking returns a connection whose Read and Write wait, with the current deadlines.
func (h *h1Conn) blocking() net.Conn {
	return h.link.Blocking(h.readUntil, h.writeUntil)
}

// afterTimeout returns the time after a timeout that starts now. If there is no timeout, it
// returns the zero time, which means never.
func afterTimeout(timeout time.Duration) time.Time {
	if timeout <= 0 {
		return time.Time{}
	}
	return time.Now().Add(timeout)
}

// limitRequest sets the deadline for the rest of the current request. It is called before each
// wait, but only takes effect for the first one, and for each wait for a body that must arrive
// at a minimum rate.
func (x *h1Exchange) limitRequest() {
	buffers := x.h.phases.Reading() == http1.ReadBody
	if x.h.timing != timesWait && (!buffers || x.s.MinRequestBodyRate <= 0) {
		return
	}
	if x.h.timing == timesWait {
		x.h.timing = timesRequest
		if x.terms.readTimeout > 0 {
			x.h.requestUntil = afterTimeout(x.terms.readTimeout)
		} else {
			x.h.requestUntil = x.requestTimeout(x.s.ReadTimeout)
		}
	}
	until := x.h.requestUntil
	switch {
	case buffers:
		until = x.paceUntil(until)
	case x.s.ReadHeaderTimeout > 0 && !x.headRead():
		x.h.timing = timesHead
		until = x.requestTimeout(x.s.set.headTimeout)
	}
	x.h.setReadUntil(until)
}

// headRead reports whether the head of the current request was read completely.
func (x *h1Exchange) headRead() bool {
	return x.ctx != nil && x.ctx.Request.Header.head.Is(header.WasRead)
}

// requestTimeout returns the time after a timeout that starts with the current request. For
// the first request, it starts with the connection.
func (x *h1Exchange) requestTimeout(timeout time.Duration) time.Time {
	if timeout > 0 && x.c.Requests == 0 {
		return x.c.OpenedAt().Add(timeout)
	}
	return afterTimeout(timeout)
}

// endHead ends the time of a head that has arrived, if the deadline is for a head.
func (x *h1Exchange) endHead() {
	if !x.h.timing.ofHead() {
		return
	}
	// even if the head arrived at the last moment, the rest of the request has its own time
	x.h.timing = x.h.timing.headRead(clock.Passed(x.h.requestUntil))
	x.h.setReadUntil(x.h.requestUntil)
}

// limitResponse sets the deadline for writing the response.
func (x *h1Exchange) limitResponse() {
	if timeout := x.writeTimeout(); timeout > 0 || !x.h.writeUntil.IsZero() {
		x.h.writeUntil = afterTimeout(timeout)
		x.h.link.LimitWrites(x.h.writeUntil)
	}
}

// limitPiece sets the deadline for writing the next piece of a body stream whose pieces have
// their own time.
func (x *h1Exchange) limitPiece() {
	x.h.writeUntil = afterTimeout(x.ctx.Response.PieceTimeout)
	x.h.link.LimitWrites(x.h.writeUntil)
}

// defaultBodyRateGrace is the default of Server.MinRequestBodyRateGrace.
const defaultBodyRateGrace = 5 * time.Second

// pace measures a body that must arrive at a minimum rate. The time left starts as the
// grace: waiting takes from it, and bytes that arrive add to it. It never exceeds the grace,
// so a client that has sent much cannot hold back the rest for long.
type pace struct {
	begun bool
	left  time.Duration
	since time.Duration // when the current wait began: for HTTP/1, if the body is collected in memory
	got   int64         // bytes that had arrived by then, with HTTP/1
}

// spend records a wait for the peer, in which n bytes have arrived.
func (p *pace) spend(s *Server, waited time.Duration, n int64) {
	grace := s.set.bodyRateGrace
	if !p.begun {
		p.begun, p.left = true, grace
		return
	}
	earned := time.Duration(float64(n) / float64(s.MinRequestBodyRate) * float64(time.Second))
	p.left = min(p.left-waited+min(earned, grace), grace)
}

// paceUntil returns the deadline for a wait, about to begin, for more of a body collected in
// memory. It is not later than until.
func (x *h1Exchange) paceUntil(until time.Time) time.Time {
	if x.s.MinRequestBodyRate <= 0 {
		return until
	}
	p, now := &x.pace, clock.Monotonic()
	p.spend(x.s, now-p.since, x.recv.Got-p.got)
	p.since, p.got = now, x.recv.Got
	return clock.Earliest(until, time.Now().Add(p.left))
}

// awaitPaced is awaitBody for a body that a handler reads, with its minimum rate. The time of
// the handler does not count.
func (x *h1Exchange) awaitPaced(conn net.Conn) (int, error) {
	p, now := &x.pace, time.Now()
	if !p.begun {
		p.spend(x.s, 0, 0)
	}
	x.h.link.LimitReads(clock.Earliest(x.h.readUntil, now.Add(p.left)))
	if x.readingRevoked.Load() {
		// LimitReads may have replaced the deadline that was to end the reading
		return 0, errReadingRevoked
	}
	n, err := x.awaitBody(conn)
	p.spend(x.s, time.Since(now), int64(n))
	return n, err
}

// endPace ends the measurement, and removes the deadline of the last wait.
func (x *h1Exchange) endPace() {
	x.pace = pace{}
	x.h.link.LimitReads(x.h.readUntil)
}
