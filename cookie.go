package fasthttp

import (
	"io"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/cookie"
	"github.com/valyala/fasthttp/internal/uri"
)

// Errors of [Cookie.Parse].
var (
	// ErrNoCookies says that the text was empty.
	ErrNoCookies = cookie.ErrNone
	// ErrInvalidCookieValue says that the value of the cookie, its domain or
	// its path holds a character that must not stand there.
	ErrInvalidCookieValue = cookie.ErrValue
)

var (
	// CookieExpireDelete is a time that lies in the past: a cookie that
	// expires then is deleted by the client.
	CookieExpireDelete = cookie.Past

	// CookieExpireUnlimited is the expiration time of a cookie that has none.
	// Clients keep it until their session ends.
	CookieExpireUnlimited = time.Time{}
)

// CookieSameSite says with which requests from other sites a client sends a
// cookie along: the SameSite attribute.
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
	// CookieSameSiteNoneMode writes SameSite=None, which clients take from
	// secure cookies only.
	CookieSameSiteNoneMode = CookieSameSite(cookie.SameSiteNone)
)

// Cookie is a cookie as a response sets it: the value of a Set-Cookie field.
//
// Semicolons, and control characters other than tabs, cannot stand in any part
// of a cookie. Where the setters and Parse meet one they put a space in its
// place; nothing else is changed. So no value of a cookie can add an attribute
// or a header field.
//
// The zero value is an empty cookie, ready for use. A Cookie must not be copied;
// use CopyTo. It must not be used by two goroutines at a time.
type Cookie struct {
	_ noCopy

	set cookie.Set

	// what Cookie returned last
	text []byte
}

// maxKeptCookie is the size over which the memory of a cookie is not kept for
// another use. Clients take no more than 4 KiB.
const maxKeptCookie = 16 << 10

var cookiePool = sync.Pool{New: func() any { return new(Cookie) }}

// AcquireCookie returns an empty Cookie from a pool. Hand it back with
// ReleaseCookie when it is no longer needed; one that is never handed back is
// only lost to the pool.
func AcquireCookie() *Cookie { return cookiePool.Get().(*Cookie) }

// ReleaseCookie hands a Cookie from AcquireCookie back. Neither it nor a slice
// that it returned may be used after that.
func ReleaseCookie(c *Cookie) {
	poisonCookie(c)
	c.Reset()
	if c.set.Cap()+cap(c.text) <= maxKeptCookie {
		cookiePool.Put(c)
	}
}

// Reset makes c an empty cookie without attributes.
func (c *Cookie) Reset() { c.set.Reset() }

// CopyTo makes c a copy of src: it copies in the direction that its name does
// not say.
func (c *Cookie) CopyTo(src *Cookie) { src.set.CopyTo(&c.set) }

// Key returns the name of the cookie. As with all slices that a Cookie
// returns, it is valid until the cookie is changed, reset or released, and is
// not to be written to.
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

// Domain returns the Domain attribute, empty if there is none.
func (c *Cookie) Domain() []byte { return c.set.Domain }

// SetDomain sets the Domain attribute. An empty one is left out.
func (c *Cookie) SetDomain(domain string) { c.SetDomainBytes(bytesconv.Bytes(domain)) }

// SetDomainBytes is SetDomain for bytes, which are copied.
func (c *Cookie) SetDomainBytes(domain []byte) { c.set.Domain = cookie.SetText(c.set.Domain, domain) }

// Path returns the Path attribute, empty if there is none.
func (c *Cookie) Path() []byte { return c.set.Path }

// SetPath sets the Path attribute to the decoded and normal form of path, as
// [URI.Path] has it: an empty path becomes "/".
func (c *Cookie) SetPath(path string) { c.SetPathBytes(bytesconv.Bytes(path)) }

// SetPathBytes is SetPath for bytes, which are copied.
func (c *Cookie) SetPathBytes(path []byte) {
	c.set.Path = uri.AppendNormalPath(c.set.Path[:0], path)
	cookie.Clean(c.set.Path)
}

// Expire returns when the cookie expires, CookieExpireUnlimited if it does
// not say.
func (c *Cookie) Expire() time.Time { return c.set.Expires }

// SetExpire sets when the cookie expires: CookieExpireDelete has the client
// delete it now, and CookieExpireUnlimited, the default, at the end of its
// session. Clients count in whole seconds.
func (c *Cookie) SetExpire(expire time.Time) { c.set.Expires = expire }

// MaxAge returns the lifetime of the cookie in seconds: 0 if it does not
// say, a negative number if the client is to delete it.
func (c *Cookie) MaxAge() int { return c.set.MaxAge }

// SetMaxAge sets the lifetime of the cookie in seconds. Where there is one it is
// written in place of the expiration time. A negative number has the client
// delete the cookie, and 0 leaves the attribute out: as in net/http.
func (c *Cookie) SetMaxAge(seconds int) { c.set.MaxAge = seconds }

// HTTPOnly reports whether scripts of the client cannot see the cookie.
func (c *Cookie) HTTPOnly() bool { return c.set.HTTPOnly }

// SetHTTPOnly sets whether scripts of the client cannot see the cookie.
func (c *Cookie) SetHTTPOnly(httpOnly bool) { c.set.HTTPOnly = httpOnly }

// Secure reports whether the client sends the cookie over TLS only. A partitioned
// cookie is always secure: clients take no other ones.
func (c *Cookie) Secure() bool { return c.set.IsSecure() }

// SetSecure sets whether the client sends the cookie over TLS only.
func (c *Cookie) SetSecure(secure bool) { c.set.Secure = secure }

// SameSite returns with which requests from other sites the cookie is sent.
func (c *Cookie) SameSite() CookieSameSite { return CookieSameSite(c.set.SameSite) }

// SetSameSite sets with which requests from other sites the cookie is sent.
// CookieSameSiteNoneMode makes it secure as well; clients refuse it otherwise.
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
// embeds this one. Where they do, the cookie also becomes secure and its path
// "/"; clients refuse it otherwise.
func (c *Cookie) SetPartitioned(partitioned bool) {
	c.set.Partitioned = partitioned
	if partitioned {
		c.set.Secure = true
		c.set.Path = append(c.set.Path[:0], '/')
	}
}

// Parse makes c the cookie that src, the value of a Set-Cookie field, sets. See
// ParseBytes.
func (c *Cookie) Parse(src string) error { return c.ParseBytes(bytesconv.Bytes(src)) }

// ParseBytes makes c the cookie that src, the value of a Set-Cookie field, sets.
//
// It is as lenient as clients are: attributes are matched without regard to
// case, the last one of several counts, and attributes that are unknown, or have
// a value that is no date or number, are passed over. A cookie without an equals
// sign is a value without a name. Quotes around a value are taken off.
//
// The error is ErrNoCookies or ErrInvalidCookieValue. After one c is empty.
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
