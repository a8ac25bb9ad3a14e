package integrationtests

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// Forwarded messages have the version of the proxy, not of the received message (RFC 9110
// section 2.5), and no HTTP/1.0 peer is sent chunks.
func TestForwardedMessagesHaveTheVersionOfTheProxy(t *testing.T) {
	t.Parallel()
	unsized := func(req *fasthttp.Request) {
		req.SetBodyStream(io.MultiReader(strings.NewReader("as"), strings.NewReader("ked")), -1)
	}
	for _, tc := range []struct {
		name         string
		method       string
		version      string                        // of the client
		response     string                        // of the server
		prepare      func(req *fasthttp.Request)   // by the proxy, before its call
		finish       func(resp *fasthttp.Response) // by the proxy, before its response
		sent, coding string                        // what the server receives
		line         string                        // what the client receives
		codings      int
	}{
		{
			name: "a response of HTTP/1.0 without a length", version: "HTTP/1.1",
			response: "HTTP/1.0 200 Fine\r\n\r\nanswer",
			sent:     "HTTP/1.1", line: "HTTP/1.1 200 Fine", codings: 1,
		},
		{
			name: "a response of HTTP/1.0 for HTTP/1.0", version: "HTTP/1.0",
			response: "HTTP/1.0 200 OK\r\n\r\nanswer",
			sent:     "HTTP/1.1", line: "HTTP/1.1 200 OK",
		},
		{
			name: "a response of HTTP/1.0 with a length", version: "HTTP/1.1",
			response: "HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\nanswer",
			sent:     "HTTP/1.1", line: "HTTP/1.1 200 OK",
		},
		{
			name: "a response of HTTP/1.3", version: "HTTP/1.1",
			response: "HTTP/1.3 200 OK\r\nContent-Length: 6\r\n\r\nanswer",
			sent:     "HTTP/1.1", line: "HTTP/1.1 200 OK",
		},
		{
			name: "a request of HTTP/1.0 with a stream", version: "HTTP/1.0", method: "POST",
			response: "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer",
			prepare:  unsized,
			sent:     "HTTP/1.1", coding: "chunked", line: "HTTP/1.1 200 OK",
		},
		{
			name: "a request of HTTP/1.3", version: "HTTP/1.3",
			response: "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer",
			sent:     "HTTP/1.1", line: "HTTP/1.1 200 OK",
		},
		{
			name: "a stream after the program has chosen HTTP/1.0", version: "HTTP/1.1", method: "POST",
			response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nanswer\r\n0\r\n\r\n",
			prepare: func(req *fasthttp.Request) {
				unsized(req)
				req.Header.SetProtocol("HTTP/1.0")
			},
			finish: func(resp *fasthttp.Response) { resp.Header.SetProtocol([]byte("HTTP/1.0")) },
			sent:   "HTTP/1.1", coding: "chunked", line: "HTTP/1.0 200 OK",
		},
		{
			name: "no stream after the program has chosen HTTP/1.0", version: "HTTP/1.1",
			response: "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer",
			prepare:  func(req *fasthttp.Request) { req.Header.SetProtocol("HTTP/1.0") },
			sent:     "HTTP/1.0", line: "HTTP/1.1 200 OK",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, start starter) {
				asked := make(chan string, 1)
				p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
					if r := c.Request(); r != nil {
						asked <- r.Proto + " " + strings.Join(r.TransferEncoding, ",") + " " + c.Body
						c.Send(tc.response)
						c.Linger()
					}
				})
				client := hostFor(p)
				client.StreamResponseBody = true
				r := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
					if tc.prepare != nil {
						tc.prepare(&ctx.Request)
					}
					if err := client.Do(&ctx.Request, &ctx.Response); err != nil {
						t.Error(err)
					}
					if tc.finish != nil {
						tc.finish(&ctx.Response)
					}
				}})
				method, length, body := "GET", "", ""
				if tc.method != "" {
					method, length, body = tc.method, "Content-Length: 1\r\n", "-"
				}
				c := r.Dial()
				c.Send(method + " / " + tc.version + "\r\nHost: a\r\nConnection: close\r\n" + length + "\r\n" + body)
				want := tc.sent + " " + tc.coding + " "
				if tc.coding != "" {
					want += "asked"
				}
				if got := servertest.Receive(t, "the request", asked); got != want {
					t.Errorf("the server got %q, want %q", got, want)
				}
				resp := c.Next(method)
				if got := resp.Proto + " " + resp.Status; got != tc.line || resp.Content != "answer" || len(resp.TransferEncoding) != tc.codings {
					t.Errorf("the client got %q, %q, %q", got, resp.TransferEncoding, resp.Content)
				}
				c.ExpectEnd()
			})
		})
	}
}

// A percent sign that begins no escape is escaped in the target of a program (RFC 3986 section
// 2.4), since other servers refuse it. A proxy forwards a received target unchanged.
func TestPercentSignsInTargets(t *testing.T) {
	asked := make(chan string, 1)
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for {
			// net/http would not parse these
			line, err := c.R.ReadString('\n')
			if err != nil || !c.Head() {
				return
			}
			asked <- line
			c.OK("")
		}
	})
	c := hostFor(p)
	send := func(req *fasthttp.Request) string {
		t.Helper()
		if err := c.Do(req, nil); err != nil {
			t.Fatal(err)
		}
		line := servertest.Receive(t, "a request", asked)
		return strings.TrimSuffix(strings.TrimPrefix(line, "GET "), " HTTP/1.1\r\n")
	}
	for _, tc := range []struct{ target, given, received string }{
		{"/100%", "/100%25", "/100%"},
		{"/50% off", "/50%25%20off", ""},
		{"/%zz/%41", "/%25zz/A", "/%zz/%41"},
		{"/a%2", "/a%252", "/a%2"},
		{"/a%25", "/a%25", "/a%25"},
		{"/a%20b", "/a%20b", "/a%20b"},
		{"/?q=100%", "/?q=100%", "/?q=100%"},
		{"/100%?q=100%", "/100%25?q=100%", "/100%?q=100%"},
	} {
		if got := send(requestTo(t, "GET", p.URL(tc.target))); got != tc.given {
			t.Errorf("%q of a URL was sent as %q, want %q", tc.target, got, tc.given)
		}
		req := requestTo(t, "GET", tc.target)
		req.Header.SetHost("h")
		if got := send(req); got != tc.given {
			t.Errorf("%q beside a Host was sent as %q, want %q", tc.target, got, tc.given)
		}
		req = requestTo(t, "GET", p.URL(tc.target))
		if first, _, _ := strings.Cut(req.String(), "\r\n"); first != "GET "+tc.given+" HTTP/1.1" {
			t.Errorf("%q is written as %q", tc.target, first)
		}
		if tc.received == "" {
			continue
		}
		for _, look := range []bool{false, true} {
			forwarded := requestTo(t, "GET", "/")
			text := servertest.Get(tc.target)
			if err := forwarded.Read(bufio.NewReader(strings.NewReader(text))); err != nil {
				t.Fatal(err)
			}
			want := tc.received
			if look {
				forwarded.URI().SetHost("other")
				if want == "/%zz/%41" {
					want = "/%zz/A" // then the path is normalized
				}
			}
			if got := send(forwarded); got != want {
				t.Errorf("%q was received and forwarded as %q, want %q", tc.target, got, want)
			}
		}
	}
}
