// Package fasthttp is an HTTP server and client that reuses its memory: in the
// steady state a request needs no allocation.
//
// # Servers
//
// A handler is a function, [RequestHandler]. It gets one *[RequestCtx], which holds the
// request and the response. [ListenAndServe] serves it; [Server] has settings, among them
// the timeouts that a server on a public network needs. [FS] serves files, and
// [CompressHandler] compresses the responses of another handler.
//
//	fasthttp.ListenAndServe(":8080", func(ctx *fasthttp.RequestCtx) {
//		fmt.Fprintf(ctx, "Hello, %s!", ctx.QueryArgs().Peek("name"))
//	})
//
// A server speaks HTTP/1.1, and HTTP/2 as well if [Server.Protocols] includes it: over TLS,
// and without TLS to clients with prior knowledge. Handlers are the same for both, and
// [RequestCtx.IsHTTP2] distinguishes them. Clients have [Client.Protocols] for the same:
// with HTTP/2, calls to a host share a connection.
//
// # The life of a request
//
//   - The server reads the head. [Server.HeaderReceived] may now set limits for this
//     request, or refuse it.
//   - It reads the body, up to [Server.MaxRequestBodySize]. With [Server.StreamRequestBody]
//     it does not wait for that, and the handler reads [RequestCtx.RequestBodyStream].
//   - If that fails, because the request is malformed, too large or too slow, the handler is
//     not called. [Server.ErrorHandler] may change the response.
//   - The handler runs, and sets status, fields and body in any order: the response is sent
//     when it has returned. It may block; other connections are served meanwhile. If it
//     panics, the client gets a 500, and the server continues.
//   - The response is sent. The function of [RequestCtx.SetBodyStreamWriter] produces its
//     body now, and the handler of [RequestCtx.Hijack] gets the connection.
//   - [Server.ResponseSent] is called with the outcome, for every kind of response: it is
//     the place for access logs and metrics.
//   - The RequestCtx is reset, and used for another request.
//
// [RequestCtx.Done] is closed when the server shuts down. After [RequestCtx.WatchDisconnect]
// it is also closed when the client disconnects.
//
// # Ownership
//
//   - A RequestCtx belongs to the handler until the handler returns. Keep no reference to
//     it, or to anything reached through it. A goroutine that outlives the handler needs
//     copies.
//   - Values are byte slices that point into the message they belong to. Such a slice is
//     valid until that message is changed, reset or released, and must not be modified.
//     string(b) makes a copy that stays valid.
//   - Requests, responses, URIs, cookies, arguments and timers come from pools: pass each
//     result of an Acquire function to the Release function of the same name once, and do
//     not use it after that. Unreleased objects are garbage-collected as usual.
//   - Setters copy their arguments, unless their comment states otherwise, as for
//     [Response.SetBodyRaw].
//   - The arguments of a client call belong to the caller again when the call returns,
//     even after a timeout.
//
// A common mistake is to keep a slice, or a string that shares its memory, after the
// handler has returned: it then shows parts of other requests, which may go unnoticed for
// long. In a program that is built or tested with the tag fasthttp_poison (go test -tags
// fasthttp_poison ./...) all released memory is filled with the byte 0xDB, so that the
// mistake shows at once. This costs time, so it is not for production.
//
// # Clients
//
// [Get] is the short way to fetch a URL. A program that sends many requests uses a
// [Client], or a [HostClient] for one host. [LBClient] spreads calls over several
// hosts, and [PipelineClient] sends many requests at once over few connections.
//
// [Client.Do] follows no redirects, decodes no content and has no timeout: see
// [Client.DoRedirects], [Response.BodyUncompressed] and [Client.DoTimeout].
//
// # Where to go on
//
// Most calls have an example, which the tests run. Handlers can be tested without a server:
// see the example of [RequestCtx.Init]; servers without a port: see the example of [Server]
// called InMemory. Further packages are in subdirectories, such as fasthttpadaptor, which
// converts handlers of net/http to handlers of this package and back, fasthttpproxy for
// clients behind proxies, and prefork for servers of several processes.
//
// The repository has programs to start from in examples/. Its docs/ directory explains how
// to migrate from net/http (migrating.md), the limits and how to set them (security.md), the
// rules of the RFCs with the code for each (http.md), and the way of a request through the
// code (architecture.md).
package fasthttp
