package requestid_test

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/requestid"
)

// A server whose proxy sends ids.
func ExampleSource_Attach() {
	ids, err := requestid.New(requestid.Options{From: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	if err != nil {
		panic(err)
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "this is request %s", requestid.FromContext(ctx))
	}}
	ids.Attach(server)

	// a request of the proxy
	var req fasthttp.Request
	req.SetRequestURI("/")
	req.Header.Set("X-Request-Id", "proxy-12345")
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, nil)
	server.Handler(&ctx)
	fmt.Printf("%s: %s\n", ctx.Response.Body(), ctx.Response.Header.Peek("X-Request-Id"))
	// Output: this is request proxy-12345: proxy-12345
}
