package fasthttp

import (
	"fmt"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2body"
	"github.com/valyala/fasthttp/internal/watch"
)

// h2Exchange is an exchange on an HTTP/2 stream.
//
// The life of a request:
//
//	headReceived  admit, on the goroutine of the engine; then, for its plan,
//	                planCollect  take, for each frame of content
//	                planStream, planParse  streamContent
//	h2Conn.queue  waits for a goroutine that serves; from here on the exchange is its own
//	run           makeResponse; calls the handler
//	respond       puts the response into http2.Conn, or writes it piece by piece
//	release       close, which calls the application, and finish, which ends the stream
//
// The fields that both goroutines use are guarded by the mutex of the connection.
type h2Exchange struct {
	streamExchange
	h      *h2Conn
	stream *http2.Stream
	next   *h2Exchange // in h2Conn.queue, or in a list of unused exchanges

	// guarded by the mutex
	phase         h2Phase
	before, after *h2Exchange // of h2Conn.first
	feeding       bool        // the engine is processing the head, or appending to the body
	awaits100     bool        // the client waits for 100 (Continue)
	taken         bool        // the connection has taken the whole response
	abortErr      error       // why nothing more is sent or received, or nil
	in            *h2Incoming // of content, or nil
	watch         *watch.Watch
	out           http2body.Outgoing // of a response written piece by piece
	tunnel        *h2Tunnel          // which the application has taken over, or nil
	pace          pace               // of the content; since is 0 while the client is not waited for
	readUntil     time.Time
	writeUntil    time.Time
	limitsPiece   bool // writeUntil is only for the content that was passed to the connection

	waitsSince time.Duration // for a goroutine that serves it, by clock.Monotonic, if that is limited

	unwanted bool // the stream was reset early, so the handler is not called
	broken   bool // a hook has panicked, so the handler is not called

	leader uint32 // the number of the leader that serves it, or 0
}

// h2Phase is the phase of an exchange.
type h2Phase uint8

const (
	h2Collects h2Phase = iota // the request is being received
	h2Serves                  // the exchange waits in the queue, or a goroutine serves it
	h2Sends                   // the engine sends the rest of the response, without a goroutine
	h2Over                    // the exchange must only be released
)

// h2Reset is the error of a stream that was reset: by the peer or, if fault is not nil, because
// of that fault of the peer.
type h2Reset struct {
	code  http2.Code
	fault *http2.Error
}

func (e h2Reset) Error() string {
	if e.fault != nil {
		return e.fault.Error()
	}
	return fmt.Sprintf("fasthttp: the client has reset the stream: %v", e.code)
}

// h2RequestError returns the error of a malformed request that gets a response: the same error as with
// HTTP/1.
func h2RequestError(e *http2.Error) error {
	switch e {
	case http2.ErrTarget:
		return errStreamTarget
	case http2.ErrHost:
		return errStreamHost
	}
	return nil
}

// exchange returns an exchange for a stream that has begun. h.mu is held.
func (s *h2Server) exchange(h *h2Conn, stream *http2.Stream) *h2Exchange {
	x := h.free
	if x == nil {
		x = s.exchanges.Get().(*h2Exchange)
	} else {
		h.freeCount--
	}
	h.free, x.next = x.next, nil
	x.h, x.stream = h, stream
	x.s, x.c, x.t = h.s, h.c, x
	if x.ctx == nil {
		x.ctx = h.s.acquireCtx(h.c)
	} else {
		x.ctx.serveOn(h.c)
		x.ctx.used = true
	}
	x.ctx.Request.isTLS = h.c.IsTLS
	stream.User = x
	return x
}

// h2MaxFreeExchanges is how many exchanges a connection keeps for itself: sharing each of them
// with other connections would add much to the cost of a request.
const h2MaxFreeExchanges = 32

// release takes an exchange back. h.mu is held.
func (s *h2Server) release(h *h2Conn, x *h2Exchange) {
	ctx := x.ctx
	*x = h2Exchange{}
	x.ctx, x.next = ctx, h.free
	h.free = x
	if h.freeCount++; h.freeCount >= h2MaxFreeExchanges || h.first == nil {
		s.releaseFree(h)
	}
}

// releaseFree makes the exchanges that a connection keeps available to other connections. h.mu
// is held.
func (s *h2Server) releaseFree(h *h2Conn) {
	if h.free != nil {
		s.exchanges.Put(h.free)
		h.free, h.freeCount = nil, 0
	}
}

// fill gives the request the head in m. mu is held, which only the lists of m need.
func (x *h2Exchange) fill(m *http2.Message) {
	head := &m.Head
	h := &x.ctx.Request.Header
	h.head.FillBlock(http1.Request, m)
	x.method, x.framing = head.MethodID, head.Framing
	if head.Has(http1.Expects) {
		x.expect = expectationOf(head)
	}
	if m.Protocol.Len > 0 {
		h.head.Slots[header.SlotProtocol] = m.Protocol
		x.extended = true
	}
}

// proceed continues after an event, and reports whether the exchange must be served now. m has
// the section of the event, if there is one.
func (x *h2Exchange) proceed(ev *http2.Event, m *http2.Message) (serve bool) {
	switch ev.Kind {
	case http2.Data:
		return x.take(ev.Payload, ev.End)
	case http2.Reset:
		// no other goroutine uses it
		x.s.h2.workers.Do(h2Task{h2Release, nil, x})
		return false
	case http2.Headers:
		if x.expect == expectsNothing && x.s.HeaderReceived == nil {
			// no hook is called
			return x.headReceived(ev.End) || x.doneFeeding(false)
		}
	}
	return x.proceedAfterSection(ev, m)
}

// proceedAfterSection is proceed after a header or trailer section, for which hooks are called.
func (x *h2Exchange) proceedAfterSection(ev *http2.Event, m *http2.Message) (serve bool) {
	defer x.recoverPanic(&serve)
	if ev.Kind != http2.Trailers {
		return x.headReceived(ev.End) || x.doneFeeding(false)
	}
	if x.feeding {
		x.refusal = x.ctx.Request.Header.head.AddSection(&m.Fields, x.s.AcceptTrailer)
	}
	return x.take(ev.Payload, ev.End)
}

// recoverPanic is deferred: it turns a panic of a hook into the end of the exchange, by the goroutine
// that serves it.
func (x *h2Exchange) recoverPanic(serve *bool) {
	if p := recover(); p != nil {
		x.s.logPanic(x.c, p)
		x.broken = true
		*serve = true
	}
}

// doneFeeding is called when the engine has processed the head, or a frame of the body, and
// returns serve: whether the exchange must be served now. If the stream was reset meanwhile,
// doneFeeding returns false, and the exchange is released.
func (x *h2Exchange) doneFeeding(serve bool) bool {
	h := x.h
	h.mu.Lock()
	if x.abortErr != nil {
		x.phase = h2Over
		h.mu.Unlock()
		h.s.h2.workers.Do(h2Task{h2Release, nil, x})
		return false
	}
	// until it is in the queue, an exchange to be served belongs to the engine
	x.feeding = serve
	h.mu.Unlock()
	return serve
}

// headReceived continues after the head of a request, and reports whether the exchange must be
// served now. If end is set there is no content.
func (x *h2Exchange) headReceived(end bool) (serve bool) {
	x.count(&x.h.now)
	next := x.plan(end, x.h.waited)
	if next == planRefuse || next == planServe {
		return true
	}
	if x.expect == expectsContinue {
		x.h.mu.Lock()
		x.awaits100 = true
		x.h.mu.Unlock()
	}
	if !x.extended {
		x.setDeadline(&x.readUntil, x.readTime())
	}
	if x.parses = next == planParse; x.parses || next == planStream {
		x.streamContent(false)
		return true
	}
	x.send100()
	x.awaitContent()
	return false
}

// refuseLate refuses a request that has waited too long for a goroutine that serves it.
func (x *h2Exchange) refuseLate() {
	if x.refusal == nil && x.waitsTooLong(clock.Monotonic()-x.waitsSince) {
		x.refusal = ErrQueueTime
	}
}

// send100 sends 100 (Continue) if the client waits for it.
func (x *h2Exchange) send100() {
	x.h.mu.Lock()
	wake := x.queue100()
	x.h.mu.Unlock()
	if wake {
		x.h.Wake()
	}
}

// queue100 is send100 for a caller that holds mu, and that calls Wake if queue100
// returns true.
func (x *h2Exchange) queue100() (wake bool) {
	h := x.h
	if !x.awaits100 {
		return false
	}
	x.awaits100 = false
	if x.abortErr != nil || !h.conn.CanSend(x.stream, http2.SendInterim) {
		return false
	}
	b := h.conn.Encoder().AppendStatus(h.conn.BeginHeaders(), StatusContinue)
	h.conn.EndHeaders(x.stream, b, http2.SendInterim)
	return h.Wakes()
}

// received takes content or trailers. It reports whether take must be called, after mu was
// released. mu is held.
func (x *h2Exchange) received(ev *http2.Event, m *http2.Message) bool {
	conn := &x.h.conn
	n := len(ev.Payload)
	x.spendWait(n)
	if ev.Kind == http2.Trailers && x.in != nil {
		x.in.PutTrailers(m)
	}
	switch {
	case x.in != nil && x.in.Put(ev.Payload, ev.End):
	case x.phase != h2Collects || x.abortErr != nil:
		conn.Consumed(x.stream, n)
	case x.s.set.maxBodySize >= x.bodyLimit() && !conn.Keep(x.stream, n):
		conn.Reset(x.stream, http2.RefusedStream)
		return x.abort(ErrRequestBodyMemory)
	default:
		if x.s.set.maxBodySize < x.bodyLimit() {
			conn.Consumed(x.stream, n)
		}
		x.feeding = true
		return true
	}
	return false
}

// take takes a part of a body that is collected. It reports whether the exchange must be served
// now: because end is set, which ends the body, because the body is a large form, or because of an
// error.
func (x *h2Exchange) take(p []byte, end bool) (serve bool) {
	if !x.feeding {
		// the stream was reset, since there is no room for the body
		x.s.h2.workers.Do(h2Task{h2Release, nil, x})
		return false
	}
	x.collect(p, end)
	if !x.doneFeeding(x.parses || end || x.refusal != nil) {
		return false
	}
	if x.parses {
		x.streamContent(end)
		return true
	}
	x.collected()
	return true
}

// InterruptBody implements bodymem.Request. No goroutine waits for the body.
func (x *h2Exchange) InterruptBody() {}

// ClaimStalledBody implements bodymem.Request.
func (x *h2Exchange) ClaimStalledBody() (confirm func() (end func())) {
	h := x.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if x.phase != h2Collects || x.feeding || x.abortErr != nil {
		return nil
	}
	x.phase = h2Serves
	return func() (end func()) {
		return func() {
			x.refusal = ErrRequestBodyMemory
			h.dispatch(x)
			h.s.h2.workers.Do(h2Task{h2Lead, h, nil})
		}
	}
}

// abort records why nothing more is sent or received. It reports whether no goroutine uses the
// exchange: then the caller makes a worker release it. mu is held.
func (x *h2Exchange) abort(why error) bool {
	if x.abortErr != nil {
		return false
	}
	x.abortErr = why
	if x.in != nil {
		x.in.Fail(truncatedError{why})
	}
	if x.watch != nil {
		x.watch.PeerGone(false)
	}
	x.out.Fail(why)
	if x.tunnel != nil {
		x.tunnel.Fail(why)
	}
	switch {
	case x.phase == h2Sends, x.phase == h2Collects && !x.feeding:
		x.phase = h2Over
		return true
	}
	return false
}

// limitPiece sets the deadline for the content that is passed to the connection, if pieces have
// their own time. Unless next is set, it does nothing while the previous piece is being sent,
// whose deadline applies until then.
func (x *h2Exchange) limitPiece(next bool) {
	timeout := x.ctx.Response.PieceTimeout
	if timeout <= 0 {
		return
	}
	x.h.mu.Lock()
	if next || x.stream.Unsent() == 0 {
		x.writeUntil, x.limitsPiece = time.Now().Add(timeout), true
	}
	x.h.mu.Unlock()
}

// setDeadline sets the deadline for the rest of the request or for the response, if there is one.
// It replaces a deadline that the handler has set.
func (x *h2Exchange) setDeadline(of *time.Time, timeout time.Duration) {
	if timeout <= 0 {
		return
	}
	x.h.mu.Lock()
	*of = time.Now().Add(timeout)
	x.h.mu.Unlock()
}

// checkDeadlines checks the deadlines, and reports whether expired must be called. slow is the result
// of isSlow. mu is held.
func (x *h2Exchange) checkDeadlines(slow bool) bool {
	switch {
	case x.abortErr != nil:
	case clock.Passed(x.writeUntil) && (!x.limitsPiece || x.stream.Unsent() > 0):
		x.h.conn.Reset(x.stream, http2.Cancel)
		return x.abort(errStreamDeadline)
	case x.stream.Receiving() >= http2.Ended || !clock.Passed(x.readUntil) && !slow:
	case x.in != nil:
		x.in.Fail(errStreamDeadline)
	case x.phase == h2Collects && !x.feeding:
		x.phase = h2Serves
		return true
	}
	return false
}

// awaitContent begins to measure how long the client is waited for, if content must arrive at a minimum
// rate.
func (x *h2Exchange) awaitContent() {
	if x.s.MinRequestBodyRate <= 0 {
		return
	}
	x.h.mu.Lock()
	x.beginWait()
	x.h.mu.Unlock()
}

// beginWait is awaitContent for a caller that holds mu.
func (x *h2Exchange) beginWait() {
	if !x.pace.begun {
		x.pace.spend(x.s, 0, 0)
	}
	x.pace.since = clock.Monotonic()
}

// spendWait records n bytes of content, which end the wait for the client, unless the content is
// collected. mu is held.
func (x *h2Exchange) spendWait(n int) {
	p := &x.pace
	if !p.begun {
		return
	}
	now, waited := clock.Monotonic(), time.Duration(0)
	if p.since != 0 {
		waited = now - p.since
	}
	p.spend(x.s, waited, int64(n))
	if p.since = now; x.in != nil {
		p.since = 0
	}
}

// isSlow reports whether the content arrives below the minimum rate. deaf, the time since the last
// tick in which the server did not read, does not count, nor does time in which a window keeps the
// client from sending. mu is held.
func (x *h2Exchange) isSlow(deaf time.Duration) bool {
	p := &x.pace
	if p.since == 0 {
		return false
	}
	now := clock.Monotonic()
	if !x.h.conn.MayReceive(x.stream) {
		p.since = now
		return false
	}
	p.since = min(p.since+deaf, now)
	return now-p.since >= p.left
}

// expired continues with a late exchange.
func (x *h2Exchange) expired() {
	if x.phase == h2Over {
		x.s.h2.workers.Do(h2Task{h2Release, nil, x})
		return
	}
	x.refusal = errStreamDeadline
	x.h.dispatch(x)
}

// streamContent makes the body a stream: first the part in memory, then the rest as it arrives.
// If end is set all of it has arrived.
func (x *h2Exchange) streamContent(end bool) {
	content := x.newContent(end)
	x.h.mu.Lock()
	x.content, x.in = &content.streamContent, &content.h2Incoming
	x.h.mu.Unlock()
	x.receiveStream(x.content)
}

// h2Content is the content of an HTTP/2 request, and its input.
type h2Content struct {
	streamContent
	h2Incoming
}

// newContent returns the content of the request. If end is set all of it has arrived.
func (x *h2Exchange) newContent(end bool) *h2Content {
	c := new(h2Content)
	c.streamContent.init(&x.streamExchange, &c.h2Incoming)
	c.h2Incoming.h, c.x = x.h, x
	c.Init(x.h, x.stream, x.framing)
	if end {
		c.End()
	}
	return c
}

// h2Incoming is the input of a request's content.
type h2Incoming struct {
	http2body.Incoming
	h *h2Conn
	x *h2Exchange // nil after the end of the exchange; guarded by the mutex of h
}

// endExchange is called when the exchange ends. mu is held.
func (c *h2Incoming) endExchange() {
	c.x = nil
	c.Detach(errReadingRevoked)
}

// Read implements streamInput.
func (c *h2Incoming) Read(p []byte) (int, error) {
	c.h.mu.Lock()
	says := false
	if x := c.x; x != nil {
		says = x.queue100()
		if x.s.MinRequestBodyRate > 0 && c.Unread() == 0 && x.method != http1.MethodConnect {
			x.beginWait()
		}
	}
	c.h.mu.Unlock()
	if says {
		c.h.Wake()
	}
	return c.Incoming.Read(p)
}

// Ahead implements streamInput.
func (c *h2Incoming) Ahead() int64 {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	n := int64(c.Unread())
	if left, known := c.Remaining(); known {
		n = max(n, left)
	}
	return n
}
