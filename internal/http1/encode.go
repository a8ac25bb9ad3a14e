package http1

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// Outgoing holds all that decides how an HTTP/1.x connection sends a message. The caller
// fills in the properties of the message: its content, and whether it must be the last one.
// The connection fills in the request that it answers, the version of the peer, and whether
// it stays open. Other versions of HTTP send the same messages with their own framing.
//
// Its zero value is a request without content.
type Outgoing struct {
	Role    Role        // which side sends it
	Content ContentKind // kind of its content
	Terms   Terms       // the conditions under which it is sent
	Status  int         // of a response
	Size    int         // in bytes, of SizedContent
}

// ContentKind is how much the sender knows about the content of a message in advance. If the
// content itself is not sent, as in a response to HEAD, this is the content of the same
// response to GET.
type ContentKind uint8

const (
	// NoContent is no content and no field about it, as in most GET requests.
	NoContent ContentKind = iota
	// SizedContent has Outgoing.Size bytes, which may be none.
	SizedContent
	// UnsizedContent has an unknown size.
	UnsizedContent
	// OpenContent is the content of a received response that had no framing: the end of its
	// connection ended it.
	OpenContent
	contentKinds
)

// Terms are the conditions under which a message is sent.
type Terms uint16

const (
	// PeerIsOld means that the server's peer speaks HTTP/1.0.
	PeerIsOld Terms = 1 << iota
	// LineIsOld means that the start line of the message has HTTP/1.0, whatever the peer
	// speaks: the application has set or received it.
	LineIsOld
	// LineIsReceived means that the message was received with a version other than HTTP/1.1
	// in its start line, and another connection sends it. The version sent is the
	// connection's (RFC 9110 section 2.5), so LineIsOld does not count.
	LineIsReceived
	// SkipsContent means that the content of a response is not sent: it answers HEAD, or
	// the application has asked for that.
	SkipsContent
	// BeginsTunnel means that a 2xx response to CONNECT makes the connection a tunnel.
	BeginsTunnel
	// HasTrailers means that there are fields to send after the content.
	HasTrailers
	// ByApplication means that the application writes the response itself, for example to a
	// file. It then stays as it is where a server's connection would correct it: a 205
	// keeps its content, and Connection lines that list keep-alive stay beside close.
	ByApplication
	// AsksClose means that the application wants the connection to end.
	AsksClose
	// ConnEnds means that the connection ends for another reason.
	ConnEnds
	allTerms = 1<<iota - 1
)

// Encoding is how a message is sent: the framing of its content, and the fields that
// declare it.
//
// Its zero value has no content, no framing field, and no Connection field.
type Encoding struct {
	Kind  BodyKind     // how the content is delimited; NoBody if none follows
	Flags FramingFlags // the fields, and their consequences
	// Length is the length of the content that is, or would be, described: 0 if there is
	// none, or none may be described; -1 if it is unknown, and -2 if the end of a
	// connection ends it.
	Length int
}

// The lengths of content whose size is not known.
const (
	UnsizedLength = -1
	OpenLength    = -2
)

// FramingFlags is a set of framing and connection fields of a message, and their consequences.
type FramingFlags uint8

const (
	// SendLength is "Content-Length", with the Length of the Encoding.
	SendLength FramingFlags = 1 << iota
	// SendChunked is "Transfer-Encoding: chunked".
	SendChunked
	// SendClose is "Connection: close".
	SendClose
	// SendKeepAlive is "Connection: keep-alive", which HTTP/1.0 needs. The application's
	// Connection lines are not sent then.
	SendKeepAlive
	// OverridesKeepAlive means that the application's Connection lines which list
	// keep-alive are not sent, since the connection ends.
	OverridesKeepAlive
	// LacksTrailers means that there is neither a Trailer field nor a trailer section:
	// HTTP/1.0 has none. Fields announced as trailers are in the header section.
	LacksTrailers
	// EndsConn means that no other message follows on the connection.
	EndsConn
	// OwnVersion means that the start line has HTTP/1.1, whatever the message has.
	OwnVersion
)

// Has reports whether any of the flags in set is set.
func (s FramingFlags) Has(set FramingFlags) bool { return s&set != 0 }

// Sized returns the encoding of the usual message without a call of Encode: it has size
// bytes of content, and the connection stays open. Encode returns the same for SizedContent
// without Terms, if the status allows content. For NoContent in a request, the encoding is
// the zero value.
func Sized(size int) Encoding { return Encoding{Kind: Length, Flags: SendLength, Length: size} }

// Has reports whether any of the flags in set is set.
func (o Outgoing) Has(set Terms) bool { return o.Terms&set != 0 }

// Encode decides how the message is sent. This is decided only here.
//
// The first line that applies determines the framing of its content (RFC 9112 section 6,
// RFC 9110 sections 8.6 and 9.3.2). "old" is a response to an HTTP/1.0 client, or with
// HTTP/1.0 in its status line, for which there is no chunked coding and no trailer section
// (RFC 9112 section 6.1). A 205 by the application itself is like other responses.
//
//	message                      content      fields
//	request, none                none         none
//	response, 1xx and 204        none         none (RFC 9112 section 6.1, RFC 9110 section 8.6)
//	response, begins a tunnel    none         none (RFC 9110 section 9.3.6)
//	response, 304, sized         none         Content-Length, as in a 200
//	response, 304, other         none         none
//	response, 205                none         Content-Length: 0 (RFC 9110 section 15.3.6)
//	skipped, sized               none         Content-Length, as with content
//	skipped, unsized             none         Transfer-Encoding: chunked
//	skipped, unsized, old        none         none
//	skipped, other               none         none
//	response, none               of 0 bytes   Content-Length: 0
//	sized                        of n bytes   Content-Length: n
//	sized, trailers              in chunks    Transfer-Encoding: chunked
//	sized, trailers, old         of n bytes   Content-Length: n
//	unsized                      in chunks    Transfer-Encoding: chunked
//	unsized, old                 until close  none
//	response, open               until close  none
//
// The first line that applies here determines the Connection field (RFC 9112 section 9):
//
//	message                                   Connection   the connection
//	the application asks for the end          close        ends
//	content until close                       close        ends
//	connection ends, 101                      none         ends
//	connection ends                           close        ends
//	to an HTTP/1.0 client                     keep-alive   stays open
//	other                                     none         stays open
//
// A 101 leaves HTTP, so its Connection field is about the upgrade.
//
// An HTTP/1.0 request with content of unknown size is sent as HTTP/1.1: it can neither have
// chunks nor end with the connection.
func (o Outgoing) Encode() Encoding {
	own := o.Has(LineIsReceived) || o.Role == Request && o.Content == UnsizedContent && o.Has(LineIsOld)
	if own {
		o.Terms &^= LineIsOld
	}
	e := o.frame()
	if own {
		e.Flags |= OwnVersion
	}
	if o.Has(PeerIsOld | LineIsOld) {
		e.Flags |= LacksTrailers
	}
	switch ends := o.Has(AsksClose|ConnEnds) || e.Kind == UntilClose; {
	case ends && o.Status == 101 && !o.Has(AsksClose):
		e.Flags |= EndsConn
	case ends:
		e.Flags |= SendClose | EndsConn
		if o.Role == Response && o.Status != 101 && !o.Has(ByApplication) {
			e.Flags |= OverridesKeepAlive
		}
	case o.Has(PeerIsOld):
		e.Flags |= SendKeepAlive
	}
	return e
}

// frame is the part of Encode for the content.
func (o Outgoing) frame() Encoding {
	old, skips := o.Has(PeerIsOld|LineIsOld), o.Has(SkipsContent)
	if o.Role == Response {
		switch {
		case o.Status < 200 || o.Status == 204 || o.Has(BeginsTunnel):
			return Encoding{}
		case o.Status == 304 && o.Content == SizedContent:
			return Encoding{Flags: SendLength, Length: o.Size}
		case o.Status == 304:
			return Encoding{}
		case o.Status == 205 && !o.Has(ByApplication):
			return Encoding{Flags: SendLength}
		case o.Content == NoContent && !skips:
			return Sized(0)
		}
	}
	e := Encoding{}
	switch o.Content {
	case SizedContent:
		e = Sized(o.Size)
		if o.Has(HasTrailers) && !skips && !old {
			e = Encoding{Kind: Chunks, Flags: SendChunked, Length: UnsizedLength}
		}
	case UnsizedContent:
		e = Encoding{Kind: Chunks, Flags: SendChunked, Length: UnsizedLength}
		if old {
			e = Encoding{Kind: UntilClose, Length: OpenLength}
		}
	case OpenContent:
		e = Encoding{Kind: UntilClose, Length: OpenLength}
	}
	if skips {
		// the length stays: a field of a response to GET may depend on it
		e.Kind = NoBody
	}
	return e
}

// AppendText appends text, a part of a start line or of a field, and replaces every CR, LF
// and NUL in it by a space. All such text passes through AppendText or Clean, so nothing
// that an application sets can end a line early.
func AppendText(dst, text []byte) []byte {
	from := len(dst)
	dst = append(dst, text...)
	Clean(dst[from:])
	return dst
}

// Clean replaces every CR, LF and NUL of b by a space, in place.
func Clean(b []byte) {
	if !ascii.HasControl(b) {
		return
	}
	for i := ascii.IndexLineBreak(b); i < len(b); i += ascii.IndexLineBreak(b[i:]) {
		b[i] = ' '
	}
}

// AppendField appends a field line. It appends nothing if name is not a token.
func AppendField(dst, name, value []byte) []byte {
	if !ascii.IsToken(name) {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = AppendText(dst, value)
	return append(dst, "\r\n"...)
}

// AppendKnown appends a field line with a well-known name. It appends nothing if id
// is Unknown.
func AppendKnown(dst []byte, id field.ID, value []byte) []byte {
	if id == field.Unknown {
		return dst
	}
	dst = append(dst, id.String()...)
	dst = append(dst, ": "...)
	dst = AppendText(dst, value)
	return append(dst, "\r\n"...)
}

// AppendLine appends a field line. name must be a token, and value must have passed
// Clean.
func AppendLine(dst, name, value []byte) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// AppendRequestLine appends a request line.
func AppendRequestLine(dst, method, target, version []byte) []byte {
	dst = AppendText(dst, method)
	dst = append(dst, ' ')
	dst = AppendText(dst, target)
	dst = append(dst, ' ')
	dst = AppendText(dst, version)
	return append(dst, "\r\n"...)
}

// AppendStatusLine appends a status line.
func AppendStatusLine(dst, version []byte, status int, reason []byte) []byte {
	dst = AppendText(dst, version)
	dst = append(dst, ' ')
	dst = ascii.AppendUint(dst, max(status, 0))
	dst = append(dst, ' ')
	dst = AppendText(dst, reason)
	return append(dst, "\r\n"...)
}

// AppendChunkStart appends the line before a chunk of size bytes. AppendChunkEnd appends
// the line end after it. size must be positive: a chunk of no bytes is the last chunk, and
// would end the message.
func AppendChunkStart(dst []byte, size int) []byte {
	dst = ascii.AppendHex(dst, uint64(size))
	return append(dst, "\r\n"...)
}

// AppendChunkEnd appends the line end after the data of a chunk.
func AppendChunkEnd(dst []byte) []byte { return append(dst, "\r\n"...) }

// AppendLastChunk appends the last chunk. A trailer section, which may be empty, and an
// empty line follow it.
func AppendLastChunk(dst []byte) []byte { return append(dst, "0\r\n"...) }
