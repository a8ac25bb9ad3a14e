package ws

import (
	"encoding/binary"
	"math/bits"
)

// Mask masks p with a key, or removes the mask (RFC 6455 section 5.3). The lowest byte of
// key is for the first byte of p. Mask returns the key for the bytes that follow p.
func Mask(p []byte, key uint32) (next uint32) {
	next = bits.RotateLeft32(key, -8*(len(p)&3))
	k := uint64(key)<<32 | uint64(key)
	for len(p) >= 64 {
		// one check of bounds for eight words
		q := (*[64]byte)(p)
		xorWord(q[0:8], k)
		xorWord(q[8:16], k)
		xorWord(q[16:24], k)
		xorWord(q[24:32], k)
		xorWord(q[32:40], k)
		xorWord(q[40:48], k)
		xorWord(q[48:56], k)
		xorWord(q[56:64], k)
		p = p[64:]
	}
	for len(p) >= 8 {
		xorWord(p, k)
		p = p[8:]
	}
	if len(p) >= 4 {
		binary.LittleEndian.PutUint32(p, binary.LittleEndian.Uint32(p)^key)
		p = p[4:]
	}
	for i := range p {
		p[i] ^= byte(key >> (8 * i))
	}
	return next
}

func xorWord(p []byte, k uint64) {
	binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)^k)
}
