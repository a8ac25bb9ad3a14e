package fasthttp

import (
	"crypto/tls"
	"errors"
	"net"

	"github.com/valyala/fasthttp/internal/engine"
)

// tunnel is the stream of a CONNECT request as a net.Conn, after a 2xx response. The application that
// took it over closes it, which ends the exchange.
type tunnel interface {
	net.Conn
	CloseWrite() error
	Reset() error
	// tlsState returns the state of the TLS connection below, or nil.
	tlsState() *tls.ConnectionState
}

var (
	_ tunnel = (*h2Tunnel)(nil)
	_ tunnel = (*h3Tunnel)(nil)
)

// tunnelConn is the connection below a tunnel.
type tunnelConn struct{ c *engine.Conn }

// LocalAddr implements net.Conn.
func (t tunnelConn) LocalAddr() net.Addr { return t.c.NC.LocalAddr() }

// RemoteAddr implements net.Conn.
func (t tunnelConn) RemoteAddr() net.Addr { return t.c.NC.RemoteAddr() }

// tlsState implements tunnel.
func (t tunnelConn) tlsState() *tls.ConnectionState {
	over, ok := t.c.NC.(connTLSer)
	if !ok {
		return nil
	}
	state := over.ConnectionState()
	return &state
}

// errUnconnected is sent to a client whose extended CONNECT request no handler has taken over.
var errUnconnected = errors.New("fasthttp: the handler of the extended CONNECT request has not taken the stream over")

// connects reports whether the handler of a CONNECT request has taken over the stream. Otherwise there is
// a response to send.
func (x *streamExchange) connects() bool {
	ctx := x.ctx
	switch succeeds := ctx.Response.StatusCode()/100 == 2; {
	case !succeeds:
	case ctx.hijack == nil && x.extended && ctx.Response.body.Stream == nil:
		// a client would take the response for the beginning of its protocol
		ctx.Error(errUnconnected.Error(), StatusNotImplemented)
	case ctx.hijack == nil || ctx.hijackNoResponse:
	case x.s.CloseOnShutdown && x.c.Stopping():
		ctx.hijack, ctx.switched = nil, nil
		ctx.Error(StatusMessage(StatusServiceUnavailable), StatusServiceUnavailable)
	default:
		return true
	}
	return false
}

// giveTunnel gives the tunnel to the function of Hijack, or to the EventHandler of SwitchProtocols.
// variant is for its engine.Conn.
func (x *streamExchange) giveTunnel(t net.Conn, variant uint8) {
	s, c, ctx := x.s, x.c, x.ctx
	x.endBodyMemory()
	x.ctx = nil
	// the content belongs to the tunnel
	ctx.Request.source, ctx.Request.body.Stream = nil, nil
	ctx.c = &engine.Conn{
		Set: c.Set, NC: c.NC, ID: c.ID, Opened: c.Opened, Service: c.Service, IsTLS: c.IsTLS,
		Requests: ctx.requestNum, Variant: variant,
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
