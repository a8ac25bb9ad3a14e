package http2

import (
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// Kind is the kind of an Event.
type Kind uint8

const (
	None Kind = iota // nothing
	// Headers is the head of a request, with a new Stream, or of a final response.
	Headers
	// Interim is the head of a response with a status of 1xx.
	Interim
	// TooLarge takes the place of Headers if the section is too large. A server answers
	// the new Stream with 431.
	TooLarge
	// Malformed takes the place of Headers if a request is malformed, but its end and its
	// fields are clear. Err is the fault. A server answers the new Stream with 400.
	Malformed
	// Data is a part of the content, in Payload; it may be empty at the end. The caller
	// must call Consumed when it is done with it.
	Data
	// Trailers is the trailer section, which ends the stream.
	Trailers
	// Reset means that a stream has ended early, with Code: by the peer, or for a fault of
	// the peer's. RefusedStream means that the peer has not processed the request at all.
	Reset
	// Rejected means that a stream of the peer was reset before the caller has received it.
	// Err is the reason; the caller need not do anything.
	Rejected
	// GoAway means that the peer ends the connection, with Code. For each stream that it
	// has not processed, a Reset follows.
	GoAway
	// Settings means that the settings of the peer have changed: Conn.Room may have
	// changed.
	Settings
	// Pong is the answer to Conn.Ping: Payload has the same 8 bytes.
	Pong
)

// Event is something that the caller of Feed must know.
type Event struct {
	Kind    Kind    // kind of the event
	End     bool    // it ends the peer's message
	Code    Code    // of Reset, Rejected and GoAway
	Stream  *Stream // the stream of the message, or nil
	Payload []byte  // a part of the bytes passed to Feed
	Err     *Error  // why the stream was reset, or is Malformed, or nil
}

// Message receives a header section from Feed. One Message can serve many connections,
// since it holds nothing between two calls of Feed: the caller uses it, or takes its lists
// away, before the next call. The zero value is ready for use.
type Message struct {
	// Fields has the fields in their order, without pseudo-fields and, unless
	// Limits.KeepAll is set, without the fields that Head has. Its block also holds the
	// text of Head. Several Cookie fields are joined into one. In trailers, all fields are
	// here.
	Fields field.List
	// Head is the result of an HTTP/1 parser for the same message. In Framing, content of
	// unknown length has the kind UntilClose. Version has no text, and Host is :authority.
	Head http1.Head
	// Scheme is the scheme of a request, other than CONNECT without a Protocol.
	Scheme field.Span
	// Protocol is the protocol of an extended CONNECT request (RFC 8441), and empty in any
	// other request. Its target is a path then.
	Protocol field.Span

	extended bool // requests may have a Protocol
}

// reset prepares m for another section.
func (m *Message) reset(l *Limits) {
	m.Fields.Reset()
	m.Head.Reset()
	m.Head.KeepNames, m.Head.KeepAll = l.KeepNames, l.KeepAll
	m.Scheme, m.Protocol, m.extended = field.Span{}, field.Span{}, l.ExtendedConnect
}
