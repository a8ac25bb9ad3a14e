package fasthttpadaptor

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
)

// server is a server of an http.Handler, on ln until the test ends.
type server struct {
	name  string
	start func(t *testing.T, h http.Handler) (dial func() net.Conn)
}

// servers are the adaptor on both engines, with and without streamed bodies.
var servers = []server{
	{"event", fasthttpServer(true, fasthttp.EngineAuto, listenTCP)},
	{"portable", fasthttpServer(true, fasthttp.EnginePortable, listenTCP)},
	{"memory", fasthttpServer(true, fasthttp.EngineAuto, listenMemory)},
	{"buffered", fasthttpServer(false, fasthttp.EngineAuto, listenTCP)},
}

var netHTTP = server{"net/http", startNetHTTP}

func listenTCP(t testing.TB) (net.Listener, func() (net.Conn, error)) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln, func() (net.Conn, error) { return net.Dial("tcp", ln.Addr().String()) }
}

func listenMemory(testing.TB) (net.Listener, func() (net.Conn, error)) {
	ln := fasthttputil.NewInmemoryListener()
	return ln, ln.Dial
}

type listenFunc func(t testing.TB) (net.Listener, func() (net.Conn, error))

func fasthttpServer(streams bool, engine fasthttp.Engine, listen listenFunc) func(*testing.T, http.Handler) func() net.Conn {
	return func(t *testing.T, h http.Handler) func() net.Conn {
		s := &fasthttp.Server{
			Handler:           NewFastHTTPHandler(h),
			StreamRequestBody: streams,
			Engine:            engine,
			Logger:            testLogger{t},
		}
		return serveAll(t, s, listen)
	}
}

// serveAll serves until the test ends; dial returns a connection to the server.
func serveAll(t testing.TB, s *fasthttp.Server, listen listenFunc) (dial func() net.Conn) {
	t.Helper()
	ln, connect := listen(t)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := servertest.Receive(t, "the end of Serve", served); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return dialer(t, connect)
}

func startNetHTTP(t *testing.T, h http.Handler) func() net.Conn {
	ln, dial := listenTCP(t)
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close() })
	return dialer(t, dial)
}

func dialer(t testing.TB, dial func() (net.Conn, error)) func() net.Conn {
	return func() net.Conn {
		t.Helper()
		c, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		return c
	}
}

type testLogger struct{ t *testing.T }

// Printf writes to the log of the test, which is shown only if the test fails.
func (l testLogger) Printf(format string, args ...any) { l.t.Logf(format, args...) }

// reply is the response of a server.
type reply struct {
	status  string
	header  http.Header
	length  int64
	chunked bool
	close   bool
	body    string
	err     error
	trailer http.Header
}

// String returns the parts of a reply that must be the same for two servers.
func (r reply) String() string {
	var b strings.Builder
	_, dated := r.header["Date"]
	fmt.Fprintf(&b, "%s length %d chunked %v close %v dated %v\n", r.status, r.length, r.chunked, r.close, dated)
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		if name != "Date" && name != "Server" && name != "Connection" {
			fmt.Fprintf(&b, "%s: %q\n", name, r.header[name])
		}
	}
	fmt.Fprintf(&b, "body %.99q, broken %v\ntrailer %v", r.body, r.err != nil, r.trailer)
	fmt.Fprintf(&b, "\n%d bytes", len(r.body))
	return b.String()
}

// ask sends a request unchanged, and reads a response.
func ask(t testing.TB, c net.Conn, raw string) reply {
	t.Helper()
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(raw, " ")
	return readReply(t, bufio.NewReader(c), method)
}

func readReply(t testing.TB, r *bufio.Reader, method string) reply {
	t.Helper()
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		return reply{status: "none", err: err}
	}
	body, err := io.ReadAll(resp.Body)
	return reply{
		status: resp.Status, header: resp.Header, length: resp.ContentLength,
		chunked: len(resp.TransferEncoding) > 0, close: resp.Close,
		body: string(body), err: err, trailer: resp.Trailer,
	}
}

const get = "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"

// A client must get the same response from a handler as with net/http, including
// duplicate fields, the first status, trailers and aborts (known failure 55).
func TestResponsesAreThoseOfNetHTTP(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("large body ", 10_000)
	tests := []struct {
		name    string
		request string
		handler http.HandlerFunc
	}{
		{"nothing", get, func(http.ResponseWriter, *http.Request) {}},
		{"text", get, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }},
		{"html is guessed", get, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html><body>") }},
		{"type is kept", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "<html>")
		}},
		{"type is forbidden", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			io.WriteString(w, "<html>")
		}},
		{"length is forbidden", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Length"] = nil
			io.WriteString(w, "hello")
		}},
		{"date is forbidden", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Date"] = nil
			io.WriteString(w, "hello")
		}},
		{"chunks are asked for", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Transfer-Encoding", "chunked")
			io.WriteString(w, "hello")
		}},
		{"names that differ in case", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["WWW-Authenticate"] = []string{"Basic"}
			w.Header().Set("Www-Authenticate", "Digest")
		}},
		{"encoded bodies are not guessed", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "<html>")
		}},
		{"the first status stands", get, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			w.WriteHeader(http.StatusOK)
			io.WriteString(w, "teapot")
		}},
		{"a field set too late is dropped", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Early", "1")
			w.WriteHeader(http.StatusCreated)
			w.Header().Set("X-Late", "1")
		}},
		{"duplicate fields", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("X-Two", "a")
			w.Header().Add("X-Two", "b")
			w.Header().Add("Vary", "a")
			w.Header().Add("Vary", "b")
		}},
		{"duplicate cookies", get, func(w http.ResponseWriter, _ *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "1", Path: "/x"})
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "2", Path: "/y"})
			http.SetCookie(w, &http.Cookie{Name: "b", Value: "3", HttpOnly: true})
		}},
		{"announced length", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			io.WriteString(w, "hello")
		}},
		{"too short", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "hello")
		}},
		{"too long", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			io.WriteString(w, "hello")
			if _, err := io.WriteString(w, "!"); err != http.ErrContentLength {
				panic(err)
			}
		}},
		{"too long at once", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			if n, err := w.Write([]byte("hello!")); n != 0 || err != http.ErrContentLength {
				panic(fmt.Sprint(n, err))
			}
		}},
		{"a string that is too long at once", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			if n, err := io.WriteString(w, "hello!"); n != 0 || err != http.ErrContentLength {
				panic(fmt.Sprint(n, err))
			}
		}},
		{"much too long at once", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			if n, err := io.WriteString(w, large); n != 0 || err != http.ErrContentLength {
				panic(fmt.Sprint(n, err))
			}
		}},
		{"too long, then what would fit", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			for _, text := range []string{"he", "hello!", "llo"} {
				_, err := io.WriteString(w, text)
				if want := map[bool]error{true: nil, false: http.ErrContentLength}[text == "he"]; err != want {
					panic(err)
				}
			}
		}},
		{"too long after a flush", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			io.WriteString(w, "hel")
			w.(http.Flusher).Flush()
			for range 2 {
				if _, err := io.WriteString(w, "lo!"); err != http.ErrContentLength {
					panic(err)
				}
			}
		}},
		{"more than nothing", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "0")
			if _, err := io.WriteString(w, "x"); err != http.ErrContentLength {
				panic(err)
			}
		}},
		{"nothing of an announced length", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
		}},
		{"nothing of an announced length, flushed", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			w.(http.Flusher).Flush()
		}},
		{"HEAD, too long at once", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			if _, err := io.WriteString(w, "hello!"); err != http.ErrContentLength {
				panic(err)
			}
		}},
		{"too short and flushed", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
		}},
		{"flushed with length", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			io.WriteString(w, "world")
		}},
		{"flushed", get, func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			io.WriteString(w, "world")
		}},
		{"flushed before anything", get, func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			io.WriteString(w, "world")
		}},
		{"large with length", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(large)))
			io.WriteString(w, large)
		}},
		{"large", get, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, large) }},
		{"no content", get, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := io.WriteString(w, "x"); err != http.ErrBodyNotAllowed {
				panic(err)
			}
		}},
		{"not modified", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Etag", `"x"`)
			w.Header().Set("Content-Type", "text/css")
			w.WriteHeader(http.StatusNotModified)
		}},
		{"HEAD of a text", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "hello")
		}},
		{"HEAD with length", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "12345")
		}},
		{"close", get, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }},
		{"announced trailers", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum, X-Never")
			io.WriteString(w, "hello")
			w.Header().Set("X-Sum", "5")
		}},
		{"announced trailers after a flush", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Trailer", "X-Sum")
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			w.Header().Add("X-Sum", "5")
			w.Header().Add("X-Sum", "6")
		}},
		{"trailers by prefix", get, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			w.Header().Set(http.TrailerPrefix+"X-Late", "1")
		}},
		{"trailers like fields by prefix", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Late", "head")
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			w.Header().Set(http.TrailerPrefix+"X-Late", "1")
		}},
		{"trailers like fields by prefix, buffered", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Late", "head")
			w.Header().Set(http.TrailerPrefix+"X-Late", "1")
			io.WriteString(w, "hello")
		}},
		{"trailers that are set early", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			w.Header().Set("X-Sum", "early")
			io.WriteString(w, "hello")
		}},
		{"trailers like fields after a flush", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			w.Header().Set("X-Sum", "early")
			w.(http.Flusher).Flush()
			io.WriteString(w, "hello")
			w.Header().Set("X-Sum", "late")
		}},
		{"panic after a flush", get, func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}},
		{"panic in large", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000")
			io.WriteString(w, large)
			panic(http.ErrAbortHandler)
		}},
		{"abort", get, func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "hello")
			panic(http.ErrAbortHandler)
		}},
		{"error", get, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }},
		{"redirect", get, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there", http.StatusFound) }},
		{"not found", get, http.NotFound},
		{"content", "GET / HTTP/1.1\r\nHost: a\r\nRange: bytes=2-3\r\n\r\n", func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "x.txt", time.Unix(1e9, 0), strings.NewReader("0123456789"))
		}},
		{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			io.WriteString(w, "world")
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := ask(t, netHTTP.start(t, test.handler)(), test.request)
			for _, s := range servers {
				t.Run(s.name, func(t *testing.T) {
					got := ask(t, s.start(t, test.handler)(), test.request)
					if want.chunked && !got.chunked && got.length == int64(len(got.body)) {
						// a body that fits into memory is sent with its length
						want, got := want, got
						want.chunked, want.length = false, got.length
						compare(t, got, want)
						return
					}
					compare(t, got, want)
				})
			}
		})
	}
}

func compare(t *testing.T, got, want reply) {
	t.Helper()
	if want.err != nil && strings.HasPrefix(got.body, want.body) {
		// how much of an aborted response arrives depends on buffers
		got.body = want.body
	}
	if got.String() != want.String() {
		t.Errorf("the answer is\n%s\nthat of net/http\n%s", got, want)
	}
}

// A handler must get the same request as from net/http.
func TestRequestsAreThoseOfNetHTTP(t *testing.T) {
	t.Parallel()
	const host = "Host: example.com:80\r\n"
	tests := []struct{ name, request string }{
		{"plain", "GET /path?q=1 HTTP/1.1\r\n" + host + "\r\n"},
		{"fields", "GET / HTTP/1.1\r\n" + host + "Accept: a\r\naccept: b\r\nx-lower: 1\r\nUser-Agent: me\r\nReferer: /\r\nCookie: a=b; c=d\r\nX-Empty:\r\n\r\n"},
		{"cookies in two lines", "GET / HTTP/1.1\r\n" + host + "Cookie: a=b\r\nCookie: c=d\r\n\r\n"},
		{"escapes", "GET /a%2Fb/c%20d//e/../f?x=%41+b;c HTTP/1.1\r\n" + host + "\r\n"},
		{"absolute target", "GET http://other.example/path HTTP/1.1\r\n" + host + "\r\n"},
		{"method", "BREW /pot HTTP/1.1\r\n" + host + "\r\n"},
		{"body", "POST / HTTP/1.1\r\n" + host + "Content-Type: text/x\r\nContent-Length: 5\r\n\r\nhello"},
		{"empty body", "POST / HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n"},
		{"no body", "POST / HTTP/1.1\r\n" + host + "\r\n"},
		{"chunks", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"},
		{"no chunks", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		{"trailers", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\nTrailer: x-other\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 5\r\nX-Sum: 6\r\nX-Other: y\r\n\r\n"},
		{"trailers without a word", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n"},
		{"trailers like fields", "POST / HTTP/1.1\r\n" + host + "X-Sum: head\r\nX-Other: head\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 5\r\nX-Other: y\r\n\r\n"},
		{"trailers that never come", "POST / HTTP/1.1\r\n" + host + "X-Sum: head\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
		{"form", "POST /?a=1 HTTP/1.1\r\n" + host + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\na=2&b=3"},
		{"close", "GET / HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n"},
		{"upgrade", "GET / HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: test\r\n\r\n"},
		{"HTTP/1.0", "GET /old HTTP/1.0\r\n\r\n"},
		{"HTTP/1.0 kept", "GET /old HTTP/1.0\r\nConnection: keep-alive\r\nHost: h\r\n\r\n"},
		{"continue", "POST / HTTP/1.1\r\n" + host + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello"},
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		dumpRequest(&b, r)
		_, _ = w.Write(b.Bytes())
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := askForDump(t, netHTTP, handler, test.request)
			for _, s := range servers {
				t.Run(s.name, func(t *testing.T) {
					if got := askForDump(t, s, handler, test.request); got != want {
						t.Errorf("the request is\n%s\nthat of net/http\n%s", got, want)
					}
				})
			}
		})
	}
}

func dumpRequest(b *bytes.Buffer, r *http.Request) {
	fmt.Fprintf(b, "%s %q %s %d.%d host %q close %v length %d coding %q\n", r.Method, r.RequestURI, r.Proto,
		r.ProtoMajor, r.ProtoMinor, r.Host, r.Close, r.ContentLength, r.TransferEncoding)
	fmt.Fprintf(b, "url %#v remote %v tls %v\n", *r.URL, r.RemoteAddr != "", r.TLS != nil)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if name == "Cookie" {
			// several Cookie fields may become one (RFC 6265 section 5.4)
			continue
		}
		fmt.Fprintf(b, "%s: %q\n", name, r.Header[name])
	}
	fmt.Fprintf(b, "trailer before the body %q\n", r.Trailer)
	fmt.Fprintf(b, "has body %v, local %v\n", r.Body != http.NoBody, r.Context().Value(http.LocalAddrContextKey) != nil)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www") {
		fmt.Fprintf(b, "form %v %v\n", r.ParseForm(), r.Form)
	}
	body, err := io.ReadAll(r.Body)
	fmt.Fprintf(b, "body %q %v\ntrailer %q\n", body, err, r.Trailer)
	cookies := r.Cookies()
	fmt.Fprintf(b, "cookies %v agent %q\n", cookies, r.UserAgent())
}

func askForDump(t *testing.T, s server, h http.HandlerFunc, raw string) string {
	t.Helper()
	c := s.start(t, h)()
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	got := readReply(t, r, "GET")
	if strings.HasPrefix(got.status, "100") {
		got = readReply(t, r, "GET")
	}
	return got.status + "\n" + got.body
}
