package fasthttp

import (
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/cookie"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// collectCookies moves the cookies of a received head from list into cookies. Until
// it is called, they stay as they were received.
func (h *header) collectCookies(role http1.Role) {
	if h.is(rawCookies) {
		h.parseCookies(role)
	}
}

func (h *header) parseCookies(role http1.Role) {
	h.state &^= rawCookies
	id := cookieField(role)
	for i := h.list.FindID(id, 0); i >= 0; i = h.list.FindID(id, i+1) {
		h.addCookies(role, h.list.Value(i))
	}
	if !h.is(noSpecial) {
		h.removeID(id)
	}
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
	h.own()
	h.collectCookies(role)
	value = cleaned(value)
	if role == http1.Request {
		cookie.AppendPairs(&h.cookies, value)
	} else {
		h.cookies.Add(bytesconv.String(cookie.NameIn(value)), bytesconv.String(value))
	}
}

// setCookie sets the value of the cookie name, which replaces that of an existing one.
func (h *header) setCookie(role http1.Role, name, value []byte) {
	h.own()
	h.collectCookies(role)
	if role == http1.Request {
		name, value = cookie.Cleaned(name), cookie.Cleaned(value)
	} else {
		// value is all of a Set-Cookie field
		name, value = cleaned(name), cleaned(value)
	}
	if i := h.cookies.Find(bytesconv.String(name), 0); i >= 0 {
		h.cookies.SetValue(i, bytesconv.String(value), 0)
		return
	}
	h.cookies.Add(bytesconv.String(name), bytesconv.String(value))
}

// cookie returns the value of the first cookie with that name, or nil.
func (h *header) cookie(role http1.Role, name string) []byte {
	h.collectCookies(role)
	return h.cookies.Get(name)
}

func (h *header) delCookie(role http1.Role, name string) {
	h.own()
	h.collectCookies(role)
	h.cookies.RemoveAll(name)
}

func (h *header) delAllCookies(role http1.Role) {
	h.collectCookies(role)
	h.cookies.Reset()
}

// peekCookies returns all cookies as one text, or nil.
func (h *header) peekCookies(role http1.Role) []byte {
	if h.is(rawCookies) && role == http1.Request {
		if i := h.list.FindID(field.Cookie, 0); i >= 0 {
			return h.list.Value(i)
		}
	}
	h.collectCookies(role)
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
	h.collectCookies(role)
	for i := range h.cookies.Len() {
		if !yield(h.cookies.Name(i), h.cookies.Value(i)) {
			return
		}
	}
}
