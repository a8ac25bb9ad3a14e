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
