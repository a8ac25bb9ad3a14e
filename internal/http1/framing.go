package http1

// BodyKind says how the end of a message's content is found.
type BodyKind uint8

const (
	NoBody     BodyKind = iota // there is no content
	Length                     // exactly so many bytes
	Chunks                     // chunked transfer coding
	UntilClose                 // all that comes until the connection ends
)

// Framing is the answer to "how long is the content".
type Framing struct {
	Kind   BodyKind // how its end is found
	Length int64    // of a Length body
	// MustClose says that the connection must not be used again after this
	// message, since somebody on the way may have framed it differently.
	MustClose bool
	// LooseChunks says that spaces behind a chunk size are let pass, which some
	// servers pad it with. In a request they could hide another one.
	LooseChunks bool
}

// Exchange is what is to be known of the other message to frame a response.
type Exchange struct {
	Head    bool // the request was HEAD
	Connect bool // the request was CONNECT
}

// Frame decides the framing of a message: RFC 9112 section 6.3, rule by rule.
// It is the only place where that is decided, for both roles.
func (h *Head) Frame(role Role, x Exchange) (Framing, error) {
	if role == Response {
		// rule 1
		if x.Head || h.Status/100 == 1 || h.Status == 204 || h.Status == 304 {
			return Framing{}, nil
		}
		// rule 2: a tunnel begins
		if x.Connect && h.Status/100 == 2 {
			return Framing{}, nil
		}
	}
	if h.Has(HasCoding) {
		return h.frameCoding(role)
	}
	// rules 5 and 6: an invalid length was refused when it was read
	if h.Has(HasLength) {
		return Framing{Kind: Length, Length: h.ContentLength}, nil
	}
	// rule 7
	if role == Request {
		return Framing{}, nil
	}
	// rule 8
	return Framing{Kind: UntilClose, MustClose: true}, nil
}

// frameCoding is rules 3 and 4: a Transfer-Encoding overrides a Content-Length.
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

// KeepsAlive reports whether the sender of this head lets the connection live
// on after it (RFC 9112 section 9.3).
func (h *Head) KeepsAlive() bool {
	if h.Has(Close) {
		return false
	}
	return h.Minor > 0 || h.Has(KeepAlive)
}
