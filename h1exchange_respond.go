package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"

	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/watch"
)

// serve calls the handler for the request that was read, and answers it.
func (x *h1Exchange) serve() (engine.Action, bool) {
	x.h.servedSinceFlush++
	x.count(&x.h.now)
	if x.handle() {
		return x.respond(x.h.head.MethodID == http1.MethodHead)
	}
	return x.finishHandler(true)
}

// finishHandler answers the request once its handler has returned, or has panicked if ok is false.
func (x *h1Exchange) finishHandler(ok bool) (engine.Action, bool) {
	isHead := x.h.head.MethodID == http1.MethodHead
	switch end := x.reclaimCtx(ok); {
	case end == endedTimedOut:
		return x.respondTimeout(isHead)
	case end == endedInside && x.h.phases.Reading() == http1.ReadStream:
		return x.respondWhileReading(isHead, ok)
	case !ok:
		return x.endAfterPanic(isHead)
	}
	return x.respond(isHead)
}

// endAfterPanic answers with 500, or resets the connection if the handler panicked
// with http.ErrAbortHandler.
func (x *h1Exchange) endAfterPanic(isHead bool) (engine.Action, bool) {
	if x.c.IsAborted() {
		x.nothingSent(errNoResponse)
		x.h.phases.EndReading()
		return engine.Close, false
	}
	// the context may be inconsistent, so it is not reused
	left := x.ctx
	left.Request.closeSource()
	x.ctx = x.s.acquireCtx(x.c)
	x.ctx.requestNum, x.ctx.receivedAt = left.requestNum, left.receivedAt
	x.ctx.traced, left.traced = left.traced, nil
	if x.s.set.reports || x.s.ResponseReady != nil {
		left.Request.copyTextTo(&x.ctx.Request)
		x.ctx.Request.values, left.Request.values = left.Request.values, nil
		x.ctx.remoteAddr = left.remoteAddr
	}
	left.discard()
	x.ctx.Response.SetStatusCode(StatusInternalServerError)
	x.ctx.Response.SetBodyString(StatusMessage(StatusInternalServerError))
	return x.respondAndClose(isHead)
}

// abandon ends a request that gets no response, or no more of it, because code of the
// application has panicked or ended the goroutine. The context may be inconsistent, so it is
// not reused. Goroutines that still have it learn from its watch that the request has ended.
func (x *h1Exchange) abandon() {
	if x.ctx == nil {
		x.releaseBodyMemory()
		return
	}
	end := x.reclaimCtx(false)
	if end != endedByPanic && x.h.phases.Reading() == http1.ReadStream {
		// a late handler may be reading the body, so the exchange is left to it
		if !x.h.phases.ReadingDetached() {
			x.h.phases.SetLife(http1.LifeDetached)
		}
		x.readingRevoked.Store(true)
	}
	switch end {
	case endedTimedOut:
		x.replaceCtx()
	case endedInside:
		x.detachBodyMemory(x.ctx.lateRun.ctx)
	default:
		x.ctx.Request.closeSource()
	}
	x.releaseBodyMemory()
	x.nothingSent(errNoResponse)
	x.ctx.discard()
	x.ctx = nil
}

// respondTimeout answers with the timeout response, and leaves the context to a handler that has
// timed out and still uses it.
func (x *h1Exchange) respondTimeout(isHead bool) (engine.Action, bool) {
	x.replaceCtx()
	reads := x.h.phases.Reading() == http1.ReadStream
	if reads {
		// the handler may be reading the body, so the exchange is also left to it; closing
		// the connection ends the reading. Earlier responses were written before the
		// handler was called.
		x.h.phases.SetLife(http1.LifeDetached)
		x.readingRevoked.Store(true)
	}
	switch resp := &x.ctx.Response; {
	case x.c.IsAborted():
		_ = resp.body.CloseStream()
		x.nothingSent(errNoResponse)
		x.h.phases.EndReading()
	case reads:
		x.sendWhileReading(resp, isHead)
	default:
		return x.respond(isHead)
	}
	if reads {
		return engine.CloseDetached, true
	}
	return engine.Close, false
}

// respondWhileReading answers if a handler within a TimeoutHandler is late and may be reading the
// body. The handlers around it use ctx, and have set its response, or, if ok is false, have
// panicked. The body stream stays in ctx.
func (x *h1Exchange) respondWhileReading(isHead, ok bool) (engine.Action, bool) {
	ctx := x.ctx
	x.detachBodyMemory(ctx.lateRun.ctx)
	x.h.phases.SetLife(http1.LifeDetached)
	x.readingRevoked.Store(true)
	resp := &ctx.Response
	if !ok && !x.c.IsAborted() {
		_ = resp.body.CloseStream()
		resp.Reset()
		x.s.configureResponse(resp)
		resp.SetStatusCode(StatusInternalServerError)
		resp.SetBodyString(StatusMessage(StatusInternalServerError))
	}
	if x.c.IsAborted() {
		x.nothingSent(errNoResponse)
	} else {
		x.sendWhileReading(resp, isHead)
	}
	if w := ctx.watch.Load(); w != nil {
		x.endWatch(w, true)
	}
	ctx.discard()
	x.ctx = x.s.acquireCtx(x.c)
	return engine.CloseDetached, true
}

// sendWhileReading sends the last response on a connection from which a late handler may be
// reading.
func (x *h1Exchange) sendWhileReading(resp *Response, isHead bool) {
	x.checkStatus()
	x.finishResponse()
	x.checkStatus()
	resp.SkipBody = resp.SkipBody || isHead
	tunnel, _ := x.opensTunnel()
	e := x.encode(tunnel, true)
	resp.Header.head.RecordResponse(e)
	x.limitResponse()
	x.beginSending(0)
	out := countingWriter{w: x.c.NC}
	w := bufio.NewWriter(&out)
	_, err := w.Write(resp.Header.head.AppendResponse(nil, &x.s.start, e))
	if err == nil {
		err = writeBody(w, &resp.body, e, &resp.Header.head)
	} else {
		_ = resp.body.CloseStream()
	}
	if err == nil {
		err = w.Flush()
	}
	x.delivery.size = out.n
	if err != nil {
		x.abort(err)
		return
	}
	x.sent()
}

// countingWriter counts written bytes.
type countingWriter struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// ctxReplaced implements serverTransport. A body still arriving is left, too: see answerLate.
func (x *h1Exchange) ctxReplaced() {}

// respond sends the response: it puts the response into out, or writes a body stream. If isHead
// is set there is no body.
func (x *h1Exchange) respond(isHead bool) (engine.Action, bool) {
	if x.s.ResponseReady != nil {
		x.checkStatus() // the hook gets the response to be sent
		x.finishResponse()
	}
	x.checkStatus()
	ctx := x.ctx
	resp := &ctx.Response
	if isHead {
		resp.SkipBody = true
	}
	if ctx.Request.source != nil && !x.mayReadRequest() && !ctx.hijackImmediately {
		// the response can then announce whether the connection closes because of the rest. This
		// does not wait, since the peer may wait for the response before it sends more;
		// drainAfterResponse does
		x.drainOrClose(false)
	}
	tunnel, connected := false, false
	if x.h.head.MethodID == http1.MethodConnect {
		if tunnel, connected = x.opensTunnel(); tunnel {
			resp.SkipBody = true
		}
	}
	if ctx.hijack == nil && (connected || resp.Header.head.StatusCode() < StatusOK) {
		// after a status below 200 the peer still waits for a final response, and would
		// mistake the next response for it
		x.h.phases.End()
	}
	closing := x.wantsClose()
	if ctx.hijack != nil {
		closing = x.prepareHijack(closing)
	}
	body := resp.body.Bytes()
	var e http1.Encoding
	if !closing && !tunnel && x.h.minor > 0 && resp.isUsual() {
		e = http1.Sized(len(body))
	} else if e = x.encode(tunnel, closing); e.Flags.Has(http1.EndsConn) {
		x.h.phases.End()
	}
	x.recordHead(e)
	switch {
	case ctx.hijack != nil && ctx.hijackNoResponse:
		if resp.StatusCode() == StatusSwitchingProtocols {
			// the HijackHandler sends it
			x.beginSending(0)
		}
		x.endRequest()
		return engine.Read, false
	case resp.body.Stream != nil && e.Kind != http1.NoBody:
		if x.queueFile(e) {
			return engine.Flush, true
		}
		if x.beginPush(e) {
			return x.respondPush(e)
		}
		x.respondStream(e)
		return engine.Read, false
	}
	out := x.h.output()
	from := len(out.B)
	out.B = resp.Header.head.AppendResponse(out.B, &x.s.start, e)
	switch {
	case e.Kind == http1.NoBody:
		_ = resp.body.CloseStream()
	case e.Kind == http1.Chunks:
		x.respondChunk(out)
	case len(body) <= copyLimit:
		out.Grow(len(body))
		out.B = append(out.B, body...)
	default:
		x.h.tail = body
	}
	if x.h.tail != nil || x.s.set.reports {
		x.beginSending(len(out.B) - from + len(x.h.tail))
		x.h.phases.SetWriting(http1.WriteQueued)
		return engine.Flush, true
	}
	x.endRequest()
	return engine.Read, false
}

// opensTunnel reports whether the response to CONNECT turns the connection into a tunnel. If
// so, the response has neither content nor framing, and the bytes that the peer sends after
// its request are not a request (RFC 9110 section 9.3.6). If the target is a path, which RFC
// 9110 does not define, only a hijacked connection becomes a tunnel.
//
// The second result reports whether a front end may treat the connection as a tunnel. The
// connection then ends, unless it was hijacked: a front end forwards all bytes of a tunnel
// unchecked, so the server must not take them for requests.
func (x *h1Exchange) opensTunnel() (tunnel, connected bool) {
	connected = x.ctx.Response.StatusCode()/100 == 2
	h := &x.ctx.Request.Header.head
	// a context that has replaced another one has no target
	return connected && (x.ctx.hijack != nil || !h.Is(header.WasRead) || h.Target()[0] != '/'), connected
}

// encode decides how the response is framed. If closing is set the connection ends after it.
func (x *h1Exchange) encode(tunnel, closing bool) http1.Encoding {
	o := x.ctx.Response.outgoing()
	if tunnel {
		o.Terms |= http1.BeginsTunnel
	}
	if closing {
		o.Terms |= http1.ConnEnds
	}
	if x.h.minor == 0 {
		o.Terms |= http1.PeerIsOld
	}
	return o.Encode()
}

// respondChunk puts a body in memory into out as one chunk, and the trailers after it.
func (x *h1Exchange) respondChunk(out *bufpool.Buffer) {
	resp := &x.ctx.Response
	if body := resp.body.Bytes(); len(body) > 0 {
		out.B = http1.AppendChunkStart(out.B, len(body))
		out.Grow(len(body))
		out.B = append(out.B, body...)
		out.B = http1.AppendChunkEnd(out.B)
	}
	out.B = http1.AppendLastChunk(out.B)
	out.B = resp.Header.head.AppendTrailers(out.B)
}

// largeResponse is the size in bytes above which the system may still hold much of a response
// that was written. The system would drop that if bytes arrived on a closed connection.
const largeResponse = 16 << 10

// respondStream writes a response whose body is a stream. It may wait for the peer.
func (x *h1Exchange) respondStream(e http1.Encoding) {
	resp := &x.ctx.Response
	if e.Kind == http1.UntilClose && x.ctx.Request.arrives() {
		x.h.phases.Linger()
	}
	// the response stream may read the request body, and 100 (Continue) must be sent before
	// the response
	if x.duplex {
		x.continueMu.Lock()
	}
	if x.h.phases.Waiting() == http1.WaitOpen && x.ctx.Request.arrives() && x.mayReadRequest() {
		x.send100()
	}
	if x.duplex {
		x.continueMu.Unlock()
	}
	out := x.h.output()
	from := len(out.B)
	out.B = resp.Header.head.AppendResponse(out.B, &x.s.start, e)
	if resp.PieceTimeout == 0 {
		x.limitResponse()
	} else {
		x.limitPiece()
	}
	x.h.phases.SetWriting(http1.WriteStream)
	defer x.h.phases.SetWriting(http1.WriteIdle)
	x.beginSending(0)
	w := streamOutput{x: x, conn: x.h.blocking(), from: from, sent: -int64(from)}
	x.output = &w
	defer func() { x.output = nil }()
	taker, _ := resp.body.Stream.(bridge.ConnHijacker)
	if taker != nil {
		taker.OfferConn()
	}
	err := error(nil)
	if resp.ImmediateHeaderFlush {
		err = w.Flush()
	}
	if err == nil {
		err = x.writeStream(&w, e)
	} else {
		_ = resp.body.CloseStream()
	}
	taken := taker != nil && err == bridge.ErrConnHijacked
	if taken {
		taker.HijackConn(x.ctx)
	}
	if err == nil || taken {
		err = w.Flush()
	}
	if err != nil {
		// another protocol would be taken for content
		x.ctx.hijackDropped = true
		if taken {
			x.ctx.hijack, x.ctx.switched, x.ctx.hijackImmediately = nil, nil, false
		}
		// the peer notices that the message is cut off; if the end of the connection would
		// end the message properly, a reset is needed
		x.s.logWriteError(x.c, err)
		x.h.fault = err
		x.failDelivery(err)
		x.h.phases.End()
		x.h.out.B = x.h.out.B[:w.from]
		if w.broken || w.flushed && e.Kind == http1.UntilClose {
			x.c.Abort()
		}
	}
	x.delivery.size = w.sent
	x.endRequest()
}

// writeStream writes a streamed body, by sendFile if possible.
func (x *h1Exchange) writeStream(w *streamOutput, e http1.Encoding) error {
	resp := &x.ctx.Response
	if span, ok := resp.body.Stream.(fileSpan); ok && e.Kind == http1.Length && e.Length > 0 && resp.PieceTimeout == 0 {
		if known, err := x.sendFile(w, span); known {
			return err
		}
	}
	return writeStream(w, &resp.body, e, &resp.Header.head)
}

// sendFile makes the system copy a body from its file to the connection. It returns false, and
// does nothing, if the system cannot do that.
func (x *h1Exchange) sendFile(w *streamOutput, span fileSpan) (known bool, err error) {
	body := &x.ctx.Response.body
	file, offset, length := span.span()
	if file == nil || length != int64(body.Size) {
		return false, nil
	}
	send := engine.FileSender(w.conn)
	if send == nil {
		return false, nil
	}
	defer body.EndStream(&err)
	out := x.h.output()
	w.from, w.flushed = 0, true
	sent, err := send(out.B, file, offset, length)
	if err == nil || sent > 0 {
		w.sent += int64(len(out.B)) + sent
	}
	out.B = out.B[:0]
	x.h.servedSinceFlush = 0
	if w.broken = err != nil; errors.Is(err, io.ErrUnexpectedEOF) {
		// the connection works, and the sent bytes should arrive
		w.broken = false
		err = shortFile(sent, length)
	}
	return true, err
}

// streamOutput writes to a connection through out.
type streamOutput struct {
	x       *h1Exchange
	conn    net.Conn
	from    int   // where the message begins in out
	sent    int64 // bytes of the message that were written; negative by the bytes of out before it
	flushed bool  // part of the message was written
	broken  bool  // the connection takes no more
}

func (w *streamOutput) Write(p []byte) (int, error) {
	out := w.x.h.output()
	if len(out.B)+len(p) > flushSize {
		if err := w.Flush(); err != nil {
			return 0, err
		}
		if len(p) >= copyLimit {
			w.limit()
			n, err := w.conn.Write(p)
			w.sent += int64(n)
			w.broken = err != nil
			return n, err
		}
	}
	out.Grow(len(p))
	out.B = append(out.B, p...)
	return len(p), nil
}

func (w *streamOutput) Flush() error {
	w.from, w.flushed = 0, true
	w.limit()
	n, err := w.x.h.flushTo(w.conn)
	w.sent += int64(n)
	w.broken = err != nil
	return err
}

// limit starts the time of the next write, if each of them has its own.
func (w *streamOutput) limit() {
	if w.x.ctx.Response.PieceTimeout != 0 {
		w.x.limitPiece()
	}
}

// abort resets the connection after an error or a timeout of writing. If the connection were
// closed cleanly, the system would keep the output for minutes if the peer does not read.
func (x *h1Exchange) abort(err error) {
	x.s.logWriteError(x.c, err)
	x.c.Abort()
	if x.delivery.on {
		x.failDelivery(err)
		x.sent()
	}
}

// endRequest prepares the exchange for the next request, once the response is in out or
// written.
//
// A connection that ends lingers if bytes have arrived after the request, or if bytes may
// still arrive before the peer has a large response.
func (x *h1Exchange) endRequest() {
	ctx := x.ctx
	isHijacked := ctx.hijack != nil && !ctx.hijackDropped
	if w := ctx.watch.Load(); w != nil && isHijacked {
		x.unwatchPeer() // endHijacked ends the watch
	} else if w != nil {
		x.endWatch(w, ctx.lendsBody())
	}
	large := x.delivery.size > largeResponse
	if x.s.set.reports {
		x.sent()
	} else if large {
		x.delivery.size = 0 // the next response may be a small one
	}
	if ctx.Request.source != nil && !ctx.hijackImmediately {
		x.drainAfterResponse()
	}
	x.h.timing = timesWait
	if x.bodyMemory != nil {
		x.endBodyMemory()
	}
	if x.pace.begun {
		x.endPace()
	}
	switch {
	case isHijacked:
		x.h.phases.EndReading()
		x.h.phases.SetLife(http1.LifeHijacked)
		return
	case x.h.phases.Ends():
		if large || len(x.h.pending()) > 0 {
			x.h.phases.Linger()
		}
		x.h.phases.EndReading()
	default:
		x.h.phases.SetReading(http1.ReadIdle)
	}
	if ctx.watch.Load() == nil && ctx.Request.source == nil && !ctx.timedOut() {
		ctx.reset()
		return
	}
	x.resetCtx()
}

// prepareHijack decides whether the HijackHandler will be called, and reports whether the
// connection closes instead.
func (x *h1Exchange) prepareHijack(closing bool) bool {
	ctx := x.ctx
	if ctx.hijackNoResponse {
		return false
	}
	stops := x.c.Stopping() && x.s.CloseOnShutdown
	asked := stops || !x.h.phases.KeepAlive() || ctx.Request.Header.head.Is(header.Closing) || ctx.Response.Header.head.Is(header.Closing)
	ctx.hijackDropped = asked
	if stops && ctx.Response.StatusCode() == StatusSwitchingProtocols {
		// no other protocol follows
		ctx.Error(StatusMessage(StatusServiceUnavailable), StatusServiceUnavailable)
	}
	return asked && closing
}

// queueFile gives a body from a file to an engine that sends it piece by piece, as the peer
// takes it, so that no goroutine waits. It returns false, and does nothing, if the body is not
// a file, if its bytes are not sent unchanged, or if the engine does not send files.
func (x *h1Exchange) queueFile(e http1.Encoding) bool {
	resp := &x.ctx.Response
	span, ok := resp.body.Stream.(fileSpan)
	if !ok || !x.h.link.SendsFiles() || resp.ImmediateHeaderFlush || resp.PieceTimeout != 0 || e.Kind != http1.Length {
		return false
	}
	if x.ctx.Request.arrives() {
		// 100 (Continue) may have to be sent before the body is read
		return false
	}
	file, offset, length := span.span()
	if file == nil || length <= 0 || length != int64(resp.body.Size) {
		return false
	}
	out := x.h.output()
	from := len(out.B)
	out.B = resp.Header.head.AppendResponse(out.B, &x.s.start, e)
	x.h.file = engine.FilePart{File: file, Offset: offset, Length: length}
	x.beginSending(len(out.B) - from + int(length))
	x.h.phases.SetWriting(http1.WriteQueued)
	return true
}

// fileEnded is called if a file ends before the announced length was sent. The connection
// ends, so that the peer notices; it still gets the bytes that were sent.
func (x *h1Exchange) fileEnded() {
	size := int64(x.ctx.Response.body.Size)
	err := shortFile(size-x.h.file.Length, size)
	x.s.logWriteError(x.c, err)
	x.h.fault = err
	x.failDelivery(err)
	x.delivery.size -= x.h.file.Length // which will never be written
	x.h.phases.End()
}

func shortFile(sent, size int64) error {
	return fmt.Errorf("%w: %d of %d bytes: %w", errShortStream, sent, size, io.ErrUnexpectedEOF)
}

// detachCtx removes the context of a request whose connection was hijacked from the exchange. The
// HijackHandler may use the context; when it returns, the user values are closed.
func (x *h1Exchange) detachCtx() *RequestCtx {
	ctx := x.ctx
	x.ctx = nil
	// the rest of the body is not read, and a hijacked connection may last for days
	ctx.Request.RemoveMultipartFormFiles()
	ctx.Request.closeSource()
	c := x.c
	ctx.c = &engine.Conn{Set: c.Set, NC: c.NC, ID: c.ID, Opened: c.Opened, Service: c.Service, IsTLS: c.IsTLS, Requests: c.Requests}
	return ctx
}

// runHijacked calls the HijackHandler of a request, and ends the request.
func (s *Server) runHijacked(ctx *RequestCtx, hc *hijackedConn) {
	handler, returned := ctx.hijack, false
	ctx.hijack = nil
	var onShutdown *watch.Func
	if ctx.hijackReleases {
		onShutdown = ctx.takeShutdownFuncs()
		s.endHijacked(ctx, true)
		ctx = nil
	}
	defer func() {
		if r := recover(); r != nil {
			s.logger().Printf("fasthttp: panic in a HijackHandler: %v\n%s", r, debug.Stack())
		}
		if !returned || !s.KeepHijackedConns {
			_ = hc.Close()
		}
		onShutdown.End()
		if ctx != nil {
			s.endHijacked(ctx, returned)
		}
	}()
	handler(hc)
	returned = true
}

// endHijacked releases the context of a request whose connection was hijacked. The context is
// not reused if the handler did not return or the Done channel was closed.
func (s *Server) endHijacked(ctx *RequestCtx, returned bool) {
	defer s.catchPanic("a user value")
	w := ctx.watch.Load()
	if w != nil {
		s.watches.Finish(w)
	}
	if !returned || w != nil && !w.Finished() {
		ctx.discard()
		return
	}
	s.releaseCtx(ctx)
}

// hijackedConn is a connection whose Read first returns the bytes that were read ahead.
type hijackedConn struct {
	net.Conn
	ahead []byte
}

// Read implements net.Conn.
func (c *hijackedConn) Read(p []byte) (int, error) {
	if len(c.ahead) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.ahead)
	if c.ahead = c.ahead[n:]; len(c.ahead) == 0 {
		c.ahead = nil
	}
	return n, nil
}

// UnsafeConn returns the underlying connection. Bytes that were read ahead cannot be read from
// it.
func (c *hijackedConn) UnsafeConn() net.Conn { return c.Conn }

// Buffered returns the number of bytes that were read ahead.
func (c *hijackedConn) Buffered() int { return len(c.ahead) }
