package http2

import "encoding/binary"

// streamWindow is the receive window of a new stream. Until the peer has acknowledged the
// settings it may assume a larger one.
func (c *Conn) streamWindow() int32 {
	if c.greeting != Greeted {
		return int32(max(c.l.Window, firstWindow))
	}
	return int32(c.l.Window)
}

// creditConn gives n bytes back to the window of the connection. The peer gets an update
// when half of the window has accumulated.
func (c *Conn) creditConn(n int32) {
	c.credit += n
	if int(c.credit) >= c.l.ConnWindow/2 {
		c.returnCredit()
	}
}

func (c *Conn) returnCredit() {
	c.put32(frameWindowUpdate, 0, uint32(c.credit))
	c.recvWindow += c.credit
	c.credit = 0
}

// creditStream is creditConn for a stream. One that the peer has ended needs no window.
func (c *Conn) creditStream(s *Stream, n int32) {
	s.credit += n
	if s.credit > 0 && int(s.credit) >= (c.l.Window+1)/2 && s.Receiving() < Ended && c.mayHave(s) {
		c.put32(frameWindowUpdate, s.id, uint32(s.credit))
		s.recvWindow += s.credit
		s.credit = 0
	}
}

// Consumed reports that the caller is done with n bytes of the content of a stream: the
// peer may send as much again. Unconsumed content of a stream that was reset is given back
// automatically.
func (c *Conn) Consumed(s *Stream, n int) {
	k := min(int32(n), s.unread)
	s.unread -= k
	if c.life != LifeClosed && k > 0 {
		c.creditConn(k)
		c.creditStream(s, k)
	}
}

// Keep is Consumed for content that stays in memory until Release, and is therefore limited
// by Limits.Bodies. Above the limit streams wait for others. Only one continues, so that it
// can finish. Keep returns false if all kept content exceeds the sum of twice the limit and
// all stream windows. Then nothing is consumed, and the caller resets the stream.
func (c *Conn) Keep(s *Stream, n int) bool {
	if c.kept+n > 2*c.l.Bodies+c.l.Streams*c.l.Window {
		return false
	}
	c.kept += n
	s.kept += uint32(n)
	c.Consumed(s, n)
	c.moves = c.moves || c.favored == s.id
	if c.favored == s.id && s.Receiving() >= Ended {
		c.favored = 0
		c.passOn()
	}
	return true
}

// mayHave reports whether a stream may have more window now.
func (c *Conn) mayHave(s *Stream) bool {
	if s.kept == 0 || c.kept <= c.l.Bodies || c.favored == s.id {
		return true
	}
	if c.favored == 0 {
		c.favored, c.moves = s.id, true
		return true
	}
	c.withheld = true
	return false
}

// passOn gives streams the window that was withheld: all of them if the limit permits,
// otherwise the next one if none is favored.
func (c *Conn) passOn() {
	switch {
	case !c.withheld || c.life == LifeClosed:
	case c.kept <= c.l.Bodies:
		c.withheld, c.favored = false, 0
		for s := range c.table.all {
			c.creditStream(s, 0)
		}
	case c.favored == 0:
		c.favor(0)
	}
}

// favor gives the withheld window to the next stream after an id, or to the first one.
func (c *Conn) favor(after uint32) {
	var next *Stream
	for s := range c.table.all {
		// ids before after become the largest
		if s.kept > 0 && int(s.credit) >= (c.l.Window+1)/2 && s.Receiving() < Ended &&
			(next == nil || s.id-after-1 < next.id-after-1) {
			next = s
		}
	}
	if next != nil {
		c.favored, c.moves = next.id, true
		c.creditStream(next, 0)
	}
}

// favorOther favors another stream if the peer sends nothing on the favored one.
func (c *Conn) favorOther() {
	if !c.withheld {
		return
	}
	s := c.table.find(c.favored)
	switch {
	case s == nil:
		c.favored = 0
		c.passOn()
	case !c.moves:
		c.favor(s.id)
	default:
		c.moves = false
	}
}

func (c *Conn) receiveWindow(f *frame, p []byte) (Event, *Error) {
	if len(p) != 4 {
		return Event{}, ErrFrameSize
	}
	n := binary.BigEndian.Uint32(p) & maxID
	if n > 0 && n < smallFrame {
		if err := c.late(); err != nil {
			return Event{}, err
		}
	}
	if f.id == 0 {
		return Event{}, c.growWindow(n)
	}
	if c.isIdle(f.id) {
		return Event{}, ErrIdleStream
	}
	s := c.table.find(f.id)
	switch {
	case s == nil && n < smallFrame:
		return Event{}, nil
	case s == nil:
		return Event{}, c.late()
	case n == 0:
		return c.refuse(s, errStreamStep)
	case int64(s.sendWindow)+int64(n) > maxID:
		return c.refuse(s, errStreamWindow)
	}
	s.sendWindow += int32(n)
	c.schedule(s)
	return Event{}, nil
}

// growWindow grows the window that the peer has for all streams.
func (c *Conn) growWindow(n uint32) *Error {
	switch {
	case n == 0:
		return ErrIncrement
	case int64(c.sendWindow)+int64(n) > maxID:
		return ErrWindow
	}
	c.sendWindow += int32(n)
	return nil
}
