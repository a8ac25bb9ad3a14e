//go:build (amd64 || arm64) && !race && !fasthttp_poison

package bytesconv

import "unsafe"

// Word returns the eight bytes of b from i on as a little-endian number. It does not
// check its arguments. The rule: the caller has seen that i is not negative, and that
// i+8 is at most len(b). Builds with the race detector or with the tag fasthttp_poison
// check that, and so do builds for other processors.
func Word(b []byte, i int) uint64 {
	return *(*uint64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i))
}

// Half is like Word, for the four bytes of b from i on.
func Half(b []byte, i int) uint32 {
	return *(*uint32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i))
}
