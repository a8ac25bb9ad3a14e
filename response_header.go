package fasthttp

import (
	"bufio"
	"io"
	"iter"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/field"
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
	header
	status int
}

// StatusCode returns the status code, 200 by default.
func (h *ResponseHeader) StatusCode() int {
	if h.status == 0 {
		return StatusOK
	}
	return h.status
}

// SetStatusCode sets the status code.
func (h *ResponseHeader) SetStatusCode(statusCode int) { h.status = max(statusCode, 0) }

// StatusMessage returns the reason phrase of the status line if it was set or received,
// and otherwise nil: then the result of the function StatusMessage is written.
func (h *ResponseHeader) StatusMessage() []byte { return h.text(h.line[lineReason]) }

// SetStatusMessage sets the reason phrase of the status line.
func (h *ResponseHeader) SetStatusMessage(statusMessage []byte) {
	h.storeLine(lineReason, statusMessage)
}

// Protocol returns the protocol, HTTP/1.1 by default.
func (h *ResponseHeader) Protocol() []byte { return h.peekVersion() }

// SetProtocol sets the protocol of the status line.
func (h *ResponseHeader) SetProtocol(protocol []byte) { h.setVersion(protocol) }

// Server returns the value of the Server field. In a response of a Server the default is
// the Name of the Server.
func (h *ResponseHeader) Server() []byte {
	h.nameServer()
	return h.text(h.slots[slotServer])
}

// SetServer sets the Server field.
func (h *ResponseHeader) SetServer(server string) { h.SetServerBytes(bytesconv.Bytes(server)) }

// SetServerBytes sets the Server field.
func (h *ResponseHeader) SetServerBytes(server []byte) {
	h.state &^= namesServer
	h.storeSlot(slotServer, server)
}

// ContentType returns the value of the Content-Type field. If none was set, it is
// "text/plain; charset=utf-8", or nil after SetNoDefaultContentType(true).
func (h *ResponseHeader) ContentType() []byte { return h.peekType() }

// ContentEncoding returns the value of the Content-Encoding field.
func (h *ResponseHeader) ContentEncoding() []byte { return h.text(h.slots[slotContentEncoding]) }

// SetContentEncoding sets the Content-Encoding field.
func (h *ResponseHeader) SetContentEncoding(contentEncoding string) {
	h.SetContentEncodingBytes(bytesconv.Bytes(contentEncoding))
}

// SetContentEncodingBytes sets the Content-Encoding field.
func (h *ResponseHeader) SetContentEncodingBytes(contentEncoding []byte) {
	h.storeSlot(slotContentEncoding, contentEncoding)
}

// ContentLength returns the length of the content in bytes. It is -1 if the body is
// chunked, and -2 if the end of the connection ends the body.
func (h *ResponseHeader) ContentLength() int { return h.contentLength }

// SetContentLength sets the Content-Length field. -1 means "Transfer-Encoding: chunked",
// and -2 a body that the end of the connection ends. SetContentLength does nothing for a
// status that has no content.
func (h *ResponseHeader) SetContentLength(contentLength int) {
	if bodiless(h.StatusCode()) {
		return
	}
	h.contentLength = contentLength
	h.setState(hasLength, contentLength >= 0)
	h.setCoding(contentLength == -1)
	if contentLength < -1 {
		h.contentLength = -2
		h.SetConnectionClose()
	}
}

// SetContentRange sets "Content-Range: bytes startPos-endPos/contentLength".
func (h *ResponseHeader) SetContentRange(startPos, endPos, contentLength int) {
	var text [72]byte
	b := append(text[:0], "bytes "...)
	b = ascii.AppendUint(b, max(startPos, 0))
	b = append(b, '-')
	b = ascii.AppendUint(b, max(endPos, 0))
	b = append(b, '/')
	b = ascii.AppendUint(b, max(contentLength, 0))
	h.setID(field.ContentRange, b)
}

// SetLastModified sets the Last-Modified field.
func (h *ResponseHeader) SetLastModified(t time.Time) {
	var text [32]byte
	h.setID(field.LastModified, AppendHTTPDate(text[:0], t))
}

func (h *ResponseHeader) setID(id field.ID, value []byte) {
	h.set(http1.Response, key{id.Bytes(), id}, value)
}

// Reset empties the header, and undoes the settings of DisableNormalizing and similar
// methods.
func (h *ResponseHeader) Reset() {
	h.reset(noDefaultDate)
	h.status = 0
}

// CopyTo makes dst a copy of the header.
func (h *ResponseHeader) CopyTo(dst *ResponseHeader) {
	h.copyTo(&dst.header)
	dst.status = h.status
}

// Read reads a head from r, up to and including its empty line.
//
// The head must be shorter than 64 KiB, and it must not have more than 500 fields:
// otherwise Read returns an ErrSmallBuffer. If the buffer of r is larger than that, only
// its size limits the head. Read returns io.EOF if r ends before the first byte, and an
// error that wraps io.ErrUnexpectedEOF if r ends later. After an error the header is
// empty.
func (h *ResponseHeader) Read(r *bufio.Reader) error {
	h.status = 0
	var head http1.Head
	if err := h.read(http1.Response, &head, r); err != nil {
		return err
	}
	if head.Status < http1.FirstStatus {
		// no class of responses begins with 0
		h.reset(configured)
		return headerError("response", http1.ErrStatusLine)
	}
	h.status = head.Status
	return nil
}

// AppendBytes appends the head, as Write writes it, to dst and returns the extended
// slice. Date is the current time.
func (h *ResponseHeader) AppendBytes(dst []byte) []byte {
	return h.appendAlone(dst, h.asSet())
}

// appendAlone appends the head of a message that no server sends.
func (h *ResponseHeader) appendAlone(dst []byte, e http1.Encoding) []byte {
	h.nameServer()
	return h.appendHead(dst, &plainPrefix, e)
}

// plainPrefix is the start of responses that are not sent by a server.
var plainPrefix headPrefix

// headPrefix caches the start of the head of nearly every response of a server: the
// status line, the field Server and the field Date. Only the date changes.
//
// Many responses of a server differ only in their content. Therefore headPrefix also
// caches the whole head of the first response of each second.
type headPrefix struct {
	server []byte // the line of the field Server, or nil
	last   atomic.Pointer[datedPrefix]
}

type datedPrefix struct {
	second int64  // of the date
	text   []byte // of the start

	// fullHead is the head with these fields and no others
	fullHead      []byte
	contentType   string
	contentLength int
}

// now returns the start for the current second. If there is none yet, h is the first
// response in this second, sent as e specifies.
func (p *headPrefix) now(h *ResponseHeader, e http1.Encoding) *datedPrefix {
	second := clock.Second()
	last := p.last.Load()
	if last == nil || last.second != second {
		last = p.make(h, second, e)
		p.last.Store(last)
	}
	return last
}

func (p *headPrefix) make(h *ResponseHeader, second int64, e http1.Encoding) *datedPrefix {
	text := append(http1.AppendUsualStatusLine(nil, StatusOK), p.server...)
	d := &datedPrefix{second: second, text: appendDate(text, clock.Date())}
	if h.isPlain() && e.Flags == http1.SendLength {
		d.contentType, d.contentLength = string(h.list.Bytes(h.slots[slotContentType])), e.Length
		d.fullHead = h.appendAfterStart(append([]byte(nil), d.text...), StatusOK, e)
	}
	return d
}

// isPlain reports whether Content-Type is the only field in addition to the fields of the
// start, and of framing and connection.
func (h *ResponseHeader) isPlain() bool {
	return !h.is(rawCookies) && h.slots[slotContentType].Len > 0 && h.slots[slotContentEncoding].Len == 0 &&
		len(h.list.Entries) == 0 && h.trailers.Len() == 0 && h.cookies.Len() == 0
}

func appendDate(dst []byte, date string) []byte {
	return append(append(append(dst, "Date: "...), date...), "\r\n"...)
}

// appendHead appends the head of a message that is sent as e specifies. start is the
// cached start of the usual response; it may be nil. Other responses get its Server
// field.
func (h *ResponseHeader) appendHead(dst []byte, start *headPrefix, e http1.Encoding) []byte {
	status := h.StatusCode()
	if start != nil && status == StatusOK && h.line[lineVersion].Len|h.line[lineReason].Len == 0 && h.slots[slotServer].Len == 0 && !h.is(undated) {
		now := start.now(h, e)
		if e.Length == now.contentLength && e.Flags == http1.SendLength && h.isPlain() && string(h.list.Bytes(h.slots[slotContentType])) == now.contentType {
			return append(dst, now.fullHead...)
		}
		dst = append(dst, now.text...)
	} else {
		dst = h.appendStart(dst, status, start, e)
	}
	return h.appendAfterStart(dst, status, e)
}

// appendAfterStart appends the part of the head after the start.
func (h *ResponseHeader) appendAfterStart(dst []byte, status int, e http1.Encoding) []byte {
	switch {
	case h.slots[slotContentType].Len > 0:
		dst = h.appendSlot(dst, slotContentType, "Content-Type: ")
	case e.Length != 0 && !h.is(noDefaultType) && !bodiless(status):
		dst = http1.AppendLine(dst, field.ContentType.Bytes(), strTextPlain)
	}
	dst = h.appendSlot(dst, slotContentEncoding, "Content-Encoding: ")
	if e.Flags.Has(http1.SendLength) {
		dst = appendLength(dst, e.Length)
	}
	if len(h.list.Entries) > 0 {
		dst = h.appendList(dst, http1.Response, e.Flags)
	}
	return h.appendEnd(dst, http1.Response, e.Flags)
}

func (h *ResponseHeader) appendStart(dst []byte, status int, start *headPrefix, e http1.Encoding) []byte {
	own := e.Flags.Has(http1.OwnVersion)
	switch reason := h.StatusMessage(); {
	case reason == nil && h.line[lineVersion].Len == 0:
		dst = http1.AppendUsualStatusLine(dst, status)
	case !own && h.isReceivedStart(status):
		end := h.line[lineReason].Off + h.line[lineReason].Len
		dst = append(append(dst, h.list.Bytes(field.Span{Len: end})...), "\r\n"...)
	default:
		if reason == nil {
			reason = bytesconv.Bytes(StatusMessage(status))
		}
		version := strHTTP11
		if !own {
			version = h.version()
		}
		dst = http1.AppendStatusLine(dst, version, status, reason)
	}
	if h.slots[slotServer].Len > 0 {
		dst = h.appendSlot(dst, slotServer, "Server: ")
	} else if start != nil {
		dst = append(dst, start.server...)
	}
	if !h.is(undated) {
		dst = appendDate(dst, clock.Date())
	}
	return dst
}

// isReceivedStart reports whether the status line of the response is the one that was
// received. It is at the beginning of the block.
func (h *ResponseHeader) isReceivedStart(status int) bool {
	version, reason := h.line[lineVersion], h.line[lineReason]
	return status == int(h.received) && version.Off == 0 && version.Len > 0 &&
		reason.Off == version.Len+uint32(len(" 200 ")) && h.list.IsFrozen(reason)
}

// Header returns the head as Write writes it, without the fields that are announced as
// trailers. The result is valid until the header is changed or released.
func (h *ResponseHeader) Header() []byte {
	h.scratch[scratchHead] = h.AppendBytes(h.scratch[scratchHead][:0])
	return h.scratch[scratchHead]
}

// String returns the head as Write writes it.
func (h *ResponseHeader) String() string { return string(h.Header()) }

// Write writes the head to w, without flushing w. It returns the error of w.
func (h *ResponseHeader) Write(w *bufio.Writer) error {
	return h.write(w, h.asSet())
}

// write writes the head of a message that is sent as e specifies.
func (h *ResponseHeader) write(w *bufio.Writer, e http1.Encoding) error {
	var head []byte
	if h.writtenSize() <= w.Available() {
		// in the buffer of w, so that Write need not copy it
		head = h.appendAlone(w.AvailableBuffer(), e)
	} else {
		head = h.appendAlone(h.scratch[scratchHead][:0], e)
		h.scratch[scratchHead] = head
	}
	_, err := w.Write(head)
	return err
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
