package http2

// A server may answer a request before its end, and not read the rest. If it then resets
// the stream, the client may regard it as finished: its END_STREAM is on its way, and the
// reset arrives when the client uses the connection for its next request. nginx takes that
// for a fault of the server, and answers 502. So such a stream, which the caller has
// released, lingers: its content is dropped until it ends, or until that takes too long.

// lingers reports whether a stream should wait for the rest of a request that was answered:
// the rest may fit into the client's window, so that the client does not wait for more.
func (c *Conn) lingers(s *Stream) bool {
	return c.life == LifeOpen && int(s.recvWindow) >= c.l.Window/4 && s.bodyLeft <= int64(s.recvWindow)
}

// discardLingering discards content of a lingering stream, and ends the stream if it exceeds the limit.
func (c *Conn) discardLingering(s *Stream) {
	c.creditConn(s.unread)
	s.unread = 0
	switch {
	case s.Closed():
		c.discard(s)
	case !c.lingers(s):
		c.endUnread(s)
		c.discard(s)
	}
}

// endUnread resets a stream that was answered before its request has ended.
func (c *Conn) endUnread(s *Stream) {
	c.endWrite()
	c.Reset(s, NoError)
}

// endLingering ends the streams that have lingered since its last call.
func (c *Conn) endLingering() {
	for s := range c.table.all {
		switch {
		case s.held:
		case s.lingered || c.life != LifeOpen:
			c.endUnread(s)
			c.discard(s)
		default:
			s.lingered = true
		}
	}
}

// forgetLingering forgets the lingering streams, at the end of the connection.
func (c *Conn) forgetLingering() {
	for s := range c.table.all {
		if !s.held {
			c.table.remove(s)
			c.active--
			c.discard(s)
		}
	}
}
