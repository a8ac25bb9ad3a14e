package http1

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// parseFields parses the field lines from h.next on, up to the empty line. It
// returns the position after that line, or 0 if it needs more bytes.
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
				// the field is not forwarded
				flags = field.BadName
			}
		}
		// nearly every value has one space before it and CRLF after it;
		// fieldValue parses all others
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

// guess compares b with the normalised name that the field in this place had in the
// last message. It returns the length of the name if b begins with it, and 0
// otherwise.
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

// sectionEnd parses the empty line at b[i].
func sectionEnd(role Role, b []byte, i int) (n int, err error) {
	if role == Response {
		return looseLineEnd(b, i)
	}
	return lineEnd(b, i)
}

// fieldName parses the name that begins at b[start] (RFC 9112 section 5) and
// normalises it. It returns the size of the name and the position of the colon after
// it, or a position of 0 if it needs more bytes.
//
// If spaces is set, spaces may follow the name, and are not part of it (by RFC 9112
// section 5.1 proxies remove them from responses). A name with spaces inside is left
// unchanged. The connection is closed then, since such a sender may have made other
// errors, too.
func (h *Head) fieldName(b []byte, start int, spaces bool) (size, colon int, id field.ID, err error) {
	name := b[start:]
	known := max(h.seen-start, 0)
	size = known + ascii.IndexByte(name[known:], ':')
	if size == len(name) {
		// more bytes of the name may follow, but those so far must be valid
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

// isSpaced reports whether name is a token except for spaces after its first byte.
// The bytes up to from were checked before.
func isSpaced(name []byte, from int) bool {
	for _, c := range name[from:] {
		if c != ' ' && !ascii.Is(c, ascii.Token) {
			return false
		}
	}
	return len(name) > 0 && name[0] != ' '
}

// validName reports whether name is a token, and normalises it in the same pass.
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

// tokens maps the bytes of a token to lower case, in the second table to upper case,
// which is for bytes after a hyphen. It maps all other bytes to 0.
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

// fieldValue parses the rest of a field line, which begins at b[i] after the colon.
// The value is b[from:stop]. end is the position after the line, or 0 if fieldValue
// needs more bytes.
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
	// if the value began with a fold, it begins with the spaces that replaced it
	for from < stop && isSpace(b[from]) {
		from++
	}
	for stop > from && isSpace(b[stop-1]) {
		stop--
	}
	return from, stop, end, nil
}

// unfold finds the end of a folded field line of a response whose first line ends at
// b[stop], and replaces each obs-fold by spaces, as RFC 9112 section 5.2 requires of
// a user agent.
func unfold(b []byte, stop int) (newStop, end int, err error) {
	for {
		end, err = looseLineEnd(b, stop)
		// the next byte shows whether the value continues
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
			// a fold is replaced only when all of it has arrived
			return 0, 0, nil
		}
		for i := stop; i < end; i++ {
			b[i] = ' '
		}
		stop = valueEnd(b, end)
	}
}

// requestLineEnd parses the CRLF that must stand at b[i], the first control
// character after a field value of a request.
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
