package http2

import (
	"bytes"
	"math"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// Part is a header section to send.
type Part uint8

const (
	SendInterim  Part = iota // an interim response
	SendHead                 // a head; content follows it
	SendWhole                // a head that ends the message
	SendTrailers             // trailers, which end it
)

var partEvents = [...]streamEvent{
	SendInterim:  sendsInterim,
	SendHead:     sendsHead,
	SendWhole:    sendsAll,
	SendTrailers: sendsEnd,
}

// Open begins a stream of a client, or returns nil if AvailableStreams is 0. The stream gets its id
// with the head of the request.
func (c *Conn) Open() *Stream {
	if c.AvailableStreams() == 0 || c.highest == maxID {
		return nil
	}
	c.active++
	return c.newStream(0)
}

// ExpectNoContent marks the request of a client as HEAD: the content-length of the response
// is then not the length of its content.
func (s *Stream) ExpectNoContent() { s.noContent = true }

// ExpectTunnel marks the request of a client as CONNECT: the content-length of a response
// that opens the tunnel then means nothing (RFC 9110 section 9.3.6).
func (s *Stream) ExpectTunnel() { s.connects = true }

// CanSend reports whether a part can be sent on a stream. Nothing can after a reset, and
// trailers cannot before all content was written.
func (c *Conn) CanSend(s *Stream, part Part) bool {
	if c.life == LifeClosed || s.id == 0 && (c.life != LifeOpen || c.highest == maxID) {
		return false
	}
	return s.may(partEvents[part]) && len(s.unsent) == 0 && !s.endsAfter
}

// BeginHeaders begins a header section, if CanSend reports that one can be sent. The caller
// appends fields to the result with Encoder, pseudo-fields first, and passes it to
// EndHeaders before anything else is done with the Conn.
func (c *Conn) BeginHeaders() []byte {
	o := c.output()
	c.blockAt = int32(len(o.B))
	return c.enc.Begin(appendFrame(o.B, frameHeaders, flagEndHeaders, 0, 0))
}

// EndHeaders sends the section that BeginHeaders has begun. b has its fields at the end.
func (c *Conn) EndHeaders(s *Stream, b []byte, part Part) {
	if s.id == 0 {
		c.number(s)
	}
	s.move(partEvents[part])
	f := b[c.blockAt:]
	size := len(f) - frameHeadSize
	f[5], f[6], f[7], f[8] = byte(s.id>>24), byte(s.id>>16), byte(s.id>>8), byte(s.id)
	if part == SendWhole || part == SendTrailers {
		f[4] |= flagEndStream
	}
	if size > c.peer.frame {
		f[4] &^= flagEndHeaders
		size = c.peer.frame
		b = c.split(b, s.id)
		f = b[c.blockAt:]
	}
	f[0], f[1], f[2] = byte(size>>16), byte(size>>8), byte(size)
	c.out.B = b
	if c.role == Client {
		c.requestBytes += len(f)
	}
	c.closeIfDone(s)
}

// split inserts the heads of CONTINUATION frames into the block at the end of b.
func (c *Conn) split(b []byte, id uint32) []byte {
	rest := append([]byte(nil), b[int(c.blockAt)+frameHeadSize+c.peer.frame:]...)
	b = b[:int(c.blockAt)+frameHeadSize+c.peer.frame]
	for len(rest) > 0 {
		n := min(len(rest), c.peer.frame)
		var flags uint8
		if n == len(rest) {
			flags = flagEndHeaders
		}
		b = append(appendFrame(b, frameContinuation, flags, id, n), rest[:n]...)
		rest = rest[n:]
	}
	return b
}

// number gives a stream its id, in the order in which requests are written.
func (c *Conn) number(s *Stream) {
	if c.highest == 1<<32-1 {
		c.highest = 1
	} else {
		c.highest += 2
	}
	s.id = c.highest
	s.sendWindow, s.recvWindow = c.peer.window, c.streamWindow()
	c.table.add(s)
}

// smallContent is the size up to which content is copied at once.
const smallContent = 4 << 10

// Send sends a part of the content of a stream, which may be empty at its end. All content
// sent before must have been written: Unsent returns 0. If Unsent is not 0 afterwards, p
// must not change until Drained returns the stream, or the stream is reset. Send does
// nothing on a stream that was reset.
func (c *Conn) Send(s *Stream, p []byte, end bool) {
	if s.sending == Cut || c.life == LifeClosed {
		return
	}
	if s.sending != BodyAhead || len(s.unsent) > 0 || s.endsAfter {
		panic(cannotFollow)
	}
	n := int32(len(p))
	switch {
	case n == 0 && !end:
		return
	case n == 0, n <= smallContent && n <= s.sendWindow && n <= c.sendWindow && !c.hasBacklog() &&
		(c.ready.first == nil || s.urgency <= c.ready.first.urgency):
		o := c.output()
		o.B = c.appendData(o.B, s, p, end)
		if c.role == Client {
			c.requestBytes += len(p)
		}
		return
	}
	if s.place == inDrained {
		c.drained.remove(s)
	}
	s.unsent, s.endsAfter = p, end
	c.schedule(s)
}

// hasBacklog reports whether so much output waits that content must wait too, however small it is and
// however large the windows are: its sender would not notice that the peer takes nothing. There
// is still room for answers to the peer's frames.
func (c *Conn) hasBacklog() bool { return c.out != nil && len(c.out.B)-c.outRead >= c.l.Output/4 }

// Finish ends the content of a stream, after the unwritten content from Send. It does nothing if
// that has ended, or on a stream that was reset.
func (c *Conn) Finish(s *Stream) {
	switch {
	case s.sending != BodyAhead || s.endsAfter || c.life == LifeClosed:
	case len(s.unsent) > 0:
		s.endsAfter = true
	default:
		c.Send(s, nil, true)
	}
}

// Own copies the unwritten content from Send, so that the caller may change its slice.
func (c *Conn) Own(s *Stream) {
	if len(s.unsent) > 0 {
		s.unsent = append([]byte(nil), s.unsent...)
	}
}

// appendData appends a DATA frame.
func (c *Conn) appendData(dst []byte, s *Stream, p []byte, end bool) []byte {
	var flags uint8
	if end {
		flags = flagEndStream
	}
	dst = append(appendFrame(dst, frameData, flags, s.id, len(p)), p...)
	s.sendWindow -= int32(len(p))
	c.sendWindow -= int32(len(p))
	s.stall.sent += uint32(len(p))
	c.stall.sent += uint32(len(p))
	c.excuse(answersEach)
	if len(p) > 0 {
		c.glitches.PutBack(c.l.Glitches)
	}
	if end {
		s.move(sendsEnd)
		c.closeIfDone(s)
	}
	return dst
}

// excuse allows n frames without benefit, which are no fault of the peer's.
func (c *Conn) excuse(n uint32) { c.answers = min(c.answers+n, maxAnswers) }

const (
	// answersEach is for a DATA frame, which a peer may answer with an update of each
	// window, or with a reset.
	answersEach = 2
	// answersReset is for a reset stream: beside as much content as the window permits, a
	// head, trailers and updates of windows may be on their way.
	answersReset = 8
	maxAnswers   = 1 << 20
)

// Reset ends a stream, unless it has ended.
func (c *Conn) Reset(s *Stream, code Code) {
	if s.Closed() || s.id == 0 || c.life == LifeClosed {
		return
	}
	c.resetStream(s, code)
}

// expectStrays accounts for a stream that was reset, on which the peer may have sent as
// much content as a window permits. Its frames may be as small as the peer likes.
func (c *Conn) expectStrays(window int32) {
	c.strays = int32(min(int64(c.strays)+int64(max(window, 0)), math.MaxInt32))
	c.excuse(answersReset)
}

// resetStream ends a stream that has begun.
func (c *Conn) resetStream(s *Stream, code Code) {
	c.put32(frameRSTStream, s.id, uint32(code))
	if s.receiving < Ended {
		c.expectStrays(s.recvWindow)
	}
	c.endStream(s, endByUs)
}

// endStream ends a stream that was reset.
func (c *Conn) endStream(s *Stream, how ending) {
	c.unqueue(s)
	s.unsent, s.endsAfter = nil, false
	s.move(resets)
	c.creditConn(s.unread)
	s.unread = 0
	c.forget(s, how)
}

// closeIfDone ends a stream that both sides have ended.
func (c *Conn) closeIfDone(s *Stream) {
	if s.Closed() {
		c.forget(s, endWell)
		if s.malformed {
			return
		}
		c.wasted.PutBack(c.l.Wasted)
		c.glitches.PutBack(c.l.Glitches)
	}
}

// forget removes an ended stream from the streams that receive frames.
func (c *Conn) forget(s *Stream, how ending) {
	c.table.remove(s)
	c.ended.add(s.id, how)
	c.active--
}

// Release reports that the caller no longer uses a stream. An open stream is reset: with
// NoError if a server has answered without waiting for all of the request (RFC 9113 section
// 8.1), otherwise with Cancel. If the rest of that request may be on its way, it has some
// time to arrive, see lingers.
func (c *Conn) Release(s *Stream) {
	if !s.held {
		panic("http2: a stream is released twice")
	}
	lingers := false
	if s.id == 0 {
		c.active--
	} else if !s.Closed() {
		switch {
		case s.sending != Ended || c.role == Client:
			c.Reset(s, Cancel)
		case c.lingers(s):
			lingers = true
		default:
			c.endUnread(s)
		}
	}
	if s.place != nowhere {
		c.unqueue(s)
	}
	if c.life != LifeClosed {
		if s.unread > 0 {
			c.creditConn(s.unread)
		}
	} else if s.id != 0 && !s.Closed() {
		c.table.remove(s)
		c.active--
	}
	c.heads -= int(s.headSize)
	c.kept -= int(s.kept)
	if c.favored == s.id {
		c.favored = 0
	}
	if c.withheld {
		c.passOn()
	}
	c.held--
	if !lingers {
		c.discard(s)
		return
	}
	s.held, s.User = false, nil
	s.unread, s.credit, s.headSize, s.kept = 0, 0, 0, 0
}

// Ping asks the peer for a sign of life: its answer causes an event Pong.
func (c *Conn) Ping(data [8]byte) {
	c.pings++
	o := c.output()
	o.B = append(appendFrame(o.B, framePing, 0, 0, 8), data[:]...)
}

// goAway sends GOAWAY.
func (c *Conn) goAway(last uint32, code Code) {
	o := c.output()
	o.B = appendFrame(o.B, frameGoAway, 0, 0, 8)
	o.B = append(o.B, byte(last>>24), byte(last>>16), byte(last>>8), byte(last),
		byte(code>>24), byte(code>>16), byte(code>>8), byte(code))
}

// firstOutput is the size of a new buffer for output.
const firstOutput = 1 << 10

// output returns the buffer of the output before DATA that waits.
func (c *Conn) output() *bufpool.Buffer {
	if c.out == nil {
		c.out = bufpool.Get(firstOutput)
	}
	return c.out
}

// put32 sends a frame whose payload is a number.
func (c *Conn) put32(kind frameType, id, n uint32) {
	o := c.output()
	o.B = appendFrame32(o.B, kind, id, n)
}

// endWrite makes Output return the present output before it returns any later output. curl
// 7.88 loses a response that arrives together with a reset of its stream while curl sends
// the request. A second call before that has no effect.
func (c *Conn) endWrite() {
	if c.out != nil && int(c.writeEnd) <= c.outRead {
		c.writeEnd = int32(len(c.out.B))
	}
}

// discardOutput drops the frames that Output has not begun, except the beginning of a
// connection: an unwritten request stays unwritten, as its caller learns.
func (c *Conn) discardOutput() {
	if c.out == nil {
		return
	}
	_, end := c.boundaries(c.outRead)
	c.out.B, c.writeEnd = c.out.B[:end], 0
}

// boundaries returns the last position in out up to at, and the first one from at on, that is neither
// within a frame nor within a header block. The beginning of a connection counts as one frame.
func (c *Conn) boundaries(at int) (before, after int) {
	b := c.out.B
	if bytes.HasPrefix(b, []byte(Preface)) {
		after = len(Preface)
		at = max(at, after+1)
	}
	for block := false; after < at || block; {
		f := parseFrame(b[after:])
		after += frameHeadSize + f.size
		block = (f.kind == frameHeaders || f.kind == frameContinuation) && !f.has(flagEndHeaders)
		if after <= at && !block {
			before = after
		}
	}
	return before, after
}

// compactFrom is how many written bytes of the output are kept at least while it has others.
const compactFrom = 32 << 10

// compact drops the written frames, if they are most of the output: it may never be empty.
func (c *Conn) compact() {
	if c.outRead < max(compactFrom, len(c.out.B)/2) {
		return
	}
	n, _ := c.boundaries(c.outRead)
	if n == 0 {
		return
	}
	c.out.B = c.out.B[:copy(c.out.B, c.out.B[n:])]
	c.outRead -= n
	c.writeEnd = max(c.writeEnd-int32(n), 0)
	c.requestBytes = min(c.requestBytes, len(c.out.B)-c.outRead)
}

// HasOutput reports whether Output returns anything.
func (c *Conn) HasOutput() bool {
	return c.out != nil && len(c.out.B) > c.outRead ||
		c.ready.first != nil && c.sendWindow > 0 && c.life != LifeClosed
}

// minPart is how much of some content justifies a frame, if there is more of it.
const minPart = 512

// MinOutput is how many bytes of room Output may leave unused, although there is more.
const MinOutput = minPart + frameHeadSize

// Output appends output to dst, at most max bytes, and returns it: first frames other than
// DATA, and small content, in the order of the calls; then the content that windows permit,
// ordered by RFC 9218. max must be more than MinOutput bytes if any content is expected.
func (c *Conn) Output(dst []byte, max int) []byte {
	end := len(dst) + max
	if c.out != nil {
		n := min(max, len(c.out.B)-c.outRead)
		if cut := int(c.writeEnd) - c.outRead; cut > 0 {
			n = min(n, cut)
		}
		dst = append(dst, c.out.B[c.outRead:c.outRead+n]...)
		if c.outRead += n; c.outRead < len(c.out.B) {
			c.compact()
			return dst
		}
		c.out.B, c.outRead, c.writeEnd, c.requestBytes = c.out.B[:0], 0, 0, 0
	}
	for c.ready.first != nil && c.sendWindow > 0 && c.life != LifeClosed {
		s := c.ready.first
		room := end - len(dst) - frameHeadSize
		n := min(len(s.unsent), c.peer.frame, int(c.sendWindow), int(s.sendWindow), room)
		if n <= 0 || n == room && n < min(minPart, len(s.unsent)) {
			break
		}
		dst = c.write(dst, s, n)
	}
	return dst
}

// write appends a frame with the next n bytes of the content of the first stream.
func (c *Conn) write(dst []byte, s *Stream, n int) []byte {
	p := s.unsent[:n]
	s.unsent = s.unsent[n:]
	c.ready.remove(s)
	last := len(s.unsent) == 0
	if last {
		s.unsent = nil
		s.stall.begun = false
		c.drained.insert(s, c.drained.last, inDrained)
	}
	end := last && s.endsAfter
	dst = c.appendData(dst, s, p, end)
	switch {
	case end:
		s.endsAfter = false
	case !last && (s.incremental || s.sendWindow <= 0):
		c.schedule(s)
	case !last:
		c.ready.insert(s, nil, inReady)
	}
	return dst
}

// schedule adds a stream with content to the streams that may send, or removes it.
func (c *Conn) schedule(s *Stream) {
	may := s.sendWindow > 0 && len(s.unsent) > 0
	switch {
	case len(s.unsent) == 0 || s.place == inReady && may:
		return
	case !may && s.place == inReady:
		c.ready.remove(s)
	}
	if !may {
		s.place = isBlocked
		return
	}
	at := c.ready.last
	for at != nil && s.before(at) {
		at = at.prev
	}
	c.ready.insert(s, at, inReady)
}

// before reports whether the content of s is sent before the content of other: by urgency,
// then streams that are useful only as a whole, and of these the one that was requested
// first (RFC 9218 section 10). Others take turns.
func (s *Stream) before(other *Stream) bool {
	switch {
	case s.urgency != other.urgency:
		return s.urgency < other.urgency
	case s.incremental:
		return false
	}
	return other.incremental || s.id < other.id
}

// unqueue takes a stream out of the queue that it is in.
func (c *Conn) unqueue(s *Stream) {
	switch s.place {
	case inReady:
		c.ready.remove(s)
	case inDrained:
		c.drained.remove(s)
	case inLost:
		c.lost.remove(s)
	}
	s.place = nowhere
}

// Drained returns a stream whose content Output has taken completely since Drained last
// returned the stream, or nil. The stream may have ended by that.
func (c *Conn) Drained() *Stream {
	s := c.drained.first
	if s != nil {
		c.drained.remove(s)
	}
	return s
}
