package engine

import "github.com/valyala/fasthttp/internal/netloop"

// This file is the part of the event engine for Conn.Concurrent protocols.

// Wake implements Link. If the connection has an owner, the owner serves it once more.
func (c *eventConn) Wake() {
	if !c.net.Acquire() {
		return
	}
	if c.p == nil || c.phase > eventYielded {
		c.net.Release()
		return
	}
	c.markOwned()
	if c.driveProtected(nil, false) {
		c.net.ReleaseServed()
	}
}

// Push implements Link. If the connection has an owner, the owner serves it once more.
func (c *eventConn) Push() (over bool) {
	if !c.net.Acquire() {
		return true
	}
	over = c.push()
	// another goroutine serves the events that arrived meanwhile
	c.net.Release()
	return over
}

// push is Push for the owner.
func (c *eventConn) push() (over bool) {
	if c.p == nil || c.phase != eventServing {
		// the loop continues when there is room, or the connection ends
		return true
	}
	if c.detached() != nil {
		return false
	}
	for range ioBudget {
		if head, _, _ := c.p.Output(); len(head) == 0 {
			return true
		}
		switch c.flush() {
		case nil:
		case netloop.ErrAgain:
			c.awaitWritable()
			return true
		default:
			return false
		}
	}
	return false
}

// work makes a protocol serve its requests, after the connection has lost its owner. It
// then returns false.
func (c *eventConn) work() (owned bool) {
	w, ok := c.p.(Worker)
	if !ok || c.net.Pending() || !w.HasWork() {
		return true
	}
	c.net.Release()
	w.Work()
	return false
}
