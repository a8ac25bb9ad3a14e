package fasthttpproxy_test

import (
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// A usual exchange takes two objects: the exchange itself and the watch of the client, either of which
// a goroutine of the application may keep.
func TestAllocsOfAnExchange(t *testing.T) {
	for _, e := range servertest.SocketEngines {
		if e.TLS || servertest.RaceDetector {
			continue // the allocations of crypto/tls, or of pools that drop values, count as well
		}
		start := func(s *fasthttp.Server) *roottest.Server { return roottest.Start(t, e, false, s) }
		back := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Response.Header.Set("Connection", "keep-alive")
			ctx.SetBodyString("answer")
		}})
		front := start(served(t, &fasthttpproxy.ReverseProxy{Target: back.URL(""), Client: clientOf(back, false)}))
		client := clientOf(front, false)
		t.Cleanup(client.CloseIdleConnections)
		var req fasthttp.Request
		var resp fasthttp.Response
		req.SetRequestURI(front.URL("/path?query=1"))
		for name, value := range map[string]string{
			"Connection": "keep-alive, TE", "TE": "trailers", "X-Forwarded-For": "203.0.113.7", "Cookie": "a=b",
		} {
			req.Header.Set(name, value)
		}
		exchange := func() {
			if err := client.Do(&req, &resp); err != nil || string(resp.Body()) != "answer" {
				t.Fatalf("%v, %d %q", err, resp.StatusCode(), resp.Body())
			}
		}
		exchange()
		most := 2.0
		if e.Kind == servertest.Portable {
			most++ // package net makes an error of the read that is interrupted
		}
		if got := testing.AllocsPerRun(200, exchange); got > most {
			t.Errorf("%s: %v allocations for an exchange, want %v", e.Name, got, most)
		}
	}
}
