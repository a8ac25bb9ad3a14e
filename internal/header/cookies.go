package header

import (
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/cookie"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// MoveCookies moves the cookies of a received head from list into cookies, which are to
// be changed. Until it is called, they are sent as they were received.
func (h *Header) MoveCookies(role http1.Role) {
	if !h.Is(rawCookies) {
		return
	}
	h.copyCookies(role)
	h.State &^= rawCookies | seenCookies
	if !h.Is(NoSpecial) {
		h.RemoveID(cookieField(role))
	}
}

// copyCookies copies the cookies of a received head from list into cookies, which are not
// to be changed.
func (h *Header) copyCookies(role http1.Role) {
	if h.State&(rawCookies|seenCookies) == rawCookies {
		h.parseCookies(role)
	}
}

func (h *Header) parseCookies(role http1.Role) {
	h.ensureOwned()
	h.State |= seenCookies
	id := cookieField(role)
	for i := h.List.FindID(id, 0); i >= 0; i = h.List.FindID(id, i+1) {
		value := withoutLineBreaks(h.List.Value(i))
		if role == http1.Request {
			cookie.AppendReceived(&h.Cookies, value)
		} else {
			h.appendSetCookie(value)
		}
	}
}

// appendSetCookie adds the value of a Set-Cookie field.
func (h *Header) appendSetCookie(value []byte) {
	h.Cookies.Add(bytesconv.String(cookie.NameIn(value)), bytesconv.String(value))
}

func cookieField(role http1.Role) field.ID {
	if role == http1.Request {
		return field.Cookie
	}
	return field.SetCookie
}

// addCookies adds the cookies in the value of a Cookie or Set-Cookie field, and keeps
// the existing ones.
func (h *Header) addCookies(role http1.Role, value []byte) {
	h.ensureOwned()
	h.MoveCookies(role)
	value = withoutLineBreaks(value)
	if role == http1.Request {
		cookie.AppendPairs(&h.Cookies, value)
	} else {
		h.appendSetCookie(value)
	}
}

// SetCookie sets the value of the cookie name, which replaces the value of an existing
// one.
func (h *Header) SetCookie(role http1.Role, name, value []byte) {
	h.ensureOwned()
	h.MoveCookies(role)
	if role == http1.Request {
		name, value = cookie.Cleaned(name), cookie.Cleaned(value)
	} else {
		// value is all of a Set-Cookie field
		name, value = withoutLineBreaks(name), withoutLineBreaks(value)
	}
	if i := h.Cookies.Find(bytesconv.String(name), 0); i >= 0 {
		h.Cookies.SetValue(i, bytesconv.String(value), 0)
		return
	}
	h.Cookies.Add(bytesconv.String(name), bytesconv.String(value))
}

// Cookie returns the value of the first cookie with that name, or nil.
func (h *Header) Cookie(role http1.Role, name string) []byte {
	h.copyCookies(role)
	for i := h.Cookies.Find(name, 0); i >= 0; i = h.Cookies.Find(name, i+1) {
		if h.Cookies.Entries[i].Flags&field.BadValue == 0 {
			return h.Cookies.Value(i)
		}
	}
	return nil
}

// HasCookie reports whether the request has a cookie with that name, even if no cookie can
// have its value.
func (h *Header) HasCookie(name string) bool {
	h.copyCookies(http1.Request)
	return h.Cookies.Find(name, 0) >= 0
}

// DelCookie removes the cookies with that name.
func (h *Header) DelCookie(role http1.Role, name string) {
	h.ensureOwned()
	h.copyCookies(role)
	if h.Cookies.Find(name, 0) >= 0 {
		h.MoveCookies(role)
		h.Cookies.RemoveAll(name)
	}
}

// DelAllCookies removes all cookies.
func (h *Header) DelAllCookies(role http1.Role) {
	h.MoveCookies(role)
	h.Cookies.Reset()
}

// peekCookies returns all cookies as one text, or the first Cookie field of a request that was
// received, or nil.
func (h *Header) peekCookies(role http1.Role) []byte {
	if h.Is(rawCookies) && role == http1.Request {
		if i := h.List.FindID(field.Cookie, 0); i >= 0 {
			return h.List.Value(i)
		}
	}
	return h.joinedCookies(role)
}

// joinedCookies returns the cookies of all fields as one text, or nil.
func (h *Header) joinedCookies(role http1.Role) []byte {
	h.copyCookies(role)
	if h.Cookies.Len() == 0 {
		return nil
	}
	text := h.Scratch[scratchCookies][:0]
	if role == http1.Request {
		text = cookie.AppendText(text, &h.Cookies)
	} else {
		for i := range h.Cookies.Len() {
			if i > 0 {
				text = append(text, "; "...)
			}
			text = append(text, h.Cookies.Value(i)...)
		}
	}
	h.Scratch[scratchCookies] = text
	return text
}

// peekAllCookies returns the values of the Cookie or Set-Cookie fields that
// will be written.
func (h *Header) peekAllCookies(role http1.Role) [][]byte {
	if role == http1.Request {
		if v := h.peekCookies(role); v != nil {
			h.Peeked = append(h.Peeked, v)
		}
		return h.Peeked
	}
	for i := range h.Cookies.Len() {
		h.Peeked = append(h.Peeked, h.Cookies.Value(i))
	}
	return h.Peeked
}

// EachCookie calls yield for every cookie until it returns false.
func (h *Header) EachCookie(role http1.Role, yield func(name, value []byte) bool) {
	h.copyCookies(role)
	for i := range h.Cookies.Len() {
		if h.Cookies.Entries[i].Flags&field.BadValue != 0 {
			continue
		}
		if !yield(h.Cookies.Name(i), h.Cookies.Value(i)) {
			return
		}
	}
}
