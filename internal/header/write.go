package header

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/cookie"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// The methods that set fields have cleaned their texts: see store, append and SetCookie.
// So no text contains a line break, and the code below need not check it again.

// appendSlot appends the field of a slot if it has a value. name is the name of the field,
// followed by a colon and a space.
func (h *Header) appendSlot(dst []byte, slot int, name string) []byte {
	s := h.Slots[slot]
	if s.Len == 0 {
		return dst
	}
	return append(append(append(dst, name...), h.List.Bytes(s)...), "\r\n"...)
}

// WrittenSize returns an estimate of the size of the head in bytes, which may be a little
// low. The text of every part is in one of the blocks. WrittenSize adds the separators
// and the fields that are written without being set.
func (h *Header) WrittenSize() int {
	const itself = 512
	return itself + len(h.List.Block) + len(": \r\n")*len(h.List.Entries) +
		len(h.Cookies.Block) + len("Set-Cookie: \r\n")*len(h.Cookies.Entries) + len(h.Trailers.Block) + len(", ")*len(h.Trailers.Entries)
}

func appendLength(dst []byte, n int) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = ascii.AppendUint(dst, n)
	return append(dst, "\r\n"...)
}

// AppendList appends the fields of list that belong to the header section of a message
// with these flags. It appends adjacent lines of the received head at once.
func (h *Header) AppendList(dst []byte, role http1.Role, says http1.FramingFlags) []byte {
	var lines field.Span // received, and not yet appended
	places, trails := &places[role], len(h.Trailers.Entries) > 0
	for i := range h.List.Entries {
		entry := &h.List.Entries[i]
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
			dst = append(dst, h.List.Bytes(lines)...)
		}
		if lines = line; line.Len == 0 {
			dst = http1.AppendLine(dst, h.List.Bytes(entry.Name), h.List.Bytes(entry.Value))
		}
	}
	if lines.Len > 0 {
		dst = append(dst, h.List.Bytes(lines)...)
	}
	return dst
}

// Lines are fields that many messages share, in the form of the lines that AppendList
// appends. They are made once.
type Lines struct {
	text    []byte
	entries []field.Entry // in text
}

// LinesOf returns the fields of list as lines.
func LinesOf(list *field.List) *Lines {
	l := &Lines{entries: append([]field.Entry(nil), list.Entries...)}
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

// AppendLines adds fields to list, which must not have fields with these names.
func (h *Header) AppendLines(l *Lines) {
	h.MakeRoom(len(l.text))
	at := h.List.Append(l.text).Off
	for _, e := range l.entries {
		e.Name.Off += at
		e.Value.Off += at
		h.List.Entries = append(h.List.Entries, e)
	}
	h.List.Changed = true
}

// receivedLine returns the line of a field if the block contains it in the form in which
// it is written, as for received fields, or an empty span.
func (h *Header) receivedLine(e *field.Entry) (line field.Span) {
	const colon, lineEnd = ':' | ' '<<8, '\r' | '\n'<<8
	value, end, block := e.Name.Off+e.Name.Len+2, e.Value.Off+e.Value.Len, h.List.Block
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
// header section of a message with these flags. They determine framing and connection,
// unless the application writes these fields itself.
func (h *Header) isSent(role http1.Role, entry *field.Entry, says http1.FramingFlags) bool {
	place := places[role][entry.ID].place
	if place == inList || h.Is(NoSpecial) {
		return says.Has(http1.LacksTrailers) || !h.isTrailer(entry)
	}
	if place == isConnection {
		return keepsLine(h.List.Bytes(entry.Value), says)
	}
	return place == inCookies && h.sendsCookieLines(role) || place == isDate && h.Is(NoDate)
}

// sendsCookieLines reports whether the cookies of a request are sent as and where they were
// received.
func (h *Header) sendsCookieLines(role http1.Role) bool {
	return role == http1.Request && h.Is(rawCookies)
}

// listedElse reports whether the field e of list, which is not a plain one, belongs to the
// header section. Trailers do not, nor do special fields that are in list because they were
// set while special fields were disabled.
func (h *Header) listedElse(role http1.Role, e *field.Entry) bool {
	if h.isTrailer(e) {
		return false
	}
	if h.Is(NoSpecial) {
		return true
	}
	switch places[role][e.ID].place {
	case inList, isCoding, isConnection:
		return true
	}
	return false
}

// appendEnd appends the end of the header section of a message with these flags:
// Transfer-Encoding, the names of trailers, the cookies, Connection, and the empty line.
func (h *Header) appendEnd(dst []byte, role http1.Role, says http1.FramingFlags) []byte {
	if says.Has(http1.SendChunked) {
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	if says.Has(http1.SendKeepAlive) {
		dst = append(dst, "Connection: keep-alive\r\n"...)
	}
	if h.hasTrailerNames() && !says.Has(http1.LacksTrailers) {
		dst = append(dst, "Trailer: "...)
		dst = h.Trailers.AppendNames(dst)
		dst = append(dst, "\r\n"...)
	}
	if role == http1.Response {
		h.MoveCookies(role)
	}
	if h.hasOwnCookies() {
		dst = h.appendCookies(dst, role)
	}
	if says.Has(http1.SendClose) && !h.listsClose(says) {
		dst = append(dst, "Connection: close\r\n"...)
	}
	return append(dst, "\r\n"...)
}

func (h *Header) appendCookies(dst []byte, role http1.Role) []byte {
	if role == http1.Response {
		for i := range h.Cookies.Len() {
			dst = append(append(append(dst, "Set-Cookie: "...), h.Cookies.Value(i)...), "\r\n"...)
		}
		return dst
	}
	dst = append(dst, "Cookie: "...)
	from := len(dst)
	dst = cookie.AppendText(dst, &h.Cookies)
	http1.Clean(dst[from:])
	return append(dst, "\r\n"...)
}

// Each calls yield for every field of the header section until it returns false, and
// reports whether it always returned true. The fields that are not in list are first.
func (h *Header) Each(role http1.Role, yield func(name, value []byte) bool) bool {
	if !h.Is(NoSpecial) && !h.eachSpecial(role, yield) {
		return false
	}
	places, trails := &places[role], len(h.Trailers.Entries) > 0
	cookies := 0 // how many fields were passed that eachSpecial has visited as the cookies
	for i := 0; i < len(h.List.Entries); i++ {
		e := &h.List.Entries[i]
		if place := places[e.ID].place; place != inList || trails {
			if place == inCookies && !h.Is(NoSpecial) {
				if h.Is(rawCookies) {
					cookies++
				}
				continue
			}
			if place != isDate && !h.listedElse(role, e) {
				continue
			}
		}
		if !yield(h.List.Bytes(e.Name), h.List.Bytes(e.Value)) {
			return false
		}
		if cookies > 0 && !h.Is(rawCookies) {
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

// eachSpecial is Each for the fields that are not in list, and for a field of list that
// contains all cookies of a request.
func (h *Header) eachSpecial(role http1.Role, yield func(name, value []byte) bool) bool {
	if role == http1.Response {
		return h.eachSpecialOfResponse(yield)
	}
	// for each of the slots here, calling a function takes longer than its work
	if s := h.Slots[SlotHost]; s.Len > 0 && !yield(h.scratchCopy(textHost), h.List.Bytes(s)) {
		return false
	}
	if h.Is(hasLength) && !yield(h.scratchCopy(textContentLength), h.lengthText()) {
		return false
	}
	if s := h.Slots[SlotContentType]; s.Len > 0 && !yield(h.scratchCopy(textContentType), h.List.Bytes(s)) {
		return false
	}
	if s := h.Slots[SlotUserAgent]; s.Len > 0 && !yield(h.scratchCopy(textUserAgent), h.List.Bytes(s)) {
		return false
	}
	if h.hasTrailerNames() && !yield(h.scratchCopy(textTrailer), h.TrailerNames()) {
		return false
	}
	if cookie := h.onlyCookieField(); cookie >= 0 {
		return yield(h.scratchCopy(textCookie), h.List.Value(cookie))
	}
	cookies := h.joinedCookies(http1.Request)
	return cookies == nil || yield(h.scratchCopy(textCookie), cookies)
}

func (h *Header) eachSpecialOfResponse(yield func(name, value []byte) bool) bool {
	h.nameServer()
	contentType := h.PeekType()
	return (!h.Is(hasLength) || yield(h.scratchCopy(textContentLength), h.lengthText())) &&
		(len(contentType) == 0 || yield(h.scratchCopy(textContentType), contentType)) &&
		h.yieldSlot(SlotContentEncoding, textContentEncoding, yield) &&
		h.yieldSlot(slotServer, textServer, yield) &&
		h.yieldSetCookies(yield) &&
		(!h.hasTrailerNames() || yield(h.scratchCopy(textTrailer), h.TrailerNames()))
}

func (h *Header) yieldSlot(slot int, name constText, yield func(name, value []byte) bool) bool {
	s := h.Slots[slot]
	return s.Len == 0 || yield(h.scratchCopy(name), h.List.Bytes(s))
}

func (h *Header) yieldSetCookies(yield func(name, value []byte) bool) bool {
	h.MoveCookies(http1.Response)
	for i := range h.Cookies.Len() {
		if !yield(h.scratchCopy(textSetCookie), h.Cookies.Value(i)) {
			return false
		}
	}
	return true
}

// onlyCookieField returns the position of the field that contains all cookies of a request
// as they were received, or -1.
func (h *Header) onlyCookieField() int {
	if !h.Is(rawCookies) {
		return -1
	}
	only := -1
	for i := range h.List.Entries {
		if e := &h.List.Entries[i]; e.ID == field.Cookie {
			if only >= 0 || e.Value.Len == 0 {
				return -1
			}
			only = i
		}
	}
	return only
}

// PeekType returns the Content-Type of a response, or the default if none was set and
// SetNoDefaultContentType does not forbid it.
func (h *Header) PeekType() []byte {
	if t := h.Text(h.Slots[SlotContentType]); t != nil || h.Is(NoDefaultType) {
		return t
	}
	return h.scratchType()
}

// Count returns the number of fields that Each visits.
func (h *Header) Count(role http1.Role) (n int) {
	h.Each(role, func(_, _ []byte) bool {
		n++
		return true
	})
	return n
}

// PeekAll returns all values of the field k.
func (h *Header) PeekAll(role http1.Role, k Key) [][]byte {
	h.Peeked = h.Peeked[:0]
	switch place := places[role][k.ID].place; {
	case place == inList || h.Is(NoSpecial) && place != inTrailers:
	case place == inSlot || place == inTrailers || place == isLength:
		if v := h.Peek(role, k); len(v) > 0 {
			h.Peeked = append(h.Peeked, v)
		}
		return h.Peeked
	case place == inCookies && !h.Is(rawCookies):
		return h.peekAllCookies(role)
	}
	next := h.findAll(k)
	for i := next(h, k, 0); i >= 0; i = next(h, k, i+1) {
		h.Peeked = append(h.Peeked, h.List.Value(i))
	}
	switch {
	case k.ID == field.Connection && h.needsClose():
		h.Peeked = append(h.Peeked, h.scratchCopy(textClose))
	case len(h.Peeked) == 0 && h.Is(trailing):
		return h.peekAllAnnounced(k)
	}
	return h.Peeked
}

// PeekKeys returns the names of all fields that Each visits.
func (h *Header) PeekKeys(role http1.Role) [][]byte {
	h.Peeked = h.Peeked[:0]
	h.Each(role, func(name, _ []byte) bool {
		h.Peeked = append(h.Peeked, name)
		return true
	})
	return h.Peeked
}

// A header holds what the application has set and what was received: for its readers,
// this includes the length of the content, Transfer-Encoding and Connection. The form
// in which these fields are sent follows from a http1.Encoding, which the sender of the
// whole message makes; the methods below translate between the two.

// Declared returns the content of the message as the header alone declares it.
func (h *Header) Declared() (http1.ContentKind, int) {
	switch {
	case h.Is(hasLength):
		return http1.SizedContent, h.Length
	case h.Length >= 0:
		return http1.NoContent, 0
	case h.List.FindID(field.TransferEncoding, 0) >= 0:
		return http1.UnsizedContent, 0
	}
	return http1.OpenContent, 0
}

// Terms returns the conditions of the header for sending the message on a connection.
func (h *Header) Terms() (t http1.Terms) {
	if h.Is(Closing) {
		t |= http1.AsksClose
	}
	if h.Is(OldProtocol) {
		t |= http1.LineIsOld
	}
	if h.Is(PeerVersion) {
		t |= http1.LineIsReceived
	}
	return t
}

// AsSet returns the encoding of the head alone, as the application has set it. The
// application also writes the content after it.
func (h *Header) AsSet() http1.Encoding {
	e := http1.Encoding{Length: h.Length}
	switch {
	case h.Is(hasLength):
		e.Flags = http1.SendLength
	case e.Length < 0 && h.List.FindID(field.TransferEncoding, 0) >= 0:
		e.Flags = http1.SendChunked
	}
	if h.Is(Closing) {
		e.Flags |= http1.SendClose
	}
	return e
}

// ResponseAsSet is AsSet for a response, except that a status without content has no framing; a 304 may
// declare how long the content of a 200 would be.
func (h *Header) ResponseAsSet() http1.Encoding {
	e := h.AsSet()
	if status := h.StatusCode(); Bodiless(status) {
		e.Flags &^= http1.SendChunked
		if status != statusNotModified {
			e.Flags &^= http1.SendLength
		}
	}
	return e
}

// Record makes the header reflect how its message is sent, for later readers of the
// header.
func (h *Header) Record(e http1.Encoding) {
	h.Length = e.Length
	h.SetState(hasLength, e.Flags.Has(http1.SendLength))
	if chunked := e.Flags.Has(http1.SendChunked); chunked || len(h.List.Entries) > 0 {
		h.setCoding(chunked)
	}
	if e.Flags.Has(http1.SendClose | http1.SendKeepAlive | http1.LacksTrailers) {
		h.recordOthers(e.Flags)
	}
}

// recordOthers is the part of Record for rare flags.
func (h *Header) recordOthers(says http1.FramingFlags) {
	if says.Has(http1.LacksTrailers) {
		h.removeTrailers()
	}
	switch {
	case says.Has(http1.SendClose):
		h.State |= Closing
		if i := h.findKeepAlive(0); i >= 0 && says.Has(http1.OverridesKeepAlive) {
			h.ensureOwned()
			h.List.RemoveEach(i, h.findKeepAlive)
		}
	case says.Has(http1.SendKeepAlive):
		h.setConnection(KeyOfID(field.Connection), strKeepAlive)
	}
}

// RecordResponse is Record for a response, except that a status without content leaves the length as
// the application has set it.
func (h *Header) RecordResponse(e http1.Encoding) {
	if Bodiless(h.StatusCode()) {
		e.Length, e.Flags = h.Length, e.Flags&^http1.SendLength
		if h.Is(hasLength) {
			e.Flags |= http1.SendLength
		}
	}
	h.Record(e)
}

// RecordRequest is Record for a request. Fields that the application writes itself, with special
// fields disabled, are corrected: a server would parse content without a length, or
// beyond a wrong one, as the next request.
func (h *Header) RecordRequest(e http1.Encoding) {
	h.Record(e)
	if h.Is(NoSpecial) {
		h.setOwnLength()
	}
}

// keepsLine reports whether a Connection line of the application is sent in addition to
// the flags about the connection.
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
func (h *Header) listsClose(says http1.FramingFlags) bool {
	for i := h.findClose(0); i >= 0; i = h.findClose(i + 1) {
		if keepsLine(h.List.Value(i), says) {
			return true
		}
	}
	return false
}

// findKeepAlive returns the position of the first Connection line at or after from that
// lists keep-alive, or -1.
func (h *Header) findKeepAlive(from int) int {
	for i := h.List.FindID(field.Connection, from); i >= 0; i = h.List.FindID(field.Connection, i+1) {
		if http1.ConnectionFlags(h.List.Value(i))&http1.KeepAlive != 0 {
			return i
		}
	}
	return -1
}
