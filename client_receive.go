package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/http1"
)

// readHead reads the head of the final response. Informational ones are passed to
// the trace.
func (x *clientExchange) readHead() error {
	for x.awaitsHead() {
		if err := x.nextHead(); err != nil {
			return err
		}
	}
	x.frameResponse()
	return nil
}

// awaitsHead reports whether the head of the final response is still expected.
func (x *clientExchange) awaitsHead() bool { return x.cc.wire.Receiving() < http1.ReceivingBody }

// begin makes the response ready to be read.
func (x *clientExchange) begin() {
	x.cc.wire.Advance(http1.AwaitsResponse)
	x.resp.reuse()
	h := &x.resp.Header
	h.setState(namesKept, h.is(namesKept) || x.hc.DisableHeaderNamesNormalizing)
}

// nextHead reads one head.
func (x *clientExchange) nextHead() error {
	if x.cc.wire.Receiving() == http1.NotReceiving {
		x.begin()
	}
	h := &x.resp.Header
	final, err := x.feedHead()
	if err != nil {
		h.reset(configured)
		return err
	}
	if final {
		x.cc.wire.Advance(http1.HeadEnds)
		return nil
	}
	if trace := x.call.trace; trace != nil {
		return traceInformational(trace, h)
	}
	return nil
}

// feedHead reads the next head for nextHead.
func (x *clientExchange) feedHead() (final bool, err error) {
	cc, h := x.cc, &x.resp.Header
	for {
		if b := cc.peek(); len(b) > 0 {
			n, final, err := x.heads.feed(h, &cc.head, x.hc.ReadBufferSize, b)
			if err != nil {
				return false, err
			}
			if n > 0 {
				cc.discard(n)
				return final, nil
			}
		}
		if err := x.receive(); err != nil {
			return false, err
		}
	}
}

// receive reads some bytes of a head.
func (x *clientExchange) receive() error {
	err := x.cc.fill()
	x.traceSent()
	switch {
	case err == nil && x.call.outcome != attemptAnswered:
		x.call.outcome = attemptAnswered
		if trace := x.call.trace; trace != nil && trace.GotFirstResponseByte != nil {
			trace.GotFirstResponseByte()
		}
	case err == io.EOF && x.call.outcome == attemptAnswered:
		err = headerError("response", io.ErrUnexpectedEOF)
	}
	return err
}

// frameResponse decides how the body of the response is read.
func (x *clientExchange) frameResponse() {
	h := &x.resp.Header
	x.frame = x.cc.head.FrameAnswer(http1.Exchange{Head: x.isHead, Connect: x.isConnect})
	if x.isHead {
		x.resp.skipHead()
		h.setState(closing, !x.cc.head.KeepsAlive())
	}
	status := h.StatusCode()
	if status == StatusSwitchingProtocols || x.isConnect && status/100 == 2 {
		x.cc.wire.Advance(http1.ProtocolSwitches)
	}
}

// switched reports whether the connection speaks another protocol from now on.
func (x *clientExchange) switched() bool { return x.cc.wire.Receiving() == http1.Switched }

// endResponse records that the response was read, unless the connection has switched to
// another protocol.
func (x *clientExchange) endResponse() {
	if !x.switched() {
		x.cc.wire.Advance(http1.ResponseEnds)
	}
}

// keepable reports whether the connection, on which the body of the response was read,
// may be used for another request, if this one is written to its end. Unsolicited bytes
// are not a response to the next request.
func (x *clientExchange) keepable() bool {
	return x.cc.head.KeepsAlive() && !x.frame.MustClose && !x.closes && len(x.cc.peek()) == 0
}

// readBody reads the body into the response.
func (x *clientExchange) readBody() error {
	resp := x.resp
	if x.frame.Kind == http1.NoBody {
		return nil
	}
	if resp.SkipBody {
		// a body that the caller does not want stays unread
		x.frame.MustClose = x.frame.MustClose || x.frame.Kind != http1.Length || x.frame.Length > 0
		return nil
	}
	limit := x.hc.MaxResponseBodySize
	resp.body.limit = limit
	if x.frame.Kind == http1.Length && (limit <= 0 || x.frame.Length <= int64(limit)) {
		return x.readLength()
	}
	if err := readBody(&x.cc.line, x.frame, limit, &resp.body, &resp.Header.header); err != nil {
		return err
	}
	if x.frame.Kind == http1.UntilClose {
		resp.Header.SetContentLength(len(resp.body.bytes()))
	}
	return nil
}

// readStep is the least room that a long body gets for each read. The server may
// announce any length, so it is not allocated at once.
const readStep = 32 << 10

// readLength reads a body of a known length into the response, without passing through
// the buffer of the connection.
func (x *clientExchange) readLength() error {
	cc, body, left := x.cc, &x.resp.body, x.frame.Length
	b := cc.peek()
	n := int(min(int64(len(b)), left))
	if left -= int64(n); n > 0 {
		body.write(b[:n])
		cc.discard(n)
	}
	for left > 0 {
		step := int(min(left, readStep))
		if body.buf == nil {
			body.buf = bufpool.Get(step)
		}
		buf := body.buf
		buf.Grow(step)
		room := buf.B[len(buf.B):cap(buf.B)]
		n, err := cc.line.Read(room[:min(int64(len(room)), left)])
		buf.B = buf.B[:len(buf.B)+n]
		left -= int64(n)
		if n == 0 {
			return atEnd(err)
		}
	}
	return nil
}

// headReader reads the heads of the responses to one request: informational ones,
// of which there may be maxInformational, and the final one. It never waits.
type headReader struct {
	h     *ResponseHeader // that a head is being read into, nil between two
	hints int             // informational responses received
}

// feed reads a head into h from the beginning of b, which holds all of it that was
// received so far, and returns its length, or 0 if it needs more. head is the one of
// the connection, and bufferSize the ReadBufferSize of the client. final is false for
// the head of an informational response.
func (r *headReader) feed(h *ResponseHeader, head *http1.Head, bufferSize int, b []byte) (n int, final bool, err error) {
	if r.h != h {
		r.begin(h, head, bufferSize)
	}
	n, err = h.feed(http1.Response, head, b)
	if err != nil {
		return n, false, headerError("response", err)
	}
	if n == 0 {
		return 0, false, nil
	}
	r.h = nil
	h.status = head.Status
	switch {
	case h.status < http1.FirstStatus:
		// no class of responses begins with 0
		return n, false, headerError("response", http1.ErrStatusLine)
	case h.status/100 != 1 || h.status == StatusSwitchingProtocols:
		return n, true, nil
	case r.hints == maxInformational:
		return n, false, errTooManyInformational
	}
	r.hints++
	return n, false, nil
}

// begin makes h ready for a head.
func (r *headReader) begin(h *ResponseHeader, head *http1.Head, bufferSize int) {
	r.h = h
	h.begin(head)
	h.status = 0
	head.Limits = responseLimits(bufferSize)
}
