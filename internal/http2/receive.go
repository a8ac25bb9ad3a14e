package http2

import (
	"encoding/binary"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
)

// Feed processes received bytes, from the beginning of b, up to the first event. It returns
// how many bytes it has consumed, which are whole frames. If n is 0 and there is no event,
// the connection is Paused, or Feed needs more bytes after b: FrameHeadSize and Limits.Frame
// together are always enough. After an error the connection is over as soon as its output
// is written; each further call returns the error again.
//
// Header sections are put into m. Payload of the event is a part of b.
func (c *Conn) Feed(b []byte, now uint32, m *Message) (n int, ev Event, err error) {
	c.now = now
	for {
		if s := c.lost.first; s != nil {
			c.lost.remove(s)
			ev := Event{Kind: Reset, Stream: s, Code: s.code}
			if c.role == Server {
				ev.Err = errStreamStalled
			}
			return n, ev, nil
		}
		if c.life == LifeClosed {
			return n, Event{}, c.err
		}
		if c.Paused() {
			return n, Event{}, nil
		}
		ev, fault := c.step(b[n:], m)
		n += int(c.took)
		if fault != nil {
			c.fail(fault)
			continue
		}
		if ev.Kind != None || c.took == 0 && c.lost.first == nil {
			return n, ev, nil
		}
	}
}

// step takes one frame from b, or the preface, and sets took. An Event and an *Error are just as
// many words as the compiler returns in registers, here and in the methods that step calls.
func (c *Conn) step(b []byte, m *Message) (Event, *Error) {
	c.took = 0
	if c.greeting == GreetPreface {
		n := min(len(b), len(Preface))
		if string(b[:n]) != Preface[:n] {
			return Event{}, ErrPreface
		}
		if n < len(Preface) {
			return Event{}, nil
		}
		c.setGreeting(GreetSettings)
		c.took = int32(n)
		return Event{}, nil
	}
	if len(b) < frameHeadSize {
		return Event{}, nil
	}
	f := parseFrame(b)
	if err := c.expects(&f); err != nil {
		return Event{}, err
	}
	end := frameHeadSize + f.size
	if len(b) < end {
		return Event{}, nil
	}
	c.took = int32(end)
	return c.receive(&f, b[frameHeadSize:end:end], m)
}

// expects returns an error if the head of a frame shows that the frame is not allowed now.
func (c *Conn) expects(f *frame) *Error {
	switch {
	case c.role == Client && c.greeting == GreetSettings && f.isHTTP1():
		return ErrHTTP1
	case f.size > c.l.Frame:
		return ErrLargeFrame
	case c.greeting == GreetSettings && (f.kind != frameSettings || f.has(flagAck)):
		return ErrFirstFrame
	case (f.kind == frameContinuation) != (c.pending.id != 0), c.pending.id != 0 && c.pending.id != f.id:
		return ErrContinuation
	}
	return nil
}

func (c *Conn) receive(f *frame, p []byte, m *Message) (Event, *Error) {
	switch f.kind {
	case frameData:
		return c.receiveData(f, p)
	case frameHeaders:
		return c.receiveHeaders(f, p, m)
	case frameContinuation:
		return c.receiveContinuation(f, p, m)
	case framePriority:
		return c.receivePriority(f, p)
	case frameRSTStream:
		return c.receiveReset(f, p)
	case frameSettings:
		return c.receiveSettings(f, p)
	case framePushPromise:
		return Event{}, ErrPush
	case framePing:
		return c.receivePing(f, p)
	case frameGoAway:
		return c.receiveGoAway(f, p)
	case frameWindowUpdate:
		return c.receiveWindow(f, p)
	case framePriorityUpdate:
		return c.receivePriorityUpdate(f, p)
	}
	// RFC 9113 section 5.5
	return Event{}, c.glitch()
}

// isIdle reports whether no stream with an id has begun. This side never pushes, and a
// client's peer must not.
func (c *Conn) isIdle(id uint32) bool { return id&1 == 0 || int32(id) > int32(c.highest) }

func (c *Conn) receiveData(f *frame, p []byte) (Event, *Error) {
	if f.id == 0 {
		return Event{}, ErrStreamID
	}
	if c.isIdle(f.id) {
		return Event{}, ErrIdleStream
	}
	if f.has(flagPadded) {
		var err *Error
		if p, err = unpad(p); err != nil {
			return Event{}, err
		}
	}
	// padding and its length count, and hold nothing to consume
	size, padding := int32(f.size), int32(f.size-len(p))
	if c.recvWindow -= size; c.recvWindow < 0 {
		return Event{}, ErrFlow
	}
	s := c.table.find(f.id)
	if s == nil {
		c.creditConn(size)
		return Event{}, c.afterEnd(f.id, f.size)
	}
	if e := s.acceptData(f, len(p)); e != nil {
		c.creditConn(size)
		return c.refuse(s, e)
	}
	s.recvWindow -= size
	s.unread += size - padding
	if padding > 0 {
		c.creditConn(padding)
		if s.held {
			c.creditStream(s, padding)
		}
	}
	end := f.has(flagEndStream)
	if len(p) > 0 {
		c.glitches.PutBack(c.l.Glitches)
	}
	switch {
	case end:
		s.move(receivesEnd)
		c.closeIfDone(s)
	case len(p) == 0:
		return Event{}, c.glitch()
	}
	if !s.held {
		c.discardLingering(s)
		return Event{}, nil
	}
	return Event{Kind: Data, Stream: s, Payload: p, End: end}, nil
}

// acceptData returns the fault of a DATA frame with n bytes of content, or nil.
func (s *Stream) acceptData(f *frame, n int) *Error {
	switch {
	case s.receiving == HeadAhead:
		return errDataFirst
	case s.receiving != BodyAhead:
		return errHalfClosed
	case int32(f.size) > s.recvWindow:
		return errStreamFlow
	}
	if s.bodyLeft == unknownLength {
		return nil
	}
	s.bodyLeft -= int64(n)
	if s.bodyLeft < 0 || s.bodyLeft > 0 && f.has(flagEndStream) {
		return errLengthDiffers
	}
	return nil
}

// afterEnd handles a DATA or HEADERS frame for a stream that has ended (RFC 9113 section
// 5.1, "closed"). size is how much of the windows it takes.
func (c *Conn) afterEnd(id uint32, size int) *Error {
	if c.ended.skipped(id) {
		// nothing of it can be on its way
		return ErrClosedStream
	}
	switch c.ended.find(id) {
	case endWell:
		return ErrClosedStream
	case endByPeer:
		c.rejectID(id, StreamClosed)
	default:
		if size == 0 || size > int(c.strays) {
			return c.late()
		}
		c.strays -= int32(size)
		return nil
	}
	return c.glitch()
}

// rejectID resets a stream missing in the table.
func (c *Conn) rejectID(id uint32, code Code) {
	c.put32(frameRSTStream, id, uint32(code))
	c.ended.add(id, endByUs)
}

// refuse resets a stream for a fault of the peer's.
func (c *Conn) refuse(s *Stream, e *Error) (Event, *Error) {
	c.resetStream(s, e.Code)
	if !s.held {
		c.discard(s)
		return Event{Kind: Rejected, Code: e.Code, Err: e}, c.waste()
	}
	return Event{Kind: Reset, Stream: s, Code: e.Code, Err: e}, c.waste()
}

// receivePriority reads the obsolete PRIORITY frame of RFC 7540.
func (c *Conn) receivePriority(f *frame, p []byte) (Event, *Error) {
	switch {
	case f.id == 0:
		return Event{}, ErrStreamID
	case len(p) != 5:
		return c.faultOf(f.id, errPrioritySize, ErrFrameSize)
	case binary.BigEndian.Uint32(p)&maxID == f.id:
		return c.faultOf(f.id, errDependency, ErrSelfDependency)
	}
	return Event{}, c.glitch()
}

// faultOf ends the stream with an id or, if it is not open, the connection: an RST_STREAM
// for a stream that has not begun would be a fault itself.
func (c *Conn) faultOf(id uint32, e, otherwise *Error) (Event, *Error) {
	if s := c.table.find(id); s != nil {
		return c.refuse(s, e)
	}
	return Event{}, otherwise
}

func (c *Conn) receiveReset(f *frame, p []byte) (Event, *Error) {
	switch {
	case f.id == 0:
		return Event{}, ErrStreamID
	case len(p) != 4:
		return Event{}, ErrFrameSize
	case c.isIdle(f.id):
		return Event{}, ErrIdleStream
	}
	s := c.table.find(f.id)
	if s == nil {
		return Event{}, c.late()
	}
	if !s.held {
		c.endStream(s, endByPeer)
		c.discard(s)
		return Event{}, nil
	}
	ev := Event{Kind: Reset, Stream: s, Code: Code(binary.BigEndian.Uint32(p))}
	// a server may end a request that it has answered (RFC 9113 section 8.1)
	wasted := c.role == Server && c.now-s.began < QuickReset && !s.malformed || c.role == Client && s.receiving != Ended
	c.endStream(s, endByPeer)
	if wasted {
		return ev, c.waste()
	}
	return ev, nil
}

// late counts a frame that the peer may have sent before it knew that the stream has ended:
// each DATA frame excuses some, and so does each stream that was reset.
func (c *Conn) late() *Error {
	if c.answers > 0 {
		c.answers--
		return nil
	}
	return c.glitch()
}

func (c *Conn) receivePing(f *frame, p []byte) (Event, *Error) {
	switch {
	case f.id != 0:
		return Event{}, ErrStreamID
	case len(p) != 8:
		return Event{}, ErrFrameSize
	case !f.has(flagAck):
		o := c.output()
		o.B = append(appendFrame(o.B, framePing, flagAck, 0, 8), p...)
		return Event{}, c.glitch()
	case c.pings == 0:
		return Event{}, c.glitch()
	}
	if c.shutdownPing && [8]byte(p) == shutdownPingData {
		c.shutdownPing = false
		c.pings--
		if c.life == LifeGoingAway {
			c.Shutdown()
		}
		return Event{}, nil
	}
	c.pings--
	return Event{Kind: Pong, Payload: p}, nil
}

func (c *Conn) receiveGoAway(f *frame, p []byte) (Event, *Error) {
	switch {
	case f.id != 0:
		return Event{}, ErrStreamID
	case len(p) < 8:
		return Event{}, ErrFrameSize
	}
	last := binary.BigEndian.Uint32(p) & maxID
	if last > c.peer.last {
		return Event{}, ErrLastStream
	}
	c.peer.last = last
	if c.role == Client {
		if c.life < LifeDraining {
			c.drain()
		}
		for s := range c.table.all {
			if s.id > last {
				s.code = RefusedStream
				c.endStream(s, endByPeer)
				c.lost.insert(s, c.lost.last, inLost)
			}
		}
	}
	ev := Event{Kind: GoAway, Code: Code(binary.BigEndian.Uint32(p[4:])), Payload: p[8:]}
	return ev, c.glitch()
}

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
	if f.has(flagPadded) {
		var err *Error
		if p, err = unpad(p); err != nil {
			return Event{}, err
		}
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
	err := c.dec.Decode(&m.Fields, block, hpack.Limits{
		Size: uint32(c.l.HeaderList), Fields: c.l.Fields, Normalize: !c.l.KeepNames, Valid: validPseudo,
	})
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
	size := len(m.Fields.Block) + 32*len(m.Fields.Entries)
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
	case s.receiving == Ended:
		return c.refuse(s, errHalfClosed)
	case h.selfish:
		return c.refuse(s, errDependency)
	case s.receiving == HeadAhead:
		return c.receiveResponse(s, h, tooLarge, m)
	case s.connects:
		// RFC 9113 section 8.5
		return c.refuse(s, errTunnel)
	case !h.end:
		return c.refuse(s, errTrailersEnd)
	case tooLarge, c.role == Server && m.HasLargeTrailers():
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
