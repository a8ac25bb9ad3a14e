package http2

// A server may answer a request whose end has not come, and which nobody reads any more. A stream
// that is reset then may be one that the client takes for finished: its END_STREAM is on its way,
// and the reset comes when it uses the connection for its next request. nginx takes that for a
// fault of the server, and answers 502. So such a stream, which the caller has released, lingers:
// its content is dropped until it ends, or until it is seen that this takes longer.

// lingers reports whether a stream is to wait for the rest of a request that was answered: that
// may be within the window which the client has, so that it waits for no more.
func (c *Conn) lingers(s *Stream) bool {
	return c.life == LifeOpen && int(s.recvWindow) >= c.l.Window/4 && s.bodyLeft <= int64(s.recvWindow)
}

// drop takes content of a stream that lingers, and ends it if that is too much.
func (c *Conn) drop(s *Stream) {
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

// endLingering ends the streams that have lingered since it was called before.
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

// dropLingering forgets the streams that linger, at the end of the connection.
func (c *Conn) dropLingering() {
	for s := range c.table.all {
		if !s.held {
			c.table.remove(s)
			c.active--
			c.discard(s)
		}
	}
}
