package http2

import (
	"encoding/binary"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
)

// pendingHead is a HEADERS frame whose block has not ended. id is 0 if there is none.
type pendingHead struct {
	id      uint32
	since   uint32 // when the block began
	frames  int32  // CONTINUATION frames
	end     bool   // END_STREAM
	selfish bool   // the stream depends on itself
}

func (c *Conn) receiveHeaders(f *frame, p []byte, m *Message) (Event, *Error) {
	if f.id == 0 {
		return Event{}, ErrStreamID
	}
	p, err := f.unpad(p)
	if err != nil {
		return Event{}, err
	}
	h := pendingHead{id: f.id, since: c.now, end: f.has(flagEndStream)}
	if f.has(flagPriority) {
		if len(p) < 5 {
			return Event{}, ErrFrameSize
		}
		h.selfish = binary.BigEndian.Uint32(p)&maxID == f.id
		p = p[5:]
	}
	if f.has(flagEndHeaders) {
		return c.receiveSection(h, p, m)
	}
	c.pending = h
	c.block = bufpool.Get(2 * len(p))
	c.block.B = append(c.block.B, p...)
	return Event{}, nil
}

func (c *Conn) receiveContinuation(f *frame, p []byte, m *Message) (Event, *Error) {
	c.pending.frames++
	if int(c.pending.frames) > c.l.Continuations || len(p) == 0 {
		return Event{}, ErrContinuations
	}
	if len(c.block.B)+len(p) > 2*c.l.HeaderList+c.l.Frame {
		return Event{}, ErrHugeHead
	}
	c.block.Grow(len(p))
	c.block.B = append(c.block.B, p...)
	if !f.has(flagEndHeaders) {
		return Event{}, nil
	}
	h, block := c.pending, c.block
	c.pending, c.block = pendingHead{}, nil
	ev, err := c.receiveSection(h, block.B, m)
	bufpool.Put(block)
	return ev, err
}

// receiveSection decodes a header block, whatever happens to its stream: the table of HPACK
// belongs to the whole connection.
func (c *Conn) receiveSection(h pendingHead, block []byte, m *Message) (Event, *Error) {
	m.reset(c.l)
	err := c.dec.Decode(&m.Fields, block, c.hpackLimits())
	tooLarge := err == hpack.ErrTooLarge
	switch {
	case err == hpack.ErrExcessive:
		return Event{}, ErrHugeHead
	case err != nil && !tooLarge:
		return Event{}, ErrCompression
	case h.id&1 == 0:
		return Event{}, ErrStreamID
	}
	if s := c.table.find(h.id); s != nil {
		return c.receiveNext(s, h, tooLarge, m)
	}
	if c.isIdle(h.id) {
		if c.role == Client {
			return Event{}, ErrIdleStream
		}
		return c.receiveRequest(h, tooLarge, m)
	}
	if c.role == Server && c.ended.find(h.id) == endUnknown {
		// RFC 9113 section 5.1.1: ids grow
		return Event{}, ErrStreamID
	}
	return Event{}, c.afterEnd(h.id, 0)
}

// receiveRequest begins a stream of a client.
func (c *Conn) receiveRequest(h pendingHead, tooLarge bool, m *Message) (Event, *Error) {
	c.ended.skip(c.highest, h.id)
	c.highest = h.id
	if c.life >= LifeDraining {
		// the peer sends the request again, on another connection
		c.ended.add(h.id, endByUs)
		c.expectStrays(c.streamWindow())
		return Event{}, c.late()
	}
	size := len(m.Fields.Block) + 32*m.Fields.Len()
	switch {
	case c.held >= heldFactor*c.l.Streams:
		return Event{}, ErrManyStreams
	case c.active >= c.l.Streams:
		return c.reject(h.id, errTooMany, c.greeting == Greeted)
	case c.heads+size > c.l.PendingHeads:
		return c.reject(h.id, errManyHeads, false)
	case h.selfish:
		return c.reject(h.id, errDependency, true)
	}
	prio := defaultPriority
	var flaw *Error
	if tooLarge {
		m.noteMethod()
	} else {
		var e *Error
		if prio, flaw, e = m.checkRequest(); e == nil {
			e = m.frame(h.end, false)
		}
		if e != nil {
			return c.reject(h.id, e, true)
		}
	}
	if flaw != nil {
		if err := c.waste(); err != nil {
			ev, _ := c.reject(h.id, flaw, false)
			return ev, err
		}
	}
	s := c.newStream(h.id)
	s.urgency, s.incremental = prio.urgency, prio.incremental
	s.malformed, s.connects = flaw != nil, m.Head.MethodID == http1.MethodConnect
	s.headSize = uint32(size)
	c.heads += size
	c.table.add(s)
	c.active++
	if h.end {
		s.move(receivesAll)
	} else {
		s.move(receivesHead)
	}
	if tooLarge {
		return Event{Kind: TooLarge, Stream: s, End: h.end}, nil
	}
	if m.Head.Framing.Kind == http1.Length {
		s.bodyLeft = m.Head.Framing.Length
	}
	if flaw != nil {
		return Event{Kind: Malformed, Stream: s, End: h.end, Err: flaw}, nil
	}
	return Event{Kind: Headers, Stream: s, End: h.end}, nil
}

// reject resets a stream that the peer wanted to begin. wasted is set if the peer could
// have known better.
func (c *Conn) reject(id uint32, e *Error, wasted bool) (Event, *Error) {
	c.rejectID(id, e.Code)
	c.expectStrays(c.streamWindow())
	ev := Event{Kind: Rejected, Code: e.Code, Err: e}
	if wasted {
		return ev, c.waste()
	}
	return ev, nil
}

// receiveNext handles a header section on an open stream: a response or trailers.
func (c *Conn) receiveNext(s *Stream, h pendingHead, tooLarge bool, m *Message) (Event, *Error) {
	switch {
	case s.Receiving() == Ended:
		return c.refuse(s, errHalfClosed)
	case h.selfish:
		return c.refuse(s, errDependency)
	case s.Receiving() == HeadAhead:
		return c.receiveResponse(s, h, tooLarge, m)
	case s.connects:
		// RFC 9113 section 8.5
		return c.refuse(s, errTunnel)
	case !h.end:
		return c.refuse(s, errTrailersEnd)
	case tooLarge:
		return c.refuse(s, ErrLargeSection)
	}
	e := m.checkTrailers()
	if e == nil && s.bodyLeft > 0 {
		e = errLengthDiffers
	}
	if e != nil {
		return c.refuse(s, e)
	}
	s.move(receivesEnd)
	c.closeIfDone(s)
	if !s.held {
		c.discardLingering(s)
		return Event{}, nil
	}
	return Event{Kind: Trailers, Stream: s, End: true}, nil
}

func (c *Conn) receiveResponse(s *Stream, h pendingHead, tooLarge bool, m *Message) (Event, *Error) {
	if tooLarge {
		return c.refuse(s, ErrLargeSection)
	}
	if e := m.checkResponse(); e != nil {
		return c.refuse(s, e)
	}
	if m.Head.Status < 200 {
		if h.end {
			return c.refuse(s, errInterimEnds)
		}
		s.move(receivesInterim)
		return Event{Kind: Interim, Stream: s}, c.glitch()
	}
	opens := s.connects && m.Head.Status < 300
	s.connects = opens
	none := s.noContent || m.Head.Status == 204 || m.Head.Status == 304
	if opens {
		m.Head.Framing = http1.Framing{Kind: http1.UntilClose}
	} else if e := m.frame(h.end, none); e != nil {
		return c.refuse(s, e)
	}
	switch {
	case opens:
	case none:
		s.bodyLeft = 0
	case m.Head.Framing.Kind == http1.Length:
		s.bodyLeft = m.Head.Framing.Length
	}
	if h.end {
		s.move(receivesAll)
		c.closeIfDone(s)
	} else {
		s.move(receivesHead)
	}
	return Event{Kind: Headers, Stream: s, End: h.end}, nil
}

// hpackLimits returns the limits of a header section.
func (c *Conn) hpackLimits() hpack.Limits {
	return hpack.Limits{Size: uint32(c.l.HeaderList), Fields: c.l.Fields, Normalize: !c.l.KeepNames, Valid: validPseudo}
}
