package header

import (
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// SetCanonical is Set for a name that must match exactly and is not normalized.
func (h *Header) SetCanonical(role http1.Role, name, value []byte) {
	before := h.State & NamesKept
	h.State |= NamesKept
	if i := h.findPlain(role, name); i >= 0 {
		k := Key{name, h.List.Entries[i].ID}
		if h.Is(trailing) {
			h.removeTrailing(k, true)
		}
		h.setOnly(i, k, value)
	} else {
		h.Set(role, KeyOf(name), value)
		if before == 0 && !isNormalized(name) {
			h.markSpelled(name)
		}
	}
	h.State = h.State&^NamesKept | before
}

// markSpelled marks the field with exactly this name, if it is in list, as field.Spelled.
func (h *Header) markSpelled(name []byte) {
	if i := h.List.Find(bytesconv.String(name), 0); i >= 0 {
		h.List.Entries[i].Flags |= field.Spelled
	}
}

// removeNormalized removes the field k of a header whose names are normalized. If there are lines
// with the usual spelling, the ones that SetCanonical has added in another one stay: a
// program can rename a field by SetCanonical and Del of the old name.
func (h *Header) removeNormalized(k Key) {
	if i := h.findUsual(k, 0); i >= 0 {
		h.ensureOwned()
		h.List.RemoveEach(i, func(from int) int { return h.findUsual(k, from) })
		return
	}
	h.removeFrom(h.findFold(k, 0), k)
}

// findUsual is findFold without the fields that are marked as field.Spelled.
func (h *Header) findUsual(k Key, from int) int {
	i := h.findFold(k, from)
	for i >= 0 && h.List.Entries[i].Flags&field.Spelled != 0 {
		i = h.findFold(k, i+1)
	}
	return i
}

// isNormalized reports whether only the first letters of the words of a name are capital ones.
func isNormalized(name []byte) bool {
	first := true
	for _, c := range name {
		if first && 'a' <= c && c <= 'z' || !first && 'A' <= c && c <= 'Z' {
			return false
		}
		first = c == '-'
	}
	return true
}
