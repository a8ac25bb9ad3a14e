//go:build (!amd64 && !arm64) || race || fasthttp_poison

package bytesconv

import "encoding/binary"

// Word returns the eight bytes of b from i on as a little-endian number. It panics if b
// has fewer.
func Word(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i : i+8 : len(b)]) }

// Half is like Word, for the four bytes of b from i on.
func Half(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[i : i+4 : len(b)]) }
