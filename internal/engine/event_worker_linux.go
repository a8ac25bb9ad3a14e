package engine

import "github.com/valyala/fasthttp/internal/netloop"

// This file is what the event engine does for protocols that are Conn.Concurrent.

// Wake implements Link. If the connection has an owner, that serves it once more.
func (c *eventConn) Wake() {
	if !c.net.Acquire() {
		return
	}
	if c.p == nil || c.phase > eventTurn {
		c.net.Release()
		return
	}
	c.working()
	if c.driveWithCare(nil, false) {
		c.net.ReleaseServed()
	}
}

// Push implements Link. If the connection has an owner, that serves it once more.
func (c *eventConn) Push() (over bool) {
	if !c.net.Acquire() {
		return true
	}
	over = c.push()
	// what has come meanwhile is another goroutine's
	c.net.Release()
	return over
}

// push is Push for the owner.
func (c *eventConn) push() (over bool) {
	if c.p == nil || c.phase != eventServing {
		// the loop goes on when there is room, or the connection ends
		return true
	}
	if c.detached() != nil {
		return false
	}
	for range share {
		if head, _, _ := c.p.Output(); len(head) == 0 {
			return true
		}
		switch c.flush() {
		case nil:
		case netloop.ErrAgain:
			c.awaitRoom()
			return true
		default:
			return false
		}
	}
	return false
}

// work has a protocol serve its requests, once nobody owns the connection any more. It
// returns false then.
func (c *eventConn) work() (owned bool) {
	w, ok := c.p.(Worker)
	if !ok || c.net.Pending() || !w.HasWork() {
		return true
	}
	c.net.Release()
	w.Work()
	return false
}
