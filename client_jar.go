package fasthttp

import (
	"iter"
)

// CookieJar keeps the cookies of a client. The package fasthttpadaptor makes one
// of any net/http.CookieJar. Its methods may be called concurrently.
type CookieJar interface {
	// Cookies returns names and values of the cookies that are to be sent to
	// uri, which must not be changed.
	Cookies(uri *URI) iter.Seq2[string, string]
	// SetCookies takes in the values of the Set-Cookie fields in a response
	// from uri, which must not be changed.
	SetCookies(uri *URI, values []string)
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
	var added []string
	for name, value := range c.Jar.Cookies(uri) {
		if h.Cookie(name) == nil {
			h.SetCookie(name, value)
			added = append(added, name)
		}
	}
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
