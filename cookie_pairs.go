package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// parseRequestCookies appends the pairs of src, the value of a Cookie field, to
// dst. A piece without an equals sign is a value without a name; pieces that
// are empty, or have a value that no cookie can have, are left out.
func parseRequestCookies(dst *field.List, src []byte) {
	// one copy serves all pairs: what they are made of is pieces of src
	base := dst.Append(src).Off
	for pos := 0; pos < len(src); {
		end := pos + nextCookiePiece(src[pos:])
		name, value := cutCookiePiece(src[pos:end])
		value, ok := unquoteCookieValue(value)
		if ok && len(name)+len(value) > 0 {
			dst.Entries = append(dst.Entries, field.Entry{
				Name:  spanIn(base, src, name),
				Value: spanIn(base, src, value),
			})
		}
		pos = end + 1
	}
}

// spanIn returns where piece, a slice of whole, lies in a block that holds
// whole at base.
func spanIn(base uint32, whole, piece []byte) field.Span {
	if len(piece) == 0 {
		return field.Span{Off: base}
	}
	return field.Span{Off: base + uint32(cap(whole)-cap(piece)), Len: uint32(len(piece))}
}

// appendRequestCookies appends the cookies of src as the value of a Cookie
// field.
func appendRequestCookies(dst []byte, src *field.List) []byte {
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
		if len(name) > 0 {
			dst = append(append(dst, name...), '=')
		}
		dst = append(dst, value...)
		cleanCookieText(dst[from:])
	}
	return dst
}

// setCookieName returns the name of the cookie in setCookie, the value of a
// Set-Cookie field: a piece of setCookie, empty where there is none.
func setCookieName(setCookie []byte) []byte {
	name, _ := cutCookiePiece(setCookie[:nextCookiePiece(setCookie)])
	return name
}

// cleanCookieText turns into spaces what would end a cookie's name, value or
// attribute, or the field it stands in: semicolons and control characters. Tabs
// are left as they are.
func cleanCookieText(b []byte) {
	for i, c := range b {
		if endsCookie(c) {
			b[i] = ' '
		}
	}
}

func endsCookie(c byte) bool { return c < 0x20 && c != '\t' || c == 0x7f || c == ';' }

// nextCookiePiece returns where the first of the pieces that semicolons
// separate ends.
func nextCookiePiece(b []byte) int {
	if n := bytes.IndexByte(b, ';'); n >= 0 {
		return n
	}
	return len(b)
}

// cutCookiePiece splits a piece at its first equals sign. Without one all of it
// is the value.
func cutCookiePiece(piece []byte) (name, value []byte) {
	n := bytes.IndexByte(piece, '=')
	if n < 0 {
		return nil, ascii.Trim(piece)
	}
	return ascii.Trim(piece[:n]), ascii.Trim(piece[n+1:])
}

// unquoteCookieValue takes the quotes off a value that stands in a pair of
// them. A quote or backslash within makes the value invalid.
func unquoteCookieValue(value []byte) (unquoted []byte, ok bool) {
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
