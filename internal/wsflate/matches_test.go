package wsflate

import "testing"

// bitReader reads the bits of a DEFLATE stream (RFC 1951).
type bitReader struct {
	b   []byte
	pos int // in bits
}

func (r *bitReader) bits(n int) (v int) {
	for i := range n {
		v |= int(r.b[r.pos>>3]>>(r.pos&7)&1) << i
		r.pos++
	}
	return v
}

// huffman is a canonical code, by the number of codes of each length, and its symbols.
type huffman struct {
	counts  [16]int
	symbols []int
}

func newHuffman(lengths []int) (h huffman) {
	var at [17]int
	for _, l := range lengths {
		h.counts[l]++
	}
	h.counts[0] = 0
	for l := 1; l < 16; l++ {
		at[l+1] = at[l] + h.counts[l]
	}
	h.symbols = make([]int, len(lengths))
	for s, l := range lengths {
		if l > 0 {
			h.symbols[at[l]] = s
			at[l]++
		}
	}
	return h
}

func (h *huffman) next(r *bitReader) int {
	code, first, index := 0, 0, 0
	for l := 1; l < 16; l++ {
		code |= r.bits(1)
		if code-h.counts[l] < first {
			return h.symbols[index+code-first]
		}
		index += h.counts[l]
		first = (first + h.counts[l]) << 1
		code <<= 1
	}
	panic("a code that is none")
}

// measure returns the largest distance of a match in a DEFLATE stream, and the number of
// matches.
func measure(t *testing.T, stream []byte) (furthest, matches int) {
	t.Helper()
	r := &bitReader{b: stream}
	for final := false; !final; {
		final = r.bits(1) == 1
		var literals, distances huffman
		switch r.bits(2) {
		case 0:
			r.pos = (r.pos + 7) &^ 7
			n := r.bits(16)
			r.pos += 16 + 8*n
			continue
		case 1:
			literals, distances = fixedCodes()
		case 2:
			literals, distances = dynamicCodes(r)
		default:
			t.Fatal("a block of the reserved type")
		}
		for s := literals.next(r); s != 256; s = literals.next(r) {
			if s < 256 {
				continue
			}
			if s -= 257; s >= 8 && s < 28 {
				r.bits(s/4 - 1)
			}
			d := distances.next(r)
			distance := d + 1
			if d >= 4 {
				extra := d/2 - 1
				distance = (2+d&1)<<extra + 1 + r.bits(extra)
			}
			furthest = max(furthest, distance)
			matches++
		}
	}
	return furthest, matches
}

func fixedCodes() (literals, distances huffman) {
	var l [288]int
	for i := range l {
		switch {
		case i < 144 || i >= 280:
			l[i] = 8
		case i < 256:
			l[i] = 9
		default:
			l[i] = 7
		}
	}
	var d [30]int
	for i := range d {
		d[i] = 5
	}
	return newHuffman(l[:]), newHuffman(d[:])
}

func dynamicCodes(r *bitReader) (literals, distances huffman) {
	nl, nd, nc := r.bits(5)+257, r.bits(5)+1, r.bits(4)+4
	var codes [19]int
	for i := range nc {
		codes[[19]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}[i]] = r.bits(3)
	}
	h := newHuffman(codes[:])
	var lengths []int
	for len(lengths) < nl+nd {
		s, value, times := h.next(r), 0, 1
		switch {
		case s < 16:
			value = s
		case s == 16:
			value, times = lengths[len(lengths)-1], 3+r.bits(2)
		case s == 17:
			times = 3 + r.bits(3)
		default:
			times = 11 + r.bits(7)
		}
		for range times {
			lengths = append(lengths, value)
		}
	}
	return newHuffman(lengths[:nl]), newHuffman(lengths[nl:])
}
