package header

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// SetTrailers announces the names in list instead of the names announced before. It
// returns http1.ErrBadTrailer if a name must not be a trailer.
func (h *Header) SetTrailers(list []byte) error {
	for rest := list; rest != nil && h.Trailers.Len() > 0; {
		var name []byte
		name, rest = ascii.NextElement(rest)
		h.keepInHeader(KeyOf(name))
	}
	h.removeTrailerNames()
	return h.AddTrailers(list)
}

// AddTrailers is SetTrailers that keeps the names announced before.
func (h *Header) AddTrailers(list []byte) error { return h.AnnounceList(list, 0) }

// AnnounceList is AddTrailers with flags for the names.
func (h *Header) AnnounceList(list []byte, flags field.Flag) (err error) {
	for rest := list; rest != nil; {
		var name []byte
		name, rest = ascii.NextElement(rest)
		if len(name) == 0 {
			continue
		}
		k := KeyOf(name)
		if h.Trailers.IsFullFor(k.ID, k.Name) {
			return http1.ErrBadTrailer
		}
		if flags == 0 {
			h.keepInHeader(k)
		}
		if !h.announce(k, flags) {
			err = http1.ErrBadTrailer
		}
	}
	return err
}

// keepInHeader keeps the received fields of the name k in the header section if the
// peer announced this name: a proxy announces the names that its peer announced.
func (h *Header) keepInHeader(k Key) {
	if i := h.Trailers.Announced(k.ID, k.Name); i < 0 || h.Trailers.Entries[i].Flags&field.ByPeer == 0 {
		return
	}
	h.ensureOwned()
	for i := h.List.FindFold(k.ID, k.Name, 0); i >= 0; i = h.List.FindFold(k.ID, k.Name, i+1) {
		if e := &h.List.Entries[i]; h.List.IsFrozen(e.Value) {
			e.Flags |= field.InHeader
		}
	}
}

// addPeerTrailers adds the names in the Trailer field of a peer as hints. They do not make
// trailers of fields that are in the header section or are set later: otherwise a
// client could make a proxy withhold a field that the proxy sets.
func (h *Header) addPeerTrailers(list []byte) { _ = h.AnnounceList(list, field.ByPeer) }

// announce adds a trailer name. It returns false if the name must not be a trailer.
func (h *Header) announce(k Key, flags field.Flag) bool {
	if !http1.MayBeTrailer(k.Name) {
		return false
	}
	h.ensureOwned()
	if !h.Trailers.Reannounce(k.ID, k.Name, flags) {
		h.addTrailer(k, nil, flags)
	}
	return true
}

// addTrailer adds a name or a field to the list of trailers.
func (h *Header) addTrailer(k Key, value []byte, flags field.Flag) {
	h.ensureOwned()
	h.Trailers.Put(k.ID, k.Name, value, flags, h.Is(NamesKept))
}

// removeTrailerNames removes the announced names. Fields of the trailer section stay
// there: they are never part of the header section.
func (h *Header) removeTrailerNames() {
	h.ensureOwned()
	if !h.Is(trailing) {
		h.Trailers.Reset()
		return
	}
	h.Trailers.RemoveNames()
}

// removeTrailers removes the announced names and the fields of the trailer section. Fields
// of these names in list stay in the header section.
func (h *Header) removeTrailers() {
	h.Trailers.Reset()
	h.State &^= trailing
}

// isTrailer reports whether the field e of list is sent after the body, because the
// application has announced its name.
func (h *Header) isTrailer(e *field.Entry) bool {
	if h.Trailers.Len() == 0 || e.Flags&field.InHeader != 0 {
		return false
	}
	return h.Trailers.Sends(e.ID, h.List.Bytes(e.Name))
}

// TrailerNames returns the value of the Trailer field, or nil.
func (h *Header) TrailerNames() []byte {
	if !h.hasTrailerNames() {
		return nil
	}
	h.Scratch[scratchTrailerNames] = h.Trailers.AppendNames(h.Scratch[scratchTrailerNames][:0])
	return h.Scratch[scratchTrailerNames]
}

// PeekTrailerNames returns the names of the trailer fields: first the announced ones.
func (h *Header) PeekTrailerNames() [][]byte {
	h.Peeked = h.Peeked[:0]
	for name := range h.Section().Trailers.EachName {
		h.Peeked = append(h.Peeked, name)
	}
	return h.Peeked
}

// The fields of a trailer section are in Trailers, never in List: so code that reads
// the header section cannot confuse the two, whatever names the fields have.

// EachTrailer calls yield for the fields of the trailer section until it returns false:
// first the fields of List with announced names.
func (h *Header) EachTrailer(yield func(name, value []byte) bool) {
	h = h.Section()
	if h.Trailers.Len() == 0 {
		return
	}
	for i := range h.List.Entries {
		if h.isTrailer(&h.List.Entries[i]) && !yield(h.List.Name(i), h.List.Value(i)) {
			return
		}
	}
	for i := range h.Trailers.Entries {
		if h.Trailers.Entries[i].Flags&field.InTrailers != 0 && !yield(h.Trailers.Name(i), h.Trailers.Value(i)) {
			return
		}
	}
}

// PeekTrailer returns the value of the first field with that name in the trailer section, or nil.
func (h *Header) PeekTrailer(key string) []byte {
	for name, value := range h.EachTrailer {
		if ascii.EqualFold(name, bytesconv.Bytes(key)) {
			return value
		}
	}
	return nil
}

// PeekTrailerAll returns the values of all fields with that name in the trailer section.
func (h *Header) PeekTrailerAll(key string) [][]byte {
	h.Peeked = h.Peeked[:0]
	for name, value := range h.EachTrailer {
		if ascii.EqualFold(name, bytesconv.Bytes(key)) {
			h.Peeked = append(h.Peeked, value)
		}
	}
	return h.Peeked
}

// AddTrailerField adds a field to the trailer section. It returns http1.ErrBadTrailer if the
// field must not be a trailer.
func (h *Header) AddTrailerField(key, value []byte) error {
	if !http1.MayBeTrailer(key) {
		return http1.ErrBadTrailer
	}
	h.AddTrailing(KeyOf(key), value)
	return nil
}

// AddTrailing adds a field, whose name was checked, to the trailer section.
func (h *Header) AddTrailing(k Key, value []byte) {
	h = h.Section()
	h.addTrailer(k, value, field.InTrailers)
	h.State |= trailing
}

// MoveTrailers makes h use the trailer section of to, which has a copy of its fields. A
// body stream refers to the header of the message that it was set in. After that message
// was copied back to its original, trailers that the stream sets or reads are in the
// original.
func (h *Header) MoveTrailers(to *Header) {
	h.TrailerTarget = to
	h.State |= trailing
}

// Section returns the header that has the trailer section.
func (h *Header) Section() *Header {
	for h.TrailerTarget != nil {
		h = h.TrailerTarget
	}
	return h
}

// peekAnnounced returns the value of the first field with the name k in the trailer
// section, or nil if there is none or it was not announced. Peek returns it if the
// header section has no such field.
func (h *Header) peekAnnounced(k Key) []byte {
	h = h.Section()
	if h.Trailers.Announced(k.ID, k.Name) < 0 {
		return nil
	}
	if i := h.Trailers.FindField(k.ID, k.Name, 0); i >= 0 {
		return h.Trailers.Value(i)
	}
	return nil
}

// peekAllAnnounced is peekAnnounced for PeekAll.
func (h *Header) peekAllAnnounced(k Key) [][]byte {
	at := h.Section()
	if at.Trailers.Announced(k.ID, k.Name) < 0 {
		return h.Peeked
	}
	for i := at.Trailers.FindField(k.ID, k.Name, 0); i >= 0; i = at.Trailers.FindField(k.ID, k.Name, i+1) {
		h.Peeked = append(h.Peeked, at.Trailers.Value(i))
	}
	return h.Peeked
}

// removeTrailing removes the fields with the name k from the trailer section. With exact
// the case of their names must match, too.
func (h *Header) removeTrailing(k Key, exact bool) {
	h.ensureOwned()
	h.Trailers.RemoveFields(k.ID, k.Name, exact)
}

// TrailerSection returns the trailer section as it is sent after a chunked body.
func (h *Header) TrailerSection() []byte {
	h.Scratch[ScratchTrailers] = h.AppendTrailers(h.Scratch[ScratchTrailers][:0])
	return h.Scratch[ScratchTrailers]
}

// AppendTrailers appends the trailer section as it is sent after a chunked body.
func (h *Header) AppendTrailers(dst []byte) []byte {
	if h.Trailers.Len() > 0 {
		for name, value := range h.EachTrailer {
			dst = http1.AppendField(dst, name, value)
		}
	}
	return append(dst, "\r\n"...)
}

// TrailerFilter reports whether to keep a field of a trailer section with this name. A
// nil filter keeps all fields.
type TrailerFilter func(name []byte) bool

// ReadTrailers reads the trailer section from in. The section may be larger than the
// buffer of in.
func (h *Header) ReadTrailers(in recvbuf.Source, accept TrailerFilter) error {
	return recvbuf.ReadSection(in, func(b []byte) (int, error) { return h.FeedTrailers(b, accept) })
}

// isReceivedResponse reports whether the header belongs to a response that was read. The
// content of such a response is complete, whatever its trailer section contains: fields
// that must not be there are dropped (RFC 9110 section 6.5.1). A request with such fields
// is refused, since they could change its meaning for another recipient.
func (h *Header) isReceivedResponse() bool { return h.received != 0 }

// FeedTrailers reads the trailer section at the beginning of b and returns its length, or
// 0 if it is not complete. It returns http1.ErrBadTrailer if a field of a request must not be a
// trailer.
func (h *Header) FeedTrailers(b []byte, accept TrailerFilter) (n int, err error) {
	if len(b) >= 2 && b[0] == '\r' && b[1] == '\n' {
		return 2, nil
	}
	head := http1.Head{
		KeepNames: h.Is(NamesKept),
		Spaces:    h.isReceivedResponse(),
		Limits:    http1.Limits{Head: http1.MaxTrailers, Fields: http1.MaxTrailerFields},
	}
	var fields field.List
	n, err = head.ParseTrailers(b, &fields)
	if n == 0 || err != nil {
		return 0, err
	}
	fields.Block = b
	if err = h.AddSection(&fields, accept); err != nil {
		return 0, err
	}
	return n, nil
}
