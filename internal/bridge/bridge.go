// Package bridge has what package fasthttpadaptor needs of the root package beyond its API.
// The root package sets the functions when it is initialized.
package bridge

import "errors"

var (
	// LeaveOutDate makes a *fasthttp.ResponseHeader be sent without Date, until it is reset.
	LeaveOutDate func(header any)
	// LeavesOutDate reports whether LeaveOutDate was called.
	LeavesOutDate func(header any) bool
	// HijackAtOnce makes the HijackHandler of a *fasthttp.RequestCtx get the connection
	// without a response, and with what was not read of the body of the request.
	HijackAtOnce func(ctx any)
)

// ErrTaken is the error of a ConnTaker that ends the response in the middle.
var ErrTaken = errors.New("fasthttp: the connection was taken over")

// ConnTaker is the body stream of a response that may take over the connection in the
// middle of the response. What was read of it has been sent then, and nothing follows.
type ConnTaker interface {
	// OfferConn permits ErrTaken, which takes the connection over. It is called before the stream
	// is read.
	OfferConn()
	// TakeConn calls Hijack of ctx, a *fasthttp.RequestCtx. It is called once ErrTaken was
	// read.
	TakeConn(ctx any)
}
