package fasthttp

import "context"

// RoundTripper makes one attempt at a request: it sends the request to the host of
// hc, and reads the response. Client.Transport and HostClient.Transport take one that
// wraps or replaces DefaultTransport.
//
// retry reports whether another attempt makes sense after err; RetryIfErr and its
// variants decide whether it is made. req.GetTimeOut returns the remaining time of the
// call, which DefaultTransport observes by itself. RoundTrip must not use req and resp
// after it has returned.
type RoundTripper interface {
	RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error)
}

// RoundTripperContext is a RoundTripper that also gets the context of the call, such as the
// one given to DoContext, for the values and the cancellation that it carries: a client calls
// RoundTripContext instead of RoundTrip if its Transport has it. The context is
// context.Background() if the call has none.
//
// A RoundTripper that wraps another one passes ctx on, or a context derived from it, to the
// RoundTripContext of that if it has one. DefaultTransport has one: dial functions and traces
// get the values of ctx, and its end ends the attempt, and the body stream of the response.
// Such a RoundTripper must not cancel a derived context before that stream was read.
type RoundTripperContext interface {
	RoundTripper
	RoundTripContext(ctx context.Context, hc *HostClient, req *Request, resp *Response) (retry bool, err error)
}

// DefaultTransport speaks HTTP/1.1, or HTTP/2 if HostClient.Protocols has that, over the
// connections of the HostClient. All clients without a Transport use it, so an assignment
// to it changes all of them; it must be made before the first call.
var DefaultTransport RoundTripper = defaultTransport

// RoundTripFunc is a function as a RoundTripperContext.
type RoundTripFunc func(ctx context.Context, hc *HostClient, req *Request, resp *Response) (retry bool, err error)

var _ RoundTripperContext = RoundTripFunc(nil)

// RoundTripContext calls f, and returns its results. An error of f is the error of the attempt.
func (f RoundTripFunc) RoundTripContext(ctx context.Context, hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	return f(ctx, hc, req, resp)
}

// RoundTrip calls f with the context of the call, and returns its results. An error of f is the
// error of the attempt.
func (f RoundTripFunc) RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	return f(contextOfCall(req), hc, req, resp)
}

// ChainRoundTrippers wraps base, which is DefaultTransport if it is nil: the first of the
// functions makes the outermost RoundTripper, which gets each attempt first. A function gets the
// RoundTripper inside its own, whose RoundTripContext it may always call, and usually returns a
// RoundTripFunc. If it returns a RoundTripper without RoundTripContext, those inside it get the
// context of the call, without the values that those outside it have added.
func ChainRoundTrippers(base RoundTripper, wrap ...func(next RoundTripperContext) RoundTripper) RoundTripperContext {
	if base == nil {
		base = usualTransport{}
	}
	chain := withContext(base)
	for i := len(wrap) - 1; i >= 0; i-- {
		chain = withContext(wrap[i](chain))
	}
	return chain
}

// withContext returns rt with a RoundTripContext.
func withContext(rt RoundTripper) RoundTripperContext {
	if with, ok := rt.(RoundTripperContext); ok {
		return with
	}
	return contextDropper{rt}
}

// contextDropper is a RoundTripper that does not get contexts.
type contextDropper struct{ RoundTripper }

func (d contextDropper) RoundTripContext(_ context.Context, hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	return d.RoundTrip(hc, req, resp)
}

// usualTransport is DefaultTransport, which it reads for each attempt.
type usualTransport struct{}

func (usualTransport) RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	return DefaultTransport.RoundTrip(hc, req, resp)
}

func (usualTransport) RoundTripContext(ctx context.Context, hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	return withContext(DefaultTransport).RoundTripContext(ctx, hc, req, resp)
}

// contextOfCall returns the context of the call that makes an attempt.
func contextOfCall(req *Request) context.Context {
	if ctx := req.call.ctx; ctx != nil {
		return ctx
	}
	return context.Background()
}

// isIdempotent reports whether a request may be sent twice without doing more than
// one would (RFC 9110 section 9.2.2), of the methods for which clients commonly
// assume it.
func isIdempotent(req *Request) bool {
	h := &req.Header
	return h.IsGet() || h.IsHead() || h.IsPut() || h.IsOptions() || h.IsTrace() || h.IsQuery()
}
