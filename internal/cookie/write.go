package cookie

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/httpdate"
)

// Append appends the cookie as the value of a Set-Cookie field.
func (c *Set) Append(dst []byte) []byte {
	if len(c.Name) > 0 || bytes.IndexByte(c.Value, '=') >= 0 {
		// without it the value would begin with a name
		dst = append(append(dst, c.Name...), '=')
	}
	dst = append(dst, c.Value...)
	dst = c.appendLifetime(dst)
	if len(c.Domain) > 0 {
		dst = append(append(dst, "; domain="...), c.Domain...)
	}
	if len(c.Path) > 0 {
		dst = append(append(dst, "; path="...), c.Path...)
	}
	if c.HTTPOnly {
		dst = append(dst, "; HttpOnly"...)
	}
	if c.IsSecure() {
		dst = append(dst, "; secure"...)
	}
	switch c.SameSite {
	case SameSiteDefault:
		dst = append(dst, "; SameSite"...)
	case SameSiteLax:
		dst = append(dst, "; SameSite=Lax"...)
	case SameSiteStrict:
		dst = append(dst, "; SameSite=Strict"...)
	case SameSiteNone:
		dst = append(dst, "; SameSite=None"...)
	}
	if c.Partitioned {
		dst = append(dst, "; Partitioned"...)
	}
	return dst
}

func (c *Set) appendLifetime(dst []byte) []byte {
	if c.MaxAge != 0 {
		return ascii.AppendUint(append(dst, "; max-age="...), max(c.MaxAge, 0))
	}
	if c.Expires.IsZero() {
		return dst
	}
	return httpdate.Append(append(dst, "; expires="...), cookieTime(c.Expires))
}

// Past is a time in the past: a cookie that expires then is deleted.
var Past = time.Date(2009, time.November, 10, 23, 0, 0, 0, time.UTC)

// cookieTime brings t into the years that clients understand: they ignore a date
// with a year before the first one, or of five digits, and the cookie would live on
// or die too early.
func cookieTime(t time.Time) time.Time {
	switch year := t.UTC().Year(); {
	case year < httpdate.FirstCookieYear:
		return Past
	case year > 9999:
		return time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	}
	return t
}
