package fasthttp

import (
	"bufio"
	"io"
	"iter"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
)

// RequestHeader is the head of a request: the request line and the fields.
//
// The zero value is "GET / HTTP/1.1" without fields. Slices that its methods return
// belong to the header: they are valid until the field is changed or the request is
// released. A server releases a request when its handler returns.
//
// A RequestHeader must not be copied (use CopyTo) nor used by more than one goroutine
// at once; even reading may change it, since cookies are parsed on first use.
type RequestHeader struct {
	commonHeader
}

// Method returns the method, GET by default.
func (h *RequestHeader) Method() []byte { return h.head.LentMethod() }

// SetMethod sets the method.
func (h *RequestHeader) SetMethod(method string) { h.SetMethodBytes(bytesconv.Bytes(method)) }

// SetMethodBytes sets the method.
func (h *RequestHeader) SetMethodBytes(method []byte) {
	h.head.StoreLine(header.LineMethod, method)
}

// IsGet reports whether the method is GET.
func (h *RequestHeader) IsGet() bool { return string(h.head.Method()) == MethodGet }

// IsPost reports whether the method is POST.
func (h *RequestHeader) IsPost() bool { return string(h.head.Method()) == MethodPost }

// IsPut reports whether the method is PUT.
func (h *RequestHeader) IsPut() bool { return string(h.head.Method()) == MethodPut }

// IsHead reports whether the method is HEAD.
func (h *RequestHeader) IsHead() bool { return string(h.head.Method()) == MethodHead }

// IsDelete reports whether the method is DELETE.
func (h *RequestHeader) IsDelete() bool { return string(h.head.Method()) == MethodDelete }

// IsConnect reports whether the method is CONNECT.
func (h *RequestHeader) IsConnect() bool { return h.head.IsConnect() }

// IsOptions reports whether the method is OPTIONS.
func (h *RequestHeader) IsOptions() bool { return string(h.head.Method()) == MethodOptions }

// IsTrace reports whether the method is TRACE.
func (h *RequestHeader) IsTrace() bool { return string(h.head.Method()) == MethodTrace }

// IsPatch reports whether the method is PATCH.
func (h *RequestHeader) IsPatch() bool { return string(h.head.Method()) == MethodPatch }

// IsQuery reports whether the method is QUERY.
func (h *RequestHeader) IsQuery() bool { return string(h.head.Method()) == MethodQuery }

// ConnectProtocol returns the protocol of an extended CONNECT request (RFC 8441), such as
// "websocket", or nil for any other request. The target of such a request is a path.
func (h *RequestHeader) ConnectProtocol() []byte { return h.head.ConnectProtocol() }

// SetConnectProtocol makes the request an extended CONNECT (RFC 8441): it asks the server to
// speak another protocol, such as "websocket", on its stream of HTTP/2 or HTTP/3. It also sets the
// method. An empty protocol makes the request a CONNECT.
//
// HostClient.Do and Client.Do send such a request over HTTP/2 and HTTP/3 only: if the server
// speaks another version, or has not announced extended CONNECT, the error is
// ErrNoExtendedConnect. After a 2xx response with Response.StreamBody, the body stream is a
// net.Conn: the tunnel. It must be closed. The time limits of the call apply to it until its SetDeadline is called.
func (h *RequestHeader) SetConnectProtocol(protocol string) {
	h.SetMethod(MethodConnect)
	h.head.StoreSlot(header.SlotProtocol, bytesconv.Bytes(protocol))
}

// RequestURI returns the request target of the request line, "/" by default.
func (h *RequestHeader) RequestURI() []byte { return h.head.LentTarget() }

// SetRequestURI sets the request target, which must be percent-encoded as on the wire,
// like the result of URI.RequestURI. If it is only a query, SetRequestURI prepends the
// path "/".
func (h *RequestHeader) SetRequestURI(requestURI string) {
	h.SetRequestURIBytes(bytesconv.Bytes(requestURI))
}

// SetRequestURIBytes is SetRequestURI for a byte slice.
func (h *RequestHeader) SetRequestURIBytes(requestURI []byte) { h.head.SetTarget(requestURI) }

// Protocol returns the protocol, HTTP/1.1 by default.
func (h *RequestHeader) Protocol() []byte { return h.head.LentVersion() }

// SetProtocol sets the protocol of the request line.
func (h *RequestHeader) SetProtocol(protocol string) { h.head.SetVersion(bytesconv.Bytes(protocol)) }

// SetProtocolBytes sets the protocol of the request line.
func (h *RequestHeader) SetProtocolBytes(protocol []byte) { h.head.SetVersion(protocol) }

// Host returns the value of the Host field.
func (h *RequestHeader) Host() []byte { return h.head.Host() }

// SetHost sets the Host field.
func (h *RequestHeader) SetHost(host string) { h.SetHostBytes(bytesconv.Bytes(host)) }

// SetHostBytes sets the Host field.
func (h *RequestHeader) SetHostBytes(host []byte) {
	h.head.StoreSlot(header.SlotHost, host)
}

// UserAgent returns the value of the User-Agent field.
func (h *RequestHeader) UserAgent() []byte { return h.head.Text(h.head.Slots[header.SlotUserAgent]) }

// SetUserAgent sets the User-Agent field.
func (h *RequestHeader) SetUserAgent(userAgent string) {
	h.SetUserAgentBytes(bytesconv.Bytes(userAgent))
}

// SetUserAgentBytes sets the User-Agent field.
func (h *RequestHeader) SetUserAgentBytes(userAgent []byte) {
	h.head.StoreSlot(header.SlotUserAgent, userAgent)
}

// Referer returns the value of the Referer field.
func (h *RequestHeader) Referer() []byte { return h.peekID(field.Referer) }

// SetReferer sets the Referer field.
func (h *RequestHeader) SetReferer(referer string) { h.setID(field.Referer, bytesconv.Bytes(referer)) }

// SetRefererBytes sets the Referer field.
func (h *RequestHeader) SetRefererBytes(referer []byte) { h.setID(field.Referer, referer) }

// ContentType returns the value of the Content-Type field. If a request that was read
// has several such lines, it is the value of the first.
func (h *RequestHeader) ContentType() []byte {
	return h.head.Text(h.head.Slots[header.SlotContentType])
}

// ContentEncoding returns the value of the Content-Encoding field.
func (h *RequestHeader) ContentEncoding() []byte { return h.peekID(field.ContentEncoding) }

// SetContentEncoding sets the Content-Encoding field.
func (h *RequestHeader) SetContentEncoding(contentEncoding string) {
	h.setID(field.ContentEncoding, bytesconv.Bytes(contentEncoding))
}

// SetContentEncodingBytes sets the Content-Encoding field.
func (h *RequestHeader) SetContentEncodingBytes(contentEncoding []byte) {
	h.setID(field.ContentEncoding, contentEncoding)
}

func (h *RequestHeader) peekID(id field.ID) []byte {
	return h.head.Peek(http1.Request, header.KeyOfID(id))
}

func (h *RequestHeader) setID(id field.ID, value []byte) {
	h.head.Set(http1.Request, header.KeyOfID(id), value)
}

// ContentLength returns the length of the content in bytes. It is -1 if the body is
// chunked, and -2 if a request that was read, or one without special fields, has no
// field for the length of a body.
func (h *RequestHeader) ContentLength() int { return h.head.RequestLength() }

// SetContentLength sets the Content-Length field. A negative length means
// "Transfer-Encoding: chunked".
func (h *RequestHeader) SetContentLength(contentLength int) { h.head.SetRequestLength(contentLength) }

// SetByteRange sets the Range field to "bytes=startPos-endPos". If endPos is negative,
// the range extends to the end. If startPos is negative, the range is the last
// -startPos bytes.
func (h *RequestHeader) SetByteRange(startPos, endPos int) { h.head.SetByteRange(startPos, endPos) }

// SetMultipartFormBoundary sets the Content-Type to multipart/form-data with the boundary,
// which it puts in quotes if a parameter needs them, as for "a/b".
func (h *RequestHeader) SetMultipartFormBoundary(boundary string) {
	h.SetMultipartFormBoundaryBytes(bytesconv.Bytes(boundary))
}

// SetMultipartFormBoundaryBytes is SetMultipartFormBoundary for a byte slice.
func (h *RequestHeader) SetMultipartFormBoundaryBytes(boundary []byte) {
	h.SetContentTypeBytes(http1.AppendFormType(nil, boundary))
}

// MultipartFormBoundary returns the boundary parameter of a Content-Type of
// multipart/form-data, or nil.
func (h *RequestHeader) MultipartFormBoundary() (boundary []byte) {
	return http1.FormBoundary(h.ContentType())
}

// HasAcceptEncoding reports whether Accept-Encoding lists the coding without a weight
// of 0 (RFC 9110 section 12.5.3).
func (h *RequestHeader) HasAcceptEncoding(acceptEncoding string) bool {
	return h.HasAcceptEncodingBytes(bytesconv.Bytes(acceptEncoding))
}

// HasAcceptEncodingBytes is HasAcceptEncoding for a byte slice.
func (h *RequestHeader) HasAcceptEncodingBytes(acceptEncoding []byte) bool {
	return h.head.AcceptsCoding(acceptEncoding)
}

// DisableSpecialHeader makes the header write exactly the fields that were set, in
// their order, and no others: no default Host, Content-Type and so on. It reports
// whether special fields were disabled before. Only programs that control the case and
// order of all fields need it.
//
// A body still has framing: a Request with a body is sent with the Content-Length or
// Transfer-Encoding that fits the body, which replaces one that was set and does not fit.
func (h *RequestHeader) DisableSpecialHeader() bool {
	before := h.head.Is(header.NoSpecial)
	h.head.State |= header.NoSpecial
	return before
}

// EnableSpecialHeader undoes DisableSpecialHeader, and reports whether special fields
// were disabled before.
func (h *RequestHeader) EnableSpecialHeader() bool {
	before := h.head.Is(header.NoSpecial)
	h.head.State &^= header.NoSpecial
	return before
}

// Reset empties the header, and undoes the settings of DisableNormalizing and similar
// methods.
func (h *RequestHeader) Reset() { h.head.Reset(header.NoDefaultDate) }

// CopyTo makes dst a copy of the header.
func (h *RequestHeader) CopyTo(dst *RequestHeader) { h.head.CopyTo(&dst.head) }

// Read reads a head from r, up to and including its empty line.
//
// The request line must be shorter than 16 KiB, the head must be shorter than 64 KiB,
// and it must not have more than 500 fields: otherwise Read returns an ErrSmallBuffer.
// If the buffer of r is larger than that, only its size limits the head. Read returns
// io.EOF if r ends before the first byte, and an error that wraps io.ErrUnexpectedEOF
// if r ends later. After an error the header is empty.
func (h *RequestHeader) Read(r *bufio.Reader) error {
	var head http1.Head
	if err := h.read(http1.Request, &head, r); err != nil {
		return err
	}
	if err := head.CheckRequest(h.head.List.Block); err != nil {
		h.head.Reset(header.Configured)
		return headerError("request", err)
	}
	return nil
}

// RawHeaders returns the field lines of a request that was read, up to and including
// the empty line. Names are normalized, unless DisableNormalizing was called. The
// result is empty for a header that was not read.
func (h *RequestHeader) RawHeaders() []byte { return h.head.RawHeaders() }

// AppendBytes appends the head, as Write writes it, to dst and returns the extended slice.
func (h *RequestHeader) AppendBytes(dst []byte) []byte {
	return h.head.AppendRequest(dst, h.head.AsSet())
}

// Header returns the head as Write writes it, without the fields that are announced as
// trailers. The result is valid until the header is changed or released.
func (h *RequestHeader) Header() []byte {
	h.head.Scratch[header.ScratchHead] = h.AppendBytes(h.head.Scratch[header.ScratchHead][:0])
	return h.head.Scratch[header.ScratchHead]
}

// String returns the head as Write writes it.
func (h *RequestHeader) String() string { return string(h.Header()) }

// Write writes the head to w, without flushing w. If the method is not a token, or the
// target or the protocol contains a space or control character, Write returns an error
// and writes nothing.
func (h *RequestHeader) Write(w *bufio.Writer) error {
	if err := h.head.CheckLine(); err != nil {
		return err
	}
	return h.head.WriteRequest(w, h.head.AsSet())
}

// WriteTo writes the head to w, as Write does.
func (h *RequestHeader) WriteTo(w io.Writer) (int64, error) {
	if err := h.head.CheckLine(); err != nil {
		return 0, err
	}
	n, err := w.Write(h.Header())
	return int64(n), err
}

// Peek returns the value of the first field with that name, or nil. The case of the
// name does not matter.
//
// Peek also finds a field of the trailer section, if the Trailer field announces it and
// the header section has no field with that name. PeekTrailer finds any field of the
// trailer section.
func (h *RequestHeader) Peek(key string) []byte {
	return h.head.Peek(http1.Request, header.KeyOf(bytesconv.Bytes(key)))
}

// PeekBytes is Peek for a byte slice.
func (h *RequestHeader) PeekBytes(key []byte) []byte {
	return h.head.Peek(http1.Request, header.KeyOf(key))
}

// PeekCanonical returns the value of the first field whose name is exactly key.
func (h *RequestHeader) PeekCanonical(key []byte) []byte {
	return h.head.PeekCanonical(http1.Request, key)
}

// PeekAll returns the values of all fields with the name. The outer slice is
// valid until the next call of a method whose name begins with Peek.
func (h *RequestHeader) PeekAll(key string) [][]byte {
	return h.head.PeekAll(http1.Request, header.KeyOf(bytesconv.Bytes(key)))
}

// PeekKeys returns the names of all fields. The outer slice is valid until the
// next call of a method whose name begins with Peek.
func (h *RequestHeader) PeekKeys() [][]byte { return h.head.PeekKeys(http1.Request) }

// Set sets the field to value, which replaces all its values.
//
// Set("Cookie", …) adds cookies to the existing ones. The value of a field that was
// announced with SetTrailer is sent after a chunked body. CR, LF and NUL become spaces.
// A field whose name is not a token (RFC 9110 section 5.6.2) is stored, but never sent.
func (h *RequestHeader) Set(key, value string) {
	h.head.Set(http1.Request, header.KeyOf(bytesconv.Bytes(key)), bytesconv.Bytes(value))
}

// SetBytesK is Set with the key as a byte slice.
func (h *RequestHeader) SetBytesK(key []byte, value string) {
	h.head.Set(http1.Request, header.KeyOf(key), bytesconv.Bytes(value))
}

// SetBytesV is Set with the value as a byte slice.
func (h *RequestHeader) SetBytesV(key string, value []byte) {
	h.head.Set(http1.Request, header.KeyOf(bytesconv.Bytes(key)), value)
}

// SetBytesKV is Set with key and value as byte slices.
func (h *RequestHeader) SetBytesKV(key, value []byte) {
	h.head.Set(http1.Request, header.KeyOf(key), value)
}

// SetCanonical is SetBytesKV that uses the name as it is, without normalizing it.
func (h *RequestHeader) SetCanonical(key, value []byte) {
	h.head.SetCanonical(http1.Request, key, value)
}

// Add adds a value to the field.
//
// Host, Content-Type, User-Agent, Content-Length, Connection and
// Transfer-Encoding have one value at most: Add replaces it. It treats names,
// values and trailers as Set does.
func (h *RequestHeader) Add(key, value string) {
	h.head.Add(http1.Request, header.KeyOf(bytesconv.Bytes(key)), bytesconv.Bytes(value))
}

// AddBytesK is Add with the key as a byte slice.
func (h *RequestHeader) AddBytesK(key []byte, value string) {
	h.head.Add(http1.Request, header.KeyOf(key), bytesconv.Bytes(value))
}

// AddBytesV is Add with the value as a byte slice.
func (h *RequestHeader) AddBytesV(key string, value []byte) {
	h.head.Add(http1.Request, header.KeyOf(bytesconv.Bytes(key)), value)
}

// AddBytesKV is Add with key and value as byte slices.
func (h *RequestHeader) AddBytesKV(key, value []byte) {
	h.head.Add(http1.Request, header.KeyOf(key), value)
}

// Del removes all fields with that name, including fields of the trailer section.
func (h *RequestHeader) Del(key string) {
	h.head.Del(http1.Request, header.KeyOf(bytesconv.Bytes(key)))
}

// DelBytes is Del for a byte slice.
func (h *RequestHeader) DelBytes(key []byte) { h.head.Del(http1.Request, header.KeyOf(key)) }

// Len returns the number of fields that All visits.
func (h *RequestHeader) Len() int { return h.head.Count(http1.Request) }

// All returns an iterator over the names and values of all fields. Host, Content-Length,
// Content-Type, User-Agent, Trailer and Cookie are first, then the others in their order.
// AllInOrder returns the fields in the order of the wire.
//
// Names and values are valid until the next step of the loop. The loop must not change
// the header.
func (h *RequestHeader) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		h.head.Each(http1.Request, yield)
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
		h.head.EachInOrder(yield)
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
	return h.head.Cookie(http1.Request, key)
}

// CookieBytes is Cookie for a byte slice.
func (h *RequestHeader) CookieBytes(key []byte) []byte {
	return h.head.Cookie(http1.Request, bytesconv.String(key))
}

// Cookies returns an iterator over the names and values of all cookies. Names and
// values are valid until the next step of the loop.
func (h *RequestHeader) Cookies() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		h.head.EachCookie(http1.Request, yield)
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
	h.head.SetCookie(http1.Request, bytesconv.Bytes(key), bytesconv.Bytes(value))
}

// SetCookieBytesK is SetCookie with the key as a byte slice.
func (h *RequestHeader) SetCookieBytesK(key []byte, value string) {
	h.head.SetCookie(http1.Request, key, bytesconv.Bytes(value))
}

// SetCookieBytesKV is SetCookie with key and value as byte slices.
func (h *RequestHeader) SetCookieBytesKV(key, value []byte) {
	h.head.SetCookie(http1.Request, key, value)
}

// DelCookie removes the cookies with the name.
func (h *RequestHeader) DelCookie(key string) {
	h.head.DelCookie(http1.Request, key)
}

// DelCookieBytes is DelCookie for a byte slice.
func (h *RequestHeader) DelCookieBytes(key []byte) {
	h.head.DelCookie(http1.Request, bytesconv.String(key))
}

// DelAllCookies removes all cookies.
func (h *RequestHeader) DelAllCookies() { h.head.DelAllCookies(http1.Request) }
