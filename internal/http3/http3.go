// Package http3 is between the root package and package http3, a module of its own that has the
// connections of QUIC: a Stream carries a request and its response, and a
// Server serves it; a Client opens a ClientStream for each request. It does no I/O.
package http3

import (
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http2"
)

// Stream is the stream of a request. One goroutine may receive while another sends. The deadlines
// and OnCancel may be used by any goroutine.
type Stream interface {
	// Next waits for content of the request, and returns up to n bytes of it, which are valid until
	// the next call. The error is io.EOF at the end of the request. It reports malformed content
	// to the client.
	Next(n int) ([]byte, error)
	// Trailers returns the trailer section, or nil, once Next has returned io.EOF.
	Trailers() *field.List

	// BeginSection returns a buffer to which the fields of a section are to be appended, with
	// the encoder. SendSection takes it, and sends it with the next Flush, unless it returns
	// ErrLargeSection because the client does not accept its size.
	BeginSection() ([]byte, *hpack.Encoder)
	SendSection(section []byte) error
	// Write sends content. It may keep a part of it until Flush.
	Write(p []byte) (int, error)
	Flush() error
	// End is Flush, and ends the response.
	End() error
	// Reset ends the response in the middle, because of an error of the server.
	Reset()
	// StopReading tells the client that no more of its request is needed.
	StopReading()

	// SetReadDeadline and SetWriteDeadline limit the waits of one direction, also of one that has begun.
	SetReadDeadline(t time.Time) error
	// SetWriteDeadline: see SetReadDeadline.
	SetWriteDeadline(t time.Time) error
	// OnCancel makes f be called when the client cancels the request, or the connection ends, unless
	// stop is called before.
	OnCancel(f func()) (stop func() bool)
	// GoAway makes the connection end after its requests.
	GoAway()

	// BeginTunnel is called during Serve: only content is exchanged from here on, and the stream
	// is used until EndTunnel is called.
	BeginTunnel()
	EndTunnel()
	// Cancel ends both directions at once, at the wish of the application.
	Cancel()
}

// Fault is why a request is refused with a response.
type Fault uint8

const (
	None       Fault = iota // it is not refused
	LargeHead               // the field section is too large
	ManyFields              // it has too many fields
	BadTarget               // its target is not permitted
	BadHost                 // it has no valid host
)

// Request is the head of a request.
type Request struct {
	Message *http2.Message // the fields, of which a refused request may have none
	End     bool           // there is no content
	Fault   Fault          // why it is refused
}

// Limits are the settings of a server for its connections.
type Limits struct {
	Section     uint32        // the largest field section
	Fields      int           // the number of its fields
	Streams     int           // concurrent requests
	Table       uint32        // the largest QPACK table of a decoder
	Encoder     uint32        // the largest QPACK table of an encoder, or 0 for none
	HeadTimeout time.Duration // for a head, or 0
	IdleTimeout time.Duration // without requests, or 0
	KeepNames   bool          // names are not normalised
	Extended    bool          // extended CONNECT is permitted
	Window      uint64        // bytes of a request that were not read, or 0 for the default
	ConnWindow  uint64        // the same for a connection
}

// Server is the part of a *fasthttp.Server that serves connections of HTTP/3.
type Server interface {
	// Limits returns the settings for all connections.
	Limits() Limits
	// Accept begins a connection, unless a limit of the server refuses it.
	Accept(nc net.Conn) (Conn, error)
	// Logf logs with the logger of the server.
	Logf(format string, args ...any)
}

// Conn is a connection of a Server.
type Conn interface {
	// Serve serves a request, and returns when it has ended. It takes the lists of the message over.
	// lent reports whether goroutines of a handler may still call Next.
	Serve(s Stream, r *Request) (lent bool)
	// StateChanged reports whether the connection has requests, if it had none before, or has none
	// any more.
	StateChanged(active bool)
	// Close ends the connection, after its requests, because of err, which may be nil.
	Close(err error)
}

// Of returns the Server of a *fasthttp.Server. The root package sets it.
var Of func(server any) (Server, error)
