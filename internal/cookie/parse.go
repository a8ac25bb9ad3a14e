package cookie

import (
	"bytes"
	"math"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/httpdate"
)

// Parse sets c from src, the value of a Set-Cookie field. The error is ErrNone or
// ErrValue; after an error c is empty.
func (c *Set) Parse(src []byte) error {
	err := c.parse(src)
	if err != nil {
		c.Reset()
	}
	return err
}

func (c *Set) parse(src []byte) error {
	c.Reset()
	if len(src) == 0 {
		return ErrNone
	}
	end := nextPiece(src)
	name, value := cutPiece(src[:end])
	value, ok := unquote(value)
	if !ok {
		return ErrValue
	}
	c.Name = SetText(c.Name, name)
	c.Value = SetText(c.Value, value)
	for end < len(src) {
		src = src[end+1:]
		end = nextPiece(src)
		if err := c.parseAttribute(src[:end]); err != nil {
			return err
		}
	}
	return nil
}

// parseAttribute reads one piece of a Set-Cookie field after the first.
func (c *Set) parseAttribute(piece []byte) error {
	name, text, ok := piece, []byte(nil), true
	equals := bytes.IndexByte(piece, '=')
	if equals >= 0 {
		name = piece[:equals]
		text, ok = unquote(ascii.Trim(piece[equals+1:]))
	}
	name = ascii.Trim(name)
	switch {
	case ascii.EqualFoldString(name, "expires"):
		if expire, ok := httpdate.ParseCookie(text); ok {
			c.Expires = expire
		}
	case ascii.EqualFoldString(name, "max-age"):
		c.parseMaxAge(text)
	case ascii.EqualFoldString(name, "domain"):
		if !ok || ascii.HasControl(text) {
			return ErrValue
		}
		c.Domain = SetText(c.Domain, text)
	case ascii.EqualFoldString(name, "path"):
		// a path is kept unchanged, neither decoded nor normalized
		if !isPath(text) || ascii.HasControl(text) {
			return ErrValue
		}
		c.Path = SetText(c.Path, text)
	case ascii.EqualFoldString(name, "httponly"):
		c.HTTPOnly = true
	case ascii.EqualFoldString(name, "secure"):
		c.Secure = true
	case ascii.EqualFoldString(name, "partitioned"):
		c.Partitioned = true
	case ascii.EqualFoldString(name, "samesite") && equals < 0:
		c.SameSite = SameSiteDefault
	case ascii.EqualFoldString(name, "samesite"):
		c.parseSameSite(text)
	}
	return nil
}

// parseMaxAge reads a number of seconds. Zero and all negative numbers delete
// the cookie (RFC 6265 section 5.2.2).
func (c *Set) parseMaxAge(text []byte) {
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	if len(digits) == 0 || !ascii.All(digits, ascii.Digit) {
		return
	}
	n, ok := ascii.ParseUint(digits)
	switch {
	case negative || ok && n == 0:
		c.MaxAge = -1
	case ok:
		c.MaxAge = n
	default:
		c.MaxAge = math.MaxInt
	}
}

func (c *Set) parseSameSite(text []byte) {
	switch {
	case ascii.EqualFoldString(text, "lax"):
		c.SameSite = SameSiteLax
	case ascii.EqualFoldString(text, "strict"):
		c.SameSite = SameSiteStrict
	case ascii.EqualFoldString(text, "none"):
		c.SameSite = SameSiteNone
	}
}

// isPath reports whether all of b is visible ASCII or space, as RFC 6265 section
// 4.1.1 allows in a path. Line breaks, which received text never holds, become spaces
// as they do elsewhere.
func isPath(b []byte) bool {
	for _, c := range b {
		if (c < 0x20 || c > 0x7e) && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}
