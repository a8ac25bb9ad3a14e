package fasthttp

import (
	"context"
	"time"
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
