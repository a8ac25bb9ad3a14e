package fasthttp

import (
	"errors"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/watch"
)

var _ serverTransport = (*h2Exchange)(nil)

// run serves the exchange. If over is true, it has ended: no other goroutine uses it, and the
// caller closes and finishes it. If the handler panics, or ends its goroutine, run abandons
// the exchange.
func (x *h2Exchange) run() (over bool) {
	if x.broken {
		x.abandon()
		return false
	}
	ended := false
	defer func() {
		if !ended {
			// the stack is still that of the panic
			over = x.failed(recover())
		}
	}()
	over = x.serve()
	ended = true
	return over
}

// failed continues after a panic with the value p, or, if p is nil, after the end of the goroutine.
// If the handler has called a TimeoutError method before its panic, that response must be sent.
func (x *h2Exchange) failed(p any) (over bool) {
	if p == nil || x.s.logPanic(x.c, p) || !x.handling || x.reclaimCtx(false) != endedTimedOut {
		x.abandon()
		return false
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
	over = x.respond()
	ended = true
	return over
}

// serve calls the handler, and sends the response.
func (x *h2Exchange) serve() (over bool) {
	if x.refusal == nil && x.parses {
		x.refusal = x.parseForm(x.beginning)
	}
	if x.refusal != nil {
		x.buildRefusal()
		return x.respond()
	}
	if x.handle() {
		return x.respond()
	}
	switch x.reclaimCtx(true) {
	case endedTimedOut:
		x.replaceCtx()
	case endedInside:
		x.ctxReplaced()
	}
	return x.respond()
}

// ctxReplaced implements serverTransport.
func (x *h2Exchange) ctxReplaced() {
	if x.content != nil {
		x.h.mu.Lock()
		x.content.in.Fail(errReadingRevoked)
		x.h.mu.Unlock()
	}
}

// abandon ends a request whose handler, or a hook before it, has panicked or has ended its
// goroutine. The context may be inconsistent, so it is not reused.
func (x *h2Exchange) abandon() {
	h := x.h
	if x.reclaimCtx(false) == endedTimedOut {
		// goroutines of the application still use it
		x.replaceCtx()
	}
	ctx := x.ctx
	h.mu.Lock()
	h.conn.Reset(x.stream, http2.InternalError)
	h.mu.Unlock()
	// the hook may end the goroutine
	defer func() {
		x.detachBodyMemory(ctx)
		ctx.Request.closeSource()
		ctx.discard()
		x.ctx = nil
		x.release()
	}()
	x.report(SentResponse{Refused: x.refusal, Err: errNoResponse})
}

// errH2Hijack is sent to the client, and logged, if a handler hijacks the connection.
var errH2Hijack = errors.New("fasthttp: HTTP/2 has no connection for a handler to take over: use extended CONNECT (RFC 8441), or HTTP/1.1")

// respond sends the response. over reports whether the exchange has ended; if not, the engine
// still sends content, and then ends it.
func (x *h2Exchange) respond() (over bool) {
	s, ctx := x.s, x.ctx
	if x.method == http1.MethodConnect && x.connect() {
		return false
	}
	resp := &ctx.Response
	switch status := resp.StatusCode(); {
	case ctx.hijack != nil || status == StatusSwitchingProtocols:
		s.logger().Printf("%v", errH2Hijack)
		ctx.hijack, ctx.switched = nil, nil
		ctx.Error(errH2Hijack.Error(), StatusNotImplemented)
	case status < StatusOK, status > 999:
		s.logger().Printf("fasthttp: the status %d of a response is none of a final one", status)
		ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
	}
	if s.ResponseReady != nil {
		x.finishResponse()
	}
	if x.method == http1.MethodHead {
		resp.SkipBody = true
	}
	e, ends := x.encode()
	ends = ends || s.DisableKeepalive || s.MaxRequestsPerConn > 0 && ctx.requestNum >= uint64(s.MaxRequestsPerConn)
	x.recordHead(e)
	if resp.PieceTimeout == 0 || resp.body.stream == nil {
		x.limitWriting()
	}
	if ends {
		x.h.mu.Lock()
		x.h.startGoAway()
		x.h.mu.Unlock()
	}
	switch {
	case e.Kind == http1.NoBody:
		_ = resp.body.closeStream()
		return x.send(e, nil)
	case resp.body.stream != nil:
		x.sendStream(e)
		return true
	case e.Kind == http1.Chunks && resp.Header.trailers.Len() > 0:
		x.sendWithTrailers(e)
		return true
	}
	return x.send(e, resp.body.bytes())
}

// encode decides how the response is framed. ends reports whether the application wants the
// connection to end.
func (x *h2Exchange) encode() (e http1.Encoding, ends bool) {
	resp := &x.ctx.Response
	if x.method != http1.MethodConnect && resp.isUsual() {
		return http1.Sized(len(resp.body.bytes())), false
	}
	o := resp.outgoing()
	ends = o.Has(http1.AsksClose)
	o.Terms &^= http1.LineIsOld | http1.LineIsReceived | http1.AsksClose
	if e = o.Encode(); x.method == http1.MethodConnect && o.Status/100 == 2 {
		// the content is a tunnel's, which has no length
		e.Flags &^= http1.SendLength
	}
	return e, ends
}

// sendHead puts the head of the response into the output. It returns false if the stream has
// ended. mu is held.
func (x *h2Exchange) sendHead(e http1.Encoding, part http2.Part) bool {
	conn, resp := &x.h.conn, &x.ctx.Response
	if x.abortErr != nil || !conn.CanSend(x.stream, part) {
		return false
	}
	b := conn.BeginHeaders()
	from := len(b)
	b = resp.Header.appendBlock(b, conn.Encoder(), &x.h.start, x.s.name, e)
	x.sent += int64(len(b) - from + http2.FrameHeadSize)
	conn.EndHeaders(x.stream, b, part)
	if i := resp.Header.list.FindID(field.Priority, 0); i >= 0 {
		conn.SetPriority(x.stream, resp.Header.list.Value(i))
	}
	return true
}

// send sends a response whose body is in memory. over reports whether conn has taken all of it;
// if not, h2Conn.drained ends the exchange later.
func (x *h2Exchange) send(e http1.Encoding, body []byte) (over bool) {
	h := x.h
	part := http2.SendHead
	if len(body) == 0 {
		part = http2.SendWhole
	}
	h.mu.Lock()
	over = true
	if x.sendHead(e, part) && len(body) > 0 {
		h.conn.Send(x.stream, body, true)
		x.sent += int64(len(body))
		over = x.stream.Unsent() == 0
	}
	x.phase = h2Over
	if !over {
		x.phase = h2Sends
	}
	wake := !over && h.Wakes()
	h.mu.Unlock()
	if wake {
		// the exchange may already serve another request
		h.link.Wake()
	}
	return over
}

// sendWithTrailers sends a response whose body is in memory, and its trailers.
func (x *h2Exchange) sendWithTrailers(e http1.Encoding) {
	err := x.writeHead(e)
	if err == nil {
		_, err = x.Write(x.ctx.Response.body.bytes())
	}
	x.endStream(err)
}

// sendStream sends a response whose body is a stream. It may wait for the peer.
func (x *h2Exchange) sendStream(e http1.Encoding) {
	x.ctx.setStreaming(x)
	defer x.ctx.setStreaming(nil)
	resp := &x.ctx.Response
	// the response stream may read the request body, and 100 (Continue) must be sent before
	// the response
	if x.content != nil && x.ctx.Request.arrives() {
		x.send100()
	}
	err := x.writeHead(e)
	if err == nil && resp.ImmediateHeaderFlush {
		err = x.Flush()
	}
	if err != nil {
		_ = resp.body.closeStream()
	} else {
		plain := e
		if plain.Kind == http1.Chunks {
			resp.body.unsize()
			plain.Kind = http1.UntilClose
		}
		err = writeStream(x, &resp.body, plain, &resp.Header.header)
	}
	x.endStream(err)
}

// endStream ends a response that was written piece by piece. If err is not nil the response is
// incomplete, and the stream is reset.
func (x *h2Exchange) endStream(err error) {
	h := x.h
	if err == nil {
		err = x.endContent()
	}
	x.sent += x.out.Passed()
	x.out.Release()
	if err != nil {
		h.s.logWriteError(h.c, err)
		h.mu.Lock()
		if x.abortErr == nil {
			h.conn.Reset(x.stream, http2.InternalError)
			x.abortErr = err
		}
		h.mu.Unlock()
	}
}

// wake makes the engine write the output.
func (x *h2Exchange) wake() {
	h := x.h
	h.mu.Lock()
	wake := h.Wakes()
	h.mu.Unlock()
	if wake {
		h.Wake()
	}
}

// report calls Server.ResponseSent.
func (x *h2Exchange) report(sent SentResponse) {
	if !x.s.set.reports {
		return
	}
	if x.ctx.receivedAt.IsZero() && !x.s.LazyRequestTime {
		x.ctx.receivedAt = clock.Read()
	}
	x.reportSent(protocolHTTP2, sent)
}

// release ends the exchange. No other goroutine uses it.
func (x *h2Exchange) release() {
	h := x.h
	x.close()
	h.mu.Lock()
	wake := x.finish()
	h.mu.Unlock()
	if wake {
		h.link.Wake()
	}
	h.reportStates()
}

// close is the part of release that may call the application.
func (x *h2Exchange) close() {
	ctx := x.ctx
	switch {
	case ctx == nil:
	case !x.s.set.reports && x.bodyMemory == nil && ctx.watch.Load() == nil && !ctx.hasClosers() && !ctx.lendsBody():
		// nothing of the application is called, as is usual
		if !x.s.cleanCtx(ctx) {
			x.ctx = nil
			ctx.discard()
		}
	default:
		x.closeCtx(ctx)
	}
}

// closeCtx is close for an exchange with a context, which may call the application.
func (x *h2Exchange) closeCtx(ctx *RequestCtx) {
	returned := false
	defer func() {
		x.endBodyMemory()
		if returned {
			x.resetCtx()
			return
		}
		// the hook has ended the goroutine, and other goroutines may have the context
		x.ctx = nil
		ctx.Request.closeSource()
		ctx.discard()
	}()
	if w := ctx.watch.Load(); w != nil {
		x.endWatch(w, ctx.lendsBody())
	}
	if x.s.set.reports {
		x.h.mu.Lock()
		cut := x.abortErr
		x.h.mu.Unlock()
		if x.phase != h2Collects && x.sent > 0 || cut != nil {
			sent := SentResponse{Bytes: x.sent, Refused: x.refusal, Err: cut}
			if x.sent > 0 {
				sent.StatusCode = ctx.Response.StatusCode()
			}
			x.report(sent)
		}
	}
	returned = true
}

// finish is the part of release after close. It reports whether the caller must wake the
// engine. mu is held.
func (x *h2Exchange) finish() (wake bool) {
	h := x.h
	if x.content != nil {
		x.content.endExchange()
	}
	h.conn.Release(x.stream)
	if x.tunnel != nil {
		x.tunnel.Release()
	}
	h.remove(x)
	wake = h.wakesAfter(x)
	h.s.h2.release(h, x)
	return wake
}

// resetCtx makes the context ready for another request, if it can serve that.
func (x *h2Exchange) resetCtx() {
	if !x.mayReuseCtx() || x.ctx.lendsBody() && x.content != nil {
		x.discardCtx()
		return
	}
	ctx := x.ctx
	x.ctx = nil
	defer x.s.catchPanic("a user value")
	if x.s.cleanCtx(ctx) {
		x.ctx = ctx
	}
}

// sendInterim implements serverTransport.
func (x *h2Exchange) sendInterim(status int, h *ResponseHeader, only field.ID) error {
	conn := &x.h.conn
	x.h.mu.Lock()
	if x.abortErr != nil || !conn.CanSend(x.stream, http2.SendInterim) {
		defer x.h.mu.Unlock()
		return x.writeErr()
	}
	enc := conn.Encoder()
	b := enc.AppendStatus(conn.BeginHeaders(), status)
	if only == 0 {
		b = h.appendListBlock(b, enc, http1.Response, 0)
	} else {
		for i := h.list.FindID(only, 0); i >= 0; i = h.list.FindID(only, i+1) {
			b = appendBlockField(b, enc, only, h.list.Name(i), h.list.Value(i))
		}
	}
	conn.EndHeaders(x.stream, b, http2.SendInterim)
	x.h.mu.Unlock()
	x.wake()
	return nil
}

// watchPeer implements serverTransport.
func (x *h2Exchange) watchPeer(w *watch.Watch) {
	x.h.mu.Lock()
	x.watch = w
	cut := x.abortErr != nil
	x.h.mu.Unlock()
	if cut {
		w.PeerGone(false)
	}
}

// unwatchPeer implements serverTransport.
func (x *h2Exchange) unwatchPeer() {
	x.h.mu.Lock()
	x.watch = nil
	x.h.mu.Unlock()
}

var _ flushWriter = (*h2Exchange)(nil)

// writeHead sends the head of a response whose content follows.
func (x *h2Exchange) writeHead(e http1.Encoding) error {
	x.h.mu.Lock()
	defer x.h.mu.Unlock()
	x.out.Init(x.h, x.stream)
	if !x.sendHead(e, http2.SendHead) {
		return x.writeErr()
	}
	return nil
}

// writeErr returns the reason why nothing can be sent. mu is held.
func (x *h2Exchange) writeErr() error {
	if x.abortErr != nil {
		return x.abortErr
	}
	return errH2ConnEnded
}

// Write implements flushWriter. It writes content of the response.
func (x *h2Exchange) Write(p []byte) (int, error) {
	x.limitPiece(false)
	return x.out.Write(p)
}

// Flush implements flushWriter.
func (x *h2Exchange) Flush() error {
	x.limitPiece(false)
	err := x.out.Flush()
	x.limitPiece(true)
	return err
}

// endContent ends the response, with the trailers if there are any. It waits until all content
// was taken.
func (x *h2Exchange) endContent() error {
	h := &x.ctx.Response.Header
	if !h.hasSection() {
		return x.out.End(nil)
	}
	return x.out.End(func(dst []byte, enc *hpack.Encoder) []byte { return h.appendTrailerBlock(dst, enc) })
}
