package cookie

import (
	"bytes"
	"slices"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// AppendPairs appends the pairs of src, the value of a Cookie field, to dst. A piece without
// an equals sign is a value without a name. Empty pieces are left out, and so are values
// that no cookie can have.
func AppendPairs(dst *field.List, src []byte) {
	from := dst.Len()
	AppendReceived(dst, src)
	kept := dst.Entries[:from]
	for _, e := range dst.Entries[from:] {
		if e.Flags&field.BadValue == 0 {
			e.Flags = 0
			kept = append(kept, e)
		}
	}
	dst.Entries = kept
}

// AppendReceived is AppendPairs for a field that a peer has sent. AppendText writes the
// cookies that are not changed afterwards as they were received. Cookies that AppendPairs
// would leave out are marked with BadValue, and hidden from the application.
func AppendReceived(dst *field.List, src []byte) {
	// one copy serves all pairs, since they are pieces of src
	base := dst.Append(src).Off
	for pos := 0; pos < len(src); {
		end := pos + nextPiece(src[pos:])
		name, value := cutPiece(src[pos:end])
		var flags field.Flag
		switch unquoted, ok := unquote(value); {
		case !ok:
			flags = field.BadValue
		case len(unquoted) < len(value):
			value, flags = unquoted, field.Quoted
		}
		if len(name)+len(value) > 0 {
			dst.Entries = append(dst.Entries, field.Entry{
				Name:  spanIn(base, src, name),
				Value: spanIn(base, src, value),
				Flags: flags,
			})
		}
		pos = end + 1
	}
}

// spanIn returns the position of piece, a slice of whole, in a block that holds whole at
// base.
func spanIn(base uint32, whole, piece []byte) field.Span {
	if len(piece) == 0 {
		return field.Span{Off: base}
	}
	return field.Span{Off: base + uint32(cap(whole)-cap(piece)), Len: uint32(len(piece))}
}

// AppendText appends the cookies of src as the value of a Cookie
// field, which a peer reads as the same cookies.
func AppendText(dst []byte, src *field.List) []byte {
	start := len(dst)
	for i := range src.Len() {
		name, value := src.Name(i), src.Value(i)
		if len(name)+len(value) == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, "; "...)
		}
		from := len(dst)
		if len(name) > 0 || bytes.IndexByte(value, '=') >= 0 {
			// without it the value would begin with a name
			dst = append(append(dst, name...), '=')
		}
		if src.Entries[i].Flags&field.Quoted != 0 {
			dst = append(append(append(dst, '"'), value...), '"')
		} else {
			dst = append(dst, value...)
		}
		Clean(dst[from:])
	}
	return dst
}

// NameIn returns the name of the cookie in setCookie, the value of a
// Set-Cookie field: a piece of setCookie, empty if there is none.
func NameIn(setCookie []byte) []byte {
	name, _ := cutPiece(setCookie[:nextPiece(setCookie)])
	return name
}

// Clean replaces bytes that would end a cookie's name, value or attribute, or its field, by
// spaces: semicolons and control characters. Tabs are left unchanged.
func Clean(b []byte) {
	for i, c := range b {
		if ends(c) {
			b[i] = ' '
		}
	}
}

func ends(c byte) bool { return c < 0x20 && c != '\t' || c == 0x7f || c == ';' }

// Cleaned returns text, the name or value of a cookie, cleaned: text itself if no byte needs
// it.
func Cleaned(text []byte) []byte {
	if !slices.ContainsFunc(text, ends) {
		return text
	}
	return SetText(nil, text)
}

// SetText stores src, cleaned, in the memory of dst.
func SetText(dst, src []byte) []byte {
	dst = append(dst[:0], src...)
	Clean(dst)
	return dst
}

// nextPiece returns the end of the first piece; semicolons separate pieces.
func nextPiece(b []byte) int {
	if n := bytes.IndexByte(b, ';'); n >= 0 {
		return n
	}
	return len(b)
}

// cutPiece splits a piece at its first equals sign. Without one the whole piece is the
// value.
func cutPiece(piece []byte) (name, value []byte) {
	n := bytes.IndexByte(piece, '=')
	if n < 0 {
		return nil, ascii.Trim(piece)
	}
	return ascii.Trim(piece[:n]), ascii.Trim(piece[n+1:])
}

// unquote removes the quotes around a value. A quote or backslash within makes the value
// invalid.
func unquote(value []byte) (unquoted []byte, ok bool) {
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
		value = value[1 : n-1]
	}
	for _, c := range value {
		if c == '"' || c == '\\' {
			return value, false
		}
	}
	return value, true
}
