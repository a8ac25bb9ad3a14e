package fasthttp

import (
	"bufio"
	"io"
	"iter"
	"time"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
)

// ResponseHeader is the head of a response: the status line and the fields.
//
// The zero value is "HTTP/1.1 200 OK" without fields. Slices that its methods return
// belong to the header: they are valid until the field is changed or the response is
// released.
//
// A ResponseHeader must not be copied (use CopyTo) nor used by more than one goroutine
// at once.
type ResponseHeader struct {
	commonHeader
}

// StatusCode returns the status code, 200 by default.
func (h *ResponseHeader) StatusCode() int { return h.head.StatusCode() }

// SetStatusCode sets the status code. A server sends 500, and logs that, instead of a code that
// does not have three digits.
func (h *ResponseHeader) SetStatusCode(statusCode int) { h.head.SetStatus(statusCode) }

// StatusMessage returns the reason phrase of the status line if it was set or received,
// and otherwise nil: then the result of the function StatusMessage is written.
func (h *ResponseHeader) StatusMessage() []byte { return h.head.Reason() }

// SetStatusMessage sets the reason phrase of the status line.
func (h *ResponseHeader) SetStatusMessage(statusMessage []byte) {
	h.head.StoreLine(header.LineReason, statusMessage)
}

// Protocol returns the protocol, HTTP/1.1 by default.
func (h *ResponseHeader) Protocol() []byte { return h.head.LentVersion() }

// SetProtocol sets the protocol of the status line.
func (h *ResponseHeader) SetProtocol(protocol []byte) { h.head.SetVersion(protocol) }

// Server returns the value of the Server field. In a response of a Server the default is
// the Name of the Server.
func (h *ResponseHeader) Server() []byte { return h.head.Server() }

// SetServer sets the Server field.
func (h *ResponseHeader) SetServer(server string) { h.SetServerBytes(bytesconv.Bytes(server)) }

// SetServerBytes sets the Server field.
func (h *ResponseHeader) SetServerBytes(server []byte) { h.head.SetServer(server) }

// ContentType returns the value of the Content-Type field. If none was set, it is
// "text/plain; charset=utf-8", or nil after SetNoDefaultContentType(true).
func (h *ResponseHeader) ContentType() []byte { return h.head.PeekType() }

// ContentEncoding returns the value of the Content-Encoding field.
func (h *ResponseHeader) ContentEncoding() []byte {
	return h.head.Text(h.head.Slots[header.SlotContentEncoding])
}

// SetContentEncoding sets the Content-Encoding field.
func (h *ResponseHeader) SetContentEncoding(contentEncoding string) {
	h.SetContentEncodingBytes(bytesconv.Bytes(contentEncoding))
}

// SetContentEncodingBytes sets the Content-Encoding field.
func (h *ResponseHeader) SetContentEncodingBytes(contentEncoding []byte) {
	h.head.StoreSlot(header.SlotContentEncoding, contentEncoding)
}

// ContentLength returns the length of the content in bytes. It is -1 if the body is
// chunked, and -2 if the end of the connection ends the body.
func (h *ResponseHeader) ContentLength() int { return h.head.Length }

// SetContentLength sets the Content-Length field. -1 means "Transfer-Encoding: chunked",
// and -2 a body that the end of the connection ends. SetContentLength does nothing for a
// status that has no content.
func (h *ResponseHeader) SetContentLength(contentLength int) { h.head.SetResponseLength(contentLength) }

// SetContentRange sets "Content-Range: bytes startPos-endPos/contentLength".
func (h *ResponseHeader) SetContentRange(startPos, endPos, contentLength int) {
	h.head.SetContentRange(startPos, endPos, contentLength)
}

// SetLastModified sets the Last-Modified field.
func (h *ResponseHeader) SetLastModified(t time.Time) {
	var text [32]byte
	h.setID(field.LastModified, AppendHTTPDate(text[:0], t))
}

func (h *ResponseHeader) setID(id field.ID, value []byte) {
	h.head.Set(http1.Response, header.KeyOfID(id), value)
}

// Reset empties the header, and undoes the settings of DisableNormalizing and similar
// methods.
func (h *ResponseHeader) Reset() {
	h.head.Reset(header.NoDefaultDate)
	h.head.Status = 0
}

// CopyTo makes dst a copy of the header.
func (h *ResponseHeader) CopyTo(dst *ResponseHeader) { h.head.CopyTo(&dst.head) }

// Read reads a head from r, up to and including its empty line.
//
// The head must be shorter than 64 KiB, and it must not have more than 500 fields:
// otherwise Read returns an ErrSmallBuffer. If the buffer of r is larger than that, only
// its size limits the head. Read returns io.EOF if r ends before the first byte, and an
// error that wraps io.ErrUnexpectedEOF if r ends later. After an error the header is
// empty.
func (h *ResponseHeader) Read(r *bufio.Reader) error {
	h.head.Status = 0
	var head http1.Head
	if err := h.read(http1.Response, &head, r); err != nil {
		return err
	}
	if head.Status < http1.FirstStatus {
		// no class of responses begins with 0
		h.head.Reset(header.Configured)
		return headerError("response", http1.ErrStatusLine)
	}
	h.head.Status = int32(head.Status)
	return nil
}

// AppendBytes appends the head, as Write writes it, to dst and returns the extended
// slice. Date is the current time.
func (h *ResponseHeader) AppendBytes(dst []byte) []byte {
	return h.head.AppendAlone(dst, h.head.ResponseAsSet())
}

// Header returns the head as Write writes it, without the fields that are announced as
// trailers. The result is valid until the header is changed or released.
func (h *ResponseHeader) Header() []byte {
	h.head.Scratch[header.ScratchHead] = h.AppendBytes(h.head.Scratch[header.ScratchHead][:0])
	return h.head.Scratch[header.ScratchHead]
}

// String returns the head as Write writes it.
func (h *ResponseHeader) String() string { return string(h.Header()) }

// Write writes the head to w, without flushing w. It returns the error of w.
func (h *ResponseHeader) Write(w *bufio.Writer) error {
	return h.head.WriteResponse(w, h.head.ResponseAsSet())
}

// WriteTo writes the head to w, with one call of Write, whose error it returns. It
// implements io.WriterTo.
func (h *ResponseHeader) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(h.Header())
	return int64(n), err
}

// Peek returns the value of the first field with that name, or nil. The case of the name
// does not matter.
//
// Peek also finds a field of the trailer section, if the Trailer field announces it and
// the header section has no field with that name. PeekTrailer finds any field of the
// trailer section.
func (h *ResponseHeader) Peek(key string) []byte {
	return h.head.Peek(http1.Response, header.KeyOf(bytesconv.Bytes(key)))
}

// PeekBytes is Peek for a byte slice.
func (h *ResponseHeader) PeekBytes(key []byte) []byte {
	return h.head.Peek(http1.Response, header.KeyOf(key))
}

// PeekCanonical returns the value of the first field whose name is exactly key.
func (h *ResponseHeader) PeekCanonical(key []byte) []byte {
	return h.head.PeekCanonical(http1.Response, key)
}

// PeekAll returns the values of all fields with the name. The outer slice is
// valid until the next call of a method whose name begins with Peek.
func (h *ResponseHeader) PeekAll(key string) [][]byte {
	return h.head.PeekAll(http1.Response, header.KeyOf(bytesconv.Bytes(key)))
}

// PeekKeys returns the names of all fields. The outer slice is valid until the
// next call of a method whose name begins with Peek.
func (h *ResponseHeader) PeekKeys() [][]byte { return h.head.PeekKeys(http1.Response) }

// Set sets the field to value, which replaces all its values.
//
// Set("Set-Cookie", …) adds a cookie to the existing ones. Date cannot be set: the server
// sets it. The value of a field that was announced with SetTrailer is sent after a chunked
// body. CR, LF and NUL become spaces. A field whose name is not a token (RFC 9110 section
// 5.6.2) is stored, but never sent; a server with LogAllErrors logs that once.
func (h *ResponseHeader) Set(key, value string) {
	h.head.Set(http1.Response, header.KeyOf(bytesconv.Bytes(key)), bytesconv.Bytes(value))
}

// SetBytesK is Set with the key as a byte slice.
func (h *ResponseHeader) SetBytesK(key []byte, value string) {
	h.head.Set(http1.Response, header.KeyOf(key), bytesconv.Bytes(value))
}

// SetBytesV is Set with the value as a byte slice.
func (h *ResponseHeader) SetBytesV(key string, value []byte) {
	h.head.Set(http1.Response, header.KeyOf(bytesconv.Bytes(key)), value)
}

// SetBytesKV is Set with key and value as byte slices.
func (h *ResponseHeader) SetBytesKV(key, value []byte) {
	h.head.Set(http1.Response, header.KeyOf(key), value)
}

// SetCanonical is SetBytesKV that uses the name as it is, without normalizing it.
func (h *ResponseHeader) SetCanonical(key, value []byte) {
	h.head.SetCanonical(http1.Response, key, value)
}

// Add adds a value to the field.
//
// Content-Type, Content-Encoding, Content-Length, Connection, Server and
// Transfer-Encoding have one value at most: Add replaces it. It treats names,
// values and trailers as Set does.
func (h *ResponseHeader) Add(key, value string) {
	h.head.Add(http1.Response, header.KeyOf(bytesconv.Bytes(key)), bytesconv.Bytes(value))
}

// AddBytesK is Add with the key as a byte slice.
func (h *ResponseHeader) AddBytesK(key []byte, value string) {
	h.head.Add(http1.Response, header.KeyOf(key), bytesconv.Bytes(value))
}

// AddBytesV is Add with the value as a byte slice.
func (h *ResponseHeader) AddBytesV(key string, value []byte) {
	h.head.Add(http1.Response, header.KeyOf(bytesconv.Bytes(key)), value)
}

// AddBytesKV is Add with key and value as byte slices.
func (h *ResponseHeader) AddBytesKV(key, value []byte) {
	h.head.Add(http1.Response, header.KeyOf(key), value)
}

// Del removes all fields with that name, including fields of the trailer section.
func (h *ResponseHeader) Del(key string) {
	h.head.Del(http1.Response, header.KeyOf(bytesconv.Bytes(key)))
}

// DelBytes is Del for a byte slice.
func (h *ResponseHeader) DelBytes(key []byte) { h.head.Del(http1.Response, header.KeyOf(key)) }

// Len returns the number of fields that All visits.
func (h *ResponseHeader) Len() int { return h.head.Count(http1.Response) }

// All returns an iterator over the names and values of all fields. Content-Length,
// Content-Type, Content-Encoding, Server, the cookies and Trailer are first, then the
// others in their order.
//
// Names and values are valid until the next step of the loop. The loop must not change the
// header.
func (h *ResponseHeader) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		h.head.Each(http1.Response, yield)
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
	return h.head.Cookie(http1.Response, key)
}

// Cookie parses the first cookie with the key of cookie into cookie. It reports whether
// there is such a cookie and it can be parsed.
func (h *ResponseHeader) Cookie(cookie *Cookie) bool {
	value := h.head.Cookie(http1.Response, bytesconv.String(cookie.Key()))
	return value != nil && cookie.ParseBytes(value) == nil
}

// Cookies returns an iterator over the cookies: their names, and their whole Set-Cookie
// values, which Cookie.ParseBytes parses. Both are valid until the next step of the loop.
func (h *ResponseHeader) Cookies() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		h.head.EachCookie(http1.Response, yield)
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
	h.head.SetCookie(http1.Response, cookie.Key(), cookie.Cookie())
}

// DelCookie removes the cookies with that name from the response. It does not make the
// client delete them: see DelClientCookie.
func (h *ResponseHeader) DelCookie(key string) {
	h.head.DelCookie(http1.Response, key)
}

// DelCookieBytes is DelCookie for a byte slice.
func (h *ResponseHeader) DelCookieBytes(key []byte) {
	h.head.DelCookie(http1.Response, bytesconv.String(key))
}

// DelAllCookies removes all cookies from the response.
func (h *ResponseHeader) DelAllCookies() { h.head.DelAllCookies(http1.Response) }

// DelClientCookie makes the client delete a cookie that has neither a domain nor a path:
// it sets the cookie with an expiration time in the past. For other cookies, set a Cookie
// with the same domain and path whose Expire is CookieExpireDelete.
func (h *ResponseHeader) DelClientCookie(key string) {
	h.head.DelCookie(http1.Response, key)
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
