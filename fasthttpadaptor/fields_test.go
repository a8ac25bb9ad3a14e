package fasthttpadaptor

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestHandlerLeavesOutDate has handlers that set Date to nil, which is how net/http does
// without it. The next response of the connection has it again.
func TestHandlerLeavesOutDate(t *testing.T) {
	t.Parallel()
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/dated" {
			w.Header()["Date"] = nil
		}
		switch r.URL.Path {
		case "/stream":
			w.(http.Flusher).Flush()
		case "/status":
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write([]byte("x"))
	}
	bothWays := server{"behind net/http", func(t *testing.T, h http.Handler) func() net.Conn {
		return startNetHTTP(t, NewHTTPHandler(NewFastHTTPHandler(h)))
	}}
	for _, s := range append([]server{netHTTP, bothWays}, servers...) {
		t.Run(s.name, func(t *testing.T) {
			c := s.start(t, http.HandlerFunc(h))()
			for _, path := range []string{"/", "/dated", "/status", "/dated", "/stream", "/dated"} {
				got := ask(t, c, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
				if dates := got.header["Date"]; got.body != "x" || len(dates) > 1 || (len(dates) == 1) != (path == "/dated") {
					t.Errorf("the answer to %s has Date %q: %s", path, dates, got)
				}
			}
		})
	}
	overHTTP2(t, http.HandlerFunc(h), func(t *testing.T, c *http.Client, url string, _ bool) {
		for _, path := range []string{"/", "/dated", "/status", "/dated", "/stream", "/dated"} {
			resp, err := c.Get(url + path)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if dates := resp.Header["Date"]; (len(dates) == 1) != (path == "/dated") {
				t.Errorf("the answer to %s has Date %q", path, dates)
			}
		}
	})
}

// TestDateIsLeftOutUnderATimeoutHandler has a handler whose response passes from one context
// to another.
func TestDateIsLeftOutUnderATimeoutHandler(t *testing.T) {
	t.Parallel()
	h := NewFastHTTPHandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header()["Date"] = nil })
	for name, engine := range map[string]fasthttp.Engine{"event": fasthttp.EngineAuto, "portable": fasthttp.EnginePortable} {
		t.Run(name, func(t *testing.T) {
			s := &fasthttp.Server{Handler: fasthttp.TimeoutHandler(h, servertest.Patience, "late"), Engine: engine, Logger: testLogger{t}}
			c := serve(t, s, listenTCP)
			if got := ask(t, c, get); got.header["Date"] != nil || got.err != nil {
				t.Errorf("the answer is %s with Date %q", got, got.header["Date"])
			}
		})
	}
}

// TestHeadBehindNetHTTPHasTheLengthThatItSets has handlers behind net/http that answer HEAD with
// a length, and without one.
func TestHeadBehindNetHTTPHasTheLengthThatItSets(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/none": "", "/0": "0", "/1234": "1234"} {
		h := func(w http.ResponseWriter, r *http.Request) {
			if want != "" {
				w.Header().Set("Content-Length", want)
			}
		}
		plain := func(ctx *fasthttp.RequestCtx) {
			if n, err := strconv.Atoi(want); err == nil {
				ctx.Response.Header.SetContentLength(n)
			}
		}
		for name, start := range map[string]func(t *testing.T) func() net.Conn{
			"net/http": func(t *testing.T) func() net.Conn { return startNetHTTP(t, http.HandlerFunc(h)) },
			"both ways": func(t *testing.T) func() net.Conn {
				return startNetHTTP(t, NewHTTPHandler(NewFastHTTPHandlerFunc(h)))
			},
			"fasthttp": func(t *testing.T) func() net.Conn { return startNetHTTP(t, NewHTTPHandler(plain)) },
		} {
			t.Run(name+path, func(t *testing.T) {
				got := ask(t, start(t)(), "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
				if length := strings.Join(got.header["Content-Length"], ", "); length != want || got.err != nil {
					t.Errorf("the length is %q, want %q: %s", length, want, got)
				}
			})
		}
	}
}
