package http1

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// parseFields reads field lines from h.next on, up to the empty line, and
// returns the position behind it, or 0 for need more.
func (h *Head) parseFields(role Role, b []byte, fields *field.List) (n int, err error) {
	most := h.Limits.fields()
	if h.inValue {
		if valueEnd(b, h.seen) == len(b) {
			h.seen = len(b)
			return 0, nil
		}
		h.inValue, h.seen = false, 0
	}
	for i := h.next; ; {
		h.next = i
		if i >= len(b) {
			return 0, nil
		}
		if c := b[i]; c == '\r' || c == '\n' {
			return sectionEnd(role, b, i)
		}
		at := len(fields.Entries)
		size, id := h.guess(b[i:], at)
		colon := i + size
		var flags field.Flag
		if size == 0 {
			size, colon, id, err = h.fieldName(b, i, role == Response || h.Spaces)
			if colon == 0 || err != nil {
				return 0, err
			}
			if at < maxGuesses {
				h.guesses[at] = id
			}
			if id == field.Unknown && h.Has(Close) && isSpaced(b[i:i+size], 0) && ascii.IndexByte(b[i:i+size], ' ') < size {
				// it is not passed on
				flags = field.BadName
			}
		}
		// nearly every value has one space before it and CRLF behind it; all
		// others go the plain way
		from := colon + 2
		stop := from + ascii.IndexControl(b[min(from, len(b)):])
		end := stop + 2
		if end >= len(b) || b[colon+1] != ' ' || b[stop] != '\r' || b[stop+1] != '\n' ||
			isSpace(b[from]) || isSpace(b[stop-1]) || role == Response && isSpace(b[end]) {
			from, stop, end, err = fieldValue(role, b, colon+1)
			if end == 0 || err != nil {
				if h.inValue = err == nil && valueEnd(b, colon+1) == len(b); h.inValue {
					h.seen = len(b)
				}
				return 0, err
			}
		}
		if at >= most {
			return 0, ErrManyFields
		}
		if noted[id] && role != trailers {
			if err := h.note(role, id, b[from:stop], at); err != nil {
				return 0, err
			}
		}
		fields.Entries = append(fields.Entries, field.Entry{
			Name:  field.Span{Off: uint32(i), Len: uint32(size)},
			Value: field.Span{Off: uint32(from), Len: uint32(stop - from)},
			ID:    id,
			Flags: flags,
		})
		i = end
	}
}

// guess reports whether b begins with the normalised name that the field in this
// place had in the last message: it returns the length of the name then, or 0.
func (h *Head) guess(b []byte, at int) (colon int, id field.ID) {
	if at >= maxGuesses {
		return 0, field.Unknown
	}
	id = h.guesses[at]
	name := id.String()
	if len(name) == 0 || len(b) <= len(name) || b[len(name)] != ':' || string(b[:len(name)]) != name {
		return 0, field.Unknown
	}
	return len(name), id
}

// sectionEnd reads the empty line at b[i].
func sectionEnd(role Role, b []byte, i int) (n int, err error) {
	if role == Response {
		return looseLineEnd(b, i)
	}
	return lineEnd(b, i)
}

// fieldName reads the name that begins at b[start] (RFC 9112 section 5),
// normalises it, and returns its size and the position of the colon behind it, or 0
// for need more.
//
// With spaces, it may have some behind it, which are no part of it (RFC 9112 section
// 5.1 has proxies take them out of responses). One with spaces in it stays as it is;
// the connection closes then, since nobody knows what else such a sender gets wrong.
func (h *Head) fieldName(b []byte, start int, spaces bool) (size, colon int, id field.ID, err error) {
	name := b[start:]
	known := max(h.seen-start, 0)
	size = known + ascii.IndexByte(name[known:], ':')
	if size == len(name) {
		// the name may still be growing, but what is there must be one
		if !ascii.All(name[known:], ascii.Token) && !(spaces && isSpaced(name, known)) {
			return 0, 0, 0, nameError(name)
		}
		h.seen = len(b)
		return 0, 0, 0, nil
	}
	h.seen = 0
	colon = start + size
	name = name[:size]
	for spaces && size > 1 && name[size-1] == ' ' {
		size--
		name = name[:size]
	}
	id, normal := field.LookupForm(name)
	switch {
	case normal:
	case id != field.Unknown:
		if !h.KeepNames {
			copy(name, id.String())
		}
	case spaces && ascii.IndexByte(name, ' ') < size && isSpaced(name, 0):
		h.Flags |= Close
	case !h.validName(name):
		return 0, 0, 0, nameError(name)
	}
	return size, colon, id, nil
}

// isSpaced reports whether name, which is known to be so up to from, is a token
// but for spaces behind its first byte.
func isSpaced(name []byte, from int) bool {
	for _, c := range name[from:] {
		if c != ' ' && !ascii.Is(c, ascii.Token) {
			return false
		}
	}
	return len(name) > 0 && name[0] != ' '
}

// validName reports whether name is a token, and normalises it on the way.
func (h *Head) validName(name []byte) bool {
	if h.KeepNames || len(name) == 0 {
		return ascii.IsToken(name)
	}
	letters := &tokens[1]
	for i, c := range name {
		c = letters[c]
		if c == 0 {
			return false
		}
		name[i] = c
		letters = &tokens[0]
		if c == '-' {
			letters = &tokens[1]
		}
	}
	return true
}

// tokens maps the bytes of a token to lower case, and behind a hyphen to upper
// case, and all others to 0.
var tokens = buildTokens()

func buildTokens() (t [2][256]byte) {
	for i := range 256 {
		if c := byte(i); ascii.Is(c, ascii.Token) {
			t[0][c], t[1][c] = ascii.Lower(c), ascii.Upper(c)
		}
	}
	return t
}

func nameError(name []byte) error {
	if len(name) > 0 && isSpace(name[0]) {
		return ErrFold
	}
	return ErrFieldName
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// fieldValue reads what stands behind the colon of a field line at b[i]. The
// value is b[from:stop]; end is the position behind the line, or 0 for need
// more.
func fieldValue(role Role, b []byte, i int) (from, stop, end int, err error) {
	from = i
	for from < len(b) && isSpace(b[from]) {
		from++
	}
	stop = valueEnd(b, from)
	if role == Response {
		stop, end, err = unfold(b, stop)
	} else {
		end, err = requestLineEnd(b, stop)
	}
	if end == 0 || err != nil {
		return 0, 0, 0, err
	}
	// where a value began with a fold, the spaces in its place come first
	for from < stop && isSpace(b[from]) {
		from++
	}
	for stop > from && isSpace(b[stop-1]) {
		stop--
	}
	return from, stop, end, nil
}

// unfold finds the end of a field line of a response whose first line ends at
// b[stop]. RFC 9112 section 5.2 has a user agent replace obs-folds by spaces.
func unfold(b []byte, stop int) (newStop, end int, err error) {
	for {
		end, err = looseLineEnd(b, stop)
		// whether the value goes on shows in the next byte
		if err != nil || end == 0 || end == len(b) {
			return 0, 0, err
		}
		if !isSpace(b[end]) {
			return stop, end, nil
		}
		for stop > 0 && isSpace(b[stop-1]) {
			stop--
		}
		for end < len(b) && isSpace(b[end]) {
			end++
		}
		if end == len(b) {
			// all of a fold is replaced, or nothing of it yet
			return 0, 0, nil
		}
		for i := stop; i < end; i++ {
			b[i] = ' '
		}
		stop = valueEnd(b, end)
	}
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
