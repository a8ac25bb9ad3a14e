package websocket

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/websocket"
)

const headerProtocol = "Sec-WebSocket-Protocol"

// Upgrader has the settings for WebSocket connections of an http.Server. The zero value is
// ready for use. The methods may be called concurrently.
type Upgrader struct {
	// HandshakeTimeout limits how long sending the response may take. Zero means no limit.
	HandshakeTimeout time.Duration

	// WriteBufferSize is the size, in bytes, of the fragments in which the writers of
	// Conn.NextWriter send their messages: 4096 by default. ReadBufferSize has no effect:
	// connections hold a buffer only while data arrives.
	ReadBufferSize, WriteBufferSize int

	// WriteBufferPool has no effect: write buffers are always from a pool.
	WriteBufferPool BufferPool

	// Subprotocols are the subprotocols that the server supports, in its order of preference.
	// The first one that the client has asked for is used, and none if there is no such one.
	// If the list is empty, the Sec-WebSocket-Protocol of responseHeader is used.
	Subprotocols []string

	// Error makes the response to a refused request, by default the text of reason. The fields
	// that HTTP requires for the status, such as Sec-WebSocket-Version, are set before.
	Error func(w http.ResponseWriter, r *http.Request, status int, reason error)

	// CheckOrigin decides whether the page that has caused the request may connect. By default
	// it may if its host and port match r.Host, or if there is no Origin field.
	CheckOrigin func(r *http.Request) bool

	// EnableCompression permits the client to use permessage-deflate (RFC 7692), and the
	// server to answer with compressed messages if it does.
	EnableCompression bool
}

// Upgrade answers an opening handshake, with the fields of responseHeader, such as Set-Cookie,
// and takes the connection over. A goroutine waits for Conn.Close, which must be called.
//
// If the request is not a valid opening handshake, or its origin is not allowed, Upgrade sends
// a refusal, and returns a HandshakeError.
func (u *Upgrader) Upgrade(w http.ResponseWriter, r *http.Request, responseHeader http.Header) (*Conn, error) {
	var status int // of a refusal
	var conns chan *Conn
	ctx := contextOf(r)
	up := websocket.Upgrader{
		WriteBufferSize:   u.WriteBufferSize,
		Subprotocols:      u.Subprotocols,
		CheckOrigin:       func(*fasthttp.RequestCtx) bool { return u.allowsOrigin(r) },
		EnableCompression: u.EnableCompression,
		ReadLimit:         unlimited,
		Error: func(ctx *fasthttp.RequestCtx, code int, _ error) {
			status = code
			ctx.SetStatusCode(code)
		},
	}
	for name, values := range responseHeader {
		for _, v := range values {
			ctx.Response.Header.Add(name, v)
		}
	}
	err := up.Upgrade(ctx, func(c *websocket.Conn) {
		closed := make(chan struct{})
		conns <- newConn(c, func() { close(closed) })
		<-closed
	})
	if err != nil {
		for _, name := range [...]string{"Upgrade", "Connection", "Allow", "Sec-WebSocket-Version"} {
			if v := ctx.Response.Header.Peek(name); len(v) > 0 {
				w.Header().Set(name, string(v))
			}
		}
		u.refuse(w, r, status, errors.Unwrap(err))
		return nil, err
	}
	nc, ahead, err := HijackResponse(r, w)
	if err != nil {
		err = HandshakeError{Status: http.StatusInternalServerError, Err: err}
		u.refuse(w, r, http.StatusInternalServerError, errors.Unwrap(err))
		return nil, err
	}
	if err := u.respond(nc, ctx); err != nil {
		_ = nc.Close()
		return nil, err
	}
	if n := ahead.Reader.Buffered(); n > 0 {
		nc = &bufferedConn{Conn: nc, r: ahead.Reader}
	}
	conns = make(chan *Conn, 1)
	serve, _ := ctx.HijackHandler()
	go serve(nc)
	return <-conns, nil
}

// respond sends the response, and leaves no deadline on the connection.
func (u *Upgrader) respond(nc net.Conn, ctx *fasthttp.RequestCtx) error {
	// the http.Server has set deadlines for the request
	err := nc.SetDeadline(time.Time{})
	if u.HandshakeTimeout > 0 && err == nil {
		err = nc.SetWriteDeadline(time.Now().Add(u.HandshakeTimeout))
	}
	if err == nil {
		_, err = nc.Write(ctx.Response.Header.Header())
	}
	if u.HandshakeTimeout > 0 && err == nil {
		err = nc.SetWriteDeadline(time.Time{})
	}
	return err
}

func (u *Upgrader) refuse(w http.ResponseWriter, r *http.Request, status int, reason error) {
	if u.Error != nil {
		u.Error(w, r, status, reason)
	} else {
		http.Error(w, reason.Error(), status)
	}
}

func (u *Upgrader) allowsOrigin(r *http.Request) bool {
	if u.CheckOrigin != nil {
		return u.CheckOrigin(r)
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return true
	}
	page, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && strings.EqualFold(page.Host, r.Host)
}

// contextOf returns a context with the header of r, which has no server.
func contextOf(r *http.Request) *fasthttp.RequestCtx {
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(nil, nil, nil)
	h := &ctx.Request.Header
	h.SetMethod(r.Method)
	h.SetProtocol(r.Proto)
	h.SetHost(r.Host)
	for name, values := range r.Header {
		for _, v := range values {
			h.Add(name, v)
		}
	}
	return ctx
}

// bufferedConn is a connection of which an http.Server has read more than the request. Package
// websocket looks for the methods Buffered and UnsafeConn.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

// Read reads the buffered bytes.
func (c *bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// Buffered returns how many bytes are buffered.
func (c *bufferedConn) Buffered() int { return c.r.Buffered() }

// UnsafeConn returns the connection without them.
func (c *bufferedConn) UnsafeConn() net.Conn { return c.Conn }

// Upgrade is Upgrader.Upgrade with any origin, and with the subprotocol of responseHeader.
// readBufSize has no effect.
//
// Deprecated: Use Upgrader.
func Upgrade(w http.ResponseWriter, r *http.Request, responseHeader http.Header, readBufSize, writeBufSize int) (*Conn, error) {
	u := Upgrader{
		ReadBufferSize:  readBufSize,
		WriteBufferSize: writeBufSize,
		CheckOrigin:     func(*http.Request) bool { return true },
		// the caller makes the response
		Error: func(http.ResponseWriter, *http.Request, int, error) {},
	}
	return u.Upgrade(w, r, responseHeader)
}

// HijackResponse takes over the connection of w, or of a ResponseWriter that w unwraps to. The
// error is ErrResponseHijackUnsupported if that is not possible.
func HijackResponse(_ *http.Request, w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
	nc, rw, err := http.NewResponseController(w).Hijack()
	if errors.Is(err, http.ErrNotSupported) {
		err = ErrResponseHijackUnsupported
	}
	return nc, rw, err
}

// IsWebSocketUpgrade reports whether the client asks for the WebSocket protocol. The request
// may still not be a valid opening handshake.
func IsWebSocketUpgrade(r *http.Request) bool {
	return websocket.IsWebSocketUpgrade(contextOf(r))
}

// Subprotocols returns the subprotocols that the client has asked for, in its order of
// preference.
func Subprotocols(r *http.Request) []string {
	return websocket.Subprotocols(contextOf(r))
}
