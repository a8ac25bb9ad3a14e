package fasthttp

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/cookie"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// The methods that set fields have cleaned their texts: see store, append and setCookie.
// So no text contains a line break, and the code below need not check that again.

// appendSlot appends the field of a slot if it has a value. name is the name of the field,
// followed by a colon and a space.
func (h *header) appendSlot(dst []byte, slot int, name string) []byte {
	s := h.slots[slot]
	if s.Len == 0 {
		return dst
	}
	return append(append(append(dst, name...), h.list.Bytes(s)...), "\r\n"...)
}

// writtenSize returns an estimate of the size of the head in bytes, which may be a little
// low. The text of every part is in one of the blocks. writtenSize adds the separators
// and the fields that are written without being set.
func (h *header) writtenSize() int {
	const itself = 512
	return itself + len(h.list.Block) + len(": \r\n")*len(h.list.Entries) +
		len(h.cookies.Block) + len("Set-Cookie: \r\n")*len(h.cookies.Entries) + len(h.trailers.Block) + len(", ")*len(h.trailers.Entries)
}

func appendLength(dst []byte, n int) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = ascii.AppendUint(dst, n)
	return append(dst, "\r\n"...)
}

// appendList appends the fields of list that belong to the header section of a message
// with these Sayings. It appends adjacent lines of the received head at once.
func (h *header) appendList(dst []byte, role http1.Role, says http1.FramingFlags) []byte {
	var lines field.Span // received, and not yet appended
	places, trails := &places[role], len(h.trailers.Entries) > 0
	for i := range h.list.Entries {
		entry := &h.list.Entries[i]
		if entry.Flags&field.BadName != 0 {
			continue
		}
		if (trails || places[entry.ID].place != inList) && !h.isSent(role, entry, says) {
			continue
		}
		line := h.receivedLine(entry)
		if line.Len > 0 && line.Off == lines.Off+lines.Len {
			lines.Len += line.Len
			continue
		}
		if lines.Len > 0 {
			dst = append(dst, h.list.Bytes(lines)...)
		}
		if lines = line; line.Len == 0 {
			dst = http1.AppendLine(dst, h.list.Bytes(entry.Name), h.list.Bytes(entry.Value))
		}
	}
	if lines.Len > 0 {
		dst = append(dst, h.list.Bytes(lines)...)
	}
	return dst
}

// fieldLines are fields that many messages share, in the form of the lines that appendList
// appends. They are made once.
type fieldLines struct {
	text    []byte
	entries []field.Entry // in text
}

// linesOf returns the fields of list as lines.
func linesOf(list *field.List) *fieldLines {
	l := &fieldLines{entries: append([]field.Entry(nil), list.Entries...)}
	for i := range l.entries {
		e := &l.entries[i]
		name, value := list.Name(i), list.Value(i)
		e.Name.Off = uint32(len(l.text))
		e.Value.Off = e.Name.Off + e.Name.Len + uint32(len(": "))
		e.Slack = 0
		l.text = http1.AppendLine(l.text, name, value)
	}
	return l
}

// appendLines adds fields to list, which must not have fields with these names.
func (h *header) appendLines(l *fieldLines) {
	h.makeRoom(len(l.text))
	at := h.list.Append(l.text).Off
	for _, e := range l.entries {
		e.Name.Off += at
		e.Value.Off += at
		h.list.Entries = append(h.list.Entries, e)
	}
	h.list.Changed = true
}

// receivedLine returns the line of a field if the block contains it in the form in which
// it is written, as for received fields, or an empty span.
func (h *header) receivedLine(e *field.Entry) (line field.Span) {
	const colon, lineEnd = ':' | ' '<<8, '\r' | '\n'<<8
	value, end, block := e.Name.Off+e.Name.Len+2, e.Value.Off+e.Value.Len, h.list.Block
	if e.Value.Off != value || int(end)+2 > len(block) {
		return line
	}
	// each word of four bytes ends at the end of the line at the latest
	if uint16(bytesconv.Half(block, int(value)-2)) == colon && bytesconv.Half(block, int(end)-2)>>16 == lineEnd {
		line = field.Span{Off: e.Name.Off, Len: end + 2 - e.Name.Off}
	}
	return line
}

// isSent reports whether the field entry of list, which is not a plain one, is sent in the
// header section of a message with these Sayings. They determine framing and connection,
// unless the application writes these fields itself.
func (h *header) isSent(role http1.Role, entry *field.Entry, says http1.FramingFlags) bool {
	place := places[role][entry.ID].place
	if place == inList || h.is(noSpecial) {
		return says.Has(http1.LacksTrailers) || !h.isTrailer(entry)
	}
	if place == isConnection {
		return keepsLine(h.list.Bytes(entry.Value), says)
	}
	return place == inCookies && h.sendsCookieLines(role)
}

// sendsCookieLines reports whether the cookies of a request are sent as and where they were
// received.
func (h *header) sendsCookieLines(role http1.Role) bool {
	return role == http1.Request && h.is(rawCookies)
}

// listedElse reports whether the field e of list, which is not a plain one, belongs to the
// header section. Trailers do not, nor do special fields that are in list because they were
// set while special fields were disabled.
func (h *header) listedElse(role http1.Role, e *field.Entry) bool {
	if h.isTrailer(e) {
		return false
	}
	if h.is(noSpecial) {
		return true
	}
	switch places[role][e.ID].place {
	case inList, isCoding, isConnection:
		return true
	}
	return false
}

// appendEnd appends the end of the header section of a message with these Sayings:
// Transfer-Encoding, the names of trailers, the cookies, Connection, and the empty line.
func (h *header) appendEnd(dst []byte, role http1.Role, says http1.FramingFlags) []byte {
	if says.Has(http1.SendChunked) {
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	if says.Has(http1.SendKeepAlive) {
		dst = append(dst, "Connection: keep-alive\r\n"...)
	}
	if h.hasTrailerNames() && !says.Has(http1.LacksTrailers) {
		dst = append(dst, "Trailer: "...)
		dst = h.trailers.AppendNames(dst)
		dst = append(dst, "\r\n"...)
	}
	if role == http1.Response {
		h.moveCookies(role)
	}
	if h.hasOwnCookies() {
		dst = h.appendCookies(dst, role)
	}
	if says.Has(http1.SendClose) && !h.listsClose(says) {
		dst = append(dst, "Connection: close\r\n"...)
	}
	return append(dst, "\r\n"...)
}

func (h *header) appendCookies(dst []byte, role http1.Role) []byte {
	if role == http1.Response {
		for i := range h.cookies.Len() {
			dst = append(append(append(dst, "Set-Cookie: "...), h.cookies.Value(i)...), "\r\n"...)
		}
		return dst
	}
	dst = append(dst, "Cookie: "...)
	from := len(dst)
	dst = cookie.AppendText(dst, &h.cookies)
	http1.Clean(dst[from:])
	return append(dst, "\r\n"...)
}

// each calls yield for every field of the header section until it returns false, and
// reports whether it always returned true. The fields that are not in list are first.
func (h *header) each(role http1.Role, yield func(name, value []byte) bool) bool {
	if !h.is(noSpecial) && !h.eachSpecial(role, yield) {
		return false
	}
	places, trails := &places[role], len(h.trailers.Entries) > 0
	cookies := 0 // how many fields were passed that eachSpecial has visited as the cookies
	for i := 0; i < len(h.list.Entries); i++ {
		e := &h.list.Entries[i]
		if place := places[e.ID].place; place != inList || trails {
			if place == inCookies && !h.is(noSpecial) {
				if h.is(rawCookies) {
					cookies++
				}
				continue
			}
			if place != isDate && !h.listedElse(role, e) {
				continue
			}
		}
		if !yield(h.list.Bytes(e.Name), h.list.Bytes(e.Value)) {
			return false
		}
		if cookies > 0 && !h.is(rawCookies) {
			// the caller has changed a cookie, which has removed these fields
			i -= cookies
			cookies = 0
		}
	}
	if h.needsClose() {
		return yield(h.scratchCopy(textConnection), h.scratchCopy(textClose))
	}
	return true
}

// eachSpecial is each for the fields that are not in list, and for a field of list that
// contains all cookies of a request.
func (h *header) eachSpecial(role http1.Role, yield func(name, value []byte) bool) bool {
	if role == http1.Response {
		return h.eachSpecialOfResponse(yield)
	}
	// for each of the slots here, calling a function takes longer than its work
	if s := h.slots[slotHost]; s.Len > 0 && !yield(h.scratchCopy(textHost), h.list.Bytes(s)) {
		return false
	}
	if h.is(hasLength) && !yield(h.scratchCopy(textContentLength), h.lengthText()) {
		return false
	}
	if s := h.slots[slotContentType]; s.Len > 0 && !yield(h.scratchCopy(textContentType), h.list.Bytes(s)) {
		return false
	}
	if s := h.slots[slotUserAgent]; s.Len > 0 && !yield(h.scratchCopy(textUserAgent), h.list.Bytes(s)) {
		return false
	}
	if h.hasTrailerNames() && !yield(h.scratchCopy(textTrailer), h.trailerNames()) {
		return false
	}
	if cookie := h.onlyCookieField(); cookie >= 0 {
		return yield(h.scratchCopy(textCookie), h.list.Value(cookie))
	}
	cookies := h.joinedCookies(http1.Request)
	return cookies == nil || yield(h.scratchCopy(textCookie), cookies)
}

func (h *header) eachSpecialOfResponse(yield func(name, value []byte) bool) bool {
	h.nameServer()
	contentType := h.peekType()
	return (!h.is(hasLength) || yield(h.scratchCopy(textContentLength), h.lengthText())) &&
		(len(contentType) == 0 || yield(h.scratchCopy(textContentType), contentType)) &&
		h.yieldSlot(slotContentEncoding, textContentEncoding, yield) &&
		h.yieldSlot(slotServer, textServer, yield) &&
		h.yieldSetCookies(yield) &&
		(!h.hasTrailerNames() || yield(h.scratchCopy(textTrailer), h.trailerNames()))
}

func (h *header) yieldSlot(slot int, name constText, yield func(name, value []byte) bool) bool {
	s := h.slots[slot]
	return s.Len == 0 || yield(h.scratchCopy(name), h.list.Bytes(s))
}

func (h *header) yieldSetCookies(yield func(name, value []byte) bool) bool {
	h.moveCookies(http1.Response)
	for i := range h.cookies.Len() {
		if !yield(h.scratchCopy(textSetCookie), h.cookies.Value(i)) {
			return false
		}
	}
	return true
}

// onlyCookieField returns the position of the field that contains all cookies of a request
// as they were received, or -1.
func (h *header) onlyCookieField() int {
	if !h.is(rawCookies) {
		return -1
	}
	only := -1
	for i := range h.list.Entries {
		if e := &h.list.Entries[i]; e.ID == field.Cookie {
			if only >= 0 || e.Value.Len == 0 {
				return -1
			}
			only = i
		}
	}
	return only
}

// peekType returns the Content-Type of a response, or the default if none was set and
// SetNoDefaultContentType does not forbid it.
func (h *header) peekType() []byte {
	if t := h.text(h.slots[slotContentType]); t != nil || h.is(noDefaultType) {
		return t
	}
	return h.scratchType()
}

// count returns the number of fields that each visits.
func (h *header) count(role http1.Role) (n int) {
	h.each(role, func(_, _ []byte) bool {
		n++
		return true
	})
	return n
}

// peekAll returns all values of the field k.
func (h *header) peekAll(role http1.Role, k key) [][]byte {
	h.peeked = h.peeked[:0]
	switch place := places[role][k.id].place; {
	case place == inList || h.is(noSpecial) && place != inTrailers:
	case place == inSlot || place == inTrailers || place == isLength:
		if v := h.peek(role, k); len(v) > 0 {
			h.peeked = append(h.peeked, v)
		}
		return h.peeked
	case place == inCookies && !h.is(rawCookies):
		return h.peekAllCookies(role)
	}
	next := h.findAll(k)
	for i := next(h, k, 0); i >= 0; i = next(h, k, i+1) {
		h.peeked = append(h.peeked, h.list.Value(i))
	}
	switch {
	case k.id == field.Connection && h.needsClose():
		h.peeked = append(h.peeked, h.scratchCopy(textClose))
	case len(h.peeked) == 0 && h.is(trailing):
		return h.peekAllAnnounced(k)
	}
	return h.peeked
}

// peekKeys returns the names of all fields that each visits.
func (h *header) peekKeys(role http1.Role) [][]byte {
	h.peeked = h.peeked[:0]
	h.each(role, func(name, _ []byte) bool {
		h.peeked = append(h.peeked, name)
		return true
	})
	return h.peeked
}

// A header holds what the application has set and what was received: for its readers,
// this includes the length of the content, Transfer-Encoding and Connection. The form
// in which these fields are sent follows from a http1.Encoding, which the sender of the
// whole message makes; the methods here translate between the two.

// declared returns the content of the message as the header alone declares it.
func (h *header) declared() (http1.ContentKind, int) {
	switch {
	case h.is(hasLength):
		return http1.SizedContent, h.contentLength
	case h.contentLength >= 0:
		return http1.NoContent, 0
	case h.list.FindID(field.TransferEncoding, 0) >= 0:
		return http1.UnsizedContent, 0
	}
	return http1.OpenContent, 0
}

// terms returns the conditions of the header for sending the message on a connection.
func (h *header) terms() (t http1.Terms) {
	if h.is(closing) {
		t |= http1.AsksClose
	}
	if h.is(oldProtocol) {
		t |= http1.LineIsOld
	}
	if h.is(peerVersion) {
		t |= http1.LineIsReceived
	}
	return t
}

// asSet returns the encoding of the head alone, as the application has set it. The
// application also writes the content after it.
func (h *header) asSet() http1.Encoding {
	e := http1.Encoding{Length: h.contentLength}
	switch {
	case h.is(hasLength):
		e.Flags = http1.SendLength
	case e.Length < 0 && h.list.FindID(field.TransferEncoding, 0) >= 0:
		e.Flags = http1.SendChunked
	}
	if h.is(closing) {
		e.Flags |= http1.SendClose
	}
	return e
}

// asSet is header.asSet, except that a status without content has no framing; a 304 may
// declare how long the content of a 200 would be.
func (h *ResponseHeader) asSet() http1.Encoding {
	e := h.header.asSet()
	if status := h.StatusCode(); bodiless(status) {
		e.Flags &^= http1.SendChunked
		if status != StatusNotModified {
			e.Flags &^= http1.SendLength
		}
	}
	return e
}

// record makes the header reflect how its message is sent, for later readers of the
// header.
func (h *header) record(e http1.Encoding) {
	h.contentLength = e.Length
	h.setState(hasLength, e.Flags.Has(http1.SendLength))
	if chunked := e.Flags.Has(http1.SendChunked); chunked || len(h.list.Entries) > 0 {
		h.setCoding(chunked)
	}
	if e.Flags.Has(http1.SendClose | http1.SendKeepAlive | http1.LacksTrailers) {
		h.recordOthers(e.Flags)
	}
}

// recordOthers is the part of record for rare Sayings.
func (h *header) recordOthers(says http1.FramingFlags) {
	if says.Has(http1.LacksTrailers) {
		h.removeTrailers()
	}
	switch {
	case says.Has(http1.SendClose):
		h.state |= closing
		if i := h.findKeepAlive(0); i >= 0 && says.Has(http1.OverridesKeepAlive) {
			h.ensureOwned()
			h.list.RemoveEach(i, h.findKeepAlive)
		}
	case says.Has(http1.SendKeepAlive):
		h.setConnection(key{field.Connection.Bytes(), field.Connection}, strKeepAlive)
	}
}

// record is header.record, except that a status without content leaves the length as
// the application has set it.
func (h *ResponseHeader) record(e http1.Encoding) {
	if bodiless(h.StatusCode()) {
		e.Length, e.Flags = h.contentLength, e.Flags&^http1.SendLength
		if h.is(hasLength) {
			e.Flags |= http1.SendLength
		}
	}
	h.header.record(e)
}

// record is header.record. Fields that the application writes itself, with special
// fields disabled, are corrected: a server would parse content without a length, or
// beyond a wrong one, as the next request.
func (h *RequestHeader) record(e http1.Encoding) {
	h.header.record(e)
	if h.is(noSpecial) {
		h.setOwnLength()
	}
}

// keepsLine reports whether a Connection line of the application is sent in addition to
// the Sayings about the connection.
func keepsLine(value []byte, says http1.FramingFlags) bool {
	switch {
	case says.Has(http1.SendKeepAlive):
		return false
	case says.Has(http1.OverridesKeepAlive):
		return http1.ConnectionFlags(value)&http1.KeepAlive == 0
	}
	return true
}

// listsClose reports whether a sent Connection line of the application lists close.
func (h *header) listsClose(says http1.FramingFlags) bool {
	for i := h.findClose(0); i >= 0; i = h.findClose(i + 1) {
		if keepsLine(h.list.Value(i), says) {
			return true
		}
	}
	return false
}

// findKeepAlive returns the position of the first Connection line at or after from that
// lists keep-alive, or -1.
func (h *header) findKeepAlive(from int) int {
	for i := h.list.FindID(field.Connection, from); i >= 0; i = h.list.FindID(field.Connection, i+1) {
		if http1.ConnectionFlags(h.list.Value(i))&http1.KeepAlive != 0 {
			return i
		}
	}
	return -1
}
