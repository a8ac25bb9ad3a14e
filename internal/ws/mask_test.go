package ws

import (
	"bytes"
	"testing"
)

// naiveMask masks p as in RFC 6455 section 5.3, and returns the key for the bytes that
// follow.
func naiveMask(p []byte, k [4]byte) (next [4]byte) {
	for i := range p {
		p[i] ^= k[i%4]
	}
	for i := range next {
		next[i] = k[(len(p)+i)%4]
	}
	return next
}

func keyOf(k [4]byte) uint32 {
	return uint32(k[0]) | uint32(k[1])<<8 | uint32(k[2])<<16 | uint32(k[3])<<24
}

func TestMasks(t *testing.T) {
	k := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	for size := range 300 {
		for offset := range 8 {
			b := make([]byte, offset+size+8)
			for i := range b {
				b[i] = byte(i * 7)
			}
			want := bytes.Clone(b)
			wantNext := naiveMask(want[offset:offset+size], k)
			next := Mask(b[offset:offset+size], keyOf(k))
			if next != keyOf(wantNext) || !bytes.Equal(b, want) {
				t.Fatalf("%d bytes at %d: %x, then %x, want %x, then %x", size, offset, b, next, want, wantNext)
			}
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add([]byte("Hello"), uint32(0x3d21fa37), uint8(2))
	f.Add(bytes.Repeat([]byte("0123456"), 30), uint32(key), uint8(65))
	f.Fuzz(func(t *testing.T, p []byte, k uint32, cut uint8) {
		want := bytes.Clone(p)
		naiveMask(want, [4]byte{byte(k), byte(k >> 8), byte(k >> 16), byte(k >> 24)})
		got := bytes.Clone(p)
		at := min(int(cut), len(p))
		Mask(got[at:], Mask(got[:at], k))
		if !bytes.Equal(got, want) {
			t.Errorf("%x cut at %d: %x, want %x", p, at, got, want)
		}
	})
}
