package fasthttp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/servertest"
)

// Usual messages take a short path that gives the same result as the general one.
func TestUsualMessagesAreSentAsAllOthers(t *testing.T) {
	requests := map[string]func(req *Request){
		"GET":           func(*Request) {},
		"HEAD":          func(req *Request) { req.Header.SetMethod(MethodHead) },
		"POST":          func(req *Request) { req.Header.SetMethod(MethodPost) },
		"content":       func(req *Request) { req.SetBodyString("abc") },
		"form":          func(req *Request) { req.Header.SetMethod(MethodPost); req.PostArgs().Set("a", "b") },
		"TRACE":         func(req *Request) { req.Header.SetMethod(MethodTrace); req.SetBodyString("abc") },
		"coding before": func(req *Request) { req.Header.SetContentLength(-1); req.SetBodyString("abc") },
		"close":         func(req *Request) { req.SetConnectionClose() },
		"HTTP/1.0":      func(req *Request) { req.Header.SetProtocol("HTTP/1.0") },
		"stream":        func(req *Request) { req.SetBodyStream(strings.NewReader("abc"), -1) },
	}
	for name, set := range requests {
		var one, other Request
		for _, req := range []*Request{&one, &other} {
			req.SetRequestURI("http://h/")
			set(req)
			if err := req.prepareForServer(); err != nil {
				t.Fatal(err)
			}
		}
		e, want := one.encode(0), other.encodeUnusual(0)
		if e != want || one.Header.String() != other.Header.String() {
			t.Errorf("%s: %+v, want %+v", name, e, want)
		}
	}

	usual := 0
	responses := map[string]func(resp *Response){
		"nothing":     func(*Response) {},
		"content":     func(resp *Response) { resp.SetBodyString("abc") },
		"OK":          func(resp *Response) { resp.SetStatusCode(StatusOK); resp.SetBodyString("abc") },
		"length":      func(resp *Response) { resp.Header.SetContentLength(9); resp.SetBodyString("abc") },
		"chunks":      func(resp *Response) { resp.Header.SetContentLength(-1); resp.SetBodyString("abc") },
		"fields":      func(resp *Response) { resp.Header.Set("Connection", "x"); resp.SetBodyString("abc") },
		"not found":   func(resp *Response) { resp.SetStatusCode(StatusNotFound); resp.SetBodyString("abc") },
		"no content":  func(resp *Response) { resp.SetStatusCode(StatusNoContent); resp.SetBodyString("abc") },
		"informs":     func(resp *Response) { resp.SetStatusCode(StatusEarlyHints) },
		"resets":      func(resp *Response) { resp.SetStatusCode(StatusResetContent); resp.SetBodyString("abc") },
		"close":       func(resp *Response) { resp.SetConnectionClose() },
		"HTTP/1.0":    func(resp *Response) { resp.Header.SetProtocol([]byte("HTTP/1.0")) },
		"stream":      func(resp *Response) { resp.SetBodyStream(strings.NewReader("abc"), 3) },
		"skip":        func(resp *Response) { resp.SkipBody = true; resp.SetBodyString("abc") },
		"trailers":    func(resp *Response) { _ = resp.Header.SetTrailer("X-Sum") },
		"trailer":     func(resp *Response) { _ = resp.Header.AddTrailerField("X-Sum", "1") },
		"until close": func(resp *Response) { resp.Header.SetContentLength(-2); resp.SetBodyString("abc") },
	}
	for name, set := range responses {
		var resp Response
		set(&resp)
		if !resp.isUsual() {
			continue
		}
		usual++
		for _, by := range []http1.Terms{0, http1.ByApplication} {
			o := resp.outgoing()
			o.Terms |= by
			if e := o.Encode(); e != http1.Sized(len(resp.Body())) {
				t.Errorf("%s with terms %b is sent as %+v", name, by, e)
			}
		}
	}
	if usual < 4 {
		t.Errorf("%d responses are usual", usual)
	}
}

// ResponseSent, and the Close of user values, see the framing and the connection
// option that were sent.
func TestHooksSeeHowResponsesWereSent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, request string
		handler       func(ctx *RequestCtx)
		want          string
	}{
		{"content", servertest.Get("/"), func(ctx *RequestCtx) { ctx.SetBodyString("abc") }, `3 "3" "" ""`},
		{"declared otherwise", servertest.Get("/"), func(ctx *RequestCtx) {
			ctx.Response.Header.SetContentLength(-1)
			ctx.SetBodyString("abc")
		}, `3 "3" "" ""`},
		{"chunks", servertest.Get("/"), func(ctx *RequestCtx) {
			ctx.SetBodyStream(strings.NewReader("abc"), -1)
		}, `-1 "" "chunked" ""`},
		{"chunks to HTTP/1.0", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", func(ctx *RequestCtx) {
			ctx.SetBodyStream(strings.NewReader("abc"), -1)
		}, `-2 "" "" "close"`},
		{"HTTP/1.0", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", func(ctx *RequestCtx) {}, `0 "0" "" "keep-alive"`},
		{"last", servertest.Head("GET / HTTP/1.1", "Host: a", "Connection: close"), func(ctx *RequestCtx) {
			ctx.Response.Header.Set("Connection", "keep-alive")
		}, `0 "0" "" "close"`},
		{"reset", servertest.Get("/"), func(ctx *RequestCtx) {
			ctx.SetStatusCode(StatusResetContent)
			ctx.SetBodyString("abc")
		}, `0 "0" "" ""`},
	} {
		forEachEngine(t, func(t *testing.T, start starter) {
			saw := func(resp *Response) string {
				h := &resp.Header
				return fmt.Sprintf("%d %q %q %q", h.ContentLength(), h.Peek("Content-Length"), h.Peek("Transfer-Encoding"), h.Peek("Connection"))
			}
			sent, closed := make(chan string, 1), make(chan string, 1)
			hook := start(&Server{Handler: tc.handler, ResponseSent: func(ctx *RequestCtx, _ SentResponse) { sent <- saw(&ctx.Response) }})
			c := hook.Dial()
			c.Send(tc.request)
			if got := servertest.Receive(t, "the call of ResponseSent", sent); got != tc.want {
				t.Errorf("%s: ResponseSent sees %s, want %s", tc.name, got, tc.want)
			}
			value := start(&Server{Handler: func(ctx *RequestCtx) {
				ctx.SetUserValue("v", closerFunc(func() error { closed <- saw(&ctx.Response); return nil }))
				tc.handler(ctx)
			}})
			c = value.Dial()
			c.Send(tc.request)
			if got := servertest.Receive(t, "the end of the value", closed); got != tc.want {
				t.Errorf("%s: a value sees %s, want %s", tc.name, got, tc.want)
			}
		})
	}
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }
