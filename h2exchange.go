package fasthttp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
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
//	                planCollect  collect, for each frame of content
//	                planStream, planParse  receiveStream
//	h2Conn.queue  waits for a goroutine that serves; from here on the exchange is its own
//	serve         parseForm, for planParse; handle, or buildRefusal; reclaimCtx if needed
//	respond       puts the response into http2.Conn, or writes it piece by piece
//	release       close, which calls the application, and finish, which ends the stream
//
// The fields that both goroutines use are guarded by the mutex of the connection.
type h2Exchange struct {
	exchange
	h      *h2Conn
	stream *http2.Stream
	next   *h2Exchange // in h2Conn.queue, or in a list of unused exchanges

	method    http1.MethodID
	framing   http1.Framing
	expect    expectation
	got       int64           // bytes of a body collected in memory
	parses    bool            // the body is a form, parsed before the handler is called
	extended  bool            // the request is an extended CONNECT (RFC 8441)
	beginning *bufpool.Buffer // the beginning of the form, which was collected in memory

	// guarded by the mutex
	phase         h2Phase
	before, after *h2Exchange // of h2Conn.first
	feeding       bool        // the engine is processing the head, or appending to the body
	awaits100     bool        // the client waits for 100 (Continue)
	abortErr      error       // why nothing more is sent or received, or nil
	content       *h2Content  // of a streamed body, or nil
	watch         *watch.Watch
	out           http2body.Outgoing // of a response written piece by piece
	tunnel        *h2Tunnel          // which the application has taken over, or nil
	readUntil     time.Time
	writeUntil    time.Time
	limitsPiece   bool // writeUntil is only for the content that was passed to the connection

	waitsSince time.Duration // for a goroutine that serves it, by clock.Monotonic, if that is limited

	unwanted bool // the stream was reset early, so the handler is not called
	broken   bool // a hook has panicked, so the handler is not called

	sent   int64  // bytes of the response, including the frame of its head
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

// truncatedError is the error of reading content that was cut off. As with HTTP/1 it wraps
// io.ErrUnexpectedEOF, whatever the reason.
type truncatedError struct{ why error }

func (e truncatedError) Error() string   { return e.why.Error() }
func (e truncatedError) Unwrap() []error { return []error{e.why, io.ErrUnexpectedEOF} }

var (
	errH2ConnEnded  = errors.New("fasthttp: the connection of the request has ended")
	errH2LargeHead  = headerError("request", http1.ErrLongHead)
	errH2ManyFields = headerError("request", http1.ErrManyFields)
	errH2Target     = headerError("request", http1.ErrTarget)
	errH2Host       = headerError("request", http1.ErrHost)
)

// h2RequestError returns the error of a malformed request that gets a response: the same error as with
// HTTP/1.
func h2RequestError(e *http2.Error) error {
	switch e {
	case http2.ErrTarget:
		return errH2Target
	case http2.ErrHost:
		return errH2Host
	}
	return nil
}

// fill gives the request the head in m. mu is held, which only the lists of m need.
func (x *h2Exchange) fill(m *http2.Message) {
	head := &m.Head
	h := &x.ctx.Request.Header
	h.fillBlock(http1.Request, m)
	x.method, x.framing = head.MethodID, head.Framing
	x.expect = expectationOf(head)
	if m.Protocol.Len > 0 {
		h.slots[slotProtocol] = m.Protocol
		x.extended = true
	}
}

// proceed continues after an event, and reports whether the exchange must be served now. m has
// the section of the event, if there is one.
func (x *h2Exchange) proceed(ev *http2.Event, m *http2.Message) (serve bool) {
	switch ev.Kind {
	case http2.Data:
		return x.collect(ev.Payload, ev.End)
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
		x.refusal = x.ctx.Request.Header.addSection(&m.Fields, x.s.AcceptTrailer)
	}
	return x.collect(ev.Payload, ev.End)
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
	if x.refusal != nil {
		x.clearTimes()
		return true
	}
	framing := x.framing
	switch {
	case end:
		framing.Kind = http1.NoBody
	case framing.Kind == http1.NoBody:
		framing.Kind = http1.UntilClose
	}
	next := x.admit(framing, x.expect, x.h.waited, x.method == http1.MethodConnect)
	switch next {
	case planRefuse:
		return true
	case planServe:
		x.ctx.Request.finalizeEmpty()
		return true
	}
	x.framing = framing
	if framing.Kind != http1.Length {
		x.ctx.Request.Header.contentLength = -1
	}
	if x.expect == expectsContinue {
		x.h.mu.Lock()
		x.awaits100 = true
		x.h.mu.Unlock()
	}
	if !x.extended {
		x.limitReading()
	}
	if x.parses = next == planParse; x.parses || next == planStream {
		x.receiveStream(false)
		return true
	}
	x.send100()
	return false
}

// refuseLate refuses a request that has waited too long for a goroutine that serves it.
func (x *h2Exchange) refuseLate() {
	if x.waitsSince != 0 && x.refusal == nil && x.waitsTooLong(clock.Monotonic()-x.waitsSince) {
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

// received takes content or trailers. It reports whether collect must be called, after mu was
// released. mu is held.
func (x *h2Exchange) received(ev *http2.Event, m *http2.Message) bool {
	conn := &x.h.conn
	n := len(ev.Payload)
	if ev.Kind == http2.Trailers && x.content != nil {
		x.content.in.PutTrailers(m)
	}
	switch {
	case x.content != nil && x.content.in.Put(ev.Payload, ev.End):
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

// collect appends p to the body. It reports whether the exchange must be served now: because
// end is set, which ends the body, because the body is a large form, or because of an error.
func (x *h2Exchange) collect(p []byte, end bool) (serve bool) {
	if !x.feeding {
		// the stream was reset, since there is no room for the body
		x.s.h2.workers.Do(h2Task{h2Release, nil, x})
		return false
	}
	body := &x.ctx.Request.body
	if x.got += int64(len(p)); x.got > int64(x.bodyLimit()) {
		x.refusal = ErrBodyTooLarge
	} else if len(p) > 0 {
		if left := x.framing.Length - x.got; x.framing.Kind == http1.Length && left > 0 && left <= uncountedBody {
			body.makeRoom(len(p), int64(len(p))+left)
		}
		body.write(p)
		if room := body.capacity(); room > uncountedBody {
			x.refusal = x.reserveBodyMemory(room, len(p), end)
		}
	}
	if x.refusal == nil {
		x.parses = x.parsesForm(x.framing, x.got)
	}
	if !x.doneFeeding(x.parses || end || x.refusal != nil) {
		return false
	}
	if x.parses {
		x.receiveStream(end)
		return true
	}
	x.bodyArrived()
	x.ctx.Request.finalizeEmpty()
	if x.s.Trace != nil && x.refusal == nil {
		x.traceBody()
	}
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
	if x.content != nil {
		x.content.in.Fail(truncatedError{why})
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

// limitReading and limitWriting set the deadlines for the rest of the request, and for the
// response. They replace deadlines that the handler has set.
func (x *h2Exchange) limitReading() {
	x.setDeadline(&x.readUntil, positive(x.terms.readTimeout, x.s.ReadTimeout))
}

func (x *h2Exchange) limitWriting() {
	x.setDeadline(&x.writeUntil, positive(x.terms.writeTimeout, x.s.WriteTimeout))
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

func (x *h2Exchange) setDeadline(of *time.Time, timeout time.Duration) {
	if timeout <= 0 {
		return
	}
	x.h.mu.Lock()
	*of = time.Now().Add(timeout)
	x.h.mu.Unlock()
}

// checkDeadlines checks the deadlines, and reports whether expired must be called. mu is held.
func (x *h2Exchange) checkDeadlines() bool {
	switch {
	case x.abortErr != nil:
	case !x.writeUntil.IsZero() && passed(x.writeUntil) && (!x.limitsPiece || x.stream.Unsent() > 0):
		x.h.conn.Reset(x.stream, http2.Cancel)
		return x.abort(errH2DeadlineExceeded)
	case x.readUntil.IsZero() || !passed(x.readUntil) || x.stream.Receiving() >= http2.Ended:
	case x.content != nil:
		x.content.in.Fail(errH2DeadlineExceeded)
	case x.phase == h2Collects && !x.feeding:
		x.phase = h2Serves
		return true
	}
	return false
}

// expired continues with a late exchange.
func (x *h2Exchange) expired() {
	if x.phase == h2Over {
		x.s.h2.workers.Do(h2Task{h2Release, nil, x})
		return
	}
	x.refusal = errH2DeadlineExceeded
	x.h.dispatch(x)
}

// errH2DeadlineExceeded is the error of a deadline that has passed.
var errH2DeadlineExceeded error = h2Timeout{}

type h2Timeout struct{}

func (h2Timeout) Error() string   { return "fasthttp: the time for the request or its response is over" }
func (h2Timeout) Timeout() bool   { return true }
func (h2Timeout) Temporary() bool { return true }

// Is reports whether target is os.ErrDeadlineExceeded, as for timeouts of a net.Conn.
func (h2Timeout) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// receiveStream makes the body a stream: first the part in memory, then the rest as it arrives.
// If end is set all of it has arrived.
func (x *h2Exchange) receiveStream(end bool) {
	req := &x.ctx.Request
	content := newH2Content(x, end)
	x.h.mu.Lock()
	x.content = content
	x.h.mu.Unlock()
	if len(req.body.bytes()) == 0 {
		// the body may have a buffer from an earlier request
		req.setSource(content, req.Header.contentLength)
		return
	}
	x.beginning = x.streamBody(content)
}

// formParsed implements serverTransport.
func (x *h2Exchange) formParsed() {
	limit := drainLimit
	x.content.Drain(&limit)
}

// h2Content is the content of an HTTP/2 request, read while it arrives.
//
// It outlives its exchange if a late handler still has it.
type h2Content struct {
	h      *h2Conn
	x      *h2Exchange // nil after the end of the exchange; guarded by the mutex of h
	in     http2body.Incoming
	accept trailerFilter

	// used by the reader
	trailerTarget *header // gets the trailer section
	limited       bool
	limit         int64
	over          error // from Limit, or from the trailer section
	done          bool  // io.EOF was returned
}

var (
	_ contentSource       = (*h2Content)(nil)
	_ ReadCloserWithError = (*h2Content)(nil)
)

// newH2Content returns the content of the request of x. If end is set all of it has arrived.
func newH2Content(x *h2Exchange, end bool) *h2Content {
	c := &h2Content{h: x.h, x: x, accept: x.s.AcceptTrailer, trailerTarget: &x.ctx.Request.Header.header}
	c.in.Init(x.h, x.stream, x.framing)
	if end {
		c.in.End()
	}
	return c
}

// endExchange is called when the exchange ends. mu is held.
func (c *h2Content) endExchange() {
	c.x = nil
	c.in.Detach(errReadingRevoked)
}

// Read implements io.Reader.
func (c *h2Content) Read(p []byte) (int, error) {
	if c.over != nil {
		return 0, c.over
	}
	if len(p) == 0 {
		return 0, nil
	}
	if c.limited && c.limit < int64(len(p)) {
		// one more byte shows whether the content exceeds the limit
		p = p[:c.limit+1]
	}
	c.h.mu.Lock()
	says := c.x != nil && c.x.queue100()
	c.h.mu.Unlock()
	if says {
		c.h.Wake()
	}
	n, err := c.in.Read(p)
	if err == io.EOF && !c.done {
		// the goroutine of the reader owns the header
		c.done = true
		if c.over = c.trailerTarget.addSection(c.in.Section(), c.accept); c.over != nil {
			return 0, c.over
		}
	}
	if c.limited && int64(n) > c.limit {
		n, err, c.over = int(c.limit), ErrBodyTooLarge, ErrBodyTooLarge
	}
	c.limit -= int64(n)
	return n, err
}

// Interrupt ends the reading now, even if a goroutine waits in Read. Package fasthttpadaptor
// calls it, from any goroutine.
func (c *h2Content) Interrupt() { _ = c.in.Close() }

// Close implements io.Closer.
func (c *h2Content) Close() error { return c.in.Close() }

// CloseWithError implements ReadCloserWithError.
func (c *h2Content) CloseWithError(error) error { return c.Close() }

// Limit implements contentSource.
func (c *h2Content) Limit(n int64) error {
	if n = max(n, 0); !c.limited || n < c.limit {
		c.limited, c.limit = true, n
	}
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	if left, known := c.in.Remaining(); known && left > c.limit || int64(c.in.Unread()) > c.limit {
		c.over = ErrBodyTooLarge
	}
	return c.over
}

// Drain implements contentSource.
func (c *h2Content) Drain(limit *int) bodyio.Drained {
	buf := bufpool.Get(bodyReadSize)
	defer bufpool.Put(buf)
	for *limit > 0 {
		n, err := c.Read(buf.B[:min(cap(buf.B), *limit)])
		*limit -= n
		if err == io.EOF {
			return bodyio.DrainedAll
		}
		if err != nil {
			break
		}
	}
	return bodyio.DrainedNever
}

// DrainArrived implements contentSource. It discards nothing: unread content does not block
// other streams.
func (c *h2Content) DrainArrived(*int) bodyio.Drained {
	if c.Ended() {
		return bodyio.DrainedAll
	}
	return bodyio.DrainedNever
}

// Ended implements contentSource.
func (c *h2Content) Ended() bool { return c.in.Ended() }

// trailersTo implements contentSource.
func (c *h2Content) trailersTo(h *header) { c.trailerTarget = h }
