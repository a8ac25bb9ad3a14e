package fasthttp

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2client"
	"github.com/valyala/fasthttp/internal/sender"
)

// http2Client is HTTP/2 on a connection of a client, which many calls share. Each is an h2Call.
type http2Client struct {
	hc   *HostClient
	cc   *clientConn
	conn *http2client.Conn
}

var (
	_ clientProtocol     = (*http2Client)(nil)
	_ http2client.Events = (*http2Client)(nil)
)

// h2Call is a streamCall on a connection that many calls share. The goroutine of the call sends the
// head, and content in memory; a sender of its own sends a stream. The goroutine that reads the
// connection fills the response, and signals the call when an event that it waits for occurs.
type h2Call struct {
	streamCall
	p         *http2Client
	signal    chan struct{} // an event occurred that the call waits for
	readsConn bool          // the call reads the connection while it waits
	sender    *h2Sender

	// guarded by the lock of the connection
	stream  *http2.Stream
	eager   bool // the call waits for every step
	fault   error
	body    *h2Stream // if it is streamed, once the head has arrived
	interim []*ResponseHeader
}

var (
	_ http2client.Exchange = (*h2Call)(nil)
	_ callStream           = (*h2Call)(nil)
)

// pooled implements clientProtocol. It calls HasRoom again, because the pool did not know the
// connection when SettingsReceived called it.
func (p *http2Client) pooled() {
	settled, ended := p.conn.State()
	if settled {
		p.SettingsReceived()
	}
	if ended {
		p.Ended()
	}
}

// reserve implements clientProtocol.
func (p *http2Client) reserve() bool { return p.conn.Reserve() }

// Close implements clientProtocol.
func (p *http2Client) Close() error { return p.conn.Close() }

// SettingsReceived implements http2client.Events.
func (p *http2Client) SettingsReceived() { p.hc.pool.HasRoom(p.cc) }

// Ended implements http2client.Events.
func (p *http2Client) Ended() { p.hc.pool.Retire(p.cc) }

// release returns the reservation of a call. If retire is set, no other call uses the
// connection.
func (p *http2Client) release(retire bool) {
	hc, cc := p.hc, p.cc
	if hc.MaxConnDuration > 0 && time.Since(cc.history.created) >= hc.MaxConnDuration {
		retire = true
	}
	p.conn.ReleaseReservation()
	if retire {
		p.conn.Retire()
		hc.pool.Discard(cc)
	} else {
		hc.pool.Put(cc, clock.Elapsed())
	}
}

// roundTrip implements clientProtocol. A stream of the response keeps the reservation until its
// end.
func (p *http2Client) roundTrip(hc *HostClient, req *Request, resp *Response, since time.Duration) (untouched bool, err error) {
	x, ok := hc.h2Calls.Get().(*h2Call)
	if !ok {
		x = &h2Call{signal: make(chan struct{}, 1)}
	}
	x.p = p
	return x.run(x, p.cc.line.Net, hc, req, resp, since)
}

// exchange implements callStream.
func (x *h2Call) exchange() error {
	if x.tunnel && x.req.Header.head.IsExtended() {
		if err := x.awaitSettings(); err != nil {
			return err
		}
	}
	e, writeBy := x.begin()
	asks, err := x.open(e)
	if err != nil {
		return err
	}
	x.traceWrote(wroteHeaders, nil)
	if asks {
		if err := x.awaitContinue(); err != nil {
			return err
		}
		x.sendContent(e)
	}
	return x.await(writeBy)
}

// open opens the stream, and sends the head, with content in memory unless the server is
// asked first.
func (x *h2Call) open(e http1.Encoding) (asks bool, err error) {
	req, c := x.req, x.p.conn
	content, pieces := x.content(e)
	whole := len(content) == 0 && !pieces && !x.tunnel
	part := http2.SendHead
	if whole {
		part = http2.SendWhole
	}
	x.eager = x.tells || x.hc.limitsResponses() || x.use == bodyStreamed
	expects := !whole && !x.tunnel && req.MayContinue()
	// Other calls must not wait for a hook. A method of the application's context is not called with
	// the lock.
	readable := !x.tells && x.call.done() == nil
	c.Lock()
	c.ReadPending()
	conn := c.HTTP2()
	if x.tunnel && req.Header.head.IsExtended() && conn.Life() == http2.LifeOpen && !conn.PermitsExtendedConnect() {
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
	conn.EndHeaders(s, x.appendHead(conn.BeginHeaders(), conn.Encoder(), e), part)
	x.readsConn = c.Begun(readable)
	switch {
	case whole, x.tunnel:
		x.send = sendAll
	case expects:
		x.send = sendAsks
	default:
		x.sendLocked(e, content, pieces)
	}
	if x.sender != nil {
		go x.sender.run()
	}
	c.UnlockAndWake()
	return expects, nil
}

// sendContent sends the content of a request whose head was sent before.
func (x *h2Call) sendContent(e http1.Encoding) {
	content, pieces := x.content(e)
	c := x.p.conn
	c.Lock()
	if x.wantsContent() && x.fault == nil {
		x.sendLocked(e, content, pieces)
	} else {
		x.send = sendStopped
	}
	if x.sender != nil {
		go x.sender.run()
	}
	c.UnlockAndWake()
}

// sendLocked sends content, or prepares the sender for a stream. The lock is held.
func (x *h2Call) sendLocked(e http1.Encoding, content []byte, pieces bool) {
	x.send = sendsContent
	if pieces {
		x.sender = newH2Sender(x, e, content)
		return
	}
	x.p.conn.HTTP2().Send(x.stream, content, true)
	if x.stream.Unsent() == 0 {
		x.send = sendAll
	}
}

// awaitVerdict implements callStream.
func (x *h2Call) awaitVerdict(until time.Time) (over bool, err error) {
	c := x.p.conn
	var news h2Arrivals
	c.Lock()
	if x.tells {
		news = x.takeArrivals()
	}
	over = x.send != sendAsks || x.recv != awaitsHead || x.fault != nil
	c.Unlock()
	if err := x.traceArrivals(news); err != nil || over {
		return over, err
	}
	return false, x.sleep(until)
}

// await waits for the response.
func (x *h2Call) await(writeBy time.Time) error {
	by, sent := writeBy, false
	var headBy time.Time
	c := x.p.conn
	for {
		var news h2Arrivals
		c.Lock()
		// all at one moment: what the response follows is reported before it
		recv, fault, taken := x.recv, x.fault, x.eager && x.isSent()
		if x.tells {
			news = x.takeArrivals()
		}
		c.Unlock()
		if taken && !sent {
			sent = true
			x.traceWrote(wroteRequest, nil)
			by = x.hc.responseBy(x.call.deadline)
			if limit := x.hc.ResponseHeaderTimeout; limit > 0 {
				headBy = time.Now().Add(limit)
			}
		}
		if x.tells {
			if err := x.traceArrivals(news); err != nil {
				return err
			}
		}
		switch {
		case fault != nil:
			x.traceWrote(wroteRequest, fault)
			return fault
		case recv == receivedAll:
			x.traceWrote(wroteRequest, sender.ErrAbandoned)
			return nil
		case recv == awaitsBody && x.use == bodyStreamed:
			return nil
		}
		until := by
		if recv == awaitsHead && !headBy.IsZero() {
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
	return x.send >= sendAll ||
		(x.recv > awaitsHead || x.hints > 0) && x.stream != nil && x.stream.Sending() == http2.Ended
}

// sleep waits for the next step, at most until the given time.
func (x *h2Call) sleep(until time.Time) error {
	if x.readsConn {
		if !x.p.conn.ReadLoopInline(x.signal, until) {
			return ErrTimeout
		}
		return nil
	}
	done := x.call.done()
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

// takeArrivals returns what traceArrivals must report, for a call with tells. The lock is held.
func (x *h2Call) takeArrivals() (a h2Arrivals) {
	a.hints, x.interim = x.interim, nil
	a.first = (x.recv > awaitsHead || len(a.hints) > 0) && x.call.outcome != attemptResponded
	return a
}

// traceArrivals reports arrivals to the trace, and to the hook of the request.
func (x *h2Call) traceArrivals(a h2Arrivals) error {
	if a.first {
		x.responded()
	}
	for _, h := range a.hints {
		if err := x.call.informed(x.req, h); err != nil {
			return err
		}
	}
	return nil
}

// startStream implements callStream. The sending of the request may continue meanwhile.
func (x *h2Call) startStream() bool {
	if x.body == nil {
		return false
	}
	s, resp, c := x.body, x.resp, x.p.conn
	if x.sender != nil && x.sender.borrowed {
		x.finishBorrowed()
	}
	deadline, ctx := x.call.deadline, x.call.ctx
	if timeout := x.hc.ReadTimeout; timeout > 0 && s.tunnel == nil {
		deadline = clock.Earliest(deadline, time.Now().Add(timeout))
	}
	if s.tunnel != nil {
		resp.body.SetStream(&h2ClientTunnel{s, x.p.cc.line.Net}, -2)
	} else {
		resp.body.SetStream(s, resp.Header.head.Length)
	}
	resp.body.Limit = x.hc.MaxResponseBodySize
	c.Lock()
	// request and call belong to the caller again
	if x.sender != nil {
		s.sender = x.sender
		x.sender.detach()
	} else if x.send < sendAll {
		c.HTTP2().Own(x.stream)
	}
	x.outlive(deadline)
	x.stopReadingConn()
	_, known := s.in.Remaining()
	empty := known && x.framing.Kind == http1.NoBody && s.tunnel == nil && x.send >= sendAll
	c.Unlock()
	if empty {
		// a caller that knows that the body is empty may never close it
		s.guard.End(s, 0)
		return true
	}
	if !deadline.IsZero() {
		s.timer = time.AfterFunc(time.Until(deadline), func() { s.cancel(ErrTimeout) })
	}
	if ctx != nil && ctx.Done() != nil {
		s.stop = context.AfterFunc(ctx, func() { s.cancel(contextError(ctx)) })
	}
	return true
}

// failure implements callStream.
func (x *h2Call) failure(err error) error { return err }

// isUntouched implements callStream.
func (x *h2Call) isUntouched(err error) bool {
	c := x.p.conn
	c.Lock()
	defer c.Unlock()
	untouched, known := x.isRefused(err)
	switch {
	case known:
		return untouched
	case x.fault == nil || err != x.fault:
		return false
	case errors.Is(err, http2.ErrHTTP1):
		// nor does the server understand another attempt
		x.call.outcome = attemptUnreached
		return false
	}
	if _, reset := errors.AsType[h2CallReset](err); !reset && x.call.outcome != attemptResponded && !isTimeout(err) {
		x.call.outcome = attemptLost
	}
	return !c.MayBeWritten(x.stream)
}

// leave implements callStream.
func (x *h2Call) leave(error) {
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
	c.UnlockAndWake()
	x.p.release(x.closes)
	select {
	case <-x.signal:
	default:
	}
	if cap(x.pathed) > keptPath {
		x.pathed = nil
	}
	calls := &x.hc.h2Calls
	*x = h2Call{signal: x.signal, streamCall: streamCall{pathed: x.pathed}}
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

// Receive implements http2client.Exchange.
func (x *h2Call) Receive(ev *http2.Event, m *http2.Message) {
	switch ev.Kind {
	case http2.Interim:
		x.putInterim(m)
	case http2.Headers:
		x.putHead(ev.End, m)
	case http2.Data:
		x.putData(ev)
	case http2.Trailers:
		x.putTrailers(m)
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
	if x.fault == nil && x.recv != receivedAll {
		x.fault = err
	}
	x.wake()
}

func (x *h2Call) putInterim(m *http2.Message) {
	h, err := x.receiveInterim(m)
	switch {
	case err != nil:
		x.fail(err)
		return
	case h != nil:
		x.interim = append(x.interim, h)
	case x.send != sendGranted:
		return
	}
	x.wake()
}

func (x *h2Call) putHead(end bool, m *http2.Message) {
	if x.resp == nil {
		return
	}
	x.receiveHead(m, !end)
	status := int(x.resp.Header.head.Status)
	switch opens := x.tunnel && status/100 == 2; {
	case opens && x.use != bodyStreamed, x.use == bodySkipped:
		x.recv = receivedAll
	case opens, x.use == bodyStreamed && (!end || x.send < sendAll || !x.isHead && !header.Bodiless(status)):
		x.body = newH2Stream(x, opens, end)
	case x.isTooLong():
		x.fail(ErrBodyTooLarge)
		return
	case end:
		x.recv = receivedAll
	default:
		x.resp.body.Limit = x.hc.MaxResponseBodySize
	}
	if x.eager || x.recv == receivedAll || x.send == sendAsks || x.send == sendGranted {
		x.wake()
	}
}

func (x *h2Call) putData(ev *http2.Event) {
	conn, n := x.p.conn.HTTP2(), len(ev.Payload)
	if x.body != nil && x.body.in.Put(ev.Payload, ev.End) {
		return
	}
	conn.Consumed(x.stream, n)
	if x.body != nil || x.recv != awaitsBody || x.fault != nil || x.resp == nil {
		return
	}
	over, err := x.collect(ev.Payload)
	switch {
	case err != nil:
		x.fail(err)
	case over || ev.End:
		x.complete()
		x.wake()
	}
}

func (x *h2Call) putTrailers(m *http2.Message) {
	switch {
	case x.body != nil:
		x.body.in.PutTrailers(m)
	case x.recv != awaitsBody || x.resp == nil:
	default:
		if err := x.resp.Header.head.AddSection(&m.Fields, nil); err != nil {
			x.fail(err)
			return
		}
		x.complete()
		x.wake()
	}
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
	x.send = sendAll
	if x.eager {
		x.wake()
	}
}

// ConnEnded implements http2client.Exchange.
func (x *h2Call) ConnEnded(err error) {
	if x.recv > awaitsHead {
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
