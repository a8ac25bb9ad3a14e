package fasthttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http3"
	"github.com/valyala/fasthttp/internal/sender"
)

// h3Call is one request with its response, on a stream of HTTP/3. The goroutine of the call sends
// the head, and little content in memory; a sender of its own sends other content. The goroutine
// of the call waits for the response.
type h3Call struct {
	hc      *HostClient
	req     *Request
	resp    *Response
	call    *callState
	stream  http3.ClientStream
	times   *h3Times
	trace   tracedWrite
	pathed  []byte // memory for the path
	sender  *h3Sender
	stop    func() bool // of watching the context, or nil
	send    h2SendPhase
	recv    h2Receiving
	bodyUse h2BodyUse
	isHead  bool
	tunnel  bool // the request is CONNECT
	closes  bool // no other call may use the connection
	hints   int  // informational responses received
	framing http1.Framing
}

var _ attempter = (*h3Call)(nil)

// h3Small is how much content the goroutine of the call sends together with the head.
const h3Small = 8 << 10

// roundTrip implements attempter. The body of the response keeps the stream until its end.
func (x *h3Call) roundTrip(hc *HostClient, req *Request, resp *Response, since time.Duration) (untouched bool, err error) {
	x.req, x.resp, x.call = req, resp, &req.call
	x.isHead, x.tunnel, x.closes = req.Header.IsHead(), req.Header.IsConnect(), req.Header.ConnectionClose()
	x.times = &h3Times{hc: hc, stream: x.stream, deadline: x.call.deadline}
	over := false
	defer func() {
		if !over {
			// a hook of the application has panicked
			x.finish(false)
		}
	}()
	if x.call.trace != nil {
		traceGotConn(x.call, x.stream.Conn(), since)
	}
	streams := false
	if err = x.exchange(); err == nil {
		streams, err = x.accept(since)
	}
	over = true
	if err == nil {
		if !streams {
			x.finish(x.recv == h2Complete)
			x.traceWrote(wroteRequest, nil)
		}
		return false, nil
	}
	err = x.failed(err)
	untouched = x.isUntouched(err)
	x.finish(false)
	x.traceWrote(wroteRequest, err)
	return untouched, err
}

// exchange runs until the response has arrived, as far as the caller waits for it.
func (x *h3Call) exchange() error {
	if x.call.done() != nil {
		x.stop = context.AfterFunc(x.call.ctx, x.stream.Cancel)
	}
	writeBy := x.call.deadline
	if timeout := x.hc.WriteTimeout; timeout > 0 {
		writeBy = clock.Earliest(writeBy, time.Now().Add(timeout))
	}
	if !writeBy.IsZero() {
		_ = x.stream.SetWriteDeadline(writeBy)
	}
	x.times.limit(x.call.deadline)
	var e http1.Encoding // of CONNECT, which has no content: the bytes after it are a tunnel's
	if !x.tunnel {
		e = x.req.encode(http1.LineIsOld | http1.LineIsReceived | http1.AsksClose)
	}
	x.bodyUse = bodyUseOf(x.hc, x.call, x.resp)
	if err := x.begin(e); err != nil && !errors.Is(err, http3.ErrStopped) {
		return err
	}
	if x.send == h2HeadSent {
		if err := x.awaitContinue(e); err != nil {
			return err
		}
	}
	for x.recv == h2AwaitsHead {
		if err := x.nextHead(); err != nil {
			return err
		}
	}
	x.times.headArrived()
	x.endConnect()
	return x.receiveBody()
}

// begin sends the head, with content if it is small and in memory, unless the server is asked
// first. It starts a sender for other content.
func (x *h3Call) begin(e http1.Encoding) error {
	req := x.req
	streams := req.body.stream != nil && !x.tunnel
	content := x.content(e)
	trailers := e.Kind == http1.Chunks && req.Header.hasSection()
	whole := !streams && len(content) == 0 && !trailers
	asks := !whole && req.MayContinue()
	b, enc := x.stream.BeginSection()
	if err := x.stream.SendSection(req.appendBlock(b, enc, "https", e, &x.pathed)); err != nil {
		x.call.outcome = attemptUnreached
		return err
	}
	if x.tunnel {
		return x.sendConnect()
	}
	if asks || streams || trailers || len(content) > h3Small {
		err := x.stream.Flush()
		x.traceWrote(wroteHeaders, err)
		if x.send = h2HeadSent; !asks && err == nil {
			x.sendContent(e)
		}
		return err
	}
	x.send = h2Sending
	_, err := x.stream.Write(content)
	if err == nil {
		err = x.stream.End()
	}
	x.stream.ReleaseSending()
	x.traceWrote(wroteRequest, err)
	if x.send = h2Stopped; err == nil {
		x.send = h2Sent
		x.times.sent()
	}
	return err
}

// content returns content in memory.
func (x *h3Call) content(e http1.Encoding) []byte {
	if x.req.body.stream != nil || e.Kind == http1.NoBody {
		return nil
	}
	return x.req.content()
}

// sendContent starts a sender, once the head was sent.
func (x *h3Call) sendContent(e http1.Encoding) {
	x.send = h2Sending
	x.sender = newH3Sender(x, e, x.content(e), e.Kind == http1.Chunks)
	go x.sender.run()
}

// awaitContinue waits until the server asks for the content, responds without it, or has
// sent nothing for too long.
func (x *h3Call) awaitContinue(e http1.Encoding) error {
	if trace := x.call.trace; trace != nil && trace.Wait100Continue != nil {
		trace.Wait100Continue()
	}
	x.times.limit(clock.Earliest(x.call.deadline, time.Now().Add(x.hc.expectTimeout())))
	for x.send == h2HeadSent && x.recv == h2AwaitsHead {
		err := x.nextHead()
		if isTimeout(err) && !x.call.expired() {
			break
		}
		if err != nil {
			return err
		}
	}
	x.times.limit(x.call.deadline)
	status := x.resp.Header.status
	if x.recv == h2AwaitsHead || status/100 == 2 && x.framing.Kind != http1.NoBody {
		// the rest of a response that has begun may depend on the content
		x.sendContent(e)
		return nil
	}
	x.stopSending()
	return nil
}

// stopSending ends the sending of a request whose rest is not needed.
func (x *h3Call) stopSending() {
	if x.send < h2Sending {
		x.send = h2Stopped
		x.stream.StopSending()
		x.stream.ReleaseSending()
		x.times.sent()
	}
}

// errH3LargeHead is the error of a response whose head is larger than the limit.
var errH3LargeHead = &ErrSmallBuffer{http3.ErrLargeHead}

// nextHead reads a head.
func (x *h3Call) nextHead() error {
	m := h3Messages.Get().(*http2.Message)
	defer h3Messages.Put(m)
	if err := x.stream.Head(m, x.isHead); err != nil {
		return err
	}
	if x.call.outcome != attemptResponded {
		if x.send == h2Sent || x.sender != nil && x.sender.isSent() {
			x.traceWrote(wroteRequest, nil)
		}
		x.call.outcome = attemptResponded
		if t := x.call.trace; t != nil && t.GotFirstResponseByte != nil {
			t.GotFirstResponseByte()
		}
	}
	if m.Head.Status < StatusOK {
		return x.receiveInterim(m)
	}
	resp := x.resp
	resp.reuse()
	h := &resp.Header
	h.setState(namesKept, h.is(namesKept) || x.hc.DisableHeaderNamesNormalizing)
	x.framing = m.Head.Framing
	h.fillBlock(m)
	h.line[lineVersion] = h.list.Append(strHTTP3)
	if x.isHead {
		resp.skipHead()
	}
	x.recv = h2AwaitsBody
	return nil
}

// receiveInterim receives an informational response.
func (x *h3Call) receiveInterim(m *http2.Message) error {
	if x.hints++; x.hints > maxInformational {
		return errTooManyInformational
	}
	if m.Head.Status == StatusContinue && x.send == h2HeadSent {
		x.send = h2Granted
	}
	if x.call.trace == nil && x.req.OnInform == nil {
		return nil
	}
	h := new(ResponseHeader)
	h.fillBlock(m)
	return x.call.informed(x.req, h)
}

// receiveBody receives the content, unless the caller reads it later.
func (x *h3Call) receiveBody() error {
	resp, limit := x.resp, x.hc.MaxResponseBodySize
	switch {
	case x.bodyUse == h2Skips, x.opens():
		return nil
	case x.bodyUse == h2Streams && (x.framing.Kind == http1.UntilClose || x.framing.Length > 0 || x.sender != nil && !x.sender.isSent()):
		return nil
	case x.framing.Kind == http1.Length && limit > 0 && x.framing.Length > int64(limit):
		return ErrBodyTooLarge
	}
	resp.body.limit = limit
	for got := int64(0); ; {
		p, err := x.stream.Next(math.MaxInt)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		got += int64(len(p))
		switch {
		case limit > 0 && got > int64(limit):
			return ErrBodyTooLarge
		case x.bodyUse != h2Discards:
			x.keep(p, got)
		case got > maxDrained:
			return nil
		}
	}
	if fields := x.stream.Trailers(); fields != nil {
		if err := resp.Header.addSection(fields, nil); err != nil {
			return err
		}
	}
	if x.framing.Kind == http1.UntilClose && x.bodyUse == h2Buffers {
		resp.Header.SetContentLength(len(resp.body.bytes()))
	}
	x.recv = h2Complete
	return nil
}

// keep appends p to the body, which then has got bytes.
func (x *h3Call) keep(p []byte, got int64) {
	body := &x.resp.body
	if x.framing.Kind == http1.Length {
		if body.buf == nil {
			body.buf = bufpool.Get(int(min(x.framing.Length, readStep)))
		}
		body.makeRoom(len(p), int64(len(p))+x.framing.Length-got)
	}
	body.write(p)
}

// accept accepts the response for the caller. It reports whether the stream belongs to the body now.
func (x *h3Call) accept(since time.Duration) (streams bool, err error) {
	resp := x.resp
	if resp.Header.status == StatusMisdirectedRequest && since != 0 && !x.call.bodyConsumed && !x.call.misdirected {
		// RFC 9110 section 15.5.20: another connection may reach another server
		x.closes, x.call.misdirected = true, true
		return false, errH2Misdirected
	}
	resp.ParseNetConn(x.stream.Conn())
	switch {
	case x.opens() && x.bodyUse != h2Streams:
		return false, nil
	case x.opens():
		x.startTunnel()
		return true, nil
	case x.bodyUse == h2Streams && x.recv != h2Complete:
		x.startStream()
		return true, nil
	}
	return false, nil
}

// failed returns the error that the call gets for err.
func (x *h3Call) failed(err error) error {
	if canceled := x.call.canceled(); canceled != nil {
		return canceled
	}
	if x.sender != nil {
		if failure := x.sender.failure(); failure != nil {
			return failure
		}
	}
	switch {
	case isTimeout(err):
		return ErrTimeout
	case err == http3.ErrLargeHead:
		return errH3LargeHead
	case x.call.outcome == attemptResponded && errors.Is(err, http3.ErrLost):
		return fmt.Errorf("%w: %w", err, io.ErrUnexpectedEOF)
	}
	return err
}

// isUntouched reports whether a request that failed with err may be sent again whatever its
// method, since the server has not processed it; otherwise it sets the outcome of the call.
func (x *h3Call) isUntouched(err error) bool {
	call := x.call
	switch {
	case call.bodyConsumed:
	case err == errH2Misdirected, errors.Is(err, http3.ErrRejected) && call.outcome != attemptResponded:
		return true
	}
	if errors.Is(err, http3.ErrLost) && call.outcome != attemptResponded {
		call.outcome = attemptLost
	}
	return false
}

// finish ends the exchange, which then no longer uses request and response.
func (x *h3Call) finish(complete bool) {
	if x.stop != nil {
		x.stop()
	}
	x.times.end()
	switch {
	case x.sender != nil:
		x.sender.end()
	case x.send < h2Sending:
		x.send = h2Stopped
		x.stream.StopSending()
		x.stream.ReleaseSending()
	}
	if !complete {
		x.stream.Cancel()
	}
	x.stream.Release(x.closes)
}

// traceWrote is clientExchange.traceWrote.
func (x *h3Call) traceWrote(upTo tracedWrite, err error) {
	if t := x.call.trace; t != nil && x.trace < upTo {
		if upTo == wroteRequest && err == nil && x.sender != nil && !x.sender.isSent() {
			err = sender.ErrAbandoned
		}
		x.trace.report(t, upTo, err)
	}
}

// h3Times sets the time limits of a response. They depend on when the request was sent.
type h3Times struct {
	hc       *HostClient
	stream   http3.ClientStream
	deadline time.Time // of the call

	mu         sync.Mutex // guards the fields below
	by, headBy time.Time
	hasHead    bool
	isSent     bool
	over       bool
}

// limit sets a deadline before the request was sent.
func (t *h3Times) limit(by time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isSent {
		_ = t.stream.SetReadDeadline(by)
	}
}

// sent is called when the request was sent.
func (t *h3Times) sent() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isSent = true; t.over || !t.hc.limitsResponses() {
		return
	}
	t.by = t.hc.responseBy(t.deadline)
	if limit := t.hc.ResponseHeaderTimeout; limit > 0 {
		t.headBy = time.Now().Add(limit)
	}
	t.apply()
}

// headArrived is called when the head of the response has arrived.
func (t *h3Times) headArrived() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hasHead = true; t.isSent && t.hc.limitsResponses() {
		t.apply()
	}
}

func (t *h3Times) apply() {
	by := t.by
	if !t.hasHead && !t.headBy.IsZero() {
		by = clock.Earliest(by, t.headBy)
	}
	_ = t.stream.SetReadDeadline(by)
}

// end ends the effect of the limits.
func (t *h3Times) end() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
}
