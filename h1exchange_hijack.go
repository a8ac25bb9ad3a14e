package fasthttp

import (
	"net"
	"runtime/debug"

	"github.com/valyala/fasthttp/internal/engine"
)

// letGo takes the context of a request whose connection was hijacked out of the
// exchange. The HijackHandler may use it, and user values end with that.
func (x *h1Exchange) letGo() *RequestCtx {
	ctx := x.ctx
	x.ctx = nil
	// the rest of the body is never read, and a hijacked connection can live for days
	ctx.Request.RemoveMultipartFormFiles()
	ctx.Request.closeSource()
	c := x.c
	ctx.c = &engine.Conn{Set: c.Set, NC: c.NC, ID: c.ID, Opened: c.Opened, Service: c.Service, IsTLS: c.IsTLS, Requests: c.Requests}
	return ctx
}

// runHijacked runs the HijackHandler of a request, and ends that.
func (s *Server) runHijacked(ctx *RequestCtx, hc *hijackedConn) {
	handler, returned := ctx.hijack, false
	ctx.hijack = nil
	defer func() {
		if r := recover(); r != nil {
			s.logger().Printf("fasthttp: panic in a HijackHandler: %v\n%s", r, debug.Stack())
		}
		if !returned || !s.KeepHijackedConns {
			_ = hc.Close()
		}
		s.endHijacked(ctx, returned)
	}()
	handler(hc)
	returned = true
}

// endHijacked releases the context of a request whose connection was hijacked, unless
// the handler did not return or the channel of Done was closed.
func (s *Server) endHijacked(ctx *RequestCtx, returned bool) {
	defer s.catchPanic("a user value")
	if w := ctx.watch.Load(); !returned || w != nil && !w.Finished() {
		ctx.discard()
		return
	}
	s.releaseCtx(ctx)
}

// hijackedConn is a connection whose Read returns the bytes that were read ahead
// first.
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

// UnsafeConn returns the connection itself. Bytes that were read ahead cannot be read
// from it.
func (c *hijackedConn) UnsafeConn() net.Conn { return c.Conn }
