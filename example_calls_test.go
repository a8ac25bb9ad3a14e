package fasthttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing/fstest"
	"time"

	"github.com/valyala/fasthttp"
)

// Get fetches a URL with a client that all callers share. GetTimeout and GetContext
// limit the time.
func ExampleGet() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") }}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()

	status, body, err := fasthttp.Get(nil, "http://"+ln.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)

	if err := server.Shutdown(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("served:", <-served)
	// Output:
	// 200 hello
	// served: <nil>
}

// Pass the result of an Acquire function to the Release function of the same name, once.
// Nothing reached through it may be used after that.
func ExampleAcquireRequest() {
	client, stop := hello()
	defer stop()

	fetch := func(url string) (string, error) {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(resp)
		req.SetRequestURI(url)
		if err := client.DoTimeout(req, resp, 30*time.Second); err != nil {
			return "", err
		}
		return string(resp.Body()), nil // a copy, which outlives resp
	}
	text, err := fetch("http://any.host/notes")
	fmt.Println(text, err)
	// Output: GET /notes <nil>
}

// Args are the arguments of a query or a form.
func ExampleArgs() {
	args := fasthttp.AcquireArgs()
	defer fasthttp.ReleaseArgs(args)

	args.Parse("tag=go&tag=http&page=3&q=a+b%26c")
	fmt.Printf("%s %q %d %v\n", args.Peek("q"), args.PeekMulti("tag"), args.GetUintOrZero("page"), args.Has("none"))
	args.Set("page", "4")
	args.Del("tag")
	args.Add("city", "São Paulo")
	fmt.Println(args)
	for name, value := range args.All() {
		fmt.Printf("%s: %s\n", name, value)
	}
	// Output:
	// a b&c ["go" "http"] 3 false
	// page=4&q=a+b%26c&city=S%C3%A3o+Paulo
	// page: 4
	// q: a b&c
	// city: São Paulo
}

// A URI is parsed into its parts, changed, and resolved against another.
func ExampleURI() {
	uri := fasthttp.AcquireURI()
	defer fasthttp.ReleaseURI(uri)

	if err := uri.Parse(nil, []byte("https://example.com:8443/a/../b%20c?page=3#top")); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %s, %s, %s, %s\n", uri.Scheme(), uri.Host(), uri.Path(), uri.QueryString(), uri.Hash())
	uri.QueryArgs().Set("page", "4")
	fmt.Println(uri)
	uri.Update("../d?x=1")
	fmt.Println(uri)
	// Output:
	// https, example.com:8443, /b c, page=3, top
	// https://example.com:8443/b%20c?page=4#top
	// https://example.com:8443/d?x=1
}

// A Cookie is a parsed Set-Cookie field.
func ExampleCookie() {
	cookie := fasthttp.AcquireCookie()
	defer fasthttp.ReleaseCookie(cookie)

	if err := cookie.Parse("session=42; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax"); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s=%s for %s, %d s, %v %v %v\n", cookie.Key(), cookie.Value(), cookie.Path(), cookie.MaxAge(),
		cookie.HTTPOnly(), cookie.Secure(), cookie.SameSite() == fasthttp.CookieSameSiteLaxMode)
	// Output: session=42 for /, 3600 s, true true true
}

// A handler reads the request.
func ExampleRequestCtx_Path() {
	handler := func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s on %s, as %s, from %s", ctx.Method(), ctx.Path(), ctx.Host(), ctx.RequestURI(), ctx.RemoteIP())
	}
	req := get("/a%20b?c=d")
	req.Header.SetHost("example.com")
	var ctx fasthttp.RequestCtx
	ctx.Init(req, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1234}, nil)
	handler(&ctx)
	fmt.Printf("%s\n", ctx.Response.Body())
	// Output: GET /a b on example.com, as /a%20b?c=d, from 192.0.2.7
}

// A handler sets status, fields and content in any order.
func ExampleRequestCtx_SetStatusCode() {
	handler := func(ctx *fasthttp.RequestCtx) {
		ctx.WriteString(`{"id":7}`)
		ctx.SetStatusCode(fasthttp.StatusCreated)
		ctx.SetContentType("application/json")
		ctx.Response.Header.Set(fasthttp.HeaderLocation, "/notes/7")
	}
	var ctx fasthttp.RequestCtx
	ctx.Init(get("/notes"), nil, nil)
	handler(&ctx)
	fmt.Printf("%d %s %s\n", ctx.Response.StatusCode(), ctx.Response.Header.ContentType(), ctx.Response.Body())
	// Output: 201 application/json {"id":7}
}

// Redirect sends an absolute Location. A relative one needs Response.Header.Set.
func ExampleRequestCtx_Redirect() {
	handler := func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/old" {
			ctx.Redirect("/new?a=b", fasthttp.StatusMovedPermanently)
			return
		}
		ctx.SetStatusCode(fasthttp.StatusSeeOther)
		ctx.Response.Header.Set(fasthttp.HeaderLocation, "/login")
	}
	for _, path := range []string{"/old", "/private"} {
		var ctx fasthttp.RequestCtx
		ctx.Init(get("http://example.com"+path), nil, nil)
		handler(&ctx)
		fmt.Printf("%d %s\n", ctx.Response.StatusCode(), ctx.Response.Header.Peek(fasthttp.HeaderLocation))
	}
	// Output:
	// 301 http://example.com/new?a=b
	// 303 /login
}

// Error and NotFound reset the response: set its fields after the call.
func ExampleRequestCtx_Error() {
	handler := func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("X-Lost", "1")
		ctx.Error("this costs money", fasthttp.StatusPaymentRequired)
		ctx.Response.Header.Set("X-Request-Id", "7")
	}
	var ctx fasthttp.RequestCtx
	ctx.Init(get("/"), nil, nil)
	handler(&ctx)
	fmt.Printf("%d %s\n", ctx.Response.StatusCode(), ctx.Response.Body())
	fmt.Printf("%q %q\n", ctx.Response.Header.Peek("X-Lost"), ctx.Response.Header.Peek("X-Request-Id"))
	// Output:
	// 402 this costs money
	// "" "7"
}

// Middleware passes values to the handlers that it calls.
func ExampleRequestCtx_SetUserValue() {
	type userKey struct{}
	authenticated := func(next fasthttp.RequestHandler) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) {
			ctx.SetUserValue(userKey{}, "eve")
			next(ctx)
		}
	}
	answer(authenticated(func(ctx *fasthttp.RequestCtx) {
		user, ok := ctx.UserValue(userKey{}).(string)
		fmt.Fprintf(ctx, "%s %v", user, ok)
		// ctx is a context.Context with the same values
		var c context.Context = ctx
		fmt.Fprintf(ctx, " %v", c.Value(userKey{}))
	}), get("/"))
	// Output: 200 eve true eve
}

// A body may be read from a reader: here of a known size, or of any size with -1.
func ExampleRequestCtx_SetBodyStream() {
	client, stop := serve(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		text := "a report"
		ctx.SetBodyStream(strings.NewReader(text), len(text)) // closed at the end if it is an io.Closer
	}})
	defer stop()

	_, body, err := client.Get(nil, "http://any.host/report")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", body)
	// Output: a report
}

// A client that has the content already gets a 304.
func ExampleRequestCtx_IfModifiedSince() {
	changed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	handler := func(ctx *fasthttp.RequestCtx) {
		if !ctx.IfModifiedSince(changed) {
			ctx.NotModified()
			return
		}
		ctx.Response.Header.SetLastModified(changed)
		ctx.WriteString("the content")
	}
	req := get("/")
	answer(handler, req)
	req.Header.Set(fasthttp.HeaderIfModifiedSince, string(fasthttp.AppendHTTPDate(nil, changed)))
	answer(handler, req)
	// Output:
	// 200 the content
	// 304
}

// The user name and password of basic authentication, as net/http's r.BasicAuth returns them.
func ExampleRequestCtx_basicAuth() {
	basicAuth := func(ctx *fasthttp.RequestCtx) (user, password string, ok bool) {
		value := string(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization))
		r := http.Request{Header: http.Header{"Authorization": {value}}}
		return r.BasicAuth()
	}
	handler := func(ctx *fasthttp.RequestCtx) {
		user, password, ok := basicAuth(ctx)
		if !ok || user != "eve" || password != "secret" {
			ctx.Error("who are you?", fasthttp.StatusUnauthorized)
			ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, `Basic realm="notes"`)
			return
		}
		ctx.WriteString("come in, " + user)
	}
	req := get("/")
	answer(handler, req)
	req.Header.Set(fasthttp.HeaderAuthorization, "Basic ZXZlOnNlY3JldA==")
	answer(handler, req)
	// Output:
	// 401 who are you?
	// 200 come in, eve
}

// Peek and PeekAll find fields in any case: one line or all lines.
func ExampleRequestHeader_Peek() {
	req := get("/")
	req.Header.Add("Via", "1.1 a")
	req.Header.Add("Via", "1.1 b")
	req.Header.Set("X-Request-Id", "7")

	fmt.Printf("%s, %q, %q\n", req.Header.Peek("x-request-id"), req.Header.PeekAll("Via"), req.Header.Peek("X-None"))
	for name, value := range req.Header.All() {
		fmt.Printf("%s: %s\n", name, value)
	}
	// Output:
	// 7, ["1.1 a" "1.1 b"], ""
	// Via: 1.1 a
	// Via: 1.1 b
	// X-Request-Id: 7
}

// Serve accepts any listener: here one for IPv4 and IPv6, which ListenAndServe does not open.
func ExampleServer_Serve() {
	ln, err := net.Listen("tcp", ":8080")
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{
		Handler:     func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") },
		ReadTimeout: 10 * time.Second,
		IdleTimeout: time.Minute,
	}
	if err := server.Serve(ln); err != nil {
		log.Fatal(err)
	}
}

// ShutdownWithContext answers the requests that have begun, until the context ends.
func ExampleServer_ShutdownWithContext() {
	begun, goOn := make(chan struct{}), make(chan struct{})
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		close(begun)
		<-goOn
		ctx.WriteString("done")
	}}
	client, _ := serve(server)
	answered := make(chan string)
	go func() {
		_, body, err := client.Get(nil, "http://any.host/")
		answered <- fmt.Sprintf("%s %v", body, err)
	}()
	<-begun

	soon, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	fmt.Println(errors.Is(server.ShutdownWithContext(soon), context.DeadlineExceeded))
	close(goOn)
	fmt.Println(<-answered)
	fmt.Println(server.ShutdownWithContext(context.Background()))
	// Output:
	// true
	// done <nil>
	// <nil>
}

// DoRedirects follows redirects. Do does not.
func ExampleClient_DoRedirects() {
	client, stop := hello()
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/old")
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", resp.StatusCode(), resp.Header.Peek(fasthttp.HeaderLocation))
	if err := client.DoRedirects(req, resp, 10); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", resp.StatusCode(), resp.Body())
	// Output:
	// 301 http://any.host/new
	// 200 GET /new
}

// A client requests encoded content, and decodes it.
func ExampleResponse_BodyUncompressed() {
	client, stop := serve(&fasthttp.Server{Handler: fasthttp.CompressHandler(func(ctx *fasthttp.RequestCtx) {
		ctx.WriteString(strings.Repeat("hello ", 100))
	})})
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/")
	req.Header.Set(fasthttp.HeaderAcceptEncoding, "zstd, gzip")
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	body, err := resp.BodyUncompressed()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %v, %d bytes\n", resp.Header.ContentEncoding(), len(resp.Body()) < 100, len(body))
	// Output: zstd, true, 600 bytes
}

// A client uploads a file and a value in a form.
func ExampleRequest_SetBodyRaw() {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if err := w.WriteField("title", "a picture"); err != nil {
		log.Fatal(err)
	}
	file, err := w.CreateFormFile("file", "a.png")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := io.WriteString(file, "not a picture"); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	req := get("http://any.host/upload")
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType(w.FormDataContentType())
	req.SetBodyRaw(form.Bytes()) // not copied

	answer(func(ctx *fasthttp.RequestCtx) {
		form, err := ctx.MultipartForm()
		if err != nil {
			ctx.Error(err.Error(), fasthttp.StatusBadRequest)
			return
		}
		for _, file := range form.File["file"] {
			fmt.Fprintf(ctx, "%s: %s, %d bytes", form.Value["title"][0], file.Filename, file.Size)
		}
	}, req)
	// Output: 200 a picture: a.png, 13 bytes
}

// ServeFS sends a file of an fs.FS, such as an embed.FS.
func ExampleServeFS() {
	files := fstest.MapFS{"page.html": {Data: []byte("<h1>hello</h1>"), ModTime: time.Unix(1, 0)}}
	client, stop := serve(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		fasthttp.ServeFS(ctx, files, "page.html")
	}})
	defer stop()

	status, body, err := client.Get(nil, "http://any.host/")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)
	// Output: 200 <h1>hello</h1>
}

// ListenAndServeTLS serves HTTPS, and reads its certificate once. For renewed certificates,
// use NewTLSReloader.
func ExampleListenAndServeTLS() {
	handler := func(ctx *fasthttp.RequestCtx) { fmt.Fprintf(ctx, "TLS: %v", ctx.IsTLS()) }
	if err := fasthttp.ListenAndServeTLS(":8443", "cert.pem", "key.pem", handler); err != nil {
		log.Fatal(err)
	}
}
