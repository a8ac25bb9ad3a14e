package integrationtests

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// h2Forwards are requests and responses that a proxy forwards.
var h2Forwards = []struct {
	name, request string
	pseudo        string
	content       string
	answer        func(c *h2Side, r *h2Request)
	head, text    string // the status line of the response, and its content
}{
	{
		name:    "a chunked POST with trailers",
		request: "POST /a?b HTTP/1.1\r\nHost: a.test:80\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers, deflate\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n4\r\nbody\r\n0\r\nX-Sum: 7\r\n\r\n",
		pseudo:  ":method POST|:scheme http|:authority a.test:80|:path /a?b",
		content: "body",
		answer: func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200", "content-type: a/b", "x-y: z")
			c.Data(r.ID, endStream, "answer").Flush()
		},
		head: "HTTP/1.1 200 OK", text: "answer",
	},
	{
		name:    "an answer of unknown length with trailers",
		request: "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
		pseudo:  ":method GET|:scheme http|:authority a.test|:path /",
		answer: func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "404", "trailer: x-end")
			c.Data(r.ID, 0, "answer").Headers(r.ID, whole, "x-end: 1").Flush()
		},
		head: "HTTP/1.1 404 Not Found", text: "answer",
	},
	{
		name:    "HEAD",
		request: "HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n",
		pseudo:  ":method HEAD|:scheme http|:authority a.test|:path /",
		answer:  func(c *h2Side, r *h2Request) { c.Respond(r, "200", "", "content-length: 77") },
		head:    "HTTP/1.1 200 OK",
	},
	{
		name:    "204",
		request: "DELETE / HTTP/1.1\r\nHost: a.test\r\n\r\n",
		pseudo:  ":method DELETE|:scheme http|:authority a.test|:path /",
		answer:  func(c *h2Side, r *h2Request) { c.Respond(r, "204", "") },
		head:    "HTTP/1.1 204 No Content",
	},
	{
		name:    "304 with a length",
		request: "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
		pseudo:  ":method GET|:scheme http|:authority a.test|:path /",
		answer:  func(c *h2Side, r *h2Request) { c.Respond(r, "304", "", "content-length: 77") },
		head:    "HTTP/1.1 304 Not Modified",
	},
	{
		name:    "an asterisk",
		request: "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n",
		pseudo:  ":method OPTIONS|:scheme http|:authority a.test|:path *",
		answer:  func(c *h2Side, r *h2Request) { c.Respond(r, "200", "") },
		head:    "HTTP/1.1 200 OK",
	},
	{
		name:    "an absolute target",
		request: "GET http://b.test:8080/x HTTP/1.1\r\nHost: a.test\r\n\r\n",
		pseudo:  ":method GET|:scheme http|:authority b.test:8080|:path /x",
		answer:  func(c *h2Side, r *h2Request) { c.Respond(r, "200", "") },
		head:    "HTTP/1.1 200 OK",
	},
	{
		name:    "HTTP/1.0",
		request: "GET / HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n",
		pseudo:  ":method GET|:scheme http|:authority a.test|:path /",
		answer: func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200")
			c.Data(r.ID, endStream, "answer").Flush()
		},
		head: "HTTP/1.1 200 OK", text: "answer",
	},
}

// TestHTTP2ClientInAProxy has a server forward HTTP/1.1 requests to an HTTP/2 server, with the same
// Request and Response objects, and the responses back. Nothing specific to one version gets into
// the other.
func TestHTTP2ClientInAProxy(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{false, true} {
		t.Run(fmt.Sprint("streams ", streams), func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t)
			hc := p.client()
			hc.StreamResponseBody = streams
			proxy := &fasthttp.Server{StreamRequestBody: streams, Handler: func(ctx *fasthttp.RequestCtx) {
				if err := hc.DoTimeout(&ctx.Request, &ctx.Response, servertest.Patience/2); err != nil {
					ctx.Error(err.Error(), fasthttp.StatusBadGateway)
				}
			}}
			ln, _ := servertest.ListenTCP(t)
			go func() { _ = proxy.Serve(ln) }()
			defer servertest.ShutDown(t, proxy)
			var c *h2Side
			for _, tt := range h2Forwards {
				nc, err := net.Dial("tcp", ln.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
				_, _ = io.WriteString(nc, tt.request)
				if c == nil {
					c = p.Greet()
				}
				r := c.Whole()
				if err := checkRequestFields(r); err != nil {
					t.Errorf("%s: %v", tt.name, err)
				}
				var pseudo []string
				for _, f := range r.Fields() {
					if strings.HasPrefix(f.Name, ":") {
						pseudo = append(pseudo, f.Name+" "+f.Value)
					} else if slices.Contains([]string{"x-hop", "te", "expect"}, f.Name) && f.Value != "trailers" {
						t.Errorf("%s: the request has %s %s", tt.name, f.Name, f.Value)
					}
				}
				if got := strings.Join(pseudo, "|"); got != tt.pseudo || string(r.Content) != tt.content {
					t.Errorf("%s: got %s with %q", tt.name, got, r.Content)
				}
				tt.answer(c, r)
				br := bufio.NewReader(nc)
				peeked, _ := br.Peek(len(tt.head))
				line := string(peeked)
				method, _, _ := strings.Cut(tt.request, " ")
				resp, err := http.ReadResponse(br, &http.Request{Method: method})
				if err != nil {
					t.Fatalf("%s: %v", tt.name, err)
				}
				body, err := io.ReadAll(resp.Body)
				if line != tt.head || string(body) != tt.text || err != nil {
					t.Errorf("%s: %q, %q, %v", tt.name, line, body, err)
				}
				for name := range resp.Header {
					if strings.HasPrefix(name, ":") {
						t.Errorf("%s: a field %s", tt.name, name)
					}
				}
				_ = nc.Close()
			}
		})
	}
}

// TestHTTP2ClientSendsAuthorities has URIs whose authority is more than a name.
func TestHTTP2ClientSendsAuthorities(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	for _, tt := range []struct{ method, url, pseudo, authorization string }{
		{"GET", "http://me:word@a.test/x", ":method GET|:scheme http|:authority a.test|:path /x", "Basic bWU6d29yZA=="},
		{"GET", "http://[::1]:8080/", ":method GET|:scheme http|:authority [::1]:8080|:path /", ""},
		{"GET", "http://m\u00fcnchen.test/", ":method GET|:scheme http|:authority xn--mnchen-3ya.test|:path /", ""},
		{"GET", "http://a.test?x=%zz#f", ":method GET|:scheme http|:authority a.test|:path /?x=%zz", ""},
		{"GET", "http://a.test/a b\u00fc", ":method GET|:scheme http|:authority a.test|:path /a%20b%C3%BC", ""},
		{"CONNECT", "http://a.test:443/", ":method CONNECT|:authority a.test:443", ""},
	} {
		call := startCall(t, hc.Do, tt.method, tt.url)
		r := c.Request()
		c.Respond(r, "200", "")
		if err := call.wait(); err != nil {
			t.Errorf("%s: %v", tt.url, err)
		}
		var pseudo []string
		for _, f := range r.Fields() {
			if strings.HasPrefix(f.Name, ":") {
				pseudo = append(pseudo, f.Name+" "+f.Value)
			}
		}
		if got := strings.Join(pseudo, "|"); got != tt.pseudo || r.Field("authorization") != tt.authorization {
			t.Errorf("%s %s: got %s, %q", tt.method, tt.url, got, r.Field("authorization"))
		}
	}
}
