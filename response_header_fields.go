package fasthttp

import (
	"iter"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/http1"
)

// Peek returns the value of the first field with that name, or nil. The case of the name
// does not matter.
//
// Peek also finds a field of the trailer section, if the Trailer field announces it and
// the header section has no field with that name. PeekTrailer finds any field of the
// trailer section.
func (h *ResponseHeader) Peek(key string) []byte {
	return h.peek(http1.Response, keyOf(bytesconv.Bytes(key)))
}

// PeekBytes is Peek for a byte slice.
func (h *ResponseHeader) PeekBytes(key []byte) []byte { return h.peek(http1.Response, keyOf(key)) }

// PeekCanonical returns the value of the first field whose name is exactly key.
func (h *ResponseHeader) PeekCanonical(key []byte) []byte {
	return h.peekCanonical(http1.Response, key)
}

// PeekAll returns the values of all fields with the name. The outer slice is
// valid until the next call of a method whose name begins with Peek.
func (h *ResponseHeader) PeekAll(key string) [][]byte {
	return h.peekAll(http1.Response, keyOf(bytesconv.Bytes(key)))
}

// PeekKeys returns the names of all fields. The outer slice is valid until the
// next call of a method whose name begins with Peek.
func (h *ResponseHeader) PeekKeys() [][]byte { return h.peekKeys(http1.Response) }

// Set sets the field to value, which replaces all its values.
//
// Set("Set-Cookie", …) adds a cookie to the existing ones. Date cannot be set: the server
// sets it. The value of a field that was announced with SetTrailer is sent after a chunked
// body. CR, LF and NUL become spaces. A field whose name is not a token (RFC 9110 section
// 5.6.2) is stored, but never sent; a server with LogAllErrors logs that once.
func (h *ResponseHeader) Set(key, value string) {
	h.set(http1.Response, keyOf(bytesconv.Bytes(key)), bytesconv.Bytes(value))
}

// SetBytesK is Set with the key as a byte slice.
func (h *ResponseHeader) SetBytesK(key []byte, value string) {
	h.set(http1.Response, keyOf(key), bytesconv.Bytes(value))
}

// SetBytesV is Set with the value as a byte slice.
func (h *ResponseHeader) SetBytesV(key string, value []byte) {
	h.set(http1.Response, keyOf(bytesconv.Bytes(key)), value)
}

// SetBytesKV is Set with key and value as byte slices.
func (h *ResponseHeader) SetBytesKV(key, value []byte) { h.set(http1.Response, keyOf(key), value) }

// SetCanonical is SetBytesKV that uses the name as it is, without normalizing it.
func (h *ResponseHeader) SetCanonical(key, value []byte) {
	h.setCanonical(http1.Response, key, value)
}

// Add adds a value to the field.
//
// Content-Type, Content-Encoding, Content-Length, Connection, Server and
// Transfer-Encoding have one value at most: Add replaces it. It treats names,
// values and trailers as Set does.
func (h *ResponseHeader) Add(key, value string) {
	h.add(http1.Response, keyOf(bytesconv.Bytes(key)), bytesconv.Bytes(value))
}

// AddBytesK is Add with the key as a byte slice.
func (h *ResponseHeader) AddBytesK(key []byte, value string) {
	h.add(http1.Response, keyOf(key), bytesconv.Bytes(value))
}

// AddBytesV is Add with the value as a byte slice.
func (h *ResponseHeader) AddBytesV(key string, value []byte) {
	h.add(http1.Response, keyOf(bytesconv.Bytes(key)), value)
}

// AddBytesKV is Add with key and value as byte slices.
func (h *ResponseHeader) AddBytesKV(key, value []byte) { h.add(http1.Response, keyOf(key), value) }

// Del removes all fields with that name, including fields of the trailer section.
func (h *ResponseHeader) Del(key string) { h.del(http1.Response, keyOf(bytesconv.Bytes(key))) }

// DelBytes is Del for a byte slice.
func (h *ResponseHeader) DelBytes(key []byte) { h.del(http1.Response, keyOf(key)) }

// Len returns the number of fields that All visits.
func (h *ResponseHeader) Len() int { return h.count(http1.Response) }

// All returns an iterator over the names and values of all fields. Content-Length,
// Content-Type, Content-Encoding, Server, the cookies and Trailer are first, then the
// others in their order.
//
// Names and values are valid until the next step of the loop. The loop must not change the
// header.
func (h *ResponseHeader) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		h.each(http1.Response, yield)
	}
}

// VisitAll calls f for every field, as All does. f must not keep its arguments.
//
// Deprecated: use All.
func (h *ResponseHeader) VisitAll(f func(key, value []byte)) {
	for name, value := range h.All() {
		f(name, value)
	}
}

// PeekCookie returns the whole Set-Cookie value of the first cookie with the
// name, or nil.
func (h *ResponseHeader) PeekCookie(key string) []byte {
	return h.cookie(http1.Response, key)
}

// Cookie parses the first cookie with the key of cookie into cookie. It reports whether
// there is such a cookie and it can be parsed.
func (h *ResponseHeader) Cookie(cookie *Cookie) bool {
	value := h.cookie(http1.Response, bytesconv.String(cookie.Key()))
	return value != nil && cookie.ParseBytes(value) == nil
}

// Cookies returns an iterator over the cookies: their names, and their whole Set-Cookie
// values, which Cookie.ParseBytes parses. Both are valid until the next step of the loop.
func (h *ResponseHeader) Cookies() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		h.eachCookie(http1.Response, yield)
	}
}

// VisitAllCookie calls f for every cookie, as Cookies does. f must not keep
// its arguments.
//
// Deprecated: use Cookies.
func (h *ResponseHeader) VisitAllCookie(f func(key, value []byte)) {
	for name, value := range h.Cookies() {
		f(name, value)
	}
}

// SetCookie sets a cookie, which replaces one with the same key. The caller may reuse or
// release cookie after that.
func (h *ResponseHeader) SetCookie(cookie *Cookie) {
	h.setCookie(http1.Response, cookie.Key(), cookie.Cookie())
}

// DelCookie removes the cookies with that name from the response. It does not make the
// client delete them: see DelClientCookie.
func (h *ResponseHeader) DelCookie(key string) {
	h.delCookie(http1.Response, key)
}

// DelCookieBytes is DelCookie for a byte slice.
func (h *ResponseHeader) DelCookieBytes(key []byte) {
	h.delCookie(http1.Response, bytesconv.String(key))
}

// DelAllCookies removes all cookies from the response.
func (h *ResponseHeader) DelAllCookies() { h.delAllCookies(http1.Response) }

// DelClientCookie makes the client delete a cookie that has neither a domain nor a path:
// it sets the cookie with an expiration time in the past. For other cookies, set a Cookie
// with the same domain and path whose Expire is CookieExpireDelete.
func (h *ResponseHeader) DelClientCookie(key string) {
	h.delCookie(http1.Response, key)
	c := AcquireCookie()
	c.SetKey(key)
	c.SetExpire(CookieExpireDelete)
	h.SetCookie(c)
	ReleaseCookie(c)
}

// DelClientCookieBytes is DelClientCookie for a byte slice.
func (h *ResponseHeader) DelClientCookieBytes(key []byte) {
	h.DelClientCookie(bytesconv.String(key))
}
