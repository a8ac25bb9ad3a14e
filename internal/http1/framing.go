package http1

// BodyKind is how a recipient finds the end of a message's content.
type BodyKind uint8

const (
	NoBody     BodyKind = iota // there is no content
	Length                     // the content is exactly Framing.Length bytes
	Chunks                     // chunked transfer coding
	UntilClose                 // the content ends with the connection
)

// Framing is how long the content of a message is.
type Framing struct {
	Length int64    // of a Length body
	Kind   BodyKind // how to find the end of the content
	// MustClose means that the connection must not be reused after this message, since
	// another server on the way may have framed it differently.
	MustClose bool
	// LooseChunks allows spaces after a chunk size, with which some servers pad it.
	// In a request they could hide another request.
	LooseChunks bool
}

// Exchange holds the properties of a request that determine the framing of its response.
type Exchange struct {
	Head    bool // the request was HEAD
	Connect bool // the request was CONNECT
}

// FrameResponse returns the framing of the response with this head.
func (h *Head) FrameResponse(x Exchange) Framing {
	// rule 1 of RFC 9112 section 6.3, and rule 2: a tunnel begins
	if x.Head || x.Connect && h.Status/100 == 2 {
		return Framing{}
	}
	return h.Framing
}

// frame decides the framing of a message: RFC 9112 section 6.3. For both roles the framing is
// decided only here; FrameResponse applies the rules that depend on the request. Parse does
// not call it for the requests of rule 7, which are most of them: their Framing stays as Reset
// has set it.
func (h *Head) frame(role Role) (err error) {
	switch {
	case role == Response && (h.Status/100 == 1 || h.Status == 204 || h.Status == 304):
		// rule 1
		h.Framing = Framing{}
	case h.Has(HasCoding):
		h.Framing, err = h.frameCoding(role)
	case h.Has(HasLength):
		// rules 5 and 6: noteLength has rejected an invalid length
		h.Framing = Framing{Kind: Length, Length: h.ContentLength}
	case role == Request:
		// rule 7
		h.Framing = Framing{}
	default:
		// rule 8
		h.Framing = Framing{Kind: UntilClose, MustClose: true}
	}
	return err
}

// frameCoding applies rules 3 and 4: a Transfer-Encoding overrides a Content-Length.
func (h *Head) frameCoding(role Role) (Framing, error) {
	if role == Request && h.Minor == 0 {
		// section 6.1: such a message has faulty framing
		return Framing{}, ErrCodingInHTTP10
	}
	if h.Has(OtherCoding) {
		if role == Response && h.Has(Identity) && !h.Has(IsChunked) {
			return Framing{Kind: UntilClose, MustClose: true}, nil
		}
		return Framing{}, ErrUnsupportedCoding
	}
	return Framing{Kind: Chunks, MustClose: h.Has(HasLength) || h.Minor == 0, LooseChunks: role == Response}, nil
}

// Body extracts the content of one message from the bytes of its connection, for
// each kind of framing. It does not store content.
type Body struct {
	kind   BodyKind
	left   int64
	chunks Chunked
}

// Start begins a message with framing f.
func (d *Body) Start(f Framing) {
	*d = Body{kind: f.Kind, left: f.Length, chunks: Chunked{Loose: f.LooseChunks}}
}

// Kind returns the kind of framing.
func (d *Body) Kind() BodyKind { return d.kind }

// Next returns the next piece of content in src, as a part of src, and the number
// of bytes of src that it consumed. If it returns neither content nor an error, it
// has consumed all of src, or is done.
func (d *Body) Next(src []byte) (content []byte, n int, err error) {
	switch d.kind {
	case Length:
		n = int(min(d.left, int64(len(src))))
		d.left -= int64(n)
		return src[:n], n, nil
	case Chunks:
		return d.chunks.Next(src)
	case UntilClose:
		return src, len(src), nil
	}
	return nil, 0, nil
}

// Done reports whether all content was read. The trailer section of a chunked body is then
// still unread. An UntilClose body is never done: it ends with the connection.
func (d *Body) Done() bool {
	switch d.kind {
	case Length:
		return d.left == 0
	case Chunks:
		return d.chunks.Done()
	case UntilClose:
		return false
	}
	return true
}

// Remaining returns how many bytes of content follow without framing in between, as far as is
// known.
func (d *Body) Remaining() int64 {
	switch d.kind {
	case Length:
		return d.left
	case Chunks:
		return int64(d.chunks.Remaining())
	}
	return 0
}

// PutBack takes back the last n bytes of content that Next returned. They count as
// not consumed: the caller must pass them to Next again.
func (d *Body) PutBack(n int) {
	switch d.kind {
	case Length:
		d.left += int64(n)
	case Chunks:
		d.chunks.putBack(n)
	}
}

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
