package fasthttp

import (
	"bytes"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http3"
	"github.com/valyala/fasthttp/internal/watch"
)

// h3Exchange is an exchange on an HTTP/3 stream. One goroutine serves it from the head of the
// request to the end of the response, and waits for the client in Read and Write of the stream.
//
//	receive   admit; then, for its plan, collect or receiveStream
//	serve     handle, or buildRefusal; reclaimCtx if needed
//	respond   sends the response
//	release   calls the application, and ends the stream
type h3Exchange struct {
	exchange
	h      *h3Conn
	stream http3.Stream

	method  http1.MethodID
	framing http1.Framing
	expect  expectation

	content *h3Content // of a streamed body, or nil
	now     clock.Moment
	start   *blockStart // of the last usual response, or nil; kept for other requests
	startOf *Server     // which has sent start

	// mu guards the beginning of the response, since goroutines of a handler may send informational
	// ones
	mu        sync.Mutex
	awaits100 bool // the client waits for 100 (Continue)
	begun     bool // the final response has begun, or there is none

	watchMu   sync.Mutex // guards the fields below
	watch     *watch.Watch
	stopWatch func() bool
	watched   bool // so a call of PeerGone may still be under way

	sent     int64 // bytes of the response
	ended    bool  // the stream was ended or reset
	abortErr error // why the response was cut off, or nil
}

// run serves the exchange, and releases it. It sets lent if the content was a stream.
func (x *h3Exchange) run(r *http3.Request, lent *bool) {
	ended := false
	defer func() {
		if !ended {
			// the panic is still on the stack
			x.failed(recover())
		}
		*lent = x.content != nil
		x.release()
	}()
	x.fill(r)
	x.serve(r)
	ended = true
}

// fill gives the request its head.
func (x *h3Exchange) fill(r *http3.Request) {
	m := r.Message
	x.refusal = faultOf(r.Fault)
	x.method = m.Head.MethodID
	if r.Fault == http3.LargeHead || r.Fault == http3.ManyFields {
		return
	}
	h := &x.ctx.Request.Header
	h.fillBlock(http1.Request, m)
	h.line[lineVersion] = h.list.Append(strHTTP3)
	x.framing = m.Head.Framing
	x.expect = expectationOf(&m.Head)
	if m.Protocol.Len > 0 {
		h.slots[slotProtocol] = m.Protocol
	}
}

// failed continues after a panic with the value p, or, if p is nil, after the end of the
// goroutine. If the handler has called a TimeoutError method before its panic, that response must
// be sent.
func (x *h3Exchange) failed(p any) {
	if p == nil || x.s.logPanic(x.c, p) || !x.handling || x.reclaimCtx(false) != endedTimedOut {
		x.abandon()
		return
	}
	x.replaceCtx()
	ended := false
	defer func() {
		if ended {
			return
		}
		if p := recover(); p != nil {
			x.s.logPanic(x.c, p)
		}
		x.abandon()
	}()
	x.respond()
	ended = true
}

// abandon ends a request whose handler, or a hook, has panicked or has ended its goroutine. The
// context may be inconsistent, so it is not reused.
func (x *h3Exchange) abandon() {
	if x.reclaimCtx(false) == endedTimedOut {
		// goroutines of the application still use it
		x.replaceCtx()
	}
	ctx := x.ctx
	x.reset()
	// the hook may end the goroutine
	defer func() {
		x.detachBodyMemory(ctx)
		ctx.Request.closeSource()
		ctx.discard()
		x.ctx = nil
	}()
	x.report(SentResponse{Refused: x.refusal, Err: errNoResponse})
}

// reset ends the stream without the end of a response.
func (x *h3Exchange) reset() {
	if !x.ended {
		x.ended = true
		x.stream.Reset()
	}
}

// serve calls the handler, and sends the response.
func (x *h3Exchange) serve(r *http3.Request) {
	if x.abortErr = x.receive(r.End); x.abortErr != nil {
		x.reset()
		return
	}
	if x.refusal != nil {
		x.buildRefusal()
		x.respond()
		return
	}
	if !x.handle() {
		switch x.reclaimCtx(true) {
		case endedTimedOut:
			x.replaceCtx()
		case endedInside:
			x.ctxReplaced()
		}
	}
	x.respond()
}

// receive receives the content for the handler. If the request must be refused, it sets refusal. It
// returns an error if the client is gone. If end is set there is no content.
func (x *h3Exchange) receive(end bool) error {
	x.h.mu.Lock()
	x.count(&x.now)
	x.h.mu.Unlock()
	if x.refusal != nil {
		x.clearTimes()
		return nil
	}
	framing := x.framing
	switch {
	case end:
		framing.Kind = http1.NoBody
	case framing.Kind == http1.NoBody:
		framing.Kind = http1.UntilClose
	}
	next := x.admit(framing, x.expect, 0, x.method == http1.MethodConnect)
	switch next {
	case planRefuse:
		return nil
	case planServe:
		x.ctx.Request.finalizeEmpty()
		return nil
	}
	x.framing = framing
	if framing.Kind != http1.Length {
		x.ctx.Request.Header.contentLength = -1
	}
	x.awaits100 = x.expect == expectsContinue
	if timeout := positive(x.terms.readTimeout, x.s.ReadTimeout); timeout > 0 {
		_ = x.stream.SetReadDeadline(time.Now().Add(timeout))
	}
	if next == planCollect {
		return x.collect()
	}
	beginning := x.receiveStream()
	if next == planParse {
		x.refusal = x.parseForm(beginning)
	}
	return nil
}

// collect collects the body in memory.
func (x *h3Exchange) collect() error {
	x.send100()
	got := int64(0)
	for {
		p, err := x.next()
		switch {
		case x.refusal != nil:
			return nil
		case err == io.EOF:
			return x.collected()
		case isTimeout(err):
			x.refusal = errH2DeadlineExceeded
			return nil
		case err != nil:
			return truncatedError{err}
		}
		got += int64(len(p))
		if x.refusal = x.keep(p, got); x.refusal != nil {
			return nil
		}
		if x.parsesForm(x.framing, got) {
			x.refusal = x.parseForm(x.receiveStream())
			return nil
		}
	}
}

// next returns the next content of a collected body. If it was ended because of its memory,
// next sets refusal.
func (x *h3Exchange) next() ([]byte, error) {
	if x.bodyMemory == nil {
		return x.stream.Next(math.MaxInt)
	}
	x.bodyMemory.Block()
	p, err := x.stream.Next(math.MaxInt)
	if !x.bodyMemory.Resumed() {
		x.refusal = ErrRequestBodyMemory
	}
	return p, err
}

// keep appends p to the body, which then has got bytes.
func (x *h3Exchange) keep(p []byte, got int64) error {
	if got > int64(x.bodyLimit()) {
		return ErrBodyTooLarge
	}
	body := &x.ctx.Request.body
	if left := x.framing.Length - got; x.framing.Kind == http1.Length && left > 0 && left <= uncountedBody {
		body.makeRoom(len(p), int64(len(p))+left)
	}
	body.write(p)
	if room := body.capacity(); room > uncountedBody {
		return x.reserveBodyMemory(room, len(p), false)
	}
	return nil
}

// collected continues after the end of a body that was collected.
func (x *h3Exchange) collected() error {
	x.bodyArrived()
	if fields := x.stream.Trailers(); fields != nil {
		x.refusal = x.ctx.Request.Header.addSection(fields, x.s.AcceptTrailer)
	}
	x.ctx.Request.finalizeEmpty()
	if x.s.Trace != nil && x.refusal == nil {
		x.traceBody()
	}
	return nil
}

// InterruptBody implements bodymem.Request.
func (x *h3Exchange) InterruptBody() {
	_ = x.stream.SetReadDeadline(pastTime)
	// the goroutine may get a processor much later
	x.ctx.Request.body.releaseBuffer()
}

// pastTime is a deadline that has passed.
var pastTime = time.Unix(1, 0)

// ClaimStalledBody implements bodymem.Request. A goroutine serves each request.
func (x *h3Exchange) ClaimStalledBody() (confirm func() (end func())) { return nil }

// receiveStream makes the body a stream: first the part in memory, then the rest as it arrives.
func (x *h3Exchange) receiveStream() (beginning *bufpool.Buffer) {
	req := &x.ctx.Request
	x.content = &h3Content{x: x, stream: x.stream, accept: x.s.AcceptTrailer, trailerTarget: &req.Header.header}
	x.content.left = -1
	if x.framing.Kind == http1.Length {
		x.content.left = x.framing.Length
	}
	if len(req.body.bytes()) == 0 {
		// the body may have a buffer from an earlier request
		req.setSource(x.content, req.Header.contentLength)
		return nil
	}
	if x.content.left >= 0 {
		x.content.left -= int64(len(req.body.bytes()))
	}
	return x.streamBody(x.content)
}

// formParsed implements serverTransport.
func (x *h3Exchange) formParsed() {
	limit := drainLimit
	x.content.Drain(&limit)
}

// ctxReplaced implements serverTransport.
func (x *h3Exchange) ctxReplaced() {
	if x.content != nil {
		x.content.revoke()
	}
}

// setDeadlines implements deadliner.
func (x *h3Exchange) setDeadlines(read, write *time.Time) {
	if read != nil {
		_ = x.stream.SetReadDeadline(*read)
	}
	if write != nil {
		_ = x.stream.SetWriteDeadline(*write)
	}
}

// h3Content is the content of an HTTP/3 request, read while it arrives. It outlives its exchange
// if a late handler still has it.
type h3Content struct {
	x      *h3Exchange // not reused, since there is content
	stream http3.Stream
	accept trailerFilter

	// used by the reader
	trailerTarget *header // gets the trailer section
	left          int64   // how many bytes follow, or -1
	limited       bool
	limit         int64
	over          error // why nothing more is read

	revoked, closed, ended atomic.Bool
}

var (
	_ contentSource       = (*h3Content)(nil)
	_ ReadCloserWithError = (*h3Content)(nil)
)

// revoke ends the reading for good, in whatever goroutine.
func (c *h3Content) revoke() {
	c.revoked.Store(true)
	_ = c.stream.SetReadDeadline(pastTime)
}

// Read implements io.Reader.
func (c *h3Content) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.limited && c.limit < int64(len(p)) {
		// one more byte shows whether the content exceeds the limit
		p = p[:c.limit+1]
	}
	b, err := c.next(len(p))
	return copy(p, b), err
}

// WriteTo implements io.WriterTo. It spares a copy.
func (c *h3Content) WriteTo(w io.Writer) (n int64, err error) {
	for {
		b, err := c.next(math.MaxInt)
		if len(b) > 0 {
			k, failed := w.Write(b)
			if n += int64(k); failed != nil {
				return n, failed
			}
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// next returns up to n bytes of content.
func (c *h3Content) next(n int) (b []byte, err error) {
	switch {
	case c.revoked.Load():
		return nil, errReadingRevoked
	case c.closed.Load():
		return nil, errStreamClosed
	case c.over != nil:
		return nil, c.over
	}
	c.x.send100()
	b, err = c.stream.Next(n)
	switch {
	case err == nil:
	case c.revoked.Load():
		return nil, errReadingRevoked
	case c.closed.Load():
		return nil, errStreamClosed
	case err == io.EOF:
		if c.over = io.EOF; c.stream.Trailers() != nil {
			if failed := c.trailerTarget.addSection(c.stream.Trailers(), c.accept); failed != nil {
				c.over = failed
			}
		}
		c.ended.Store(true)
		return nil, c.over
	case isTimeout(err):
		return nil, errH2DeadlineExceeded
	default:
		c.over = truncatedError{err}
		return nil, c.over
	}
	if c.left > 0 {
		c.left -= int64(len(b))
	}
	if c.limited && int64(len(b)) > c.limit {
		b, c.over = b[:c.limit], ErrBodyTooLarge
		err = c.over
	}
	c.limit -= int64(len(b))
	return b, err
}

// Interrupt ends the reading now, even if a goroutine waits in Read. Package fasthttpadaptor calls
// it, from any goroutine.
func (c *h3Content) Interrupt() { _ = c.Close() }

// Close implements io.Closer.
func (c *h3Content) Close() error {
	if !c.closed.Swap(true) && !c.ended.Load() {
		_ = c.stream.SetReadDeadline(pastTime)
	}
	return nil
}

// CloseWithError implements ReadCloserWithError.
func (c *h3Content) CloseWithError(error) error { return c.Close() }

// Limit implements contentSource.
func (c *h3Content) Limit(n int64) error {
	if n = max(n, 0); !c.limited || n < c.limit {
		c.limited, c.limit = true, n
	}
	if c.left > c.limit {
		c.over = ErrBodyTooLarge
	}
	if c.over == io.EOF {
		return nil
	}
	return c.over
}

// Drain implements contentSource.
func (c *h3Content) Drain(limit *int) bodyio.Drained {
	for *limit > 0 {
		b, err := c.next(*limit)
		*limit -= len(b)
		if err == io.EOF {
			return bodyio.DrainedAll
		}
		if err != nil {
			break
		}
	}
	return bodyio.DrainedNever
}

// DrainArrived implements contentSource. It discards nothing: unread content does not block other
// streams.
func (c *h3Content) DrainArrived(*int) bodyio.Drained {
	if c.Ended() {
		return bodyio.DrainedAll
	}
	return bodyio.DrainedNever
}

// Ended implements contentSource.
func (c *h3Content) Ended() bool { return c.ended.Load() }

// trailersTo implements contentSource.
func (c *h3Content) trailersTo(h *header) { c.trailerTarget = h }

// isHTTP3 reports whether the message was received by HTTP/3.
func (h *header) isHTTP3() bool {
	return h.isHTTP2() && bytes.Equal(h.text(h.line[lineVersion]), strHTTP3)
}
