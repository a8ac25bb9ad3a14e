package fasthttp

import (
	"errors"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/watch"
)

var (
	_ serverTransport = (*h3Exchange)(nil)
	_ flushWriter     = (*h3Exchange)(nil)
	_ deadliner       = (*h3Exchange)(nil)
)

// errH3Hijack is sent to the client, and logged, if a handler hijacks the connection.
var errH3Hijack = errors.New("fasthttp: HTTP/3 has no connection for a handler to take over: use HTTP/1.1, or HTTP/2 with extended CONNECT")

// respond sends the response.
func (x *h3Exchange) respond() {
	s, ctx := x.s, x.ctx
	resp := &ctx.Response
	switch status := resp.StatusCode(); {
	case ctx.hijack != nil || status == StatusSwitchingProtocols, x.method == http1.MethodConnect && status/100 == 2:
		s.logger().Printf("%v", errH3Hijack)
		ctx.hijack, ctx.switched = nil, nil
		ctx.Error(errH3Hijack.Error(), StatusNotImplemented)
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
	o := resp.outgoing()
	ends := o.Has(http1.AsksClose)
	o.Terms &^= http1.LineIsOld | http1.LineIsReceived | http1.AsksClose
	e := o.Encode()
	x.recordHead(e)
	if resp.PieceTimeout == 0 || resp.body.stream == nil {
		if timeout := positive(x.terms.writeTimeout, s.WriteTimeout); timeout > 0 {
			_ = x.stream.SetWriteDeadline(time.Now().Add(timeout))
		}
	}
	if ends || s.DisableKeepalive || s.MaxRequestsPerConn > 0 && ctx.requestNum >= uint64(s.MaxRequestsPerConn) {
		x.stream.GoAway()
	}
	x.end(x.send(e))
}

// send sends head and content of the response, and its trailers.
func (x *h3Exchange) send(e http1.Encoding) error {
	resp := &x.ctx.Response
	streams := e.Kind != http1.NoBody && resp.body.stream != nil
	if streams && x.content != nil && x.ctx.Request.arrives() {
		// the response stream may read the request body, and 100 (Continue) must be sent before the
		// response
		x.send100()
	}
	x.sendHead(e)
	switch {
	case e.Kind == http1.NoBody:
		return resp.body.closeStream()
	case streams:
		if err := x.sendStream(e); err != nil {
			return err
		}
	default:
		if b := resp.body.bytes(); len(b) > 0 {
			if _, err := x.Write(b); err != nil {
				return err
			}
		}
		if e.Kind != http1.Chunks {
			return nil
		}
	}
	if h := &resp.Header; h.hasSection() {
		b, enc := x.stream.BeginSection()
		x.stream.SendSection(h.appendTrailerBlock(b, enc))
	}
	return nil
}

// sendHead sends the head of the response with the next Flush.
func (x *h3Exchange) sendHead(e http1.Encoding) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun = true
	b, enc := x.stream.BeginSection()
	from := len(b)
	b = x.ctx.Response.Header.appendBlock(b, enc, &x.start, x.s.name, e)
	x.sent += int64(len(b) - from)
	x.stream.SendSection(b)
}

// sendStream sends a stream of content. It may wait for the client.
func (x *h3Exchange) sendStream(e http1.Encoding) error {
	x.ctx.setStreaming(x)
	defer x.ctx.setStreaming(nil)
	resp := &x.ctx.Response
	if resp.ImmediateHeaderFlush {
		if err := x.Flush(); err != nil {
			_ = resp.body.closeStream()
			return err
		}
	}
	if e.Kind == http1.Chunks {
		resp.body.unsize()
		e.Kind = http1.UntilClose
	}
	return writeStream(x, &resp.body, e, &resp.Header.header)
}

// end ends the response. If err is not nil it is incomplete, and the stream is reset.
func (x *h3Exchange) end(err error) {
	if err == nil {
		err = x.stream.End()
	}
	if err != nil {
		x.s.logWriteError(x.c, err)
		x.abortErr = err
		x.reset()
	}
	x.ended = true
}

// Write implements flushWriter. It writes content of the response.
func (x *h3Exchange) Write(p []byte) (int, error) {
	x.limitPiece()
	n, err := x.stream.Write(p)
	x.sent += int64(n)
	return n, err
}

// Flush implements flushWriter.
func (x *h3Exchange) Flush() error {
	x.limitPiece()
	return x.stream.Flush()
}

// limitPiece sets the deadline for content, if pieces have their own time.
func (x *h3Exchange) limitPiece() {
	if timeout := x.ctx.Response.PieceTimeout; timeout > 0 {
		_ = x.stream.SetWriteDeadline(time.Now().Add(timeout))
	}
}

// report calls Server.ResponseSent.
func (x *h3Exchange) report(sent SentResponse) {
	if !x.s.set.reports {
		return
	}
	if x.ctx.receivedAt.IsZero() && !x.s.LazyRequestTime {
		x.ctx.receivedAt = clock.Read()
	}
	x.reportSent(protocolHTTP3, sent)
}

// release ends the exchange.
func (x *h3Exchange) release() {
	closed := false
	defer func() {
		var reusable *RequestCtx
		x.endBodyMemory()
		// nothing else is sent
		x.mu.Lock()
		x.begun = true
		x.mu.Unlock()
		x.unwatchPeer()
		if ctx := x.ctx; ctx != nil {
			if !closed || !x.mayReuseCtx() || ctx.lendsBody() && x.content != nil {
				x.discardCtx()
			} else {
				x.ctx, reusable = nil, ctx
			}
		}
		if x.content != nil {
			x.content.revoke()
		}
		x.reset()
		x.stream.StopReading()
		s := x.s
		if x.content == nil && !x.watched {
			*x = h3Exchange{start: x.start, startOf: s}
			h3Exchanges.Put(x)
		}
		if reusable != nil {
			// closing a user value may panic
			defer s.catchPanic("a user value")
			s.releaseCtx(reusable)
		}
	}()
	ctx := x.ctx
	if ctx == nil {
		return
	}
	if w := ctx.watch.Load(); w != nil {
		x.endWatch(w, ctx.lendsBody())
	}
	if x.s.set.reports {
		sent := SentResponse{Bytes: x.sent, Refused: x.refusal, Err: x.abortErr}
		if x.sent > 0 {
			sent.StatusCode = ctx.Response.StatusCode()
		}
		x.report(sent)
	}
	closed = true
}

// sendInterim implements serverTransport.
func (x *h3Exchange) sendInterim(status int, h *ResponseHeader, only field.ID) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun {
		return errH2ConnEnded
	}
	b, enc := x.stream.BeginSection()
	b = enc.AppendStatus(b, status)
	switch {
	case h == nil:
	case only == 0:
		b = h.appendListBlock(b, enc, http1.Response, 0)
	default:
		for i := h.list.FindID(only, 0); i >= 0; i = h.list.FindID(only, i+1) {
			b = appendBlockField(b, enc, only, h.list.Name(i), h.list.Value(i))
		}
	}
	x.stream.SendSection(b)
	return x.stream.Flush()
}

// send100 sends 100 (Continue) if the client waits for it.
func (x *h3Exchange) send100() {
	x.mu.Lock()
	waits := x.awaits100
	x.awaits100 = false
	x.mu.Unlock()
	if waits {
		_ = x.sendInterim(StatusContinue, nil, 0)
	}
}

// watchPeer implements serverTransport.
func (x *h3Exchange) watchPeer(w *watch.Watch) {
	x.watchMu.Lock()
	defer x.watchMu.Unlock()
	if x.watch != nil {
		return
	}
	x.watch, x.watched = w, true
	x.stopWatch = x.stream.OnCancel(func() {
		x.watchMu.Lock()
		own := x.watch == w
		x.watchMu.Unlock()
		if own {
			w.PeerGone(false)
		}
	})
}

// unwatchPeer implements serverTransport.
func (x *h3Exchange) unwatchPeer() {
	x.watchMu.Lock()
	defer x.watchMu.Unlock()
	if x.watch != nil {
		x.stopWatch()
		x.watch, x.stopWatch = nil, nil
	}
}
