package integrationtests

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// malformedTargets are requests that get 400 over either version of HTTP, from the same
// application code: the request line and the fields of HTTP/1.1, and the pseudo-fields of
// HTTP/2.
var malformedTargets = []struct {
	name string
	h1   string
	h2   []string
	host bool // the host is wrong
}{
	{"GET *", servertest.Head("GET * HTTP/1.1", "Host: a"), []string{":method: GET", ":scheme: http", ":path: *", ":authority: a"}, false},
	{"HEAD *", servertest.Head("HEAD * HTTP/1.1", "Host: a"), []string{":method: HEAD", ":scheme: http", ":path: *", ":authority: a"}, false},
	{"FOO *", servertest.Head("FOO * HTTP/1.1", "Host: a"), []string{":method: FOO", ":scheme: http", ":path: *", ":authority: a"}, false},
	{"CONNECT without a port", servertest.Head("CONNECT a HTTP/1.1", "Host: a"), []string{":method: CONNECT", ":authority: a"}, false},
	{"no host", servertest.Head("GET / HTTP/1.1"), []string{":method: GET", ":scheme: http", ":path: /"}, true},
	{"an empty host", servertest.Head("GET / HTTP/1.1", "Host: "), []string{":method: GET", ":scheme: http", ":path: /", ":authority: "}, true},
	{"a space in the host", servertest.Head("GET / HTTP/1.1", "Host: a b"), []string{":method: GET", ":scheme: http", ":path: /", ":authority: a b"}, true},
	{"user information", servertest.Head("GET / HTTP/1.1", "Host: a@b"), []string{":method: GET", ":scheme: http", ":path: /", ":authority: a@b"}, true},
	{"a port beyond all", servertest.Head("GET / HTTP/1.1", "Host: a:65536"), []string{":method: GET", ":scheme: http", ":path: /", ":authority: a:65536"}, true},
	{"a malformed Host", servertest.Head("GET / HTTP/1.1", "Host: a:b"), []string{":method: GET", ":scheme: http", ":path: /", "host: a:b"}, true},
}

// TestMalformedTargetsAreAnswered has the same requests over HTTP/1.1 and HTTP/2. Over HTTP/2
// the connection stays open.
func TestMalformedTargetsAreAnswered(t *testing.T) {
	t.Parallel()
	forEachHTTP2(t, func(t *testing.T, e servertest.Engine) {
		t.Parallel()
		failures, sent := make(chan error, 1), make(chan fasthttp.SentResponse, 1)
		s := &fasthttp.Server{
			Handler: func(ctx *fasthttp.RequestCtx) {
				if string(ctx.Path()) != "/good" {
					t.Errorf("the handler is called for %s %s of %q", ctx.Method(), ctx.RequestURI(), ctx.Host())
				}
			},
			ErrorHandler: func(ctx *fasthttp.RequestCtx, err error) {
				failures <- err
				ctx.Error("no", fasthttp.StatusBadRequest)
			},
			ResponseSent: func(ctx *fasthttp.RequestCtx, r fasthttp.SentResponse) {
				if r.Refused != nil {
					sent <- r
				}
			},
		}
		var counted atomic.Int32
		s.HTTP2.CountError = func(errType string) {
			if errType != "protocol_error" {
				t.Errorf("%s is counted", errType)
			}
			counted.Add(1)
		}
		ts := serveHTTP2(t, e, s)
		c := greetHTTP2(ts).Listen()
		next := uint32(1)
		for _, tc := range malformedTargets {
			c1 := ts.Dial()
			c1.Send(tc.h1)
			method := "GET"
			if tc.name == "HEAD *" {
				method = "HEAD"
			}
			if resp := c1.Next(method); resp.StatusCode != 400 || resp.ContentLength != 2 {
				t.Errorf("%s, by HTTP/1.1: %d, %q", tc.name, resp.StatusCode, resp.Content)
			}
			c1.ExpectCut()
			want := servertest.Receive(t, "the error", failures)
			servertest.Receive(t, "the report", sent)

			c.Headers(next, whole, tc.h2...).Flush()
			content := "400 no"
			if method == "HEAD" {
				content = "400 "
			}
			if got := c.Await(next); got.String() != content || fieldOf(got.Heads[0], "content-length") != "2" {
				t.Errorf("%s: %s", tc.name, got)
			}
			err := servertest.Receive(t, "the error", failures)
			if err.Error() != want.Error() || errors.Is(err, fasthttp.ErrorInvalidURI) == tc.host {
				t.Errorf("%s: the error is %q, by HTTP/1.1 %q", tc.name, err, want)
			}
			if r := servertest.Receive(t, "the report", sent); r.StatusCode != 400 || r.Refused != err || r.Err != nil {
				t.Errorf("%s: reported as %+v", tc.name, r)
			}

			// the response does not wait for content
			c.Headers(next+2, endHeaders, tc.h2...).Flush()
			if got := c.Await(next + 2); got.Status() != "400" {
				t.Errorf("%s with content: %s", tc.name, got)
			}
			servertest.Receive(t, "the error", failures)
			servertest.Receive(t, "the report", sent)
			c.Data(next+2, endStream, "abc")
			c.Get(next+4, "/good").Flush()
			if got := c.Await(next + 4); got.Status() != "200" {
				t.Errorf("after %s: %s", tc.name, got)
			}
			next += 6
		}
		if got := int(counted.Load()); got != 2*len(malformedTargets) {
			t.Errorf("%d faults are counted, want %d", got, 2*len(malformedTargets))
		}
		if got := c.Verdict(); got != "" {
			t.Errorf("the connection has ended: %s", got)
		}
	})
}

// TestNetHTTPDoesNotRepeatMalformedTargets has a client that sends a request again after
// PROTOCOL_ERROR, on another connection.
func TestNetHTTPDoesNotRepeatMalformedTargets(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		var opened, refused atomic.Int32
		s := start(&fasthttp.Server{
			Handler: func(ctx *fasthttp.RequestCtx) { t.Error("the handler is called") },
			ErrorHandler: func(ctx *fasthttp.RequestCtx, err error) {
				refused.Add(1)
				ctx.Error(err.Error(), fasthttp.StatusBadRequest)
			},
			ConnState: func(_ net.Conn, state fasthttp.ConnState) {
				if state == fasthttp.StateNew {
					opened.Add(1)
				}
			},
		})
		for i, change := range []func(req *http.Request){
			func(req *http.Request) { req.Method, req.URL.Path = "FOO", "*" },
			func(req *http.Request) { req.Host = "a:65536" },
		} {
			req := s.request(t, "GET", "/", nil)
			change(req)
			if resp := s.do(t, req); resp.StatusCode != 400 {
				t.Errorf("request %d: %d %q", i, resp.StatusCode, resp.Content)
			}
		}
		if got := fmt.Sprint(opened.Load(), refused.Load()); got != "1 2" {
			t.Errorf("connections, and requests that were refused: %s", got)
		}
	})
}
