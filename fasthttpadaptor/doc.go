// Package fasthttpadaptor converts handlers and requests between fasthttp and
// net/http.
//
// NewFastHTTPHandler converts an http.Handler to a fasthttp.RequestHandler, so that a mux, a
// middleware or a reverse proxy written for net/http can run on a fasthttp.Server.
// NewHTTPHandler does the opposite. With both, a program can be migrated piece by piece.
//
// A converted handler works as in net/http: bodies stream in both directions, and
// http.ResponseController, http.Hijacker, trailers, informational responses and
// http.ErrAbortHandler are supported. That costs a goroutine and some allocations for each
// request, so write new handlers for the server on which they run.
//
// ConvertRequest and ConvertNetHTTPRequestToFastHTTPRequest convert single requests.
package fasthttpadaptor
