package fasthttp

import (
	"net"
	"time"
)

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
