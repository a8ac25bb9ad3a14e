package websocket

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"testing"
)

// unpacker decompresses the messages of one side, and checks the window that the two sides have
// agreed on. Package compress/flate does not tell how far back a reference goes.
type unpacker struct {
	window    int  // in bytes
	noContext bool // each message begins with an empty window
	history   []byte
	packed    int // messages that were compressed
}

// message decompresses the payload of a message (RFC 7692 section 7.2.2).
func (u *unpacker) message(p []byte) ([]byte, error) {
	if u.noContext {
		u.history = nil
	}
	u.packed++
	d := inflater{in: append(p[:len(p):len(p)], 0, 0, 0xff, 0xff), out: u.history, window: u.window}
	if err := d.run(); err != nil {
		return nil, err
	}
	out := d.out[len(u.history):]
	u.history = bytes.Clone(d.out[max(0, len(d.out)-1<<15):])
	return out, nil
}

// inflater decompresses DEFLATE data (RFC 1951).
type inflater struct {
	in     []byte
	bits   uint
	have   int
	out    []byte
	window int
}

var errDeflate = errors.New("malformed DEFLATE data")

func (d *inflater) take(n int) int {
	for d.have < n {
		if len(d.in) == 0 {
			panic(errDeflate)
		}
		d.bits |= uint(d.in[0]) << d.have
		d.in = d.in[1:]
		d.have += 8
	}
	v := d.bits & (1<<n - 1)
	d.bits >>= n
	d.have -= n
	return int(v)
}

// run decompresses all blocks. A message ends where its bytes end, whether or not its last
// block is marked as such.
func (d *inflater) run() (err error) {
	defer func() {
		if e, ok := recover().(error); ok {
			err = e
		}
	}()
	for len(d.in) > 0 {
		final := d.take(1)
		switch d.take(2) {
		case 0:
			d.stored()
		case 1:
			d.codes(fixedLengths, fixedDistances)
		case 2:
			d.codes(d.dynamic())
		default:
			return errDeflate
		}
		if final == 1 {
			d.have, d.bits = 0, 0
		}
	}
	return nil
}

func (d *inflater) stored() {
	d.bits, d.have = 0, 0
	if len(d.in) < 4 {
		panic(errDeflate)
	}
	n := int(d.in[0]) | int(d.in[1])<<8
	if n^0xffff != int(d.in[2])|int(d.in[3])<<8 || len(d.in) < 4+n {
		panic(errDeflate)
	}
	d.out = append(d.out, d.in[4:4+n]...)
	d.in = d.in[4+n:]
}

// huffman is a canonical code: the numbers of codes of each length, and the symbols in order.
type huffman struct {
	counts  [16]int
	symbols []int
}

func newHuffman(lengths []int) (h huffman) {
	for n := 1; n < 16; n++ {
		for symbol, length := range lengths {
			if length == n {
				h.counts[n]++
				h.symbols = append(h.symbols, symbol)
			}
		}
	}
	return h
}

func (d *inflater) symbol(h huffman) int {
	code, first, index := 0, 0, 0
	for n := 1; n < 16; n++ {
		code |= d.take(1)
		if code-first < h.counts[n] {
			return h.symbols[index+code-first]
		}
		index += h.counts[n]
		first = (first + h.counts[n]) << 1
		code <<= 1
	}
	panic(errDeflate)
}

var fixedLengths, fixedDistances = func() (huffman, huffman) {
	var lengths [288]int
	for i := range lengths {
		switch {
		case i < 144:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		default:
			lengths[i] = 8
		}
	}
	return newHuffman(lengths[:]), newHuffman(bytesOf(30, 5))
}()

func bytesOf(n, value int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = value
	}
	return s
}

var lengthOrder = [...]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

func (d *inflater) dynamic() (lengths, distances huffman) {
	numLengths, numDistances, numCodes := d.take(5)+257, d.take(5)+1, d.take(4)+4
	sizes := make([]int, 19)
	for _, i := range lengthOrder[:numCodes] {
		sizes[i] = d.take(3)
	}
	code := newHuffman(sizes)
	var all []int
	for len(all) < numLengths+numDistances {
		switch s := d.symbol(code); {
		case s < 16:
			all = append(all, s)
		case s == 16 && len(all) == 0:
			panic(errDeflate)
		case s == 16:
			all = append(all, bytesOf(3+d.take(2), all[len(all)-1])...)
		case s == 17:
			all = append(all, bytesOf(3+d.take(3), 0)...)
		default:
			all = append(all, bytesOf(11+d.take(7), 0)...)
		}
	}
	return newHuffman(all[:numLengths]), newHuffman(all[numLengths : numLengths+numDistances])
}

// codes decompresses a block with these codes.
func (d *inflater) codes(lengths, distances huffman) {
	for {
		s := d.symbol(lengths)
		if s == 256 {
			return
		}
		if s < 256 {
			d.out = append(d.out, byte(s))
			continue
		}
		length := 258
		if s < 265 {
			length = s - 254
		} else if s < 285 {
			extra := (s - 261) / 4
			length = 3 + (4+(s-265)%4)<<extra + d.take(extra)
		}
		distance := d.symbol(distances) + 1
		if distance > 4 {
			extra := (distance - 3) / 2
			distance = 1 + (2+(distance-1)%2)<<extra + d.take(extra)
		}
		if distance > len(d.out) || distance > d.window {
			panic(fmt.Errorf("a reference to %d bytes ago, with %d bytes and a window of %d", distance, len(d.out), d.window))
		}
		for range length {
			d.out = append(d.out, d.out[len(d.out)-distance])
		}
	}
}

// packer compresses messages.
type packer struct {
	w *flate.Writer
	b bytes.Buffer
}

func newPacker() *packer {
	p := new(packer)
	p.w, _ = flate.NewWriter(&p.b, 9)
	return p
}

func (p *packer) pack(message string) string {
	p.b.Reset()
	_, _ = p.w.Write([]byte(message))
	_ = p.w.Flush()
	return string(bytes.TrimSuffix(p.b.Bytes(), []byte{0, 0, 0xff, 0xff}))
}

// packed is a message that was compressed with an empty window.
func packed(message string) string { return newPacker().pack(message) }

func TestUnpacker(t *testing.T) {
	messages := []string{"Hello", "Hello", "", distant(), string(payload(70_000)), "\x00\xff"}
	p, u := newPacker(), unpacker{window: 1 << 15}
	for _, want := range messages {
		if got, err := u.message([]byte(p.pack(want))); string(got) != want || err != nil {
			t.Errorf("got %d bytes for %d, %v", len(got), len(want), err)
		}
	}
	if _, err := (&unpacker{window: 1 << 10}).message([]byte(packed(distant()))); err == nil {
		t.Error("a reference beyond the window is accepted")
	}
	p = newPacker()
	p.pack("Hello")
	if _, err := (&unpacker{window: 1 << 15}).message([]byte(p.pack("Hello"))); err == nil {
		t.Error("a reference to a message before is accepted without its window")
	}
}

// distant is a text that repeats what it had 20,000 bytes before, so that a window of 32 KiB
// makes it far smaller.
func distant() string {
	b := make([]byte, 20_000)
	state := uint32(1)
	for i := range b {
		state = state*1664525 + 1013904223
		b[i] = 'A' + byte(state>>24)%58
	}
	return string(b) + string(b)
}
