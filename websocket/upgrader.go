package websocket

import (
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/internal/wsflate"
)

// Upgrader has the settings for WebSocket connections of a server. The zero value is ready
// for use. The fields must not be changed after first use; the methods may be called
// concurrently.
type Upgrader struct {
	// Subprotocols are the subprotocols that the server supports, in its order of
	// preference. The first one that the client has asked for is used, and none if there is
	// no such one. If the list is empty, the handler may set Sec-WebSocket-Protocol in
	// ctx.Response before it calls Upgrade: Subprotocols returns the client's.
	Subprotocols []string

	// OriginPatterns are further origins whose pages may connect. By default only pages of
	// the same host and port may, as named by RequestCtx.ClientHost; clients other than
	// browsers send no origin, and may always connect.
	//
	// A pattern is a host, with its port if it is not the default one, such as
	// "app.example.com", or a whole origin, such as "https://app.example.com". A star
	// matches any characters, or none: "*.example.com" is any host in that domain, and
	// "localhost:*" any port. "*" allows all pages to connect, with the cookies of the user.
	// Letters match in upper and lower case.
	OriginPatterns []string

	// CheckOrigin decides whether the request may be upgraded, instead of the comparison of
	// hosts and OriginPatterns. It is called for every valid request, with an Origin field
	// or without.
	CheckOrigin func(ctx *fasthttp.RequestCtx) bool

	// Error makes the response to a refused request, by default the text of reason.
	// The response then gets the fields that HTTP requires for its status, such as
	// Sec-WebSocket-Version.
	Error func(ctx *fasthttp.RequestCtx, status int, reason error)

	// EnableCompression permits the client to use permessage-deflate (RFC 7692), and the
	// server to answer with compressed messages if it does. Compression has the details.
	EnableCompression bool
	Compression       Compression

	// ReadLimit is the maximum size of a message in bytes: DefaultReadLimit if it is 0, and
	// no limit if it is negative. It applies to the size after decompression. A connection
	// whose peer exceeds it is closed with the code CloseMessageTooBig.
	ReadLimit int64

	// PingInterval is how often the server sends a Ping frame to a peer. Zero means never.
	PingInterval time.Duration
	// PongTimeout is how long a peer may take to send anything after a Ping of PingInterval,
	// before the connection is closed. The time in which no method reads does not count. The
	// default is PingInterval; if it is negative, the peer need not send anything.
	PongTimeout time.Duration

	// CloseTimeout limits how long Conn.Close waits for the Close frame of the peer:
	// DefaultCloseTimeout if it is 0; if it is negative, Close does not wait.
	CloseTimeout time.Duration

	// WriteTimeout is how long a peer may take to accept a frame of a Conn, for each 64 KiB that
	// it begins. A write then fails with an error whose Timeout method returns true, and so do all
	// further ones if a part of the frame was sent. The timeout applies to frames for which
	// neither SetWriteDeadline nor WriteContext sets a limit. If it is 0, there is no limit: a
	// peer that does not read stops its writer forever.
	WriteTimeout time.Duration

	// ReleaseContext ends the request, and releases its context, before the function given to
	// Upgrade is called. The function must not use the context, nor slices from it. A
	// connection then needs about 2.8 KiB less.
	ReleaseContext bool

	// WriteBufferSize is the size, in bytes, of the fragments in which the writers of
	// Conn.NextWriter send their messages: 4096 by default.
	WriteBufferSize int

	// ReadBufferSize has no effect: connections hold a buffer only while data arrives.
	ReadBufferSize int
	// WriteBufferPool has no effect: write buffers are always from a pool.
	WriteBufferPool BufferPool
	// HandshakeTimeout has no effect: Server.ReadTimeout and Server.WriteTimeout limit the
	// opening handshake.
	HandshakeTimeout time.Duration
}

// FastHTTPUpgrader is the name of Upgrader in github.com/fasthttp/websocket.
type FastHTTPUpgrader = Upgrader

// FastHTTPHandler is the type of the function that Upgrader.Upgrade calls.
type FastHTTPHandler = func(c *Conn)

// BufferPool is the type of Upgrader.WriteBufferPool and Dialer.WriteBufferPool, which have
// no effect.
type BufferPool interface {
	Get() any // returns a buffer, or nil
	Put(any)  // takes it back
}

// Defaults of an Upgrader and a Dialer.
const (
	DefaultReadLimit    = ws.DefaultMessage // 4 MiB, like the limit of the body of a request
	DefaultCloseTimeout = 5 * time.Second

	defaultFragment = 4096
)

// Compression has the parameters of permessage-deflate (RFC 7692) for a connection. The zero
// value compresses each message for itself, fast, and needs memory only meanwhile.
type Compression struct {
	// Level is the level of compression, from 1, the fastest, to 9, or -2 or -1 as for package
	// compress/flate. The default is 1; a level out of range counts as the nearest. It has no
	// effect if the window of this side is smaller than 32 KiB.
	Level int

	// Threshold is the size of the smallest message to be compressed, in bytes. The
	// default is 256; negative means all messages.
	Threshold int

	// ContextTakeover lets a message refer to the messages before it, if the peer agrees.
	// Similar messages become far smaller. Each connection holds the windows of both sides,
	// of 64 KiB at most for messages received, and a compressor, of 0.8 to 1.4 MiB.
	ContextTakeover bool

	// WindowBits is the logarithm of the largest window of either side, from 8, 256 bytes, to
	// 15, the default; a value out of range counts as the nearest. A peer may require a smaller
	// window for the messages that it receives. Smaller windows reduce the memory for received
	// messages, not the one for a compressor.
	WindowBits int
}

// threshold returns the size of the smallest message to be compressed.
func (c *Compression) threshold() int {
	if c.Threshold == 0 {
		return 256
	}
	return max(c.Threshold, 0)
}

// level returns the level of compression.
func (c *Compression) level() int8 {
	if c.Level == 0 {
		return 1
	}
	return int8(min(max(c.Level, wsflate.MinLevel), wsflate.MaxLevel))
}

// bits returns the logarithm of the largest window.
func (c *Compression) bits() uint8 {
	if c.WindowBits == 0 {
		return ws.MaxBits
	}
	return uint8(min(max(c.WindowBits, ws.MinBits), ws.MaxBits))
}

// terms returns the terms on which a server accepts offers.
func (c *Compression) terms() ws.Terms {
	return ws.Terms{
		ServerBits:      c.bits(),
		ClientBits:      c.bits(),
		ServerNoContext: !c.ContextTakeover,
		ClientNoContext: !c.ContextTakeover,
	}
}
