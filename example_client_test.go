package fasthttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

// hello starts a server for the examples of clients.
func hello() (client *fasthttp.Client, stop func()) {
	return serve(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/slow":
			ctx.WatchDisconnect()
			<-ctx.Done()
		case "/old":
			ctx.Redirect("/new", fasthttp.StatusMovedPermanently)
		default:
			fmt.Fprintf(ctx, "%s %s", ctx.Method(), ctx.RequestURI())
			if body := ctx.PostBody(); len(body) > 0 {
				fmt.Fprintf(ctx, " %s", body)
			}
		}
	}})
}

// Get fetches a URL. The next call may reuse the slice that it returns, and then
// allocates nothing.
func ExampleClient_Get() {
	client, stop := hello()
	defer stop()

	status, body, err := client.Get(nil, "http://any.host/path?a=b")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)
	_, body, err = client.Get(body, "http://any.host/old")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", body)
	// Output:
	// 200 GET /path?a=b
	// GET /new
}

// Post sends a form.
func ExampleClient_Post() {
	client, stop := hello()
	defer stop()

	form := fasthttp.AcquireArgs()
	defer fasthttp.ReleaseArgs(form)
	form.Set("name", "Jürgen")
	status, body, err := client.Post(nil, "http://any.host/", form)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)
	// Output: 200 POST / name=J%C3%BCrgen
}

// Do sends a request with fields and a body. Request and response are released to their pools,
// and the program does not use them after that.
func ExampleClient_Do() {
	client, stop := hello()
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)

	req.SetRequestURI("http://any.host/notes/7")
	req.Header.SetMethod(fasthttp.MethodPut)
	req.Header.SetContentType("application/json")
	req.Header.Set(fasthttp.HeaderAccept, "text/plain")
	req.SetBodyString(`{"text":"buy milk"}`)
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s: %s\n", resp.StatusCode(), resp.Header.ContentType(), resp.Body())
	// Output: 200 text/plain; charset=utf-8: PUT /notes/7 {"text":"buy milk"}
}

// DoTimeout limits the time of a call.
func ExampleClient_DoTimeout() {
	client, stop := hello()
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/slow")
	err := client.DoTimeout(req, resp, 10*time.Millisecond)
	fmt.Println(errors.Is(err, fasthttp.ErrTimeout))
	// Output: true
}

// DoContext ends a call when its context ends.
func ExampleClient_DoContext() {
	client, stop := hello()
	defer stop()

	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/slow")
	err := client.DoContext(ctx, req, resp)
	fmt.Println(errors.Is(err, context.Canceled))
	// Output: true
}

// With StreamResponseBody, a program reads a response of any size as it arrives.
func ExampleClient_streamResponseBody() {
	server, stop := hello()
	defer stop()
	client := &fasthttp.Client{Dial: server.Dial, StreamResponseBody: true}
	defer client.CloseIdleConnections()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/large")
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	defer resp.CloseBodyStream()
	n, err := io.Copy(io.Discard, resp.BodyStream())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "bytes")
	// Output: 10 bytes
}

// RetryWithBackoff repeats failed attempts after growing waits, as long as that is
// safe.
func ExampleRetryWithBackoff() {
	server, stop := hello()
	defer stop()
	dials := 0
	client := &fasthttp.Client{
		Dial: func(addr string) (net.Conn, error) {
			if dials++; dials < 3 {
				return nil, errors.New("not yet")
			}
			return server.Dial(addr)
		},
		RetryIfErr:                fasthttp.RetryWithBackoff(fasthttp.Backoff{Base: time.Millisecond, Limit: 10 * time.Millisecond}),
		MaxIdemponentCallAttempts: 5,
	}
	defer client.CloseIdleConnections()

	status, _, err := client.Get(nil, "http://any.host/")
	fmt.Println(status, err, dials)
	// Output: 200 <nil> 3
}

// A HostClient is a client of one host. Addr may list several addresses, which take
// turns.
func ExampleHostClient() {
	server, stop := hello()
	defer stop()
	client := &fasthttp.HostClient{
		Addr:                "api.example.com:80",
		Dial:                server.Dial,
		MaxConns:            100,
		MaxResponseBodySize: 1 << 20,
	}
	defer client.CloseIdleConnections()

	status, body, err := client.Get(nil, "http://api.example.com/v1/notes")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)
	// Output: 200 GET /v1/notes
}

// A PipelineClient sends requests without waiting for earlier responses. It suits
// many small requests to one host that responds in order.
func ExamplePipelineClient() {
	server, stop := hello()
	defer stop()
	client := &fasthttp.PipelineClient{
		Addr:     "api.example.com:80",
		Dial:     server.Dial,
		MaxConns: 1,
	}

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://api.example.com/v1/notes")
	if err := client.DoTimeout(req, resp, 30*time.Second); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", resp.StatusCode(), resp.Body())
	// Output: 200 GET /v1/notes
}

// An LBClient sends each request to the host with the fewest pending requests.
func ExampleLBClient() {
	var asked [2]atomic.Int64
	var clients []fasthttp.BalancingClient
	for i := range asked {
		ln := fasthttputil.NewInmemoryListener()
		defer ln.Close()
		go func() {
			_ = fasthttp.Serve(ln, func(ctx *fasthttp.RequestCtx) { asked[i].Add(1) })
		}()
		clients = append(clients, &fasthttp.HostClient{
			Addr: fmt.Sprintf("host%d:80", i),
			Dial: func(string) (net.Conn, error) { return ln.Dial() },
		})
	}
	balancer := &fasthttp.LBClient{Clients: clients, Timeout: 30 * time.Second}

	for range 10 {
		req := get("http://service/")
		if err := balancer.Do(req, nil); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(asked[0].Load(), asked[1].Load())
	// Output: 5 5
}

// A dialer for a client that fetches untrusted URLs: it caches addresses for an hour and
// refuses the addresses of the own network.
func ExampleTCPDialer() {
	dialer := &fasthttp.TCPDialer{
		DNSCacheDuration: time.Hour,
		Concurrency:      100,
		Control: func(network, address string, _ syscall.RawConn) error {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return err
			}
			if ip := net.ParseIP(host); ip == nil || ip.IsPrivate() || ip.IsLoopback() {
				return errors.New("this address is not for you")
			}
			return nil
		},
	}
	client := &fasthttp.Client{DialTimeout: dialer.DialTimeout}

	_, _, err := client.GetTimeout(nil, "http://127.0.0.1:9/", 5*time.Second)
	fmt.Println(err != nil)
	// Output: true
}

// A client waits for a server if it is busy for a while, and if it may: here the server asks for
// another request at once. Timeout limits the call as a whole.
func ExampleClient_maxRetryAfter() {
	var requests atomic.Int32
	url, stop := local(func(ctx *fasthttp.RequestCtx) {
		if requests.Add(1) == 1 {
			ctx.Error("busy", fasthttp.StatusServiceUnavailable)
			ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "0")
			return
		}
		ctx.WriteString("done")
	})
	defer stop()
	client := &fasthttp.Client{Timeout: time.Minute, MaxRetryAfter: 10 * time.Second}
	defer client.CloseIdleConnections()
	status, body, err := client.Get(nil, url)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s after %d requests\n", status, body, requests.Load())
	// Output: 200 done after 2 requests
}

// propagating sends the span in the context of a call to the server.
type propagating struct{ next fasthttp.RoundTripperContext }

func (p propagating) RoundTrip(hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
	return p.RoundTripContext(context.Background(), hc, req, resp)
}

func (p propagating) RoundTripContext(ctx context.Context, hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
	if span, ok := ctx.Value(spanOf{}).(string); ok {
		req.Header.Set("Traceparent", span)
	}
	return p.next.RoundTripContext(ctx, hc, req, resp)
}

// A Transport gets the context of each call.
func ExampleRoundTripperContext() {
	url, stop := local(func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "span %s", ctx.Request.Header.Peek("Traceparent"))
	})
	defer stop()
	client := &fasthttp.Client{Transport: propagating{fasthttp.DefaultTransport.(fasthttp.RoundTripperContext)}}
	defer client.CloseIdleConnections()
	ctx := context.WithValue(context.Background(), spanOf{}, "00-1-2-01")
	_, body, err := client.GetContext(ctx, nil, url)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", body)
	// Output: span 00-1-2-01
}

// A chain of RoundTrippers: the first of them sees each attempt first.
func ExampleChainRoundTrippers() {
	url, stop := local(func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "token %s", ctx.Request.Header.Peek("Authorization"))
	})
	defer stop()
	logged := func(next fasthttp.RoundTripperContext) fasthttp.RoundTripper {
		return fasthttp.RoundTripFunc(func(ctx context.Context, hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
			retry, err = next.RoundTripContext(ctx, hc, req, resp)
			fmt.Printf("%s %s: %d\n", req.Header.Method(), req.URI().Path(), resp.StatusCode())
			return retry, err
		})
	}
	authorized := func(next fasthttp.RoundTripperContext) fasthttp.RoundTripper {
		return fasthttp.RoundTripFunc(func(ctx context.Context, hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
			req.Header.Set("Authorization", "secret")
			return next.RoundTripContext(ctx, hc, req, resp)
		})
	}
	client := &fasthttp.Client{Transport: fasthttp.ChainRoundTrippers(nil, logged, authorized)}
	defer client.CloseIdleConnections()
	_, body, err := client.Get(nil, url)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", body)
	// Output:
	// GET /: 200
	// token secret
}
