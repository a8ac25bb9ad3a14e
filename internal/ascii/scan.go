package ascii

import (
	"encoding/binary"
	"math/bits"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// upTo returns a word with the high bit set for every byte of w that is less than
// least, or is 0x7f. Every byte of least holds the same value, at most 0x80. The
// lowest of these bits is always right; those above it may be wrong, because the
// subtraction has borrowed.
func upTo(w, least uint64) uint64 {
	return ((w - least) | ((w ^ 0x7f*ones) - ones)) &^ w & highs
}

// ZeroBytes returns a word with the high bit set for every zero byte of w. The
// lowest of these bits is always right; those above it may be wrong.
func ZeroBytes(w uint64) uint64 { return (w - ones) &^ w & highs }

// NotDigits returns a word with bits set for bytes of w other than digits, and for bytes
// above one outside of ASCII.
func NotDigits(w uint64) uint64 {
	// neither the sum nor the word itself may have a high bit, and the other sum must
	return ((w + (0x80-':')*ones) | w | ^(w + (0x80-'0')*ones)) & highs
}

// IndexControl returns the position of the first byte of b that is a control
// character (under 0x20, or 0x7f), or len(b) if there is none. A tab counts.
func IndexControl(b []byte) int {
	if len(b) < 16 {
		return indexControl(b)
	}
	return NextControl(b, 0)
}

// indexControl is IndexControl for any processor.
func indexControl(b []byte) int {
	i := 0
	for ; i <= len(b)-16; i += 16 {
		pair := b[i : i+16]
		first := upTo(binary.LittleEndian.Uint64(pair), 0x20*ones)
		second := upTo(binary.LittleEndian.Uint64(pair[8:]), 0x20*ones)
		if first|second == 0 {
			continue
		}
		if first != 0 {
			return i + bits.TrailingZeros64(first)/8
		}
		return i + 8 + bits.TrailingZeros64(second)/8
	}
	for ; i <= len(b)-8; i += 8 {
		if hit := upTo(binary.LittleEndian.Uint64(b[i:i+8]), 0x20*ones); hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == 0x7f {
			return i
		}
	}
	return len(b)
}

// HasControl reports whether b contains a control character. It is faster than
// IndexControl for short texts that hardly ever have one.
func HasControl(b []byte) bool {
	if len(b) < 8 {
		return IndexControl(b) < len(b)
	}
	// the last word may overlap the one before
	hit := upTo(binary.LittleEndian.Uint64(b[len(b)-8:]), 0x20*ones)
	for ; len(b) > 16; b = b[16:] {
		hit |= upTo(binary.LittleEndian.Uint64(b), 0x20*ones) | upTo(binary.LittleEndian.Uint64(b[8:]), 0x20*ones)
	}
	if len(b) > 8 {
		hit |= upTo(binary.LittleEndian.Uint64(b), 0x20*ones)
	}
	return hit != 0
}

// HasSpaceOrControl reports whether b contains a space or a control character.
func HasSpaceOrControl(b []byte) bool {
	if len(b) < 8 {
		return IndexSpaceOrControl(b) < len(b)
	}
	last := b[len(b)-8:]
	var hit uint64
	for len(b) > 8 {
		hit |= upTo(binary.LittleEndian.Uint64(b), 0x21*ones)
		b = b[8:]
	}
	return hit|upTo(binary.LittleEndian.Uint64(last), 0x21*ones) != 0
}

// IsVisible reports whether all bytes of b are visible ASCII characters.
func IsVisible(b []byte) bool {
	if len(b) < 8 {
		for _, c := range b {
			if c <= 0x20 || c >= 0x7f {
				return false
			}
		}
		return true
	}
	hit := invisible(bytesconv.Word(b, len(b)-8))
	for i := 0; i < len(b)-8; i += 8 {
		hit |= invisible(bytesconv.Word(b, i))
	}
	return hit&highs == 0
}

// invisible returns a word with a high bit set if a byte of w is not a visible ASCII
// character. The other bits mean nothing.
func invisible(w uint64) uint64 { return w | (w - 0x21*ones) | (w + ones) }

// IsPlainPath reports whether b consists of lower-case letters, digits, hyphens, dots and
// slashes, as most paths do. It is false for fewer than eight bytes.
func IsPlainPath(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	// the last word may overlap the one before
	all := plainPath(bytesconv.Word(b, len(b)-8))
	for i := 0; i < len(b)-8; i += 8 {
		all &= plainPath(bytesconv.Word(b, i))
	}
	return all&highs == highs
}

// plainPath returns a word with the high bits of all bytes set if and only if IsPlainPath
// allows all bytes of w.
func plainPath(w uint64) uint64 {
	letters := (w + (0x80-'a')*ones) &^ (w + (0x7f-'z')*ones)
	others := (w + (0x80-'-')*ones) &^ (w + (0x7f-'9')*ones) // '-', '.', '/' and digits
	return (letters | others) &^ w
}

// IsASCII reports whether all bytes of b are ASCII characters.
func IsASCII(b []byte) bool {
	if len(b) < 8 {
		var all byte
		for _, c := range b {
			all |= c
		}
		return all < 0x80
	}
	all := binary.LittleEndian.Uint64(b[len(b)-8:])
	for len(b) > 8 {
		all |= binary.LittleEndian.Uint64(b)
		b = b[8:]
	}
	return all&highs == 0
}

// IndexSpaceOrControl returns the position of the first byte of b that is a
// space or a control character, or len(b) if there is none.
func IndexSpaceOrControl(b []byte) int {
	i := 0
	for ; i <= len(b)-8; i += 8 {
		if hit := upTo(binary.LittleEndian.Uint64(b[i:i+8]), 0x21*ones); hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c <= 0x20 || c == 0x7f {
			return i
		}
	}
	return len(b)
}

// IndexByte returns the position of the first c in b, or len(b) if there is none. It is
// fast if c is within the first few words, as the end of a name is. From about 32 bytes on
// bytes.IndexByte is faster.
func IndexByte(b []byte, c byte) int {
	same := ones * uint64(c)
	i := 0
	for ; i <= len(b)-8; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:i+8]) ^ same
		if hit := (x - ones) &^ x & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(b); i++ {
		if b[i] == c {
			return i
		}
	}
	return len(b)
}

// IndexLineBreak returns the position of the first CR, LF or NUL of b, or len(b) if
// there is none. These are the bytes that must never be part of a start line or of
// a field.
func IndexLineBreak(b []byte) int {
	for i := IndexControl(b); i < len(b); {
		if c := b[i]; c == '\r' || c == '\n' || c == 0 {
			return i
		}
		i++
		i += IndexControl(b[i:])
	}
	return len(b)
}
