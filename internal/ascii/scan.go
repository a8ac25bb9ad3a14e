package ascii

import "encoding/binary"

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// below20 has the high bit set in every byte of w that is under 0x20. Bits
// above the first one found may be wrong (a borrow), the first never is.
func below20(w uint64) uint64 { return (w - 0x20*ones) &^ w & highs }

func equals(w uint64, c byte) uint64 {
	x := w ^ ones*uint64(c)
	return (x - ones) &^ x & highs
}

// IndexControl returns the position of the first byte of b that is a control
// character (under 0x20, or 0x7f), and len(b) where there is none. A tab counts.
func IndexControl(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		if below20(w)|equals(w, 0x7f) != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == 0x7f {
			return i
		}
	}
	return len(b)
}

// IndexSpaceOrControl returns the position of the first byte of b that is a
// space or a control character, and len(b) where there is none.
func IndexSpaceOrControl(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		if (w-0x21*ones)&^w&highs|equals(w, 0x7f) != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c <= 0x20 || c == 0x7f {
			return i
		}
	}
	return len(b)
}

// IndexLineBreak returns the position of the first CR, LF or NUL of b, and
// len(b) where there is none: the bytes that must never reach a start line or
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
