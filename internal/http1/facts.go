package http1

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// Facts is what the fields of a head say about its framing and its connection. The
// parser collects it in the same pass in which it reads the fields.
type Facts struct {
	ContentLength int64 // valid if HasLength is set
	Flags         Flags // what was found
	HostAt        int   // position of the Host field if HasHost is set
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
	HasCookie                     // Cookie
)

// Has reports whether any of the flags in set is set.
func (f *Facts) Has(set Flags) bool { return f.Flags&set != 0 }

// noted is the set of the fields that note handles.
var noted = [256]bool{
	field.Host:             true,
	field.Connection:       true,
	field.ContentLength:    true,
	field.TransferEncoding: true,
	field.Expect:           true,
	field.Trailer:          true,
	field.Cookie:           true,
}

// note records what a field says about framing or connection. at is the position
// that the field gets in the list.
func (f *Facts) note(role Role, id field.ID, value []byte, at int) error {
	switch id {
	case field.Host:
		if f.Has(HasHost) {
			f.Flags |= ManyHosts
		}
		f.Flags |= HasHost
		f.HostAt = at
	case field.Connection:
		f.Flags |= ConnectionFlags(value)
	case field.ContentLength:
		return f.noteLength(role, value)
	case field.TransferEncoding:
		return f.noteCoding(role, value)
	case field.Expect:
		f.noteExpect(value)
	case field.Trailer:
		f.Flags |= HasTrailer
	case field.Cookie:
		f.Flags |= HasCookie
	}
	return nil
}

// noteLength parses a Content-Length: digits only, once (RFC 9110 section 8.6). In a
// request a second one is an error even if it is equal: two recipients may not agree
// which of them counts. In a response equal ones are accepted: some servers repeat
// the line, and that does no harm.
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
// By RFC 9110 section 5.6.1 recipients ignore empty elements. Not all do, so two
// servers may not agree whether "chunked," is chunked: in a request an empty element
// is an error.
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
