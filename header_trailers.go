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
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// SetTrailer announces the names in a comma-separated list as trailer fields, instead
// of the names announced before. Their values, set with Set or Add before or after, are
// sent after a chunked body instead of in the header section. Fields that were received
// in the header section stay there if the received Trailer field has their name.
//
// SetTrailer omits the names of fields that must not be trailers, and returns
// ErrBadTrailer. These are fields for framing, routing, authentication or parsing of a
// message (RFC 9110 section 6.5.1), and fields in which a proxy passes on the identity
// of the client, such as X-Forwarded-For. It does the same for a text that is not a
// field name, and for all names after the first 64.
func (h *header) SetTrailer(trailer string) error {
	return h.setTrailers(bytesconv.Bytes(trailer))
}

// SetTrailerBytes is SetTrailer for a byte slice.
func (h *header) SetTrailerBytes(trailer []byte) error { return h.setTrailers(trailer) }

// AddTrailer is SetTrailer that keeps the names announced before.
func (h *header) AddTrailer(trailer string) error {
	return h.addTrailers(bytesconv.Bytes(trailer))
}

// AddTrailerBytes is AddTrailer for a byte slice.
func (h *header) AddTrailerBytes(trailer []byte) error { return h.addTrailers(trailer) }

// AnnounceTrailer adds the names in a comma-separated list to the Trailer field, for
// fields that AddTrailerField will add. Unlike AddTrailer it leaves fields of these
// names in the header section. It returns the errors of SetTrailer.
func (h *header) AnnounceTrailer(trailer string) error {
	return h.announceList(bytesconv.Bytes(trailer), field.OnlyTrailers)
}

func (h *header) setTrailers(list []byte) error {
	for rest := list; rest != nil && h.trailers.Len() > 0; {
		var name []byte
		name, rest = ascii.NextElement(rest)
		h.keepInHeader(keyOf(name))
	}
	h.removeTrailerNames()
	return h.addTrailers(list)
}

func (h *header) addTrailers(list []byte) error { return h.announceList(list, 0) }

func (h *header) announceList(list []byte, flags field.Flag) (err error) {
	for rest := list; rest != nil; {
		var name []byte
		name, rest = ascii.NextElement(rest)
		if len(name) == 0 {
			continue
		}
		k := keyOf(name)
		if h.trailers.IsFullFor(k.id, k.name) {
			return ErrBadTrailer
		}
		if flags == 0 {
			h.keepInHeader(k)
		}
		if !h.announce(k, flags) {
			err = ErrBadTrailer
		}
	}
	return err
}

// keepInHeader keeps the received fields of the name k in the header section if the
// peer announced this name: a proxy announces the names that its peer announced.
func (h *header) keepInHeader(k key) {
	if i := h.trailers.Announced(k.id, k.name); i < 0 || h.trailers.Entries[i].Flags&field.ByPeer == 0 {
		return
	}
	for i := h.list.FindFold(k.id, k.name, 0); i >= 0; i = h.list.FindFold(k.id, k.name, i+1) {
		if e := &h.list.Entries[i]; h.list.IsFrozen(e.Value) {
			e.Flags |= field.InHeader
		}
	}
}

// addPeerTrailers adds the names in the Trailer field of a peer as hints. They do not make
// trailers of fields that are in the header section or are set later: otherwise a
// client could make a proxy withhold a field that the proxy sets.
func (h *header) addPeerTrailers(list []byte) {
	for rest := list; rest != nil; {
		var name []byte
		name, rest = ascii.NextElement(rest)
		if len(name) == 0 {
			continue
		}
		k := keyOf(name)
		if h.trailers.IsFullFor(k.id, k.name) {
			return
		}
		_ = h.announce(k, field.ByPeer)
	}
}

// announce adds a trailer name. It returns false if the name must not be a trailer.
func (h *header) announce(k key, flags field.Flag) bool {
	if !http1.MayBeTrailer(k.name) {
		return false
	}
	if !h.trailers.Reannounce(k.id, k.name, flags) {
		h.addTrailer(k, nil, flags)
	}
	return true
}

// addTrailer adds a name or a field to the list of trailers.
func (h *header) addTrailer(k key, value []byte, flags field.Flag) {
	h.ensureOwned()
	h.trailers.Put(k.id, k.name, value, flags, h.is(namesKept))
}

// removeTrailerNames removes the announced names. Fields of the trailer section stay
// there: they are never part of the header section.
func (h *header) removeTrailerNames() {
	if !h.is(trailing) {
		h.trailers.Reset()
		return
	}
	h.trailers.RemoveNames()
}

// removeTrailers removes the announced names and the fields of the trailer section. Fields
// of these names in list stay in the header section.
func (h *header) removeTrailers() {
	h.trailers.Reset()
	h.state &^= trailing
}

// isTrailer reports whether the field e of list is sent after the body, because the
// application has announced its name.
func (h *header) isTrailer(e *field.Entry) bool {
	if h.trailers.Len() == 0 || e.Flags&field.InHeader != 0 {
		return false
	}
	return h.trailers.Sends(e.ID, h.list.Bytes(e.Name))
}

// trailerNames returns the value of the Trailer field, or nil.
func (h *header) trailerNames() []byte {
	if !h.hasTrailerNames() {
		return nil
	}
	h.scratch[scratchTrailerNames] = h.trailers.AppendNames(h.scratch[scratchTrailerNames][:0])
	return h.scratch[scratchTrailerNames]
}

// The fields of a trailer section are in trailers, never in list: so code that reads
// the header section cannot confuse the two, whatever names the fields have.

// Trailers returns an iterator over the names of the trailer fields: first the
// announced names, then the names of other fields. A name is valid until the next step
// of the loop.
func (h *header) Trailers() iter.Seq[[]byte] {
	return h.section().trailers.EachName
}

// VisitAllTrailer calls f for the name of every trailer field, as Trailers does.
// f must not keep the name.
//
// Deprecated: use Trailers.
func (h *header) VisitAllTrailer(f func(value []byte)) {
	for name := range h.Trailers() {
		f(name)
	}
}

// PeekTrailerKeys returns the names of the trailer fields, as Trailers does. The
// result is valid until the next call of a method whose name begins with Peek.
func (h *header) PeekTrailerKeys() [][]byte {
	h.peeked = h.peeked[:0]
	for name := range h.Trailers() {
		h.peeked = append(h.peeked, name)
	}
	return h.peeked
}

// TrailerFields returns an iterator over the names and values of the fields in the
// trailer section: first the fields that were set and whose names were announced with
// SetTrailer or AddTrailer, then the fields that were received after the body or added
// with AddTrailerField, in their order. It does not include fields of the header
// section.
//
// Names and values are valid until the next step of the loop. The loop must not change
// the header. Trailers after a body stream are available once the stream has returned
// io.EOF.
func (h *header) TrailerFields() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) { h.eachTrailer(yield) }
}

func (h *header) eachTrailer(yield func(name, value []byte) bool) {
	h = h.section()
	if h.trailers.Len() == 0 {
		return
	}
	for i := range h.list.Entries {
		if h.isTrailer(&h.list.Entries[i]) && !yield(h.list.Name(i), h.list.Value(i)) {
			return
		}
	}
	for i := range h.trailers.Entries {
		if h.trailers.Entries[i].Flags&field.InTrailers != 0 && !yield(h.trailers.Name(i), h.trailers.Value(i)) {
			return
		}
	}
}

// PeekTrailer returns the value of the first field with that name in the trailer
// section, or nil. The case of the name does not matter. The field need not have been
// announced. PeekTrailer never returns a field of the header section.
func (h *header) PeekTrailer(key string) []byte {
	for name, value := range h.eachTrailer {
		if ascii.EqualFold(name, bytesconv.Bytes(key)) {
			return value
		}
	}
	return nil
}

// PeekTrailerAll returns the values of all fields with that name in the trailer
// section. The outer slice is valid until the next call of a method whose name
// begins with Peek.
func (h *header) PeekTrailerAll(key string) [][]byte {
	h.peeked = h.peeked[:0]
	for name, value := range h.eachTrailer {
		if ascii.EqualFold(name, bytesconv.Bytes(key)) {
			h.peeked = append(h.peeked, value)
		}
	}
	return h.peeked
}

// AddTrailerField adds a field to the trailer section, which is sent after a chunked
// body. It does not change the header section: neither fields with that name nor the
// Trailer field, to which AnnounceTrailer adds names. A proxy uses AddTrailerField to
// pass on the fields of TrailerFields.
//
// The error is ErrBadTrailer if the field must not be a trailer; see SetTrailer. CR, LF
// and NUL in the value become spaces. An HTTP/1.0 message has no trailers: they are
// dropped.
func (h *header) AddTrailerField(key, value string) error {
	return h.AddTrailerFieldBytes(bytesconv.Bytes(key), bytesconv.Bytes(value))
}

// AddTrailerFieldBytes is AddTrailerField for byte slices.
func (h *header) AddTrailerFieldBytes(key, value []byte) error {
	if !http1.MayBeTrailer(key) {
		return ErrBadTrailer
	}
	h.addTrailing(keyOf(key), value)
	return nil
}

func (h *header) addTrailing(k key, value []byte) {
	h = h.section()
	h.addTrailer(k, value, field.InTrailers)
	h.state |= trailing
}

// moveTrailers makes h use the trailer section of to, which has a copy of its fields. A
// body stream refers to the header of the message that it was set in. After that message
// was copied back to its original, trailers that the stream sets or reads are in the
// original.
func (h *header) moveTrailers(to *header) {
	h.trailerTarget = to
	h.state |= trailing
}

// section returns the header that has the trailer section.
func (h *header) section() *header {
	for h.trailerTarget != nil {
		h = h.trailerTarget
	}
	return h
}

// peekAnnounced returns the value of the first field with the name k in the trailer
// section, or nil if there is none or it was not announced. Peek returns it if the
// header section has no such field.
func (h *header) peekAnnounced(k key) []byte {
	h = h.section()
	if h.trailers.Announced(k.id, k.name) < 0 {
		return nil
	}
	if i := h.trailers.FindField(k.id, k.name, 0); i >= 0 {
		return h.trailers.Value(i)
	}
	return nil
}

// peekAllAnnounced is peekAnnounced for PeekAll.
func (h *header) peekAllAnnounced(k key) [][]byte {
	at := h.section()
	if at.trailers.Announced(k.id, k.name) < 0 {
		return h.peeked
	}
	for i := at.trailers.FindField(k.id, k.name, 0); i >= 0; i = at.trailers.FindField(k.id, k.name, i+1) {
		h.peeked = append(h.peeked, at.trailers.Value(i))
	}
	return h.peeked
}

// removeTrailing removes the fields with the name k from the trailer section. With exact
// the case of their names must match, too.
func (h *header) removeTrailing(k key, exact bool) {
	h.ensureOwned()
	h.trailers.RemoveFields(k.id, k.name, exact)
}

// TrailerHeader returns the trailer section as it is sent after a chunked body: a line
// for each of TrailerFields, and an empty line. It omits fields whose name is not a
// token. The result is valid until the message is changed or released.
func (h *header) TrailerHeader() []byte {
	h.scratch[scratchTrailers] = h.appendTrailers(h.scratch[scratchTrailers][:0])
	return h.scratch[scratchTrailers]
}

func (h *header) appendTrailers(dst []byte) []byte {
	if h.trailers.Len() > 0 {
		for name, value := range h.eachTrailer {
			dst = http1.AppendField(dst, name, value)
		}
	}
	return append(dst, strCRLF...)
}

// ReadTrailer reads the trailer section of a chunked message from r, up to and including
// its empty line. The section is limited to 4 KiB and 100 fields.
//
// The fields are kept apart from the header section: TrailerFields and PeekTrailer return
// them. Peek and PeekAll return the fields that the Trailer field announces, if the header
// section has no field of that name.
//
// ReadTrailer returns io.EOF if r ends before the first byte. If there is a field that
// must not be a trailer (see SetTrailer), it returns an error that wraps ErrBadTrailer,
// unless the header belongs to a response that was read: then it omits the field.
func (h *header) ReadTrailer(r *bufio.Reader) error {
	err := h.readTrailers(recvbuf.Buffered{R: r}, nil)
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("error when reading trailers: %w", err)
}

// trailerFilter reports whether to keep a field of a trailer section with this name. A
// nil filter keeps all fields.
type trailerFilter func(name []byte) bool

// readTrailers reads the trailer section from in. The section may be larger than the
// buffer of in.
func (h *header) readTrailers(in recvbuf.Source, accept trailerFilter) error {
	return recvbuf.ReadSection(in, func(b []byte) (int, error) { return h.feedTrailers(b, accept) })
}

// isReceivedResponse reports whether the header belongs to a response that was read. The
// content of such a response is complete, whatever its trailer section contains: fields
// that must not be there are dropped (RFC 9110 section 6.5.1). A request with such fields
// is refused, since they could change its meaning for another recipient.
func (h *header) isReceivedResponse() bool { return h.received != 0 }

// feedTrailers reads the trailer section at the beginning of b and returns its length, or
// 0 if it is not complete.
func (h *header) feedTrailers(b []byte, accept trailerFilter) (n int, err error) {
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
		switch {
		case !http1.IsBarredTrailer(k.name):
			if accept == nil || accept(k.name) {
				h.addTrailing(k, fields.Value(i))
			}
		case !h.isReceivedResponse():
			return 0, ErrBadTrailer
		}
	}
	return n, nil
}
