// Package bytesconv converts between strings and byte slices without copying, reads words of
// bytes, and distinguishes a value from its copies. All unsafe code of this module is here
// and in rawsys.
//
// The rule for views: a view is used only in the statement or call for which it is
// made. It may live longer only if its maker owns the memory and knows that it is not
// written to meanwhile. The result of Bytes is never written to.
package bytesconv

import "unsafe"

// String views b as a string. b must not change while the string is in use.
func String(b []byte) string {
	return *(*string)(unsafe.Pointer(&b))
}

// Bytes views s as a byte slice, which must not be written to. Its capacity
// is its length, so that appending to it copies.
func Bytes(s string) []byte {
	// unsafe.Slice would check where the text ends
	return *(*[]byte)(unsafe.Pointer(&struct {
		string
		cap int
	}{s, len(s)}))
}

// Address returns the address in p as a number. A value that stores its own address can
// detect that it was copied: a copy has another address. Address does not keep p alive, and
// does not move the variable to the heap. So the address of a variable on a stack can
// change.
func Address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
