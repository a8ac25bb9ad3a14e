package http2

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/bufpool"
)

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
	b, at, least := c.out.B, 0, c.outRead
	if bytes.HasPrefix(b, []byte(Preface)) {
		at = len(Preface)
		least = max(least, at+1)
	}
	for block := false; at < least || block; {
		f := parseFrame(b[at:])
		at += frameHeadSize + f.size
		block = (f.kind == frameHeaders || f.kind == frameContinuation) && !f.has(flagEndHeaders)
	}
	c.out.B, c.writeEnd = b[:at], 0
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
