package integrationtests

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/policytest"
	"github.com/valyala/fasthttp/internal/servertest"
)

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
		for _, tc := range policytest.MalformedTargets {
			c1 := ts.Dial()
			c1.Send(tc.H1)
			method := "GET"
			if tc.Name == "HEAD *" {
				method = "HEAD"
			}
			if resp := c1.Next(method); resp.StatusCode != 400 || resp.ContentLength != 2 {
				t.Errorf("%s, by HTTP/1.1: %d, %q", tc.Name, resp.StatusCode, resp.Content)
			}
			c1.ExpectCut()
			want := servertest.Receive(t, "the error", failures)
			servertest.Receive(t, "the report", sent)

			c.Headers(next, whole, tc.H2...).Flush()
			content := "400 no"
			if method == "HEAD" {
				content = "400 "
			}
			if got := c.Await(next); got.String() != content || fieldOf(got.Heads[0], "content-length") != "2" {
				t.Errorf("%s: %s", tc.Name, got)
			}
			err := servertest.Receive(t, "the error", failures)
			if err.Error() != want.Error() || errors.Is(err, fasthttp.ErrorInvalidURI) == tc.Host {
				t.Errorf("%s: the error is %q, by HTTP/1.1 %q", tc.Name, err, want)
			}
			if r := servertest.Receive(t, "the report", sent); r.StatusCode != 400 || r.Refused != err || r.Err != nil {
				t.Errorf("%s: reported as %+v", tc.Name, r)
			}

			// the response does not wait for content
			c.Headers(next+2, endHeaders, tc.H2...).Flush()
			if got := c.Await(next + 2); got.Status() != "400" {
				t.Errorf("%s with content: %s", tc.Name, got)
			}
			servertest.Receive(t, "the error", failures)
			servertest.Receive(t, "the report", sent)
			c.Data(next+2, endStream, "abc")
			c.Get(next+4, "/good").Flush()
			if got := c.Await(next + 4); got.Status() != "200" {
				t.Errorf("after %s: %s", tc.Name, got)
			}
			next += 6
		}
		if got := int(counted.Load()); got != 2*len(policytest.MalformedTargets) {
			t.Errorf("%d faults are counted, want %d", got, 2*len(policytest.MalformedTargets))
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
