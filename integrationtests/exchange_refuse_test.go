package integrationtests

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestHeaderReceivedRefusesRequests refuses requests by their header. The server
// does not ask for their bodies. It drains small ones, and keeps the connection.
func TestHeaderReceivedRefusesRequests(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{false, true} {
		forEachEngine(t, func(t *testing.T, start starter) {
			var handled atomic.Int32
			ts := start(&fasthttp.Server{StreamRequestBody: streams,
				HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
					_, _ = fmt.Sscanf(string(h.Peek("Refuse")), "%d", &c.RefuseStatus)
					return c
				},
				Handler: func(ctx *fasthttp.RequestCtx) {
					handled.Add(1)
					fmt.Fprint(ctx, ctx.ConnRequestNum())
				}})
			for _, tc := range []struct {
				name, request string
				status        int
				keeps         bool
			}{
				{"no body", servertest.Get("/", "Refuse: 401"), 401, true},
				{"a body", servertest.Post("/", "abc", "Refuse: 403"), 403, true},
				{"a body that has not arrived", servertest.Head("POST / HTTP/1.1", "Host: a", "Refuse: 429", "Content-Length: 5"), 429, true},
				{"a large one", servertest.Head("POST / HTTP/1.1", "Host: a", "Refuse: 413", fmt.Sprint("Content-Length: ", servertest.DrainLimit+1)), 413, false},
				{"one without end", servertest.Head("POST / HTTP/1.1", "Host: a", "Refuse: 403", "Transfer-Encoding: chunked") + "3\r\nabc\r\n", 403, false},
				{"chunks", servertest.Head("POST / HTTP/1.1", "Host: a", "Refuse: 403", "Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\n\r\n", 403, true},
				{"a client that waits", servertest.Head("POST / HTTP/1.1", "Host: a", "Refuse: 417", "Expect: 100-continue", "Content-Length: 5"), 417, false},
				{"a client that closes", servertest.Get("/", "Refuse: 401", "Connection: close"), 401, false},
				{"a status that is none", servertest.Get("/", "Refuse: 1000"), 400, true},
				{"an informational status", servertest.Get("/", "Refuse: 100"), 400, true},
				{"not an error", servertest.Get("/", "Refuse: 204"), 204, true},
			} {
				handled.Store(0)
				c := ts.Dial()
				c.Send(servertest.Get("/"))
				c.Expect(200, "1")
				c.Send(tc.request)
				resp := c.Next("GET")
				if want := fasthttp.StatusMessage(tc.status); resp.StatusCode != tc.status || resp.Content != want && tc.status != 204 || resp.Close == tc.keeps {
					t.Errorf("%s: got %d %q, close %v", tc.name, resp.StatusCode, resp.Content, resp.Close)
				}
				if tc.keeps {
					if strings.HasSuffix(tc.name, "arrived") {
						c.Send("abcde")
					}
					c.Send(servertest.Get("/"))
					c.Expect(200, "3")
				} else {
					c.ExpectCut()
				}
				if n := handled.Load(); n > 2 {
					t.Errorf("%s: the handler was called", tc.name)
				}
			}
			c := ts.Dial()
			c.Send(servertest.Head("HEAD / HTTP/1.1", "Host: a", "Refuse: 404"))
			if resp := c.Next("HEAD"); resp.StatusCode != 404 || resp.ContentLength != int64(len("Not Found")) {
				t.Errorf("HEAD got %d, length %d", resp.StatusCode, resp.ContentLength)
			}
			ts.Log.CheckEmpty(t)
		})
	}
}

// TestHeaderReceivedChoosesStreams streams the body of one request, and buffers the body of
// another.
func TestHeaderReceivedChoosesStreams(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{false, true} {
		forEachEngine(t, func(t *testing.T, start starter) {
			modes := map[string]fasthttp.BodyMode{"/server": fasthttp.BodyModeServer, "/stream": fasthttp.BodyModeStream, "/buffer": fasthttp.BodyModeBuffer}
			ts := start(&fasthttp.Server{StreamRequestBody: streams, MaxRequestBodySize: 5,
				HeaderReceived: func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
					return fasthttp.RequestConfig{BodyMode: modes[string(h.RequestURI())]}
				},
				Handler: func(ctx *fasthttp.RequestCtx) {
					streamed := ctx.Request.IsBodyStream()
					body, err := io.ReadAll(ctx.RequestBodyStream())
					fmt.Fprint(ctx, streamed, string(body), err)
				}})
			c := ts.Dial()
			for range 2 {
				for path, streamed := range map[string]bool{"/server": streams, "/stream": true, "/buffer": false} {
					c.Send(servertest.Post(path, "abc"))
					c.Expect(200, fmt.Sprint(streamed, "abc", nil))
					c.Send(servertest.Chunked(path, "3\r\nabc\r\n0\r\n\r\n"))
					c.Expect(200, fmt.Sprint(streamed, "abc", nil))
				}
			}
			c.Send(servertest.Post("/stream", "abcdef"))
			c.Expect(200, fmt.Sprint(true, "abcdef", nil))
			c.Send(servertest.Post("/buffer", "abcdef"))
			c.Expect(413, "Request Entity Too Large")
		})
	}
}
