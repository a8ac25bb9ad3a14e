package fasthttp

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/uri"
)

// maxGetRedirects is how many redirects Get and Post follow.
const maxGetRedirects = 16

// defaultClient is the client of the functions of the package.
var defaultClient Client

// Do calls Client.Do on the client of the package.
func Do(req *Request, resp *Response) error { return defaultClient.Do(req, resp) }

// DoTimeout calls Client.DoTimeout on the client of the package.
func DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	return defaultClient.DoTimeout(req, resp, timeout)
}

// DoDeadline calls Client.DoDeadline on the client of the package.
func DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return defaultClient.DoDeadline(req, resp, deadline)
}

// DoRedirects calls Client.DoRedirects on the client of the package.
func DoRedirects(req *Request, resp *Response, maxRedirectsCount int) error {
	return defaultClient.DoRedirects(req, resp, maxRedirectsCount)
}

// Get calls Client.Get on the client of the package.
func Get(dst []byte, url string) (statusCode int, body []byte, err error) {
	return defaultClient.Get(dst, url)
}

// GetTimeout calls Client.GetTimeout on the client of the package.
func GetTimeout(dst []byte, url string, timeout time.Duration) (statusCode int, body []byte, err error) {
	return defaultClient.GetTimeout(dst, url, timeout)
}

// GetDeadline calls Client.GetDeadline on the client of the package.
func GetDeadline(dst []byte, url string, deadline time.Time) (statusCode int, body []byte, err error) {
	return defaultClient.GetDeadline(dst, url, deadline)
}

// Post calls Client.Post on the client of the package.
func Post(dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return defaultClient.Post(dst, url, postArgs)
}

// Get sends a GET request for url and returns the status and the body of the response.
// The body is in dst, whose content it replaces, or in a larger slice; it belongs to
// the caller. Get follows up to 16 redirects. It returns the errors of DoRedirects; a
// status is never an error.
func (c *Client) Get(dst []byte, url string) (statusCode int, body []byte, err error) {
	return getURL(noContext, c, dst, url, time.Time{})
}

// GetTimeout is Get with one timeout for the whole call, including redirects. The error
// is ErrTimeout when it is over.
func (c *Client) GetTimeout(dst []byte, url string, timeout time.Duration) (statusCode int, body []byte, err error) {
	return getTimeout(c, dst, url, timeout)
}

// GetDeadline is Get with a deadline, at which it returns ErrTimeout at the latest.
func (c *Client) GetDeadline(dst []byte, url string, deadline time.Time) (statusCode int, body []byte, err error) {
	return getURL(noContext, c, dst, url, deadline)
}

// Post sends postArgs as a form to url, or an empty form if postArgs is nil. It returns
// the same results and errors as Get.
func (c *Client) Post(dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return postURL(noContext, c, dst, url, postArgs)
}

// Get sends a GET request for url and returns the status and the body of the response.
// The body is in dst, whose content it replaces, or in a larger slice; it belongs to
// the caller. Get follows up to 16 redirects. It returns the errors of DoRedirects; a
// status is never an error.
func (c *HostClient) Get(dst []byte, url string) (statusCode int, body []byte, err error) {
	return getURL(noContext, c, dst, url, time.Time{})
}

// GetTimeout is Get with one timeout for the whole call, including redirects. The error
// is ErrTimeout when it is over.
func (c *HostClient) GetTimeout(dst []byte, url string, timeout time.Duration) (statusCode int, body []byte, err error) {
	return getTimeout(c, dst, url, timeout)
}

// GetDeadline is Get with a deadline, at which it returns ErrTimeout at the latest.
func (c *HostClient) GetDeadline(dst []byte, url string, deadline time.Time) (statusCode int, body []byte, err error) {
	return getURL(noContext, c, dst, url, deadline)
}

// Post sends postArgs as a form to url, or an empty form if postArgs is nil. It returns
// the same results and errors as Get.
func (c *HostClient) Post(dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return postURL(noContext, c, dst, url, postArgs)
}

// caller is a client on which calls of more than one request are built.
type caller interface {
	call(ctx context.Context, req *Request, resp *Response, deadline time.Time) error
	redirectPolicy() RedirectPolicy
	timeLimit(req *Request) time.Duration
}

func getTimeout(c caller, dst []byte, url string, timeout time.Duration) (int, []byte, error) {
	if timeout <= 0 {
		return 0, dst, ErrTimeout
	}
	return getURL(noContext, c, dst, url, time.Now().Add(timeout))
}

// getURL is all forms of Get. ctx may be nil.
func getURL(ctx context.Context, c caller, dst []byte, url string, deadline time.Time) (int, []byte, error) {
	req := AcquireRequest()
	defer ReleaseRequest(req)
	req.SetRequestURI(url)
	return fetch(ctx, c, dst, req, deadline)
}

// postURL is all forms of Post.
func postURL(ctx context.Context, c caller, dst []byte, url string, args *Args) (int, []byte, error) {
	req := AcquireRequest()
	defer ReleaseRequest(req)
	req.Header.SetMethod(MethodPost)
	req.Header.SetContentTypeBytes(strFormURL)
	if args != nil {
		req.SetBodyRaw(args.QueryString())
	}
	req.SetRequestURI(url)
	return fetch(ctx, c, dst, req, time.Time{})
}

// fetch sends req, follows redirects, and reads the body into dst.
func fetch(ctx context.Context, c caller, dst []byte, req *Request, deadline time.Time) (int, []byte, error) {
	resp := AcquireResponse()
	defer ReleaseResponse(resp)
	req.call.content = contentBuffered
	defer func() { req.call.content = contentAsSet }()
	err := followRedirects(ctx, c, req, resp, deadline, maxGetRedirects)
	if err != nil {
		return 0, dst, err
	}
	return resp.StatusCode(), append(dst[:0], resp.Body()...), nil
}

// noContext is the context of a call that has no context to check.
var noContext context.Context

// DoContext is Do with a context. When the context ends, the call ends, whatever it
// is waiting for, and returns the error of the context, which wraps its cause. The
// deadline of the context, the timeout of the request and the timeouts of the client
// all count; the earliest applies.
//
// If the response has a body stream, the context also ends that stream.
func (c *HostClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.call(ctx, req, resp, time.Time{})
}

// DoContext is Do with a context. When the context ends, the call ends, whatever it
// is waiting for, and returns the error of the context, which wraps its cause. The
// deadline of the context, the timeout of the request and the timeouts of the client
// all count; the earliest applies.
//
// If the response has a body stream, the context also ends that stream.
func (c *Client) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.call(ctx, req, resp, time.Time{})
}

// GetContext is Get with a context.
func (c *HostClient) GetContext(ctx context.Context, dst []byte, url string) (statusCode int, body []byte, err error) {
	return getURL(ctx, c, dst, url, time.Time{})
}

// GetContext is Get with a context.
func (c *Client) GetContext(ctx context.Context, dst []byte, url string) (statusCode int, body []byte, err error) {
	return getURL(ctx, c, dst, url, time.Time{})
}

// PostContext is Post with a context.
func (c *HostClient) PostContext(ctx context.Context, dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return postURL(ctx, c, dst, url, postArgs)
}

// PostContext is Post with a context.
func (c *Client) PostContext(ctx context.Context, dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return postURL(ctx, c, dst, url, postArgs)
}

// DoContext is Do with a context, on the client of the package. See
// Client.DoContext.
func DoContext(ctx context.Context, req *Request, resp *Response) error {
	return defaultClient.DoContext(ctx, req, resp)
}

// GetContext is Get with a context, on the client of the package.
func GetContext(ctx context.Context, dst []byte, url string) (statusCode int, body []byte, err error) {
	return defaultClient.GetContext(ctx, dst, url)
}

// PostContext is Post with a context, on the client of the package.
func PostContext(ctx context.Context, dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return defaultClient.PostContext(ctx, dst, url, postArgs)
}

// RedirectPolicy is called before a redirect is followed. next is the request that will
// be sent, which it may change; resp is the response that redirects to it, and count
// the number of redirects, including this one.
//
// An error ends the call with that error, except for ErrUseLastResponse, which
// makes it return resp as the response.
type RedirectPolicy func(next *Request, resp *Response, count int) error

// ErrUseLastResponse is returned by a RedirectPolicy to give the redirect itself to the
// caller.
var ErrUseLastResponse = errors.New("fasthttp: the redirect is not to be followed")

// DoRedirects is Do that follows redirects, maxRedirectsCount of them at most; after
// that it returns ErrTooManyRedirects.
//
// After 301 and 302 a POST becomes a GET, after 303 every method but HEAD does; after
// 307 and 308 the same request is sent again. If the body is a stream,
// Request.GetBody must return it anew: without that function the error is
// ErrRedirectBodyStream. A redirect to another origin, which is another scheme, host
// or port, is followed without Authorization, Cookie and Proxy-Authorization. A
// redirect to a scheme other than http and https is an error. The timeout of the
// request covers all requests together.
//
// Afterwards req has the URI of the last request, or of a redirect that was refused with an
// error; everything else in it is unchanged. A redirect without a fragment keeps the fragment.
func (c *Client) DoRedirects(req *Request, resp *Response, maxRedirectsCount int) error {
	return followRedirects(noContext, c, req, resp, time.Time{}, maxRedirectsCount)
}

// DoRedirects is Do that follows redirects, as Client.DoRedirects does. All
// requests go to Addr, whatever host a redirect names: so the ones to another origin than the
// first are made without Jar, unless AbsoluteForm has an effect. A redirect that changes the
// scheme cannot be followed: the error is ErrHostClientRedirectToDifferentScheme.
func (c *HostClient) DoRedirects(req *Request, resp *Response, maxRedirectsCount int) error {
	return followRedirects(noContext, c, req, resp, time.Time{}, maxRedirectsCount)
}

// DoRedirectsContext is DoRedirects with a context.
func (c *Client) DoRedirectsContext(ctx context.Context, req *Request, resp *Response, maxRedirectsCount int) error {
	return followRedirects(ctx, c, req, resp, time.Time{}, maxRedirectsCount)
}

// DoRedirectsContext is DoRedirects with a context.
func (c *HostClient) DoRedirectsContext(ctx context.Context, req *Request, resp *Response, maxRedirectsCount int) error {
	return followRedirects(ctx, c, req, resp, time.Time{}, maxRedirectsCount)
}

func (c *Client) redirectPolicy() RedirectPolicy { return c.CheckRedirect }

func (c *HostClient) redirectPolicy() RedirectPolicy { return c.CheckRedirect }

// followRedirects is all forms of DoRedirects. ctx may be nil.
func followRedirects(ctx context.Context, c caller, req *Request, resp *Response, deadline time.Time, limit int) error {
	if resp == nil {
		resp = AcquireResponse()
		defer ReleaseResponse(resp)
	}
	if limit := c.timeLimit(req); limit > 0 {
		deadline = clock.Earliest(deadline, time.Now().Add(limit))
	}
	if ctx == nil && req.call.purpose == callSends {
		// a RoundTripper follows redirects by another client than its own
		ctx = req.call.ctx
	}
	hop, content := req, contentOf(req)
	var origin string // the one that the cookies of the jar are for, or "" for any
	for count := 1; ; count++ {
		if hop != req {
			// not earlier: with ErrUseLastResponse it stays the URI of that response
			req.SetURI(hop.URI())
			hop.call.withoutJar = origin != "" && hop.uri.text.Origin() != origin
		}
		err := c.call(ctx, hop, resp, deadline)
		if err != nil || !StatusCodeIsRedirect(resp.StatusCode()) {
			return err
		}
		if count > limit {
			return ErrTooManyRedirects
		}
		if hop == req {
			next := AcquireRequest()
			req.CopyTo(next)
			next.call.content, next.OnInform = req.call.content, req.OnInform
			defer func() {
				next.call.content = contentAsSet
				next.values.Forget(req.values)
				ReleaseRequest(next)
			}()
			hop = next
			if hc, ok := c.(*HostClient); ok {
				hop.isTLS = hc.IsTLS // of a target without a scheme
				if hc.Jar != nil && hc.proxy == nil {
					// the server that gets all requests chooses the hosts of the next ones
					origin = hop.URI().text.Origin()
				}
			}
		}
		if err := redirect(hop, resp, &content); err != nil {
			req.SetURI(hop.URI())
			return err
		}
		if policy := c.redirectPolicy(); policy != nil {
			if err := policy(hop, resp, count); err == ErrUseLastResponse {
				return nil
			} else if err != nil {
				req.SetURI(hop.URI())
				return err
			}
		}
		if err := content.renew(hop); err != nil {
			return err
		}
		// the next request may need its connection
		if s, ok := resp.body.Stream.(*clientStream); ok {
			s.drainSmall()
		}
		_ = resp.CloseBodyStream()
	}
}

// redirect makes req the request that follows the redirect resp. content describes
// its content, and is updated for the next request.
func redirect(req *Request, resp *Response, content *resentContent) error {
	location := resp.Header.setOnce(field.Location)
	if len(location) == 0 {
		return ErrMissingLocation
	}
	if content.streamed && req.GetBody == nil && !becomesGet(req, resp.StatusCode()) {
		return ErrRedirectBodyStream
	}
	u := req.URI()
	before, user, hash := u.text.Origin(), u.text.User(), string(u.Hash())
	if err := uri.CheckLocation(location); err == uri.ErrNoHost {
		return redirectNoHost(location)
	} else if err != nil {
		return err
	}
	if err := u.UpdateBytesErr(location); err != nil {
		return err
	}
	if !u.text.IsHTTP() {
		return errUnsupportedScheme(u.Scheme())
	}
	if len(u.Host()) == 0 {
		return redirectNoHost(location)
	}
	u.text.KeepAsReceived(location, !req.DisableRedirectPathNormalizing)
	u.DisablePathNormalizing = u.DisablePathNormalizing || req.DisableRedirectPathNormalizing
	if hash != "" && bytes.IndexByte(location, '#') < 0 {
		// RFC 9110 section 10.2.2
		u.SetHash(hash)
	}
	switch {
	case u.text.Origin() != before:
		removeCredentials(req)
	case !u.text.HasUser() && !user.IsEmpty():
		u.text.SetUser(user)
	}
	if becomesGet(req, resp.StatusCode()) {
		removeContent(req)
		*content = resentContent{}
	}
	return nil
}

// redirectNoHost returns the error for a Location that names no host.
func redirectNoHost(location []byte) error {
	told, _ := uri.Safe(location)
	return namedError{errors.New("fasthttp: the redirect to " + strconv.Quote(told) + " has no host"), errNoHost}
}

// credentials are the fields for one origin alone.
var credentials = []string{
	HeaderAuthorization, HeaderProxyAuthorization, HeaderCookie, HeaderCookie2, HeaderWWWAuthenticate, HeaderProxyAuthenticate,
}

// removeCredentials removes the fields for the origin of req alone, however their names are
// spelled.
func removeCredentials(req *Request) {
	for _, name := range credentials {
		req.Header.head.DelAnyCase(http1.Request, name)
	}
	req.UseHostHeader = false
}

// becomesGet reports whether the request that follows a redirect is a GET or HEAD
// without content (RFC 9110 sections 15.4.2 to 15.4.4).
func becomesGet(req *Request, status int) bool {
	switch status {
	case StatusMovedPermanently, StatusFound:
		return req.Header.IsPost()
	case StatusSeeOther:
		return true
	}
	return false
}

// ofContent are the fields about the content of a request, and about its sending.
var ofContent = []string{
	HeaderContentType, HeaderContentLength, HeaderContentEncoding, HeaderContentLanguage, HeaderContentLocation,
	HeaderContentRange, HeaderContentDisposition, HeaderLastModified, "Content-Digest", "Repr-Digest", "Digest",
	"Content-MD5", HeaderTransferEncoding, HeaderTrailer, HeaderExpect,
}

// removeContent makes req a GET, or leaves it a HEAD, and removes its content and the
// fields that describe it.
func removeContent(req *Request) {
	h := &req.Header
	if !h.IsHead() {
		h.SetMethod(MethodGet)
	}
	req.ResetBody()
	for _, name := range ofContent {
		h.head.DelAnyCase(http1.Request, name)
	}
	h.SetContentLength(0)
}

// setOnce returns the value of a field, or nil if it occurs twice with different
// values: it is unclear which one counts.
func (h *ResponseHeader) setOnce(id field.ID) []byte {
	i := h.head.List.FindID(id, 0)
	if i < 0 {
		return nil
	}
	value := h.head.List.Value(i)
	for i = h.head.List.FindID(id, i+1); i >= 0; i = h.head.List.FindID(id, i+1) {
		if string(h.head.List.Value(i)) != string(value) {
			return nil
		}
	}
	return ascii.Trim(value)
}
