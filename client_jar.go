package fasthttp

import (
	"iter"
	"slices"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/cookie"
	"github.com/valyala/fasthttp/internal/field"
)

// CookieJar keeps the cookies of a client. The package fasthttpadaptor makes one
// of any net/http.CookieJar. Its methods may be called concurrently.
type CookieJar interface {
	// Cookies returns names and values of the cookies that are to be sent to
	// uri, which must not be changed, in the order in which they are sent. A name
	// may come more than once: cookies with longer paths come first then (RFC 6265
	// section 5.4). Quotes around a value are a part of it.
	Cookies(uri *URI) iter.Seq2[string, string]
	// SetCookies takes in the values of the Set-Cookie fields in a response
	// from uri, which must not be changed.
	SetCookies(uri *URI, values []string)
}

// lendCookies adds cookies whose names the header does not have yet, and returns
// those names.
func (h *RequestHeader) lendCookies(cookies iter.Seq2[string, string]) (added []string) {
	for name, value := range cookies {
		name = string(cookie.Cleaned(bytesconv.Bytes(name)))
		if !slices.Contains(added, name) {
			if h.Cookie(name) != nil {
				continue
			}
			added = append(added, name)
		}
		h.cookies.Add(bytesconv.Bytes(name), cookie.Cleaned(bytesconv.Bytes(value)), field.Unknown, 0)
	}
	return added
}

// callWithCookies adds the cookies of the jar to a call, and takes out those that
// it sets. A cookie that the caller has set goes before that of the jar. When
// the call is over, the request has its own cookies only.
func (c *HostClient) callWithCookies(req *Request, resp *Response) error {
	if resp == nil {
		resp = AcquireResponse()
		defer ReleaseResponse(resp)
	}
	h := &req.Header
	if !req.uriParsed {
		req.isTLS = c.IsTLS
	}
	uri := req.URI()
	added := h.lendCookies(c.Jar.Cookies(uri))
	err := c.callPlain(req, resp)
	for _, name := range added {
		h.DelCookie(name)
	}
	if err != nil {
		return err
	}
	var set []string
	for _, value := range resp.Header.PeekAll(HeaderSetCookie) {
		set = append(set, string(value))
	}
	if len(set) > 0 {
		c.Jar.SetCookies(uri, set)
	}
	return nil
}
