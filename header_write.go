package fasthttp

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// What is written here was cleaned on its way into the header: see store,
// append and setCookie. So no text can end a line early, and none is looked at
// twice.

// appendSlot appends the field of a slot where it has a value.
func (h *header) appendSlot(dst []byte, slot int, id field.ID) []byte {
	s := h.slots[slot]
	if s.Len == 0 {
		return dst
	}
	return http1.AppendLine(dst, id.Bytes(), h.list.Bytes(s))
}

func appendLength(dst []byte, n int) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = ascii.AppendUint(dst, n)
	return append(dst, strCRLF...)
}

// appendList appends the fields of list that go into the header section.
func (h *header) appendList(dst []byte, role http1.Role) []byte {
	for i := range h.list.Entries {
		e := &h.list.Entries[i]
		if !h.listed(role, e) {
			continue
		}
		if line := h.receivedLine(e); line != nil {
			dst = append(dst, line...)
		} else if e.Flags&field.BadName == 0 {
			dst = http1.AppendLine(dst, h.list.Bytes(e.Name), h.list.Bytes(e.Value))
		}
	}
	return dst
}

// receivedLine returns the line of a field that stands in the block as it is to
// be written, as received ones do, or nil.
func (h *header) receivedLine(e *field.Entry) []byte {
	name, end, block := e.Name.Off+e.Name.Len, e.Value.Off+e.Value.Len, h.list.Block
	if e.Value.Off != name+2 || int(end)+2 > len(block) || block[name] != ':' || block[name+1] != ' ' || block[end] != '\r' || block[end+1] != '\n' {
		return nil
	}
	return block[e.Name.Off : end+2]
}

// listed tells whether the field e of list is written among the others:
// trailers have their own place, and so have special fields, which are in list
// since the time when they were not special.
func (h *header) listed(role http1.Role, e *field.Entry) bool {
	if h.isTrailer(e) {
		return false
	}
	if h.is(noSpecial) {
		return true
	}
	switch places[role][e.ID].place {
	case inList, isCoding, isConnection:
		return true
	case inCookies:
		// those of a request go as they came, where they came
		return role == http1.Request && h.is(rawCookies)
	}
	return false
}

// appendEnd appends what comes last in every header section: the names of
// trailers, the cookies, and whether the connection is closed.
func (h *header) appendEnd(dst []byte, role http1.Role) []byte {
	if h.trailers.Len() > 0 {
		dst = append(dst, "Trailer: "...)
		dst = h.appendTrailerNames(dst)
		dst = append(dst, strCRLF...)
	}
	if role == http1.Response {
		h.collectCookies(role)
	}
	if h.cookies.Len() > 0 {
		dst = h.appendCookies(dst, role)
	}
	if h.closesUnsaid() {
		dst = append(dst, "Connection: close\r\n"...)
	}
	return append(dst, strCRLF...)
}

func (h *header) appendCookies(dst []byte, role http1.Role) []byte {
	if role == http1.Response {
		for i := range h.cookies.Len() {
			dst = http1.AppendLine(dst, field.SetCookie.Bytes(), h.cookies.Value(i))
		}
		return dst
	}
	dst = append(dst, "Cookie: "...)
	from := len(dst)
	dst = appendRequestCookies(dst, &h.cookies)
	http1.Clean(dst[from:])
	return append(dst, strCRLF...)
}

// each calls yield for every field of the header section until it returns
// false, and says whether it never did. Values of slots come in the order of
// first, then the names of trailers and the cookies in the order of the role,
// then the others.
func (h *header) each(role http1.Role, yield func(name, value []byte) bool) bool {
	if !h.eachSpecial(role, yield) {
		return false
	}
	for i := range h.list.Entries {
		e := &h.list.Entries[i]
		if !h.listed(role, e) && places[role][e.ID].place != isDate {
			continue
		}
		if !yield(h.list.Bytes(e.Name), h.list.Bytes(e.Value)) {
			return false
		}
	}
	if h.closesUnsaid() && !h.is(noSpecial) {
		return yield(field.Connection.Bytes(), strClose)
	}
	return true
}

func (h *header) eachSpecial(role http1.Role, yield func(name, value []byte) bool) bool {
	if h.is(noSpecial) {
		return true
	}
	order := &specialOrder[role]
	for _, id := range order {
		w := places[role][id]
		if w.place == inCookies {
			if !h.yieldCookies(role, id, yield) {
				return false
			}
			continue
		}
		value := h.peek(role, key{id.Bytes(), id})
		if len(value) > 0 && !yield(id.Bytes(), value) {
			return false
		}
	}
	return true
}

// specialOrder is the order in which the fields that are not in list are visited.
var specialOrder = [2][6]field.ID{
	http1.Request:  {field.Host, field.ContentLength, field.ContentType, field.UserAgent, field.Trailer, field.Cookie},
	http1.Response: {field.ContentLength, field.ContentType, field.ContentEncoding, field.Server, field.SetCookie, field.Trailer},
}

func (h *header) yieldCookies(role http1.Role, id field.ID, yield func(name, value []byte) bool) bool {
	h.collectCookies(role)
	if role == http1.Request {
		if h.cookies.Len() == 0 {
			return true
		}
		return yield(id.Bytes(), h.peekCookies(role))
	}
	for i := range h.cookies.Len() {
		if !yield(id.Bytes(), h.cookies.Value(i)) {
			return false
		}
	}
	return true
}

// responseType returns the Content-Type of a response: the default where none
// was set and none was forbidden.
func (h *header) responseType() []byte {
	if t := h.text(h.slots[slotContentType]); t != nil || h.is(noDefaultType) {
		return t
	}
	return strTextPlain
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
	case place == inList || h.is(noSpecial):
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
	if k.id == field.Connection && h.closesUnsaid() {
		h.peeked = append(h.peeked, strClose)
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
