package fasthttp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

// answer runs a handler without a server and without a socket, as tests of handlers
// do, and prints the response.
func answer(handler fasthttp.RequestHandler, req *fasthttp.Request) {
	var ctx fasthttp.RequestCtx
	ctx.Init(req, nil, nil)
	handler(&ctx)
	fmt.Printf("%d %s\n", ctx.Response.StatusCode(), ctx.Response.Body())
}

// get returns a GET request for a target.
func get(target string) *fasthttp.Request {
	req := new(fasthttp.Request)
	req.SetRequestURI(target)
	return req
}

// serve starts a server in memory, and returns a client for it. The client reaches this server
// whatever the host of the request.
func serve(server *fasthttp.Server) (client *fasthttp.Client, stop func()) {
	ln := fasthttputil.NewInmemoryListener()
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	client = &fasthttp.Client{Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	return client, func() {
		client.CloseIdleConnections()
		if err := server.Shutdown(); err != nil {
			log.Fatal(err)
		}
		// for a Serve that begins only now
		ln.Close()
		if err := <-served; err != nil {
			log.Fatal(err)
		}
	}
}

// ListenAndServe serves a few paths.
func ExampleListenAndServe() {
	handler := func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/":
			ctx.WriteString("Hello, world!")
		case "/time":
			fmt.Fprintf(ctx, "%s\n", ctx.Time().Format(time.RFC3339))
		default:
			ctx.NotFound()
		}
	}
	if err := fasthttp.ListenAndServe(":8080", handler); err != nil {
		log.Fatal(err)
	}
}

// A handler routes by path, by method, and by a part of the path.
func ExampleRequestHandler() {
	route := func(ctx *fasthttp.RequestCtx) {
		path := string(ctx.Path())
		switch {
		case path == "/notes" && ctx.IsGet():
			ctx.WriteString("all notes")
		case path == "/notes" && ctx.IsPost():
			ctx.SetStatusCode(fasthttp.StatusCreated)
			fmt.Fprintf(ctx, "added %q", ctx.PostBody())
		case path == "/notes":
			ctx.Response.Header.Set(fasthttp.HeaderAllow, "GET, POST")
			ctx.Error("the method must be GET or POST", fasthttp.StatusMethodNotAllowed)
		case strings.HasPrefix(path, "/notes/"):
			fmt.Fprintf(ctx, "note %s", path[len("/notes/"):])
		default:
			ctx.NotFound()
		}
	}

	answer(route, get("/notes"))
	answer(route, get("/notes/7"))
	post := get("/notes")
	post.Header.SetMethod(fasthttp.MethodPost)
	post.SetBodyString("buy milk")
	answer(route, post)
	post.Header.SetMethod(fasthttp.MethodDelete)
	answer(route, post)
	// Output:
	// 200 all notes
	// 200 note 7
	// 201 added "buy milk"
	// 405 the method must be GET or POST
}

// Middleware is a function that takes a handler and returns another one.
func ExampleRequestHandler_middleware() {
	onlyFor := func(token string, next fasthttp.RequestHandler) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization)) != "Bearer "+token {
				ctx.Error("who are you?", fasthttp.StatusUnauthorized)
				ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, "Bearer")
				return
			}
			next(ctx)
		}
	}
	handler := onlyFor("secret", func(ctx *fasthttp.RequestCtx) { ctx.WriteString("come in") })

	req := get("/")
	answer(handler, req)
	req.Header.Set(fasthttp.HeaderAuthorization, "Bearer secret")
	answer(handler, req)
	// Output:
	// 401 who are you?
	// 200 come in
}

// A server for the internet has timeouts and limits. When it shuts down, it
// completes the responses that it has begun.
func ExampleServer() {
	server := &fasthttp.Server{
		Handler:            func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") },
		Name:               "example",
		ReadTimeout:        10 * time.Second,
		WriteTimeout:       10 * time.Second,
		IdleTimeout:        time.Minute,
		MaxRequestBodySize: 1 << 20,
		MaxConnsPerIP:      100,
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		soon, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		ended <- server.ShutdownWithContext(soon)
	})
	if err := server.ListenAndServe(":8080"); err != nil {
		log.Fatal(err)
	}
	// the listener is closed; some connections may still be busy
	if err := <-ended; err != nil {
		log.Print(err)
	}
}

// A test runs a server and a client without a port.
func ExampleServer_inMemory() {
	ln := fasthttputil.NewInmemoryListener()
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "%s asked for %s", ctx.UserAgent(), ctx.Path())
	}}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()

	client := &fasthttp.Client{
		Name: "tester",
		Dial: func(string) (net.Conn, error) { return ln.Dial() },
	}
	status, body, err := client.Get(nil, "http://any.host/path")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)

	if err := server.Shutdown(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("served:", <-served)
	// Output:
	// 200 tester asked for /path
	// served: <nil>
}

// HeaderReceived sets limits for a path before the server reads the body.
func ExampleServer_headerReceived() {
	server := &fasthttp.Server{
		MaxRequestBodySize: 10,
		Logger:             log.New(io.Discard, "", 0),
		HeaderReceived: func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
			if string(h.RequestURI()) == "/upload" {
				return fasthttp.RequestConfig{MaxRequestBodySize: 1 << 20}
			}
			return fasthttp.RequestConfig{}
		},
		Handler: func(ctx *fasthttp.RequestCtx) { fmt.Fprintf(ctx, "%d bytes", len(ctx.PostBody())) },
	}
	client, stop := serve(server)
	defer stop()

	for _, path := range []string{"/other", "/upload"} {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		req.SetRequestURI("http://any.host" + path)
		req.Header.SetMethod(fasthttp.MethodPost)
		req.SetBodyString(strings.Repeat("x", 1000))
		if err := client.Do(req, resp); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d %s\n", path, resp.StatusCode(), resp.Body())
		fasthttp.ReleaseRequest(req)
		fasthttp.ReleaseResponse(resp)
	}
	// Output:
	// /other: 413 Request Entity Too Large
	// /upload: 200 1000 bytes
}

// HeaderReceived refuses a request before the client sends the body. ErrorHandler
// adds a field to the response.
func ExampleServer_refuse() {
	server := &fasthttp.Server{
		HeaderReceived: func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
			if len(h.Peek("Authorization")) == 0 {
				return fasthttp.RequestConfig{RefuseStatus: fasthttp.StatusUnauthorized}
			}
			return fasthttp.RequestConfig{BodyMode: fasthttp.BodyModeStream}
		},
		ErrorHandler: func(ctx *fasthttp.RequestCtx, err error) {
			if errors.Is(err, fasthttp.ErrRequestRefused) {
				ctx.Response.Header.Set("WWW-Authenticate", "Bearer")
				return
			}
			ctx.Error("bad request", fasthttp.StatusBadRequest)
		},
		Handler: func(ctx *fasthttp.RequestCtx) { _, _ = io.Copy(ctx, ctx.RequestBodyStream()) },
	}
	client, stop := serve(server)
	defer stop()

	for _, authorization := range []string{"", "Bearer 42"} {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		req.SetRequestURI("http://any.host/")
		req.Header.SetMethod(fasthttp.MethodPost)
		req.Header.Set("Authorization", authorization)
		req.SetBodyString("hello")
		if err := client.Do(req, resp); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s %q\n", resp.StatusCode(), resp.Body(), resp.Header.Peek("WWW-Authenticate"))
		fasthttp.ReleaseRequest(req)
		fasthttp.ReleaseResponse(resp)
	}
	// Output:
	// 401 Unauthorized "Bearer"
	// 200 hello ""
}

// ResponseSent writes an access log, with the requests that the server refused.
func ExampleServer_responseSent() {
	server := &fasthttp.Server{
		GetOnly: true,
		Logger:  log.New(io.Discard, "", 0),
		Handler: func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") },
		ResponseSent: func(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
			fmt.Printf("%s %q %d", ctx.Method(), ctx.RequestURI(), sent.StatusCode)
			if sent.Refused != nil {
				fmt.Printf(" refused: %v", sent.Refused)
			}
			if sent.Err != nil {
				fmt.Printf(" cut off after %d bytes: %v", sent.Bytes, sent.Err)
			}
			fmt.Println()
		},
	}
	client, stop := serve(server)
	if _, _, err := client.Get(nil, "http://any.host/a?b=c"); err != nil {
		log.Fatal(err)
	}
	if _, _, err := client.Post(nil, "http://any.host/", nil); err != nil {
		log.Fatal(err)
	}
	stop()
	// Output:
	// GET "/a?b=c" 200
	// POST "/" 400 refused: fasthttp: non-get request received
}

// With StreamRequestBody, a handler reads a body of any size as it arrives.
func ExampleServer_streamRequestBody() {
	server := &fasthttp.Server{
		StreamRequestBody: true,
		Handler: func(ctx *fasthttp.RequestCtx) {
			lines := 0
			scanner := bufio.NewScanner(ctx.RequestBodyStream())
			for scanner.Scan() {
				lines++
			}
			if err := scanner.Err(); err != nil {
				ctx.Error(err.Error(), fasthttp.StatusBadRequest)
				return
			}
			fmt.Fprintf(ctx, "%d lines", lines)
		},
	}
	client, stop := serve(server)
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/")
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetBodyStreamWriter(func(w *bufio.Writer) {
		for i := range 1000 {
			fmt.Fprintf(w, "line %d\n", i)
		}
	})
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", resp.Body())
	// Output: 1000 lines
}

// A server speaks HTTP/2 and HTTP/1.1, here without TLS. The handler is the same.
func ExampleServer_protocols() {
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "%s, HTTP/2: %v", ctx.Request.Header.Protocol(), ctx.IsHTTP2())
	}}
	// once a set names a version, it has only the named ones
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	server.HTTP2.MaxConcurrentStreams = 100
	fmt.Println(server.Protocols)

	ln := fasthttputil.NewInmemoryListener()
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	for _, version := range []func(p *http.Protocols){
		func(p *http.Protocols) { p.SetHTTP1(true) },
		func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		transport := &http.Transport{
			Protocols:   new(http.Protocols),
			DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() },
		}
		version(transport.Protocols)
		client := &http.Client{Transport: transport}
		resp, err := client.Get("http://any.host/")
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		fmt.Printf("%s\n", body)
		client.CloseIdleConnections()
	}

	if err := server.Shutdown(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("served:", <-served)
	// Output:
	// {HTTP1,HTTP2,UnencryptedHTTP2}
	// HTTP/1.1, HTTP/2: false
	// HTTP/2.0, HTTP/2: true
	// served: <nil>
}

// ServeTLSEmbed serves HTTPS with a certificate for tests. The client trusts no
// other.
func ExampleServer_ServeTLSEmbed() {
	cert, key, err := fasthttp.GenerateTestCertificate("localhost")
	if err != nil {
		log.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "TLS: %v, for %s", ctx.IsTLS(), ctx.TLSConnectionState().ServerName)
	}}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLSEmbed(ln, cert, key) }()

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	client := &fasthttp.Client{
		TLSConfig: &tls.Config{RootCAs: roots},
		Dial:      func(string) (net.Conn, error) { return fasthttp.Dial(ln.Addr().String()) },
	}
	status, body, err := client.Get(nil, "https://localhost/")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)

	client.CloseIdleConnections()
	if err := server.Shutdown(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("served:", <-served)
	// Output:
	// 200 TLS: true, for localhost
	// served: <nil>
}

// A TLSReloader loads certificates from files, and reloads them after they change.
func ExampleNewTLSReloader() {
	certs, err := fasthttp.NewTLSReloader("cert.pem", "key.pem")
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") }}
	server.TLSConfig = &tls.Config{GetCertificate: certs.GetCertificate}
	if err := server.ListenAndServeTLS(":443", "", ""); err != nil {
		log.Fatal(err)
	}
}
