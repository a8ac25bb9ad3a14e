package http1

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// Facts holds the declarations of a head's fields about its framing and its connection. The
// parser collects them in the same pass in which it reads the fields.
type Facts struct {
	ContentLength int64                // valid if HasLength is set
	Slots         [NumSlots]field.Span // positions of values
	Lines         int                  // the number of field lines
	Flags         Flags                // the facts found
}

// Flags is a set of facts.
type Flags uint16

const (
	HasLength   Flags = 1 << iota // Content-Length
	HasCoding                     // any Transfer-Encoding
	IsChunked                     // chunked is the last transfer coding
	OtherCoding                   // a transfer coding other than chunked
	Identity                      // every other coding is the old "identity"
	Close                         // Connection: close
	KeepAlive                     // Connection: keep-alive
	Upgrade                       // Connection: upgrade
	Expect100                     // Expect: 100-continue
	ExpectOther                   // Expect: anything else
	HasHost                       // one Host field
	ManyHosts                     // more than one
	HasTrailer                    // Trailer
	HasCookie                     // Cookie, or Set-Cookie in a response
)

// Has reports whether any of the flags in set is set.
func (f *Facts) Has(set Flags) bool { return f.Flags&set != 0 }

// Slots of a Head: the values that nearly every message has, each of them once.
const (
	SlotContentType = iota
	SlotHost        // of a request
	SlotUserAgent   // of a request
	NumSlots

	SlotServer          = SlotHost      // of a response
	SlotContentEncoding = SlotUserAgent // of a response
)

// effect is the effect of a field line beside being in the list. The zero value is
// noEffect.
type effect uint8

const (
	noEffect effect = iota
	contentType
	host
	userAgent
	server
	contentEncoding
	contentLength
	transferEncoding
	connection
	expect
	trailer
	cookie
)

// effects holds, for each role, the fields that have an effect. It is an array, indexed by
// id, since it is used for every field of every message.
var effects = [...][256]effect{
	Request: {
		field.ContentType:      contentType,
		field.Host:             host,
		field.UserAgent:        userAgent,
		field.ContentLength:    contentLength,
		field.TransferEncoding: transferEncoding,
		field.Connection:       connection,
		field.Expect:           expect,
		field.Trailer:          trailer,
		field.Cookie:           cookie,
	},
	Response: {
		field.ContentType:      contentType,
		field.Server:           server,
		field.ContentEncoding:  contentEncoding,
		field.ContentLength:    contentLength,
		field.TransferEncoding: transferEncoding,
		field.Connection:       connection,
		field.Trailer:          trailer,
		field.SetCookie:        cookie,
	},
	trailers: {},
}

// HasEffect reports whether Note does anything for a field.
func HasEffect(role Role, id field.ID) bool { return effects[role][id] != noEffect }

// Note records a field that was not received as a line, such as one of HTTP/2. at is the
// position of its value in b. Note reports whether the field also belongs in the list of
// fields.
func (h *Head) Note(role Role, id field.ID, b []byte, at field.Span) (keep bool, err error) {
	if what := effects[role][id]; what != noEffect {
		return h.apply(what, role, b, at)
	}
	return true, nil
}

// apply records the effect of a field line on framing, connection or message. It reports
// whether the line also belongs in the list of fields. at is the position of its value in
// b.
func (h *Head) apply(what effect, role Role, b []byte, at field.Span) (keep bool, err error) {
	switch what {
	case contentType:
		// In a request the first of several lines counts, even if it is empty. net/http
		// and most proxies use it: content that one of them has accepted as one type must
		// not be parsed as another here (RFC 9110 section 8.3).
		if role == Response || h.Slots[SlotContentType] == (field.Span{}) {
			h.place(SlotContentType, at)
		}
	case host:
		h.noteHost(at)
	case userAgent:
		h.place(SlotUserAgent, at)
	case server:
		h.place(SlotServer, at)
	case contentEncoding:
		h.place(SlotContentEncoding, at)
	case contentLength:
		err = h.noteLength(role, textAt(b, at))
	case transferEncoding:
		err = h.noteCoding(role, textAt(b, at))
	case connection:
		value := textAt(b, at)
		h.Flags |= ConnectionFlags(value)
		// "close" is a property of the message
		return h.KeepAll || !ascii.EqualFoldString(value, "close"), nil
	case expect:
		h.noteExpect(textAt(b, at))
		return true, nil
	case trailer:
		h.Flags |= HasTrailer
		return true, nil
	case cookie:
		h.Flags |= HasCookie
		return true, nil
	}
	return h.KeepAll, err
}

func textAt(b []byte, at field.Span) []byte { return b[at.Off : int(at.Off)+int(at.Len)] }

// place makes a line the value of a slot. The last line counts, or the first one if all
// lines are kept.
func (h *Head) place(slot int, at field.Span) {
	if !h.KeepAll || h.Slots[slot] == (field.Span{}) {
		h.Slots[slot] = at
	}
}

// noteHost records a Host line.
func (h *Head) noteHost(at field.Span) {
	if h.Has(HasHost) {
		h.Flags |= ManyHosts
	}
	h.Flags |= HasHost
	h.place(SlotHost, at)
}

// noteLength parses a Content-Length: digits only, once (RFC 9110 section 8.6). In a
// request a second one is an error even if it is equal: two recipients may disagree about
// which counts. In a response equal ones are accepted: some servers repeat the line, which
// is harmless.
func (f *Facts) noteLength(role Role, value []byte) error {
	if role == Request && f.Has(HasLength) {
		return ErrDuplicateContentLength
	}
	n, ok := ascii.ParseUint(value)
	if !ok {
		return ErrContentLength
	}
	if f.Has(HasLength) && f.ContentLength != int64(n) {
		return ErrDuplicateContentLength
	}
	f.ContentLength = int64(n)
	f.Flags |= HasLength
	return nil
}

// noteCoding parses a Transfer-Encoding line (RFC 9112 section 6.1). Several lines
// are one list.
//
// By RFC 9110 section 5.6.1 recipients ignore empty elements. Not all do, so two servers
// may disagree about whether "chunked," is chunked: in a request an empty element is an
// error.
func (f *Facts) noteCoding(role Role, list []byte) error {
	f.Flags |= HasCoding
	for rest := list; rest != nil; {
		var coding []byte
		coding, rest = ascii.NextElement(rest)
		switch {
		case len(coding) == 0 && role == Response:
			continue
		case len(coding) == 0, f.Has(IsChunked):
			return ErrTransferEncoding
		case ascii.EqualFoldString(coding, "chunked"):
			f.Flags |= IsChunked
		case !ascii.IsToken(coding[:tokenLen(coding)]):
			return ErrTransferEncoding
		default:
			name := coding[:tokenLen(coding)]
			if ascii.EqualFoldString(name, "chunked") {
				return ErrTransferEncoding
			}
			// without other codings, "identity" leaves the message unchanged
			switch identity := ascii.EqualFoldString(coding, "identity"); {
			case !identity:
				f.Flags &^= Identity
			case !f.Has(OtherCoding):
				f.Flags |= Identity
			}
			f.Flags |= OtherCoding
		}
	}
	if !f.Has(IsChunked | OtherCoding) {
		return ErrTransferEncoding
	}
	return nil
}

func (f *Facts) noteExpect(list []byte) {
	for rest := list; rest != nil; {
		var e []byte
		e, rest = ascii.NextElement(rest)
		switch {
		case len(e) == 0:
		case ascii.EqualFoldString(e, "100-continue"):
			f.Flags |= Expect100
		default:
			f.Flags |= ExpectOther
		}
	}
}

// ConnectionFlags returns the flags that a Connection field line sets. The line is a
// list of tokens in any case (RFC 9110 section 7.6.1).
func ConnectionFlags(list []byte) (flags Flags) {
	if string(list) == "keep-alive" {
		return KeepAlive
	}
	for rest := list; rest != nil; {
		var option []byte
		option, rest = ascii.NextElement(rest)
		switch {
		case ascii.EqualFoldString(option, "close"):
			flags |= Close
		case ascii.EqualFoldString(option, "keep-alive"):
			flags |= KeepAlive
		case ascii.EqualFoldString(option, "upgrade"):
			flags |= Upgrade
		}
	}
	return flags
}
