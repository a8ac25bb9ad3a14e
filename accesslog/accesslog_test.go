package accesslog_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/accesslog"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// combined matches a line of the Combined format.
var combined = regexp.MustCompile(`^(\S+) - - \[(\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d \+0000)\] "((?:[^"\\]|\\.)*)" (\d\d\d|-) (\d+) "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"\n$`)

// parse returns the parts of a line.
func parse(t *testing.T, line string) (client, request, status, bytes, referer, agent string) {
	t.Helper()
	m := combined.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("the line is %q", line)
	}
	if at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2]); err != nil || time.Since(at) > time.Hour {
		t.Errorf("the date is %q", m[2])
	}
	return m[1], m[3], m[4], m[5], m[6], m[7]
}

// TestEveryResponseHasALine has responses of each kind, with the request as it was received, also
// if the handler has left its context, has panicked, or has changed the request.
func TestEveryResponseHasALine(t *testing.T) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		var out output
		l := accesslog.New(accesslog.Options{Writer: &out})
		defer l.Close()
		s := &fasthttp.Server{MaxRequestBodySize: 100,
			HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
				if string(h.RequestURI()) == "/refused" {
					c.RefuseStatus = 403
				}
				return c
			},
			Handler: func(ctx *fasthttp.RequestCtx) {
				switch string(ctx.Path()) {
				case "/stream":
					ctx.SetBodyStream(strings.NewReader(strings.Repeat("x", 100_000)), -1)
				case "/producer":
					ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("hello") })
				case "/short":
					ctx.SetBodyStream(strings.NewReader("short"), 100)
				case "/panic":
					panic("a mistake")
				case "/left":
					ctx.TimeoutErrorWithCode("left", 504)
				case "/changed":
					ctx.Request.SetRequestURI("http://elsewhere/")
					ctx.Request.Header.SetMethod("PUT")
				case "/reset":
					ctx.Request.ResetUserValues()
				case "/missing":
					ctx.NotFound()
				}
			}}
		l.Attach(s)
		ts := start(s)
		panics := "500"
		if ts.HTTP2 {
			panics = "-" // the stream is reset
		}
		large := strings.Repeat("x", 101)
		for _, tc := range []struct{ method, path, body, status string }{
			{"GET", "/", "", "200"},
			{"HEAD", "/?a=b", "", "200"},
			{"POST", "/", "abc", "200"},
			{"GET", "/stream", "", "200"},
			{"GET", "/producer", "", "200"},
			{"POST", "/short", "x", "200"}, // a client repeats a GET
			{"GET", "/panic", "", panics},
			{"GET", "/left", "", "504"},
			{"GET", "/changed", "", "200"},
			{"GET", "/reset", "", "200"},
			{"GET", "/missing", "", "404"},
			{"GET", "/refused", "", "403"},
			{"POST", "/large", large, "413"},
		} {
			got := status(t, ts, tc.method, tc.path, tc.body, "Referer", "https://a/b", "User-Agent", "test")
			client, request, logged, bytes, referer, agent := parse(t, out.next(t, l))
			version := "HTTP/1.1"
			if ts.HTTP2 {
				version = "HTTP/2.0"
			}
			if want := tc.method + " " + tc.path + " " + version; request != want || logged != tc.status || client != "127.0.0.1" || referer != "https://a/b" || agent != "test" {
				t.Errorf("%s %s: got %s %q %s %q %q, want %s", tc.method, tc.path, client, request, logged, referer, agent, tc.status)
			}
			if got != 0 && fmt.Sprint(got) != logged {
				t.Errorf("%s: the status %s was logged, %d was sent", tc.path, logged, got)
			}
			if tc.path == "/stream" && len(bytes) != 6 || logged == "-" && bytes != "0" {
				t.Errorf("%s: %s bytes were logged", tc.path, bytes)
			}
		}
		if n := l.Dropped(); n > 0 {
			t.Errorf("%d entries were dropped", n)
		}
	})
}

// TestHijackAndUnreadableRequestsHaveALine has connections that are handed over, and requests
// without a head.
func TestHijackAndUnreadableRequestsHaveALine(t *testing.T) {
	servertest.ForEachEngine(t, roottest.Prepare, func(t *testing.T, start servertest.Starter[*fasthttp.Server]) {
		t.Parallel()
		var out output
		l := accesslog.New(accesslog.Options{Writer: &out})
		defer l.Close()
		s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/silent" {
				ctx.HijackSetNoResponse(true)
			}
			ctx.Hijack(func(net.Conn) {})
		}}
		l.Attach(s)
		ts := start(s)
		for _, tc := range []struct{ sent, request, status string }{
			{servertest.Get("/hijack"), "GET /hijack HTTP/1.1", "200"},
			{servertest.Get("/silent"), "GET /silent HTTP/1.1", "-"},
			{"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0", "200"},
			{"nothing\r\n\r\n", "-", "400"},
		} {
			c := ts.Dial()
			c.Send(tc.sent)
			_, _ = io.Copy(io.Discard, c.R)
			client, request, status, _, referer, agent := parse(t, out.next(t, l))
			if want := map[bool]string{true: "127.0.0.1", false: "0.0.0.0"}[ts.Engine.Sockets]; client != want && client != "-" {
				t.Errorf("the client is %s", client)
			}
			if request != tc.request || status != tc.status || referer != "-" || agent != "-" {
				t.Errorf("got %q %s %q %q, want %q %s", request, status, referer, agent, tc.request, tc.status)
			}
		}
	})
}

// TestClientIsTheOneThatProxiesName has a request that a trusted proxy has forwarded.
func TestClientIsTheOneThatProxiesName(t *testing.T) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		var out output
		l := accesslog.New(accesslog.Options{Writer: &out, Format: accesslog.Common})
		defer l.Close()
		s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}
		s.TrustedProxies.Ranges = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		l.Attach(s)
		ts := start(s)
		status(t, ts, "GET", "/", "", "X-Forwarded-For", "1.2.3.4, 2001:db8::1")
		if line := out.next(t, l); !strings.HasPrefix(line, "2001:db8::1 - - [") {
			t.Errorf("the line is %q", line)
		}
	})
}

// TestJSONHasAllAttributes checks the attributes of an entry, and that earlier hooks of the
// server are called.
func TestJSONHasAllAttributes(t *testing.T) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		var out output
		l := accesslog.New(accesslog.Options{Writer: &out, Format: accesslog.JSON, IDField: "X-Id"})
		defer l.Close()
		called := make(chan int, 10)
		s := &fasthttp.Server{MaxRequestBodySize: 10, Handler: func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("X-Id", "42\x01") },
			ResponseSent: func(_ *fasthttp.RequestCtx, sent fasthttp.SentResponse) { called <- sent.StatusCode }}
		l.Attach(s)
		ts := start(s)
		status(t, ts, "GET", "/a?token=abc", "", "User-Agent", "te\"st", "Referer", "https://a/?sig=abc", "Authorization", "Bearer abc", "Cookie", "abc")
		line := out.next(t, l)
		var got map[string]any
		servertest.Must(t, json.Unmarshal([]byte(line), &got))
		for key, want := range map[string]any{
			"level": "INFO", "msg": "request", "client": "127.0.0.1", "method": "GET", "target": "/a?token=***", "status": 200.0,
			"referer": "https://a/?sig=***", "user_agent": `te\"st`,
		} {
			if got[key] != want {
				t.Errorf("%s is %v, want %v", key, got[key], want)
			}
		}
		if strings.Contains(line, "abc") || got["bytes"].(float64) <= 0 || got["duration"].(float64) <= 0 || !strings.HasPrefix(got["id"].(string), "42") || len(got) != 13 {
			t.Errorf("the line is %s", line)
		}
		status(t, ts, "POST", "/", strings.Repeat("x", 11))
		clear(got)
		servertest.Must(t, json.Unmarshal([]byte(out.next(t, l)), &got))
		if got["status"] != 413.0 || got["refused"] != fasthttp.ErrBodyTooLarge.Error() {
			t.Errorf("got %v", got)
		}
		if a, b := servertest.Receive(t, "a report", called), servertest.Receive(t, "a report", called); a != 200 || b != 413 {
			t.Errorf("the hook was called with %d and %d", a, b)
		}
	})
}

// TestCutOffResponseIsAnError has a client that leaves.
func TestCutOffResponseIsAnError(t *testing.T) {
	servertest.ForEachEngine(t, roottest.Prepare, func(t *testing.T, start servertest.Starter[*fasthttp.Server]) {
		t.Parallel()
		var out output
		l := accesslog.New(accesslog.Options{Writer: &out, Format: accesslog.JSON, Sample: 1000})
		defer l.Close()
		s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStream(&endless{}, -1)
		}}
		l.Attach(s)
		c := start(s).Dial()
		c.Get("/")
		if _, err := io.ReadFull(c.R, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		var got map[string]any
		servertest.Must(t, json.Unmarshal([]byte(out.next(t, l)), &got))
		if got["level"] != "WARN" || got["error"] == nil || got["bytes"].(float64) < 1000 {
			t.Errorf("got %v", got)
		}
	})
}

// endless is a body without an end.
type endless struct{}

func (*endless) Read(p []byte) (int, error) { return len(p), nil }

// TestSampleHasAllErrors checks which responses are logged.
func TestSampleHasAllErrors(t *testing.T) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		var out output
		l := accesslog.New(accesslog.Options{Writer: &out, Sample: 3})
		s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/missing" {
				ctx.NotFound()
			}
		}}
		done := make(chan struct{}, 20)
		s.ResponseSent = func(*fasthttp.RequestCtx, fasthttp.SentResponse) { done <- struct{}{} }
		l.Attach(s)
		ts := start(s)
		for range 7 {
			status(t, ts, "GET", "/", "")
			servertest.Receive(t, "the end", done)
		}
		for range 5 {
			status(t, ts, "GET", "/missing", "")
			servertest.Receive(t, "the end", done)
		}
		servertest.Must(t, l.Close())
		var got []string
		for _, line := range out.take() {
			_, _, status, _, _, _ := parse(t, line)
			got = append(got, status)
		}
		if strings.Join(got, " ") != "200 200 200 404 404 404 404 404" {
			t.Errorf("got %v", got)
		}
		if err := l.Close(); err != accesslog.ErrClosed {
			t.Errorf("the second Close returns %v", err)
		}
		if err := l.Flush(context.Background()); err != accesslog.ErrClosed {
			t.Errorf("Flush returns %v", err)
		}
		status(t, ts, "GET", "/missing", "")
		servertest.Receive(t, "the end", done)
		if l.Dropped() != 1 || len(out.take()) > 0 {
			t.Errorf("%d entries were dropped after Close", l.Dropped())
		}
	})
}

// TestAbortedRequestIsLogged has a handler that ends the connection.
func TestAbortedRequestIsLogged(t *testing.T) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		var out output
		l := accesslog.New(accesslog.Options{Writer: &out, Sample: 100})
		defer l.Close()
		s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) { panic(http.ErrAbortHandler) }}
		l.Attach(s)
		ts := start(s)
		status(t, ts, "POST", "/", "x")
		if _, request, status, bytes, _, _ := parse(t, out.next(t, l)); !strings.HasPrefix(request, "POST / ") || status != "-" || bytes != "0" {
			t.Errorf("got %q %s %s", request, status, bytes)
		}
	})
}
