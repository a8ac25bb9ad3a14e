package fasthttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http3"
	"github.com/valyala/fasthttp/internal/sender"
)

// h3Call is a streamCall on a stream of HTTP/3. The goroutine of the call sends the head, and little
// content in memory; a sender of its own sends other content. The goroutine of the call waits for
// the response.
type h3Call struct {
	streamCall
	stream http3.ClientStream
	times  *h3Times
	sender *h3Sender
	stop   func() bool // of watching the context, or nil
}

var (
	_ attempter  = (*h3Call)(nil)
	_ callStream = (*h3Call)(nil)
)

// h3Small is how much content the goroutine of the call sends together with the head.
const h3Small = 8 << 10

// roundTrip implements attempter. The body of the response keeps the stream until its end.
func (x *h3Call) roundTrip(hc *HostClient, req *Request, resp *Response, since time.Duration) (untouched bool, err error) {
	x.times = &h3Times{hc: hc, stream: x.stream, deadline: req.call.deadline}
	return x.run(x, x.stream.Conn(), hc, req, resp, since)
}

// exchange implements callStream.
func (x *h3Call) exchange() error {
	if x.call.done() != nil {
		x.stop = context.AfterFunc(x.call.ctx, x.stream.Cancel)
	}
	e, writeBy := x.begin()
	if !writeBy.IsZero() {
		_ = x.stream.SetWriteDeadline(writeBy)
	}
	x.times.limit(x.call.deadline)
	if err := x.open(e); err != nil && !errors.Is(err, http3.ErrStopped) {
		return err
	}
	if x.send == sendAsks {
		if err := x.awaitContinue(); err != nil {
			return err
		}
		x.times.limit(x.call.deadline)
		if x.wantsContent() {
			x.sendContent(e)
		} else {
			x.stopSending()
		}
	}
	for x.recv == awaitsHead {
		if err := x.nextHead(); err != nil {
			return err
		}
	}
	x.times.headArrived()
	x.endConnect()
	return x.receiveBody()
}

// open sends the head, with content if it is small and in memory, unless the server is asked
// first. It starts a sender for other content.
func (x *h3Call) open(e http1.Encoding) error {
	req := x.req
	content, pieces := x.content(e)
	asks := (pieces || len(content) > 0) && req.MayContinue()
	b, enc := x.stream.BeginSection()
	if err := x.stream.SendSection(x.appendHead(b, enc, e)); err != nil {
		x.call.outcome = attemptUnreached
		return err
	}
	if x.tunnel {
		return x.sendConnect()
	}
	if asks || pieces || len(content) > h3Small {
		err := x.stream.Flush()
		x.traceWrote(wroteHeaders, err)
		if x.send = sendAsks; !asks && err == nil {
			x.sendContent(e)
		}
		return err
	}
	x.send = sendsContent
	_, err := x.stream.Write(content)
	if err == nil {
		err = x.stream.End()
	}
	x.stream.ReleaseSending()
	x.traceWrote(wroteRequest, err)
	x.sentHead(err)
	return err
}

// sentHead is called when the goroutine of the call has sent all that it sends, or has failed to.
func (x *h3Call) sentHead(err error) {
	if x.send = sendStopped; err == nil {
		x.send = sendAll
	}
	if err == nil || errors.Is(err, http3.ErrStopped) {
		x.times.sent()
	}
}

// sendContent starts a sender, once the head was sent.
func (x *h3Call) sendContent(e http1.Encoding) {
	x.send = sendsContent
	content, _ := x.content(e)
	x.sender = newH3Sender(x, e, content)
	go x.sender.run()
}

// awaitVerdict implements callStream.
func (x *h3Call) awaitVerdict(until time.Time) (over bool, err error) {
	x.times.limit(until)
	if err = x.nextHead(); isTimeout(err) {
		err = ErrTimeout
	}
	return x.send != sendAsks || x.recv != awaitsHead, err
}

// stopSending ends the sending of a request whose rest is not needed.
func (x *h3Call) stopSending() {
	if x.send < sendsContent {
		x.send = sendStopped
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
		if x.send == sendAll || x.sender != nil && x.sender.isSent() {
			x.traceWrote(wroteRequest, nil)
		}
		x.responded()
	}
	if m.Head.Status < StatusOK {
		h, err := x.receiveInterim(m)
		if h == nil {
			return err
		}
		return x.call.informed(x.req, h)
	}
	x.receiveHead(m, m.Head.Framing.Kind != http1.NoBody)
	h := &x.resp.Header
	h.head.Line[header.LineVersion] = h.head.List.Append(strHTTP3)
	return nil
}

// receiveBody receives the content, unless the caller reads it later.
func (x *h3Call) receiveBody() error {
	resp := x.resp
	switch {
	case x.use == bodySkipped, x.opens():
		return nil
	case x.use == bodyStreamed && (x.framing.Kind == http1.UntilClose || x.framing.Length > 0 || x.sender != nil && !x.sender.isSent()):
		return nil
	case x.isTooLong():
		return ErrBodyTooLarge
	}
	resp.body.Limit = x.hc.MaxResponseBodySize
	for {
		p, err := x.stream.Next(math.MaxInt)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if over, err := x.collect(p); over {
			return err
		}
	}
	if fields := x.stream.Trailers(); fields != nil {
		if err := resp.Header.head.AddSection(fields, nil); err != nil {
			return err
		}
	}
	x.complete()
	return nil
}

// failure implements callStream.
func (x *h3Call) failure(err error) error {
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

// isUntouched implements callStream.
func (x *h3Call) isUntouched(err error) bool {
	untouched, known := x.isRefused(err)
	if !known && errors.Is(err, http3.ErrLost) && x.call.outcome != attemptResponded {
		x.call.outcome = attemptLost
	}
	return untouched
}

// leave implements callStream.
func (x *h3Call) leave(err error) {
	x.finish(err == nil && x.recv == receivedAll)
	x.traceEnd(err)
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
	case x.send < sendsContent:
		x.send = sendStopped
		x.stream.StopSending()
		fallthrough
	default:
		x.stream.ReleaseSending()
	}
	if !complete {
		x.stream.Cancel()
	}
	x.stream.Release(x.closes)
}

// traceEnd reports the end of sending to the trace, at the end of the call.
func (x *h3Call) traceEnd(err error) {
	if err == nil && x.sender != nil && !x.sender.isSent() {
		err = sender.ErrAbandoned
	}
	x.traceWrote(wroteRequest, err)
}

// h3Body is the callBody of HTTP/3. The server stops sending when it is closed.
type h3Body struct {
	callBody
	x     *h3Call // without its request and response
	ended bool    // all has arrived
}

// startStream implements callStream. The sending of the request may continue meanwhile.
func (x *h3Call) startStream() bool {
	switch {
	case x.use != bodyStreamed || x.recv == receivedAll:
		return false
	case x.opens():
		x.startTunnel()
		return true
	}
	resp := x.resp
	if x.sender != nil {
		if x.sender.borrowed && !x.sender.endsSoon() {
			x.sender.end()
		}
		x.sender.detach()
	}
	s := &h3Body{x: x}
	s.guarded, s.trailerTarget = s, &resp.Header.head
	resp.body.SetStream(s, resp.Header.head.Length)
	resp.body.Limit = x.hc.MaxResponseBodySize
	x.outlive(x.call.deadline)
	return true
}

// Next implements bodyio.GuardedStream.
func (s *h3Body) Next(p []byte) (n int, done bool, err error) {
	if len(p) == 0 {
		return 0, false, nil
	}
	b, err := s.x.stream.Next(len(p))
	switch {
	case err == nil:
		return copy(p, b), false, nil
	case err != io.EOF:
		return 0, false, s.x.failure(err)
	}
	s.ended = true
	if fields := s.x.stream.Trailers(); fields != nil {
		if err := s.trailerTarget.AddSection(fields, nil); err != nil {
			return 0, true, err
		}
	}
	return 0, true, io.EOF
}

// Discard implements bodyio.GuardedStream. Unread content does not block other calls.
func (s *h3Body) Discard(time.Duration) {}

// Interrupt implements bodyio.GuardedStream.
func (s *h3Body) Interrupt() error {
	s.x.stream.Cancel()
	return nil
}

// Release implements bodyio.GuardedStream.
func (s *h3Body) Release(bool) {
	s.x.finish(s.ended)
	s.x.traceEnd(nil)
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
