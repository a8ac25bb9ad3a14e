package fasthttp

import (
	"bufio"
	"fmt"
	"io"
	"iter"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// notInTrailers are the fields that RFC 9110 section 6.5.1 keeps out of a
// trailer section: those for framing, routing, request modifiers,
// authentication, response control and for how to read the content.
var notInTrailers = [256]bool{
	field.TransferEncoding: true, field.ContentLength: true, field.Host: true, field.Trailer: true,
	field.Connection: true, field.KeepAlive: true, field.Upgrade: true, field.ProxyConnection: true, field.Te: true,
	field.Expect: true, field.MaxForwards: true, field.CacheControl: true, field.Pragma: true, field.Range: true,
	field.IfMatch: true, field.IfNoneMatch: true, field.IfModifiedSince: true, field.IfUnmodifiedSince: true, field.IfRange: true,
	field.Authorization: true, field.ProxyAuthorization: true, field.ProxyAuthenticate: true, field.WwwAuthenticate: true,
	field.Cookie: true, field.SetCookie: true,
	field.Age: true, field.Date: true, field.Expires: true, field.Location: true, field.RetryAfter: true, field.Vary: true,
	field.ContentEncoding: true, field.ContentType: true, field.ContentRange: true,
}

// maxTrailerNames is how many names of trailer fields can be announced.
const maxTrailerNames = 64

// SetTrailer announces the names in a comma-separated list as trailer fields,
// in the place of those announced before. Their values, set with Set or Add
// before or after, are sent behind a chunked body instead of in the header.
//
// Fields that say how to frame, route, authenticate or read a message must
// not come in a trailer (RFC 9110 section 6.5.1): they are left out, and
// ErrBadTrailer is returned, as it is for what is no field name, and for what
// follows the first 64 names.
func (h *header) SetTrailer(trailer string) error {
	return h.setTrailers(bytesconv.Bytes(trailer))
}

// SetTrailerBytes is SetTrailer for a byte slice.
func (h *header) SetTrailerBytes(trailer []byte) error { return h.setTrailers(trailer) }

// AddTrailer is SetTrailer that keeps what was announced before.
func (h *header) AddTrailer(trailer string) error {
	return h.addTrailers(bytesconv.Bytes(trailer))
}

// AddTrailerBytes is AddTrailer for a byte slice.
func (h *header) AddTrailerBytes(trailer []byte) error { return h.addTrailers(trailer) }

func (h *header) setTrailers(list []byte) error {
	h.trailers.Reset()
	return h.addTrailers(list)
}

func (h *header) addTrailers(list []byte) (err error) {
	for rest := list; rest != nil; {
		var name []byte
		name, rest = ascii.NextElement(rest)
		if len(name) == 0 {
			continue
		}
		k := keyOf(name)
		if h.isFullFor(k) {
			return ErrBadTrailer
		}
		if !h.announce(k, 0) {
			err = ErrBadTrailer
		}
	}
	return err
}

// isFullFor reports whether k is one name too many to be announced.
func (h *header) isFullFor(k key) bool {
	return h.trailers.Len() >= maxTrailerNames && h.trailers.FindFold(k.id, k.name, 0) < 0
}

// hintTrailers takes in a Trailer field of a peer. Fields of those names that
// stand in the header section, or are set later, are no trailers for that: else
// a client could make a proxy withhold what it sets.
func (h *header) hintTrailers(list []byte) {
	for rest := list; rest != nil; {
		var name []byte
		name, rest = ascii.NextElement(rest)
		if len(name) == 0 {
			continue
		}
		k := keyOf(name)
		if h.isFullFor(k) {
			return
		}
		_ = h.announce(k, field.Hint)
	}
}

// announce takes in a trailer name, or tells that it must not be one.
func (h *header) announce(k key, flags field.Flag) bool {
	if notInTrailers[k.id] || !ascii.IsToken(k.name) {
		return false
	}
	if i := h.trailers.FindFold(k.id, k.name, 0); i >= 0 {
		h.trailers.Entries[i].Flags &= flags
		return true
	}
	i := h.trailers.Add(k.name, nil, k.id, flags)
	if !h.is(namesKept) {
		field.Normalize(h.trailers.Name(i))
	}
	return true
}

// isTrailer tells whether the field e of list is sent behind the body: it came
// there, or its name was announced here.
func (h *header) isTrailer(e *field.Entry) bool {
	if h.trailers.Len() == 0 {
		return false
	}
	if e.Flags&field.Behind != 0 {
		return true
	}
	i := h.trailers.FindFold(e.ID, h.list.Bytes(e.Name), 0)
	return i >= 0 && h.trailers.Entries[i].Flags&field.Hint == 0
}

// sendsTrailers tells whether a trailer section can follow. HTTP/1.0 has none:
// the fields go into the header section there.
func (h *header) sendsTrailers() bool {
	if h.is(oldProtocol) {
		h.trailers.Reset()
	}
	return h.trailers.Len() > 0
}

// announces tells whether there are trailers that were announced here: what a
// peer has announced may never come.
func (h *header) announces() bool {
	for i := range h.trailers.Entries {
		if h.trailers.Entries[i].Flags&field.Hint == 0 {
			return h.sendsTrailers()
		}
	}
	return false
}

// trailerNames returns the value of the Trailer field, or nil.
func (h *header) trailerNames() []byte {
	if h.trailers.Len() == 0 {
		return nil
	}
	h.scratch[scratchTrailerNames] = h.appendTrailerNames(h.scratch[scratchTrailerNames][:0])
	return h.scratch[scratchTrailerNames]
}

func (h *header) appendTrailerNames(dst []byte) []byte {
	for i := range h.trailers.Len() {
		if i > 0 {
			dst = append(dst, strCommaSpace...)
		}
		dst = append(dst, h.trailers.Name(i)...)
	}
	return dst
}

// Trailers returns an iterator over the names of the announced trailer
// fields. A name is valid until the next step of the loop.
func (h *header) Trailers() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range h.trailers.Len() {
			if !yield(h.trailers.Name(i)) {
				return
			}
		}
	}
}

// VisitAllTrailer calls f for the name of every announced trailer field.
// f must not keep the name.
//
// Deprecated: use Trailers.
func (h *header) VisitAllTrailer(f func(value []byte)) {
	for name := range h.Trailers() {
		f(name)
	}
}

// PeekTrailerKeys returns the names of the announced trailer fields. The
// result is valid until the next call of a method whose name begins with Peek.
func (h *header) PeekTrailerKeys() [][]byte {
	h.peeked = h.peeked[:0]
	for name := range h.Trailers() {
		h.peeked = append(h.peeked, name)
	}
	return h.peeked
}

// TrailerHeader returns the trailer section as it goes behind a chunked body:
// a line for each value of the announced names, and an empty line. The result
// is valid until the message is changed or released.
func (h *header) TrailerHeader() []byte {
	h.scratch[scratchTrailers] = h.appendTrailers(h.scratch[scratchTrailers][:0])
	return h.scratch[scratchTrailers]
}

func (h *header) appendTrailers(dst []byte) []byte {
	for i := range h.list.Entries {
		if e := &h.list.Entries[i]; h.isTrailer(e) {
			dst = http1.AppendField(dst, h.list.Bytes(e.Name), h.list.Bytes(e.Value))
		}
	}
	return append(dst, strCRLF...)
}

// ReadTrailer reads the trailer section of a chunked message from r, up to
// and with its empty line, and adds its fields to the header. It is limited to
// 4 KiB and 100 fields.
//
// It returns io.EOF where r ends before the first byte. A field that must not
// come in a trailer is an error that wraps ErrBadTrailer; in the trailer section
// of a response whose header was read, it is left out.
func (h *header) ReadTrailer(r *bufio.Reader) error {
	err := h.readTrailers(bufferedSource{r})
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("error when reading trailers: %w", err)
}

// readTrailers reads the trailer section from in, however small the buffer of
// in is.
func (h *header) readTrailers(in source) error {
	var held []byte // what came before the bytes in the buffer of in
	for {
		b := in.peek()
		had := len(held)
		if had > 0 {
			held = append(held, b...)
			b = held
		}
		n, err := h.feedTrailers(b)
		if err != nil {
			return err
		}
		if n > 0 {
			in.discard(n - had)
			return nil
		}
		if had > 0 {
			in.discard(len(b) - had)
		}
		err = in.fill()
		if err == bufio.ErrBufferFull {
			held = append(held, b...)
			in.discard(len(b))
			err = in.fill()
		}
		if err == io.EOF && len(b) > 0 {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
}

// isReceivedResponse reports whether the header is that of a response which was
// read. The content of such a response is whole, whatever stands in its trailer
// section: fields that do not belong there are dropped (RFC 9110 section 6.5.1).
// In a request they are refused, since they could change what it means for
// another reader.
func (h *header) isReceivedResponse() bool { return h.is(wasRead) && h.head.Status != 0 }

// feedTrailers reads the trailer section at the beginning of b and returns its
// length, or 0 for need more.
func (h *header) feedTrailers(b []byte) (n int, err error) {
	if len(b) >= 2 && b[0] == '\r' && b[1] == '\n' {
		return 2, nil
	}
	head := http1.Head{
		KeepNames: h.is(namesKept),
		Spaces:    h.isReceivedResponse(),
		Limits:    http1.Limits{Head: http1.MaxTrailers, Fields: http1.MaxTrailerFields},
	}
	var fields field.List
	n, err = head.ParseTrailers(b, &fields)
	if n == 0 || err != nil {
		return 0, err
	}
	fields.Block = b
	for i := range fields.Entries {
		k := key{fields.Name(i), fields.Entries[i].ID}
		if !h.announce(k, field.Hint) {
			if h.isReceivedResponse() {
				continue
			}
			return 0, ErrBadTrailer
		}
		h.append(k, fields.Value(i))
		h.list.Entries[h.list.Len()-1].Flags |= field.Behind
	}
	return n, nil
}
