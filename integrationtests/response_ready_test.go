package integrationtests

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// everyField sets a field of each response, as Server.ResponseReady.
func everyField(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set("X-Every", string(ctx.Method())+" "+string(ctx.Request.Header.Peek("X-Asked")))
}

// readyServer returns a server with responses of each kind.
func readyServer(wait chan struct{}) *fasthttp.Server {
	late := fasthttp.TimeoutHandler(func(*fasthttp.RequestCtx) { <-wait }, time.Millisecond, "late")
	return &fasthttp.Server{ResponseReady: everyField, MaxRequestBodySize: 100,
		ContinueHandler: func(*fasthttp.RequestHeader) bool { return false },
		HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
			switch string(h.RequestURI()) {
			case "/refused":
				c.RefuseStatus = 403
			case "/streamed":
				c.BodyMode = fasthttp.BodyModeStream
			}
			return c
		},
		Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/missing":
				ctx.NotFound()
			case "/stream":
				ctx.SetBodyStream(strings.NewReader("stream"), -1)
			case "/panic":
				panic("a mistake")
			case "/late", "/streamed":
				late(ctx)
			case "/left":
				ctx.TimeoutErrorWithCode("left", 504)
			case "/informational":
				ctx.SetStatusCode(100)
			}
		}}
}

// TestResponseReadySeesEveryResponse has responses of each kind over HTTP/1.
func TestResponseReadySeesEveryResponse(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		wait := make(chan struct{})
		ts := start(readyServer(wait))
		defer close(wait)
		for _, tc := range []struct {
			request string
			status  int
			field   string
		}{
			{servertest.Get("/", "X-Asked: 1"), 200, "GET 1"},
			{servertest.Head("HEAD /a HTTP/1.1", "Host: a", "X-Asked: 2"), 200, "HEAD 2"},
			{servertest.Get("/missing", "X-Asked: 3"), 404, "GET 3"},
			{servertest.Get("/stream", "X-Asked: 4"), 200, "GET 4"},
			{servertest.Get("/panic", "X-Asked: 5"), 500, "GET 5"},
			{servertest.Get("/late", "X-Asked: 6"), 408, "GET 6"},
			{servertest.Get("/left", "X-Asked: 7"), 504, "GET"}, // only the response is known
			{servertest.Part("/streamed", 50, 10), 408, "POST"},
			{servertest.Post("/refused", "abc", "X-Asked: 8"), 403, "POST 8"},
			{servertest.Post("/x", "abc", "Expect: 100-continue", "X-Asked: 9"), 417, "POST 9"},
			{servertest.Post("/x", numbered(101), "X-Asked: 10"), 413, "POST 10"},
			{"nothing\r\n\r\n", 400, "GET"},
			{servertest.Get("/", "X: "+strings.Repeat("x", 70_000)), 431, "GET"},
		} {
			c := ts.Dial()
			go func() { _, _ = io.WriteString(c.Conn, servertest.Get("/first", "X-Asked: first")+tc.request) }()
			for i, want := range []string{"GET first", tc.field} {
				method := "GET"
				if i == 1 {
					method, _, _ = strings.Cut(tc.request, " ")
				}
				resp, err := servertest.ReadResponse(c.R, method)
				if err != nil {
					t.Fatal(err)
				}
				if got := resp.Header.Values("X-Every"); len(got) != 1 || got[0] != want {
					t.Errorf("%.40q: the response %d has %q, want %q", tc.request, resp.StatusCode, got, want)
				}
				if i == 1 && resp.StatusCode != tc.status {
					t.Errorf("%.40q: the status is %d, want %d", tc.request, resp.StatusCode, tc.status)
				}
			}
			_ = c.Close()
		}
	})
}

// TestResponseReadySeesEveryResponseOfHTTP2 has responses of each kind over HTTP/2.
func TestResponseReadySeesEveryResponseOfHTTP2(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, func(t *testing.T, e servertest.Engine) {
		wait := make(chan struct{})
		s := readyServer(wait)
		s.ContinueHandler = nil
		s.Protocols.SetHTTP2(true)
		ts := startServer(t, e, s)
		defer close(wait)
		var p http.Protocols
		p.SetHTTP2(true)
		tr := &http.Transport{Protocols: &p, TLSClientConfig: servertest.TrustCertificate()}
		defer tr.CloseIdleConnections()
		for _, tc := range []struct {
			method, path, content string
			status                int
			field                 string
		}{
			{"GET", "/", "", 200, "GET a"},
			{"HEAD", "/", "", 200, "HEAD a"},
			{"GET", "/missing", "", 404, "GET a"},
			{"GET", "/stream", "", 200, "GET a"},
			{"GET", "/late", "", 408, "GET a"},
			{"GET", "/left", "", 504, "GET"},
			{"GET", "/informational", "", 500, "GET a"},
			{"POST", "/refused", "abc", 403, "POST a"},
			{"POST", "/large", numbered(101), 413, "POST a"},
		} {
			req, err := http.NewRequestWithContext(t.Context(), tc.method, "https://"+ts.Listener.Addr().String()+tc.path, strings.NewReader(tc.content))
			servertest.Must(t, err)
			req.Header.Set("X-Asked", "a")
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Errorf("%s: %v", tc.path, err)
				continue
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if got := resp.Header.Get("X-Every"); got != tc.field || resp.StatusCode != tc.status {
				t.Errorf("%s %s: %d with %q, want %d with %q", tc.method, tc.path, resp.StatusCode, got, tc.status, tc.field)
			}
		}
	})
}

// TestResponseReadyBeforeHijack has a handler that takes over the connection, with a response and
// without.
func TestResponseReadyBeforeHijack(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		called := make(chan struct{}, 10)
		ts := start(&fasthttp.Server{ResponseReady: func(ctx *fasthttp.RequestCtx) { everyField(ctx); called <- struct{}{} },
			Handler: func(ctx *fasthttp.RequestCtx) {
				ctx.HijackSetNoResponse(string(ctx.Path()) == "/silent")
				ctx.Hijack(func(c net.Conn) { _, _ = io.WriteString(c, "hijacked") })
			}})
		c := ts.Dial()
		c.Get("/")
		if resp := c.Next("GET"); resp.Header.Get("X-Every") != "GET" {
			t.Errorf("the fields are %v", resp.Header)
		}
		servertest.Receive(t, "the call", called)
		c = ts.Dial()
		c.Get("/silent")
		if got, _ := io.ReadAll(c.R); string(got) != "hijacked" || len(called) > 0 {
			t.Errorf("got %q, and %d calls", got, len(called))
		}
	})
}

// TestResponseReadyThatPanics checks that the response is sent.
func TestResponseReadyThatPanics(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: echo, ResponseReady: func(*fasthttp.RequestCtx) { panic("out of fields") }})
		c := ts.Dial()
		c.Send(servertest.Get("/1") + servertest.Get("/2"))
		c.Expect(200, servertest.Echoed("GET", "/1", ""))
		c.Expect(200, servertest.Echoed("GET", "/2", ""))
		ts.Log.WaitFor(t, "panic in ResponseReady", "out of fields")
	})
}
