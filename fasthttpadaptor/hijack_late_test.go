package fasthttpadaptor

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// allServers are all servers with streamed bodies: net/http as a check of the tests, the
// adaptor with and without TLS, under a TimeoutHandler, and behind net/http.
func allServers() []server {
	timed := func(t *testing.T, h http.Handler) func() net.Conn {
		return serveAll(t, &fasthttp.Server{
			Handler:           fasthttp.TimeoutHandler(NewFastHTTPHandler(h), servertest.Patience, "late"),
			StreamRequestBody: true,
			Logger:            testLogger{t},
		}, listenTCP)
	}
	bothWays := func(t *testing.T, h http.Handler) func() net.Conn {
		return startNetHTTP(t, NewHTTPHandler(NewFastHTTPHandler(h)))
	}
	return []server{
		netHTTP, servers[0], servers[1], servers[2],
		{"event, TLS", secureServer(fasthttp.EngineAuto)},
		{"portable, TLS", secureServer(fasthttp.EnginePortable)},
		{"timed", timed},
		{"behind net/http", bothWays},
	}
}

func secureServer(engine fasthttp.Engine) func(*testing.T, http.Handler) func() net.Conn {
	return func(t *testing.T, h http.Handler) func() net.Conn {
		s := &fasthttp.Server{Handler: NewFastHTTPHandler(h), StreamRequestBody: true, Engine: engine, Logger: testLogger{t}}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		servertest.Must(t, err)
		served := make(chan error, 1)
		go func() {
			cert, key := servertest.Certificate()
			served <- s.ServeTLSEmbed(ln, cert, key)
		}()
		t.Cleanup(func() {
			servertest.ShutDown(t, s)
			servertest.Must(t, servertest.Receive(t, "the end of Serve", served))
		})
		return dialer(t, func() (net.Conn, error) {
			return tls.Dial("tcp", ln.Addr().String(), servertest.TrustCertificate())
		})
	}
}

// eachHijackServer runs a test on each of them. The handler has ended when the test has.
func eachHijackServer(t *testing.T, h http.HandlerFunc, test func(t *testing.T, c net.Conn)) {
	t.Helper()
	for _, s := range allServers() {
		t.Run(s.name, func(t *testing.T) {
			over := make(chan struct{})
			c := s.start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(over)
				h(w, r)
			}))()
			test(t, c)
			servertest.Receive(t, "the end of the handler", over)
			_ = c.Close()
		})
	}
}

// TestHijackDoesNotWaitForTheBody has a client that sends the rest of its body only when the
// handler has the connection.
func TestHijackDoesNotWaitForTheBody(t *testing.T) {
	t.Parallel()
	const head = "POST / HTTP/1.1\r\nHost: a\r\n"
	for name, tt := range map[string]struct{ request, read, rest string }{
		"nothing read":      {head + "Content-Length: 1000000\r\n\r\nhello", "", "hello"},
		"a part read":       {head + "Content-Length: 10\r\n\r\nhello", "he", "llo"},
		"chunks":            {head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel", "he", "l"},
		"all read":          {head + "Content-Length: 5\r\n\r\nhello", "hello", ""},
		"more than a body":  {head + "Content-Length: 2\r\n\r\nhello", "he", "llo"},
		"nothing has come":  {head + "Content-Length: 10\r\n\r\n", "", ""},
		"a body to ask for": {head + "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			eachHijackServer(t, func(w http.ResponseWriter, r *http.Request) {
				read := make([]byte, len(tt.read))
				if _, err := io.ReadFull(r.Body, read); err != nil || string(read) != tt.read {
					t.Errorf("read %q, %v", read, err)
				}
				conn, rw, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Errorf("Hijack: %v", err)
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, "mine\n")
				rest := make([]byte, len(tt.rest+" world"))
				if _, err := io.ReadFull(rw, rest); err != nil || string(rest) != tt.rest+" world" {
					t.Errorf("the rest is %q, %v", rest, err)
				}
				_, _ = io.WriteString(conn, "done\n")
			}, func(t *testing.T, c net.Conn) {
				send(t, c, tt.request)
				expect(t, c, "mine\n")
				send(t, c, " world")
				expect(t, c, "done\n")
				if rest, err := io.ReadAll(c); len(rest) > 0 || err != nil {
					t.Errorf("the rest is %q, %v", rest, err)
				}
			})
		})
	}
}

// TestHijackInTheMiddleOfAResponse has handlers that take the connection when a part of the
// response was sent, and send the rest themselves.
func TestHijackInTheMiddleOfAResponse(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("0123456789", 4<<10)
	for name, tt := range map[string]struct {
		fields  string
		flushed string // written and flushed
		written string // written after it
		chunked bool
	}{
		"a head":                  {"Content-Length: 7\r\n", "", "", false},
		"a part of a known size":  {"Content-Length: 13\r\n", "Hello,", "", false},
		"an unflushed part":       {"Content-Length: 16\r\n", "Hello,", "you", false},
		"a chunked head":          {"", "", "", true},
		"a chunk":                 {"", "Hello,", "", true},
		"an unflushed chunk":      {"", "Hello,", " you", true},
		"more than the collected": {"", piece, piece, true},
	} {
		t.Run(name, func(t *testing.T) {
			eachHijackServer(t, func(w http.ResponseWriter, r *http.Request) {
				if name, value, ok := strings.Cut(strings.TrimSpace(tt.fields), ": "); ok {
					w.Header().Set(name, value)
				}
				_, _ = io.WriteString(w, tt.flushed)
				rc := http.NewResponseController(w)
				if err := rc.Flush(); err != nil {
					t.Errorf("Flush: %v", err)
				}
				if len(tt.written) > 0 {
					_, _ = io.WriteString(w, tt.written)
					// net/http loses what was not flushed
					_ = rc.Flush()
				}
				conn, rw, err := rc.Hijack()
				if err != nil {
					t.Errorf("Hijack: %v", err)
					return
				}
				defer conn.Close()
				if _, err := w.Write(nil); err != http.ErrHijacked {
					t.Errorf("Write: %v", err)
				}
				if _, _, err := rc.Hijack(); err != http.ErrHijacked {
					t.Errorf("Hijack again: %v", err)
				}
				rest := " world!"
				if tt.chunked {
					rest = "7\r\n world!\r\n0\r\n\r\n"
				}
				line, err := rw.ReadString('\n')
				if err != nil {
					t.Errorf("reading: %v", err)
				}
				_, _ = io.WriteString(rw, rest+line)
				_ = rw.Flush()
			}, func(t *testing.T, c net.Conn) {
				send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\nhel")
				r := bufio.NewReader(c)
				resp, err := http.ReadResponse(r, nil)
				servertest.Must(t, err)
				expect(t, resp.Body, tt.flushed+tt.written)
				send(t, c, "lo\n")
				if rest, err := io.ReadAll(resp.Body); string(rest) != " world!" || err != nil {
					t.Errorf("the rest of the response is %q, %v", rest, err)
				}
				if rest, err := io.ReadAll(r); string(rest) != "hello\n" || err != nil {
					t.Errorf("behind the response is %q, %v", rest, err)
				}
			})
		})
	}
}

// TestHijackOfAResponseThatEndsTheConnection has responses after which the server would close the
// connection, and one that reads the request at the same time.
func TestHijackOfAResponseThatEndsTheConnection(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"close":    "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 9\r\n\r\nhello",
		"HTTP/1.0": "POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 9\r\n\r\nhello",
		"usual":    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhello",
	} {
		t.Run(name, func(t *testing.T) {
			eachHijackServer(t, func(w http.ResponseWriter, r *http.Request) {
				rc := http.NewResponseController(w)
				_ = rc.EnableFullDuplex()
				w.Header().Set("Content-Length", "6")
				_, _ = io.WriteString(w, "one")
				_ = rc.Flush()
				start := make([]byte, 3)
				if _, err := io.ReadFull(r.Body, start); string(start) != "hel" || err != nil {
					t.Errorf("read %q, %v", start, err)
				}
				conn, rw, err := rc.Hijack()
				if err != nil {
					t.Errorf("Hijack: %v", err)
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, "two")
				rest := make([]byte, 6)
				if _, err := io.ReadFull(rw, rest); string(rest) != "lo all" || err != nil {
					t.Errorf("the rest is %q, %v", rest, err)
				}
			}, func(t *testing.T, c net.Conn) {
				send(t, c, request)
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				servertest.Must(t, err)
				expect(t, resp.Body, "onetwo")
				send(t, c, " all")
			})
		})
	}
}

// TestDeadlinesEndWithHijack has handlers whose deadlines, which have passed, concern the hijacked
// connection no more.
func TestDeadlinesEndWithHijack(t *testing.T) {
	t.Parallel()
	for name, begins := range map[string]bool{"before the response": false, "in the middle of it": true} {
		t.Run(name, func(t *testing.T) {
			eachHijackServer(t, func(w http.ResponseWriter, _ *http.Request) {
				rc := http.NewResponseController(w)
				if begins {
					// the head has been sent when the content has
					_, _ = io.WriteString(w, "begun")
					_ = rc.Flush()
				}
				if err := errors.Join(rc.SetReadDeadline(time.Unix(1, 0)), rc.SetWriteDeadline(time.Unix(1, 0))); err != nil {
					t.Errorf("setting deadlines: %v", err)
				}
				conn, rw, err := rc.Hijack()
				if err != nil {
					t.Errorf("Hijack: %v", err)
					return
				}
				defer conn.Close()
				if line, err := rw.ReadString('\n'); line != "hello\n" || err != nil {
					t.Errorf("read %q, %v", line, err)
				}
				if _, err := io.WriteString(conn, "bye\n"); err != nil {
					t.Errorf("writing: %v", err)
				}
			}, func(t *testing.T, c net.Conn) {
				send(t, c, get+"hello\n")
				if got, err := io.ReadAll(c); !strings.HasSuffix(string(got), "bye\n") || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
			})
		})
	}
}

// TestHijackOfAResponseThatIsNotTheConnection has a response whose stream is wrapped, or whose
// ResponseWriter has no connection to give.
func TestHijackOfAResponseThatIsNotTheConnection(t *testing.T) {
	t.Parallel()
	h := NewFastHTTPHandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.(http.Flusher).Flush()
		if _, _, err := w.(http.Hijacker).Hijack(); err == nil {
			t.Error("the connection was hijacked")
		}
		_, _ = io.WriteString(w, "still here")
	})
	t.Run("compressed", func(t *testing.T) {
		c := serve(t, &fasthttp.Server{Handler: fasthttp.CompressHandler(h), Logger: testLogger{t}}, listenTCP)
		got := ask(t, c, "GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n")
		text, err := fasthttp.AppendGunzipBytes(nil, []byte(got.body))
		if got.header.Get("Content-Encoding") != "gzip" || string(text) != "still here" || err != nil {
			t.Errorf("the answer is %s, with %q, %v", got, text, err)
		}
	})
	t.Run("recorded", func(t *testing.T) {
		rec := httptest.NewRecorder()
		NewHTTPHandler(h).ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
		if rec.Body.String() != "still here" {
			t.Errorf("the answer is %q", rec.Body)
		}
	})
}

// TestPanicsOfHijackersAreLoggedByTheServer has handlers that panic when they own the connection,
// before and after they have closed it.
func TestPanicsOfHijackersAreLoggedByTheServer(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		for _, begins := range []bool{false, true} {
			for name, engine := range map[string]fasthttp.Engine{"event": fasthttp.EngineAuto, "portable": fasthttp.EnginePortable} {
				t.Run(fmt.Sprintf("%s, closed %v, begun %v", name, closed, begins), func(t *testing.T) {
					logged := make(lines, 10)
					s := &fasthttp.Server{Engine: engine, Logger: logged, Handler: NewFastHTTPHandlerFunc(panicAfterHijack(t, closed, begins))}
					c := serve(t, s, listenTCP)
					expectPanic(t, c, closed, logged)
				})
			}
			t.Run(fmt.Sprintf("behind net/http, closed %v, begun %v", closed, begins), func(t *testing.T) {
				logged := make(lines, 10)
				s := httptest.NewUnstartedServer(NewHTTPHandler(NewFastHTTPHandlerFunc(panicAfterHijack(t, closed, begins))))
				s.Config.ErrorLog = log.New(logged, "", 0)
				s.Start()
				defer s.Close()
				c, err := net.Dial("tcp", s.Listener.Addr().String())
				servertest.Must(t, err)
				defer c.Close()
				expectPanic(t, c, closed, logged)
			})
		}
	}
}

func panicAfterHijack(t *testing.T, closed, begins bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if begins {
			w.(http.Flusher).Flush()
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Errorf("Hijack: %v", err)
			return
		}
		_, _ = io.WriteString(conn, "mine")
		if closed {
			_ = conn.Close()
		} else {
			t.Cleanup(func() { _ = conn.Close() })
		}
		panic("on purpose")
	}
}

func expectPanic(t *testing.T, c net.Conn, closed bool, logged lines) {
	t.Helper()
	send(t, c, get)
	if line := servertest.Receive(t, "the log", logged); !strings.Contains(line, "on purpose") || !strings.Contains(line, "panicAfterHijack") {
		t.Errorf("logged: %s", line)
	}
	if !closed {
		return
	}
	if got, err := io.ReadAll(c); !bytes.HasSuffix(got, []byte("mine")) || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// lines is a log whose lines can be received.
type lines chan string

// Printf implements fasthttp.Logger.
func (l lines) Printf(format string, args ...any) { l <- fmt.Sprintf(format, args...) }

// Write implements io.Writer.
func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
