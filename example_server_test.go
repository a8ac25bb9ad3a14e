package fasthttp_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

// local starts a server on a port of this machine, for the functions of the package, which
// connect by the network.
func local(handler fasthttp.RequestHandler) (url string, stop func()) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{Handler: handler}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	return "http://" + ln.Addr().String(), func() {
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

// Run is the whole life of a service. Here its context ends after the first request, elsewhere
// when the process gets a signal: see signal.NotifyContext.
func ExampleServer_Run() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{
		Handler:         func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") },
		ShutdownTimeout: 10 * time.Second,
	}
	go func() {
		defer stop()
		status, body, err := fasthttp.Get(nil, "http://"+ln.Addr().String())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s\n", status, body)
	}()
	fmt.Println("ended:", server.Run(ctx, ln))
	// Output:
	// 200 hello
	// ended: <nil>
}

// The hooks of a trace follow a request. Values that they set are there for the handler.
func ExampleServerTrace() {
	ctx, stop := context.WithCancel(context.Background())
	ln := fasthttputil.NewInmemoryListener()
	server := &fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) { fmt.Println("handler:", ctx.UserValue("name")) },
		Trace: &fasthttp.ServerTrace{
			HeadReceived: func(ctx *fasthttp.RequestCtx) {
				ctx.SetUserValue("name", string(ctx.Method())+" "+string(ctx.Path()))
			},
			ResponseSent: func(ctx *fasthttp.RequestCtx, sent fasthttp.TracedResponse) {
				fmt.Println("sent:", ctx.UserValue("name"), sent.StatusCode, sent.Protocol, sent.Handling > 0)
			},
			ConnEnded: func(_ uint64, _ net.Conn, why fasthttp.ConnEnd) {
				fmt.Println("ended:", why)
				stop()
			},
		},
	}
	client := &fasthttp.HostClient{Addr: "memory", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	go func() {
		if _, _, err := client.Get(nil, "http://memory/path"); err != nil {
			log.Fatal(err)
		}
		client.CloseIdleConnections()
	}()
	if err := server.Run(ctx, ln); err != nil {
		log.Fatal(err)
	}
	// Output:
	// handler: GET /path
	// sent: GET /path 200 HTTP/1.1 true
	// ended: client
}

// Serve accepts connections until the listener is closed. To end the connections as well,
// use a Server and its Shutdown.
func ExampleServe() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- fasthttp.Serve(ln, func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") })
	}()
	status, body, err := fasthttp.Get(nil, "http://"+ln.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)

	ln.Close()
	fmt.Println("served:", <-served)
	// Output:
	// 200 hello
	// served: <nil>
}

// ListenAndServe serves on a port. It returns nil after Shutdown, and otherwise an error.
func ExampleServer_ListenAndServe() {
	server := &fasthttp.Server{
		Handler:     func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") },
		ReadTimeout: 10 * time.Second,
		IdleTimeout: time.Minute,
	}
	if err := server.ListenAndServe(":8080"); err != nil {
		log.Fatal(err)
	}
}

// ListenAndServeTLS serves HTTPS, here with HTTP/2 as well.
func ExampleServer_ListenAndServeTLS() {
	server := &fasthttp.Server{
		Handler:     func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") },
		ReadTimeout: 10 * time.Second,
		IdleTimeout: time.Minute,
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	if err := server.ListenAndServeTLS(":8443", "cert.pem", "key.pem"); err != nil {
		log.Fatal(err)
	}
}

// ServeTLS reads the certificate and its key from files.
func ExampleServer_ServeTLS() {
	cert, key, err := fasthttp.GenerateTestCertificate("localhost")
	if err != nil {
		log.Fatal(err)
	}
	dir, remove := folder("cert.pem", string(cert))
	defer remove()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		log.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "TLS: %v", ctx.IsTLS())
	}}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(ln, certFile, keyFile) }()

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
	// 200 TLS: true
	// served: <nil>
}

// Shutdown answers the requests that have begun, and waits for that without a limit. For a
// limit, see ShutdownWithContext.
func ExampleServer_Shutdown() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") }}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	if _, _, err := fasthttp.Get(nil, "http://"+ln.Addr().String()); err != nil {
		log.Fatal(err)
	}

	fmt.Println("shut down:", server.Shutdown())
	fmt.Println("served:", <-served)
	// Output:
	// shut down: <nil>
	// served: <nil>
}

// GetTimeout limits the time of the whole call. The slice is reused for the next body.
func ExampleGetTimeout() {
	url, stop := local(func(ctx *fasthttp.RequestCtx) { ctx.Write(ctx.Path()) })
	defer stop()

	var body []byte
	for _, path := range []string{"/a", "/b"} {
		status, b, err := fasthttp.GetTimeout(body, url+path, 30*time.Second)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s\n", status, b)
		body = b
	}
	// Output:
	// 200 /a
	// 200 /b
}

// Post sends a form.
func ExamplePost() {
	url, stop := local(func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "hello, %s", ctx.PostArgs().Peek("name"))
	})
	defer stop()

	form := fasthttp.AcquireArgs()
	defer fasthttp.ReleaseArgs(form)
	form.Set("name", "Jürgen")
	status, body, err := fasthttp.Post(nil, url, form)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)
	// Output: 200 hello, Jürgen
}

// Do sends a request with a client that all callers share. It has no timeout: see
// DoTimeout.
func ExampleDo() {
	url, stop := local(func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s", ctx.Method(), ctx.Path())
	})
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI(url + "/notes/7")
	req.Header.SetMethod(fasthttp.MethodDelete)
	if err := fasthttp.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", resp.StatusCode(), resp.Body())
	// Output: 200 DELETE /notes/7
}

// DoTimeout returns ErrTimeout if the server takes too long. Request and response belong to
// the caller again then.
func ExampleDoTimeout() {
	url, stop := local(func(ctx *fasthttp.RequestCtx) {
		ctx.WatchDisconnect()
		<-ctx.Done()
	})
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI(url)
	err := fasthttp.DoTimeout(req, resp, 10*time.Millisecond)
	fmt.Println(errors.Is(err, fasthttp.ErrTimeout))
	// Output: true
}

// DoDeadline gives several calls one time limit.
func ExampleClient_DoDeadline() {
	client, stop := hello()
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	deadline := time.Now().Add(30 * time.Second)
	for _, path := range []string{"/a", "/b"} {
		req.SetRequestURI("http://any.host" + path)
		if err := client.DoDeadline(req, resp, deadline); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", resp.Body())
	}
	// Output:
	// GET /a
	// GET /b
}

// GetTimeout returns ErrTimeout if the server takes too long.
func ExampleClient_GetTimeout() {
	client, stop := hello()
	defer stop()

	_, _, err := client.GetTimeout(nil, "http://any.host/slow", 10*time.Millisecond)
	fmt.Println(errors.Is(err, fasthttp.ErrTimeout))
	// Output: true
}

// A HostClient connects to Addr, so a path and a Host field are enough for a request.
func ExampleHostClient_Do() {
	server, stop := hello()
	defer stop()
	client := &fasthttp.HostClient{Addr: "10.0.0.7:80", Dial: server.Dial}
	defer client.CloseIdleConnections()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("/v1/notes")
	req.Header.SetHost("api.example.com")
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", resp.StatusCode(), resp.Body())
	// Output: 200 GET /v1/notes
}
