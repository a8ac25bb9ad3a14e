package fasthttp

import (
	"errors"
	"io"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2client"
	"github.com/valyala/fasthttp/internal/sender"
)

// h2Call is one request with its response, on a stream of a connection that many calls share.
// The goroutine of the call sends the head, and content in memory; a sender of its own sends a
// stream. The goroutine that reads the connection fills the response, and signals the call
// when an event that it waits for occurs.
type h2Call struct {
	p         *http2Client
	hc        *HostClient
	req       *Request
	call      *callState
	signal    chan struct{} // an event occurred that the call waits for
	trace     tracedWrite
	closes    bool // no other call may use the connection
	readsConn bool // the call reads the connection while it waits
	sender    *h2Sender
	pathed    []byte // memory for the path

	// guarded by the lock of the connection
	resp    *Response // nil once the call has left it
	stream  *http2.Stream
	send    h2SendPhase
	recv    h2Receiving
	bodyUse h2BodyUse
	eager   bool // the call waits for every step
	isHead  bool
	tunnel  bool // the request is CONNECT
	fault   error
	framing http1.Framing
	got     int64
	body    *h2Stream // if keeps is h2Streams, once the head has arrived
	hints   int       // informational responses received
	interim []*ResponseHeader
}

// h2SendPhase is the progress of sending a request.
type h2SendPhase uint8

const (
	h2Begins   h2SendPhase = iota // the head was not sent yet
	h2HeadSent                    // the head was sent, and the server is asked for the content
	h2Granted                     // the server wants the content
	h2Sending                     // the content is being sent
	h2Sent                        // all was taken
	h2Stopped                     // the rest is not sent
)

// h2Receiving is the progress of receiving a response.
type h2Receiving uint8

const (
	h2AwaitsHead h2Receiving = iota
	h2AwaitsBody
	h2Complete
)

// h2BodyUse is the use of the content of a response.
type h2BodyUse uint8

const (
	h2Buffers  h2BodyUse = iota
	h2Streams            // the caller reads it while it arrives
	h2Discards           // it is not read
	h2Skips              // it is not waited for
)

var _ http2client.Exchange = (*h2Call)(nil)

// roundTrip implements clientProtocol. A stream of the response keeps the reservation until its
// end.
func (p *http2Client) roundTrip(hc *HostClient, req *Request, resp *Response, since time.Duration) (untouched bool, err error) {
	x, ok := hc.h2Calls.Get().(*h2Call)
	if !ok {
		x = &h2Call{signal: make(chan struct{}, 1)}
	}
	x.p, x.hc, x.req, x.resp, x.call = p, hc, req, resp, &req.call
	over := false
	defer func() {
		if !over {
			// a hook of the application has panicked
			x.detach()
		}
	}()
	if x.call.trace != nil {
		traceGotConn(x.call, p.cc.line.Net(), since)
	}
	h := &req.Header
	x.isHead, x.tunnel, x.closes = h.IsHead(), h.IsConnect(), h.ConnectionClose()
	streams := false
	if err = x.exchange(); err == nil {
		streams = x.body != nil
		err = x.accept(since)
	}
	over = true
	if err == nil {
		// a stream leaves at its end, which may have been at once
		if !streams {
			x.detach()
		}
		return false, nil
	}
	untouched = x.isUntouched(err)
	x.detach()
	return untouched, err
}

// exchange runs until the response has arrived, as far as the caller waits for it.
func (x *h2Call) exchange() error {
	if x.req.Header.isExtended() {
		if err := x.awaitSettings(); err != nil {
			return err
		}
	}
	var e http1.Encoding // of CONNECT, which has no content: the bytes after it are a tunnel's
	if !x.tunnel {
		e = x.req.encode(http1.LineIsOld | http1.LineIsReceived | http1.AsksClose)
	}
	writeBy := x.call.deadline
	if timeout := x.hc.WriteTimeout; timeout > 0 {
		writeBy = clock.Earliest(writeBy, time.Now().Add(timeout))
	}
	asks, err := x.begin(e)
	if err != nil {
		return err
	}
	x.p.conn.Wake()
	x.traceWrote(wroteHeaders, nil)
	if asks {
		if err := x.awaitContinue(); err != nil {
			return err
		}
		x.sendContent(e)
	}
	return x.await(writeBy)
}

// begin opens the stream, and sends the head, with content in memory unless the server is
// asked first.
func (x *h2Call) begin(e http1.Encoding) (asks bool, err error) {
	req, c := x.req, x.p.conn
	stream := req.body.stream
	var content []byte
	if stream == nil && e.Kind != http1.NoBody {
		content = req.content()
	}
	whole := stream == nil && len(content) == 0 && !(e.Kind == http1.Chunks && req.Header.hasSection()) && !x.tunnel
	part := http2.SendHead
	if whole {
		part = http2.SendWhole
	}
	x.bodyUse = bodyUseOf(x.hc, x.call, x.resp)
	x.eager = x.reportsArrivals() || x.hc.limitsResponses() || x.bodyUse == h2Streams
	expects := !whole && !x.tunnel && req.MayContinue()
	c.Lock()
	c.ReadPending()
	conn := c.HTTP2()
	if x.tunnel && req.Header.isExtended() && conn.Life() == http2.LifeOpen && !conn.PermitsExtendedConnect() {
		c.Unlock()
		x.call.outcome = attemptUnreached
		return false, ErrNoExtendedConnect
	}
	s := conn.Open()
	if s == nil || !conn.CanSend(s, part) {
		// it has no more ids
		x.closes = x.closes || conn.MaxStreams() > conn.Streams()
		if s != nil {
			conn.Release(s)
		}
		c.Unlock()
		return false, errH2NoStream
	}
	s.User = x
	x.stream = s
	switch {
	case x.isHead:
		s.ExpectNoContent()
	case x.tunnel:
		s.ExpectTunnel()
	}
	conn.EndHeaders(s, x.appendHead(conn.BeginHeaders(), e), part)
	x.readsConn = c.Begun(x.call.trace == nil && x.call.done() == nil)
	switch {
	case whole, x.tunnel:
		x.send = h2Sent
	case expects:
		x.send = h2HeadSent
	default:
		x.sendLocked(e, content)
	}
	c.Unlock()
	if x.sender != nil {
		go x.sender.run()
	}
	return expects, nil
}

// bodyUseOf returns the use of the content in a call.
func bodyUseOf(hc *HostClient, call *callState, resp *Response) h2BodyUse {
	switch {
	case resp.SkipBody && !resp.skipsHead:
		return h2Skips
	case call.content == contentBuffered:
		return h2Buffers
	case call.content == contentDiscarded:
		return h2Discards
	case resp.StreamBody, hc.StreamResponseBody:
		return h2Streams
	}
	return h2Buffers
}

// sendContent sends the content of a request whose head was sent before.
func (x *h2Call) sendContent(e http1.Encoding) {
	var content []byte
	if x.req.body.stream == nil {
		content = x.req.content()
	}
	c := x.p.conn
	c.Lock()
	// a server that has asked for the content may begin its response before the content
	// arrives
	if (x.send == h2Granted || x.recv == h2AwaitsHead) && x.recv < h2Complete && x.fault == nil {
		x.sendLocked(e, content)
	} else {
		x.send = h2Stopped
	}
	c.Unlock()
	if x.sender != nil {
		go x.sender.run()
	}
	c.Wake()
}

// sendLocked sends content, or prepares the sender for a stream. The lock is held.
func (x *h2Call) sendLocked(e http1.Encoding, content []byte) {
	x.send = h2Sending
	if chunks := e.Kind == http1.Chunks; x.req.body.stream != nil || chunks && x.req.Header.hasSection() {
		x.sender = newH2Sender(x, e, content, chunks)
		return
	}
	x.p.conn.HTTP2().Send(x.stream, content, true)
	if x.stream.Unsent() == 0 {
		x.send = h2Sent
	}
}

// awaitContinue waits until the server asks for the content, responds without it, or has
// sent nothing for too long.
func (x *h2Call) awaitContinue() error {
	if trace := x.call.trace; trace != nil && trace.Wait100Continue != nil {
		trace.Wait100Continue()
	}
	until := time.Now().Add(x.hc.expectTimeout())
	for {
		c := x.p.conn
		c.Lock()
		news := x.takeArrivals()
		goesOn := x.send == h2HeadSent && x.recv == h2AwaitsHead && x.fault == nil
		c.Unlock()
		if err := x.traceArrivals(news); err != nil {
			return err
		}
		if !goesOn {
			return nil
		}
		err := x.sleep(clock.Earliest(x.call.deadline, until))
		if err == ErrTimeout && !x.call.expired() {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// await waits for the response.
func (x *h2Call) await(writeBy time.Time) error {
	by, sent := writeBy, false
	var headBy time.Time
	c := x.p.conn
	for {
		c.Lock()
		// all at one moment: what the response follows is reported before it
		recv, fault, taken, news := x.recv, x.fault, x.isSent(), x.takeArrivals()
		c.Unlock()
		if x.eager {
			if taken && !sent {
				sent = true
				x.traceWrote(wroteRequest, nil)
				by = x.hc.responseBy(x.call.deadline)
				if limit := x.hc.ResponseHeaderTimeout; limit > 0 {
					headBy = time.Now().Add(limit)
				}
			}
			if err := x.traceArrivals(news); err != nil {
				return err
			}
		}
		switch {
		case fault != nil:
			x.traceWrote(wroteRequest, fault)
			return fault
		case recv == h2Complete:
			x.traceWrote(wroteRequest, sender.ErrAbandoned)
			return nil
		case recv == h2AwaitsBody && x.bodyUse == h2Streams:
			return nil
		}
		until := by
		if recv == h2AwaitsHead && !headBy.IsZero() {
			until = clock.Earliest(until, headBy)
		}
		if err := x.sleep(until); err != nil {
			x.traceWrote(wroteRequest, err)
			return err
		}
	}
}

// isSent reports whether the request was sent to its end. The response may arrive before the
// writer has recorded that: it does so when it looks for other output. The lock is held.
func (x *h2Call) isSent() bool {
	return x.send >= h2Sent ||
		(x.recv > h2AwaitsHead || x.hints > 0) && x.stream != nil && x.stream.Sending() == http2.Ended
}

// sleep waits for the next step, at most until the given time.
func (x *h2Call) sleep(until time.Time) error {
	done := x.call.done()
	if x.readsConn {
		if !x.p.conn.ReadLoopInline(x.signal, until) {
			return ErrTimeout
		}
		return nil
	}
	if until.IsZero() && done == nil {
		<-x.signal
		return nil
	}
	var expired <-chan time.Time
	if !until.IsZero() {
		timer := x.hc.timers.acquire(time.Until(until))
		defer x.hc.timers.release(timer)
		expired = timer.C
	}
	select {
	case <-x.signal:
		return nil
	case <-expired:
		if canceled := x.call.canceled(); canceled != nil {
			return canceled
		}
		return ErrTimeout
	case <-done:
		return x.call.canceled()
	}
}

// h2Arrivals is what has arrived and was not yet reported to the trace.
type h2Arrivals struct {
	first bool // the first bytes of a response
	hints []*ResponseHeader
}

// reportsArrivals reports whether a trace or a hook of the request wants to know what arrives.
func (x *h2Call) reportsArrivals() bool { return x.call.trace != nil || x.req.OnInform != nil }

// takeArrivals returns what traceArrivals must report. The lock is held.
func (x *h2Call) takeArrivals() (a h2Arrivals) {
	if !x.reportsArrivals() {
		return a
	}
	a.hints, x.interim = x.interim, nil
	a.first = (x.recv > h2AwaitsHead || len(a.hints) > 0) && x.call.outcome != attemptResponded
	return a
}

// traceArrivals reports arrivals to the trace, and to the hook of the request.
func (x *h2Call) traceArrivals(a h2Arrivals) error {
	t := x.call.trace
	if a.first {
		x.call.outcome = attemptResponded
		if t != nil && t.GotFirstResponseByte != nil {
			t.GotFirstResponseByte()
		}
	}
	for _, h := range a.hints {
		if err := x.call.informed(x.req, h); err != nil {
			return err
		}
	}
	return nil
}

// traceWrote is clientExchange.traceWrote.
func (x *h2Call) traceWrote(upTo tracedWrite, err error) {
	if t := x.call.trace; t != nil && x.trace < upTo {
		x.trace.report(t, upTo, err)
	}
}

// accept accepts the response for the caller.
func (x *h2Call) accept(since time.Duration) error {
	resp := x.resp
	if resp.Header.status == StatusMisdirectedRequest && since != 0 && !x.call.bodyConsumed && !x.call.misdirected {
		// RFC 9110 section 15.5.20: another connection may reach another server
		x.closes, x.call.misdirected = true, true
		return errH2Misdirected
	}
	resp.ParseNetConn(x.p.cc.line.Net())
	if x.body != nil {
		x.startStream()
	}
	return nil
}

// errH2Misdirected reports that a response is 421. Callers never see it.
var errH2Misdirected = errors.New("fasthttp: the server is not the right one for the request")

// isUntouched reports whether a request that failed with err may be sent again whatever its
// method, since the server has not processed it; otherwise it sets the outcome of the call.
func (x *h2Call) isUntouched(err error) bool {
	c := x.p.conn
	c.Lock()
	defer c.Unlock()
	call := x.call
	if x.recv > h2AwaitsHead || x.hints > 0 {
		call.outcome = attemptResponded
	}
	switch {
	case err == errH2NoStream:
		return true
	case call.bodyConsumed:
		return false
	case err == errH2Misdirected, isRefusal(err) && call.outcome != attemptResponded:
		return true
	case x.fault == nil || err != x.fault:
		return false
	case errors.Is(err, http2.ErrHTTP1):
		// nor does the server understand another attempt
		call.outcome = attemptUnreached
		return false
	}
	if _, reset := errors.AsType[h2CallReset](err); !reset && call.outcome != attemptResponded && !isTimeout(err) {
		call.outcome = attemptLost
	}
	return !c.MayBeWritten(x.stream)
}

// detach ends the exchange, which then no longer uses request and response. Its memory is
// available to another call.
func (x *h2Call) detach() {
	c := x.p.conn
	if x.sender != nil {
		x.endSender()
	}
	c.Lock()
	x.resp = nil
	if x.body != nil {
		x.body.beforeRelease()
	}
	if x.stream != nil {
		c.HTTP2().Release(x.stream)
		x.stream = nil
	}
	x.stopReadingConn()
	wake := c.Wakes()
	c.Unlock()
	if wake {
		c.Wake()
	}
	x.p.release(x.closes)
	select {
	case <-x.signal:
	default:
	}
	if cap(x.pathed) > keptPath {
		x.pathed = nil
	}
	calls := &x.hc.h2Calls
	*x = h2Call{signal: x.signal, pathed: x.pathed}
	calls.Put(x)
}

// stopReadingConn leaves the reading to other calls, before this call does anything other than
// wait for its response: until then no other call reads. The lock is held.
func (x *h2Call) stopReadingConn() {
	if x.readsConn {
		x.readsConn = false
		x.p.conn.StopReadInline()
	}
}

// keptPath is the largest path whose memory is kept for another call.
const keptPath = 4 << 10

// Receive implements http2client.Exchange.
func (x *h2Call) Receive(ev *http2.Event, m *http2.Message) {
	switch ev.Kind {
	case http2.Interim:
		x.receiveInterim(m)
	case http2.Headers:
		x.receiveHead(ev.End, m)
	case http2.Data:
		x.receiveData(ev)
	case http2.Trailers:
		x.receiveTrailers(m)
	case http2.Reset:
		x.ConnEnded(h2CallReset{ev.Code, ev.Err})
	}
}

// wake makes the call check its state. The lock is held.
func (x *h2Call) wake() {
	select {
	case x.signal <- struct{}{}:
	default:
	}
	if x.readsConn {
		x.p.conn.Interrupt()
	}
}

func (x *h2Call) fail(err error) {
	if x.fault == nil && x.recv != h2Complete {
		x.fault = err
	}
	x.wake()
}

func (x *h2Call) receiveInterim(m *http2.Message) {
	if x.hints++; x.hints > maxInformational {
		x.fail(errTooManyInformational)
		return
	}
	if m.Head.Status == StatusContinue && x.send == h2HeadSent {
		x.send = h2Granted
		x.wake()
	}
	if x.reportsArrivals() && x.resp != nil {
		h := new(ResponseHeader)
		h.fillBlock(m)
		x.interim = append(x.interim, h)
		x.wake()
	}
}

func (x *h2Call) receiveHead(end bool, m *http2.Message) {
	x.framing = m.Head.Framing
	if x.resp == nil {
		return
	}
	resp := x.resp
	resp.reuse()
	h := &resp.Header
	h.setState(namesKept, h.is(namesKept) || x.hc.DisableHeaderNamesNormalizing)
	h.fillBlock(m)
	if x.isHead {
		resp.skipHead()
	}
	x.recv = h2AwaitsBody
	status, limit := h.status, x.hc.MaxResponseBodySize
	if x.send == h2HeadSent && status/100 == 2 && !end {
		// the rest of the response may depend on the content
		x.send = h2Granted
	}
	switch opens := x.tunnel && status/100 == 2; {
	case opens && x.bodyUse != h2Streams, x.bodyUse == h2Skips:
		x.recv = h2Complete
	case opens, x.bodyUse == h2Streams && (!end || x.send < h2Sent || !x.isHead && !bodiless(status)):
		x.body = newH2Stream(x, opens, end)
	case x.framing.Kind == http1.Length && limit > 0 && x.framing.Length > int64(limit):
		x.fail(ErrBodyTooLarge)
		return
	case end:
		x.recv = h2Complete
	default:
		resp.body.limit = limit
	}
	if x.eager || x.recv == h2Complete || x.send == h2HeadSent || x.send == h2Granted {
		x.wake()
	}
}

func (x *h2Call) receiveData(ev *http2.Event) {
	conn, n := x.p.conn.HTTP2(), len(ev.Payload)
	if x.body != nil && x.body.in.Put(ev.Payload, ev.End) {
		return
	}
	conn.Consumed(x.stream, n)
	if x.body != nil || x.recv != h2AwaitsBody || x.fault != nil || x.resp == nil {
		return
	}
	x.got += int64(n)
	limit := x.hc.MaxResponseBodySize
	switch {
	case limit > 0 && x.got > int64(limit):
		x.fail(ErrBodyTooLarge)
		return
	case x.bodyUse == h2Discards:
		if x.got > maxDrained {
			x.complete()
		}
	case n > 0:
		body := &x.resp.body
		if x.framing.Kind == http1.Length {
			if body.buf == nil {
				body.buf = bufpool.Get(int(min(x.framing.Length, readStep)))
			}
			body.makeRoom(n, int64(n)+x.framing.Length-x.got)
		}
		body.write(ev.Payload)
	}
	if ev.End {
		x.complete()
	}
}

func (x *h2Call) receiveTrailers(m *http2.Message) {
	switch {
	case x.body != nil:
		x.body.in.PutTrailers(m)
	case x.recv != h2AwaitsBody || x.resp == nil:
	default:
		if err := x.resp.Header.addSection(&m.Fields, nil); err != nil {
			x.fail(err)
			return
		}
		x.complete()
	}
}

// complete records that the response was received.
func (x *h2Call) complete() {
	if x.framing.Kind == http1.UntilClose && x.bodyUse == h2Buffers {
		x.resp.Header.SetContentLength(len(x.resp.body.bytes()))
	}
	x.recv = h2Complete
	x.wake()
}

// ContentSent implements http2client.Exchange.
func (x *h2Call) ContentSent() {
	switch {
	case x.sender != nil:
		x.sender.out.ContentSent()
	case x.body != nil && x.body.tunnel != nil:
		x.body.tunnel.ContentSent()
	default:
		x.sent()
	}
}

// sent records that the request was sent to its end. The lock is held.
func (x *h2Call) sent() {
	x.send = h2Sent
	if x.eager {
		x.wake()
	}
}

// ConnEnded implements http2client.Exchange.
func (x *h2Call) ConnEnded(err error) {
	if x.recv > h2AwaitsHead {
		err = http2client.Replace(err, io.EOF, io.ErrUnexpectedEOF)
	}
	if x.sender != nil {
		x.sender.out.Fail(err)
	}
	if x.body != nil {
		// the reader of the stream gets the error, unless the whole body has arrived
		x.failBody(err)
		x.wake()
		return
	}
	x.fail(err)
}

// failBody ends the body that the caller reads. The lock is held.
func (x *h2Call) failBody(err error) {
	if x.body != nil {
		x.body.in.Fail(err)
		x.body.failWrites(err)
	}
}
