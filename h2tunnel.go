package fasthttp

import (
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2body"
)

// h2Tunnel is the stream of a CONNECT request as a net.Conn, after a 2xx response (RFC 9113
// section 8.5, RFC 8441). The application that took it over closes it, which ends the exchange.
type h2Tunnel struct {
	http2body.Tunnel
	x *h2Exchange
	c *engine.Conn
}

var _ net.Conn = (*h2Tunnel)(nil)

// LocalAddr implements net.Conn.
func (t *h2Tunnel) LocalAddr() net.Addr { return t.c.NC.LocalAddr() }

// RemoteAddr implements net.Conn.
func (t *h2Tunnel) RemoteAddr() net.Addr { return t.c.NC.RemoteAddr() }

// tlsState returns the state of the TLS connection below, or nil.
func (t *h2Tunnel) tlsState() *tls.ConnectionState {
	over, ok := t.c.NC.(connTLSer)
	if !ok {
		return nil
	}
	state := over.ConnectionState()
	return &state
}

// errH2Unconnected is sent to a client whose extended CONNECT request no handler has taken over.
var errH2Unconnected = errors.New("fasthttp: the handler of the extended CONNECT request has not taken the stream over")

// connect continues with a request whose method is CONNECT. It returns opened if the handler has
// taken over the stream, and otherwise there is a response to send.
func (x *h2Exchange) connect() (opened bool) {
	ctx := x.ctx
	switch succeeds := ctx.Response.StatusCode()/100 == 2; {
	case !succeeds:
	case ctx.hijack == nil && x.extended && ctx.Response.body.stream == nil:
		// a client would take the response for the beginning of its protocol
		ctx.Error(errH2Unconnected.Error(), StatusNotImplemented)
	case ctx.hijack == nil || ctx.hijackNoResponse:
	case x.s.CloseOnShutdown && x.c.Stopping():
		ctx.hijack, ctx.switched = nil, nil
		ctx.Error(StatusMessage(StatusServiceUnavailable), StatusServiceUnavailable)
	default:
		return x.openTunnel()
	}
	return false
}

// openTunnel sends the response, and gives the stream to the function of Hijack, or to the
// EventHandler of SwitchProtocols. It returns false if the stream has ended.
func (x *h2Exchange) openTunnel() bool {
	h, ctx := x.h, x.ctx
	_ = ctx.Response.body.closeStream()
	x.finishResponse()
	e := http1.Encoding{}
	x.recordHead(e)
	// the connection may end before the application asks for its addresses
	x.c.RecordEscape()
	t := &h2Tunnel{x: x, c: x.c}
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
	x.giveTunnel(t)
	return true
}

// giveTunnel gives the tunnel to the application.
func (x *h2Exchange) giveTunnel(t *h2Tunnel) {
	s, c, ctx := x.s, x.c, x.ctx
	x.endBodyMemory()
	x.ctx = nil
	// the content belongs to the tunnel
	ctx.Request.source, ctx.Request.body.stream = nil, nil
	ctx.c = &engine.Conn{
		Set: c.Set, NC: c.NC, ID: c.ID, Opened: c.Opened, Service: c.Service, IsTLS: c.IsTLS,
		Requests: ctx.requestNum, Variant: variantHTTP2,
	}
	switched := ctx.switched
	if switched == nil {
		go s.runHijacked(ctx, &hijackedConn{Conn: t})
		return
	}
	ctx.hijack, ctx.switched = nil, nil
	of := ctx.c
	s.endHijacked(ctx, true)
	go func() {
		err := s.conns.ServeTunnel(t, of, func(c *engine.Conn, l engine.Link) engine.Protocol {
			switched.mu.Lock()
			defer switched.mu.Unlock()
			switched.link = l
			return (*switchedConn)(switched)
		})
		if err != nil {
			s.logReadError(of, err)
		}
	}()
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
