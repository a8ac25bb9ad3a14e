package fasthttp

import (
	"bytes"
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/forms"
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

// outgoingContent is the content of a request, and its trailer section, which a goroutine of its own
// sends on a stream of HTTP/2 or HTTP/3 while the call waits for the response. Once the call has
// left it (detach), it uses no memory of the caller except for a body stream.
type outgoingContent struct {
	content  []byte
	body     content.Body // a stream, with its size; or nothing
	source   *sender.Stream
	borrowed bool          // the source reads memory that belongs to the caller
	done     chan struct{} // closed at the end

	// guarded by a lock of the sender
	trailers *header.Header // of the request or its stream, nil if there are none or the call has left it
	own      bool           // the trailers belong to the stream
	fields   field.List     // the trailer section, then
}

// take takes the content of the request of x, which is p if it is in memory.
func (c *outgoingContent) take(x *streamCall, e http1.Encoding, p []byte) {
	c.done, c.content = make(chan struct{}), p
	if x.use == bodyStreamed {
		// the call may return before all of it was sent
		c.content = bytes.Clone(p)
	}
	req := x.req
	if e.Kind == http1.Chunks {
		c.trailers = &req.Header.head
	}
	if req.body.Stream == nil {
		return
	}
	x.call.bodyConsumed = true
	if e.Kind == http1.Chunks {
		req.body.Unsize()
	}
	c.body = content.Body{Stream: req.body.Stream, Size: req.body.Size}
	if source, ok := c.body.Stream.(bridge.TrailerSource); ok {
		// in any case the stream no longer adds to the header of the request, which the caller may use
		own := source.Trailers().(*RequestHeader)
		if e.Kind == http1.Chunks {
			c.trailers, c.own = &own.head, true
		}
	}
	req.body.Stream = nil
	c.source = sender.WrapStream(&c.body.Stream)
	_, c.borrowed = c.source.Reader.(*forms.Stream)
}

// sendSafely writes the content to w, and then calls finish. A panic becomes an error.
func (c *outgoingContent) sendSafely(w flushWriter, finish func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = streamPanic("panic while sending a request", p)
		}
	}()
	if err := c.send(w); err != nil {
		return err
	}
	return finish()
}

// send writes the content to w.
func (c *outgoingContent) send(w flushWriter) (err error) {
	switch {
	case c.source == nil:
		_, err = w.Write(c.content)
	case c.body.Size >= 0:
		err = c.body.WriteFixed(w)
	default:
		err = c.body.WritePlain(w)
	}
	return err
}

// hasSection reports whether a trailer section follows. A stream may have added it to the header
// at its end, as the body of a request that a proxy forwards does. The lock is held.
func (c *outgoingContent) hasSection() bool {
	return c.trailers != nil && c.trailers.HasSection() || len(c.fields.Entries) > 0
}

// appendSection appends the trailer section. The lock is held.
func (c *outgoingContent) appendSection(dst []byte, enc *hpack.Encoder) []byte {
	if c.trailers != nil {
		return c.trailers.AppendTrailerBlock(dst, enc)
	}
	for i := range c.fields.Entries {
		dst = header.AppendBlockField(dst, enc, c.fields.Entries[i].ID, c.fields.Name(i), c.fields.Value(i))
	}
	return dst
}

// detach copies the memory of the caller if it is still needed. The lock is held.
func (c *outgoingContent) detach() {
	if c.trailers != nil && !c.own {
		for name, value := range c.trailers.EachTrailer {
			c.fields.Add(bytesconv.String(name), bytesconv.String(value)).ID = field.Lookup(name)
		}
		c.trailers = nil
	}
}

// end completes the end of the sending, once nothing more can be sent. It may take as long as
// closing the stream takes.
func (c *outgoingContent) end() {
	if c.source != nil {
		c.source.CloseQuietly()
	}
	if c.borrowed || c.source == nil {
		<-c.done
	}
}

// endsSoon waits a moment for the end of the sending, and reports whether it has ended. The memory of a
// form belongs to the caller again once the call has returned.
func (c *outgoingContent) endsSoon() bool {
	timer := time.NewTimer(sender.ReuseTimeout)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}
