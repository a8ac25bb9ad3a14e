package fasthttpadaptor

import (
	"iter"
	"net/http"
	"net/url"

	"github.com/valyala/fasthttp"
)

// NewCookieJar makes jar, such as one of net/http/cookiejar, the jar of a
// fasthttp.Client or HostClient.
func NewCookieJar(jar http.CookieJar) fasthttp.CookieJar { return cookieJar{jar} }

type cookieJar struct{ jar http.CookieJar }

// Cookies implements fasthttp.CookieJar.
func (j cookieJar) Cookies(uri *fasthttp.URI) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		u, err := url.Parse(string(uri.FullURI()))
		if err != nil {
			return
		}
		for _, c := range j.jar.Cookies(u) {
			value := c.Value
			if c.Quoted {
				// the server has set the value with quotes
				value = `"` + value + `"`
			}
			if !yield(c.Name, value) {
				return
			}
		}
	}
}

// SetCookies implements fasthttp.CookieJar.
func (j cookieJar) SetCookies(uri *fasthttp.URI, values []string) {
	u, err := url.Parse(string(uri.FullURI()))
	if err != nil {
		return
	}
	var cookies []*http.Cookie
	for _, value := range values {
		// malformed cookies are ignored, as in net/http
		if c, err := http.ParseSetCookie(value); err == nil {
			cookies = append(cookies, c)
		}
	}
	if len(cookies) > 0 {
		j.jar.SetCookies(u, cookies)
	}
}
