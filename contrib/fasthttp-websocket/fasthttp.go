package websocket

import (
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/websocket"
)

// unlimited is the read limit of a Conn before SetReadLimit: with github.com/fasthttp/websocket
// there is none, and programs may depend on that.
const unlimited = -1

// FastHTTPHandler is called with a connection after its opening handshake. The connection is
// closed when it returns.
type FastHTTPHandler func(*Conn)

// FastHTTPUpgrader has the settings for WebSocket connections of a fasthttp.Server. The zero
// value is ready for use. The methods may be called concurrently.
type FastHTTPUpgrader struct {
	// HandshakeTimeout has no effect: Server.ReadTimeout and Server.WriteTimeout limit the
	// opening handshake.
	HandshakeTimeout time.Duration

	// WriteBufferSize is the size, in bytes, of the fragments in which the writers of
	// Conn.NextWriter send their messages: 4096 by default. ReadBufferSize has no effect:
	// connections hold a buffer only while data arrives.
	ReadBufferSize, WriteBufferSize int

	// WriteBufferPool has no effect: write buffers are always from a pool.
	WriteBufferPool BufferPool

	// Subprotocols are the subprotocols that the server supports, in its order of preference.
	// The first one that the client has asked for is used, and none if there is no such one.
	Subprotocols []string

	// Error makes the response to a refused request, by default the text of reason.
	Error func(ctx *fasthttp.RequestCtx, status int, reason error)

	// CheckOrigin decides whether the page that has caused the request may connect. By default
	// it may if its host and port match the request, or if there is no Origin field.
	CheckOrigin func(ctx *fasthttp.RequestCtx) bool

	// EnableCompression permits the client to use permessage-deflate (RFC 7692), and the
	// server to answer with compressed messages if it does.
	EnableCompression bool
}

// Upgrade answers an opening handshake, and makes the server call handler with the connection,
// in a goroutine of its own, once the RequestHandler has returned and the response was sent.
// The RequestHandler may have set fields of ctx.Response before.
//
// If the request is not a valid opening handshake, or its origin is not allowed, Upgrade makes
// ctx.Response a refusal, and returns a HandshakeError.
func (u *FastHTTPUpgrader) Upgrade(ctx *fasthttp.RequestCtx, handler FastHTTPHandler) error {
	up := websocket.Upgrader{
		WriteBufferSize:   u.WriteBufferSize,
		Subprotocols:      u.Subprotocols,
		Error:             u.Error,
		CheckOrigin:       u.CheckOrigin,
		EnableCompression: u.EnableCompression,
		ReadLimit:         unlimited,
	}
	return up.Upgrade(ctx, func(c *websocket.Conn) {
		handler(newConn(c, nil))
		// not after a panic, for which the peer is sent CloseInternalServerErr
		_ = c.CloseNow()
	})
}
