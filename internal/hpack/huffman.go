package hpack

import (
	"encoding/binary"
	"slices"
)

// stepBits is how many bits the decoder examines in one step. With 12, two letters or
// digits mostly fit.
const stepBits = 12

// A step is the meaning of the next stepBits bits: its lowest two bytes are one or two
// bytes of text, the third is how many bits their codes have, and the fourth how many bytes
// they are. It is 0 if a longer code begins.
type step uint32

func (s step) bits() uint { return uint(s>>16) & 63 }
func (s step) size() int  { return int(s >> 24) }

// steps has the steps for all values of the next bits.
var steps = buildSteps()

func buildSteps() (table [1 << stepBits]step) {
	var one [1 << stepBits]step // of one byte each
	for text, c := range codes {
		if c.size > stepBits {
			continue
		}
		free := stepBits - c.size
		for i := range uint32(1) << free {
			one[c.bits<<free|i] = step(1<<24 | uint32(c.size)<<16 | uint32(text))
		}
	}
	for next, s := range one {
		table[next] = s
		if s == 0 {
			continue
		}
		second := one[next<<s.bits()&(1<<stepBits-1)]
		if second != 0 && s.bits()+second.bits() <= stepBits {
			table[next] = step(2<<24 | uint32(s.bits()+second.bits())<<16 | uint32(byte(second))<<8 | uint32(byte(s)))
		}
	}
	return table
}

// codeRange is all codes of one size that are longer than stepBits. The code is canonical:
// they are consecutive numbers, and larger than all shorter codes.
type codeRange struct {
	size  uint
	end   uint32 // the first number after them, as the top of 32 bits
	first uint32 // code
	text  []byte // of the codes, in their order
}

var longCodes = buildLongCodes()

func buildLongCodes() (ranges []codeRange) {
	var order []int
	for text, c := range codes {
		if c.size > stepBits {
			order = append(order, text)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := codes[a], codes[b]
		return int(x.bits<<(32-x.size)>>1) - int(y.bits<<(32-y.size)>>1)
	})
	for _, text := range order {
		c := codes[text]
		if len(ranges) == 0 || ranges[len(ranges)-1].size != uint(c.size) {
			ranges = append(ranges, codeRange{size: uint(c.size), first: c.bits})
		}
		r := &ranges[len(ranges)-1]
		r.text = append(r.text, byte(text))
		r.end = (c.bits + 1) << (32 - c.size)
	}
	return ranges
}

// noCode is more than any number of bits that the decoder has.
const noCode = 65

// longCode returns the byte whose code, which has more than stepBits bits, is at the top of
// acc, and the size of the code. The size is noCode for the code of the end of the string.
func longCode(acc uint64) (text byte, size uint) {
	top := uint32(acc >> 32)
	for i := range longCodes {
		if r := &longCodes[i]; top < r.end {
			return r.text[top>>(32-r.size)-r.first], r.size
		}
	}
	return 0, noCode
}

// huffmanRoom returns the capacity that decodeHuffman needs for the text of n bytes of
// code: the shortest codes have five bits, and a step may write a byte too many.
func huffmanRoom(n int) int { return n*8/5 + 3 }

// decodeHuffman appends the text of src to dst, which has the capacity for it. It reports
// whether src is well-formed: it must end in fewer than eight bits of the code of the end
// of the string (RFC 7541 section 5.2).
func decodeHuffman(dst, src []byte) (_ []byte, ok bool) {
	out, at := dst[:cap(dst)], len(dst)
	var acc uint64 // the next bits, at its top
	var have uint  // their number; the bits below them are zeros, or following bits
	for len(src) >= 8 {
		acc |= binary.BigEndian.Uint64(src) >> have
		src = src[(63-have)/8:]
		have |= 56
		// Four steps take at most 48 bits. At the beginning of a long code they do nothing.
		var s step
		for range 4 {
			s = steps[acc>>(64-stepBits)]
			binary.LittleEndian.PutUint16(out[at:], uint16(s))
			at += s.size()
			acc <<= s.bits()
			have -= s.bits()
		}
		if s == 0 && have >= endOfStringSize {
			text, size := longCode(acc)
			if size > have {
				return nil, false
			}
			out[at] = text
			at++
			acc <<= size
			have -= size
		}
	}
	return decodeHuffmanEnd(out, at, acc, have, src)
}

// decodeHuffmanEnd is decodeHuffman for the last bits: the bits in acc, and fewer than
// eight bytes.
func decodeHuffmanEnd(out []byte, at int, acc uint64, have uint, src []byte) ([]byte, bool) {
	for {
		for have <= 56 && len(src) > 0 {
			acc |= uint64(src[0]) << (56 - have)
			have += 8
			src = src[1:]
		}
		s := steps[acc>>(64-stepBits)]
		if s != 0 && s.bits() <= have {
			binary.LittleEndian.PutUint16(out[at:], uint16(s))
			at += s.size()
			acc <<= s.bits()
			have -= s.bits()
			continue
		}
		if have < 8 && acc>>(64-have) == 1<<have-1 {
			return out[:at], true
		}
		// of two bytes, the first may be complete
		text, size := byte(s), uint(codes[byte(s)].size)
		if s == 0 {
			text, size = longCode(acc)
		}
		if size > have {
			return nil, false
		}
		out[at] = text
		at++
		acc <<= size
		have -= size
	}
}

// appendHuffman appends the code of text, by the given table. n is its huffmanSize.
func appendHuffman(dst, text []byte, n int, table *[256]code) []byte {
	dst = slices.Grow(dst, n+3) // the last bytes are written four at once
	end := len(dst) + n
	out := dst[len(dst):cap(dst)]
	var acc uint64 // its lowest have bits are not yet written
	var have uint
	for _, c := range text {
		code := &table[c]
		acc = acc<<(code.size&63) | uint64(code.bits)
		if have += uint(code.size); have >= 32 {
			have -= 32
			binary.BigEndian.PutUint32(out, uint32(acc>>(have&63)))
			out = out[4:]
		}
	}
	if have > 0 {
		// padding: the beginning of the code of the end of the string
		free := 32 - have
		binary.BigEndian.PutUint32(out, uint32(acc)<<free|(1<<free-1))
	}
	return dst[:end]
}

// huffmanSize returns the size of the code of text in bytes.
func huffmanSize(text []byte, table *[256]code) int {
	n := uint(0)
	for ; len(text) >= 4; text = text[4:] {
		n += uint(table[text[0]].size) + uint(table[text[1]].size) + uint(table[text[2]].size) + uint(table[text[3]].size)
	}
	for _, c := range text {
		n += uint(table[c].size)
	}
	return int((n + 7) / 8)
}
