package fasthttp

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/recvbuf"
	"github.com/valyala/fasthttp/internal/watch"
)

// h1Exchange is an exchange on an HTTP/1 connection. It belongs to an h1Conn, and serves the
// requests of the connection one after the other.
//
// The life of a request begins with advanceHead, which h1Conn.advance calls, and then
// advanceBody if the content is collected. The other methods follow from these two:
//
//	advanceHead   begin, for the first byte; then reads the head
//	headReceived  admit, and then one of:
//	                planServe    serve
//	                planCollect  advanceBody, each time that more has arrived
//	                planStream   newSource
//	                planParse    newSource, serveForm
//	                planRefuse   refuse or refuseUnread: buildRefusal, respond
//	serve         count, handle; then answer if reclaimCtx is needed
//	respond       puts the response into the output, or writes a stream
//	endRequest    prepares for the next request, once the response is in the output or written
//
// An h1Exchange does not wait for the peer, except for a streamed body, in either direction:
// then it asks its link for a connection whose Read and Write wait.
type h1Exchange struct {
	exchange
	h *h1Conn

	recv     content.Receiver
	pace     pace
	delivery delivery      // of the response, for Server.ResponseSent
	output   *streamOutput // of the response whose body is a stream, while it is written

	toDrain     int               // how many bytes of the body may still be discarded, see drain
	freeContent *content.Incoming // for the next streamed body, or nil
	// continueMu is held while 100 (Continue), or another informational response, is sent, if
	// duplex is set: one goroutine may be reading the body while another responds.
	continueMu     lockorder.Mutex[lockorder.H1Exchange]
	watching       atomic.Bool // the engine watches the client for the handler
	readingRevoked atomic.Bool // a late handler has the body, and must read no more of it
}

var _ serverTransport = (*h1Exchange)(nil)

// advanceHead reads the head of a request, as far as it has arrived. The second result of it,
// and of the methods below, reports whether the engine must perform the action before the
// exchange can continue; if not, the action is ignored.
func (x *h1Exchange) advanceHead() (engine.Action, bool) {
	b := x.h.pending()
	if x.h.phases.Idle() {
		if x.s.set.unencryptedHTTP2 && x.c.NoRequestYet() {
			if next, wait := x.checkPreface(b); wait {
				return next, true
			}
		}
		if len(b) > 0 && b[0] == '\r' {
			if b = x.h.skipEmptyLines(b); len(b) == 1 && b[0] == '\r' {
				b = nil
			}
		}
		if len(b) == 0 {
			return x.h.flushThen(engine.Read), true
		}
		if x.h.servedSinceFlush >= pipelineBatch || x.h.out != nil && len(x.h.out.B) >= flushSize {
			return engine.Flush, true
		}
		x.begin()
	}
	h := &x.ctx.Request.Header
	n, err := h.head.Feed(http1.Request, &x.h.head, b)
	if err == nil && n == 0 {
		return x.h.flushThen(engine.Read), true
	}
	if err == nil {
		x.h.consume(n)
		err = x.h.head.CheckRequest(h.head.List.Block)
	}
	if err != nil {
		return x.refuse(requestError(b, err))
	}
	return x.headReceived()
}

// begin prepares the exchange for a request whose first byte has arrived.
func (x *h1Exchange) begin() {
	if x.c.HasEscaped() && x.h.phases.Reading() == http1.ReadIdle {
		x.h.forgetDeadlines()
	}
	x.h.phases.SetReading(http1.ReadHead)
	if x.h.phases.Waiting() != http1.WaitNever {
		x.h.phases.SetWaiting(http1.WaitNever)
	}
	x.c.Empty = 0
	if x.ctx == nil {
		x.ctx = x.s.acquireCtx(x.c)
	} else if x.ctx.c == nil {
		x.ctx.serveOn(x.c)
	}
	x.ctx.used = true
	x.ctx.Request.isTLS = x.c.IsTLS
	// the context was reset after the last response
	x.h.head.Reset()
	x.terms, x.refusal = requestTerms{}, nil
	x.h.minor, x.duplex = 1, false
}

// headReceived continues after the head of a request, as admit has decided.
func (x *h1Exchange) headReceived() (engine.Action, bool) {
	h, framing := x.h, x.h.head.Framing
	if h.timing != timesWait {
		// the head has not arrived at once
		x.endHead()
	}
	h.minor = uint8(h.head.Minor)
	if x.ctx.Request.Header.head.Is(header.Closing) {
		h.phases.SetLife(http1.LifeLast)
	}
	expects := expectsNothing
	if h.minor > 0 && h.head.Has(http1.Expects) {
		expects = expectationOf(&h.head)
	}
	next := x.admit(framing, expects, h.waited, false)
	if x.s.Trace != nil && x.h.now.IsZero() && x.tracesHead(framing) {
		x.h.now = clock.MomentOf(x.ctx.traced.head)
	}
	if x.terms.readTimeout > 0 {
		h.timing = timesWait
	}
	switch next {
	case planServe:
		h.phases.SetReading(http1.ReadDone)
		if h.head.MethodID != http1.MethodGet {
			x.ctx.Request.finalizeEmpty()
		}
		return x.serve()
	case planRefuse:
		if x.terms.refuseStatus != 0 || x.refusal == ErrQueueTime {
			return x.refuseUnread(framing)
		}
		return x.refuse(x.refusal)
	}
	if expects == expectsContinue && (framing.Kind == http1.Chunks || framing.Length > 0) {
		h.phases.SetWaiting(http1.WaitOpen)
	}
	if next == planCollect {
		_ = x.recv.Start(framing, x.bodyLimit()) // admit has checked the length
		x.send100()
		h.phases.SetReading(http1.ReadBody)
		return x.advanceBody()
	}
	h.phases.SetReading(http1.ReadStream)
	x.limitRequest()
	h.blocking()
	if err := x.flushNow(); err != nil {
		return x.flushFailed(err)
	}
	source := x.newSource()
	source.StartIn(x, framing, &x.ctx.Request.Header.head, x.s.AcceptTrailer)
	x.ctx.Request.setSource(source, x.ctx.Request.Header.head.Length)
	if next == planParse {
		return x.serveForm(nil)
	}
	return x.serve()
}

// flushFailed ends the connection after an error of writing earlier output, before the
// handler is called.
func (x *h1Exchange) flushFailed(err error) (engine.Action, bool) {
	x.abort(err)
	x.h.fault = err
	x.h.phases.EndReading()
	return engine.Close, false
}

// send100 adds 100 (Continue) to the output if the client waits for it.
func (x *h1Exchange) send100() {
	if x.h.phases.Waiting() == http1.WaitOpen {
		x.h.phases.SetWaiting(http1.WaitOver)
		out := x.h.output()
		out.B = append(out.B, "HTTP/1.1 100 Continue\r\n\r\n"...)
	}
}

// advanceBody collects the body of the request in memory, as far as it has arrived.
func (x *h1Exchange) advanceBody() (engine.Action, bool) {
	req := &x.ctx.Request
	b := x.h.pending()
	if len(b) == 0 && !x.recv.Decoder.Done() {
		return x.h.flushThen(engine.Read), true
	}
	if more := x.recv.Grown(&req.body, len(b)); more > aheadRoom {
		if err := x.growBody(more); err != nil {
			return x.refuse(err)
		}
	}
	n, done, err := x.recv.Feed(b, &req.body, &req.Header.head)
	if n > 0 {
		x.h.consume(n)
	}
	// a small body that has arrived is not counted, so reserveBodyMemory is not needed
	if err == nil && (!done || x.recv.Got > content.OwnBuffer) {
		if room := x.bodyRoom(req.body.Capacity()); room > uncountedBody {
			err = x.reserveBodyMemory(room, n, done)
		}
	}
	if err != nil {
		return x.refuse(err)
	}
	if x.parsesForm(x.h.head.Framing, x.recv.Got) {
		return x.parseRest(done)
	}
	if !done {
		return x.h.flushThen(engine.Read), true
	}
	x.h.phases.SetReading(http1.ReadDone)
	req.finalizeEmpty()
	if x.s.Trace != nil {
		x.traceBody()
	}
	return x.serve()
}

// flushNow writes the bytes in out, and waits until the peer takes them. It is called before
// the response to the current request, or in the middle of it.
func (x *h1Exchange) flushNow() error {
	if x.h.out == nil || len(x.h.out.B) == 0 {
		return nil
	}
	if x.output != nil {
		// the response is made from the request body, for which it is flushed here
		return x.output.Flush()
	}
	if x.h.phases.Writing() != http1.WriteStream {
		x.limitResponse()
	}
	_, err := x.h.flushTo(x.h.blocking())
	return err
}

// wantsClose reports whether the connection should end after the current request.
func (x *h1Exchange) wantsClose() bool {
	ctx := x.ctx
	return !x.h.phases.KeepAlive() || x.c.Stopping() || x.s.servesLast(x.c.Requests) ||
		ctx.Request.Header.head.Is(header.Closing) || ctx.Response.Header.head.Is(header.Closing)
}

// parseRest serves a request with a large form, whose beginning is in memory. done reports
// whether all of it is there; otherwise the rest is parsed as it arrives.
func (x *h1Exchange) parseRest(done bool) (engine.Action, bool) {
	x.h.phases.SetReading(http1.ReadStream)
	x.h.setReadUntil(x.h.requestUntil)
	x.h.blocking()
	if err := x.flushNow(); err != nil {
		return x.flushFailed(err)
	}
	source := x.newSource()
	if !done {
		source.ResumeIn(x, x.recv.Decoder, &x.ctx.Request.Header.head, x.s.AcceptTrailer)
	}
	return x.serveForm(x.streamBody(source))
}

// serveForm serves a request whose form is parsed as it arrives.
func (x *h1Exchange) serveForm(beginning *bufpool.Buffer) (engine.Action, bool) {
	if err := x.parseForm(beginning); err != nil {
		return x.refuse(err)
	}
	return x.serve()
}

// formParsed implements serverTransport.
func (x *h1Exchange) formParsed() {
	x.drainOrClose(true)
	// the handler gets the parsed form, so it cannot read from the connection
	x.h.phases.SetReading(http1.ReadDone)
}

// refuse answers a refused request, and ends the connection.
func (x *h1Exchange) refuse(why error) (engine.Action, bool) {
	x.refusal = why
	if why != ErrRequestRefused {
		x.h.fault = why
	}
	x.bodyArrived()
	x.stampRefused()
	// the method may be known although the head cannot be read
	isHead := x.h.head.MethodID == http1.MethodHead
	return x.respondAndClose(x.buildRefusal() || isHead)
}

// respondAndClose sends the response, and ends the connection after it.
func (x *h1Exchange) respondAndClose(isHead bool) (engine.Action, bool) {
	x.ctx.Response.SetConnectionClose()
	if x.h.phases.Reading() != http1.ReadDone {
		x.h.phases.SetReading(http1.ReadDone)
	}
	x.h.phases.Linger()
	return x.respond(isHead)
}

// refuseUnread answers a request that Server.HeaderReceived has refused, or that has waited too
// long. To keep the connection, it drains the body within the limits for bodies that a handler leaves unread.
func (x *h1Exchange) refuseUnread(framing http1.Framing) (engine.Action, bool) {
	req := &x.ctx.Request
	x.stampRefused()
	x.h.servedSinceFlush++
	x.count(&x.h.now)
	ctx := x.ctx
	isHead := x.buildRefusal()
	if x.ctx != ctx {
		// the first one is left to goroutines of the application
		return x.respondAndClose(isHead)
	}
	if framing.Kind == http1.NoBody {
		x.h.phases.SetReading(http1.ReadDone)
		req.finalizeEmpty()
		return x.respond(isHead)
	}
	x.h.phases.SetReading(http1.ReadStream)
	if x.h.head.Has(http1.Expects) {
		x.h.phases.SetWaiting(http1.WaitOver)
	}
	x.limitRequest()
	source := x.newSource()
	source.StartIn(x, framing, &req.Header.head, nil)
	req.source = source
	if x.drain(false) == bodyio.DrainedLater && framing.Kind == http1.Chunks {
		// the length of the rest is unknown
		x.h.phases.Linger()
	}
	return x.respond(isHead)
}

// sendInterim implements serverTransport.
func (x *h1Exchange) sendInterim(status int, h *ResponseHeader, only field.ID) error {
	if x.duplex {
		// another goroutine may be reading the body, and send 100 (Continue)
		x.continueMu.Lock()
		defer x.continueMu.Unlock()
	}
	out := x.h.output()
	out.B = http1.AppendUsualStatusLine(out.B, status)
	if only == 0 {
		out.B = h.head.AppendList(out.B, http1.Response, 0)
	} else {
		for i := h.head.List.FindID(only, 0); i >= 0; i = h.head.List.FindID(only, i+1) {
			out.B = http1.AppendKnown(out.B, only, h.head.List.Value(i))
		}
	}
	out.B = append(out.B, strCRLF...)
	return x.flushNow()
}

// watchPeer implements serverTransport.
func (x *h1Exchange) watchPeer(w *watch.Watch) {
	if x.watching.CompareAndSwap(false, true) {
		x.h.link.Watch(w, x.mayReadAhead())
	}
}

// unwatchPeer implements serverTransport.
func (x *h1Exchange) unwatchPeer() {
	if x.watching.CompareAndSwap(true, false) && x.h.link.Unwatch() {
		x.h.readUntil = time.Time{}
	}
}

// mayReadAhead reports whether the next bytes on the connection do not belong to the
// current request.
func (x *h1Exchange) mayReadAhead() bool {
	return !(x.h.phases.Reading() == http1.ReadStream && x.ctx.Request.arrives()) && len(x.h.pending()) == 0
}

var _ recvbuf.Source = (*h1Exchange)(nil)

// newSource returns a source for the body of the current request. The caller starts it.
func (x *h1Exchange) newSource() *content.Incoming {
	c := x.freeContent
	if x.freeContent = nil; c == nil {
		c = new(content.Incoming)
	}
	x.toDrain = drainLimit
	return c
}

// reclaim keeps the source of a request that has ended, for another one. It is not called if
// the context was left to the application, which may read from the source at any time.
func (x *h1Exchange) reclaim(source content.Source) {
	if c, ok := source.(*content.Incoming); ok {
		c.Forget()
		x.freeContent = c
	}
}

// Peek implements recvbuf.Source, from which a content.Incoming decodes a streamed body.
func (x *h1Exchange) Peek() []byte { return x.h.pending() }

// Discard implements recvbuf.Source.
func (x *h1Exchange) Discard(n int) {
	if n > 0 {
		x.h.consume(n)
	}
}

// Fill implements recvbuf.Source.
func (x *h1Exchange) Fill() error {
	if x.readingRevoked.Load() {
		return errReadingRevoked
	}
	if err := x.send100AndFlush(); err != nil {
		return err
	}
	n, err := 0, error(nil)
	if conn := x.h.blocking(); x.s.MinRequestBodyRate > 0 {
		n, err = x.awaitPaced(conn)
	} else {
		n, err = x.awaitBody(conn)
	}
	if n > 0 {
		if x.bodyMemory != nil {
			x.bodyMemory.Progress(n)
		}
		x.h.Received(n, engine.Arrival{})
		return nil
	}
	return err
}

// errReadingRevoked is the error of reading a body that was still arriving when its handler timed
// out.
var errReadingRevoked = errors.New("fasthttp: the rest of the body is not read since the handler has timed out")

// send100AndFlush prepares for reading more of a streamed body: it sends 100 (Continue) if the
// client waits for it, and flushes other output that the client may be waiting for. If duplex
// is set it leaves the other output to the goroutine that writes the response.
func (x *h1Exchange) send100AndFlush() error {
	if !x.duplex {
		x.send100()
		return x.flushNow()
	}
	x.continueMu.Lock()
	defer x.continueMu.Unlock()
	if x.h.phases.Waiting() != http1.WaitOpen {
		return nil
	}
	x.send100()
	return x.flushNow()
}

// bodyRoom returns how much memory the body of the current request takes, in bytes, if its
// buffer has this size. For a large body that includes the space for reading, if the engine
// keeps that while it waits.
func (x *h1Exchange) bodyRoom(size int) int {
	if x.c.HasReadGoroutine && (x.h.in != nil && cap(x.h.in.B) >= bodyReadSize || x.recv.Decoder.Remaining() > bodyReadSize) {
		size += bodyReadSize
	}
	return size
}

// growBody gives the body of the current request a buffer of the size. It counts the buffer
// first, and fails without allocating it if the limit is reached.
func (x *h1Exchange) growBody(size int) error {
	if err := x.reserveBodyMemory(x.bodyRoom(size), 0, false); err != nil {
		return err
	}
	x.s.bodies.Tidy()
	x.ctx.Request.body.Grow(size)
	return nil
}

// awaitBody reads more of the body from the connection, and waits for it. Meanwhile a body
// that stalls may be ended, to make room for other requests.
func (x *h1Exchange) awaitBody(conn net.Conn) (int, error) {
	h := x.bodyMemory
	if h == nil {
		return netio.Some(conn, x.h.idleReadBuffer())
	}
	h.Block()
	n, err := netio.Some(conn, x.h.idleReadBuffer())
	if !h.Resume() {
		return 0, ErrRequestBodyMemory
	}
	return n, err
}

// InterruptBody implements bodymem.Request.
func (x *h1Exchange) InterruptBody() {
	x.h.link.Interrupt()
	// the goroutine may get a processor much later
	x.ctx.Request.body.ReleaseBuffer()
}

// ClaimStalledBody implements bodymem.Request.
func (x *h1Exchange) ClaimStalledBody() (confirm func() (end func())) {
	claimed := x.h.link.ClaimStalled(x.h)
	if claimed == nil {
		return nil
	}
	return func() (end func()) {
		if stop := claimed(); stop != nil {
			end = func() { stop(ErrRequestBodyMemory) }
		}
		return end
	}
}

// drainLimit is how many bytes of an unread body are discarded to keep the connection.
const drainLimit = 256 << 10

// drain discards the rest of a streamed body, which the handler has left unread. It discards
// only bytes that have arrived, unless mayWait is set. It never waits for a peer that may
// itself wait for 100 (Continue).
func (x *h1Exchange) drain(mayWait bool) bodyio.Drained {
	source := x.ctx.Request.source
	switch {
	case source.Ended():
		return bodyio.DrainedAll
	case x.h.phases.Waiting() != http1.WaitNever:
		return bodyio.DrainedNever
	case mayWait:
		return source.Drain(&x.toDrain)
	}
	return source.DrainArrived(&x.toDrain)
}

// drainOrClose drains the body, and makes the connection end if the beginning of the next request
// cannot be found.
func (x *h1Exchange) drainOrClose(mayWait bool) {
	if x.drain(mayWait) == bodyio.DrainedNever {
		x.h.phases.Linger()
	}
}

// mayReadRequest reports whether sending the response may read the body of the request. That
// is the case if the response body is a stream, unless the stream is of a file or of memory, or
// the handler has closed the body of the request.
func (x *h1Exchange) mayReadRequest() bool {
	if content, ok := x.ctx.Request.source.(*content.Incoming); ok && content.Closed() {
		return false
	}
	stream := x.ctx.Response.body.Stream
	if e, ok := stream.(*bodyio.Encoded); ok {
		stream = *e.Source()
	}
	switch stream.(type) {
	case nil:
		return false
	case fileSpan, *files.Part, *bytes.Reader, *strings.Reader:
		// but another goroutine may be reading the request
		return x.duplex
	}
	return true
}

// drainAfterResponse flushes the response, and drains the part of the body that arrives after it. A
// connection that closes anyway only lingers.
func (x *h1Exchange) drainAfterResponse() {
	if x.ctx.Request.source.Ended() || x.h.phases.Lingers() || x.h.fault != nil {
		return
	}
	if err := x.flushNow(); err != nil {
		x.abort(err)
		x.h.phases.End()
		return
	}
	if x.h.phases.Ends() {
		x.h.phases.Linger()
		return
	}
	x.drainOrClose(true)
}

// delivery is the state of the response being written.
type delivery struct {
	on       bool  // Server.ResponseSent will be called for it
	reported bool  // Server.ResponseSent was called
	size     int64 // in bytes
	err      error // why the response was cut off, or nil
}

// beginSending is called before a response of size bytes is written.
func (x *h1Exchange) beginSending(size int) {
	x.delivery.on, x.delivery.size = x.s.set.reports, int64(size)
}

// failDelivery records why the rest of the response is not written.
func (x *h1Exchange) failDelivery(err error) {
	if x.delivery.on {
		x.delivery.err = err
	}
}

// sent reports the response to Server.ResponseSent: all of it was written, or no more of it
// will be.
func (x *h1Exchange) sent() {
	d := &x.delivery
	if x.s.set.reports {
		report := SentResponse{Refused: x.refusal, Err: d.err}
		if d.on {
			report.StatusCode = x.ctx.Response.StatusCode()
			report.Bytes = max(d.size-x.unsent(), 0)
		}
		d.reported = true // it may end the goroutine
		protocol := protocolHTTP11
		if x.h.minor == 0 {
			protocol = protocolHTTP10
		}
		x.reportSent(protocol, report)
	}
	*d = delivery{}
}

// nothingSent reports to Server.ResponseSent that a request has begun and gets no response.
func (x *h1Exchange) nothingSent(err error) {
	if !x.s.set.reports || x.ctx == nil || !x.h.phases.Begun() || x.delivery.reported {
		return
	}
	x.stampRefused()
	x.delivery.on, x.delivery.err = false, err
	x.sent()
}

// unsent returns how many bytes of the response are still to be written.
func (x *h1Exchange) unsent() int64 {
	n := int64(len(x.h.tail)) + x.h.file.Length
	if x.h.out != nil {
		n += int64(len(x.h.out.B))
	}
	return n
}

// stampRefused sets the number and the time of a refused request, for the hooks of its response.
func (x *h1Exchange) stampRefused() {
	ctx := x.ctx
	if (x.s.set.reports || x.s.ResponseReady != nil) && !x.s.LazyRequestTime && ctx.receivedAt.IsZero() {
		ctx.requestNum, ctx.receivedAt = x.c.Requests+1, clock.Read()
	}
}
