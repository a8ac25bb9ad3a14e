package fasthttp

import (
	"iter"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/http1"
)

// Peek returns the value of the first field with that name, or nil. The case of the
// name does not matter.
//
// Peek also finds a field of the trailer section, if the Trailer field announces it and
// the header section has no field with that name. PeekTrailer finds any field of the
// trailer section.
func (h *RequestHeader) Peek(key string) []byte {
	return h.peek(http1.Request, keyOf(bytesconv.Bytes(key)))
}

// PeekBytes is Peek for a byte slice.
func (h *RequestHeader) PeekBytes(key []byte) []byte { return h.peek(http1.Request, keyOf(key)) }

// PeekCanonical returns the value of the first field whose name is exactly key.
func (h *RequestHeader) PeekCanonical(key []byte) []byte {
	return h.peekCanonical(http1.Request, key)
}

// PeekAll returns the values of all fields with the name. The outer slice is
// valid until the next call of a method whose name begins with Peek.
func (h *RequestHeader) PeekAll(key string) [][]byte {
	return h.peekAll(http1.Request, keyOf(bytesconv.Bytes(key)))
}

// PeekKeys returns the names of all fields. The outer slice is valid until the
// next call of a method whose name begins with Peek.
func (h *RequestHeader) PeekKeys() [][]byte { return h.peekKeys(http1.Request) }

// Set sets the field to value, which replaces all its values.
//
// Set("Cookie", …) adds cookies to the existing ones. The value of a field that was
// announced with SetTrailer is sent after a chunked body. CR, LF and NUL become spaces.
// A field whose name is not a token (RFC 9110 section 5.6.2) is stored, but never sent.
func (h *RequestHeader) Set(key, value string) {
	h.set(http1.Request, keyOf(bytesconv.Bytes(key)), bytesconv.Bytes(value))
}

// SetBytesK is Set with the key as a byte slice.
func (h *RequestHeader) SetBytesK(key []byte, value string) {
	h.set(http1.Request, keyOf(key), bytesconv.Bytes(value))
}

// SetBytesV is Set with the value as a byte slice.
func (h *RequestHeader) SetBytesV(key string, value []byte) {
	h.set(http1.Request, keyOf(bytesconv.Bytes(key)), value)
}

// SetBytesKV is Set with key and value as byte slices.
func (h *RequestHeader) SetBytesKV(key, value []byte) { h.set(http1.Request, keyOf(key), value) }

// SetCanonical is SetBytesKV that uses the name as it is, without normalizing it.
func (h *RequestHeader) SetCanonical(key, value []byte) {
	h.setCanonical(http1.Request, key, value)
}

// Add adds a value to the field.
//
// Host, Content-Type, User-Agent, Content-Length, Connection and
// Transfer-Encoding have one value at most: Add replaces it. It treats names,
// values and trailers as Set does.
func (h *RequestHeader) Add(key, value string) {
	h.add(http1.Request, keyOf(bytesconv.Bytes(key)), bytesconv.Bytes(value))
}

// AddBytesK is Add with the key as a byte slice.
func (h *RequestHeader) AddBytesK(key []byte, value string) {
	h.add(http1.Request, keyOf(key), bytesconv.Bytes(value))
}

// AddBytesV is Add with the value as a byte slice.
func (h *RequestHeader) AddBytesV(key string, value []byte) {
	h.add(http1.Request, keyOf(bytesconv.Bytes(key)), value)
}

// AddBytesKV is Add with key and value as byte slices.
func (h *RequestHeader) AddBytesKV(key, value []byte) { h.add(http1.Request, keyOf(key), value) }

// Del removes all fields with that name, including fields of the trailer section.
func (h *RequestHeader) Del(key string) { h.del(http1.Request, keyOf(bytesconv.Bytes(key))) }

// DelBytes is Del for a byte slice.
func (h *RequestHeader) DelBytes(key []byte) { h.del(http1.Request, keyOf(key)) }

// Len returns the number of fields that All visits.
func (h *RequestHeader) Len() int { return h.count(http1.Request) }

// All returns an iterator over the names and values of all fields. Host, Content-Length,
// Content-Type, User-Agent, Trailer and Cookie are first, then the others in their order.
// AllInOrder returns the fields in the order of the wire.
//
// Names and values are valid until the next step of the loop. The loop must not change
// the header.
func (h *RequestHeader) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		h.each(http1.Request, yield)
	}
}

// VisitAll calls f for every field, as All does. f must not keep its arguments.
//
// Deprecated: use All.
func (h *RequestHeader) VisitAll(f func(key, value []byte)) {
	for name, value := range h.All() {
		f(name, value)
	}
}

// AllInOrder returns an iterator over the fields of a request that was read, in the
// order and with the values in which they were received. Names and values are valid
// until the next step of the loop.
func (h *RequestHeader) AllInOrder() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		h.eachInOrder(yield)
	}
}

// VisitAllInOrder calls f for every field, as AllInOrder does. f must not keep
// its arguments.
//
// Deprecated: use AllInOrder.
func (h *RequestHeader) VisitAllInOrder(f func(key, value []byte)) {
	for name, value := range h.AllInOrder() {
		f(name, value)
	}
}

// Cookie returns the value of the first cookie with the name, or nil.
func (h *RequestHeader) Cookie(key string) []byte {
	return h.cookie(http1.Request, key)
}

// CookieBytes is Cookie for a byte slice.
func (h *RequestHeader) CookieBytes(key []byte) []byte {
	return h.cookie(http1.Request, bytesconv.String(key))
}

// Cookies returns an iterator over the names and values of all cookies. Names and
// values are valid until the next step of the loop.
func (h *RequestHeader) Cookies() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		h.eachCookie(http1.Request, yield)
	}
}

// VisitAllCookie calls f for every cookie. f must not keep its arguments.
//
// Deprecated: use Cookies.
func (h *RequestHeader) VisitAllCookie(f func(key, value []byte)) {
	for name, value := range h.Cookies() {
		f(name, value)
	}
}

// SetCookie sets the value of a cookie.
func (h *RequestHeader) SetCookie(key, value string) {
	h.setCookie(http1.Request, bytesconv.Bytes(key), bytesconv.Bytes(value))
}

// SetCookieBytesK is SetCookie with the key as a byte slice.
func (h *RequestHeader) SetCookieBytesK(key []byte, value string) {
	h.setCookie(http1.Request, key, bytesconv.Bytes(value))
}

// SetCookieBytesKV is SetCookie with key and value as byte slices.
func (h *RequestHeader) SetCookieBytesKV(key, value []byte) {
	h.setCookie(http1.Request, key, value)
}

// DelCookie removes the cookies with the name.
func (h *RequestHeader) DelCookie(key string) {
	h.delCookie(http1.Request, key)
}

// DelCookieBytes is DelCookie for a byte slice.
func (h *RequestHeader) DelCookieBytes(key []byte) { h.delCookie(http1.Request, bytesconv.String(key)) }

// DelAllCookies removes all cookies.
func (h *RequestHeader) DelAllCookies() { h.delAllCookies(http1.Request) }
