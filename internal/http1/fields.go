package http1

import (
	"encoding/binary"
	"math/bits"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// parseFields reads field lines from h.next on, up to the empty line, and
// returns the position behind it, or 0 for need more.
func (h *Head) parseFields(role Role, b []byte, fields *field.List) (n int, err error) {
	i := h.next
	for {
		if i >= len(b) {
			h.next = i
			return 0, nil
		}
		if c := b[i]; c == '\r' || c == '\n' {
			h.next = i
			return h.sectionEnd(role, b, i)
		}
		e, end, err := h.fieldLine(role, b, i)
		if err != nil {
			return 0, err
		}
		if end == 0 {
			h.next = i
			return 0, nil
		}
		if len(fields.Entries) >= h.Limits.fields() {
			return 0, ErrManyFields
		}
		if e.ID != field.Unknown && role != trailers {
			value := b[e.Value.Off : e.Value.Off+e.Value.Len]
			if err := h.note(e.ID, value, len(fields.Entries)); err != nil {
				return 0, err
			}
		}
		fields.Entries = append(fields.Entries, e)
		i = end
	}
}

// sectionEnd reads the empty line at b[i].
func (h *Head) sectionEnd(role Role, b []byte, i int) (n int, err error) {
	if role == Response {
		return looseLineEnd(b, i)
	}
	return lineEnd(b, i)
}

// fieldLine reads the field line that begins at b[start] (RFC 9112 section 5)
// and returns the position behind it, or 0 for need more.
func (h *Head) fieldLine(role Role, b []byte, start int) (e field.Entry, end int, err error) {
	colon := indexColon(b, start)
	if colon < 0 {
		// the name may still be growing, but what is there must be one
		if !ascii.All(b[start:], ascii.Token) {
			return e, 0, nameError(b[start:])
		}
		return e, 0, nil
	}
	name := b[start:colon]
	id := field.Lookup(name)
	if id == field.Unknown {
		if !ascii.IsToken(name) {
			return e, 0, nameError(name)
		}
		if !h.KeepNames {
			field.Normalize(name)
		}
	} else if known := id.String(); !h.KeepNames && string(name) != known {
		copy(name, known)
	}

	from := colon + 1
	for from < len(b) && (b[from] == ' ' || b[from] == '\t') {
		from++
	}
	stop := valueEnd(b, from)
	for role == Response {
		end, err = looseLineEnd(b, stop)
		if err != nil || end == 0 {
			return e, 0, err
		}
		if end == len(b) {
			// whether the value goes on shows in the next byte
			return e, 0, nil
		}
		if b[end] != ' ' && b[end] != '\t' {
			break
		}
		// obs-fold: RFC 9112 section 5.2 has a user agent replace it by spaces
		for i := stop; i < end; i++ {
			b[i] = ' '
		}
		stop = valueEnd(b, end)
	}
	if role != Response {
		if end, err = requestLineEnd(b, stop); end == 0 || err != nil {
			return e, 0, err
		}
	}
	for from < stop && (b[from] == ' ' || b[from] == '\t') {
		from++
	}
	for stop > from && (b[stop-1] == ' ' || b[stop-1] == '\t') {
		stop--
	}
	e = field.Entry{
		Name:  field.Span{Off: uint32(start), Len: uint32(colon - start)},
		Value: field.Span{Off: uint32(from), Len: uint32(stop - from)},
		ID:    id,
	}
	return e, end, nil
}

// requestLineEnd reads the CRLF that must stand at b[i], the first control
// character of a field value.
func requestLineEnd(b []byte, i int) (end int, err error) {
	switch {
	case i == len(b):
		return 0, nil
	case b[i] == '\n':
		return 0, ErrLineEnd
	case b[i] != '\r':
		return 0, ErrFieldValue
	case i+1 == len(b):
		return 0, nil
	case b[i+1] != '\n':
		return 0, ErrLineEnd
	}
	return i + 2, nil
}

func nameError(name []byte) error {
	if len(name) > 0 && (name[0] == ' ' || name[0] == '\t') {
		return ErrFold
	}
	return ErrFieldName
}

// indexColon returns the position of the first colon at or behind start, or -1.
func indexColon(b []byte, start int) int {
	const colons = ':' * 0x0101010101010101
	i := start
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:]) ^ colons
		if hit := (x - 0x0101010101010101) &^ x & 0x8080808080808080; hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
	}
	for ; i < len(b); i++ {
		if b[i] == ':' {
			return i
		}
	}
	return -1
}
