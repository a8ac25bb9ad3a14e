// Package fasthttp is an HTTP server and client that reuses its memory: in the
// steady state a request needs no allocation.
//
// Four ideas carry the API:
//
//   - A handler is a function, [RequestHandler]. It gets one *RequestCtx, which
//     holds the request and the response. Parts of the response may be set in
//     any order until the handler returns; only then is it sent.
//   - A RequestCtx is reused for another request as soon as the handler has
//     returned. Keep no reference to it, or to anything reached through it, and
//     copy what you want to keep.
//   - Requests, responses, URIs, cookies, arguments and timers come from pools:
//     pass each result of an Acquire function to the Release function of the same
//     name once, and do not use it after that.
//   - Values are byte slices that point into the message they belong to. Such a
//     slice is valid until that message is changed, reset or released, and must
//     not be modified. string(b) makes a copy that stays valid.
//
// A common mistake is to keep such a slice, or a string that shares its memory,
// after the handler has returned: it then shows parts of other requests, which may
// go unnoticed for long. In a program that is built or tested with the tag
// fasthttp_poison (go test -tags fasthttp_poison ./...) all memory that is released
// is filled with the byte 0xDB, so that the mistake shows at once. This costs time,
// so it is not for production.
//
// A server starts with a handler and [ListenAndServe]. [Server] has settings,
// among them the timeouts that a server on a public network needs. [FS] serves
// files, and [CompressHandler] compresses the responses of another handler.
//
// A server speaks HTTP/1.1, and HTTP/2 as well if [Server.Protocols] says so: over TLS, and
// without TLS to clients that know of it. Handlers are the same for both, and
// [RequestCtx.IsHTTP2] tells which it is. Clients speak HTTP/1.1.
//
// [Get] is the short way to fetch a URL. A program that sends many requests uses a
// [Client], or a [HostClient] for one host. [LBClient] spreads calls over several
// hosts, and [PipelineClient] sends many requests at once over few connections.
//
// Handlers can be tested without a server: see the example of [RequestCtx.Init].
// Further packages are in subdirectories, such as fasthttpadaptor, which converts
// handlers of net/http to those of this package and back.
package fasthttp
