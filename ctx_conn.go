package fasthttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/engine"
)

var zeroTCPAddr = engine.NoAddr

// Errors of SetReadDeadline and SetWriteDeadline.
var (
	// ErrNilConnection reports that the context has no connection.
	ErrNilConnection = errors.New("fasthttp: nil connection")
	// ErrDeadlineUpdatesDisabled reports that the context has timed out, and no longer
	// owns its connection.
	ErrDeadlineUpdatesDisabled = errors.New("fasthttp: deadline updates disabled")
)

// Conn returns the connection of the request, or nil. Reading from it or writing to it
// interferes with the server: use Hijack for that. When the server has closed the
// connection, its methods fail with a net.ErrClosed.
//
// HTTP/2 requests share their connection. Its addresses and TLS state may be read; closing
// it, or setting its deadlines, affects the other requests as well.
func (ctx *RequestCtx) Conn() net.Conn {
	c := ctx.conn()
	if c != nil {
		ctx.c.Pin()
	}
	return c
}

func (ctx *RequestCtx) conn() net.Conn {
	if ctx.c == nil {
		return nil
	}
	return ctx.c.NC
}

// RemoteAddr returns the address of the client; it is never nil. If a proxy passes
// requests on to the server, it is the address of the proxy: see ClientIP.
func (ctx *RequestCtx) RemoteAddr() net.Addr {
	if ctx.remoteAddr != nil {
		return ctx.remoteAddr
	}
	if c := ctx.conn(); c != nil {
		if addr := c.RemoteAddr(); addr != nil {
			return addr
		}
	}
	if ctx.initAddr != nil {
		return ctx.initAddr
	}
	return zeroTCPAddr
}

// SetRemoteAddr makes RemoteAddr return remoteAddr. If remoteAddr is nil, RemoteAddr
// returns the address of the connection again, or the one given to Init. This applies
// to the current request.
func (ctx *RequestCtx) SetRemoteAddr(remoteAddr net.Addr) { ctx.remoteAddr = remoteAddr }

// LocalAddr returns the server's address of the connection; it is never nil.
func (ctx *RequestCtx) LocalAddr() net.Addr {
	if c := ctx.conn(); c != nil {
		if addr := c.LocalAddr(); addr != nil {
			return addr
		}
	}
	return zeroTCPAddr
}

// RemoteIP returns the IP address of the client, 0.0.0.0 if it has none.
func (ctx *RequestCtx) RemoteIP() net.IP { return addrIP(ctx.RemoteAddr()) }

// LocalIP returns the server's IP address of the connection, 0.0.0.0 if it has none.
func (ctx *RequestCtx) LocalIP() net.IP { return addrIP(ctx.LocalAddr()) }

func addrIP(addr net.Addr) net.IP {
	if a, ok := addr.(*net.TCPAddr); ok && a != nil {
		return a.IP
	}
	return net.IPv4zero
}

// SetReadDeadline sets the read deadline of the connection. It applies until the server
// sets its own: if IdleTimeout or ReadTimeout is set, when the connection starts to
// wait for the next request, and otherwise when that request begins. The error is
// ErrDeadlineUpdatesDisabled once the context no longer belongs to the handler, or else
// the error of the connection.
//
// With HTTP/2 it is the deadline of this request alone, and the server checks it once a
// second.
func (ctx *RequestCtx) SetReadDeadline(deadline time.Time) error {
	ctx.late.Lock()
	defer ctx.late.Unlock()
	c, err := ctx.deadlineConn()
	if err != nil {
		return err
	}
	if ctx.c.Variant == variantHTTP2 {
		ctx.setStreamDeadlines(&deadline, nil)
		return nil
	}
	return c.SetReadDeadline(deadline)
}

// SetWriteDeadline sets the write deadline of the connection. It applies until the
// server sets its own: if WriteTimeout is set, when the response is written, and
// otherwise when the next request begins. It returns the same errors as
// SetReadDeadline.
func (ctx *RequestCtx) SetWriteDeadline(deadline time.Time) error {
	ctx.late.Lock()
	defer ctx.late.Unlock()
	c, err := ctx.deadlineConn()
	if err != nil {
		return err
	}
	if ctx.c.Variant == variantHTTP2 {
		ctx.setStreamDeadlines(nil, &deadline)
		return nil
	}
	return c.SetWriteDeadline(deadline)
}

// setStreamDeadlines sets deadlines of a request of HTTP/2, which shares its connection. late
// is held.
func (ctx *RequestCtx) setStreamDeadlines(read, write *time.Time) {
	// the producer of a body stream continues after the handler has returned
	x := ctx.streaming
	if ctx.exchange != nil {
		x, _ = ctx.exchange.t.(*h2Exchange)
	}
	if x == nil {
		return
	}
	x.h.mu.Lock()
	if read != nil {
		x.readUntil = *read
	}
	if write != nil {
		x.writeUntil = *write
	}
	// the connection checks the time only now and then
	over := x.late()
	x.h.mu.Unlock()
	x.wake()
	if over {
		x.expired()
	}
}

// deadlineConn returns the connection for setting a deadline. late is held.
func (ctx *RequestCtx) deadlineConn() (net.Conn, error) {
	if ctx.isLate() {
		return nil, ErrDeadlineUpdatesDisabled
	}
	c := ctx.conn()
	if c == nil {
		return nil, ErrNilConnection
	}
	// the next request removes this deadline
	ctx.c.PinOnly()
	return c, nil
}

type connTLSer interface {
	Handshake() error
	ConnectionState() tls.ConnectionState
}

// IsTLS reports whether the connection is a TLS connection.
func (ctx *RequestCtx) IsTLS() bool {
	_, ok := ctx.conn().(connTLSer)
	return ok
}

// TLSConnectionState returns the state of a TLS connection, or nil for another
// connection.
func (ctx *RequestCtx) TLSConnectionState() *tls.ConnectionState {
	c, ok := ctx.conn().(connTLSer)
	if !ok {
		return nil
	}
	state := c.ConnectionState()
	return &state
}

// Hijack makes the server give the connection to handler once the RequestHandler has
// returned and the response was sent. Bytes that the client has already sent after the
// request are read from the connection first. The limits and timeouts of the server no
// longer apply to the connection then.
//
// The handler is not called if the request or the response asks to close the
// connection, if the server shuts down with CloseOnShutdown, or if sending the response
// failed. These exceptions do not apply with HijackSetNoResponse.
//
// HTTP/2 requests share their connection, so it cannot be given away: the response is a
// 501 instead, which the server logs, and handler is not called.
//
// The handler runs in a goroutine of its own, and ServeConn does not wait for it. It
// may use the context, except the files of a multipart form, which are removed, and the
// unread rest of a body stream. The request ends when the handler returns, and user
// values are closed then.
func (ctx *RequestCtx) Hijack(handler HijackHandler) { ctx.hijack = handler }

// HijackSetNoResponse sets whether the handler given to Hijack gets the connection
// without a response having been sent. If it sends a 101 (Switching Protocols) itself,
// ctx.Response should have the same status, for logs and Server.ResponseSent.
func (ctx *RequestCtx) HijackSetNoResponse(noResponse bool) { ctx.hijackNoResponse = noResponse }

// Hijacked reports whether Hijack was called.
func (ctx *RequestCtx) Hijacked() bool { return ctx.hijack != nil }

// ctxLogger puts a description of the request in front of its log lines.
type ctxLogger struct {
	ctx *RequestCtx
	mu  sync.Mutex
}

// Printf implements Logger.
func (l *ctxLogger) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx := l.ctx
	taken := 0.0
	if t := ctx.Time(); !t.IsZero() {
		taken = time.Since(t).Seconds()
	}
	ctx.serverLogger().Printf("%.3f %s - %s", taken, ctx, fmt.Sprintf(format, args...))
}

func (ctx *RequestCtx) serverLogger() Logger {
	if ctx.s == nil {
		return defaultLogger
	}
	if ctx.initLogger != nil {
		return ctx.initLogger
	}
	return ctx.s.logger()
}

// Logger returns a logger that begins each line with the time spent on the request so
// far and the result of String. It is valid until the handler returns.
func (ctx *RequestCtx) Logger() Logger {
	ctx.log.ctx = ctx
	return &ctx.log
}

// String returns the id, the addresses, the method and the URI of the request.
func (ctx *RequestCtx) String() string {
	return fmt.Sprintf("#%016X - %s<->%s - %s %s", ctx.ID(), ctx.LocalAddr(), ctx.RemoteAddr(), ctx.Method(), ctx.URI().FullURI())
}
