package fasthttp

import (
	"io"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/cookie"
	"github.com/valyala/fasthttp/internal/uri"
)

// Errors of [Cookie.Parse].
var (
	// ErrNoCookies is returned if the text is empty.
	ErrNoCookies = cookie.ErrNone
	// ErrInvalidCookieValue is returned if the value of the cookie, its domain or its
	// path contains a forbidden character.
	ErrInvalidCookieValue = cookie.ErrValue
)

var (
	// CookieExpireDelete is a time in the past: a client deletes a cookie with
	// this expiration time.
	CookieExpireDelete = cookie.Past

	// CookieExpireUnlimited is the zero Time: the cookie has no expiration time,
	// and clients keep it until their session ends.
	CookieExpireUnlimited = time.Time{}
)

// CookieSameSite is the SameSite attribute. It determines with which requests from
// other sites a client sends the cookie.
type CookieSameSite int

const (
	// CookieSameSiteDisabled leaves the attribute out.
	CookieSameSiteDisabled = CookieSameSite(cookie.SameSiteNot)
	// CookieSameSiteDefaultMode writes the attribute without a value.
	CookieSameSiteDefaultMode = CookieSameSite(cookie.SameSiteDefault)
	// CookieSameSiteLaxMode writes SameSite=Lax.
	CookieSameSiteLaxMode = CookieSameSite(cookie.SameSiteLax)
	// CookieSameSiteStrictMode writes SameSite=Strict.
	CookieSameSiteStrictMode = CookieSameSite(cookie.SameSiteStrict)
	// CookieSameSiteNoneMode writes SameSite=None, which clients accept only in
	// secure cookies.
	CookieSameSiteNoneMode = CookieSameSite(cookie.SameSiteNone)
)

// Cookie is a cookie as a response sets it: the value of a Set-Cookie field.
//
// The setters and Parse replace semicolons, and control characters other than tabs,
// with spaces in all parts of a cookie. They change nothing else. So no value of a
// cookie can add an attribute or a header field.
//
// The zero value is an empty cookie, ready for use. A Cookie must not be copied; use
// CopyTo. It must not be used by two goroutines at once.
type Cookie struct {
	_ noCopy

	set cookie.Set

	// the last result of the method Cookie
	text []byte
}

// maxKeptCookie is the size in bytes over which a released cookie does not go back to
// the pool. Clients accept no more than 4 KiB.
const maxKeptCookie = 16 << 10

var cookiePool = sync.Pool{New: func() any { return new(Cookie) }}

// AcquireCookie returns an empty Cookie from a pool. Return it with ReleaseCookie
// when it is no longer needed. If it is never returned, the garbage collector frees
// it.
func AcquireCookie() *Cookie { return cookiePool.Get().(*Cookie) }

// ReleaseCookie returns a Cookie from AcquireCookie to the pool. Neither it nor a
// slice that its methods returned may be used after that.
func ReleaseCookie(c *Cookie) {
	c.poison()
	c.Reset()
	if c.set.Cap()+cap(c.text) <= maxKeptCookie {
		cookiePool.Put(c)
	}
}

// Reset makes c an empty cookie without attributes.
func (c *Cookie) Reset() { c.set.Reset() }

// CopyTo makes c a copy of src. Despite its name it copies from its argument.
func (c *Cookie) CopyTo(src *Cookie) { src.set.CopyTo(&c.set) }

// Key returns the name of the cookie. Like all slices that methods of Cookie return,
// it is valid until the cookie is changed, reset or released, and must not be
// modified.
func (c *Cookie) Key() []byte { return c.set.Name }

// SetKey sets the name of the cookie.
func (c *Cookie) SetKey(key string) { c.SetKeyBytes(bytesconv.Bytes(key)) }

// SetKeyBytes is SetKey for bytes, which are copied.
func (c *Cookie) SetKeyBytes(key []byte) { c.set.Name = cookie.SetText(c.set.Name, key) }

// Value returns the value of the cookie.
func (c *Cookie) Value() []byte { return c.set.Value }

// SetValue sets the value of the cookie.
func (c *Cookie) SetValue(value string) { c.SetValueBytes(bytesconv.Bytes(value)) }

// SetValueBytes is SetValue for bytes, which are copied.
func (c *Cookie) SetValueBytes(value []byte) { c.set.Value = cookie.SetText(c.set.Value, value) }

// Domain returns the Domain attribute; it is empty if there is none.
func (c *Cookie) Domain() []byte { return c.set.Domain }

// SetDomain sets the Domain attribute. If domain is empty, it is not written.
func (c *Cookie) SetDomain(domain string) { c.SetDomainBytes(bytesconv.Bytes(domain)) }

// SetDomainBytes is SetDomain for bytes, which are copied.
func (c *Cookie) SetDomainBytes(domain []byte) { c.set.Domain = cookie.SetText(c.set.Domain, domain) }

// Path returns the Path attribute; it is empty if there is none.
func (c *Cookie) Path() []byte { return c.set.Path }

// SetPath sets the Path attribute to the decoded and normalized form of path, as
// [URI.Path] returns it. An empty path becomes "/".
func (c *Cookie) SetPath(path string) { c.SetPathBytes(bytesconv.Bytes(path)) }

// SetPathBytes is SetPath for bytes, which are copied.
func (c *Cookie) SetPathBytes(path []byte) {
	c.set.Path = uri.AppendNormalPath(c.set.Path[:0], path)
	cookie.Clean(c.set.Path)
}

// Expire returns the expiration time of the cookie, or CookieExpireUnlimited if it
// has none.
func (c *Cookie) Expire() time.Time { return c.set.Expires }

// SetExpire sets the expiration time of the cookie, which is written in whole
// seconds. With CookieExpireDelete the client deletes the cookie at once, with
// CookieExpireUnlimited, the default, at the end of its session.
func (c *Cookie) SetExpire(expire time.Time) { c.set.Expires = expire }

// MaxAge returns the lifetime of the cookie in seconds, 0 if it has none, or a negative
// number if the client must delete it.
func (c *Cookie) MaxAge() int { return c.set.MaxAge }

// SetMaxAge sets the lifetime of the cookie in seconds. If it is not 0, it is written
// instead of the expiration time. As in net/http, a negative number makes the client
// delete the cookie, and 0 omits the attribute.
func (c *Cookie) SetMaxAge(seconds int) { c.set.MaxAge = seconds }

// HTTPOnly reports whether scripts of the client cannot see the cookie.
func (c *Cookie) HTTPOnly() bool { return c.set.HTTPOnly }

// SetHTTPOnly sets whether scripts of the client cannot see the cookie.
func (c *Cookie) SetHTTPOnly(httpOnly bool) { c.set.HTTPOnly = httpOnly }

// Secure reports whether the client sends the cookie over TLS only. A partitioned
// cookie is always secure: clients accept no others.
func (c *Cookie) Secure() bool { return c.set.IsSecure() }

// SetSecure sets whether the client sends the cookie over TLS only.
func (c *Cookie) SetSecure(secure bool) { c.set.Secure = secure }

// SameSite returns the SameSite attribute.
func (c *Cookie) SameSite() CookieSameSite { return CookieSameSite(c.set.SameSite) }

// SetSameSite sets the SameSite attribute. CookieSameSiteNoneMode makes the cookie
// secure as well; clients refuse it otherwise.
func (c *Cookie) SetSameSite(mode CookieSameSite) {
	c.set.SameSite = cookie.SameSite(mode)
	if mode == CookieSameSiteNoneMode {
		c.set.Secure = true
	}
}

// Partitioned reports whether clients keep the cookie apart for each site that
// embeds this one.
func (c *Cookie) Partitioned() bool { return c.set.Partitioned }

// SetPartitioned sets whether clients keep the cookie apart for each site that
// embeds this one. If partitioned is true, the cookie also becomes secure and its
// path "/"; clients refuse it otherwise.
func (c *Cookie) SetPartitioned(partitioned bool) {
	c.set.Partitioned = partitioned
	if partitioned {
		c.set.Secure = true
		c.set.Path = append(c.set.Path[:0], '/')
	}
}

// Parse is like [Cookie.ParseBytes], but takes a string.
func (c *Cookie) Parse(src string) error { return c.ParseBytes(bytesconv.Bytes(src)) }

// ParseBytes parses src, the value of a Set-Cookie field, into c.
//
// It is as lenient as clients are. The case of attribute names does not matter, and the
// last of several attributes with a name counts. Unknown attributes, and attributes
// whose value is not the required date or number, are ignored. A cookie without an
// equals sign is a value without a name. Quotes around a value are removed.
//
// The error is ErrNoCookies or ErrInvalidCookieValue; c is empty then.
func (c *Cookie) ParseBytes(src []byte) error { return c.set.Parse(src) }

// AppendBytes appends the cookie as the value of a Set-Cookie field to dst and
// returns the extended slice.
func (c *Cookie) AppendBytes(dst []byte) []byte { return c.set.Append(dst) }

// Cookie returns the cookie as the value of a Set-Cookie field. The result is
// valid until the next call of Cookie, String or WriteTo, or until c is
// released.
func (c *Cookie) Cookie() []byte {
	c.text = c.AppendBytes(c.text[:0])
	return c.text
}

// String returns the cookie as the value of a Set-Cookie field.
func (c *Cookie) String() string { return string(c.Cookie()) }

// WriteTo writes the cookie as the value of a Set-Cookie field to w, with one call of
// Write, whose error it returns. It implements io.WriterTo.
func (c *Cookie) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(c.Cookie())
	return int64(n), err
}

// poison is Request.poison for a cookie.
func (c *Cookie) poison() {
	if !bufpool.Poisons {
		return
	}
	for _, text := range [][]byte{c.set.Name, c.set.Value, c.set.Domain, c.set.Path, c.text} {
		bufpool.Poison(text)
	}
}
