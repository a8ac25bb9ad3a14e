package integrationtests

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// The settings that FuzzServerConn combines.
const (
	fuzzStream = 1 << iota // settings of the request
	fuzzReadsSome
	fuzzIgnores
	fuzzSmallBody
	fuzzSmallHead
	fuzzStreamsBack
	fuzzRefuses
	fuzzKeepsNames
)

// FuzzServerConn sends arbitrary bytes. The server must neither panic nor hang, must
// write only HTTP, and must write the same however the bytes are split.
func FuzzServerConn(f *testing.F) {
	for _, in := range []string{
		servertest.Get("/"), servertest.Get("/") + servertest.Get("/2"), servertest.Post("/", "abc"), servertest.Post("/", "abc") + servertest.Get("/2"),
		servertest.Chunked("/", "3\r\nabc\r\n0\r\n\r\n"), servertest.Chunked("/", "3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n") + servertest.Smuggled,
		servertest.Head("HEAD / HTTP/1.1", "Host: a") + servertest.Get("/2"), servertest.Head("GET / HTTP/1.0"), servertest.Head("GET / HTTP/1.0", "Connection: keep-alive") + servertest.Get("/"),
		servertest.Head("CONNECT a:1 HTTP/1.1", "Host: a"), servertest.Head("OPTIONS * HTTP/1.1", "Host: a"), servertest.Get("http://b/c?d"),
		servertest.Post("/", "abc", "Expect: 100-continue") + servertest.Get("/2"), servertest.Post("/", "abc", "Expect: x"),
		"\r\n" + servertest.Get("/"), "\r\n\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01", "\x16\xe6\x01",
		servertest.Get("/", "Content-Length: 1", "Transfer-Encoding: chunked") + "0\r\n\r\n", servertest.Chunked("/", "0\r\nHost: x\r\n\r\n"),
		servertest.Get("/", "X: y", " folded"), servertest.Get("/", "Connection: close") + servertest.Smuggled,
		servertest.Head("HEAD / HTTP/1.1", "Host: a", "Content-Length: 3") + "abc" + servertest.Get("/"),
		"GET /" + strings.Repeat("x", 100) + "\x00",
	} {
		for _, settings := range []byte{0, fuzzStream, fuzzStream | fuzzReadsSome, fuzzStream | fuzzIgnores, fuzzStream | fuzzStreamsBack, fuzzSmallBody | fuzzSmallHead, fuzzStreamsBack, fuzzRefuses, fuzzKeepsNames} {
			f.Add([]byte(in), settings, uint16(len(in)/2), uint16(3))
			f.Add([]byte(in), settings, uint16(1), uint16(1))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, settings byte, first, second uint16) {
		if len(in) > 10_000 {
			return
		}
		whole := fuzzServe(t, settings, in)
		a := int(first) % (len(in) + 1)
		b := a + int(second)%(len(in)-a+1)
		if split := fuzzServe(t, settings, in[:a], in[a:b], in[b:]); !sameAnswers(split, whole) {
			t.Errorf("split at %d and %d the answers are\n%s\nwhole they are\n%s", a, b, split, whole)
		}
		if len(in) > 500 {
			return
		}
		var single [][]byte
		for i := range in {
			single = append(single, in[i:i+1])
		}
		if split := fuzzServe(t, settings, single...); !sameAnswers(split, whole) {
			t.Errorf("byte by byte the answers are\n%s\nwhole they are\n%s", split, whole)
		}
	})
}

// sameAnswers reports whether two lists of responses, one a line, are equal. A malformed head
// above the limit may be refused for either reason, because that depends on how many bytes
// arrive at once.
func sameAnswers(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.Contains(a+b, "too long") && !strings.Contains(a+b, "too large") && !strings.Contains(a+b, "too many") {
		return false
	}
	cutLast := func(s string) string { return s[:strings.LastIndexByte(strings.TrimSuffix(s, "\n"), '\n')+1] }
	return cutLast(a) == cutLast(b)
}

// fuzzServe serves the pieces and returns the responses.
func fuzzServe(t *testing.T, settings byte, pieces ...[]byte) string {
	watchdog := time.AfterFunc(servertest.Patience, func() { panic(fmt.Sprintf("the server hangs with %q", pieces)) })
	defer watchdog.Stop()
	c := &servertest.FakeConn{}
	for _, p := range pieces {
		if len(p) > 0 {
			c.Pieces = append(c.Pieces, bytes.Clone(p))
		}
	}
	var methods []string // of the requests that get a response
	s := fuzzServer(settings)
	handler := s.Handler
	s.Handler = func(ctx *fasthttp.RequestCtx) {
		methods = append(methods, string(ctx.Method()))
		handler(ctx)
	}
	s.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) {
		methods = append(methods, string(ctx.Method()))
		ctx.Error(err.Error(), 400)
	}
	_ = s.ServeConn(c)
	if c.Closed == 0 {
		t.Error("the connection was not closed")
	}
	// the server may or may not know that the unread rest is too long to drain
	unread := settings&fuzzStream != 0 && settings&(fuzzReadsSome|fuzzIgnores) != 0
	return fuzzAnswers(t, c.Out.Bytes(), methods, !unread)
}

func fuzzServer(settings byte) *fasthttp.Server {
	has := func(bit byte) bool { return settings&bit != 0 }
	s := &fasthttp.Server{Logger: &servertest.Log{}, NoDefaultDate: true, StreamRequestBody: has(fuzzStream), DisableHeaderNamesNormalizing: has(fuzzKeepsNames)}
	if has(fuzzSmallBody) {
		s.MaxRequestBodySize = 10
	}
	if has(fuzzSmallHead) {
		s.ReadBufferSize = 100
	}
	if has(fuzzRefuses) {
		s.ContinueHandler = func(h *fasthttp.RequestHeader) bool { return false }
	}
	s.Handler = func(ctx *fasthttp.RequestCtx) {
		body := ctx.RequestBodyStream()
		switch {
		case body != nil && has(fuzzReadsSome):
			b := make([]byte, 3)
			n, _ := io.ReadFull(body, b)
			ctx.SetBody(b[:n])
		case has(fuzzIgnores):
		case body != nil && has(fuzzStreamsBack):
			ctx.SetBodyStream(body, -1)
		case has(fuzzStreamsBack):
			ctx.SetBodyStream(bytes.NewReader(ctx.PostBody()), -1)
		default:
			echo(ctx)
		}
		ctx.Response.Header.Set("X-Host", string(ctx.Host()))
		for name, value := range ctx.Request.Header.All() {
			ctx.Response.Header.AddBytesKV(append([]byte("X-"), name...), value)
		}
	}
	return s
}

// fuzzAnswers checks that out is a sequence of responses, and returns them as one text. It
// omits 100 Continue, which may differ: a client that does not wait does not get it. Without
// closes, it also omits which responses close the connection.
func fuzzAnswers(t *testing.T, out []byte, methods []string, closes bool) string {
	var text bytes.Buffer
	r := bufio.NewReader(bytes.NewReader(out))
	for n := 0; ; n++ {
		if _, err := r.Peek(1); err != nil {
			return text.String()
		}
		method := "GET"
		if len(methods) > 0 {
			method = methods[0]
		}
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("answer %d of %q cannot be read: %v", n, out, err)
		}
		if resp.StatusCode == 100 {
			continue
		}
		if len(methods) > 0 {
			methods = methods[1:]
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil && len(methods) == 0 {
			// if a stream failed, the connection may end at any byte
			return text.String()
		}
		if err != nil {
			t.Fatalf("the body of answer %d of %q: %v", n, out, err)
		}
		if !closes {
			resp.Close = false
			resp.Header.Del("Connection")
		}
		fmt.Fprintf(&text, "%d %v %v %q %v\n", resp.StatusCode, resp.Header, resp.Close, body, resp.Trailer)
	}
}
