package bench

import (
	"bytes"
	"net"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/bench/gateway"
	"github.com/valyala/fasthttp/bench/internal/fakenet"
)

// proxyHost is the server behind the proxies.
const proxyHost = "shop.example.com:80"

// proxiedAnswer is the response of that server: the usual one with the fields of an API.
var proxiedAnswer = []byte("HTTP/1.1 200 OK\r\n" +
	"Server: bench\r\n" +
	"Date: Fri, 13 Nov 2026 08:00:00 GMT\r\n" +
	"Content-Type: " + contentType + "\r\n" +
	"Cache-Control: private, max-age=0\r\n" +
	"ETag: \"5f3c8e12-2b1a\"\r\n" +
	"X-Request-Id: 7f8f0a52-4a0c-4a4c-9d0e-6c2f3f9d8a11\r\n" +
	"Vary: Accept-Encoding, Origin\r\n" +
	"Connection: keep-alive\r\n" +
	"Content-Length: 13\r\n\r\n" + answer)

// wholeGet reports whether b is one whole request without content.
func wholeGet(b []byte) bool { return bytes.HasSuffix(b, headEnd) }

// forwardRaw forwards a request as it is.
func forwardRaw(client *fasthttp.HostClient, _ string) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if err := client.Do(&ctx.Request, &ctx.Response); err != nil {
			ctx.Error(err.Error(), fasthttp.StatusBadGateway)
		}
	}
}

// benchProxy measures a proxy between the clients of ServerGetVariedOnePerRead and servers in
// memory.
func benchProxy(b *testing.B, proxy func(client *fasthttp.HostClient, host string) fasthttp.RequestHandler) {
	b.Helper()
	client := &fasthttp.HostClient{
		Addr: proxyHost, MaxConns: variedClients,
		Dial: func(string) (net.Conn, error) {
			return newAnsweringConn([][]byte{proxiedAnswer}, 0, wholeGet), nil
		},
	}
	defer client.CloseIdleConnections()
	s := &fasthttp.Server{Handler: proxy(client, proxyHost)}
	drive(b, s.Serve, fakenet.Config{Texts: visitors(), OnePerRead: true, PerConn: 10_000, Clients: variedClients})
}

func BenchmarkProxyRaw(b *testing.B)     { benchProxy(b, forwardRaw) }
func BenchmarkProxyReverse(b *testing.B) { benchProxy(b, gateway.New) }
