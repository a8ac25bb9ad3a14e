package fasthttp

import (
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
// Afterwards req has the URI of the last request; everything else in it is unchanged.
func (c *Client) DoRedirects(req *Request, resp *Response, maxRedirectsCount int) error {
	return followRedirects(noContext, c, req, resp, time.Time{}, maxRedirectsCount)
}

// DoRedirects is Do that follows redirects, as Client.DoRedirects does. All
// requests go to Addr, whatever host a redirect names. One that changes the
// scheme cannot be followed: the error is
// ErrHostClientRedirectToDifferentScheme.
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
	if req.timeout > 0 {
		deadline = clock.Earliest(deadline, time.Now().Add(req.timeout))
	}
	hop, content := req, contentOf(req)
	for count := 1; ; count++ {
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
			next.call.content = req.call.content
			defer func() {
				req.SetURI(next.URI())
				next.call.content = contentAsSet
				next.values.Forget(req.values)
				ReleaseRequest(next)
			}()
			hop = next
		}
		if err := redirect(hop, resp, &content); err != nil {
			return err
		}
		if policy := c.redirectPolicy(); policy != nil {
			if err := policy(hop, resp, count); err == ErrUseLastResponse {
				return nil
			} else if err != nil {
				return err
			}
		}
		if err := content.renew(hop); err != nil {
			return err
		}
		// the next request may need its connection
		if s, ok := resp.body.stream.(*clientStream); ok {
			s.drainSmall()
		}
		_ = resp.CloseBodyStream()
	}
}

// redirectContent describes the content of a redirected request.
type redirectContent struct {
	streamed bool // it was a stream, which is used up once the request was sent
	size     int  // of that stream
}

func contentOf(req *Request) redirectContent {
	return redirectContent{streamed: req.body.stream != nil, size: req.body.size}
}

// renew sets the stream of req, which follows a redirect, again.
func (c redirectContent) renew(req *Request) error {
	if !c.streamed {
		return nil
	}
	stream, err := req.GetBody()
	if err == nil && stream == nil {
		err = ErrRedirectBodyStream
	}
	if err != nil {
		return err
	}
	req.SetBodyStream(stream, c.size)
	return nil
}

// redirect makes req the request that follows the redirect resp. content describes
// its content, and is updated for the next request.
func redirect(req *Request, resp *Response, content *redirectContent) error {
	location := resp.Header.setOnce(field.Location)
	if len(location) == 0 {
		return ErrMissingLocation
	}
	if content.streamed && req.GetBody == nil && !becomesGet(req, resp.StatusCode()) {
		return ErrRedirectBodyStream
	}
	u := req.URI()
	before, user := u.text.Origin(), u.text.User()
	if err := uri.CheckLocation(location); err == uri.ErrNoHost {
		return redirectNoHost(location)
	} else if err != nil {
		return err
	}
	if err := u.update(location); err != nil {
		return err
	}
	if !u.text.IsHTTP() {
		return errUnsupportedScheme(u.Scheme())
	}
	if len(u.Host()) == 0 {
		return redirectNoHost(location)
	}
	u.text.KeepAsCame(location, !req.DisableRedirectPathNormalizing)
	u.DisablePathNormalizing = u.DisablePathNormalizing || req.DisableRedirectPathNormalizing
	switch {
	case u.text.Origin() != before:
		leaveOrigin(req)
	case !u.text.HasUser() && !user.IsEmpty():
		u.text.SetUser(user)
	}
	if becomesGet(req, resp.StatusCode()) {
		dropContent(req)
		*content = redirectContent{}
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

// leaveOrigin removes the fields for the origin of req alone, however their names are
// spelled.
func leaveOrigin(req *Request) {
	for _, name := range credentials {
		req.Header.delAnyCase(http1.Request, name)
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

// dropContent makes req a GET, or leaves it a HEAD, and removes its content and the
// fields that describe it.
func dropContent(req *Request) {
	h := &req.Header
	if !h.IsHead() {
		h.SetMethod(MethodGet)
	}
	req.ResetBody()
	for _, name := range []string{
		HeaderContentType, HeaderContentLength, HeaderContentEncoding, HeaderContentLanguage, HeaderContentLocation,
		HeaderTransferEncoding, HeaderTrailer, HeaderExpect,
	} {
		h.delAnyCase(http1.Request, name)
	}
	h.SetContentLength(0)
}

// setOnce returns the value of a field, or nil if it occurs twice with different
// values: it is unclear which one counts.
func (h *ResponseHeader) setOnce(id field.ID) []byte {
	i := h.list.FindID(id, 0)
	if i < 0 {
		return nil
	}
	value := h.list.Value(i)
	for i = h.list.FindID(id, i+1); i >= 0; i = h.list.FindID(id, i+1) {
		if string(h.list.Value(i)) != string(value) {
			return nil
		}
	}
	return ascii.Trim(value)
}
