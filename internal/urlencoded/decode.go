package urlencoded

import (
	"bytes"
	"slices"

	"github.com/valyala/fasthttp/internal/ascii"
)

// AppendDecodedArg decodes src, a name or value of an argument list, and appends
// the text: a plus sign means a space. A percent sign with fewer than two bytes
// after it is kept, and so are these bytes. dst may be src[:0].
func AppendDecodedArg(dst, src []byte) []byte {
	at := len(dst)
	dst = slices.Grow(dst, len(src))
	room := dst[at : at+len(src)]
	n := 0
	for i := uint(0); i < uint(len(src)); i++ {
		c := src[i]
		// letters and digits are greater than both
		if c <= '+' {
			switch c {
			case '+':
				c = ' '
			case '%':
				if uint(len(src))-i < uint(len("%XX")) {
					return dst[:at+n+copy(room[n:], src[i:])]
				}
				if decoded, ok := escaped(src, int(i)); ok {
					c = decoded
					i += 2
				}
			}
		}
		room[n] = c
		n++
	}
	return dst[:at+n]
}

// AppendDecodedPath decodes src, a path, and appends the text: a plus sign is kept.
// dst may be src[:0].
func AppendDecodedPath(dst, src []byte) []byte {
	for {
		i := nextEscape(src)
		if i < 0 {
			return append(dst, src...)
		}
		c, _ := escaped(src, i)
		dst = append(append(dst, src[:i]...), c)
		src = src[i+3:]
	}
}

// HasBadEscape reports whether src contains a percent sign that begins no escape.
func HasBadEscape(src []byte) bool {
	for {
		i := bytes.IndexByte(src, '%')
		if i < 0 {
			return false
		}
		if _, ok := escaped(src, i); !ok {
			return true
		}
		src = src[i+3:]
	}
}

// AppendRecodedPath decodes the path src and appends the text as AppendPath encodes
// it. A percent sign that begins no escape in src is appended unchanged, and begins
// none in the result.
func AppendRecodedPath(dst, src []byte) []byte {
	// where a percent sign without an escape was last written
	bad := -len("%XX")
	for len(src) > 0 {
		if src[0] != '%' {
			n := bytes.IndexByte(src, '%')
			if n < 0 {
				n = len(src)
			}
			dst = AppendPath(dst, src[:n])
			src = src[n:]
			continue
		}
		c, ok := escaped(src, 0)
		switch {
		case !ok:
			bad = len(dst)
			dst = append(dst, '%')
			src = src[1:]
			continue
		case len(dst)-bad < len("%XX") && ascii.Is(c, ascii.HexDigit):
			// a plain digit could complete an escape with the lone percent
			// sign before it
			dst = append(dst, src[:3]...)
		default:
			dst = AppendPath(dst, []byte{c})
		}
		src = src[3:]
	}
	return dst
}

// nextEscape returns the position of the first escape in src, or -1.
func nextEscape(src []byte) int {
	for i := 0; ; i++ {
		n := bytes.IndexByte(src[i:], '%')
		if n < 0 {
			return -1
		}
		i += n
		if _, ok := escaped(src, i); ok {
			return i
		}
	}
}

// escaped decodes the escape at src[i], a percent sign. It is not an escape unless
// two hexadecimal digits follow.
func escaped(src []byte, i int) (c byte, ok bool) {
	if i+2 >= len(src) {
		return 0, false
	}
	hi, lo := ascii.HexValue(src[i+1]), ascii.HexValue(src[i+2])
	if hi|lo > 0xf {
		return 0, false
	}
	return hi<<4 | lo, true
}
