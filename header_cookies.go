package fasthttp

import (
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/cookie"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// moveCookies moves the cookies of a received head from list into cookies, which are to
// be changed. Until it is called, they are sent as they were received.
func (h *header) moveCookies(role http1.Role) {
	if !h.is(rawCookies) {
		return
	}
	h.copyCookies(role)
	h.state &^= rawCookies | seenCookies
	if !h.is(noSpecial) {
		h.removeID(cookieField(role))
	}
}

// copyCookies copies the cookies of a received head from list into cookies, which are not
// to be changed.
func (h *header) copyCookies(role http1.Role) {
	if h.state&(rawCookies|seenCookies) == rawCookies {
		h.parseCookies(role)
	}
}

func (h *header) parseCookies(role http1.Role) {
	h.ensureOwned()
	h.state |= seenCookies
	id := cookieField(role)
	for i := h.list.FindID(id, 0); i >= 0; i = h.list.FindID(id, i+1) {
		value := withoutLineBreaks(h.list.Value(i))
		if role == http1.Request {
			cookie.AppendReceived(&h.cookies, value)
		} else {
			h.appendSetCookie(value)
		}
	}
}

// appendSetCookie adds the value of a Set-Cookie field.
func (h *header) appendSetCookie(value []byte) {
	h.cookies.Add(bytesconv.String(cookie.NameIn(value)), bytesconv.String(value))
}

func cookieField(role http1.Role) field.ID {
	if role == http1.Request {
		return field.Cookie
	}
	return field.SetCookie
}

// addCookies adds the cookies in the value of a Cookie or Set-Cookie field, and keeps
// the existing ones.
func (h *header) addCookies(role http1.Role, value []byte) {
	h.ensureOwned()
	h.moveCookies(role)
	value = withoutLineBreaks(value)
	if role == http1.Request {
		cookie.AppendPairs(&h.cookies, value)
	} else {
		h.appendSetCookie(value)
	}
}

// setCookie sets the value of the cookie name, which replaces the value of an existing
// one.
func (h *header) setCookie(role http1.Role, name, value []byte) {
	h.ensureOwned()
	h.moveCookies(role)
	if role == http1.Request {
		name, value = cookie.Cleaned(name), cookie.Cleaned(value)
	} else {
		// value is all of a Set-Cookie field
		name, value = withoutLineBreaks(name), withoutLineBreaks(value)
	}
	if i := h.cookies.Find(bytesconv.String(name), 0); i >= 0 {
		h.cookies.SetValue(i, bytesconv.String(value), 0)
		return
	}
	h.cookies.Add(bytesconv.String(name), bytesconv.String(value))
}

// cookie returns the value of the first cookie with that name, or nil.
func (h *header) cookie(role http1.Role, name string) []byte {
	h.copyCookies(role)
	for i := h.cookies.Find(name, 0); i >= 0; i = h.cookies.Find(name, i+1) {
		if h.cookies.Entries[i].Flags&field.BadValue == 0 {
			return h.cookies.Value(i)
		}
	}
	return nil
}

// hasCookie reports whether the request has a cookie with that name, even if no cookie can
// have its value.
func (h *header) hasCookie(name string) bool {
	h.copyCookies(http1.Request)
	return h.cookies.Find(name, 0) >= 0
}

func (h *header) delCookie(role http1.Role, name string) {
	h.ensureOwned()
	h.copyCookies(role)
	if h.cookies.Find(name, 0) >= 0 {
		h.moveCookies(role)
		h.cookies.RemoveAll(name)
	}
}

func (h *header) delAllCookies(role http1.Role) {
	h.moveCookies(role)
	h.cookies.Reset()
}

// peekCookies returns all cookies as one text, or the first Cookie field of a request that was
// received, or nil.
func (h *header) peekCookies(role http1.Role) []byte {
	if h.is(rawCookies) && role == http1.Request {
		if i := h.list.FindID(field.Cookie, 0); i >= 0 {
			return h.list.Value(i)
		}
	}
	return h.joinedCookies(role)
}

// joinedCookies returns the cookies of all fields as one text, or nil.
func (h *header) joinedCookies(role http1.Role) []byte {
	h.copyCookies(role)
	if h.cookies.Len() == 0 {
		return nil
	}
	text := h.scratch[scratchCookies][:0]
	if role == http1.Request {
		text = cookie.AppendText(text, &h.cookies)
	} else {
		for i := range h.cookies.Len() {
			if i > 0 {
				text = append(text, "; "...)
			}
			text = append(text, h.cookies.Value(i)...)
		}
	}
	h.scratch[scratchCookies] = text
	return text
}

// peekAllCookies returns the values of the Cookie or Set-Cookie fields that
// will be written.
func (h *header) peekAllCookies(role http1.Role) [][]byte {
	if role == http1.Request {
		if v := h.peekCookies(role); v != nil {
			h.peeked = append(h.peeked, v)
		}
		return h.peeked
	}
	for i := range h.cookies.Len() {
		h.peeked = append(h.peeked, h.cookies.Value(i))
	}
	return h.peeked
}

// eachCookie calls yield for every cookie until it returns false.
func (h *header) eachCookie(role http1.Role, yield func(name, value []byte) bool) {
	h.copyCookies(role)
	for i := range h.cookies.Len() {
		if h.cookies.Entries[i].Flags&field.BadValue != 0 {
			continue
		}
		if !yield(h.cookies.Name(i), h.cookies.Value(i)) {
			return
		}
	}
}
