package fasthttp

import (
	"context"
	"time"
)

// noContext stands for a call without a context, which is spared looking at one.
var noContext context.Context

// DoContext is Do with a context: when it ends, the call does, whatever it is
// waiting for. The error is that of the context then, and wraps its cause. The
// deadline of the context, the timeout of the request and those of the client
// all count; the earliest goes first.
//
// Where the response has a body stream, the context also ends that.
func (c *HostClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.call(ctx, req, resp, time.Time{})
}

// DoContext is Do with a context: when it ends, the call does, whatever it is
// waiting for. The error is that of the context then, and wraps its cause. The
// deadline of the context, the timeout of the request and those of the client
// all count; the earliest goes first.
//
// Where the response has a body stream, the context also ends that.
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
