package websocket

import (
	"context"
	"io"
	"net"
	"sync"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/ws"
)

// Upgrade answers an opening handshake, and makes the server call handler with the
// connection, in a goroutine of its own, once the RequestHandler has returned and the
// response was sent. The handler may have set fields of ctx.Response before, such as
// Set-Cookie. The connection is closed, with a closing handshake, when handler returns. If
// handler panics, the peer is sent CloseInternalServerErr.
//
// The request is one of HTTP/1.1, or an extended CONNECT of HTTP/2 or HTTP/3, which the server
// accepts with HTTP2Config.ExtendedConnect. The connection is the stream of the request then.
//
// If the request is not a valid opening handshake, or its origin is not allowed, Upgrade
// makes ctx.Response a refusal, and returns an error, which is a HandshakeError.
//
// When the server shuts down, the peer is sent CloseGoingAway, after the message being
// sent. Shutdown waits until handler has returned. If the peer does not answer within
// CloseTimeout, or ShutdownWithContext does not wait longer, the connection is closed.
//
// handler may use ctx, as with RequestCtx.Hijack, unless ReleaseContext is set. Other goroutines may
// keep the Conn when handler returns: its methods fail then, and a write returns ErrCloseSent
// or an error that wraps net.ErrClosed.
func (u *Upgrader) Upgrade(ctx *fasthttp.RequestCtx, handler func(c *Conn)) error {
	a, err := u.handshake(ctx)
	if err != nil {
		return err
	}
	// the server may shut down before it calls the function given to Hijack
	h := new(handover)
	ctx.OnShutdown(h.goAway)
	ctx.Hijack(func(nc net.Conn) {
		c := u.newConn(nc, a)
		h.open(c)
		code := CloseInternalServerErr
		defer func() { _ = c.CloseWith(code, "") }()
		handler(c)
		code = CloseNormalClosure
	})
	if u.ReleaseContext {
		bridge.ReleaseHijacked(ctx)
	}
	return nil
}

// handover passes a connection to the function that a shutdown calls.
type handover struct {
	mu     sync.Mutex
	c      *Conn
	opened chan struct{} // closed once there is c, or nil if nothing waits for that
}

func (h *handover) open(c *Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.c = c
	if h.opened != nil {
		close(h.opened)
	}
}

// goAway is called when the server shuts down.
func (h *handover) goAway(shutdown context.Context) {
	h.mu.Lock()
	if h.c == nil {
		h.opened = make(chan struct{})
		h.mu.Unlock()
		select {
		case <-h.opened:
		case <-shutdown.Done():
			return
		}
		h.mu.Lock()
	}
	c := h.c
	h.mu.Unlock()
	c.goAway(shutdown)
}

// newConn returns the connection that a handler has taken over.
func (u *Upgrader) newConn(nc net.Conn, a agreement) *Conn {
	var ahead *bufpool.Buffer
	if h, ok := nc.(interface {
		Buffered() int
		UnsafeConn() net.Conn
	}); ok {
		if n := h.Buffered(); n > 0 {
			ahead = bufpool.Get(n)
			n, _ = io.ReadFull(nc, ahead.B[:n])
			ahead.B = ahead.B[:n]
		}
		nc = h.UnsafeConn()
	}
	return newConn(nc, ws.Server, a, options{
		readLimit: u.ReadLimit, pingInterval: u.PingInterval, pongTimeout: u.PongTimeout, closeTimeout: u.CloseTimeout,
		writeTimeout: u.WriteTimeout, writeBuffer: u.WriteBufferSize, compression: &u.Compression,
	}, ahead)
}
