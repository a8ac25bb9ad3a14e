// Package fasthttpadaptor is the bridge between fasthttp and net/http.
//
// NewFastHTTPHandler makes an http.Handler one of fasthttp, so that what was
// written for net/http, a mux, a middleware, a reverse proxy, runs on a
// fasthttp.Server. NewHTTPHandler goes the other way. Together they let a
// program be moved over piece by piece.
//
// A handler that crossed the bridge finds what it knows: bodies stream in both
// directions, and http.ResponseController, http.Hijacker, trailers,
// informational responses and http.ErrAbortHandler work as they do in net/http.
// That costs a goroutine and some allocations for each request, which is why a
// handler of one's own is better written for the server that it runs on.
//
// ConvertRequest and ConvertNetHTTPRequestToFastHTTPRequest convert a request
// alone.
package fasthttpadaptor
