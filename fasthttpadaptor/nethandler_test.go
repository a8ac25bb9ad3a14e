package fasthttpadaptor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

func serveNet(t *testing.T, h fasthttp.RequestHandler) (addr string, url string) {
	t.Helper()
	s := httptest.NewServer(NewHTTPHandler(h))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), s.URL
}

// A client must get the same response from a handler as from a fasthttp.Server.
func TestHandlerOfFasthttpAnswersOnNetHTTP(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		request string
		handler fasthttp.RequestHandler
	}{
		{"nothing", get, func(*fasthttp.RequestCtx) {}},
		{"text", get, func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") }},
		{"status and fields", get, func(ctx *fasthttp.RequestCtx) {
			ctx.SetStatusCode(fasthttp.StatusTeapot)
			ctx.SetContentType("text/tea")
			ctx.Response.Header.Add("X-Two", "a")
			ctx.Response.Header.Add("X-Two", "b")
		}},
		{"cookies", get, func(ctx *fasthttp.RequestCtx) {
			for _, name := range []string{"a", "b"} {
				var c fasthttp.Cookie
				c.SetKey(name)
				c.SetValue("1")
				ctx.Response.Header.SetCookie(&c)
			}
		}},
		{"stream", get, func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { fmt.Fprint(w, "streamed") })
		}},
		{"stream with size", get, func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStream(strings.NewReader("sized"), 5)
		}},
		{"trailers", get, func(ctx *fasthttp.RequestCtx) {
			_ = ctx.Response.Header.SetTrailer("X-Sum")
			ctx.Response.Header.Set("X-Sum", "5")
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { fmt.Fprint(w, "hello") })
		}},
		{"trailers like fields", get, func(ctx *fasthttp.RequestCtx) {
			ctx.Response.Header.Set("X-Sum", "head")
			_ = ctx.Response.Header.AnnounceTrailer("X-Other")
			_ = ctx.Response.Header.AddTrailerField("X-Sum", "5")
			_ = ctx.Response.Header.AddTrailerField("X-Other", "6")
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { fmt.Fprint(w, "hello") })
		}},
		{"trailers of an empty stream", get, func(ctx *fasthttp.RequestCtx) {
			_ = ctx.Response.Header.AddTrailerField("X-Sum", "5")
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {})
		}},
		{"trailers of a buffered body", get, func(ctx *fasthttp.RequestCtx) {
			_ = ctx.Response.Header.AddTrailerField("X-Sum", "5")
			_ = ctx.Response.Header.AddTrailerField("X-Sum", "6")
			ctx.WriteString("hello")
		}},
		{"fields that a Trailer field names", get, func(ctx *fasthttp.RequestCtx) {
			ctx.Response.Header.Set("X-Sum", "head")
			_ = ctx.Response.Header.AnnounceTrailer("X-Sum, X-None")
			ctx.WriteString("hello")
		}},
		{"broken stream", get, func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStream(io.MultiReader(strings.NewReader("half"), brokenReader{}), -1)
		}},
		{"no content", get, func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(fasthttp.StatusNoContent) }},
		{"HEAD of nothing", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.SetContentLength(0) }},
		{"HEAD without a length", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", func(ctx *fasthttp.RequestCtx) {}},
		{"HEAD", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") }},
		{"body", "POST /p?q=1 HTTP/1.1\r\nHost: h.example\r\nContent-Type: text/x\r\nX-A: 1\r\nContent-Length: 5\r\n\r\nhello",
			func(ctx *fasthttp.RequestCtx) {
				fmt.Fprintf(ctx, "%s %s %s %s %s %s %s", ctx.Method(), ctx.Path(), ctx.QueryArgs(), ctx.Host(),
					ctx.Request.Header.Peek("X-A"), ctx.Request.Header.ContentType(), ctx.PostBody())
			}},
		{"timeout", get, func(ctx *fasthttp.RequestCtx) { ctx.TimeoutError("too late") }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			addr, _ := serveNet(t, test.handler)
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			got := ask(t, c, test.request)

			s := &fasthttp.Server{Handler: test.handler, Logger: testLogger{t}}
			ln, dial := listenTCP(t)
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			c, err = dial()
			if err != nil {
				t.Fatal(err)
			}
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			want := ask(t, c, test.request)
			_ = c.Close()
			if err := s.Shutdown(); err != nil {
				t.Error(err)
			}
			servertest.Receive(t, "the end of Serve", served)
			if got.err != nil && want.err != nil {
				got.body = want.body
			}
			compare(t, got, want)
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

// waitingReader is a stream whose first piece arrives when the channel is closed.
type waitingReader struct{ c <-chan struct{} }

func (r waitingReader) Read([]byte) (int, error) {
	<-r.c
	return 0, io.EOF
}

func TestHeadIsSentBeforeTheStreamIfAHandlerAsksForThat(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	_, url := serveNet(t, func(ctx *fasthttp.RequestCtx) {
		ctx.Response.ImmediateHeaderFlush = true
		ctx.SetBodyStream(waitingReader{arrived}, -1)
	})
	t.Cleanup(sync.OnceFunc(func() { close(arrived) }))
	c := &http.Client{Timeout: servertest.Patience}
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func TestHandlerLogsToTheServerOfNetHTTP(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := httptest.NewUnstartedServer(NewHTTPHandler(func(ctx *fasthttp.RequestCtx) { ctx.Logger().Printf("from the handler") }))
	s.Config.ErrorLog = log.New(&b, "", 0)
	s.Start()
	c := &http.Client{Timeout: servertest.Patience}
	resp, err := c.Get(s.URL)
	if err == nil {
		resp.Body.Close()
	}
	s.Close()
	if got := b.String(); err != nil || !strings.Contains(got, "from the handler") {
		t.Errorf("%v, the log is %q", err, got)
	}
}

// net/http panics for some of these statuses, and takes others for informational ones.
func TestStatusesOfNoFinalResponse(t *testing.T) {
	t.Parallel()
	for _, status := range []int{1, 99, 100, 102, 103, 199, 1000, 20000} {
		var b bytes.Buffer
		s := httptest.NewUnstartedServer(NewHTTPHandler(func(ctx *fasthttp.RequestCtx) {
			ctx.SetStatusCode(status)
			ctx.Response.Header.Set("X-Dropped", "yes")
			ctx.SetBodyString("dropped")
		}))
		s.Config.ErrorLog = log.New(&b, "", 0)
		s.Start()
		c := &http.Client{Timeout: servertest.Patience}
		resp, err := c.Get(s.URL)
		if err != nil {
			t.Errorf("%d: %v", status, err)
		} else {
			body, err := io.ReadAll(resp.Body)
			if resp.StatusCode != 500 || resp.Header.Get("X-Dropped") != "" || string(body) != "Internal Server Error\n" || err != nil {
				t.Errorf("%d: got %d %v %q, %v", status, resp.StatusCode, resp.Header, body, err)
			}
			resp.Body.Close()
		}
		s.Close()
		if got := b.String(); !strings.Contains(got, strconv.Itoa(status)) || strings.Contains(got, "panic") {
			t.Errorf("%d: the log is %q", status, got)
		}
	}
}

func TestNetHTTPRequestIsThere(t *testing.T) {
	t.Parallel()
	_, url := serveNet(t, func(ctx *fasthttp.RequestCtx) {
		r := NetHTTPRequest(ctx)
		fmt.Fprint(ctx, r.URL.Path, " ", ctx.RemoteIP(), " ", ctx.LocalIP(), " ", ctx.IsTLS())
	})
	resp, err := http.Get(url + "/x")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	expect(t, resp.Body, "/x 127.0.0.1 127.0.0.1 false")
	if NetHTTPRequest(new(fasthttp.RequestCtx)) != nil {
		t.Error("a context without a request has one")
	}
}

func TestFasthttpHandlerHijacksOnNetHTTP(t *testing.T) {
	t.Parallel()
	addr, _ := serveNet(t, func(ctx *fasthttp.RequestCtx) {
		ctx.SetStatusCode(fasthttp.StatusSwitchingProtocols)
		ctx.Hijack(func(c net.Conn) {
			line, _ := bufio.NewReader(c).ReadString('\n')
			fmt.Fprintf(c, "you said %s", line)
		})
	})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello\n")
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %v, %v", resp, err)
	}
	expect(t, r, "you said hello\n")
}

// A handler converted twice behaves as before.
func TestBridgeBothWays(t *testing.T) {
	t.Parallel()
	inner := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %q %v", r.Method, r.URL, body, err)
	}
	s := httptest.NewServer(NewHTTPHandler(NewFastHTTPHandlerFunc(inner)))
	defer s.Close()
	resp, err := http.Post(s.URL+"/a?b=c", "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	expect(t, resp.Body, `POST /a?b=c "hello" <nil>`)
}

// A converted request is written as net/http writes it.
func TestConvertedRequestIsWrittenAsByNetHTTP(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		method string
		url    string
		body   func() io.Reader
		change func(r *http.Request)
	}{
		{name: "get", method: "GET", url: "http://example.com/path?q=1"},
		{name: "port", method: "GET", url: "http://example.com:8080/"},
		{name: "no path", method: "GET", url: "http://example.com"},
		{name: "double slash", method: "GET", url: "http://example.com//a/../b"},
		{name: "credentials", method: "GET", url: "http://user:pass@example.com/"},
		{name: "body", method: "POST", url: "http://example.com/", body: func() io.Reader { return strings.NewReader("hello") }},
		{name: "chunks", method: "POST", url: "http://example.com/", body: func() io.Reader { return io.LimitReader(strings.NewReader("hello"), 5) }},
		{name: "fields", method: "GET", url: "http://example.com/", change: func(r *http.Request) {
			r.Header.Add("X-A", "1")
			r.Header.Add("X-A", "2")
			r.Header.Set("Host", "ignored")
			r.Header.Set("Content-Length", "99")
			r.Header.Set("Transfer-Encoding", "gzip")
		}},
		{name: "host", method: "GET", url: "http://example.com/", change: func(r *http.Request) { r.Host = "other.example" }},
		{name: "close", method: "GET", url: "http://example.com/", change: func(r *http.Request) { r.Close = true }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			parsed := make([]*http.Request, 2)
			for i := range parsed {
				var body io.Reader
				if test.body != nil {
					body = test.body()
				}
				r, err := http.NewRequest(test.method, test.url, body)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("User-Agent", "me")
				if test.change != nil {
					test.change(r)
				}
				var raw bytes.Buffer
				if i == 0 {
					var req fasthttp.Request
					ConvertNetHTTPRequestToFastHTTPRequest(r, &req)
					w := bufio.NewWriter(&raw)
					err = req.Write(w)
					_ = w.Flush()
				} else {
					err = r.Write(&raw)
				}
				if err != nil {
					t.Fatal(err)
				}
				parsed[i], err = http.ReadRequest(bufio.NewReader(&raw))
				if err != nil {
					t.Fatal(err)
				}
			}
			var got, want bytes.Buffer
			if test.name == "credentials" {
				// http.Request.Write leaves the credentials to its client
				parsed[1].SetBasicAuth("user", "pass")
			}
			dumpRequest(&got, parsed[0])
			dumpRequest(&want, parsed[1])
			if got.String() != want.String() {
				t.Errorf("written as\n%s\nby net/http\n%s", got.String(), want.String())
			}
		})
	}
}

func TestConvertedRequestKeepsItsTarget(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, uri, host, url string
		header                       http.Header
		wantTarget, wantAuth         string
	}{
		{name: "request URI", method: "GET", uri: "/a%2fb", url: "/other", wantTarget: "/a%2fb"},
		{name: "absolute", method: "GET", uri: "http://h/p", url: "http://h/p", wantTarget: "http://h/p"},
		{name: "absolute with user", method: "GET", uri: "http://u:p@h/p?q", url: "http://u:p@h/p?q", wantTarget: "/p?q", wantAuth: "Basic dTpw"},
		{name: "own authorization", method: "GET", uri: "http://u:p@h/p", url: "http://u:p@h/p",
			header: http.Header{"Authorization": {"mine"}}, wantTarget: "/p", wantAuth: "mine"},
		{name: "connect", method: "CONNECT", host: "h:443", url: "//h:443", wantTarget: "h:443"},
		{name: "connect with user", method: "CONNECT", uri: "u:p@h:443", host: "h:443", url: "//h:443", wantTarget: "h:443"},
		{name: "star", method: "OPTIONS", uri: "*", host: "h", url: "*", wantTarget: "*"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			u, err := r.URL.Parse(test.url)
			if err != nil {
				t.Fatal(err)
			}
			r.Method, r.RequestURI, r.URL, r.Header = test.method, test.uri, u, test.header
			if r.Host = test.host; r.Host == "" {
				r.Host = "h"
			}
			var req fasthttp.Request
			ConvertNetHTTPRequestToFastHTTPRequest(r, &req)
			if got := string(req.Header.RequestURI()); got != test.wantTarget {
				t.Errorf("the target is %q, want %q", got, test.wantTarget)
			}
			if got := string(req.Header.Peek("Authorization")); got != test.wantAuth {
				t.Errorf("Authorization is %q, want %q", got, test.wantAuth)
			}
		})
	}
}

func TestConvertedRequestHasTheTrailersOfItsBodysEnd(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest("POST", "/", nil)
	r.Trailer = http.Header{"X-Sum": nil, "Content-Length": {"5"}}
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("hello"), trailerSetter{r}))
	var req fasthttp.Request
	ConvertNetHTTPRequestToFastHTTPRequest(r, &req)
	var raw bytes.Buffer
	w := bufio.NewWriter(&raw)
	if err := req.Write(w); err != nil {
		t.Fatal(err)
	}
	_ = w.Flush()
	got, err := http.ReadRequest(bufio.NewReader(&raw))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(got.Body)
	if string(body) != "hello" || err != nil || got.Trailer.Get("X-Sum") != "5" || len(got.Trailer) != 1 {
		t.Errorf("body %q, %v, trailers %v", body, err, got.Trailer)
	}
}

// Fields that a front end has set stay, whatever trailers a client announces or sends.
func TestTrailersTouchNoFieldOfAConvertedRequest(t *testing.T) {
	_, url := serveNet(t, func(ctx *fasthttp.RequestCtx) {
		h := &ctx.Request.Header
		body := string(ctx.PostBody())
		for _, name := range []string{"X-Real-Ip", "X-A", "X-B", "X-C"} {
			body += fmt.Sprintf(" %s %q", name, h.PeekAll(name))
			body += fmt.Sprintf(" %q;", h.PeekTrailerAll(name))
		}
		ctx.SetBodyString(body)
	})
	r, err := http.NewRequest("POST", url, io.MultiReader(strings.NewReader("hello")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"X-Real-Ip": {"right"}, "X-A": {"1", "2"}}
	r.Trailer = http.Header{"X-Real-Ip": {"evil"}, "X-A": {"evil"}, "X-B": {"3"}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	expect(t, resp.Body, `hello X-Real-Ip ["right"] []; X-A ["1" "2"] ["evil"]; X-B ["3"] ["3"]; X-C [] [];`)
}

// net/http accepts these hosts, which do not form a URI.
func TestHostsOfNetHTTPThatAreNone(t *testing.T) {
	t.Parallel()
	addr, _ := serveNet(t, func(ctx *fasthttp.RequestCtx) { fmt.Fprintf(ctx, "%s %s", ctx.Path(), ctx.Host()) })
	for host, want := range map[string]string{
		"h:99999": "", "[::1": "", "h:80:80": "", "h:x": "", "a b": "", "[::1]x": "", "h%41": "", "u@h": "",
		"h": "/admin h", "h:80": "/admin h:80", "[::1]:80": "/admin [::1]:80", "h:": "/admin h:",
	} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		got := ask(t, c, "GET /admin HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		_ = c.Close()
		if want == "" && !strings.HasPrefix(got.status, "400") || want != "" && got.body != want {
			t.Errorf("%q: %s %q, want %q", host, got.status, got.body, want)
		}
	}
	for target, method := range map[string]string{"*": "OPTIONS", "http://other.example/admin": "GET", "h:80": "CONNECT", "//admin": "GET"} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if got := ask(t, c, method+" "+target+" HTTP/1.1\r\nHost: h:80\r\n\r\n"); !strings.HasPrefix(got.status, "200") {
			t.Errorf("%s %s: %s", method, target, got.status)
		}
		_ = c.Close()
	}
}

type trailerSetter struct{ r *http.Request }

func (s trailerSetter) Read([]byte) (int, error) {
	s.r.Trailer.Set("X-Sum", "5")
	return 0, io.EOF
}

func TestConvertedBodyIsNoLongerThanItsSize(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest("POST", "/", strings.NewReader("hello, world"))
	r.ContentLength = 5
	var req fasthttp.Request
	ConvertNetHTTPRequestToFastHTTPRequest(r, &req)
	var raw bytes.Buffer
	w := bufio.NewWriter(&raw)
	err := req.Write(w)
	_ = w.Flush()
	if err == nil || !strings.HasSuffix(raw.String(), "\r\n\r\nhello") {
		t.Errorf("wrote %q, %v", raw.String(), err)
	}
}

// A field that may occur only once must not come from both handlers.
func TestFieldsOfHandlersAroundOnesOfFasthttp(t *testing.T) {
	t.Parallel()
	typed := func(ctx *fasthttp.RequestCtx) { ctx.SetContentType("text/own") }
	text := func(ctx *fasthttp.RequestCtx) { ctx.WriteString("text") }
	for _, test := range []struct {
		name   string
		around http.Header
		h      fasthttp.RequestHandler
		field  string
		want   []string
	}{
		{"both set the type", http.Header{"Content-Type": {"text/x"}}, typed, "Content-Type", []string{"text/own"}},
		{"only the handler around sets the type", http.Header{"Content-Type": {"text/x"}}, text, "Content-Type", []string{"text/x"}},
		{"and there is no content", http.Header{"Content-Type": {"text/x"}}, func(*fasthttp.RequestCtx) {}, "Content-Type", []string{"text/x"}},
		{"no handler sets the type", nil, text, "Content-Type", []string{"text/plain; charset=utf-8"}},
		{"redirects", http.Header{"Location": {"/a"}}, func(ctx *fasthttp.RequestCtx) { ctx.Redirect("/b", 302) }, "Location", []string{"/b"}},
		{"lists", http.Header{"Vary": {"Origin"}}, func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("Vary", "Accept") }, "Vary", []string{"Origin", "Accept"}},
		{"cookies", http.Header{"Set-Cookie": {"a=1"}}, func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("Set-Cookie", "b=2") }, "Set-Cookie", []string{"a=1", "b=2"}},
	} {
		w := httptest.NewRecorder()
		for name, values := range test.around {
			w.Header()[name] = values
		}
		NewHTTPHandler(test.h).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		got := w.Result().Header[test.field]
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], "http://example.com")
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// Handlers that trust a proxy set an address without a port.
func TestRemoteAddressesOfConvertedRequests(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1:80", "[2001:db8::1]:80": "[2001:db8::1]:80", "192.0.2.1": "192.0.2.1:0", "2001:db8::1": "[2001:db8::1]:0",
		"@": "0.0.0.0:0", "": "0.0.0.0:0", "host:80": "0.0.0.0:0",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = addr
		NewHTTPHandler(func(ctx *fasthttp.RequestCtx) {
			if got := ctx.RemoteAddr().String(); got != want {
				t.Errorf("%q: got %s, want %s", addr, got, want)
			}
		}).ServeHTTP(httptest.NewRecorder(), r)
	}
}

// noHijacker is a ResponseWriter of a connection that cannot be hijacked.
type noHijacker struct{ http.ResponseWriter }

// However a handler ends, what it has left in its context is closed.
func TestContextsOnNetHTTPAreReleased(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	for name, end := range map[string]func(ctx *fasthttp.RequestCtx){
		"return": func(*fasthttp.RequestCtx) {},
		"panic":  func(*fasthttp.RequestCtx) { panic(http.ErrAbortHandler) },
		"failed hijacking": func(ctx *fasthttp.RequestCtx) {
			ctx.Hijack(func(net.Conn) { t.Error("hijacked") })
		},
	} {
		var body bytes.Buffer
		parts := multipart.NewWriter(&body)
		part, err := parts.CreateFormFile("file", "file")
		servertest.Must(t, err)
		_, err = part.Write(make([]byte, 5<<20))
		servertest.Must(t, err)
		servertest.Must(t, parts.Close())
		r := httptest.NewRequest(http.MethodPost, "/", &body)
		r.Header.Set("Content-Type", parts.FormDataContentType())

		value := servertest.CloseRecorder{Reader: http.NoBody}
		stream := servertest.CloseRecorder{Reader: http.NoBody}
		var form *multipart.Form
		h := NewHTTPHandler(func(ctx *fasthttp.RequestCtx) {
			ctx.SetUserValue("value", &value)
			ctx.SetBodyStream(&stream, -1)
			form, err = ctx.MultipartForm()
			servertest.Must(t, err)
			if files, err := os.ReadDir(folder); err != nil || len(files) == 0 {
				t.Errorf("%s: no temporary file, %v", name, err)
			}
			end(ctx)
		})
		func() {
			defer func() { _ = recover() }()
			h.ServeHTTP(noHijacker{httptest.NewRecorder()}, r)
		}()
		if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
			t.Errorf("%s: temporary files %v, %v", name, files, err)
		}
		// until here its files are not removed by the garbage collector
		runtime.KeepAlive(form)
		for what, n := range map[string]int{"value": value.Closed, "stream": stream.Closed} {
			if n != 1 {
				t.Errorf("%s: the %s was closed %d times", name, what, n)
			}
		}
	}
}

// Only net/http knows when the client of such a request leaves.
func TestContextOfAHandlerBetweenBothAdaptorsEnds(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan any, 1), make(chan error, 1)
	around := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), ownContext{}, "around")))
		})
	}
	h := NewHTTPHandler(NewFastHTTPHandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun <- r.Context().Value(ownContext{})
		<-r.Context().Done()
		ended <- r.Context().Err()
	}))
	s := httptest.NewServer(around(h))
	t.Cleanup(s.Close)
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	send(t, c, get)
	if got := servertest.Receive(t, "the request", begun); got != "around" {
		t.Errorf("the context has the value %v", got)
	}
	_ = c.Close()
	if err := servertest.Receive(t, "the end of the context", ended); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// A response with a stream may be made while the body arrives, but net/http fails if the body stays
// unread.
func TestConnectionIsUsedAgainAfterAStreamAndAnUnreadBody(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]fasthttp.RequestHandler{
		"stream":       func(ctx *fasthttp.RequestCtx) { ctx.SetBodyStream(strings.NewReader("text"), -1) },
		"sized stream": func(ctx *fasthttp.RequestCtx) { ctx.SetBodyStream(strings.NewReader("text"), 4) },
		"unused stream": func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStream(strings.NewReader("text"), 4)
			ctx.SetStatusCode(204)
		},
		"stream that ends": func(ctx *fasthttp.RequestCtx) { ctx.SetBodyStream(io.LimitReader(ctx.RequestBodyStream(), 4), -1) },
	} {
		addr, _ := serveNet(t, h)
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		r := bufio.NewReader(c)
		sized := "Content-Length: 6\r\n\r\ntextXX"
		for _, body := range []string{sized, "Transfer-Encoding: chunked\r\n\r\n6\r\ntextXX\r\n0\r\n\r\n", sized} {
			if name == "stream that ends" && strings.HasPrefix(body, "Transfer") {
				continue
			}
			send(t, c, "POST / HTTP/1.1\r\nHost: a\r\n"+body)
			if got := readReply(t, r, "POST"); got.body != "text" && got.status != "204 No Content" {
				t.Errorf("%s: %s", name, got)
				break
			}
		}
	}
}

// With trailers, a response of net/http has no length by which the client could notice this.
func TestStreamWithTrailersMustHaveItsSize(t *testing.T) {
	t.Parallel()
	for content, whole := range map[string]bool{"half": false, "complete": true, "more than that": false, "": false} {
		addr, _ := serveNet(t, func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStream(strings.NewReader(content), len("complete"))
			_ = ctx.Response.Header.AddTrailerField("X-Sum", "5")
		})
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if got := ask(t, c, get); (got.err == nil) != whole || whole && (got.body != content || got.trailer.Get("X-Sum") != "5") {
			t.Errorf("%q: %s, %v", content, got, got.err)
		}
	}
}
