package fasthttp

import (
	"errors"
	"io"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/http1"
)

// RoundTripper does one attempt at a request: it sends it to the host of hc,
// and reads the response. Client.Transport and HostClient.Transport put one
// around, or in the place of, DefaultTransport.
//
// retry says whether another attempt makes sense after err; whether there will
// be one is up to RetryIfErr and its like. What is left of the time that the
// call was given is found with req.GetTimeOut; DefaultTransport heeds it by
// itself. After RoundTrip has returned it must not use req and resp any more.
type RoundTripper interface {
	RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error)
}

// DefaultTransport speaks HTTP/1.1 over the connections of the HostClient. It is
// what clients without a Transport use, so another one in its place is used by all
// of them; it has to be put there before the first call.
var DefaultTransport RoundTripper = defaultTransport

var defaultTransport = &transport{}

type transport struct{}

// RoundTrip implements RoundTripper.
//
// A connection may turn out to have been closed by the peer only when a request
// was sent on it. Where it is certain that the peer did not take in any of it,
// the request goes out again on another connection: it was never sent, as far
// as anybody can tell.
func (t *transport) RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	if !req.call.active {
		return t.alone(hc, req, resp)
	}
	call := &req.call
	call.unreached, call.reply, call.upstream = false, false, ""
	if err := hc.prepare(req); err != nil {
		return false, err
	}
	if call.usedUp {
		return false, errStreamUsedUp
	}
	for {
		cc, err := hc.acquire(call, careFor(req))
		if err != nil {
			call.unreached = true
			return true, err
		}
		call.upstream = cc.upstream
		cc.began = cc.sent
		x := clientExchange{hc: hc, cc: cc, call: call, req: req, resp: resp}
		err = x.run()
		if err == nil {
			return false, nil
		}
		if cc.answered && !call.reply && !call.usedUp && isBroken(err) && cc.tookNothing() {
			hc.distrust.Store(true)
			cc.abort()
			hc.pool.Drop()
			continue
		}
		hc.CloseConn(cc)
		return !call.usedUp && !errors.Is(err, ErrBodyTooLarge) && call.canceled() == nil, err
	}
}

// alone is RoundTrip for a caller that is no HostClient.
func (t *transport) alone(hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	if err := hc.ready(); err != nil {
		return false, err
	}
	req.call = callState{active: true}
	defer func() { req.call = callState{} }()
	if req.timeout > 0 {
		req.call.deadline = time.Now().Add(req.timeout)
	}
	return t.RoundTrip(hc, req, resp)
}

// errStreamUsedUp says that a request cannot be sent again.
var errStreamUsedUp = errors.New("fasthttp: the body stream of the request was already read")

// isIdempotent tells whether a request may be sent twice without doing more than
// one would (RFC 9110 section 9.2.2), of the methods for which clients commonly
// assume it.
func isIdempotent(req *Request) bool {
	h := &req.Header
	return h.IsGet() || h.IsHead() || h.IsPut() || h.IsOptions() || h.IsTrace() || h.IsQuery()
}

// isBroken tells whether err is that of a connection rather than of what came
// through it, or of the time.
func isBroken(err error) bool {
	if err == io.EOF {
		return true
	}
	return err != error(ErrTimeout) && !isTimeout(err) && !errors.Is(err, io.ErrUnexpectedEOF)
}

// clientExchange is one request with its response on one connection.
type clientExchange struct {
	hc   *HostClient
	cc   *clientConn
	call *callState
	req  *Request
	resp *Response

	frame http1.Framing
	// whole says that the request was written to its end
	whole bool
	// asking says that the head of the request asks whether its content is
	// wanted
	asking bool
	// begun says that resp was made ready for the response, heads counts those
	// that came, and answered says that the final one is among them
	begun, answered bool
	heads           int
	// switched says that the connection speaks something else from now on
	switched bool
	// until is the deadline of the response behind its head, where that has one of
	// its own
	until time.Time
	// watching says that stop has to be called
	watching bool
	stop     func() bool
}

// run sends the request and reads the response. After an error the connection
// is the caller's, who must close it; otherwise it has gone its way.
func (x *clientExchange) run() error {
	cc, call := x.cc, x.call
	if call.ctx != nil {
		x.watch()
	}
	err := x.send()
	if err == nil && x.asking {
		if err := x.awaitContinue(); err != nil {
			return x.failed(err)
		}
		err = x.sendContent()
	}
	if err == nil {
		x.whole = !x.answered
		err = x.limitRead()
	} else if !x.mayBeAnswered(err) {
		return x.failed(err)
	}
	sendErr := err
	if err = x.readHead(); err != nil {
		if sendErr != nil {
			err = sendErr
		}
		return x.failed(err)
	}
	if x.hc.ResponseHeaderTimeout > 0 {
		if err = x.limitBody(); err != nil {
			return x.failed(err)
		}
	}
	resp := x.resp
	resp.ParseNetConn(cc.conn)
	if x.streams() {
		x.startStream()
		return nil
	}
	if err := x.readBody(); err != nil {
		return x.failed(err)
	}
	x.finish(x.keepable())
	return nil
}

// watch makes the end of the context end what the connection is doing.
func (x *clientExchange) watch() {
	if x.call.done() == nil {
		return
	}
	conn := x.cc.conn
	x.watching = true
	x.stop = afterContext(x.call.ctx, conn)
}

// unwatch undoes watch, and tells whether the connection was left alone.
func (x *clientExchange) unwatch() bool {
	if !x.watching {
		return true
	}
	x.watching = false
	return x.stop()
}

// finish gives the connection back, to be used again or to be closed.
func (x *clientExchange) finish(keep bool) {
	if !x.unwatch() || !keep {
		x.hc.CloseConn(x.cc)
		return
	}
	if x.call.trace != nil && x.call.trace.PutIdleConn != nil {
		x.call.trace.PutIdleConn(nil)
	}
	x.hc.ReleaseConn(x.cc)
}

// failed returns the error that the call gets for err.
func (x *clientExchange) failed(err error) error {
	x.unwatch()
	if canceled := x.call.canceled(); canceled != nil {
		return canceled
	}
	if isTimeout(err) {
		return ErrTimeout
	}
	return err
}

// mayBeAnswered tells whether a response may have come although the request could
// not be written to its end: a server that refuses a large body closes the
// connection in the middle of it.
func (x *clientExchange) mayBeAnswered(err error) bool {
	return !isTimeout(err) && x.cc.sent > x.cc.began && x.limitRead() == nil
}

// limitRead gives the response its deadline.
func (x *clientExchange) limitRead() error {
	hc := x.hc
	switch {
	case hc.ResponseHeaderTimeout > 0:
		return x.limitHead()
	case hc.ReadTimeout > 0:
		x.cc.limitRead(earliest(x.call.deadline, time.Now().Add(hc.ReadTimeout)))
	case hc.WriteTimeout > 0:
		x.cc.limitRead(x.call.deadline)
	default:
		return nil
	}
	return x.call.canceled()
}

// limitWrite gives the request its deadline, and the response the same where it
// has no other.
func (x *clientExchange) limitWrite() error {
	deadline := x.call.deadline
	if timeout := x.hc.WriteTimeout; timeout > 0 {
		deadline = earliest(deadline, time.Now().Add(timeout))
	}
	x.cc.limit(deadline)
	return x.call.canceled()
}

// send writes the request, in one piece where it is small; or its head alone,
// where that asks for more.
func (x *clientExchange) send() error {
	if err := x.limitWrite(); err != nil {
		return err
	}
	cc := x.cc
	out := bufpool.Get(x.hc.writeSize())
	out.B = x.req.appendHead(out.B)
	var err error
	if x.asking = x.expectsContinue(); x.asking {
		_, err = cc.Write(out.B)
	} else {
		err = x.write(out)
	}
	cc.receiveInto(out)
	if x.call.trace != nil {
		traceWroteHeaders(x.call.trace, err)
		if err != nil || !x.asking {
			traceWroteRequest(x.call.trace, err)
		}
	}
	return err
}

// write writes what is in out, and the content of the request.
func (x *clientExchange) write(out *bufpool.Buffer) error {
	req, cc := x.req, x.cc
	var err error
	switch content := req.content(); {
	case req.body.stream != nil || req.Header.contentLength < 0:
		x.call.usedUp = req.body.stream != nil
		w := &clientWriter{cc: cc, out: out}
		if err = writeRequestBody(w, req); err == nil {
			err = w.Flush()
		}
	case len(content) <= copyLimit:
		out.B = append(out.B, content...)
		_, err = cc.Write(out.B)
	case len(out.B) == 0:
		_, err = cc.Write(content)
	default:
		err = cc.writeBoth(out.B, content)
	}
	return err
}

// writeRequestBody writes the content of req as its header, which was written
// before, says.
func writeRequestBody(w flushWriter, req *Request) error {
	if req.body.stream != nil {
		return writeStream(w, &req.body, &req.Header.header)
	}
	return writeContent(w, req.content(), &req.Header.header)
}

// clientWriter collects what is written to a connection until it is enough.
type clientWriter struct {
	cc  *clientConn
	out *bufpool.Buffer
}

// Write implements io.Writer.
func (w *clientWriter) Write(p []byte) (int, error) {
	if len(w.out.B)+len(p) > cap(w.out.B) {
		if err := w.Flush(); err != nil {
			return 0, err
		}
		if len(p) >= cap(w.out.B) {
			return w.cc.Write(p)
		}
	}
	w.out.B = append(w.out.B, p...)
	return len(p), nil
}

// Flush writes what was collected.
func (w *clientWriter) Flush() error {
	if len(w.out.B) == 0 {
		return nil
	}
	_, err := w.cc.Write(w.out.B)
	w.out.B = w.out.B[:0]
	return err
}

// maxInformational is how many 1xx responses may come before the final one.
const maxInformational = 32

// readHead reads the head of the final response. Informational ones are passed to
// the trace.
func (x *clientExchange) readHead() error {
	for !x.answered {
		if err := x.nextHead(); err != nil {
			return err
		}
	}
	return x.frameResponse()
}

// begin makes the response ready to be read.
func (x *clientExchange) begin() {
	x.begun = true
	x.resp.reuse()
	h := &x.resp.Header
	h.setState(namesKept, h.is(namesKept) || x.hc.DisableHeaderNamesNormalizing)
}

// nextHead reads one head.
func (x *clientExchange) nextHead() error {
	if !x.begun {
		x.begin()
	}
	h := &x.resp.Header
	h.begin()
	h.status = 0
	h.head.Limits = responseLimits(x.hc.ReadBufferSize)
	if err := x.feedHead(); err != nil {
		h.reset(configured)
		return err
	}
	h.status = h.head.Status
	if h.status < firstStatus {
		// there is no class of responses that begins with 0
		h.reset(configured)
		return headerError("response", http1.ErrStatusLine)
	}
	if h.status/100 != 1 || h.status == StatusSwitchingProtocols {
		x.answered = true
		return nil
	}
	if trace := x.call.trace; trace != nil {
		if err := traceInformational(trace, h); err != nil {
			return err
		}
	}
	if x.heads++; x.heads >= maxInformational {
		return errTooManyInformational
	}
	return nil
}

var errTooManyInformational = errors.New("fasthttp: too many informational responses")

// feedHead reads one head.
func (x *clientExchange) feedHead() error {
	cc, h := x.cc, &x.resp.Header
	// the memo stays with the connection
	h.memo = cc.memo
	defer func() { h.memo = nil }()
	for {
		if b := cc.peek(); len(b) > 0 {
			n, err := h.feed(http1.Response, b)
			if err != nil {
				return headerError("response", err)
			}
			if n > 0 {
				cc.discard(n)
				h.learn()
				return nil
			}
		}
		if err := x.receive(); err != nil {
			return err
		}
	}
}

// receive reads some bytes of a head.
func (x *clientExchange) receive() error {
	err := x.cc.fill()
	switch {
	case err == nil && !x.call.reply:
		x.call.reply = true
		if trace := x.call.trace; trace != nil && trace.GotFirstResponseByte != nil {
			trace.GotFirstResponseByte()
		}
	case err == io.EOF && x.call.reply:
		err = headerError("response", io.ErrUnexpectedEOF)
	}
	return err
}

// frameResponse decides how the body of the response is read.
func (x *clientExchange) frameResponse() error {
	h := &x.resp.Header
	isHead := x.req.Header.IsHead()
	var err error
	x.frame, err = h.head.Frame(http1.Response, http1.Exchange{Head: isHead, Connect: x.req.Header.IsConnect()})
	if err != nil {
		return headerError("response", err)
	}
	if isHead {
		x.resp.skipHead()
		h.setState(closing, !h.head.KeepsAlive())
	}
	status := h.StatusCode()
	x.switched = status == StatusSwitchingProtocols || x.req.Header.IsConnect() && status/100 == 2
	return nil
}

// keepable tells whether the connection, on which the body of the response was
// read, may be used for another request. Bytes that nobody asked for are no
// response to the next one.
func (x *clientExchange) keepable() bool {
	h := &x.resp.Header
	return x.whole && h.head.KeepsAlive() && !x.frame.MustClose && !x.req.Header.ConnectionClose() &&
		len(x.cc.peek()) == 0 && !x.switched
}

// readBody reads the body into the response.
func (x *clientExchange) readBody() error {
	resp := x.resp
	if x.frame.Kind == http1.NoBody {
		return nil
	}
	if resp.SkipBody {
		// what the caller does not want stays where it is
		x.frame.MustClose = x.frame.MustClose || x.frame.Kind != http1.Length || x.frame.Length > 0
		return nil
	}
	limit := x.hc.MaxResponseBodySize
	resp.body.limit = limit
	if x.frame.Kind == http1.Length && (limit <= 0 || x.frame.Length <= int64(limit)) {
		return x.readLength()
	}
	if err := readBody(x.cc, x.frame, limit, &resp.body, &resp.Header.header); err != nil {
		return err
	}
	if x.frame.Kind == http1.UntilClose {
		resp.Header.SetContentLength(len(resp.body.bytes()))
	}
	return nil
}

// readStep is how much room the body gets at least for each read of a long one.
// The length that the server has announced is no reason to give it all at once.
const readStep = 32 << 10

// readLength reads a body of a known length into the response, without a stop in
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
		n, err := readSome(cc.conn, room[:min(int64(len(room)), left)])
		buf.B = buf.B[:len(buf.B)+n]
		left -= int64(n)
		if n == 0 {
			return atEnd(err)
		}
	}
	return nil
}
