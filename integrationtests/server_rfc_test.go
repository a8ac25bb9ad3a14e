package integrationtests

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// answers is a handler with a response for each path.
func answers(ctx *fasthttp.RequestCtx) {
	if ctx.IsConnect() {
		ctx.SetStatusCode(403)
		return
	}
	switch string(ctx.Path()) {
	case "/204":
		ctx.SetStatusCode(204)
		ctx.SetBodyString("not to be sent")
	case "/304":
		ctx.SetStatusCode(304)
		ctx.SetBodyString("not to be sent")
	case "/stream":
		ctx.SetBodyStream(strings.NewReader("streamed"), -1)
	case "/sized":
		ctx.SetBodyStream(strings.NewReader("sized"), 5)
	case "/204-stream":
		ctx.SetStatusCode(204)
		ctx.SetBodyStream(strings.NewReader("not to be sent"), -1)
	case "/close":
		ctx.SetConnectionClose()
		ctx.SetBodyString("bye")
	case "/empty":
	default:
		echo(ctx)
	}
}

func TestServerFollowsRFC9112(t *testing.T) {
	t.Parallel()
	s := &fasthttp.Server{Handler: answers}
	http10 := func(method, target string, fields ...string) string {
		return servertest.Head(append([]string{method + " " + target + " HTTP/1.0"}, fields...)...)
	}
	is := func(status int, body string) []rawAnswer { return []rawAnswer{{status, body, ""}} }
	runRaw(t, []rawCase{
		{name: "HTTP/1.0", in: http10("GET", "/") + servertest.Smuggled, want: got("/")},
		{name: "HTTP/1.0 keep-alive", in: http10("GET", "/", "Connection: Keep-Alive"), want: got("/"), keeps: true},
		{name: "HTTP/1.0 keep-alive in a list", in: http10("GET", "/", "Connection: x, keep-alive"), want: got("/"), keeps: true},
		{name: "HTTP/1.0 keep-alive and close", in: http10("GET", "/", "Connection: keep-alive, close"), want: got("/")},
		{name: "HTTP/1.0 with a body", in: http10("POST", "/", "Content-Length: 3", "Connection: keep-alive") + "abc", want: posted("/", "abc"), keeps: true},
		{name: "HTTP/1.0 body without a length", in: http10("POST", "/") + "abc", want: posted("/", "")},
		{name: "HTTP/1.0 stream", s: s, in: http10("GET", "/stream"), want: is(200, "streamed")},
		{name: "HTTP/1.0 stream with keep-alive", s: s, in: http10("GET", "/stream", "Connection: keep-alive"), want: is(200, "streamed")},
		{name: "HTTP/1.0 sized stream with keep-alive", s: s, in: http10("GET", "/sized", "Connection: keep-alive"), want: is(200, "sized"), keeps: true},

		{name: "HEAD", in: servertest.Head("HEAD / HTTP/1.1", "Host: a") + servertest.Get("/2"), want: then([]rawAnswer{{200, "-", "HEAD"}}, got("/2")), keeps: true},
		{name: "HEAD of a stream", s: s, in: servertest.Head("HEAD /stream HTTP/1.1", "Host: a") + servertest.Get("/2"), want: then([]rawAnswer{{200, "-", "HEAD"}}, got("/2")), keeps: true},
		{name: "HEAD refused", in: servertest.Head("HEAD / HTTP/1.1", "Host: a", "Transfer-Encoding: x"), want: []rawAnswer{{501, "-", "HEAD"}}},
		{name: "204", s: s, in: servertest.Get("/204") + servertest.Get("/2"), want: then(is(204, "-"), got("/2")), keeps: true},
		{name: "204 of a stream", s: s, in: servertest.Get("/204-stream") + servertest.Get("/2"), want: then(is(204, "-"), got("/2")), keeps: true},
		{name: "304", s: s, in: servertest.Get("/304") + servertest.Get("/2"), want: then(is(304, "-"), got("/2")), keeps: true},
		{name: "empty response", s: s, in: servertest.Get("/empty") + servertest.Get("/2"), want: then(is(200, "-"), got("/2")), keeps: true},
		{name: "stream", s: s, in: servertest.Get("/stream") + servertest.Get("/sized") + servertest.Get("/2"), want: then(is(200, "streamed"), is(200, "sized"), got("/2")), keeps: true},
		{name: "response that closes", s: s, in: servertest.Get("/close") + servertest.Smuggled, want: is(200, "bye")},
		{name: "stream and close", s: s, in: servertest.Get("/stream", "Connection: close") + servertest.Smuggled, want: is(200, "streamed")},

		{name: "absolute-form", in: servertest.Get("http://a/b?c"), want: got("http://a/b?c"), keeps: true},
		{name: "absolute-form https", in: servertest.Get("HTTPS://a:443"), want: got("HTTPS://a:443"), keeps: true},
		{name: "asterisk-form", in: servertest.Head("OPTIONS * HTTP/1.1", "Host: a", "Content-Length: 2") + "ab", want: answered([3]string{"OPTIONS", "*", "ab"}), keeps: true},
		{name: "origin-form of OPTIONS", in: servertest.Head("OPTIONS / HTTP/1.1", "Host: a"), want: answered([3]string{"OPTIONS", "/", ""}), keeps: true},
		{name: "authority-form", s: s, in: servertest.Head("CONNECT a:443 HTTP/1.1", "Host: a:443"),
			want: []rawAnswer{{403, "-", "CONNECT"}}, keeps: true},
		{name: "authority-form of an IPv6 address", s: s, in: servertest.Head("CONNECT [::1]:443 HTTP/1.1", "Host: a"),
			want: []rawAnswer{{403, "-", "CONNECT"}}, keeps: true},

		{name: "no space after the colon", in: servertest.Get("/", "Content-Length:3") + "abc", want: answered([3]string{"GET", "/", "abc"}), keeps: true},
		{name: "empty value", in: servertest.Get("/", "X:", "Y: ", "Z:\t"), want: got("/"), keeps: true},
		{name: "no fields but Host", in: servertest.Get("/"), want: got("/"), keeps: true},
		{name: "requests with bodies in a row", in: servertest.Post("/1", "abc") + servertest.Chunked("/2", "3\r\ndef\r\n0\r\n\r\n") + servertest.Get("/3") + servertest.Post("/4", ""),
			want: then(posted("/1", "abc"), posted("/2", "def"), got("/3"), posted("/4", "")), keeps: true},
		{name: "trailers", in: servertest.Chunked("/", "3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n") + servertest.Get("/2"), want: then(posted("/", "abc"), got("/2")), keeps: true},
		{name: "body as large as the limit", s: &fasthttp.Server{MaxRequestBodySize: 3}, in: servertest.Post("/", "abc"), want: posted("/", "abc"), keeps: true},
		{name: "larger body", s: &fasthttp.Server{MaxRequestBodySize: 3}, in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 4"), want: refused(413)},
		{name: "request after a bad one", in: servertest.Head("GET / HTTP/1.1", "Host: a", "Content-Length: x") + servertest.Smuggled, want: refused(400)},
		{name: "bad request after a good one", in: servertest.Get("/") + "x y z\r\n\r\n" + servertest.Smuggled, want: then(got("/"), refused(400))},
		{name: "MaxRequestsPerConn", s: &fasthttp.Server{MaxRequestsPerConn: 2}, in: servertest.Get("/1") + servertest.Get("/2") + servertest.Smuggled, want: then(got("/1"), got("/2"))},
		{name: "DisableKeepalive", s: &fasthttp.Server{DisableKeepalive: true}, in: servertest.Get("/1") + servertest.Smuggled, want: got("/1")},
		{name: "GetOnly", s: &fasthttp.Server{GetOnly: true}, in: servertest.Get("/1") + servertest.Head("HEAD / HTTP/1.1", "Host: a"), want: then(got("/1"), []rawAnswer{{200, "-", "HEAD"}}), keeps: true},
		{name: "GetOnly and POST", s: &fasthttp.Server{GetOnly: true}, in: servertest.Post("/", "abc") + servertest.Smuggled, want: refused(400)},
	})
}

// TestServerIsNotSmuggled sends requests on whose end pairs of servers have
// disagreed. The server refuses such a request, or closes the connection after it,
// or its end is clear.
func TestServerIsNotSmuggled(t *testing.T) {
	t.Parallel()
	clTE := func(te string) string {
		return "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n" + te + "\r\n\r\n0\r\n\r\n" + servertest.Smuggled
	}
	teCL := func(te string) string {
		return "POST / HTTP/1.1\r\nHost: a\r\n" + te + "\r\nContent-Length: 4\r\n\r\n23\r\n" + servertest.Smuggled + "\r\n0\r\n\r\n"
	}
	var cases []rawCase
	// the framing is clearly chunked, and the connection closes after it
	for _, te := range []string{
		"Transfer-Encoding: chunked", "transfer-encoding:chunked", "Transfer-Encoding:\tchunked", "Transfer-Encoding: chunked\t ",
		"Transfer-Encoding: Chunked", "X: y\r\nTransfer-Encoding: chunked",
	} {
		cases = append(cases,
			rawCase{name: fmt.Sprintf("CL.TE %q", te), in: clTE(te), want: posted("/", "")},
			rawCase{name: fmt.Sprintf("TE.CL %q", te), in: teCL(te), want: posted("/", servertest.Smuggled)})
	}
	for te, status := range map[string]int{
		"Transfer-Encoding: xchunked":                                      501,
		"Transfer-Encoding: chunked-x":                                     501,
		"Transfer-Encoding: identity, chunked":                             501,
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: x":               400,
		"Transfer-Encoding: x\r\nTransfer-Encoding: chunked":               501,
		"Transfer-Encoding: chunked, identity":                             400,
		"Transfer-Encoding : chunked":                                      400,
		" Transfer-Encoding: chunked":                                      400,
		"X: y\r\n Transfer-Encoding: chunked":                              400,
		"X: y\nTransfer-Encoding: chunked":                                 400,
		"X: y\rTransfer-Encoding: chunked":                                 400,
		"Transfer-Encoding\r\n: chunked":                                   400,
		"Transfer-Encoding:\r\n chunked":                                   400,
		"Transfer-Encoding: \x0bchunked":                                   400,
		"Transfer-Encoding: \x00chunked":                                   400,
		"Transfer-Encoding: chunked\x0c":                                   400,
		"Transfer-Encoding: 'chunked'":                                     501,
		"Transfer-Encoding: \"chunked\"":                                   400,
		"Transfer-Encoding: ,chunked":                                      400,
		"Transfer-Encoding: chunked,":                                      400,
		"Transfer-Encoding: chunk":                                         501,
		"Transfer-Encoding: cow\r\nTransfer-Encoding: chunked, chunked":    400,
		"Transfer-Encoding: chunked;":                                      400,
		"Transfer-Encoding: \u0131dentity":                                 400,
		"Transfer-Encod\u0131ng: chunked":                                  400,
		"Transfer-Encoding: chunked\r\nContent-Length: 5":                  400,
		"\x00Transfer-Encoding: chunked":                                   400,
		"Content-Length: 0\r\nTransfer-Encoding: chunked":                  400,
		"Content-Length: 40\r\nX: y":                                       400,
		"Transfer-Encoding: chunked\r\n\tfolded":                           400,
		"Transfer-Encoding: chunked, gzip, chunked":                        400,
		"Transfer-Encoding: chunked\r\ntransfer-encoding: identity":        400,
		"Transfer-Encoding: identity\r\ntransfer-encoding: chunked":        501,
		"Transfer-Encoding: gzip;q=\"chunked\"\r\nX: y\r\nY: z\r\nZ: zz\r": 400,
	} {
		cases = append(cases, rawCase{name: fmt.Sprintf("CL.TE %q", te), in: clTE(te), want: refused(status)})
	}
	cases = append(cases,
		rawCase{name: "name that only looks like Transfer-Encoding", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 5", "Transfer_Encoding: chunked") + "0\r\n\r\n",
			want: posted("/", "0\r\n\r\n"), keeps: true},
		rawCase{name: "0.CL: length after the end of a GET", in: servertest.Get("/", "Content-Length: 35") + servertest.Smuggled, want: answered([3]string{"GET", "/", servertest.Smuggled}), keeps: true},
		rawCase{name: "CL.0: POST without any length", in: servertest.Head("POST / HTTP/1.1", "Host: a") + servertest.Get("/2"), want: then(posted("/", ""), got("/2")), keeps: true},
		rawCase{name: "TE.0: chunks of OPTIONS", in: servertest.Head("OPTIONS / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked") + "23\r\n" + servertest.Smuggled + "\r\n0\r\n\r\n",
			want: answered([3]string{"OPTIONS", "/", servertest.Smuggled}), keeps: true},
		rawCase{name: "chunk size of more bits", in: servertest.Chunked("/", "f0000000000000000000000a\r\nx"), want: refused(400)},
		rawCase{name: "chunk that ends elsewhere", in: servertest.Chunked("/", "2\r\nxx45\r\n0\r\n\r\n"), want: refused(400)},
		rawCase{name: "LF after a chunk extension", in: servertest.Chunked("/", "2;\nxx\r\n45\r\n0\r\n\r\n"), want: refused(400)},
		rawCase{name: "two bytes of any kind after a chunk", in: servertest.Chunked("/", "5\r\nAAAAAXX2\r\n45\r\n0\r\n\r\n"), want: refused(400)},
		rawCase{name: "last chunk without its empty line", in: servertest.Chunked("/", "0\r\n") + "GET / HTTP/1.1\r\nHost: a\r\n\r\n", want: refused(400)},
		rawCase{name: "host in two ways", in: servertest.Head("GET http://b/ HTTP/1.1", "Host: a", "Host: b"), want: refused(400)},
		rawCase{name: "HTTP/1.1 inside a target", in: "GET / HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n", want: refused(400)},
	)
	runRaw(t, cases)
}

func TestServerAnswersPipelinedRequestsInOrder(t *testing.T) {
	t.Parallel()
	const n = 1000
	var in, bodies strings.Builder
	for i := range n {
		target := fmt.Sprintf("/%d", i)
		if i%3 == 0 {
			in.WriteString(servertest.Post(target, strings.Repeat("x", i)))
			bodies.WriteString(servertest.Echoed("POST", target, strings.Repeat("x", i)))
		} else {
			in.WriteString(servertest.Get(target))
			bodies.WriteString(servertest.Echoed("GET", target, ""))
		}
	}
	read := func(t *testing.T, r *bufio.Reader) {
		t.Helper()
		var got strings.Builder
		for i := range n {
			resp, err := servertest.ReadResponse(r, "GET")
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("answer %d: %+v, %v", i, resp, err)
			}
			got.WriteString(resp.Content)
		}
		if got.String() != bodies.String() {
			t.Error("the answers are others, or in another order")
		}
	}
	for _, size := range []int{in.Len(), 100_000, 4096, 1000, 77, 1} {
		c := &servertest.FakeConn{}
		for rest := []byte(in.String()); len(rest) > 0; {
			piece := rest[:min(size, len(rest))]
			c.Pieces = append(c.Pieces, piece)
			rest = rest[len(piece):]
		}
		if err := fasthttp.ServeConn(c, echo); err != nil {
			t.Errorf("ServeConn: %v", err)
		}
		read(t, bufio.NewReader(bytes.NewReader(c.Out.Bytes())))
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		c := start(&fasthttp.Server{Handler: echo}).Dial()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = c.Write([]byte(in.String()))
		}()
		read(t, c.R)
		servertest.Receive(t, "end of sending", sent)
	})
}

// TestServerWritesPipelinedAnswersTogether checks that a burst of requests costs a
// few writes, not one for each response.
func TestServerWritesPipelinedAnswersTogether(t *testing.T) {
	const n = 60
	writes := 0
	c := &servertest.FakeConn{
		Pieces:  [][]byte{[]byte(strings.Repeat(servertest.Get("/"), n))},
		OnWrite: func([]byte) { writes++ },
	}
	if err := fasthttp.ServeConn(c, echo); err != nil {
		t.Fatal(err)
	}
	if writes > 2 {
		t.Errorf("%d writes for %d answers", writes, n)
	}
}

func TestServerAnswersConnectWithoutAnyFraming(t *testing.T) {
	// RFC 9110 section 9.3.6: a 2xx response has no Content-Length, and a tunnel
	// follows, which this handler does not serve
	c := &servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Head("CONNECT a:1 HTTP/1.1", "Host: a:1") + servertest.Smuggled)}}
	_ = fasthttp.ServeConn(c, func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("no content") })
	out := c.Out.String()
	if !strings.HasPrefix(out, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(out, "\r\n\r\n") {
		t.Errorf("got %q", out)
	}
	for _, field := range []string{"Content-Length", "Transfer-Encoding", "no content"} {
		if strings.Contains(out, field) {
			t.Errorf("%s in %q", field, out)
		}
	}
	if strings.Count(out, "HTTP/1.1 200") != 1 {
		t.Errorf("bytes of the tunnel were served: %q", out)
	}
}

// CONNECT may have a path, as in package net/rpc. Then its response has content, like any
// other. A front end may still take it for a tunnel, so the connection ends.
func TestServerTakesConnectWithAPath(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			asked := fmt.Sprintf("%s %s %s %s", ctx.Method(), ctx.Host(), ctx.Path(), ctx.RequestURI())
			ctx.Response.Header.Set("Asked", asked)
			ctx.SetBodyString(asked)
			if ctx.QueryArgs().Has("refuse") {
				ctx.SetStatusCode(fasthttp.StatusForbidden)
			}
		}})
		for target, asked := range map[string]string{"b:443": "CONNECT b:443 / b:443", "/x?y": "CONNECT a /x /x?y"} {
			c := ts.Dial()
			c.Send(servertest.Head("CONNECT "+target+" HTTP/1.1", "Host: a"))
			if fields := nextHead(c, "HTTP/1.1 200 OK"); !strings.Contains(fields, "Asked: "+asked+"\r\n") || !strings.Contains(fields, "Connection: close\r\n") {
				t.Errorf("%s: %q", target, fields)
			} else if strings.Contains(fields, "Content-Length:") != (target[0] == '/') {
				t.Errorf("%s: %q", target, fields)
			}
			want := ""
			if target[0] == '/' {
				want = asked
			}
			if rest, err := io.ReadAll(c.R); string(rest) != want || err != nil {
				t.Errorf("%s: %q, %v after the head", target, rest, err)
			}
		}
		c := ts.Dial()
		for range 2 {
			c.Send(servertest.Head("CONNECT /x?refuse HTTP/1.1", "Host: a"))
			if resp := c.Next("CONNECT"); resp.StatusCode != 403 || resp.Close {
				t.Fatalf("%+v", resp)
			}
		}
	})
}

// TestServerFieldsOfTheConnection checks the fields of framing and connection in
// difficult responses.
func TestServerFieldsOfTheConnection(t *testing.T) {
	stream := func(ctx *fasthttp.RequestCtx) { ctx.SetBodyStream(strings.NewReader("streamed"), -1) }
	keepAlive := func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("Connection", "keep-alive") }
	for _, tc := range []struct {
		name, in string
		most     int // requests per connection
		h        fasthttp.RequestHandler
		has, not []string
	}{
		{name: "HEAD of a stream", in: servertest.Head("HEAD / HTTP/1.1", "Host: a"), h: stream,
			has: []string{"Transfer-Encoding: chunked\r\n"}, not: []string{"streamed", "Content-Length"}},
		{name: "HEAD of a stream by HTTP/1.0", in: servertest.Head("HEAD / HTTP/1.0", "Connection: keep-alive"), h: stream,
			has: []string{"Connection: keep-alive\r\n"}, not: []string{"Transfer-Encoding", "streamed", "Content-Length"}},
		{name: "stream by HTTP/1.0 with keep-alive", in: servertest.Head("GET / HTTP/1.0", "Connection: keep-alive"), h: stream,
			has: []string{"Connection: close\r\n", "streamed"}, not: []string{"keep-alive", "Transfer-Encoding", "Content-Length"}},
		{name: "HEAD of trailers by HTTP/1.0", in: servertest.Head("HEAD / HTTP/1.0"),
			h: func(ctx *fasthttp.RequestCtx) {
				_ = ctx.Response.Header.SetTrailer("X")
				ctx.SetBodyString("abc")
			},
			has: []string{"Content-Length: 3\r\n"}, not: []string{"Trailer", "Transfer-Encoding"}},
		{name: "HEAD with a length of its own", in: servertest.Head("HEAD / HTTP/1.1", "Host: a"), h: func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.SetContentLength(1234) },
			has: []string{"Content-Length: 1234\r\n"}},
		{name: "GET with a wrong length", in: servertest.Get("/"),
			h: func(ctx *fasthttp.RequestCtx) {
				ctx.SetBodyString("abc")
				ctx.Response.Header.SetContentLength(1234)
			},
			has: []string{"Content-Length: 3\r\n"}, not: []string{"1234"}},
		{name: "304 with a body", in: servertest.Get("/"), h: func(ctx *fasthttp.RequestCtx) { stream(ctx); ctx.SetStatusCode(304) },
			not: []string{"Transfer-Encoding", "streamed"}},
		{name: "204 with a length", in: servertest.Get("/"),
			h: func(ctx *fasthttp.RequestCtx) {
				ctx.Response.Header.Set("Content-Length", "3")
				ctx.SetBodyString("abc")
				ctx.SetStatusCode(204)
			},
			not: []string{"Content-Length", "abc"}},
		{name: "Transfer-Encoding of the handler", in: servertest.Get("/"),
			h: func(ctx *fasthttp.RequestCtx) {
				ctx.Response.Header.Set("Transfer-Encoding", "chunked")
				ctx.SetBodyString("abc")
			},
			has: []string{"Content-Length: 3\r\n"}, not: []string{"Transfer-Encoding"}},
		{name: "Connection of the handler", in: servertest.Get("/"), h: keepAlive,
			has: []string{"Connection: keep-alive\r\n"}},
		{name: "Connection of the handler and close of the client", in: servertest.Get("/", "Connection: close"), h: keepAlive,
			has: []string{"Connection: close\r\n"}, not: []string{"keep-alive"}},
		{name: "Connection of the handler and the last request", in: servertest.Get("/"), most: 1, h: keepAlive,
			has: []string{"Connection: close\r\n"}, not: []string{"keep-alive"}},
		{name: "close in a list of the handler", in: servertest.Get("/"), h: func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("Connection", "x, close") },
			has: []string{"Connection: x, close\r\n"}},
		{name: "CRLF in fields of the handler", in: servertest.Get("/"),
			h: func(ctx *fasthttp.RequestCtx) {
				ctx.Response.Header.Set("X", "a\r\nY: b")
				ctx.Response.Header.Set("Bad\r\nName", "c")
				ctx.Response.Header.SetStatusMessage([]byte("OK\r\nZ: d"))
				ctx.SetContentType("text/x\r\nV: e")
				ctx.Response.Header.SetServer("s\r\nW: f")
			},
			not: []string{"\nY", "\nName", "\nZ", "\nV", "\nW"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &fasthttp.Server{Handler: tc.h, MaxRequestsPerConn: tc.most, Logger: &servertest.Log{}}
			c := &servertest.FakeConn{Pieces: [][]byte{[]byte(tc.in)}}
			if err := s.ServeConn(c); err != nil {
				t.Errorf("ServeConn: %v", err)
			}
			out := c.Out.String()
			for _, has := range tc.has {
				if strings.Count(out, has) != 1 {
					t.Errorf("no %q in %q", has, out)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(out, not) {
					t.Errorf("%q in %q", not, out)
				}
			}
		})
	}
}

// docs/security.md names these targets, which a rule for "/admin" in a front end
// misses.
func TestTargetsThatArePathsOfOthers(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			fmt.Fprintf(ctx, "%s %v", ctx.Path(), bytes.Equal(ctx.Path(), ctx.URI().PathOriginal()))
		}})
		c := ts.Dial()
		for target, want := range map[string]string{
			"/admin": "/admin true", "http://h/admin": "/admin true",
			"//admin": "/admin false", "/./admin": "/admin false", "/x/../admin": "/admin false", "/%2e/admin": "/admin false",
			"/%61dmin": "/admin false", "/%2fadmin": "/admin false",
			"/%2561dmin": "/%61dmin false", "/Admin": "/Admin true", "/admin;x": "/admin;x true",
		} {
			c.Get(target)
			if resp := c.Next("GET"); resp.Content != want {
				t.Errorf("%s: got %s, want %s", target, resp.Content, want)
			}
		}
	})
}
