package fasthttp

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// SetTrailer announces the names in a comma-separated list as trailer fields,
// in the place of those announced before. Their values, set with Set or Add
// before or after, are sent behind a chunked body instead of in the header. Fields
// that were received in the header section stay there if the Trailer field that
// came with them has their name.
//
// Fields that say how to frame, route, authenticate or read a message must
// not come in a trailer (RFC 9110 section 6.5.1), nor must those by which a front
// end says who the client is, such as X-Forwarded-For: they are left out, and
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

// AnnounceTrailer adds the names in a comma-separated list to the Trailer field,
// for fields that AddTrailerField will add. Unlike AddTrailer it leaves fields of
// those names in the header section. It fails as SetTrailer does.
func (h *header) AnnounceTrailer(trailer string) error {
	return h.announceList(bytesconv.Bytes(trailer), field.Apart)
}

func (h *header) setTrailers(list []byte) error {
	for rest := list; rest != nil && h.trailers.Len() > 0; {
		var name []byte
		name, rest = ascii.NextElement(rest)
		h.keepUpfront(keyOf(name))
	}
	h.dropTrailerNames()
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
			h.keepUpfront(k)
		}
		if !h.announce(k, flags) {
			err = ErrBadTrailer
		}
	}
	return err
}

// keepUpfront has fields stay in the header section that came there with a name
// which the peer announced. Who passes a message on announces what it announced.
func (h *header) keepUpfront(k key) {
	if i := h.trailers.Announced(k.id, k.name); i < 0 || h.trailers.Entries[i].Flags&field.Hint == 0 {
		return
	}
	for i := h.list.FindFold(k.id, k.name, 0); i >= 0; i = h.list.FindFold(k.id, k.name, i+1) {
		if e := &h.list.Entries[i]; h.list.IsFrozen(e.Value) {
			e.Flags |= field.Upfront
		}
	}
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
		if h.trailers.IsFullFor(k.id, k.name) {
			return
		}
		_ = h.announce(k, field.Hint)
	}
}

// announce takes in a trailer name, or tells that it must not be one.
func (h *header) announce(k key, flags field.Flag) bool {
	if !http1.MayTrail(k.name) {
		return false
	}
	if !h.trailers.Reannounce(k.id, k.name, flags) {
		h.addTrailer(k, nil, flags)
	}
	return true
}

// addTrailer adds a name or a field to the list of trailers.
func (h *header) addTrailer(k key, value []byte, flags field.Flag) {
	h.own()
	h.trailers.Put(k.id, k.name, value, flags, h.is(namesKept))
}

// dropTrailerNames takes back what was announced. Fields of the trailer section
// stay there: they are never part of the header section.
func (h *header) dropTrailerNames() {
	if !h.is(trailing) {
		h.trailers.Reset()
		return
	}
	h.trailers.DropNames()
}

// dropTrailers takes back what was announced, and takes the fields of the trailer
// section away.
func (h *header) dropTrailers() {
	h.trailers.Reset()
	h.state &^= trailing
}

// isTrailer reports whether the field e of list is sent behind the body, since its
// name was announced here.
func (h *header) isTrailer(e *field.Entry) bool {
	if h.trailers.Len() == 0 || e.Flags&field.Upfront != 0 {
		return false
	}
	return h.trailers.Sends(e.ID, h.list.Bytes(e.Name))
}

// sendsTrailers reports whether a trailer section can follow. HTTP/1.0 has none:
// fields of the header that were announced stay in the header section there, and
// those of a trailer section are dropped.
func (h *header) sendsTrailers() bool {
	if h.is(oldProtocol) {
		h.dropTrailers()
	}
	return h.trailers.Len() > 0
}

// announces reports whether there are trailers that were announced here, or that
// have come: what a peer has announced may never come.
func (h *header) announces() bool { return h.trailers.HasOwn() && h.sendsTrailers() }

// hasTrailerNames reports whether there is a Trailer field. It is asked of every
// message.
func (h *header) hasTrailerNames() bool {
	return len(h.trailers.Entries) > 0 && h.trailers.HasNames()
}

// trailerNames returns the value of the Trailer field, or nil.
func (h *header) trailerNames() []byte {
	if !h.hasTrailerNames() {
		return nil
	}
	h.scratch[scratchTrailerNames] = h.trailers.AppendNames(h.scratch[scratchTrailerNames][:0])
	return h.scratch[scratchTrailerNames]
}
