package fasthttp_test

import (
	"bufio"
	"fmt"
	"log"
	"net"
	"net/netip"

	"github.com/valyala/fasthttp"
)

// exchange sends bytes to a server on a port of this machine, and prints the content
// of the response.
func exchange(server *fasthttp.Server, sent string) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() { _ = server.Serve(ln) }()
	nc, err := net.Dial("tcp4", ln.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	fmt.Fprint(nc, sent)
	var resp fasthttp.Response
	if err := resp.Read(bufio.NewReader(nc)); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", resp.Body())
	if err := server.Shutdown(); err != nil {
		log.Fatal(err)
	}
}

// The proxies run on this machine. The client at 192.0.2.7 has sent a false address
// in the field, to which a proxy has appended the true one.
func ExampleTrustedProxies() {
	server := &fasthttp.Server{
		TrustedProxies: fasthttp.TrustedProxies{
			Ranges: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		},
		Handler: func(ctx *fasthttp.RequestCtx) {
			fmt.Fprintf(ctx, "%v by %s, through %v", ctx.ClientIP(), ctx.ClientScheme(), ctx.RemoteIP())
		},
	}

	exchange(server, "GET / HTTP/1.1\r\nHost: example.com\r\n"+
		"X-Forwarded-For: 10.0.0.1, 192.0.2.7\r\nX-Forwarded-Proto: https\r\n\r\n")
	// Output:
	// 192.0.2.7 by https, through 127.0.0.1
}

// The proxies use the Forwarded field of RFC 7239.
func ExampleTrustedProxies_forwarded() {
	server := &fasthttp.Server{
		TrustedProxies: fasthttp.TrustedProxies{
			Ranges:       []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")},
			AddressField: fasthttp.HeaderForwarded,
		},
		Handler: func(ctx *fasthttp.RequestCtx) {
			fmt.Fprintf(ctx, "%v asks for %s://%s", ctx.ClientIP(), ctx.ClientScheme(), ctx.ClientHost())
		},
	}

	exchange(server, "GET / HTTP/1.1\r\nHost: inside\r\n"+
		"Forwarded: for=\"[2001:db8::7]:4711\";proto=https;host=example.com, for=10.0.0.2\r\n\r\n")
	// Output:
	// 2001:db8::7 asks for https://example.com
}

// A proxy that forwards connections sends the address of the client first.
func ExampleProxyProtocol() {
	server := &fasthttp.Server{
		ProxyProtocol: &fasthttp.ProxyProtocol{
			From: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		},
		Handler: func(ctx *fasthttp.RequestCtx) {
			fmt.Fprintf(ctx, "%v, to %v", ctx.RemoteAddr(), ctx.LocalAddr())
		},
	}

	exchange(server, "PROXY TCP4 192.0.2.7 198.51.100.1 4711 80\r\n"+
		"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
	// Output:
	// 192.0.2.7:4711, to 198.51.100.1:80
}

// The server accepts forms from pages of its own origin and of one other. It does not check a
// path for other programs, which authenticate in another way.
func ExampleCrossOriginProtection() {
	var protection fasthttp.CrossOriginProtection
	if err := protection.AddTrustedOrigin("https://shop.example.com"); err != nil {
		log.Fatal(err)
	}
	protection.SetInsecureBypass(func(ctx *fasthttp.RequestCtx) bool {
		return string(ctx.Path()) == "/webhook"
	})
	handler := protection.Handler(func(ctx *fasthttp.RequestCtx) {
		ctx.WriteString("done")
	})

	req := get("/order")
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	answer(handler, req)
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	req.Header.Set("Origin", "https://shop.example.com")
	answer(handler, req)
	req.Header.Set("Origin", "https://evil.example")
	answer(handler, req)
	req.SetRequestURI("/webhook")
	answer(handler, req)
	// Output:
	// 200 done
	// 200 done
	// 403 fasthttp: cross-origin request: Sec-Fetch-Site says so
	// 200 done
}
