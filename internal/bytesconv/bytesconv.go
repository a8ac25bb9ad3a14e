// Package bytesconv views a string as bytes and bytes as a string without
// copying. It holds the unsafe code of this module, together with rawsys.
//
// The rule for views: one never outlives the statement that makes it, or the call it
// is made for, unless the one who makes it also owns the memory and knows that
// nobody writes to it as long as the view is alive. Bytes seen through Bytes
// are never written to.
package bytesconv

import "unsafe"

// String views b as a string. b must not change while the string is in use.
func String(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Bytes views s as a byte slice, which must not be written to. Its capacity
// is its length, so that appending to it copies.
func Bytes(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
