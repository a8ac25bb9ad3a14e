// Package bridge has what package fasthttpadaptor needs of the root package beyond its API.
// The root package sets the functions when it is initialized.
package bridge

import "errors"

var (
	// OmitDate makes a *fasthttp.ResponseHeader be sent without Date, until it is reset.
	OmitDate func(header any)
	// OmitsDate reports whether OmitDate was called.
	OmitsDate func(header any) bool
	// HijackImmediately makes the HijackHandler of a *fasthttp.RequestCtx get the connection
	// without a response, and with what was not read of the body of the request.
	HijackImmediately func(ctx any)
)

// ErrConnHijacked is the error of a ConnHijacker that ends the response in the middle.
var ErrConnHijacked = errors.New("fasthttp: the connection was taken over")

// ConnHijacker is the body stream of a response that may take over the connection in the
// middle of the response. What was read of it has been sent then, and nothing follows.
type ConnHijacker interface {
	// OfferConn permits ErrConnHijacked, which takes the connection over. It is called before the stream
	// is read.
	OfferConn()
	// HijackConn calls Hijack of ctx, a *fasthttp.RequestCtx. It is called once ErrConnHijacked was
	// read.
	HijackConn(ctx any)
}
