package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/urlencoded"
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
	header
}

// Method returns the method, GET by default.
func (h *RequestHeader) Method() []byte {
	if m := h.text(h.line[lineMethod]); m != nil {
		return m
	}
	return h.scratchCopy(textMethod)
}

// method is Method for callers that do not modify the result.
func (h *RequestHeader) method() []byte {
	if m := h.text(h.line[lineMethod]); m != nil {
		return m
	}
	return strMethodGet
}

// SetMethod sets the method.
func (h *RequestHeader) SetMethod(method string) { h.SetMethodBytes(bytesconv.Bytes(method)) }

// SetMethodBytes sets the method.
func (h *RequestHeader) SetMethodBytes(method []byte) {
	h.storeLine(lineMethod, method)
}

// IsGet reports whether the method is GET.
func (h *RequestHeader) IsGet() bool { return string(h.method()) == MethodGet }

// IsPost reports whether the method is POST.
func (h *RequestHeader) IsPost() bool { return string(h.method()) == MethodPost }

// IsPut reports whether the method is PUT.
func (h *RequestHeader) IsPut() bool { return string(h.method()) == MethodPut }

// IsHead reports whether the method is HEAD.
func (h *RequestHeader) IsHead() bool { return string(h.method()) == MethodHead }

// IsDelete reports whether the method is DELETE.
func (h *RequestHeader) IsDelete() bool { return string(h.method()) == MethodDelete }

// IsConnect reports whether the method is CONNECT.
func (h *RequestHeader) IsConnect() bool { return string(h.method()) == MethodConnect }

// isExtended reports whether the request is an extended CONNECT.
func (h *RequestHeader) isExtended() bool { return h.slots[slotProtocol].Len > 0 && h.IsConnect() }

// IsOptions reports whether the method is OPTIONS.
func (h *RequestHeader) IsOptions() bool { return string(h.method()) == MethodOptions }

// IsTrace reports whether the method is TRACE.
func (h *RequestHeader) IsTrace() bool { return string(h.method()) == MethodTrace }

// IsPatch reports whether the method is PATCH.
func (h *RequestHeader) IsPatch() bool { return string(h.method()) == MethodPatch }

// IsQuery reports whether the method is QUERY.
func (h *RequestHeader) IsQuery() bool { return string(h.method()) == MethodQuery }

// RequestURI returns the request target of the request line, "/" by default.
func (h *RequestHeader) RequestURI() []byte {
	if t := h.text(h.line[lineTarget]); t != nil {
		return t
	}
	return h.scratchCopy(textTarget)
}

// target is RequestURI for callers that do not modify the result.
func (h *RequestHeader) target() []byte {
	if t := h.text(h.line[lineTarget]); t != nil {
		return t
	}
	return strSlash
}

// targetIsPath reports whether the target is a path that can be sent as it is.
func (h *RequestHeader) targetIsPath() bool {
	target := h.target()
	return target[0] == '/' && ascii.IsVisible(target) && ascii.IndexByte(target, '#') == len(target) &&
		(h.hasReceivedTarget() || !hasBadEscape(target))
}

// hasReceivedTarget reports whether the target is the one that was received.
func (h *RequestHeader) hasReceivedTarget() bool {
	target := h.line[lineTarget]
	return target.Len > 0 && h.list.IsFrozen(target)
}

// hasBadEscape reports whether the path of target has a percent sign that begins no escape.
func hasBadEscape(target []byte) bool {
	if bytes.IndexByte(target, '%') < 0 {
		return false
	}
	path, _, _ := bytes.Cut(target, []byte{'?'})
	return urlencoded.HasBadEscape(path)
}

// SetRequestURI sets the request target, which must be percent-encoded as on the wire,
// like the result of URI.RequestURI. If it is only a query, SetRequestURI prepends the
// path "/".
func (h *RequestHeader) SetRequestURI(requestURI string) {
	h.SetRequestURIBytes(bytesconv.Bytes(requestURI))
}

// SetRequestURIBytes is SetRequestURI for a byte slice.
func (h *RequestHeader) SetRequestURIBytes(requestURI []byte) {
	if len(requestURI) > 0 && requestURI[0] == '?' {
		requestURI = append([]byte{'/'}, requestURI...)
	}
	h.storeLine(lineTarget, requestURI)
}

// Protocol returns the protocol, HTTP/1.1 by default.
func (h *RequestHeader) Protocol() []byte { return h.peekVersion() }

// SetProtocol sets the protocol of the request line.
func (h *RequestHeader) SetProtocol(protocol string) { h.setVersion(bytesconv.Bytes(protocol)) }

// SetProtocolBytes sets the protocol of the request line.
func (h *RequestHeader) SetProtocolBytes(protocol []byte) { h.setVersion(protocol) }

// Host returns the value of the Host field.
func (h *RequestHeader) Host() []byte { return h.text(h.slots[slotHost]) }

// SetHost sets the Host field.
func (h *RequestHeader) SetHost(host string) { h.SetHostBytes(bytesconv.Bytes(host)) }

// SetHostBytes sets the Host field.
func (h *RequestHeader) SetHostBytes(host []byte) {
	h.storeSlot(slotHost, host)
}

// UserAgent returns the value of the User-Agent field.
func (h *RequestHeader) UserAgent() []byte { return h.text(h.slots[slotUserAgent]) }

// SetUserAgent sets the User-Agent field.
func (h *RequestHeader) SetUserAgent(userAgent string) {
	h.SetUserAgentBytes(bytesconv.Bytes(userAgent))
}

// SetUserAgentBytes sets the User-Agent field.
func (h *RequestHeader) SetUserAgentBytes(userAgent []byte) {
	h.storeSlot(slotUserAgent, userAgent)
}

// Referer returns the value of the Referer field.
func (h *RequestHeader) Referer() []byte { return h.peekID(field.Referer) }

// SetReferer sets the Referer field.
func (h *RequestHeader) SetReferer(referer string) { h.setID(field.Referer, bytesconv.Bytes(referer)) }

// SetRefererBytes sets the Referer field.
func (h *RequestHeader) SetRefererBytes(referer []byte) { h.setID(field.Referer, referer) }

// ContentType returns the value of the Content-Type field. If a request that was read
// has several such lines, it is the value of the first.
func (h *RequestHeader) ContentType() []byte { return h.text(h.slots[slotContentType]) }

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
	return h.peek(http1.Request, key{id.Bytes(), id})
}

func (h *RequestHeader) setID(id field.ID, value []byte) {
	h.set(http1.Request, key{id.Bytes(), id}, value)
}

// ContentLength returns the length of the content in bytes. It is -1 if the body is
// chunked, and -2 if a request that was read, or one without special fields, has no
// field for the length of a body.
func (h *RequestHeader) ContentLength() int {
	if h.is(noSpecial) && h.contentLength == 0 && !h.is(hasLength) {
		return -2
	}
	return h.contentLength
}

// SetContentLength sets the Content-Length field. A negative length means
// "Transfer-Encoding: chunked".
func (h *RequestHeader) SetContentLength(contentLength int) {
	h.contentLength = contentLength
	h.setState(hasLength, contentLength >= 0)
	h.setCoding(contentLength < 0)
}

// setOwnLength corrects the length in the fields that the application writes itself.
func (h *RequestHeader) setOwnLength() {
	at := h.list.FindID(field.ContentLength, 0)
	if at < 0 && h.contentLength <= 0 {
		return
	}
	if h.contentLength < 0 {
		h.removeID(field.ContentLength)
		return
	}
	var digits [20]byte
	length := ascii.AppendUint(digits[:0], h.contentLength)
	if at < 0 {
		h.append(key{field.ContentLength.Bytes(), field.ContentLength}, length)
		return
	}
	if !bytes.Equal(h.list.Value(at), length) {
		h.storeAt(at, length)
	}
	h.list.RemoveID(field.ContentLength, at+1)
}

// SetByteRange sets the Range field to "bytes=startPos-endPos". If endPos is negative,
// the range extends to the end. If startPos is negative, the range is the last
// -startPos bytes.
func (h *RequestHeader) SetByteRange(startPos, endPos int) {
	var text [48]byte
	b := append(text[:0], "bytes="...)
	if startPos < 0 {
		b = append(b, '-')
		b = ascii.AppendUint(b, -startPos)
	} else {
		b = ascii.AppendUint(b, startPos)
		b = append(b, '-')
		if endPos >= 0 {
			b = ascii.AppendUint(b, endPos)
		}
	}
	h.setID(field.Range, b)
}

// SetMultipartFormBoundary sets the Content-Type to multipart/form-data with
// the boundary.
func (h *RequestHeader) SetMultipartFormBoundary(boundary string) {
	h.SetMultipartFormBoundaryBytes(bytesconv.Bytes(boundary))
}

// SetMultipartFormBoundaryBytes is SetMultipartFormBoundary for a byte slice.
func (h *RequestHeader) SetMultipartFormBoundaryBytes(boundary []byte) {
	value := append([]byte(nil), strMultipartForm...)
	value = append(value, "; boundary="...)
	h.SetContentTypeBytes(append(value, boundary...))
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
	for i := h.list.FindID(field.AcceptEncoding, 0); i >= 0; i = h.list.FindID(field.AcceptEncoding, i+1) {
		if listed, accepted := http1.AcceptsCoding(h.list.Value(i), acceptEncoding); listed {
			return accepted
		}
	}
	return false
}

// DisableSpecialHeader makes the header write exactly the fields that were set, in
// their order, and no others: no default Host, Content-Type and so on. It reports
// whether special fields were disabled before. Only programs that control the case and
// order of all fields need it.
//
// A body still has framing: a Request with a body is sent with the Content-Length or
// Transfer-Encoding that fits the body, which replaces one that was set and does not fit.
func (h *RequestHeader) DisableSpecialHeader() bool {
	before := h.is(noSpecial)
	h.state |= noSpecial
	return before
}

// EnableSpecialHeader undoes DisableSpecialHeader, and reports whether special fields
// were disabled before.
func (h *RequestHeader) EnableSpecialHeader() bool {
	before := h.is(noSpecial)
	h.state &^= noSpecial
	return before
}

// Reset empties the header, and undoes the settings of DisableNormalizing and similar
// methods.
func (h *RequestHeader) Reset() { h.reset(noDefaultDate) }

// CopyTo makes dst a copy of the header.
func (h *RequestHeader) CopyTo(dst *RequestHeader) { h.copyTo(&dst.header) }

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
	if err := head.CheckRequest(h.list.Block); err != nil {
		h.reset(configured)
		return headerError("request", err)
	}
	return nil
}

// RawHeaders returns the field lines of a request that was read, up to and including
// the empty line. Names are normalized, unless DisableNormalizing was called. The
// result is empty for a header that was not read.
func (h *RequestHeader) RawHeaders() []byte { return h.rawHeaders() }

// AppendBytes appends the head, as Write writes it, to dst and returns the extended slice.
func (h *RequestHeader) AppendBytes(dst []byte) []byte {
	return h.appendHead(dst, h.asSet())
}

// appendHead appends the head of a message that is sent as e specifies.
func (h *RequestHeader) appendHead(dst []byte, e http1.Encoding) []byte {
	if line := h.receivedStart(); line != nil && !e.Flags.Has(http1.OwnVersion) {
		return h.appendFields(append(dst, line...), e)
	}
	return h.appendAfterTarget(append(h.appendMethod(dst), h.target()...), e)
}

// appendMethod appends the method and a space.
func (h *RequestHeader) appendMethod(dst []byte) []byte {
	return append(append(dst, h.method()...), ' ')
}

// hasPathMethod reports whether the method is known to have a path as its target in any
// case. A result of false does not mean that the target is not a path.
func (h *RequestHeader) hasPathMethod() bool {
	first := h.method()[0]
	return first != MethodConnect[0] && first != MethodOptions[0]
}

// receivedStart returns the request line that was received, or nil if the request line
// has been changed or was not received.
func (h *RequestHeader) receivedStart() []byte {
	method, target, version := h.line[lineMethod], h.line[lineTarget], h.line[lineVersion]
	if method.Len == 0 || target.Off != method.Off+method.Len+1 || version.Off != target.Off+target.Len+1 || !h.list.IsFrozen(version) {
		return nil
	}
	return h.list.Bytes(field.Span{Off: method.Off, Len: version.Off + version.Len - method.Off})
}

// The errors of a request line that a server would parse in a different way from how it
// was set.
var (
	errMethod   = errors.New("fasthttp: the method of the request is no token")
	errTarget   = fmt.Errorf("%w: there is a space or control character in the target of the request", ErrorInvalidURI)
	errProtocol = errors.New("fasthttp: there is a space or control character in the protocol of the request")
)

// hasDefaultMethod reports whether the method was not set: it is GET.
func (h *RequestHeader) hasDefaultMethod() bool { return h.line[lineMethod].Len == 0 }

// hasDefaultLine reports whether neither the method nor the protocol of the request
// line was set.
func (h *RequestHeader) hasDefaultLine() bool {
	return h.line[lineMethod].Len|h.line[lineVersion].Len == 0
}

// checkMethod returns an error if a server would parse the request line in another way
// because of its method or protocol.
func (h *RequestHeader) checkMethod() error {
	if method := h.line[lineMethod]; !h.list.IsFrozen(method) {
		switch method := h.method(); {
		case string(method) == MethodGet, string(method) == MethodPost:
		case !ascii.IsToken(method):
			return errMethod
		}
	}
	if version := h.line[lineVersion]; !h.list.IsFrozen(version) && ascii.HasSpaceOrControl(h.version()) {
		return errProtocol
	}
	return nil
}

// checkLine is checkMethod that checks the target, too. Parts that were received were
// checked then, and the defaults are right.
func (h *RequestHeader) checkLine() error {
	if target := h.line[lineTarget]; !h.list.IsFrozen(target) && ascii.HasSpaceOrControl(h.target()) {
		return errTarget
	}
	return h.checkMethod()
}

// appendAfterTarget appends the part of the head after the target.
func (h *RequestHeader) appendAfterTarget(dst []byte, e http1.Encoding) []byte {
	if h.line[lineVersion].Len == 0 || e.Flags.Has(http1.OwnVersion) {
		return h.appendFields(append(dst, " HTTP/1.1"...), e)
	}
	return h.appendFields(append(append(dst, ' '), h.version()...), e)
}

// appendFields appends the part of the head after the version.
func (h *RequestHeader) appendFields(dst []byte, e http1.Encoding) []byte {
	dst = append(dst, "\r\n"...)
	if h.is(noSpecial) {
		dst = h.appendList(dst, http1.Request, e.Flags)
		if h.needsClose() {
			dst = append(dst, "Connection: close\r\n"...)
		}
		return append(dst, "\r\n"...)
	}
	dst = h.appendSlot(dst, slotHost, "Host: ")
	dst = h.appendSlot(dst, slotUserAgent, "User-Agent: ")
	dst = h.appendSlot(dst, slotContentType, "Content-Type: ")
	if e.Length > 0 && h.slots[slotContentType].Len == 0 && !h.is(noDefaultType) {
		dst = http1.AppendLine(dst, field.ContentType.Bytes(), strOctetStream)
	}
	if e.Flags.Has(http1.SendLength) {
		dst = appendLength(dst, e.Length)
	}
	dst = h.appendList(dst, http1.Request, e.Flags)
	return h.appendEnd(dst, http1.Request, e.Flags)
}

// ignoresBody reports whether a request with this method and without a body is sent
// without a Content-Length.
func (h *RequestHeader) ignoresBody() bool { return h.IsGet() || h.IsHead() }

// Header returns the head as Write writes it, without the fields that are announced as
// trailers. The result is valid until the header is changed or released.
func (h *RequestHeader) Header() []byte {
	h.scratch[scratchHead] = h.AppendBytes(h.scratch[scratchHead][:0])
	return h.scratch[scratchHead]
}

// String returns the head as Write writes it.
func (h *RequestHeader) String() string { return string(h.Header()) }

// Write writes the head to w, without flushing w. If the method is not a token, or the
// target or the protocol contains a space or control character, Write returns an error
// and writes nothing.
func (h *RequestHeader) Write(w *bufio.Writer) error {
	if err := h.checkLine(); err != nil {
		return err
	}
	return h.write(w, h.asSet())
}

// write writes the head of a message that is sent as e specifies, and whose request
// line was checked.
func (h *RequestHeader) write(w *bufio.Writer, e http1.Encoding) error {
	var head []byte
	if h.writtenSize() <= w.Available() {
		// in the buffer of w, so that Write need not copy it
		head = h.appendHead(w.AvailableBuffer(), e)
	} else {
		head = h.appendHead(h.scratch[scratchHead][:0], e)
		h.scratch[scratchHead] = head
	}
	_, err := w.Write(head)
	return err
}

// WriteTo writes the head to w, as Write does.
func (h *RequestHeader) WriteTo(w io.Writer) (int64, error) {
	if err := h.checkLine(); err != nil {
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
