// Package bridge has the parts of the root package that fasthttpadaptor, fasthttpproxy, sse and
// websocket need beyond its API.
// The root package sets the functions when it is initialized.
package bridge

import "errors"

var (
	// OmitDate makes a *fasthttp.ResponseHeader be sent without the Date of the server, until it is
	// reset: with the one that it has, if any.
	OmitDate func(header any)
	// OmitsDate reports whether OmitDate was called.
	OmitsDate func(header any) bool
	// HijackImmediately makes the HijackHandler of a *fasthttp.RequestCtx get the connection
	// without a response, and with what was not read of the body of the request.
	HijackImmediately func(ctx any)
	// BufferReceived makes a client read the body of a *fasthttp.Response with StreamBody into
	// memory if all of it has arrived together with the head, until the response is reset.
	BufferReceived func(resp any)
	// TrailersTo makes a *fasthttp.RequestHeader get the trailer fields that arrive while the body of
	// the request of a *fasthttp.RequestCtx is read, instead of the header of that request.
	TrailersTo func(ctx, header any)
	// FieldList returns the *field.List with the fields of a *fasthttp.RequestHeader or
	// *fasthttp.ResponseHeader that have no place of their own, for a caller that removes such fields, or
	// adds ones that are valid and have well-known names. There is room for that much more text. trails is
	// set if the header has names or fields of a trailer section.
	FieldList func(header any, room int) (list any, trails bool)
	// MoveHeader moves a *fasthttp.ResponseHeader, which is reset next.
	MoveHeader func(dst, src any)
	// HookDisconnect is AfterDisconnect of a *fasthttp.RequestCtx for a method of target, with a *watch.Hook
	// as memory. It returns false if there is no client.
	HookDisconnect func(ctx, hook any, target interface{ ClientLeft() }) bool
	// ReleaseHijacked makes the request of a *fasthttp.RequestCtx end before the HijackHandler
	// that was set last is called, which then must not use the context. The functions given to
	// OnShutdown last until the HijackHandler returns.
	ReleaseHijacked func(ctx any)
	// AuthorizeByURI sets the Authorization of a *fasthttp.Request that a client would make of the user in
	// its URI, for a caller that drops that URI.
	AuthorizeByURI func(req any)
	// SendUnlimited is Send of a *fasthttp.Push, whatever waits already. The piece counts for the limit of
	// later ones.
	SendUnlimited func(push any, content []byte) error
)

// ErrConnHijacked is the error of a ConnHijacker that ends the response in the middle.
var ErrConnHijacked = errors.New("fasthttp: the connection was taken over")

// TrailerSource is the body stream of a request that has the trailer fields that are sent after it.
type TrailerSource interface {
	// Trailers returns the *fasthttp.RequestHeader with the fields, which only the goroutine that
	// reads the stream uses from then on. It is called before the stream is read.
	Trailers() (header any)
}

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

// CancelingContext is a context that can cancel one call at its end without allocating.
type CancelingContext interface {
	// CancelAtEnd makes the end of the context call c.Cancel with its error, until StopCanceling. It
	// returns false if it cannot.
	CancelAtEnd(c Canceler) bool
	// StopCanceling reports whether it was in time.
	StopCanceling() bool
}

// Canceler cancels a call.
type Canceler interface {
	// Cancel makes the call fail with err.
	Cancel(err error)
}
