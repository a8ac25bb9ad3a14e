// Package urlencoded implements percent-encoding (RFC 3986 section 2.1) in its two
// forms: for form and query arguments, in which a plus sign means a space, and for
// paths. It parses and writes the arguments of query strings and forms
// (application/x-www-form-urlencoded in the URL standard) as pairs of a field.List.
//
// All functions append to a slice and copy the text between two escapes at once. A
// percent sign without two hexadecimal digits after it is kept: it is never
// an error. Start with the two tables in this file; decode.go has the decoder, and
// urlencoded.go the arguments.
package urlencoded

import (
	"slices"

	"github.com/valyala/fasthttp/internal/ascii"
)

// How a byte is encoded.
const (
	escape = iota // %XX
	keep          // the byte itself
	plus          // '+', which means a space in an argument
)

// The unreserved characters of RFC 3986 section 2.3 are never escaped. A path
// also keeps the delimiters that have no special meaning in it. The other
// sub-delims are escaped, since not every peer reads them as text.
var (
	argBytes  = table("-._~", " ")
	pathBytes = table("-._~"+"/"+":@"+"$&+,;=", "")
)

func table(kept, pluses string) (t [256]uint8) {
	for i := range t {
		if ascii.Is(byte(i), ascii.Alpha|ascii.Digit) {
			t[i] = keep
		}
	}
	for _, c := range []byte(kept) {
		t[c] = keep
	}
	for _, c := range []byte(pluses) {
		t[c] = plus
	}
	return t
}

// AppendArg appends src as a name or value of an argument list.
func AppendArg(dst, src []byte) []byte { return appendEncoded(dst, src, &argBytes) }

// AppendPath appends src as a path. Slashes stay slashes.
func AppendPath(dst, src []byte) []byte {
	if ascii.IsPlainPath(src) {
		return append(dst, src...)
	}
	return appendEncoded(dst, src, &pathBytes)
}

// IsPath reports whether AppendPath leaves c unchanged.
func IsPath(c byte) bool { return pathBytes[c] == keep }

// AppendVisible appends src with its spaces and control characters escaped, and all
// other bytes unchanged. It is for a URI whose parts are not known.
func AppendVisible(dst, src []byte) []byte {
	if !ascii.HasSpaceOrControl(src) {
		return append(dst, src...)
	}
	for {
		n := ascii.IndexSpaceOrControl(src)
		dst = append(dst, src[:n]...)
		if n == len(src) {
			return dst
		}
		dst = appendEscape(dst, src[n])
		src = src[n+1:]
	}
}

// AppendASCII appends src and escapes all bytes except visible ASCII
// characters. It is for a URI in which no other byte has a meaning.
func AppendASCII(dst, src []byte) []byte {
	if ascii.IsVisible(src) {
		return append(dst, src...)
	}
	for _, c := range src {
		if c <= 0x20 || c >= 0x7f {
			dst = appendEscape(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// appendEncoded copies one byte at a time: most names and values are so short that
// any other way takes longer.
func appendEncoded(dst, src []byte, t *[256]uint8) []byte {
	at := len(dst)
	dst = slices.Grow(dst, len(src))[:at+len(src)]
	room := dst[at:][:len(src)]
	for i, c := range src {
		if t[c] != keep {
			return appendEscaped(dst[:at+i], src[i:], t)
		}
		room[i] = c
	}
	return dst
}

// appendEscaped is like appendEncoded, for text that begins with a byte which must
// be escaped.
func appendEscaped(dst, src []byte, t *[256]uint8) []byte {
	for _, c := range src {
		switch t[c] {
		case keep:
			dst = append(dst, c)
		case plus:
			dst = append(dst, '+')
		default:
			dst = appendEscape(dst, c)
		}
	}
	return dst
}

func appendEscape(dst []byte, c byte) []byte {
	return append(dst, '%', ascii.HexUpper(c>>4), ascii.HexUpper(c))
}
