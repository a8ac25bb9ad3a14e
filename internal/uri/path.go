package uri

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/urlencoded"
)

// AppendNormalPath decodes src, an encoded path, and appends the text in normal form: with
// a leading slash, and without dot segments (RFC 3986 section 5.2.4) and repeated slashes. dst
// may be src[:0].
func AppendNormalPath(dst, src []byte) []byte {
	n, rooted := len(dst), len(src) > 0 && src[0] == '/'
	dst = urlencoded.AppendDecodedPath(dst, src)
	if !rooted {
		dst = slices.Insert(dst, n, '/')
	}
	return dst[:n+NormalizePath(dst[n:])]
}

// isNormalPath reports whether src has no escapes and is in normal form. It may be false
// even if both are true.
func isNormalPath(src []byte) bool {
	n := len(src)
	if n == 0 || src[0] != '/' || src[n-1] == '%' {
		return false
	}
	if n < 9 {
		for i := range n - 1 {
			if c, next := src[i], src[i+1]; c == '%' || c == '/' && (next == '/' || next == '.') {
				return false
			}
		}
		return true
	}
	// eight bytes and their successors; the last step may overlap the one before
	for from := 0; ; from = min(from+8, n-9) {
		pair := src[from : from+9]
		these, next := binary.LittleEndian.Uint64(pair), binary.LittleEndian.Uint64(pair[1:])
		// a dot differs from a slash in its lowest bit only
		if equal(these, '%')|equal(these, '/')&equal(next|ones, '/') != 0 {
			return false
		}
		if from == n-9 {
			return true
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// equal returns a word with the high bit set for every c in w. It may also be set for the
// bytes c^1 above such a byte: a dot above a slash, which is not in normal form either.
func equal(w uint64, c byte) uint64 { return ascii.ZeroBytes(w ^ ones*uint64(c)) }

// NormalizePath removes repeated slashes and dot segments from b, which begins with a
// slash, and returns the new length. A dot segment at the end leaves its slash.
func NormalizePath(b []byte) int {
	written, open := 0, false
	for pos := 0; pos < len(b); {
		for pos < len(b) && b[pos] == '/' {
			pos++
		}
		end := pos + ascii.IndexByte(b[pos:], '/')
		segment := b[pos:end]
		open = true
		switch string(segment) {
		case "", ".":
		case "..":
			written = max(bytes.LastIndexByte(b[:written], '/'), 0)
		default:
			// the slash is ahead of the segment in the text read, so that
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

// removeDots removes the dot segments from path, which begins with a slash, and returns the
// new length. Unlike NormalizePath it keeps repeated slashes, which may have a meaning for
// the server that the URI is from.
func removeDots(path []byte) (n int) {
	for i := 0; i < len(path); {
		end := i + 1
		for end < len(path) && path[end] != '/' {
			end++
		}
		switch segment := string(path[i+1 : end]); segment {
		case ".", "..":
			if segment == ".." {
				n = max(bytes.LastIndexByte(path[:n], '/'), 0)
			}
			if end == len(path) {
				path[n] = '/'
				n++
			}
		default:
			n += copy(path[n:], path[i:end])
		}
		i = end
	}
	return n
}
