// Package fasthttpadaptor converts handlers and requests between fasthttp and
// net/http.
//
// NewFastHTTPHandler converts an http.Handler to a fasthttp.RequestHandler. So a mux, a
// middleware or a reverse proxy that was written for net/http can run on a
// fasthttp.Server. NewHTTPHandler does the opposite. With both, a program can be moved
// piece by piece.
//
// A converted handler works as in net/http: bodies stream in both directions, and
// http.ResponseController, http.Hijacker, trailers, informational responses and
// http.ErrAbortHandler are supported. That costs a goroutine and some allocations for
// each request. So a new handler should be written for the server on which it runs.
//
// ConvertRequest and ConvertNetHTTPRequestToFastHTTPRequest convert single requests.
package fasthttpadaptor
