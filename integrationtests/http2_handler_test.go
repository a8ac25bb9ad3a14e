package integrationtests

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// http2Case is a request over HTTP/2, and its response.
type http2Case struct {
	name     string
	settings func(s *fasthttp.Server)
	handler  fasthttp.RequestHandler // echo, unless it is set

	method, path, body string // GET, /
	fields             []string
	unsized            bool // the length of the body is not announced
	trailer            http.Header

	status  int // 200
	content string
	want    map[string]string // fields of the response; "" means none
	trails  http.Header       // of the response
	informs []string          // informational responses
}

// unsizedReader hides the length of a body.
type unsizedReader struct{ io.Reader }

func (tc *http2Case) request(t *testing.T, s *http2Server) *http.Request {
	method, path := tc.method, tc.path
	if method == "" {
		method = "GET"
	}
	if path == "" {
		path = "/"
	}
	var body io.Reader
	switch {
	case tc.unsized:
		body = unsizedReader{strings.NewReader(tc.body)}
	case tc.body != "":
		body = strings.NewReader(tc.body)
	}
	req := s.request(t, method, path, body, tc.fields...)
	req.Trailer = maps.Clone(tc.trailer)
	return req
}

func (tc *http2Case) run(t *testing.T, start http2Starter) {
	server := &fasthttp.Server{Handler: tc.handler}
	if server.Handler == nil {
		server.Handler = echo
	}
	if tc.settings != nil {
		tc.settings(server)
	}
	s := start(server)
	// the second request reuses the state of the first one
	for range 2 {
		req, got := informed(tc.request(t, s))
		resp := s.do(t, req)
		if want := max(tc.status, 200); resp.StatusCode != want || resp.Content != tc.content {
			t.Errorf("got %d %.200q, want %d %.200q", resp.StatusCode, resp.Content, want, tc.content)
		}
		for name, want := range tc.want {
			if got := strings.Join(resp.Header.Values(name), "\n"); got != want {
				t.Errorf("the field %s is %q, want %q", name, got, want)
			}
		}
		if !maps.EqualFunc(resp.Trailer, tc.trails, slices.Equal) {
			t.Errorf("the trailers are %v, want %v", resp.Trailer, tc.trails)
		}
		if !slices.Equal(got(), tc.informs) {
			t.Errorf("the informational responses are %q, want %q", got(), tc.informs)
		}
	}
}

// runHTTP2Cases runs all cases on each engine.
func runHTTP2Cases(t *testing.T, cases []http2Case) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		for _, tc := range cases {
			t.Run(tc.name, func(t *testing.T) { tc.run(t, start) })
		}
	})
}

func TestHTTP2Requests(t *testing.T) {
	large := numbered(1 << 20)
	both := func(s *fasthttp.Server) { s.StreamRequestBody = true }
	back := func(ctx *fasthttp.RequestCtx) { ctx.SetBody(ctx.PostBody()) }
	streamBack := func(ctx *fasthttp.RequestCtx) {
		if body := ctx.RequestBodyStream(); body != nil {
			ctx.SetBodyStream(body, ctx.Request.Header.ContentLength())
		}
	}
	runHTTP2Cases(t, []http2Case{
		{name: "GET", path: "/a?b=c", content: `GET /a?b=c ""`},
		{name: "POST", method: "POST", path: "/a", body: "abc", content: `POST /a "abc"`},
		{name: "POST without a length", method: "POST", path: "/a", body: "abc", unsized: true, content: `POST /a "abc"`},
		{name: "own method", method: "BREW", content: `BREW / ""`},
		{name: "OPTIONS", method: "OPTIONS", path: "/x", content: `OPTIONS /x ""`},
		{name: "protocol and fields", fields: []string{"X-A", "1", "X-A", "2", "User-Agent", "me"}, handler: func(ctx *fasthttp.RequestCtx) {
			h := &ctx.Request.Header
			fmt.Fprintf(ctx, "%s %v %s %q %v %v", h.Protocol(), h.IsHTTP11(), h.UserAgent(), h.PeekAll("X-A"), h.ConnectionClose(), len(h.Peek(":path")) > 0)
		}, content: `HTTP/2.0 true me ["1" "2"] false false`},
		{name: "a megabyte and back", method: "POST", body: large, handler: back, content: large, want: map[string]string{"Content-Length": "1048576"}},
		{name: "a megabyte of unknown length and back", method: "POST", body: large, unsized: true, handler: back, content: large},
		{name: "a stream and back", method: "POST", body: large, settings: both, handler: streamBack, content: large, want: map[string]string{"Content-Length": "1048576"}},
		{name: "a stream of unknown length and back", method: "POST", body: large, unsized: true, settings: both, handler: streamBack, content: large, want: map[string]string{"Content-Length": ""}},
		{name: "a stream that is read at once", method: "POST", body: large, settings: both, handler: back, content: large},
		{name: "a stream that nobody reads", method: "POST", body: large, settings: both, handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("no") }, content: "no"},
		{name: "HEAD", method: "HEAD", handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("0123456789") }, want: map[string]string{"Content-Length": "10"}},
		{name: "HEAD of a stream", method: "HEAD", handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyStream(strings.NewReader("0123456789"), 10) }, want: map[string]string{"Content-Length": "10"}},
		{name: "a form", method: "POST", body: "a=1&b=%41", fields: []string{"Content-Type", "application/x-www-form-urlencoded"}, handler: func(ctx *fasthttp.RequestCtx) {
			fmt.Fprintf(ctx, "%s %s %s", ctx.PostArgs().Peek("a"), ctx.FormValue("b"), ctx.QueryArgs().QueryString())
		}, content: "1 A "},
		{name: "cookies", fields: []string{"Cookie", "a=1; b=2; c=3"}, handler: func(ctx *fasthttp.RequestCtx) {
			fmt.Fprintf(ctx, "%s %s %s", ctx.Request.Header.Cookie("b"), ctx.Request.Header.Cookie("c"), ctx.Request.Header.Peek("Cookie"))
		}, content: "2 3 a=1; b=2; c=3"},
		{name: "trailers", method: "POST", body: "abc", unsized: true, trailer: http.Header{"X-Sum": {"7"}}, handler: func(ctx *fasthttp.RequestCtx) {
			fmt.Fprintf(ctx, "%s %s", ctx.PostBody(), ctx.Request.Header.Peek("X-Sum"))
		}, content: "abc 7"},
		{name: "trailers of a stream", method: "POST", body: "abc", unsized: true, settings: both, trailer: http.Header{"X-Sum": {"7"}}, handler: func(ctx *fasthttp.RequestCtx) {
			body, err := io.ReadAll(ctx.RequestBodyStream())
			fmt.Fprintf(ctx, "%s %v %s", body, err, ctx.Request.Header.Peek("X-Sum"))
		}, content: "abc <nil> 7"},
	})
}

func TestHTTP2Responses(t *testing.T) {
	large := numbered(1 << 20)
	hints := func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Add("Link", "</a.css>; rel=preload")
		if err := ctx.EarlyHints(); err != nil {
			ctx.Error(err.Error(), 500)
			return
		}
		ctx.SetBodyString("hinted")
	}
	trailers := func(ctx *fasthttp.RequestCtx) {
		if err := ctx.Response.Header.SetTrailer("X-End, X-Sum"); err != nil {
			ctx.Error(err.Error(), 500)
			return
		}
		ctx.Response.Header.Set("X-End", "yes")
		if string(ctx.Path()) != "/stream" {
			ctx.Response.Header.Set("X-Sum", "3")
			ctx.SetBodyString("abc")
			return
		}
		h := &ctx.Response.Header
		text := strings.NewReader("abc")
		ctx.SetBodyStream(servertest.ReadFunc(func(p []byte) (int, error) {
			n, err := text.Read(p)
			if err == io.EOF {
				h.Set("X-Sum", "3")
			}
			return n, err
		}), -1)
	}
	sum := http.Header{"X-End": {"yes"}, "X-Sum": {"3"}}
	runHTTP2Cases(t, []http2Case{
		{name: "any order", handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyString("to be forgotten")
			ctx.Response.Header.Set("X-A", "forgotten")
			ctx.SetStatusCode(201)
			ctx.Response.ResetBody()
			_, _ = ctx.WriteString("some ")
			ctx.Response.Header.Set("X-A", "1")
			_, _ = ctx.WriteString("text")
			ctx.SetContentType("text/x")
			ctx.Response.Header.Del("X-B")
			ctx.Response.Header.Add("X-C", "1")
			ctx.Response.Header.Add("X-C", "2")
		}, status: 201, content: "some text", want: map[string]string{"X-A": "1", "X-B": "", "X-C": "1\n2", "Content-Type": "text/x", "Content-Length": "9", "Server": "fasthttp"}},
		{name: "fields of the connection are not sent", handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Response.Header.Set("Keep-Alive", "timeout=5")
			ctx.Response.Header.Set("Upgrade", "x")
			ctx.SetBodyString("x")
		}, content: "x", want: map[string]string{"Connection": "", "Keep-Alive": "", "Upgrade": "", "Transfer-Encoding": ""}},
		{name: "no content", handler: func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(204) }, status: 204, want: map[string]string{"Content-Length": ""}},
		{name: "not modified", handler: func(ctx *fasthttp.RequestCtx) { ctx.NotModified() }, status: 304},
		{name: "empty", handler: func(*fasthttp.RequestCtx) {}, want: map[string]string{"Content-Length": "0"}},
		{name: "a megabyte", handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString(large) }, content: large},
		{name: "a stream", handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyStream(strings.NewReader(large), len(large)) }, content: large, want: map[string]string{"Content-Length": "1048576"}},
		{name: "a stream of unknown length", handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyStream(unsizedReader{strings.NewReader(large)}, -1) }, content: large, want: map[string]string{"Content-Length": ""}},
		{name: "a producer", handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString(large) })
		}, content: large},
		{name: "an error", handler: func(ctx *fasthttp.RequestCtx) { ctx.Error("not here", 404) }, status: 404, content: "not here"},
		{name: "cookies", handler: func(ctx *fasthttp.RequestCtx) {
			for _, name := range []string{"a", "b"} {
				var c fasthttp.Cookie
				c.SetKey(name)
				c.SetValue("1")
				ctx.Response.Header.SetCookie(&c)
			}
		}, want: map[string]string{"Set-Cookie": "a=1\nb=1"}},
		{name: "a redirect", handler: func(ctx *fasthttp.RequestCtx) { ctx.Redirect("/there", 302) }, status: 302},
		{name: "early hints", handler: hints, content: "hinted", want: map[string]string{"Link": "</a.css>; rel=preload"}, informs: []string{"103 </a.css>; rel=preload"}},
		{name: "processing", handler: func(ctx *fasthttp.RequestCtx) {
			var h fasthttp.ResponseHeader
			h.SetStatusCode(102)
			if err := ctx.Inform(&h); err != nil {
				ctx.Error(err.Error(), 500)
			}
		}, informs: []string{"102"}},
		{name: "trailers", handler: trailers, content: "abc", trails: sum},
		{name: "trailers of a stream", path: "/stream", handler: trailers, content: "abc", trails: sum},
		{name: "trailers alone", handler: func(ctx *fasthttp.RequestCtx) {
			_ = ctx.Response.Header.SetTrailer("X-End")
			ctx.Response.Header.Set("X-End", "yes")
		}, trails: http.Header{"X-End": {"yes"}}},
		{name: "compressed", fields: []string{"Accept-Encoding", "gzip"}, handler: fasthttp.CompressHandler(func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString(large[:1000]) }),
			content: gzipped(large[:1000]), want: map[string]string{"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}},
		{name: "in time", handler: fasthttp.TimeoutHandler(echo, servertest.Never, "late"), content: `GET / ""`},
		{name: "left", handler: func(ctx *fasthttp.RequestCtx) { ctx.TimeoutErrorWithCode("left", 504) }, status: 504, content: "left"},
		{name: "hijacked", handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyString("mine")
			ctx.Hijack(func(net.Conn) { panic("HTTP/2 has no connection to hijack") })
		}, status: 501, content: "fasthttp: HTTP/2 has no connection for a handler to take over: use extended CONNECT (RFC 8441), or HTTP/1.1"},
	})
}

// gzipped returns the text as CompressHandler encodes it.
func gzipped(text string) string { return string(fasthttp.AppendGzipBytes(nil, []byte(text))) }

// TestHTTP2CompressedStream has a stream, compressed while it is sent.
func TestHTTP2CompressedStream(t *testing.T) {
	large := numbered(1 << 20)
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		s := start(&fasthttp.Server{Handler: fasthttp.CompressHandler(func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("text/plain")
			ctx.SetBodyStream(unsizedReader{strings.NewReader(large)}, -1)
		})})
		resp := s.do(t, s.request(t, "GET", "/", nil, "Accept-Encoding", "gzip"))
		zr, err := gzip.NewReader(strings.NewReader(resp.Content))
		if err != nil {
			t.Fatalf("%v: %v", err, resp.Header)
		}
		if got, err := io.ReadAll(zr); string(got) != large || err != nil {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	})
}

func TestHTTP2Files(t *testing.T) {
	modified := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	big := numbered(300_000)
	root := servertest.Plant(t, modified, map[string]string{"a.txt": "0123456789", "big.txt": big})
	fs := &fasthttp.FS{Root: root, AcceptByteRange: true, Compress: true, CompressRoot: t.TempDir()}
	handler := fs.NewRequestHandler()
	date := modified.Format(http.TimeFormat)
	runHTTP2Cases(t, []http2Case{
		{name: "whole", handler: handler, path: "/a.txt", content: "0123456789", want: map[string]string{"Content-Length": "10", "Last-Modified": date, "Accept-Ranges": "bytes"}},
		{name: "large", handler: handler, path: "/big.txt", content: big},
		{name: "HEAD", method: "HEAD", handler: handler, path: "/big.txt", want: map[string]string{"Content-Length": "300000"}},
		{name: "range", handler: handler, path: "/big.txt", fields: []string{"Range", "bytes=100000-199999"}, status: 206, content: big[100_000:200_000],
			want: map[string]string{"Content-Range": "bytes 100000-199999/300000"}},
		{name: "no such range", handler: handler, path: "/a.txt", fields: []string{"Range", "bytes=50-"}, status: 416, content: "Range Not Satisfiable"},
		{name: "not modified since", handler: handler, path: "/a.txt", fields: []string{"If-Modified-Since", date}, status: 304},
		{name: "none", handler: handler, path: "/b.txt", status: 404, content: "Cannot open requested path"},
		{name: "SendFile", handler: func(ctx *fasthttp.RequestCtx) { ctx.SendFile(filepath.Join(root, "big.txt")) }, content: big},
	})
}

func TestHTTP2FilesByTag(t *testing.T) {
	root := servertest.Plant(t, time.Now(), map[string]string{"a.txt": "0123456789"})
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		fs := &fasthttp.FS{Root: root, GenerateETag: true}
		s := start(&fasthttp.Server{Handler: fs.NewRequestHandler()})
		resp := s.get(t, "/a.txt", "0123456789")
		tag := resp.Header.Get("Etag")
		if tag == "" {
			t.Fatal("there is no tag")
		}
		s.ask(t, "GET", "/a.txt", "", 304, "", "If-None-Match", tag)
		s.ask(t, "GET", "/a.txt", "", 200, "0123456789", "If-None-Match", `"other"`)
	})
}

// TestHTTP2Forms has one form parsed on first use, and one written to the disk while it
// arrives.
func TestHTTP2Forms(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		s := start(&fasthttp.Server{MaxRequestBodySize: 16 << 20, Handler: func(ctx *fasthttp.RequestCtx) {
			form, err := ctx.MultipartForm()
			if err != nil {
				ctx.Error(err.Error(), 400)
				return
			}
			f, err := form.File["file"][0].Open()
			if err != nil {
				ctx.Error(err.Error(), 500)
				return
			}
			defer f.Close()
			_, onDisk := f.(*os.File)
			n, err := io.Copy(io.Discard, f)
			fmt.Fprintf(ctx, "%s %d %v %v", form.Value["name"][0], n, err, onDisk)
		}})
		for _, tc := range []struct {
			size int
			want string
		}{{1000, "me 1000 <nil> false"}, {5 << 20, "me 5242880 <nil> true"}} {
			var body bytes.Buffer
			w := multipart.NewWriter(&body)
			_ = w.WriteField("name", "me")
			part, _ := w.CreateFormFile("file", "f")
			_, _ = part.Write(make([]byte, tc.size))
			_ = w.Close()
			s.ask(t, "POST", "/", body.String(), 200, tc.want, "Content-Type", w.FormDataContentType())
			resp := s.do(t, s.request(t, "POST", "/", unsizedReader{bytes.NewReader(body.Bytes())}, "Content-Type", w.FormDataContentType()))
			if resp.StatusCode != 200 || resp.Content != tc.want {
				t.Errorf("without a length: got %d %q, want %q", resp.StatusCode, resp.Content, tc.want)
			}
		}
		s.ask(t, "POST", "/", "nonsense", 400, "fasthttp: cannot read the multipart form: multipart: NextPart: EOF", "Content-Type", "multipart/form-data; boundary=x")
		// the server notices while the form arrives
		large := "--x\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\n" + numbered(6<<20)
		s.ask(t, "POST", "/", large, 400, "Error when parsing request", "Content-Type", "multipart/form-data; boundary=x")
		resp := s.do(t, s.request(t, "POST", "/", unsizedReader{strings.NewReader(large + numbered(9<<20) + numbered(9<<20))}, "Content-Type", "multipart/form-data; boundary=x"))
		if resp.StatusCode != 413 {
			t.Errorf("to a form that is too large: got %d %q", resp.StatusCode, resp.Content)
		}
	})
}

// TestHTTP2ContextOfARequest checks the methods of a context that describe the connection.
func TestHTTP2ContextOfARequest(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		type told struct{ conn, num, id uint64 }
		seen := make(chan told, 10)
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			seen <- told{ctx.ConnID(), ctx.ConnRequestNum(), ctx.ID()}
			_, port, err := net.SplitHostPort(ctx.RemoteAddr().String())
			if err != nil || port == "0" || ctx.RemoteIP().String() != "127.0.0.1" || ctx.LocalAddr().String() != string(ctx.Host()) {
				t.Errorf("the addresses are %v and %v, the host %s, %v", ctx.RemoteAddr(), ctx.LocalAddr(), ctx.Host(), err)
			}
			state := ctx.TLSConnectionState()
			if ctx.IsTLS() != (state != nil) || state != nil && (state.NegotiatedProtocol != "h2" || !state.HandshakeComplete) {
				t.Errorf("TLS is %v: %+v", ctx.IsTLS(), state)
			}
			if since := time.Since(ctx.Time()); since < 0 || since > servertest.Patience || ctx.ConnTime().After(ctx.Time().Add(time.Second)) {
				t.Errorf("the times are %v and %v", ctx.Time(), ctx.ConnTime())
			}
			fmt.Fprintf(ctx, "%s %v", ctx.URI().Scheme(), ctx.IsTLS())
		}})
		want := "http false"
		if s.Engine.TLS {
			want = "https true"
		}
		var all []told
		for range 3 {
			s.get(t, "/", want)
			all = append(all, servertest.Receive(t, "the context", seen))
		}
		for i, got := range all {
			if got.conn != all[0].conn || got.num != all[0].num+uint64(i) || slices.ContainsFunc(all[:i], func(o told) bool { return o.id == got.id }) {
				t.Errorf("the requests have the numbers %+v", all)
			}
		}
	})
}

func TestHTTP2ResponseSent(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		log := make(accessLog, 100)
		s := start(&fasthttp.Server{ResponseSent: log.note, MaxRequestBodySize: 100, Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/large":
				ctx.SetBodyString(numbered(1 << 20))
			case "/stream":
				ctx.SetBodyStream(strings.NewReader("stream"), -1)
			case "/short":
				ctx.SetBodyStream(strings.NewReader("short"), 100)
			case "/abort":
				panic(http.ErrAbortHandler)
			case "/left":
				ctx.TimeoutErrorWithCode("left", 504)
			}
		}, HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
			if string(h.RequestURI()) == "/refused" {
				c.RefuseStatus = 403
			}
			return c
		}})
		for _, tc := range []struct{ method, path, body, log string }{
			{"GET", "/", "", "GET / 200"},
			{"HEAD", "/a", "", "HEAD /a 200"},
			{"POST", "/", "abc", "POST / 200"},
			{"GET", "/large", "", "GET /large 200"},
			{"GET", "/stream", "", "GET /stream 200"},
			{"GET", "/short", "", "GET /short 200 cut"},
			{"GET", "/abort", "", "GET /abort 0 cut"},
			{"GET", "/left", "", "GET / 504"},
			{"POST", "/refused", "abc", "POST /refused 403 refused"},
			{"POST", "/x", numbered(101), "POST /x 413 refused"},
		} {
			var body io.Reader
			if tc.body != "" {
				body = strings.NewReader(tc.body)
			}
			if resp, err := s.client.Do(s.request(t, tc.method, tc.path, body)); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			log.expect(t, tc.log)
		}
		if n := len(log); n > 0 {
			t.Errorf("%d lines more: %s", n, <-log) // ends: there are n
		}
	})
}
