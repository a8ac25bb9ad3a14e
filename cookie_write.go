package fasthttp

import (
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/httpdate"
)

// AppendBytes appends the cookie as the value of a Set-Cookie field to dst and
// returns the extended slice.
func (c *Cookie) AppendBytes(dst []byte) []byte {
	if len(c.key) > 0 {
		dst = append(append(dst, c.key...), '=')
	}
	dst = append(dst, c.value...)
	dst = c.appendLifetime(dst)
	if len(c.domain) > 0 {
		dst = append(append(dst, "; domain="...), c.domain...)
	}
	if len(c.path) > 0 {
		dst = append(append(dst, "; path="...), c.path...)
	}
	if c.httpOnly {
		dst = append(dst, "; HttpOnly"...)
	}
	if c.Secure() {
		dst = append(dst, "; secure"...)
	}
	switch c.sameSite {
	case CookieSameSiteDefaultMode:
		dst = append(dst, "; SameSite"...)
	case CookieSameSiteLaxMode:
		dst = append(dst, "; SameSite=Lax"...)
	case CookieSameSiteStrictMode:
		dst = append(dst, "; SameSite=Strict"...)
	case CookieSameSiteNoneMode:
		dst = append(dst, "; SameSite=None"...)
	}
	if c.partitioned {
		dst = append(dst, "; Partitioned"...)
	}
	return dst
}

func (c *Cookie) appendLifetime(dst []byte) []byte {
	if c.maxAge != 0 {
		return ascii.AppendUint(append(dst, "; max-age="...), max(c.maxAge, 0))
	}
	if c.expire.IsZero() {
		return dst
	}
	return AppendHTTPDate(append(dst, "; expires="...), cookieTime(c.expire))
}

// cookieTime brings t into the years that clients understand: they take a year
// before the first one, or one of five digits, for no date at all, and the cookie
// would live on or die too early.
func cookieTime(t time.Time) time.Time {
	switch year := t.UTC().Year(); {
	case year < httpdate.FirstCookieYear:
		return CookieExpireDelete
	case year > 9999:
		return time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	}
	return t
}
