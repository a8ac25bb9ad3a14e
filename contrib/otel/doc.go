// Package otelfasthttp traces and measures servers and clients of fasthttp with OpenTelemetry,
// by its stable semantic conventions for HTTP.
//
// For a server:
//
//	s := &fasthttp.Server{Handler: handler}
//	otelfasthttp.Attach(s)
//
// For a client:
//
//	c := &fasthttp.Client{Transport: fasthttp.ChainRoundTrippers(nil, otelfasthttp.Transport())}
//
// Without options they use the providers and the propagator of package otel. In a handler
// RequestCtx.Context has the span of the request; give it, or the RequestCtx, to the calls that
// belong to the request, such as Client.DoContext.
//
// NewMetrics and WithSampleRatio are the fast way: requests are counted and sampled by this package,
// and the SDK has work only when it collects metrics, and with requests that are sampled.
//
// Attach reports how responses have left the server: the status and the time of each response, including
// streams, refused requests, and responses that were cut off. Middleware is for handlers without
// a server at hand.
package otelfasthttp
