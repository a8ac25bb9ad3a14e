package fasthttp

import (
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/sender"
)

// streamCall is one request with its response, on one of the streams of a connection: of HTTP/2 or of
// HTTP/3. Its callStream, an h2Call or an h3Call, sends the request and receives the response.
//
//	run             makes the call
//	begin           decides the framing of the request, and the use of the response
//	awaitContinue   waits for 100 (Continue) before the content is sent
//	receiveInterim  takes an informational response, receiveHead the head of the final one
//	collect         takes content of the response; complete follows its end
//
// With HTTP/2, whose responses another goroutine receives, the lock of the connection guards resp and
// the fields after it.
type streamCall struct {
	t      callStream
	hc     *HostClient
	req    *Request
	call   *callState
	trace  tracedWrite
	closes bool   // no other call may use the connection
	tells  bool   // a trace, or a hook of the request, follows what arrives
	pathed []byte // memory for the path

	resp    *Response // nil once the call has left it
	send    sendPhase
	recv    receivePhase
	use     bodyUse
	isHead  bool
	tunnel  bool // the request is CONNECT
	framing http1.Framing
	got     int64 // bytes of the content
	hints   int   // informational responses received
}

// callStream is the stream of a streamCall.
type callStream interface {
	// exchange sends the request and receives the response, as far as the caller waits for it.
	exchange() error
	// awaitVerdict waits for the next step of the server, at most until the given time: ErrTimeout
	// then. over reports that the server has decided about the content.
	awaitVerdict(until time.Time) (over bool, err error)
	// startStream leaves the body to the caller, and reports whether that reads it while it arrives:
	// then the stream belongs to the body.
	startStream() bool
	// failure returns the error of the call for err.
	failure(err error) error
	// isUntouched reports whether a request that failed with err may be sent again whatever its
	// method, since the server has not processed it; otherwise it sets the outcome of the call.
	isUntouched(err error) bool
	// leave ends the exchange, with the error of the call. It no longer uses request and response
	// then, and another call may use its memory.
	leave(err error)
}

// sendPhase is the progress of sending a request.
type sendPhase uint8

const (
	sendOpens    sendPhase = iota // the head was not sent yet
	sendAsks                      // the head was sent, and the server is asked for the content
	sendGranted                   // the server wants the content
	sendsContent                  // the content is being sent
	sendAll                       // all was taken
	sendStopped                   // the rest is not sent
)

// receivePhase is the progress of receiving a response.
type receivePhase uint8

const (
	awaitsHead receivePhase = iota
	awaitsBody
	receivedAll
)

// bodyUse is the use of the content of a response.
type bodyUse uint8

const (
	bodyBuffered  bodyUse = iota
	bodyStreamed          // the caller reads it while it arrives
	bodyDiscarded         // it is not read
	bodySkipped           // it is not waited for
)

// keptPath is the largest path whose memory is kept for another call.
const keptPath = 4 << 10

// errMisdirected reports that a response is 421. Callers never see it.
var errMisdirected = errors.New("fasthttp: the server is not the right one for the request")

// run is roundTrip of attempter, on t. nc is the connection, for its addresses.
func (x *streamCall) run(t callStream, nc net.Conn, hc *HostClient, req *Request, resp *Response, since time.Duration) (untouched bool, err error) {
	x.t, x.hc, x.req, x.resp, x.call = t, hc, req, resp, &req.call
	h := &req.Header.head
	method := h.Method()
	x.isHead, x.tunnel, x.closes = string(method) == MethodHead, string(method) == MethodConnect, h.Is(header.Closing)
	x.tells = x.call.trace != nil || req.OnInform != nil
	over := false
	defer func() {
		if !over {
			// a hook of the application has panicked, so no other is called
			x.trace = wroteRequest
			t.leave(sender.ErrAbandoned)
		}
	}()
	if x.call.trace != nil {
		traceGotConn(x.call, nc, since)
	}
	err = t.exchange()
	switch {
	case err != nil:
	case x.resp.Header.head.Status == StatusMisdirectedRequest && since != 0 && !x.call.bodyConsumed && !x.call.misdirected:
		// RFC 9110 section 15.5.20: another connection may reach another server
		x.closes, x.call.misdirected = true, true
		err = errMisdirected
	default:
		x.resp.ParseNetConn(nc)
	}
	over = true
	switch {
	case err != nil:
		err = t.failure(err)
		untouched = t.isUntouched(err)
		t.leave(err)
	case !t.startStream():
		// a stream leaves at its end, which may have been at once, and then calls a hook
		t.leave(nil)
	}
	return untouched, err
}

// begin decides how the content of the response is used and how the request is framed, and returns
// until when it must be sent, or zero.
func (x *streamCall) begin() (e http1.Encoding, writeBy time.Time) {
	resp := x.resp
	switch {
	case resp.SkipBody && !resp.skipsHead:
		x.use = bodySkipped
	case x.call.content == contentBuffered:
	case x.call.content == contentDiscarded:
		x.use = bodyDiscarded
	case resp.StreamBody, x.hc.StreamResponseBody:
		x.use = bodyStreamed
	}
	if !x.tunnel {
		// CONNECT has no content: the bytes after it are a tunnel's
		e = x.req.encode(http1.LineIsOld | http1.LineIsReceived | http1.AsksClose)
	}
	writeBy = x.call.deadline
	if timeout := x.hc.WriteTimeout; timeout > 0 {
		writeBy = clock.Earliest(writeBy, time.Now().Add(timeout))
	}
	return e, writeBy
}

// appendHead appends the header section of the request.
func (x *streamCall) appendHead(dst []byte, enc *hpack.Encoder, e http1.Encoding) []byte {
	req, scheme := x.req, "http"
	if x.hc.IsTLS {
		scheme = "https"
	}
	target := req.Header.head.Target()
	if req.uriParsed {
		switch {
		case req.sendsAuthority() || req.keepsTarget():
			req.prepareTarget()
			target = req.Header.head.Target()
		default:
			x.pathed = req.appendPath(x.pathed[:0])
			target = x.pathed
		}
	}
	h := req.sentHeader()
	dst = h.head.AppendRequestBlock(dst, enc, scheme, target, e)
	req.sent(h)
	return dst
}

// content returns content in memory. pieces reports whether a stream, or a trailer section, is to be
// sent: by a goroutine of its own.
func (x *streamCall) content(e http1.Encoding) (content []byte, pieces bool) {
	switch {
	case x.tunnel:
		return nil, false
	case x.req.body.Stream != nil:
		return nil, true
	case e.Kind != http1.NoBody:
		return x.req.content(), e.Kind == http1.Chunks && x.req.Header.head.HasSection()
	}
	return nil, false
}

// awaitContinue waits until the server asks for the content, responds without it, or has
// sent nothing for too long.
func (x *streamCall) awaitContinue() error {
	if trace := x.call.trace; trace != nil && trace.Wait100Continue != nil {
		trace.Wait100Continue()
	}
	until := clock.Earliest(x.call.deadline, time.Now().Add(x.hc.expectTimeout()))
	for {
		over, err := x.t.awaitVerdict(until)
		if over && err == nil || err == ErrTimeout && !x.call.expired() {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// wantsContent reports whether content is sent for which the server was asked. A server that wants it
// may begin its response before the content arrives.
func (x *streamCall) wantsContent() bool {
	return (x.send == sendGranted || x.recv == awaitsHead) && x.recv < receivedAll
}

// responded records that a response has begun.
func (x *streamCall) responded() {
	x.call.outcome = attemptResponded
	if t := x.call.trace; t != nil && t.GotFirstResponseByte != nil {
		t.GotFirstResponseByte()
	}
}

// receiveInterim receives an informational response. It returns the head if something reports it.
func (x *streamCall) receiveInterim(m *http2.Message) (*ResponseHeader, error) {
	if x.hints++; x.hints > maxInformational {
		return nil, errTooManyInformational
	}
	if m.Head.Status == StatusContinue && x.send == sendAsks {
		x.send = sendGranted
	}
	if x.resp == nil || !x.tells {
		return nil, nil
	}
	h := new(ResponseHeader)
	h.head.FillResponseBlock(m)
	return h, nil
}

// receiveHead fills the response with its head. follows reports whether content may follow.
func (x *streamCall) receiveHead(m *http2.Message, follows bool) {
	resp := x.resp
	resp.reuse()
	x.framing = m.Head.Framing
	h := &resp.Header
	h.head.SetState(header.NamesKept, h.head.Is(header.NamesKept) || x.hc.DisableHeaderNamesNormalizing)
	h.head.FillResponseBlock(m)
	if x.isHead {
		resp.skipHead()
	}
	x.recv = awaitsBody
	if x.send == sendAsks && h.head.Status/100 == 2 && follows {
		// the rest of the response may depend on the content
		x.send = sendGranted
	}
}

// isTooLong reports whether the head announces more content than the response may have.
func (x *streamCall) isTooLong() bool {
	limit := x.hc.MaxResponseBodySize
	return x.framing.Kind == http1.Length && limit > 0 && x.framing.Length > int64(limit)
}

// collect takes content of the response. over reports that more is not needed.
func (x *streamCall) collect(p []byte) (over bool, err error) {
	x.got += int64(len(p))
	switch limit := x.hc.MaxResponseBodySize; {
	case limit > 0 && x.got > int64(limit):
		return true, ErrBodyTooLarge
	case x.use == bodyDiscarded:
		return x.got > maxDrained, nil
	case len(p) > 0:
		body := &x.resp.body
		if x.framing.Kind == http1.Length {
			if body.Buf == nil {
				body.Buf = bufpool.Get(int(min(x.framing.Length, readStep)))
			}
			body.MakeRoom(len(p), int64(len(p))+x.framing.Length-x.got)
		}
		body.Write(p)
	}
	return false, nil
}

// complete records that the response was received.
func (x *streamCall) complete() {
	if x.framing.Kind == http1.UntilClose && x.use == bodyBuffered {
		x.resp.Header.SetContentLength(len(x.resp.body.Bytes()))
	}
	x.recv = receivedAll
}

// isRefused is isUntouched as far as the protocols agree. If known is not set, the protocol decides.
func (x *streamCall) isRefused(err error) (untouched, known bool) {
	if x.recv > awaitsHead || x.hints > 0 {
		x.call.outcome = attemptResponded
	}
	switch {
	case err == errH2NoStream:
		return true, true
	case x.call.bodyConsumed:
		return false, true
	case err == errMisdirected, isRefusal(err) && x.call.outcome != attemptResponded:
		return true, true
	}
	return false, false
}

// traceWrote is clientExchange.traceWrote.
func (x *streamCall) traceWrote(upTo tracedWrite, err error) {
	if t := x.call.trace; t != nil && x.trace < upTo {
		x.trace.report(t, upTo, err)
	}
}

// outlive makes x a call that a body of the response continues: request, response and call belong to
// the caller again.
func (x *streamCall) outlive(deadline time.Time) {
	call := x.call
	x.call = &callState{ctx: call.ctx, deadline: deadline, trace: call.trace, outcome: call.outcome}
	x.req, x.resp = nil, nil
}

// callBody is the body of a response that the caller reads while it arrives. An h2Stream or an h3Body
// holds the stream of the connection until its end, or until it is closed.
//
// It may be closed while another goroutine reads from it: that read fails then.
type callBody struct {
	guarded       bodyio.GuardedStream
	guard         bodyio.ReadGuard
	trailerTarget *header.Header // gets the trailer section
}

var _ ReadCloserWithError = (*callBody)(nil)

// TrailersTo makes h the header that gets the trailer section. No goroutine reads
// meanwhile.
func (s *callBody) TrailersTo(h *header.Header) { s.trailerTarget = h }

// Read implements io.Reader. It returns io.ErrUnexpectedEOF if the connection ends before the
// body does, and ErrTimeout when the time of the call is up.
func (s *callBody) Read(p []byte) (int, error) { return s.guard.Read(s.guarded, p) }

// Close ends the stream, and has the server end it if it has not.
func (s *callBody) Close() error { return s.guard.Close(s.guarded, 0) }

// CloseWithError is Close.
func (s *callBody) CloseWithError(error) error { return s.Close() }
