package fasthttp

import (
	"errors"
	"time"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http3"
	"github.com/valyala/fasthttp/internal/watch"
)

var _ streamTransport = (*h3Exchange)(nil)

// h3Traits are the traits of HTTP/3.
var h3Traits = streamTraits{name: protocolHTTP3, noConn: errH3Hijack, tunnels: true}

// traits implements streamTransport.
func (x *h3Exchange) traits() *streamTraits { return &h3Traits }

// errH3Hijack is sent to the client, and logged, if a handler hijacks the connection.
var errH3Hijack = errors.New("fasthttp: HTTP/3 has no connection for a handler to take over: use extended CONNECT (RFC 9220), or HTTP/1.1")

// respond implements streamTransport.
func (x *h3Exchange) respond() (over bool) {
	if x.method == http1.MethodConnect && x.connects() {
		return x.openTunnel()
	}
	e, last := x.prepare(&h3Traits)
	if timeout := x.responseTime(); timeout > 0 {
		_ = x.stream.SetWriteDeadline(time.Now().Add(timeout))
	}
	if last {
		x.stream.GoAway()
	}
	resp := &x.ctx.Response
	if e.Kind != http1.NoBody && resp.body.Stream != nil {
		x.sendStream(x, e)
		return true
	}
	if err := x.writeHead(e); err != nil || e.Kind == http1.NoBody {
		_ = resp.body.CloseStream()
		x.end(err)
		return true
	}
	_, err := x.Write(resp.body.Bytes())
	if e.Kind == http1.Chunks {
		x.endStream(err)
	} else {
		x.end(err)
	}
	return true
}

// writeHead implements streamTransport. The head is sent with the next Flush.
func (x *h3Exchange) writeHead(e http1.Encoding) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun = true
	b, enc := x.stream.BeginSection()
	from := len(b)
	b = x.ctx.Response.Header.head.AppendResponseBlock(b, enc, &x.start, x.s.name, e)
	n := len(b) - from
	if err := x.stream.SendSection(b); err != nil {
		return err
	}
	x.sent += int64(n)
	return nil
}

// endStream implements streamTransport.
func (x *h3Exchange) endStream(err error) {
	if h := &x.ctx.Response.Header; err == nil && h.head.HasSection() {
		b, enc := x.stream.BeginSection()
		err = x.stream.SendSection(h.head.AppendTrailerBlock(b, enc))
	}
	x.end(err)
}

// end ends the response. If err is not nil it is incomplete, and the stream is reset.
func (x *h3Exchange) end(err error) {
	if err == nil {
		err = x.stream.End()
	}
	if err != nil {
		x.s.logWriteError(x.c, err)
		x.abortErr = err
		x.resetStream()
	}
	x.ended = true
}

// resetStream implements streamTransport.
func (x *h3Exchange) resetStream() {
	if !x.ended {
		x.ended = true
		x.stream.Reset()
	}
}

// cutOff implements streamTransport.
func (x *h3Exchange) cutOff() error { return x.abortErr }

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

// release implements streamTransport. The application may end the goroutine, or panic.
func (x *h3Exchange) release() {
	defer x.finish()
	x.close()
}

// finish is the part of release after close.
func (x *h3Exchange) finish() {
	// nothing else is sent
	x.mu.Lock()
	x.begun = true
	x.mu.Unlock()
	x.unwatchPeer()
	if x.in != nil {
		x.in.revoke()
	}
	x.resetStream()
	x.stream.StopReading()
	if ctx := x.ctx; ctx != nil {
		x.ctx = nil
		x.s.ctxs.Put(ctx)
	}
}

// sendInterim implements serverTransport.
func (x *h3Exchange) sendInterim(status int, h *ResponseHeader, only field.ID) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun {
		return errStreamConnEnded
	}
	b, enc := x.stream.BeginSection()
	if err := x.stream.SendSection(appendInterim(b, enc, status, h, only)); err != nil {
		return err
	}
	if timeout := x.writeTimeout(); timeout > 0 && !x.limitsWrites {
		_ = x.stream.SetWriteDeadline(time.Now().Add(timeout))
		defer x.stream.SetWriteDeadline(time.Time{})
	}
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

// h3Tunnel is the tunnel of an HTTP/3 stream (RFC 9114 section 4.4, RFC 9220). Its directions end as with
// TCP: the end of the stream is its FIN, and a reset its RST.
type h3Tunnel struct {
	http3.Tunnel
	tunnelConn
}

// openTunnel sends the response, and gives the stream to the function of Hijack, or to the
// EventHandler of SwitchProtocols. over reports that the stream has ended before.
func (x *h3Exchange) openTunnel() (over bool) {
	ctx := x.ctx
	_ = ctx.Response.body.CloseStream()
	x.finishResponse()
	e := http1.Encoding{}
	x.recordHead(e)
	x.send100()
	if x.in != nil {
		x.in.leave()
	}
	// neither timeouts nor limits of requests apply to a tunnel
	_ = x.stream.SetReadDeadline(time.Time{})
	_ = x.stream.SetWriteDeadline(time.Time{})
	err := x.writeHead(e)
	if err == nil {
		err = x.stream.Flush()
	}
	if err != nil {
		ctx.hijack, ctx.switched = nil, nil
		x.end(err)
		return true
	}
	if ctx.Response.ConnectionClose() || x.s.servesLast(ctx.requestNum) {
		x.stream.GoAway()
	}
	x.report(&h3Traits, SentResponse{StatusCode: ctx.Response.StatusCode(), Bytes: x.sent})
	x.opened = true
	x.stream.BeginTunnel()
	t := &h3Tunnel{tunnelConn: tunnelConn{x.c}}
	stream := x.stream
	t.Init(stream, func() {
		x.unwatchPeer()
		stream.EndTunnel()
	})
	x.giveTunnel(t, variantHTTP3)
	return false
}

// leave ends the reading of the content, which belongs to a tunnel from here on.
func (c *h3Incoming) leave() {
	c.closed.Store(true)
	c.revoke()
	// a goroutine of the handler may still read
	c.mu.Lock()
	defer c.mu.Unlock()
}
