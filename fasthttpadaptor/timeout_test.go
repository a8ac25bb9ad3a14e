package fasthttpadaptor

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// timeouts are handlers around a net/http handler that time out after d.
var timeouts = []struct {
	name   string
	around func(h fasthttp.RequestHandler, d time.Duration) fasthttp.RequestHandler
}{
	{"one", func(h fasthttp.RequestHandler, d time.Duration) fasthttp.RequestHandler {
		return fasthttp.TimeoutHandler(h, d, "late")
	}},
	{"two", func(h fasthttp.RequestHandler, d time.Duration) fasthttp.RequestHandler {
		return fasthttp.TimeoutHandler(fasthttp.TimeoutHandler(h, time.Hour, "later"), d, "late")
	}},
	{"two, the inner one late", func(h fasthttp.RequestHandler, d time.Duration) fasthttp.RequestHandler {
		return fasthttp.TimeoutHandler(fasthttp.TimeoutHandler(h, d, "late"), time.Hour, "later")
	}},
	{"compressed within", func(h fasthttp.RequestHandler, d time.Duration) fasthttp.RequestHandler {
		return fasthttp.TimeoutHandler(fasthttp.CompressHandler(h), d, "late")
	}},
	{"compressed", func(h fasthttp.RequestHandler, d time.Duration) fasthttp.RequestHandler {
		return fasthttp.CompressHandler(fasthttp.TimeoutHandler(h, d, "late"))
	}},
	{"read by others", func(h fasthttp.RequestHandler, d time.Duration) fasthttp.RequestHandler {
		h = fasthttp.TimeoutHandler(h, d, "late")
		return func(ctx *fasthttp.RequestCtx) {
			h(ctx)
			_ = ctx.Response.Body()
		}
	}},
}

// eachTimeout calls test for each of timeouts on both engines. The handlers that start
// serves are late for the path /late, unless they return at once; for other paths they
// are not late.
func eachTimeout(t *testing.T, test func(t *testing.T, start func(h http.Handler) (net.Conn, *bufio.Reader))) {
	for _, engine := range []fasthttp.Engine{fasthttp.EngineAuto, fasthttp.EnginePortable} {
		for _, around := range timeouts {
			t.Run(fmt.Sprint(engine, " ", around.name), func(t *testing.T) {
				test(t, func(h http.Handler) (net.Conn, *bufio.Reader) {
					inTime := around.around(NewFastHTTPHandler(h), time.Hour)
					late := around.around(NewFastHTTPHandler(h), time.Millisecond)
					c := serve(t, &fasthttp.Server{
						Handler: func(ctx *fasthttp.RequestCtx) {
							if string(ctx.Path()) == "/late" {
								late(ctx)
								return
							}
							inTime(ctx)
						},
						Engine:            engine,
						StreamRequestBody: true,
						Logger:            testLogger{t},
					}, listenTCP)
					return c, bufio.NewReader(c)
				})
			})
		}
	}
}

func TestTrailersBehindAFlushUnderATimeoutHandler(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum, X-Never")
		w.Header().Set("X-Sum", "head")
		_, _ = io.WriteString(w, "hel")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "lo")
		w.Header().Set("X-Sum", r.URL.Path)
		w.Header().Add(http.TrailerPrefix+"X-Late", "1")
		w.Header().Add(http.TrailerPrefix+"X-Late", "2")
		w.Header().Set(http.TrailerPrefix+"Content-Length", "9")
		w.Header().Set("X-Other", "too late")
	})
	eachTimeout(t, func(t *testing.T, start func(http.Handler) (net.Conn, *bufio.Reader)) {
		c, r := start(h)
		for i := range 3 {
			send(t, c, fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: h\r\n\r\n", i))
			got := readReply(t, r, "GET")
			if got.status != "200 OK" || !got.chunked || got.body != "hello" || got.err != nil || got.header.Get("X-Sum") != "head" {
				t.Errorf("request %d: got %s", i, got)
			}
			if want := fmt.Sprintf("map[X-Late:[1 2] X-Never:[] X-Sum:[/%d]]", i); fmt.Sprint(got.trailer) != want {
				t.Errorf("request %d: trailers %v, want %s", i, got.trailer, want)
			}
		}
	})
}

// No other goroutine reads a request while a late handler sets its trailers. The
// race detector reports a violation.
func TestTrailersOfALateHandlerGoNowhere(t *testing.T) {
	t.Parallel()
	eachTimeout(t, func(t *testing.T, start func(http.Handler) (net.Conn, *bufio.Reader)) {
		goOn, ended := make(chan struct{}), make(chan error, 10)
		c, r := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			if r.URL.Path == "/late" {
				<-goOn
			}
			_, _ = io.WriteString(w, "content")
			err := http.NewResponseController(w).Flush()
			w.Header().Set("X-Sum", r.URL.Path)
			w.Header().Set(http.TrailerPrefix+"X-Late", r.URL.Path)
			ended <- err
		}))
		for i := range 2 {
			send(t, c, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n")
			if got := readReply(t, r, "GET"); got.status != "408 Request Timeout" || got.body != "late" || len(got.trailer) > 0 {
				t.Errorf("late request %d: got %s", i, got)
			}
			// both run at the same time
			goOn <- struct{}{}
			send(t, c, "GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
			if got := readReply(t, r, "GET"); got.body != "content" || fmt.Sprint(got.trailer) != "map[X-Late:[/next] X-Sum:[/next]]" {
				t.Errorf("request after late one %d: got %s", i, got)
			}
			failed := 0
			for range 2 {
				if err := servertest.Receive(t, "the end of a handler", ended); err != nil {
					failed++
				}
			}
			if failed != 1 {
				t.Errorf("%d handlers could not flush", failed)
			}
		}
	})
}

// A handler that has flushed may still read the body of its request, and gets the
// trailers after it.
func TestRequestTrailersBehindAFlushUnderATimeoutHandler(t *testing.T) {
	t.Parallel()
	for _, engine := range []fasthttp.Engine{fasthttp.EngineAuto, fasthttp.EnginePortable} {
		for _, around := range timeouts[:2] {
			t.Run(fmt.Sprint(engine, " ", around.name), func(t *testing.T) {
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					rc := http.NewResponseController(w)
					_ = rc.EnableFullDuplex()
					_ = rc.Flush()
					body, err := io.ReadAll(r.Body)
					fmt.Fprint(w, string(body), " ", err, " ", r.Trailer)
				})
				c := serve(t, &fasthttp.Server{
					Handler:           around.around(NewFastHTTPHandler(h), time.Hour),
					Engine:            engine,
					StreamRequestBody: true,
				}, listenTCP)
				br := bufio.NewReader(c)
				for i := range 2 {
					send(t, c, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n")
					for line := ""; line != "\r\n"; {
						var err error
						if line, err = br.ReadString('\n'); err != nil {
							t.Fatal(err)
						}
					}
					send(t, c, fmt.Sprintf("0\r\nX-Sum: %d\r\nX-Other: y\r\n\r\n", i))
					got, want := "", fmt.Sprintf("abc <nil> map[X-Other:[y] X-Sum:[%d]]", i)
					for line := ""; line != "0\r\n"; {
						var err error
						if line, err = br.ReadString('\n'); err != nil {
							t.Fatal(err)
						}
						got += line
					}
					if _, err := br.Discard(2); err != nil {
						t.Fatal(err)
					}
					if !strings.Contains(got, want) {
						t.Errorf("request %d: got %q, want %q", i, got, want)
					}
				}
			})
		}
	}
}

// A handler reads the body in another goroutine while its response begins. The race
// detector reports if a timeout around it touches the trailers.
func TestRequestTrailersArriveWhileTheResponseBegins(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.EnableFullDuplex()
		read := make(chan string)
		go func() {
			body, err := io.ReadAll(r.Body)
			read <- fmt.Sprint(string(body), " ", err, " ", r.Trailer)
		}()
		_ = rc.Flush()
		_, _ = io.WriteString(w, <-read)
	})
	eachTimeout(t, func(t *testing.T, start func(http.Handler) (net.Conn, *bufio.Reader)) {
		c, r := start(h)
		for i := range 5 {
			send(t, c, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n")
			if got := readReply(t, r, "POST"); got.body != "abc <nil> map[X-Sum:[1]]" {
				t.Errorf("request %d: got %s", i, got)
			}
		}
	})
}
