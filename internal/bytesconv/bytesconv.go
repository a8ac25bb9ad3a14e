// Package bytesconv views a string as bytes and bytes as a string without
// copying, and tells values from copies of them. It holds the unsafe code of this
// module, together with rawsys.
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

// Address returns where p points to, as a number: a value that keeps its own
// address knows that it was copied when it finds itself at another one. It does not
// keep p alive, nor make what p points to escape to the heap, and so the address of
// a variable on a stack can change.
func Address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
