package fasthttp

import (
	"net"
	"time"
)

// The deadlines of a connection are set here, and nowhere else; an engine only
// applies them. What the application sets in their place holds until the server
// sets its own again, or the next request begins.
//
// Most requests come whole and most responses go out at once: so a deadline is set
// when somebody is about to wait for the first time, and the clock is not read for
// those that nobody waits for.

// processBegan is what moments are counted from that are kept for long.
var processBegan = time.Now()

// openedAt returns when the connection was accepted.
func (c *serverConn) openedAt() time.Time {
	now := time.Now()
	return now.Add(c.opened - now.Sub(processBegan))
}

// firstTimeout returns how long a new connection may wait for its first request,
// or 0.
func (s *Server) firstTimeout() time.Duration {
	if s.ReadTimeout > 0 {
		return s.ReadTimeout
	}
	return max(s.IdleTimeout, 0)
}

// idleTimeout returns how long a connection may wait for its next request, or 0.
func (s *Server) idleTimeout() time.Duration {
	if s.IdleTimeout > 0 {
		return s.IdleTimeout
	}
	return max(s.ReadTimeout, 0)
}

// afterTimeout returns when a time is over that begins now. Without one it is the
// zero time, which stands for never.
func afterTimeout(timeout time.Duration) time.Time {
	if timeout <= 0 {
		return time.Time{}
	}
	return time.Now().Add(timeout)
}

// woken says that the first bytes of a request have come to an idle connection.
func (x *exchange) woken() {
	x.forgetDeadlines()
	x.fresh = true
}

// forgetDeadlines takes away what the application has set for an earlier request.
// Whoever can have done that has pinned the connection.
func (x *exchange) forgetDeadlines() {
	if x.c.pinned.Load() {
		x.link.forgetDeadlines()
	}
}

// limitRequest sets how long the rest of the current request may take to arrive,
// the first time that somebody waits for it.
func (x *exchange) limitRequest() {
	if x.timed {
		return
	}
	x.timed = true
	until := x.requestEnd()
	if until.IsZero() && x.readUntil.IsZero() {
		return
	}
	x.readUntil = until
	x.link.limitReads(until)
}

func (x *exchange) requestEnd() time.Time {
	switch timeout := x.s.ReadTimeout; {
	case x.config.ReadTimeout > 0:
		return time.Now().Add(x.config.ReadTimeout)
	case timeout > 0 && x.c.requests == 0:
		return x.c.openedAt().Add(timeout)
	default:
		return afterTimeout(timeout)
	}
}

// limitIdle sets how long the connection may wait for a request.
func (x *exchange) limitIdle(timeout time.Duration) {
	until := afterTimeout(timeout)
	if until.IsZero() && x.readUntil.IsZero() {
		return
	}
	x.readUntil = until
	x.link.limitReads(until)
}

// limitResponse sets how long the peer may take to receive what is about to be
// written.
func (x *exchange) limitResponse() {
	until := afterTimeout(x.writeTimeout())
	if until.IsZero() && x.writeUntil.IsZero() {
		return
	}
	x.writeUntil = until
	x.link.limitWrites(until)
}

// writeTimeout returns how long writing the current response may take, or 0.
func (x *exchange) writeTimeout() time.Duration {
	if x.config.WriteTimeout > 0 {
		return x.config.WriteTimeout
	}
	return x.s.WriteTimeout
}

// blocking returns the connection with Read and Write that wait.
func (x *exchange) blocking() net.Conn {
	return x.link.blocking(x.readUntil, x.writeUntil)
}
