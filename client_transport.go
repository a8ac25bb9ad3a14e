package fasthttp

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/sender"
)

// isUntouched reports whether a request that failed with err may be sent again whatever
// its method, since the server has not processed it, or most probably not. The first request of
// a connection is not sent again.
func (x *clientExchange) isUntouched(err error) bool {
	cc := x.cc
	if x.probe == probeStale {
		return true
	}
	if !cc.hasResponded || x.call.bodyConsumed || x.call.outcome != attemptLost {
		return false
	}
	return cc.line.Sent == 0 || err == io.EOF && !cc.line.Probe.CanCheck()
}

// clientExchange is one request with its response on one connection.
type clientExchange struct {
	hc   *HostClient
	cc   *clientConn
	call *callState
	req  *Request
	resp *Response

	// properties of the request, kept here since the stream being sent may change its
	// header
	isHead, isConnect, closes bool

	encoding http1.Encoding // of the request
	frame    http1.Framing
	// sender sends the content; nil if the call does that itself
	sender *bodySender
	probe  connProbe
	heads  headReader
	traced tracedWrite
	// released is set once the exchange has given up the connection, to the pool or to
	// the stream of the body
	released bool
	follows  clientconn.Following // the end of the context
}

// connProbe is the knowledge about an idle connection before the request is written.
type connProbe uint8

const (
	probeDone    connProbe = iota // it was checked, or it is a new one
	probePending                  // it was idle, and was not checked since
	probeStale                    // it is no longer usable
)

// http1Client is HTTP/1.1 on a connection.
type http1Client struct{ cc *clientConn }

// roundTrip implements clientProtocol.
func (p http1Client) roundTrip(hc *HostClient, req *Request, resp *Response, since time.Duration) (untouched bool, err error) {
	cc, call := p.cc, &req.call
	cc.line.Sent = 0
	x := clientExchange{hc: hc, cc: cc, call: call, req: req, resp: resp}
	if since != 0 && cc.probesOnWrite(call) {
		x.probe = probePending
	}
	over := false
	defer func() {
		if !over {
			// a hook of the application has panicked
			x.abort()
		}
	}()
	if call.trace != nil {
		traceGotConn(call, cc.line.Net, since)
	}
	if err = x.exchange(); err != nil {
		err = x.failed(err)
		x.abort()
	}
	over = true
	if err == nil {
		return false, nil
	}
	if call.outcome != attemptResponded && cc.line.Failed() {
		call.outcome = attemptLost
	}
	return x.isUntouched(err), err
}

// pooled implements clientProtocol.
func (http1Client) pooled() {}

// reserve implements clientProtocol: the holder of the connection has the only
// reservation.
func (http1Client) reserve() bool { return false }

// Close implements clientProtocol.
func (p http1Client) Close() error {
	return p.cc.line.Close()
}

// exchange sends the request and reads the response. It gives up the connection unless it returns
// an error.
func (x *clientExchange) exchange() error {
	h := &x.req.Header.head
	method := h.Method()
	x.isHead, x.isConnect, x.closes = string(method) == MethodHead, string(method) == MethodConnect, h.Is(header.Closing)
	if x.isConnect && h.IsExtended() {
		// HTTP/1.1 has no such request
		x.call.outcome = attemptUnreached
		return ErrNoExtendedConnect
	}
	x.cc.head.Connect = x.isConnect
	x.encoding = x.req.encode(0)
	if x.call.ctx != nil {
		x.follows = x.cc.line.Guard.Follow(x.call.ctx, contextError)
	}
	err := x.send()
	if err == nil && x.cc.phases.Sending() == http1.Asking {
		err = x.awaitContinue()
	}
	if err != nil && !x.mayHaveResponse() {
		return err
	}
	if headErr := x.readHead(); headErr != nil {
		if err == nil {
			err = headErr
		}
		return err
	}
	if x.hc.ResponseHeaderTimeout > 0 {
		if canceled := x.cc.line.Guard.PassHead(); canceled != nil {
			return canceled
		}
	}
	x.resp.ParseNetConn(x.cc.line.Net)
	if x.streams() {
		return x.startStream()
	}
	if err := x.readBody(); err != nil {
		return err
	}
	x.cc.phases.Advance(http1.ResponseEnds)
	// unsolicited bytes are not a response to the next request
	keep := x.keepsConn() && len(x.cc.line.Recv.Peek()) == 0
	if x.sender != nil {
		if err := x.finishSender(keep); err != nil {
			return err
		}
	}
	x.finish(keep)
	return nil
}

// keepsConn reports whether neither message ends the connection.
func (x *clientExchange) keepsConn() bool {
	return x.cc.head.KeepsAlive() && !x.frame.MustClose && !x.closes
}

// mayHaveResponse reports whether there may be an answer although the request could not
// be written to its end: a server that refuses a large body closes the connection in
// the middle of it. A response that was sent has arrived by then, so the wait is
// short.
func (x *clientExchange) mayHaveResponse() bool {
	cc := x.cc
	return cc.phases.Sending() == http1.SendFailed && cc.line.Sent > 0 && x.hc.limitDraining(&cc.line.Guard, x.call.deadline) == nil
}

// finish returns the connection to the pool, to be reused or to be closed.
func (x *clientExchange) finish(keep bool) {
	// if it is too late, the end of the context cancels the connection
	keep = x.follows.Stop() && keep && x.cc.phases.Advance(http1.NextRequest)
	if t := x.call.trace; keep && t != nil && t.PutIdleConn != nil {
		x.tracePutIdle(t.PutIdleConn)
	}
	x.released = true
	if keep {
		x.hc.keepConn(x.cc)
	} else {
		x.hc.CloseConn(x.cc)
	}
}

// tracePutIdle reports that the connection will be reused. If the hook panics, it is closed.
func (x *clientExchange) tracePutIdle(put func(error)) {
	panics := true
	defer func() {
		if panics {
			x.released = true
			x.hc.CloseConn(x.cc)
		}
	}()
	put(nil)
	panics = false
}

// abort ends an exchange that has failed.
func (x *clientExchange) abort() {
	if x.sender != nil {
		x.sender.Abandon()
	}
	if !x.released {
		x.finish(false)
	}
}

// failed returns the error that the call gets for err.
func (x *clientExchange) failed(err error) error {
	if canceled := x.cc.line.Guard.Err(); canceled != nil {
		return canceled
	}
	if x.sender != nil {
		if _, sendErr := x.sender.Ended(); sendErr != nil && x.cc.line.WriteErr == nil {
			return sendErr
		}
	}
	if isTimeout(err) {
		if canceled := x.call.canceled(); canceled != nil {
			return canceled
		}
		return ErrTimeout
	}
	return err
}

// limitWrite gives the request its deadline, and the response the same until the
// request is written.
func (x *clientExchange) limitWrite() error {
	deadline := x.call.deadline
	if timeout := x.hc.WriteTimeout; timeout > 0 {
		deadline = clock.Earliest(deadline, time.Now().Add(timeout))
	}
	return x.cc.line.Guard.LimitRequest(deadline)
}

// send writes the request: its head alone if the request expects 100 (Continue), to find out
// first whether the server wants the content (RFC 9110 section 10.1.1), and all of it otherwise. A
// bodySender sends content that does not fit one write.
func (x *clientExchange) send() error {
	if err := x.limitWrite(); err != nil {
		return err
	}
	content, streams := x.req.content(), x.req.body.Stream != nil
	expects := (streams || len(content) > 0) && x.req.MayContinue()
	atOnce := !expects && !streams && len(content) <= copyLimit && x.encoding.Kind != http1.Chunks &&
		x.call.trace == nil && x.cc.line.CanRoundTrip()
	if !atOnce && x.probe == probePending && x.isStale() {
		return errStale
	}
	out := bufpool.Get(x.hc.writeSize())
	out.B = x.req.appendHead(out.B, x.encoding)
	if atOnce {
		out.Grow(len(content))
		out.B = append(out.B, content...)
		return x.roundTrip(out)
	}
	if !expects {
		return x.sendContent(out, content)
	}
	x.cc.phases.Advance(http1.SendsHead)
	_, err := x.cc.line.Write(out.B)
	x.cc.line.Recv.Adopt(out)
	if err != nil {
		x.stopSending()
	}
	x.traceWrote(wroteHeaders, err)
	return err
}

// isStale checks an idle connection, and reports whether it is no longer usable.
func (x *clientExchange) isStale() bool {
	x.probe = probeDone
	if !x.cc.line.IsQuiet() {
		x.probe = probeStale
	}
	return x.probe == probeStale
}

// errStale reports that nothing was written because the connection was no longer
// usable. Callers never see it: the request goes through another connection.
var errStale = errors.New("fasthttp: the connection was closed by the peer, or it said something unasked")

// roundTrip sends the request, all of which is in out, and waits for the answer.
func (x *clientExchange) roundTrip(out *bufpool.Buffer) error {
	cc := x.cc
	if canceled := x.hc.limitResponse(&cc.line.Guard, x.call.deadline); canceled != nil {
		bufpool.Put(out)
		return canceled
	}
	asked := cc.line.RoundTrip(out)
	if asked.State != clientconn.Quiet && x.probe == probePending && (asked.State != clientconn.Unknown || x.isStale()) {
		x.probe = probeStale
		bufpool.Put(out)
		return errStale
	}
	cc.phases.Advance(http1.SendsRequest)
	err := asked.SendErr
	all := asked.Sent == len(out.B)
	if !all && err == nil {
		_, err = cc.line.Write(out.B[asked.Sent:])
	}
	if asked.Got > 0 {
		x.call.outcome = attemptResponded
		cc.line.Recv.Hold(out, asked.Got)
	} else {
		cc.line.Recv.Adopt(out)
	}
	switch {
	case err != nil:
		x.stopSending()
		return err
	case all:
		cc.phases.Advance(http1.SendEnds)
		return nil
	}
	return x.endSending()
}

// endSending records that the request was written to its end; the deadlines of the
// response are counted from then.
func (x *clientExchange) endSending() error {
	x.cc.phases.Advance(http1.SendEnds)
	return x.hc.limitResponse(&x.cc.line.Guard, x.call.deadline)
}

// stopSending records that the request could not be written to its end.
func (x *clientExchange) stopSending() {
	event := http1.SendFails
	switch err := x.cc.line.WriteErr; {
	case err == nil:
		// the content has failed, not the connection
		event = http1.SendStops
	case isTimeout(err):
		event = http1.SendTimesOut
	}
	x.cc.phases.Advance(event)
}

// sendContent writes out, and then the content of the request: content, unless it is
// a stream.
func (x *clientExchange) sendContent(out *bufpool.Buffer, content []byte) error {
	x.cc.phases.Advance(http1.SendsRequest)
	if x.blocks(len(content)) {
		x.startSender(out, content)
		return nil
	}
	err := x.write(out, content)
	x.cc.line.Recv.Adopt(out)
	x.traceWrote(wroteRequest, err)
	if err != nil {
		x.stopSending()
		return err
	}
	return x.endSending()
}

// blocks reports whether sending the content may have to wait, for the peer or for a
// stream of the application. size is how long the content is, if it is not a stream.
func (x *clientExchange) blocks(size int) bool {
	if stream := x.req.body.Stream; stream != nil {
		size = -1
		switch s := stream.(type) {
		case *bytes.Reader:
			size = s.Len()
		case *bytes.Buffer:
			size = s.Len()
		case *strings.Reader:
			size = s.Len()
		}
	}
	return size < 0 || size > copyLimit && size > x.oneWrite()
}

// oneWrite is how much goes out at once. Connections other than sockets have less
// room.
func (x *clientExchange) oneWrite() int {
	if !x.cc.line.Probe.CanCheck() {
		return copyLimit
	}
	return sender.OneWrite
}

// write is sendContent for content that fits one write.
func (x *clientExchange) write(out *bufpool.Buffer, content []byte) error {
	req, cc := x.req, x.cc
	var err error
	switch {
	case req.body.Stream != nil || x.encoding.Kind == http1.Chunks:
		x.call.bodyConsumed = req.body.Stream != nil
		w := &bodyio.Collector{W: &cc.line, Out: out}
		if err = req.writeContent(w, x.encoding); err == nil {
			err = w.Flush()
		}
	case len(content) <= copyLimit:
		out.Grow(len(content))
		out.B = append(out.B, content...)
		_, err = cc.line.Write(out.B)
	case len(out.B) == 0:
		_, err = cc.line.Write(content)
	default:
		err = cc.line.WriteBoth(out.B, content)
	}
	return err
}

// defaultExpectTimeout is how long the client waits for a server to ask for the
// content of a request: a server that ignores expectations does not answer before it
// has all of it.
const defaultExpectTimeout = time.Second

func (c *HostClient) expectTimeout() time.Duration {
	if c.ExpectContinueTimeout <= 0 {
		return defaultExpectTimeout
	}
	return c.ExpectContinueTimeout
}

// awaitContinue waits until the server asks for the content, responds without it, or
// has sent nothing for too long.
func (x *clientExchange) awaitContinue() error {
	if trace := x.call.trace; trace != nil && trace.Wait100Continue != nil {
		trace.Wait100Continue()
	}
	cc, call := x.cc, x.call
	until := time.Now().Add(x.hc.expectTimeout())
	for x.awaitsHead() {
		if len(cc.line.Recv.Peek()) == 0 {
			if err := cc.line.Guard.LimitRead(clock.Earliest(call.deadline, until)); err != nil {
				return err
			}
			err := x.receive()
			if isTimeout(err) && !call.expired() && cc.line.Guard.Err() == nil {
				return x.sendExpected()
			}
			if err != nil {
				return err
			}
		}
		// a response that has begun to arrive has the usual time
		err := cc.line.Guard.LimitRead(call.deadline)
		if err == nil {
			err = x.hc.limitResponse(&cc.line.Guard, call.deadline)
		}
		if err != nil {
			return err
		}
		if err := x.nextHead(); err != nil {
			return err
		}
		if x.resp.Header.head.Status == StatusContinue {
			return x.sendExpected()
		}
	}
	cc.phases.Advance(http1.SendStops)
	x.traceWrote(wroteRequest, nil)
	return x.hc.limitResponse(&x.cc.line.Guard, x.call.deadline)
}

// sendExpected writes the content of a request whose head was written before.
func (x *clientExchange) sendExpected() error {
	if err := x.limitWrite(); err != nil {
		return err
	}
	return x.sendContent(bufpool.Get(x.hc.writeSize()), x.req.content())
}

// readHead reads the head of the final response, and decides how its body is read.
// Informational responses are passed to the trace.
func (x *clientExchange) readHead() error {
	for x.awaitsHead() {
		if err := x.nextHead(); err != nil {
			return err
		}
	}
	cc, h := x.cc, &x.resp.Header
	x.frame = cc.head.FrameResponse(http1.Exchange{Head: x.isHead, Connect: x.isConnect})
	if x.isHead {
		x.resp.skipHead()
		h.head.SetState(header.Closing, !cc.head.KeepsAlive())
	}
	if h.head.Status == StatusSwitchingProtocols || x.isConnect && h.head.Status/100 == 2 {
		cc.phases.Advance(http1.ProtocolSwitches)
	}
	return nil
}

// awaitsHead reports whether the head of the final response is still expected.
func (x *clientExchange) awaitsHead() bool { return x.cc.phases.Receiving() < http1.ReceivingBody }

// switched reports whether the connection speaks another protocol from now on.
func (x *clientExchange) switched() bool { return x.cc.phases.Receiving() == http1.Switched }

// nextHead reads one head. If there is none, the response gets no fields.
func (x *clientExchange) nextHead() error {
	cc, h := x.cc, &x.resp.Header
	if cc.phases.Receiving() == http1.NotReceiving {
		cc.phases.Advance(http1.AwaitsResponse)
		x.resp.reuse()
		h.head.SetState(header.NamesKept, h.head.Is(header.NamesKept) || x.hc.DisableHeaderNamesNormalizing)
	}
	for {
		if b := cc.line.Recv.Peek(); len(b) > 0 {
			n, final, err := x.heads.feed(h, &cc.head, x.hc.ReadBufferSize, b)
			if err != nil {
				h.head.Reset(header.Configured)
				return err
			}
			if n > 0 {
				cc.line.Recv.Discard(n)
				if final {
					cc.phases.Advance(http1.HeadEnds)
					return nil
				}
				return x.call.informed(x.req, h)
			}
		}
		if err := x.receive(); err != nil {
			h.head.Reset(header.Configured)
			return err
		}
	}
}

// receive reads some bytes of a head.
func (x *clientExchange) receive() error {
	err := x.cc.line.Fill()
	x.traceSent()
	switch {
	case err == nil && x.call.outcome != attemptResponded:
		x.call.outcome = attemptResponded
		if trace := x.call.trace; trace != nil && trace.GotFirstResponseByte != nil {
			trace.GotFirstResponseByte()
		}
	case err == io.EOF && x.call.outcome == attemptResponded:
		err = headerError("response", io.ErrUnexpectedEOF)
	}
	return err
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
	resp.body.Limit = limit
	if x.frame.Kind == http1.Length && (limit <= 0 || x.frame.Length <= int64(limit)) {
		return x.readLength()
	}
	if err := content.Read(&x.cc.line, x.frame, limit, &resp.body, &resp.Header.head); err != nil {
		return err
	}
	if x.frame.Kind == http1.UntilClose {
		resp.Header.SetContentLength(len(resp.body.Bytes()))
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
	b := cc.line.Recv.Peek()
	n := int(min(int64(len(b)), left))
	if left -= int64(n); n > 0 {
		body.Write(b[:n])
		cc.line.Recv.Discard(n)
	}
	for left > 0 {
		step := int(min(left, readStep))
		if body.Buf == nil {
			body.Buf = bufpool.Get(step)
		}
		buf := body.Buf
		buf.Grow(step)
		room := buf.B[len(buf.B):cap(buf.B)]
		n, err := cc.line.Read(room[:min(int64(len(room)), left)])
		buf.B = buf.B[:len(buf.B)+n]
		left -= int64(n)
		if n == 0 {
			return content.AtEnd(err)
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
		r.h = h
		h.head.Begin(head)
		h.head.Status = 0
		head.Limits = http1.Limits{}
		if bufferSize > 0 {
			// it alone is the limit: there may be as many fields as it has room for
			head.Limits = header.HeadLimits(bufferSize)
		}
	}
	n, err = h.head.Feed(http1.Response, head, b)
	if err != nil {
		return n, false, headerError("response", err)
	}
	if n == 0 {
		return 0, false, nil
	}
	r.h = nil
	h.head.Status = int32(head.Status)
	switch {
	case h.head.Status < http1.FirstStatus:
		// no class of responses begins with 0
		return n, false, headerError("response", http1.ErrStatusLine)
	case h.head.Status/100 != 1 || h.head.Status == StatusSwitchingProtocols:
		return n, true, nil
	case r.hints == maxInformational:
		return n, false, errTooManyInformational
	}
	r.hints++
	return n, false, nil
}

// mayStream reports whether the body may be left on the connection, as far as is known
// before the response arrives.
func (x *clientExchange) mayStream() bool {
	if x.call.content == contentBuffered {
		return false
	}
	// a discarded body needs no check of its size
	discards := x.call.content == contentDiscarded && x.hc.MaxResponseBodySize <= 0
	return x.resp.StreamBody || x.hc.StreamResponseBody || discards
}

// streams reports whether the body is left on the connection.
func (x *clientExchange) streams() bool {
	if x.resp.SkipBody || !x.mayStream() {
		return false
	}
	if x.switched() {
		return x.resp.StreamBody || x.hc.StreamResponseBody
	}
	return x.frame.Kind != http1.NoBody && !x.buffersReceived()
}

// buffersReceived reports whether the body is read into memory although it could be a stream: see
// bridge.BufferReceived.
func (x *clientExchange) buffersReceived() bool {
	length, limit := x.frame.Length, x.hc.MaxResponseBodySize
	return x.resp.buffersReceived && x.frame.Kind == http1.Length && length <= int64(len(x.cc.line.Recv.Peek())) &&
		(limit <= 0 || length <= int64(limit)) && x.sender == nil
}
