// Package fasthttp is an HTTP server and client that reuses what it works
// with: in the steady state a request costs no allocation.
//
// Four ideas carry the API:
//
//   - A handler is a function, [RequestHandler]. It gets one *RequestCtx, which
//     holds the request and the response. Parts of the response may be set in
//     any order until the handler returns; only then is it sent.
//   - A RequestCtx is used again for another request as soon as the handler has
//     returned. Keep no reference to it, or to anything reached through it, and
//     copy what you want to keep.
//   - Requests, responses, URIs, cookies, arguments and timers come from pools:
//     what an Acquire function gave is handed back to the Release function of
//     the same name once, and not touched after that.
//   - Values are byte slices that point into the message they belong to. Such a
//     slice is valid until that message is changed, reset or released, and is
//     not to be written to. string(b) makes a copy that lives on.
//
// The usual mistake is to keep such a slice, or a string that shares its memory,
// beyond the end of the handler: it then shows parts of other requests, which
// may go unnoticed for long. A program that is built or tested with the tag
// fasthttp_poison (go test -tags fasthttp_poison ./...) has all memory that is
// given back filled with the byte 0xDB, so that the mistake is seen at once.
// This costs time, so it is not for production.
//
// A server starts with a handler and [ListenAndServe]; [Server] has the
// settings, timeouts among them, which a server that strangers can reach needs.
// [FS] serves files, [CompressHandler] compresses what other handlers answer.
//
// [Get] is the short way to what is at a URL. A program that calls others has a
// [Client], or a [HostClient] for one host; [LBClient] spreads calls, and
// [PipelineClient] sends many at once over few connections.
//
// Handlers are tested without a server: see the example of [RequestCtx.Init].
// The packages below fill in the rest; fasthttpadaptor joins handlers of this
// package and those of net/http.
package fasthttp
