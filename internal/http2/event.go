package http2

import (
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// Kind is what an Event tells.
type Kind uint8

const (
	None Kind = iota // nothing
	// Headers is the head of a request, with a Stream that is new, or of a final response.
	Headers
	// Interim is the head of a response with a status of 1xx.
	Interim
	// TooLarge takes the place of Headers if the section is too large. A server answers
	// the new Stream with 431.
	TooLarge
	// Malformed takes the place of Headers if a request is malformed in a way that leaves no
	// doubt of where it ends and of what its fields are. Err says in which. A server answers
	// the new Stream with 400.
	Malformed
	// Data is a part of the content, in Payload; it may be empty at the end. The caller
	// must tell by Consumed when it is done with it.
	Data
	// Trailers is the trailer section, which ends the stream.
	Trailers
	// Reset says that a stream has ended before its time, with Code: by the peer, or for a
	// fault of the peer's. RefusedStream means that the peer has done nothing with the
	// request.
	Reset
	// Rejected says that a stream of the peer was reset before the caller has got it. Err
	// says why; there is nothing to be done.
	Rejected
	// GoAway says that the peer ends the connection, with Code. For each stream that it
	// has not looked at, a Reset follows.
	GoAway
	// Settings says that the settings of the peer have changed: Conn.Room may have.
	Settings
	// Pong is the answer to Conn.Ping: Payload has the same 8 bytes.
	Pong
)

// Event is something that the caller of Feed must know.
type Event struct {
	Kind    Kind    // what it is
	End     bool    // the message of the peer ends with it
	Code    Code    // of Reset, Rejected and GoAway
	Stream  *Stream // that of the message, or nil
	Payload []byte  // a part of what was passed to Feed
	Err     *Error  // why the stream was reset, or what is Malformed, or nil
}

// Message is where Feed puts a header section. One can serve many connections, since it
// holds nothing between two calls of Feed: the caller uses it, or takes its lists away,
// before the next call. The zero value is ready for use.
type Message struct {
	// Fields has the fields in their order, without pseudo-fields and, unless
	// Limits.KeepAll is set, without those that Head has. Their text is in its block, as
	// that of Head is. Several Cookie fields are one. In trailers, Fields is all there is.
	Fields field.List
	// Head is what the parser of HTTP/1 makes of the same message. In Framing, content of
	// unknown length has the kind UntilClose. Version has no text, and Host is :authority.
	Head http1.Head
	// Scheme is that of a request, other than CONNECT.
	Scheme field.Span
}

// reset prepares m for another section.
func (m *Message) reset(l *Limits) {
	m.Fields.Reset()
	m.Head.Reset()
	m.Head.KeepNames, m.Head.KeepAll = l.KeepNames, l.KeepAll
	m.Scheme = field.Span{}
}
