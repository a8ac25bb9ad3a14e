package ascii

import (
	"math"
	"math/bits"
	"slices"
)

// AppendUint appends the decimal text of n, which must not be negative.
func AppendUint(dst []byte, n int) []byte {
	if n < 0 {
		panic("ascii: AppendUint of a negative number")
	}
	u := uint64(n)
	at := len(dst)
	dst = slices.Grow(dst, maxDigits)[:at+countDigits(u)]
	i := len(dst)
	for ; u >= 100; u /= 100 {
		// two digits at once, since each division waits for the one before
		i -= 2
		pair := digitPairs[u%100*2:][:2]
		dst[i], dst[i+1] = pair[0], pair[1]
	}
	if u >= 10 {
		dst[i-2] = byte('0' + u/10)
	}
	dst[i-1] = byte('0' + u%10)
	return dst
}

// digitPairs holds the numbers from 00 to 99, one after the other.
const digitPairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// maxDigits is the number of digits of the largest number.
const maxDigits = 20

// powers holds the powers of ten.
var powers = func() (t [maxDigits]uint64) {
	t[0] = 1
	for i := 1; i < len(t); i++ {
		t[i] = 10 * t[i-1]
	}
	return t
}()

// countDigits returns the number of decimal digits of u.
func countDigits(u uint64) int {
	// 1233/4096 is a little more than the decimal logarithm of 2, so n is the
	// number of digits or one less
	n := bits.Len64(u|1) * 1233 >> 12
	if u|1 >= powers[n] {
		n++
	}
	return n
}

// ParseUint parses b as a decimal number. b must consist of digits, at least one,
// and the number must fit into an int.
func ParseUint(b []byte) (n int, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	for len(b) > safeDigits && b[0] == '0' {
		b = b[1:]
	}
	if len(b) > safeDigits {
		return 0, false
	}
	var u uint64
	for _, c := range b {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		u = u*10 + uint64(d)
	}
	if u > math.MaxInt {
		return 0, false
	}
	return int(u), true
}

// safeDigits is the number of decimal digits that always fit into 64 bits.
const safeDigits = 19

const upperHex = "0123456789ABCDEF"
const lowerHex = "0123456789abcdef"

// HexUpper returns the upper case hexadecimal digit of the low four bits of n.
func HexUpper(n byte) byte { return upperHex[n&15] }

// NoHex is the result of HexValue for a byte other than a hexadecimal digit.
const NoHex = 0xff

var hexValues = buildHex()

func buildHex() (t [256]byte) {
	for i := range t {
		t[i] = NoHex
	}
	for i := range 16 {
		t[upperHex[i]] = byte(i)
		t[lowerHex[i]] = byte(i)
	}
	return t
}

// HexValue returns the value of the hexadecimal digit c, or NoHex.
func HexValue(c byte) byte { return hexValues[c] }

// AppendHex appends n in lower case hexadecimal, without leading zeros.
func AppendHex(dst []byte, n uint64) []byte {
	var text [16]byte
	i := len(text)
	for {
		i--
		text[i] = lowerHex[n&15]
		n >>= 4
		if n == 0 {
			return append(dst, text[i:]...)
		}
	}
}
