package fasthttp

import (
	"bytes"
	"math"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/httpdate"
)

func (c *Cookie) parse(src []byte) error {
	c.Reset()
	if len(src) == 0 {
		return ErrNoCookies
	}
	end := nextCookiePiece(src)
	name, value := cutCookiePiece(src[:end])
	value, ok := unquoteCookieValue(value)
	if !ok {
		return ErrInvalidCookieValue
	}
	c.SetKeyBytes(name)
	c.SetValueBytes(value)
	for end < len(src) {
		src = src[end+1:]
		end = nextCookiePiece(src)
		if err := c.parseAttribute(src[:end]); err != nil {
			return err
		}
	}
	return nil
}

// parseAttribute reads one piece of a Set-Cookie field behind the first.
func (c *Cookie) parseAttribute(piece []byte) error {
	name, text, ok := piece, []byte(nil), true
	equals := bytes.IndexByte(piece, '=')
	if equals >= 0 {
		name = piece[:equals]
		text, ok = unquoteCookieValue(ascii.Trim(piece[equals+1:]))
	}
	name = ascii.Trim(name)
	switch {
	case ascii.EqualFoldString(name, "expires"):
		if expire, ok := httpdate.ParseCookie(text); ok {
			c.expire = expire
		}
	case ascii.EqualFoldString(name, "max-age"):
		c.parseMaxAge(text)
	case ascii.EqualFoldString(name, "domain"):
		if !ok || ascii.HasControl(text) {
			return ErrInvalidCookieValue
		}
		c.SetDomainBytes(text)
	case ascii.EqualFoldString(name, "path"):
		// a path is taken as it is: neither decoded nor made normal
		if !isCookiePath(text) || ascii.HasControl(text) {
			return ErrInvalidCookieValue
		}
		c.path = setCookieText(c.path, text)
	case ascii.EqualFoldString(name, "httponly"):
		c.httpOnly = true
	case ascii.EqualFoldString(name, "secure"):
		c.secure = true
	case ascii.EqualFoldString(name, "partitioned"):
		c.partitioned = true
	case ascii.EqualFoldString(name, "samesite") && equals < 0:
		c.sameSite = CookieSameSiteDefaultMode
	case ascii.EqualFoldString(name, "samesite"):
		c.parseSameSite(text)
	}
	return nil
}

// parseMaxAge reads a number of seconds. Zero and all negative numbers delete
// the cookie (RFC 6265 section 5.2.2).
func (c *Cookie) parseMaxAge(text []byte) {
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	if len(digits) == 0 || !ascii.All(digits, ascii.Digit) {
		return
	}
	n, ok := ascii.ParseUint(digits)
	switch {
	case negative || ok && n == 0:
		c.maxAge = -1
	case ok:
		c.maxAge = n
	default:
		c.maxAge = math.MaxInt
	}
}

func (c *Cookie) parseSameSite(text []byte) {
	switch {
	case ascii.EqualFoldString(text, "lax"):
		c.sameSite = CookieSameSiteLaxMode
	case ascii.EqualFoldString(text, "strict"):
		c.sameSite = CookieSameSiteStrictMode
	case ascii.EqualFoldString(text, "none"):
		c.sameSite = CookieSameSiteNoneMode
	}
}

// isCookiePath reports whether all of b is visible ASCII or space: what RFC 6265
// section 4.1.1 lets stand in a path. Line breaks, which nothing that was received
// holds, become spaces as they do elsewhere.
func isCookiePath(b []byte) bool {
	for _, c := range b {
		if (c < 0x20 || c > 0x7e) && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}
