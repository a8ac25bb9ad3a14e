package hpack

import "math"

// maxContinuation is how many bytes may follow the prefix of an integer. Five hold every
// number of 32 bits; an encoder that sends more pads with zeros.
const maxContinuation = 5

// readInt reads an integer (RFC 7541 section 5.1) whose first byte is p[0], with a prefix
// of the given number of bits. It returns the bytes after the integer.
func readInt(p []byte, prefix uint) (n uint32, rest []byte, err error) {
	most := uint32(1)<<prefix - 1
	if n = uint32(p[0]) & most; n < most {
		return n, p[1:], nil
	}
	sum := uint64(most)
	for i, c := range p[1:] {
		if i == maxContinuation {
			return 0, nil, ErrInteger
		}
		sum += uint64(c&0x7f) << (7 * i)
		if c >= 0x80 {
			continue
		}
		if sum > math.MaxUint32 {
			return 0, nil, ErrInteger
		}
		return uint32(sum), p[i+2:], nil
	}
	return 0, nil, ErrTruncated
}

// appendInt appends n with a prefix of the given number of bits; first has the bits
// before the prefix.
func appendInt(dst []byte, first byte, prefix uint, n uint32) []byte {
	most := uint32(1)<<prefix - 1
	if n < most {
		return append(dst, first|byte(n))
	}
	dst = append(dst, first|byte(most))
	for n -= most; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}
