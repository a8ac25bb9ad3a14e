package integrationtests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// accessLog is a Server.ResponseSent that writes a line for each response.
type accessLog chan string

func (l accessLog) note(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
	line := fmt.Sprintf("%s %s %d", ctx.Method(), ctx.RequestURI(), sent.StatusCode)
	if sent.Refused != nil {
		line += " refused"
	}
	if sent.Err != nil {
		line += " cut"
	}
	if ctx.RemoteAddr() == nil || ctx.Time().IsZero() || sent.StatusCode != 0 && ctx.Response.StatusCode() != sent.StatusCode {
		line += " odd"
	}
	l <- line
}

func (l accessLog) expect(t testing.TB, want string) {
	t.Helper()
	if got := servertest.Receive(t, want, l); got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
}

// TestEveryResponseIsLogged has responses of each kind, and requests that the server
// refuses.
func TestEveryResponseIsLogged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(numbered(200_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	limited := fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) { <-ctx.UserValue("wait").(chan struct{}) }, time.Millisecond, "late")
	forEachEngine(t, func(t *testing.T, start starter) {
		log, wait := make(accessLog, 100), make(chan struct{})
		ts := start(&fasthttp.Server{ResponseSent: log.note, MaxRequestBodySize: 100, ReadTimeout: servertest.Patience,
			HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
				switch string(h.RequestURI()) {
				case "/refused":
					c.RefuseStatus = 403
				case "/hook":
					panic("a hook")
				}
				return c
			},
			ContinueHandler: func(*fasthttp.RequestHeader) bool { return false },
			Handler: func(ctx *fasthttp.RequestCtx) {
				switch string(ctx.Path()) {
				case "/large":
					ctx.SetBodyString(numbered(1 << 20))
				case "/file":
					ctx.SendFile(file)
				case "/stream":
					ctx.SetBodyStream(strings.NewReader("stream"), -1)
				case "/short":
					ctx.SetBodyStream(strings.NewReader("short"), 100)
				case "/panic":
					panic("a mistake")
				case "/abort":
					panic(http.ErrAbortHandler)
				case "/late":
					ctx.SetUserValue("wait", wait)
					limited(ctx)
				case "/left":
					ctx.TimeoutErrorWithCode("left", 504)
				case "/hijack":
					ctx.Hijack(func(c net.Conn) { _, _ = io.WriteString(c, "hijacked") })
				case "/silent":
					ctx.HijackSetNoResponse(true)
					ctx.Hijack(func(net.Conn) {})
				case "/informational":
					ctx.SetStatusCode(100)
				}
			}})
		defer close(wait)
		for _, tc := range []struct{ request, log string }{
			{servertest.Get("/"), "GET / 200"},
			{servertest.Head("HEAD /a HTTP/1.1", "Host: a"), "HEAD /a 200"},
			{servertest.Post("/", "abc"), "POST / 200"},
			{servertest.Get("/large"), "GET /large 200"},
			{servertest.Get("/file"), "GET /file 200"},
			{servertest.Get("/stream"), "GET /stream 200"},
			{servertest.Get("/short"), "GET /short 200 cut"},
			{servertest.Get("/panic"), "GET /panic 500"},
			{servertest.Get("/abort"), "GET /abort 0 cut"},
			{servertest.Get("/late"), "GET /late 408"},
			{servertest.Get("/left"), "GET / 504"},
			{servertest.Get("/hijack"), "GET /hijack 200"},
			{servertest.Get("/silent"), "GET /silent 0"},
			{servertest.Get("/informational"), "GET /informational 100"},
			{servertest.Get("/hook"), "GET /hook 0 cut"},
			{servertest.Post("/refused", "abc"), "POST /refused 403 refused"},
			{servertest.Post("/x", "abc", "Expect: 100-continue"), "POST /x 417 refused"},
			{servertest.Post("/x", numbered(101)), "POST /x 413 refused"},
			{"nothing\r\n\r\n", "GET / 400 refused"},
			{servertest.Get("/", "X: "+strings.Repeat("x", 70_000)), "GET / 431 refused"},
			{servertest.Get("/x", "Content-Length: x"), "GET / 400 refused"},
		} {
			c := ts.Dial()
			go func() { _, _ = io.WriteString(c.Conn, servertest.Get("/first")+tc.request) }()
			go func() { _, _ = io.Copy(io.Discard, c.R) }()
			log.expect(t, "GET /first 200")
			log.expect(t, tc.log)
			_ = c.Close()
		}
		c := ts.Dial()
		c.Send("GET /cut HTT")
		if ts.Engine.Sockets {
			c.EndWrites()
			log.expect(t, "GET / 400 refused")
			c.Expect(400, "Error when parsing request")
			_ = c.Close()
		} else {
			// such a client can only leave
			_ = c.Close()
			log.expect(t, "GET / 400 refused cut")
		}
		if n := len(log); n > 0 {
			t.Errorf("%d lines more: %s", n, <-log) // ends: there are n
		}
	})
}

// countingConn counts the bytes that were read.
type countingConn struct {
	net.Conn
	n int64
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n += int64(n)
	return n, err
}

// TestBytesOfResponsesAreCounted compares the reported number of bytes with the
// bytes that arrive.
func TestBytesOfResponsesAreCounted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(numbered(200_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		told := make(chan fasthttp.SentResponse, 100)
		ts := start(&fasthttp.Server{ResponseSent: func(_ *fasthttp.RequestCtx, sent fasthttp.SentResponse) { told <- sent }, StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			size, _ := ctx.QueryArgs().GetUint("size")
			body := numbered(max(size, 0))
			switch string(ctx.Path()) {
			case "/file":
				ctx.SendFile(file)
			case "/stream":
				ctx.SetBodyStream(strings.NewReader(body), -1)
			case "/sized":
				ctx.SetBodyStream(strings.NewReader(body), len(body))
			case "/producer":
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString(body) })
			case "/unread":
				ctx.SetBodyString("unread")
			case "/read":
				_ = ctx.PostBody()
				ctx.SetBodyString("read")
			default:
				ctx.SetBodyString(body)
			}
		}})
		var requests []string
		for _, path := range []string{"/", "/stream", "/sized", "/producer", "/file"} {
			for _, size := range []int{0, 1, servertest.CopyLimit + 1, servertest.FlushSize, 1 << 20} {
				requests = append(requests, servertest.Get(fmt.Sprintf("%s?size=%d", path, size)))
			}
		}
		requests = append(requests, servertest.Post("/unread", numbered(1000)), servertest.Chunked("/unread", "3\r\nabc\r\n0\r\n\r\n"),
			servertest.Post("/read", "abc", "Expect: 100-continue"), servertest.Head("HEAD /?size=100 HTTP/1.1", "Host: a"))
		for _, pipelined := range []bool{false, true} {
			c := ts.Dial()
			counted := &countingConn{Conn: c.Conn}
			r := bufio.NewReader(counted)
			if pipelined {
				go func() { _, _ = io.WriteString(c.Conn, strings.Join(requests, "")) }()
			}
			var sum, informed int64
			for _, request := range requests {
				if !pipelined {
					go func() { _, _ = io.WriteString(c.Conn, request) }()
				}
				for {
					resp, err := servertest.ReadResponse(r, request[:strings.IndexByte(request, ' ')])
					if err != nil {
						t.Fatal(err)
					}
					if resp.StatusCode != 100 {
						break
					}
					informed += int64(len("HTTP/1.1 100 Continue\r\n\r\n"))
				}
				sent := servertest.Receive(t, "what is told", told)
				if sent.StatusCode != 200 || sent.Err != nil || sent.Refused != nil {
					t.Errorf("told %+v", sent)
				}
				sum += sent.Bytes
			}
			if got := counted.n - informed; got != sum || r.Buffered() > 0 {
				t.Errorf("told of %d bytes, got %d", sum, got)
			}
		}
	})
}

// TestResponseThatIsNotTakenIsLogged has clients leave while the server sends a
// response.
func TestResponseThatIsNotTakenIsLogged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	const size = 64 << 20
	servertest.Must(t, os.WriteFile(file, nil, 0o600))
	servertest.Must(t, os.Truncate(file, size)) // takes no room
	body := make([]byte, size)
	forEachEngine(t, func(t *testing.T, start starter) {
		told := make(chan fasthttp.SentResponse, 1)
		ts := start(&fasthttp.Server{ResponseSent: func(_ *fasthttp.RequestCtx, sent fasthttp.SentResponse) { told <- sent }, Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/file":
				ctx.SendFile(file)
			case "/stream":
				ctx.SetBodyStream(bytes.NewReader(body), -1)
			default:
				ctx.Response.SetBodyRaw(body)
			}
		}})
		const read = 1 << 20
		for _, path := range []string{"/", "/stream", "/file"} {
			c := ts.Dial()
			c.Get(path)
			if _, err := io.ReadFull(c.R, make([]byte, read)); err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
			sent := servertest.Receive(t, "the end", told)
			least := int64(read)
			switch {
			case ts.Engine.TLS && path == "/":
				least = 0
			case ts.Engine.TLS:
				// the client may have most of a write that has failed
				least -= 4 * servertest.FlushSize
			}
			if sent.StatusCode != 200 || sent.Err == nil || sent.Bytes >= size || sent.Bytes < least {
				t.Errorf("%s: told %+v", path, sent)
			}
		}
	})
}

func TestRefusedConnectionsAreLogged(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, testRefusedConnectionsAreLogged)
}

func testRefusedConnectionsAreLogged(t *testing.T, e servertest.Engine) {
	for want, s := range map[error]*fasthttp.Server{fasthttp.ErrConcurrencyLimit: {Concurrency: 1}, fasthttp.ErrPerIPConnLimit: {MaxConnsPerIP: 1}} {
		forEachEngine(t, func(t *testing.T, start starter) {
			told := make(chan fasthttp.SentResponse, 10)
			s := &fasthttp.Server{Concurrency: s.Concurrency, MaxConnsPerIP: s.MaxConnsPerIP, Handler: echo, ResponseSent: func(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
				if ctx.RemoteAddr().String() == "" || ctx.ConnID() == 0 || ctx.Time().IsZero() {
					t.Error("nothing is known of the connection")
				}
				told <- sent
			}}
			ts := start(s)
			if s.MaxConnsPerIP > 0 && !ts.Engine.Sockets {
				t.Skip("there are no addresses")
			}
			c := ts.Dial()
			c.Get("/")
			c.Expect(200, servertest.Echoed("GET", "/", ""))
			servertest.Receive(t, "the first response", told)
			nc, err := ts.Dialer()
			if err != nil {
				t.Fatal(err)
			}
			other := ts.Wrap(nc)
			resp := other.Next("GET")
			sent := servertest.Receive(t, "the refusal", told)
			if sent.StatusCode != resp.StatusCode || sent.Bytes == 0 || sent.Refused != want || sent.Err != nil {
				t.Errorf("told %+v for %d", sent, resp.StatusCode)
			}
		})
	}
	told := make(chan fasthttp.SentResponse, 1)
	ts := startServer(t, e, &fasthttp.Server{Handler: echo, ResponseSent: func(_ *fasthttp.RequestCtx, sent fasthttp.SentResponse) { told <- sent }})
	c := ts.DialPlain()
	c.Get("/")
	_ = c.Next("GET")
	if sent := servertest.Receive(t, "plain http", told); sent.StatusCode != 400 || sent.Refused == nil {
		t.Errorf("told %+v", sent)
	}
}

// TestTimeoutsAreLogged has requests that do not arrive in time, and late handlers
// that still read.
func TestTimeoutsAreLogged(t *testing.T) {
	t.Parallel()
	overTime(t, func(t testing.TB, start starter) {
		log := make(accessLog, 10)
		ended := make(chan struct{}, 1)
		ts := start(&fasthttp.Server{ResponseSent: log.note, StreamRequestBody: true, ReadTimeout: reach,
			HeaderReceived: func(*fasthttp.RequestHeader) fasthttp.RequestConfig {
				return fasthttp.RequestConfig{ReadTimeout: servertest.Patience}
			},
			Handler: fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) {
				_, _ = io.Copy(io.Discard, ctx.RequestBodyStream())
				ended <- struct{}{}
			}, time.Millisecond, "late")})
		c := ts.Dial()
		c.Send(servertest.Head("POST /reads HTTP/1.1", "Host: a", "Content-Length: 100"))
		c.Expect(408, "late")
		log.expect(t, "POST /reads 408")
		_ = c.Close()
		servertest.Receive(t, "the end of the late handler", ended)
		silent, half := ts.Dial(), ts.Dial()
		half.Send("GET /half")
		for _, c := range []*servertest.Conn{silent, half} {
			c.Expect(408, "Request timeout")
			log.expect(t, "GET / 408 refused")
		}
	})
}

func TestResponseSentThatPanics(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: echo, ResponseSent: func(*fasthttp.RequestCtx, fasthttp.SentResponse) { panic(errors.New("out of paper")) }})
		c := ts.Dial()
		c.Send(servertest.Get("/1") + servertest.Get("/2"))
		c.Expect(200, servertest.Echoed("GET", "/1", ""))
		c.Expect(200, servertest.Echoed("GET", "/2", ""))
		ts.Log.WaitFor(t, "panic in ResponseSent", "out of paper")
	})
}
