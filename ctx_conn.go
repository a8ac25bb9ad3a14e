package fasthttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/watch"
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
		ctx.c.RecordEscape()
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
	switch a := addr.(type) {
	case *net.TCPAddr:
		if a != nil {
			return a.IP
		}
	case *net.UDPAddr:
		// of HTTP/3
		if a != nil {
			return a.IP
		}
	}
	return net.IPv4zero
}

// SetReadDeadline sets the read deadline of the connection. It applies until the server
// sets its own: if IdleTimeout or ReadTimeout is set, when the connection starts to
// wait for the next request, and otherwise when that request begins. The error is
// ErrDeadlineUpdatesDisabled once the context no longer belongs to the handler, or else
// the error of the connection. On the portable engine WatchDisconnect removes the deadline.
//
// With HTTP/2 or HTTP/3 it is the deadline of this request alone. With HTTP/2 the server checks it
// once a second.
func (ctx *RequestCtx) SetReadDeadline(deadline time.Time) error {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	c, err := ctx.deadlineConn()
	if err != nil {
		return err
	}
	if ctx.c.Variant != 0 {
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
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	c, err := ctx.deadlineConn()
	if err != nil {
		return err
	}
	if ctx.c.Variant != 0 {
		ctx.setStreamDeadlines(nil, &deadline)
		return nil
	}
	return c.SetWriteDeadline(deadline)
}

// deadliner is an exchange with deadlines of its own, since its connection is shared.
type deadliner interface{ setDeadlines(read, write *time.Time) }

// setStreamDeadlines sets deadlines of a request of HTTP/2 or HTTP/3, which shares its connection.
// timeoutMu is held.
func (ctx *RequestCtx) setStreamDeadlines(read, write *time.Time) {
	// the producer of a body stream continues after the handler has returned
	x := ctx.streaming
	if ctx.exchange != nil {
		x, _ = ctx.exchange.t.(deadliner)
	}
	if x != nil {
		x.setDeadlines(read, write)
	}
}

// setDeadlines implements deadliner.
func (x *h2Exchange) setDeadlines(read, write *time.Time) {
	x.h.mu.Lock()
	if read != nil {
		x.readUntil = *read
	}
	if write != nil {
		x.writeUntil, x.limitsPiece = *write, false
	}
	// the connection checks the time only now and then
	over := x.checkDeadlines(false)
	x.h.mu.Unlock()
	x.wake()
	if over {
		x.expired()
	}
}

// deadlineConn returns the connection for setting a deadline. timeoutMu is held.
func (ctx *RequestCtx) deadlineConn() (net.Conn, error) {
	if ctx.isLate() {
		return nil, ErrDeadlineUpdatesDisabled
	}
	c := ctx.conn()
	if c == nil {
		return nil, ErrNilConnection
	}
	// the next request removes this deadline
	ctx.c.MarkEscaped()
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
// HTTP/2 requests share their connection. If the request is a CONNECT or an extended CONNECT, see
// ConnectProtocol, and the response is a 2xx, handler gets the stream of the request: the end of
// the stream is the end of the connection, and its reset a reset. Shutdown waits for its end.
// For any other request, or with HijackSetNoResponse, the response is a 501 instead,
// which the server logs, and handler is not called.
//
// The handler runs in a goroutine of its own, and ServeConn does not wait for it. It
// may use the context, except the files of a multipart form, which are removed, and the
// unread rest of a body stream. The request ends when the handler returns, and user
// values are closed then.
func (ctx *RequestCtx) Hijack(handler HijackHandler) {
	ctx.hijack, ctx.switched, ctx.hijackReleases = handler, nil, false
}

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

// This file is for code that calls handlers instead of a Server, or answers for
// handlers of another kind: see package fasthttpadaptor.

func init() {
	bridge.OmitDate = func(h any) { h.(*ResponseHeader).head.SetState(header.NoDate, true) }
	bridge.OmitsDate = func(h any) bool { return h.(*ResponseHeader).head.Is(header.NoDate) }
	bridge.HijackImmediately = func(ctx any) {
		ctx.(*RequestCtx).hijackNoResponse, ctx.(*RequestCtx).hijackImmediately = true, true
	}
	bridge.BufferReceived = func(resp any) { resp.(*Response).buffersReceived = true }
	bridge.TrailersTo = func(ctx, header any) { ctx.(*RequestCtx).Request.pointStreamTo(header.(*RequestHeader)) }
	bridge.FieldList = func(of any, room int) (list any, trails bool) {
		var h *header.Header
		if req, ok := of.(*RequestHeader); ok {
			h = &req.head
		} else {
			h = &of.(*ResponseHeader).head
		}
		h.MakeRoom(room)
		return &h.List, len(h.Trailers.Entries) > 0
	}
	bridge.MoveHeader = func(dst, src any) { src.(*ResponseHeader).head.MoveTo(&dst.(*ResponseHeader).head) }
	bridge.HookDisconnect = func(ctx, hook any, target interface{ ClientLeft() }) bool {
		w := ctx.(*RequestCtx).watchClient()
		if w != nil {
			w.HookDisconnect(hook.(*watch.Hook), target)
		}
		return w != nil
	}
	bridge.AuthorizeByURI = func(of any) {
		if req := of.(*Request); req.authorizesByURI() {
			req.authorize(&req.Header)
		}
	}
	bridge.SendUnlimited = func(push any, content []byte) error { return push.(*Push).send(content, math.MaxInt) }
	bridge.ReleaseHijacked = func(ctx any) { ctx.(*RequestCtx).hijackReleases = true }
}

// Inform sends an informational response at once: the status code of h, which must be
// 102 to 199, and its fields, as they were set. The final response follows it. Nothing
// is sent to an HTTP/1.0 client, nor if the context does not belong to the handler of a
// server. It returns an error if the status code is out of this range, or the error of
// the connection. See EarlyHints for the usual case.
func (ctx *RequestCtx) Inform(h *ResponseHeader) error {
	code := h.StatusCode()
	if code <= StatusSwitchingProtocols || code > 199 {
		return fmt.Errorf("fasthttp: %d is no status of an informational response", code)
	}
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	if !ctx.ownsConn() || !ctx.Request.Header.IsHTTP11() {
		return nil
	}
	return ctx.exchange.inform(h)
}

// HijackHandler returns the arguments of Hijack and HijackSetNoResponse. It is for
// code that has called a RequestHandler without a Server, and must call the
// HijackHandler itself.
func (ctx *RequestCtx) HijackHandler() (handler HijackHandler, noResponse bool) {
	return ctx.hijack, ctx.hijackNoResponse
}

// TakeTimeoutResponse returns the response that the client gets instead of ctx.Response: a
// copy of the response set by the last TimeoutError method, with its body stream, or the
// response of a TimeoutHandler whose handler was late, or nil. It is for code that has called
// a RequestHandler without a Server, and sends that response. Responses set by later calls of
// TimeoutError methods are not sent, and body streams that are not sent are closed.
func (ctx *RequestCtx) TakeTimeoutResponse() *Response {
	if !ctx.timedOut() {
		return ctx.LastTimeoutErrorResponse()
	}
	taken, resp := ctx.takeTimeoutResponse(), new(Response)
	taken.CopyTo(resp)
	taken.moveStreamTo(resp)
	return resp
}

// EnableFullDuplex lets one goroutine read the body of the request, if it is a
// stream, while another produces the body stream of the response, as a proxy does.
// The producer must not end before the reader.
//
// Otherwise only the body stream of the response itself may read the request body
// while the response is written. HTTP/2 allows both without this call.
//
// If the response to such a request has a body stream, a TimeoutHandler leaves the
// request header to its handler: the handlers around it see the header as it was
// before, without changes of that handler and without the trailers.
func (ctx *RequestCtx) EnableFullDuplex() {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	ctx.fullDuplex = true
	if ctx.ownsConn() {
		ctx.exchange.enableFullDuplex()
	}
}

// FullDuplex reports whether the body of the request may be read while another goroutine
// produces the response: EnableFullDuplex was called, or the protocol is HTTP/2.
func (ctx *RequestCtx) FullDuplex() bool {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	return ctx.fullDuplex || ctx.c != nil && ctx.c.Variant != 0
}

// AfterDisconnect calls f in a goroutine of its own when the client ends the connection: it
// starts to watch the client, as WatchDisconnect does. A shutdown of the server closes the
// channel of Done, but does not call f, because requests that have begun are still answered.
// EndedSending reports whether the client may still read the response. stop cancels the call
// of f, and reports whether it was in time. f is not called once the handler has returned
// or, if its response is a stream, once the stream was sent. The server logs a panic of f.
//
// It does nothing unless ctx belongs to a handler of a server.
func (ctx *RequestCtx) AfterDisconnect(f func()) (stop func() bool) {
	w := ctx.watchClient()
	if w == nil {
		return func() bool { return false }
	}
	return w.AfterDisconnect(ctx.caught(f, "a function given to AfterDisconnect"))
}

// caught returns f with a guard: it is called on a goroutine of its own, where a panic would end the
// program.
func (ctx *RequestCtx) caught(f func(), what string) func() {
	s := ctx.s
	return func() {
		defer s.catchPanic(what)
		f()
	}
}

// EndedSending reports whether the channel of Done is closed, and the client has ended its
// sending side. It may have left, or may still read the response: only writing shows that.
// It is false for a reset and for a shutdown of the server alone.
func (ctx *RequestCtx) EndedSending() bool {
	w := ctx.watch.Load()
	if w == nil {
		return false
	}
	return w.HalfClosed()
}
