package fasthttp

import (
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2body"
	"github.com/valyala/fasthttp/internal/watch"
)

var _ streamTransport = (*h2Exchange)(nil)

// h2Traits are the traits of HTTP/2.
var h2Traits = streamTraits{name: protocolHTTP2, noConn: errH2Hijack, tunnels: true}

// traits implements streamTransport.
func (x *h2Exchange) traits() *streamTraits { return &h2Traits }

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
	x.makeResponse()
	over = x.respond()
	ended = true
	return over
}

// ctxReplaced implements serverTransport.
func (x *h2Exchange) ctxReplaced() {
	if x.in != nil {
		x.h.mu.Lock()
		x.in.Fail(errReadingRevoked)
		x.h.mu.Unlock()
	}
}

// resetStream implements streamTransport.
func (x *h2Exchange) resetStream() {
	x.h.mu.Lock()
	x.h.conn.Reset(x.stream, http2.InternalError)
	x.h.mu.Unlock()
}

// cutOff implements streamTransport.
func (x *h2Exchange) cutOff() error {
	x.h.mu.Lock()
	defer x.h.mu.Unlock()
	if x.taken {
		// the stream or the connection may have ended since
		return nil
	}
	return x.abortErr
}

// errH2Hijack is sent to the client, and logged, if a handler hijacks the connection.
var errH2Hijack = errors.New("fasthttp: HTTP/2 has no connection for a handler to take over: use extended CONNECT (RFC 8441), or HTTP/1.1")

// respond implements streamTransport. If over is false, the engine still sends content, or the
// application has taken over the stream.
func (x *h2Exchange) respond() (over bool) {
	if x.method == http1.MethodConnect && x.connects() {
		return !x.openTunnel()
	}
	resp := &x.ctx.Response
	e, last := x.prepare(&h2Traits)
	x.setDeadline(&x.writeUntil, x.responseTime())
	if last {
		x.h.mu.Lock()
		x.h.startGoAway()
		x.h.mu.Unlock()
	}
	switch {
	case e.Kind == http1.NoBody:
		_ = resp.body.CloseStream()
		return x.send(e, nil)
	case resp.body.Stream != nil:
		x.sendStream(x, e)
		return true
	case e.Kind == http1.Chunks && resp.Header.head.Trailers.Len() > 0:
		x.sendWithTrailers(e)
		return true
	}
	return x.send(e, resp.body.Bytes())
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
	b = resp.Header.head.AppendResponseBlock(b, conn.Encoder(), &x.h.start, x.s.name, e)
	x.sent += int64(len(b) - from + http2.FrameHeadSize)
	conn.EndHeaders(x.stream, b, part)
	if i := resp.Header.head.List.FindID(field.Priority, 0); i >= 0 {
		conn.SetPriority(x.stream, resp.Header.head.List.Value(i))
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
	if x.sendHead(e, part) {
		if len(body) > 0 {
			h.conn.Send(x.stream, body, true)
			x.sent += int64(len(body))
		}
		over = x.stream.Unsent() == 0
		x.taken = over
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
		_, err = x.Write(x.ctx.Response.body.Bytes())
	}
	x.endStream(err)
}

// endStream implements streamTransport.
func (x *h2Exchange) endStream(err error) {
	h := x.h
	if err == nil {
		err = x.endContent()
	}
	x.sent += x.out.Passed()
	x.out.Release()
	if err != nil {
		h.s.logWriteError(h.c, err)
	}
	h.mu.Lock()
	switch {
	case err == nil:
		// the connection may have ended without an error yet
		x.taken = x.stream.Sending() == http2.Ended
	case x.abortErr == nil:
		h.conn.Reset(x.stream, http2.InternalError)
		x.abortErr = err
	}
	h.mu.Unlock()
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

// finish is the part of release after close. It reports whether the caller must wake the
// engine. mu is held.
func (x *h2Exchange) finish() (wake bool) {
	h := x.h
	if x.in != nil {
		x.in.endExchange()
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

// sendInterim implements serverTransport.
func (x *h2Exchange) sendInterim(status int, h *ResponseHeader, only field.ID) error {
	conn := &x.h.conn
	x.h.mu.Lock()
	if x.abortErr != nil || !conn.CanSend(x.stream, http2.SendInterim) {
		defer x.h.mu.Unlock()
		return x.writeErr()
	}
	b := appendInterim(conn.BeginHeaders(), conn.Encoder(), status, h, only)
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

// writeHead implements streamTransport.
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
	return errStreamConnEnded
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
	if !h.head.HasSection() {
		return x.out.End(nil)
	}
	return x.out.End(func(dst []byte, enc *hpack.Encoder) []byte { return h.head.AppendTrailerBlock(dst, enc) })
}

// h2Tunnel is the tunnel of an HTTP/2 stream (RFC 9113 section 8.5, RFC 8441).
type h2Tunnel struct {
	http2body.Tunnel
	tunnelConn
	x *h2Exchange
}

var _ net.Conn = (*h2Tunnel)(nil)

// openTunnel sends the response, and gives the stream to the function of Hijack, or to the
// EventHandler of SwitchProtocols. It returns false if the stream has ended.
func (x *h2Exchange) openTunnel() bool {
	h, ctx := x.h, x.ctx
	_ = ctx.Response.body.CloseStream()
	x.finishResponse()
	e := http1.Encoding{}
	x.recordHead(e)
	// the connection may end before the application asks for its addresses
	x.c.RecordEscape()
	t := &h2Tunnel{x: x, tunnelConn: tunnelConn{x.c}}
	h.mu.Lock()
	wake := x.queue100()
	// neither timeouts nor limits of requests apply to a tunnel
	x.readUntil, x.writeUntil = time.Time{}, time.Time{}
	if x.content == nil {
		content := x.newContent(true)
		x.content, x.in = &content.streamContent, &content.h2Incoming
	}
	// one tunnel must not block others (RFC 9218 section 11)
	h.conn.SetPriority(x.stream, []byte("i"))
	opens := x.sendHead(e, http2.SendHead)
	if opens {
		t.Init(h, x.stream, &x.in.Incoming, t.unused)
		x.tunnel = t
	}
	if ctx.Response.ConnectionClose() || x.s.servesLast(ctx.requestNum) {
		h.startGoAway()
	}
	wake = h.Wakes() || wake
	h.mu.Unlock()
	if wake {
		h.link.Wake()
	}
	if !opens {
		ctx.hijack, ctx.switched = nil, nil
		return false
	}
	x.report(&h2Traits, SentResponse{StatusCode: ctx.Response.StatusCode(), Bytes: x.sent})
	x.giveTunnel(t, variantHTTP2)
	return true
}

// unused ends the exchange of a tunnel that the application has closed. The rest of what it has
// written is still sent.
func (t *h2Tunnel) unused() {
	x, h := t.x, t.x.h
	h.mu.Lock()
	over := x.abortErr != nil || x.stream.Unsent() == 0
	x.phase = h2Over
	if !over {
		x.phase = h2Sends
	}
	wake := !over && h.Wakes()
	h.mu.Unlock()
	switch {
	case over:
		// the caller may hold locks of the application
		x.s.h2.workers.Do(h2Task{h2Release, nil, x})
	case wake:
		h.Wake()
	}
}
