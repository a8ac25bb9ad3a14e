// Package fasthttp is an HTTP server and client that reuses its memory: in the
// steady state a request needs no allocation.
//
// A server needs a function, a [RequestHandler]. It gets one *[RequestCtx], which holds the
// request and the response:
//
//	err := fasthttp.ListenAndServe(":8080", func(ctx *fasthttp.RequestCtx) {
//		fmt.Fprintf(ctx, "Hello, %s!", ctx.QueryArgs().Peek("name"))
//	})
//
// The short way to fetch a URL is [Get]:
//
//	status, body, err := fasthttp.Get(nil, "http://127.0.0.1:8080/?name=gopher")
//
// Neither limits how long a request may take. A server on a public network needs a [Server]
// with timeouts, and most programs that send requests use a [Client], with
// [Client.DoTimeout] or [Client.DoContext].
//
// # The life of a request
//
// A server handles a request in these steps:
//
//  1. The server reads the head. [Server.HeaderReceived] may set limits for this request, or
//     refuse it. If the client waits for permission to send the body ("Expect:
//     100-continue"), [Server.ContinueHandler] or [Server.ExpectHandler] may deny it.
//  2. The server reads the body, up to [Server.MaxRequestBodySize]. With
//     [Server.StreamRequestBody] it calls the handler first, which reads the body as it
//     arrives from [RequestCtx.RequestBodyStream].
//  3. If reading fails, because the request is malformed, too large or too slow, the handler
//     is not called, and [Server.ErrorHandler] may change the response. If the handler reads
//     a stream, it gets the error from the stream instead.
//  4. The handler runs, and sets status, fields and body in any order. It may block; other
//     connections are served meanwhile. If it panics, the client gets a 500, and the server
//     continues. [RequestCtx.Done] is closed when the server shuts down, and after
//     [RequestCtx.WatchDisconnect] also when the client disconnects.
//  5. The handler returns, and the response is sent. The function given to
//     [RequestCtx.SetBodyStreamWriter] produces the body now.
//  6. [Server.ResponseSent] is called with the outcome, for refused requests as well: it is
//     the place for access logs and metrics.
//  7. The function given to [RequestCtx.Hijack], if any, gets the connection.
//  8. The RequestCtx is reset and used for another request.
//
// # Ownership
//
//   - A RequestCtx belongs to the handler until the handler returns. Keep no reference to
//     it, or to anything reached through it. A goroutine that outlives the handler needs
//     copies, or the handler calls [RequestCtx.TimeoutError] before it returns.
//   - Values are byte slices that point into the message they belong to. Such a slice is
//     valid until that message is changed, reset or released, and must not be modified.
//     string(b) makes a copy that stays valid.
//   - Requests, responses, URIs, cookies, arguments and timers may be taken from pools: pass
//     each result of an Acquire function to the Release function of the same name once, and
//     do not use it after that. Unreleased objects are garbage-collected as usual.
//   - Setters copy their arguments, unless their comment states otherwise, as for
//     [Response.SetBodyRaw].
//   - The request and the response of a client call belong to the caller again when the call
//     returns, even after a timeout. A response that is read as a stream must be closed;
//     until then the client may still read the body stream of the request.
//
// A common mistake is to keep a slice, or a string that shares its memory, after the
// handler has returned: it then shows parts of other requests, which may go unnoticed for
// long. In a program that is built or tested with the tag fasthttp_poison (go test -tags
// fasthttp_poison ./...) the memory of released objects is filled with the byte 0xDB, so that
// the mistake shows at once. This costs time, so it is not for production.
//
// # Tasks: running a server
//
//   - Serve a port: [ListenAndServe]. With timeouts, limits and hooks: [Server].
//   - Serve HTTPS: [Server.ListenAndServeTLS]. Renew certificates: [TLSReloader].
//   - Serve HTTP/2 with the same handlers: [Server.Protocols]. Settings: [HTTP2Config].
//     HTTP/3, also for clients: the module github.com/valyala/fasthttp/http3.
//   - Serve another listener: [Server.Serve]. A Unix socket: [Server.ListenAndServeUNIX].
//   - Serve until a signal, then stop and let requests finish: [Server.Run]. Stop at another
//     moment: [Server.ShutdownWithContext].
//   - Learn the client's address behind a proxy: [TrustedProxies], [ProxyProtocol].
//   - Route by path and method: a switch in a handler, as in the examples of
//     [RequestHandler], or a router of another module.
//   - Log and measure: [Server.ResponseSent], [Server.Trace], [Server.Logger], and the packages
//     expvarhandler and pprofhandler.
//   - Accept WebSocket connections: package websocket, in two forms, a function for each
//     connection or callbacks. Its Dialer connects to other servers.
//   - Do something when the server shuts down, during a request that lasts long:
//     [RequestCtx.OnShutdown].
//
// # Tasks: handling a request
//
//   - Read the target: [RequestCtx.Method], [RequestCtx.Path], [RequestCtx.Host], and
//     [RequestCtx.URI] for all parts of it.
//   - Read arguments: [RequestCtx.QueryArgs] and [RequestCtx.PostArgs], which return [Args],
//     or [RequestCtx.FormValue] for both.
//   - Read fields and cookies: [RequestHeader.Peek] and [RequestHeader.Cookie] of
//     ctx.Request.Header.
//   - Read the body: [RequestCtx.PostBody]. As it arrives: [RequestCtx.RequestBodyStream].
//   - Read uploaded files: [RequestCtx.FormFile], [RequestCtx.MultipartForm].
//   - Write the body: [RequestCtx.WriteString], [RequestCtx.SetBody], or fmt.Fprintf to ctx.
//   - Write a long body: [RequestCtx.SetBodyStream] from a reader,
//     [RequestCtx.SetBodyStreamWriter] from a function. If it lasts for long, limit the time of
//     each piece: [Response.PieceTimeout].
//   - Send events to browsers, and receive them: package sse. Push any other body, piece by
//     piece: [RequestCtx.PushBody].
//   - Set status and fields: [RequestCtx.SetStatusCode], [RequestCtx.SetContentType], and
//     [ResponseHeader.Set] of ctx.Response.Header. Set a cookie: [Cookie].
//   - Answer in one call: [RequestCtx.Error], [RequestCtx.NotFound], [RequestCtx.Redirect].
//   - Serve files: [FS] for a folder or an embed.FS, [ServeFile] for one file.
//   - Pass values from middleware to handlers: [RequestCtx.SetUserValue].
//   - Limit the time of a handler: [TimeoutHandler]. Compress responses: [CompressHandler].
//     Refuse requests that pages of other sites forge: [CrossOriginProtection].
//   - Take over the connection for another protocol: [RequestCtx.Hijack], which has a goroutine,
//     and [RequestCtx.SwitchProtocols], by which an [EventHandler] is called.
//
// # Tasks: sending requests
//
//   - Fetch or post once: [Get], [Post], [GetTimeout].
//   - Send many requests to any host: [Client]. To one host: [HostClient]. To several hosts
//     that do the same: [LBClient]. Many at once over few connections: [PipelineClient], or
//     HTTP/2 with [Client.Protocols].
//   - Build a request and read the response: [AcquireRequest], [AcquireResponse],
//     [Client.Do].
//   - Limit the time: [Client.DoTimeout], [Client.DoDeadline], [Client.DoContext].
//   - Follow redirects: [Client.DoRedirects]; [Client.Do] does not. Decode content:
//     [Response.BodyUncompressed]; [Response.Body] does not.
//   - Repeat failed requests: [RetryWithBackoff].
//   - Read a long response as it arrives: [Client.StreamResponseBody].
//   - Keep cookies: [Client.Jar].
//   - Control connections: [TCPDialer], [Client.TLSConfig]; package fasthttpproxy connects
//     through proxies.
//
// # Tasks: values, tests and processes
//
//   - Parse and build: [URI], [Args], [Cookie], [ParseHTTPDate], [ParseByteRange].
//   - Compress bytes: [AppendGzipBytes] and its relatives for other codings.
//   - Test a handler without a server: [RequestCtx.Init]. A server without a port: the
//     example of [Server] called InMemory, and package fasthttputil.
//   - Use handlers of net/http, or use these there: package fasthttpadaptor.
//   - Serve with several processes: package prefork.
//
// # Examples and further reading
//
// Of about 800 functions and methods, the 124 that programs need most have an example each. The
// tests run the examples and compare their output, except for servers on a fixed port, which
// they only compile.
//
// The repository has programs to start from in examples/. Its docs/ directory explains how
// to migrate from net/http (from-net-http.md), how to use WebSocket (websocket.md), the limits and
// how to set them (security.md), the rules of the RFCs with the code for each (http.md), and the
// way of a request through the code (architecture.md).
package fasthttp
