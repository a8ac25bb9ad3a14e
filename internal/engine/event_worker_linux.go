package engine

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
