package http1

// Outgoing is what decides how a connection of HTTP/1.x sends a message. The message
// knows its content and whether it is to be the last one; the connection knows what it
// answers, the version of the peer, and whether it goes on. Other versions of HTTP send
// the same messages with a framing of their own.
//
// Its zero value is a request without content.
type Outgoing struct {
	Role    Role        // which side sends it
	Content ContentKind // what is known of its content
	Terms   Terms       // the conditions under which it is sent
	Status  int         // of a response
	Size    int         // in bytes, of SizedContent
}

// ContentKind is what a sender knows of the content of a message before it sends it. If
// the content itself is not sent, as in an answer to HEAD, it is the content that a GET
// would have got.
type ContentKind uint8

const (
	// NoContent is none, where that goes without saying: most requests with GET.
	NoContent ContentKind = iota
	// SizedContent has Outgoing.Size bytes, which may be none.
	SizedContent
	// UnsizedContent ends when it ends.
	UnsizedContent
	// OpenContent is that of a response, and not even its framing is known: the end of a
	// connection ended it, and it was received without it.
	OpenContent
	contentKinds
)

// Terms are the conditions under which a message is sent.
type Terms uint16

const (
	// PeerIsOld says that the peer of a server speaks HTTP/1.0.
	PeerIsOld Terms = 1 << iota
	// LineIsOld says that the start line of the message says HTTP/1.0, whatever the peer
	// speaks: the application has set or received it.
	LineIsOld
	// LineIsReceived says that a connection sends a message whose start line has another
	// version than HTTP/1.1, and was received so. The version that is sent is that of the
	// connection (RFC 9110 section 2.5), so LineIsOld does not count.
	LineIsReceived
	// SkipsContent says that the content of a response is not sent: in answer to HEAD, or
	// since the application says so.
	SkipsContent
	// BeginsTunnel says that a 2xx response to CONNECT makes the connection a tunnel.
	BeginsTunnel
	// HasTrailers says that there are fields to be sent after the content.
	HasTrailers
	// ByApplication says that the application writes the response itself, for example to
	// a file. It stays as it is then where the connection of a server would correct it:
	// a 205 keeps its content, and Connection lines that list keep-alive stay beside
	// close.
	ByApplication
	// AsksClose says that the application wants the connection to end.
	AsksClose
	// ConnEnds says that the connection ends for reasons of its own.
	ConnEnds
	allTerms = 1<<iota - 1
)

// Encoding is how a message is sent: the framing of its content, and the fields that
// say so.
//
// Its zero value has no content, no field of framing, and says nothing of the
// connection.
type Encoding struct {
	Kind BodyKind // how the content is delimited; NoBody if none follows
	Says Sayings  // what its fields say
	// Length is the length of the content that is, or would be, described: 0 if there is
	// none, or none may be described; -1 if it is not known, and -2 if the end of a
	// connection ends it.
	Length int
}

// The lengths of content whose size is not known.
const (
	UnsizedLength = -1
	OpenLength    = -2
)

// Sayings is what the fields of framing and connection of a message say, and what comes
// of that.
type Sayings uint8

const (
	// SaysLength is "Content-Length", with the Length of the Encoding.
	SaysLength Sayings = 1 << iota
	// SaysChunked is "Transfer-Encoding: chunked".
	SaysChunked
	// SaysClose is "Connection: close".
	SaysClose
	// SaysKeepAlive is "Connection: keep-alive", which HTTP/1.0 needs. No Connection line
	// of the application is sent then.
	SaysKeepAlive
	// OverridesKeepAlive says that Connection lines of the application which list
	// keep-alive are not sent, since the connection ends.
	OverridesKeepAlive
	// LacksTrailers says that there is neither a Trailer field nor a trailer section:
	// HTTP/1.0 has none. Fields announced as trailers are in the header section.
	LacksTrailers
	// EndsConn says that there is no other message on the connection.
	EndsConn
	// OwnVersion says that the start line has HTTP/1.1, whatever the message has.
	OwnVersion
)

// Has reports whether any of the flags in set is set.
func (s Sayings) Has(set Sayings) bool { return s&set != 0 }

// Sized returns the encoding of the usual message, for those who need not ask: it has size
// bytes of content, and the connection goes on. It is what Encode returns for SizedContent
// without Terms, if the status is one with content. That of NoContent in a request is the
// zero value.
func Sized(size int) Encoding { return Encoding{Kind: Length, Says: SaysLength, Length: size} }

// Has reports whether any of the flags in set is set.
func (o Outgoing) Has(set Terms) bool { return o.Terms&set != 0 }

// Encode decides how the message is sent. Nothing else decides that.
//
// The first line that applies says how its content is framed (RFC 9112 section 6, RFC
// 9110 sections 8.6 and 9.3.2). "old" is a response to an HTTP/1.0 client, or with
// HTTP/1.0 in its status line, for which there is no chunked coding and no trailer section
// (RFC 9112 section 6.1). A 205 by the application itself is like other responses.
//
//	message                      content      fields
//	request, none                none         none
//	response, 1xx and 204        none         none (RFC 9112 section 6.1, RFC 9110 section 8.6)
//	response, begins a tunnel    none         none (RFC 9110 section 9.3.6)
//	response, 304, sized         none         Content-Length, that of a 200
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
// And so it says of the connection (RFC 9112 section 9):
//
//	message                                   Connection   the connection
//	the application asks for the end          close        ends
//	content until close                       close        ends
//	connection ends, 101                      nothing      ends
//	connection ends                           close        ends
//	to an HTTP/1.0 client                     keep-alive   goes on
//	other                                     nothing      goes on
//
// A 101 leaves HTTP, so what it says of Connection is the upgrade.
//
// A request of HTTP/1.0 whose content has no known size is sent as one of HTTP/1.1: it can
// neither have chunks nor end with the connection.
func (o Outgoing) Encode() Encoding {
	own := o.Has(LineIsReceived) || o.Role == Request && o.Content == UnsizedContent && o.Has(LineIsOld)
	if own {
		o.Terms &^= LineIsOld
	}
	e := o.frame()
	if own {
		e.Says |= OwnVersion
	}
	if o.Has(PeerIsOld | LineIsOld) {
		e.Says |= LacksTrailers
	}
	switch ends := o.Has(AsksClose|ConnEnds) || e.Kind == UntilClose; {
	case ends && o.Status == 101 && !o.Has(AsksClose):
		e.Says |= EndsConn
	case ends:
		e.Says |= SaysClose | EndsConn
		if o.Role == Response && o.Status != 101 && !o.Has(ByApplication) {
			e.Says |= OverridesKeepAlive
		}
	case o.Has(PeerIsOld):
		e.Says |= SaysKeepAlive
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
			return Encoding{Says: SaysLength, Length: o.Size}
		case o.Status == 304:
			return Encoding{}
		case o.Status == 205 && !o.Has(ByApplication):
			return Encoding{Says: SaysLength}
		case o.Content == NoContent && !skips:
			return Sized(0)
		}
	}
	e := Encoding{}
	switch o.Content {
	case SizedContent:
		e = Sized(o.Size)
		if o.Has(HasTrailers) && !skips && !old {
			e = Encoding{Kind: Chunks, Says: SaysChunked, Length: UnsizedLength}
		}
	case UnsizedContent:
		e = Encoding{Kind: Chunks, Says: SaysChunked, Length: UnsizedLength}
		if old {
			e = Encoding{Kind: UntilClose, Length: OpenLength}
		}
	case OpenContent:
		e = Encoding{Kind: UntilClose, Length: OpenLength}
	}
	if skips {
		// the length stays: a field may depend on it in a response to GET
		e.Kind = NoBody
	}
	return e
}
