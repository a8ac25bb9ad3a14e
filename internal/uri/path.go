package uri

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/percent"
)

// AppendNormalPath appends the text that src, an encoded path, stands for, in
// its normal form: with a slash in front, and without dot segments (RFC 3986
// section 5.2.4) and repeated slashes.
func AppendNormalPath(dst, src []byte) []byte {
	n := len(dst)
	if len(src) == 0 || src[0] != '/' {
		dst = append(dst, '/')
	}
	dst = percent.AppendDecodedPath(dst, src)
	return dst[:n+NormalizePath(dst[n:])]
}

// isNormalPath reports whether src stands for itself and is in normal form. It
// may be false for a path of which that is true as well.
func isNormalPath(src []byte) bool {
	if len(src) == 0 || src[0] != '/' || bytes.IndexByte(src, '%') >= 0 {
		return false
	}
	for pos := 1; pos < len(src); {
		if c := src[pos]; c == '/' || c == '.' {
			return false
		}
		pos += nextSlash(src[pos:]) + 1
	}
	return true
}

// NormalizePath takes repeated slashes and dot segments out of b, which begins
// with a slash, and returns how much of it is left. A dot segment at the end
// leaves its slash.
func NormalizePath(b []byte) int {
	written, open := 0, false
	for pos := 0; pos < len(b); {
		for pos < len(b) && b[pos] == '/' {
			pos++
		}
		end := pos + nextSlash(b[pos:])
		segment := b[pos:end]
		open = true
		switch string(segment) {
		case "", ".":
		case "..":
			written = max(bytes.LastIndexByte(b[:written], '/'), 0)
		default:
			// the slash is ahead of the segment in what was read, so that
			// nothing is overwritten that was not read yet
			b[written] = '/'
			written += 1 + copy(b[written+1:], segment)
			open = false
		}
		pos = end
	}
	if open {
		b[written] = '/'
		written++
	}
	return written
}

func nextSlash(b []byte) int {
	if n := bytes.IndexByte(b, '/'); n >= 0 {
		return n
	}
	return len(b)
}
