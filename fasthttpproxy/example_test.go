package fasthttpproxy_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
)

// The client uses the proxies of HTTP_PROXY, HTTPS_PROXY and NO_PROXY, as net/http clients do.
func ExampleFasthttpProxyHTTPDialer() {
	client := &fasthttp.Client{Dial: fasthttpproxy.FasthttpProxyHTTPDialer()}
	status, _, err := client.Get(nil, "https://example.com/")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status)
}

// The client uses a given proxy, which requires credentials.
func ExampleFasthttpHTTPDialerTimeout() {
	client := &fasthttp.Client{
		Dial: fasthttpproxy.FasthttpHTTPDialerTimeout("user:secret@proxy.example:3128", 5*time.Second),
	}
	_, _, err := client.Get(nil, "https://example.com/")
	if refused, ok := errors.AsType[*fasthttpproxy.Error](err); ok {
		log.Fatalf("the proxy answered with %d: %s", refused.StatusCode, refused.Body)
	}
}

// The server forwards each request to one of two servers.
func ExampleReverseProxy() {
	balancer := &fasthttp.LBClient{Clients: []fasthttp.BalancingClient{
		&fasthttp.HostClient{Addr: "10.0.0.1:8080"},
		&fasthttp.HostClient{Addr: "10.0.0.2:8080"},
	}}
	proxy := &fasthttpproxy.ReverseProxy{
		Client: balancer,
		Rewrite: func(ctx *fasthttp.RequestCtx, req *fasthttp.Request) error {
			req.Header.Set("X-Tenant", "a")
			return nil
		},
		ModifyResponse: func(ctx *fasthttp.RequestCtx) error {
			ctx.Response.Header.Del("X-Internal")
			return nil
		},
	}
	server := &fasthttp.Server{Handler: proxy.Handler, StreamRequestBody: true}
	log.Fatal(server.ListenAndServe(":8080"))
}
