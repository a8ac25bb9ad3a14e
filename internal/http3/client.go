package http3

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http2"
)

// ClientStream is the stream of a request of a client. One goroutine may receive while another sends.
// The deadlines and Cancel may be used by any goroutine.
type ClientStream interface {
	// Conn returns the connection, for its addresses and the state of TLS.
	Conn() net.Conn
	// IdleSince returns when the connection became idle or busy last, on the clock, or 0 for a new
	// connection.
	IdleSince() time.Duration

	// BeginSection returns a buffer to which the fields of a section are to be appended, with
	// the encoder. SendSection takes it, and sends it with the next Flush.
	BeginSection() ([]byte, *hpack.Encoder)
	// SendSection returns ErrLargeSection if the server does not accept a section of this size.
	SendSection(section []byte) error
	// Write sends content. It may keep a part of it until Flush.
	Write(p []byte) (int, error)
	Flush() error
	// End is Flush, and ends the request.
	End() error
	// StopSending ends the request in the middle, but not the response. Any goroutine may call it.
	StopSending()
	// ReleaseSending is called by the goroutine that sends when it sends no more.
	ReleaseSending()

	// Head waits for the next head: of an informational response, or of the final one.
	// expectsNone means that the final one has no content.
	Head(m *http2.Message, expectsNone bool) error
	// Next waits for content of the response, and returns up to n bytes of it, which are valid
	// until the next call. The error is io.EOF at the end of the response.
	Next(n int) ([]byte, error)
	// Trailers returns the trailer section, or nil, once Next has returned io.EOF.
	Trailers() *field.List

	// AwaitExtended waits until the server has announced whether it accepts extended CONNECT.
	AwaitExtended(wait ClientWait) (accepts bool, err error)
	// BeginTunnel makes the stream a tunnel: only content is exchanged from here on.
	BeginTunnel()
	// StopReading tells the server that no more is received.
	StopReading()

	// SetReadDeadline and SetWriteDeadline limit the waits of one direction, also of one that has begun.
	SetReadDeadline(t time.Time) error
	// SetWriteDeadline: see SetReadDeadline.
	SetWriteDeadline(t time.Time) error
	// Cancel ends both directions, if they have not ended.
	Cancel()
	// Release ends the use of the stream: nothing is received any more. If retire is set, no other
	// request uses the connection.
	Release(retire bool)
}

// ClientKey has the properties that the requests of a connection share.
type ClientKey struct {
	Addrs      string      // one or more, separated by commas
	TLS        *tls.Config // of the client, or nil
	ServerName string      // for TLS, or empty for the host of the address
	Section    uint32      // the largest field section
	Fields     int         // the number of its fields
	Table      uint32      // the largest QPACK table of the decoder
	Encoder    uint32      // the largest QPACK table of the encoder, or 0 for none
	KeepNames  bool        // names are not normalised
	Window     uint64      // bytes of a response that were not read, or 0 for the default
	ConnWindow uint64      // the same for a connection
}

// ClientWait has the limits of the wait for a stream.
type ClientWait struct {
	Ctx         context.Context // its end ends the wait
	Until       time.Time       // zero for no limit
	Room        time.Duration   // the most for a stream of a busy connection, or 0
	MaxDuration time.Duration   // for which a connection is used, or 0
}

// Client has the connections of a client.
type Client interface {
	// Open opens a stream for a request, over a connection which may be a new one.
	Open(key *ClientKey, wait ClientWait) (ClientStream, error)
}

// Errors of a ClientStream or Client, which may be wrapped.
var (
	// ErrRejected means that the server has not processed the request.
	ErrRejected = errors.New("http3: the server has rejected the request")
	// ErrLost means that the connection has ended.
	ErrLost = errors.New("http3: the connection has ended")
	// ErrNoRoom means that all connections are busy.
	ErrNoRoom = errors.New("http3: all connections are busy")
	// ErrLargeHead means that a head exceeds the limit.
	ErrLargeHead = errors.New("http3: the head of the response is too large")
	// ErrStopped means that the server does not want the rest of the request.
	ErrStopped = errors.New("http3: the server does not want the rest of the request")
	// ErrLargeSection means that the peer does not accept the size of a field section.
	ErrLargeSection = errors.New("http3: a field section is larger than the peer accepts")
)

// NewTransport returns a RoundTripperContext of the root package with the connections of a client.
// The root package sets it.
var NewTransport func(c Client) any
