package fasthttp

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
)

// accessLog is a Server.ResponseSent that writes a line for each response.
type accessLog chan string

func (l accessLog) note(ctx *RequestCtx, sent SentResponse) {
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

func (l accessLog) expect(t *testing.T, want string) {
	t.Helper()
	if got := receive(t, want, l); got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
}

// TestEveryResponseIsLogged has responses of each kind, and requests that are refused.
func TestEveryResponseIsLogged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(numbered(200_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	limited := TimeoutHandler(func(ctx *RequestCtx) { <-ctx.UserValue("wait").(chan struct{}) }, time.Millisecond, "late")
	forEachEngine(t, func(t *testing.T, start starter) {
		log, wait := make(accessLog, 100), make(chan struct{})
		ts := start(&Server{ResponseSent: log.note, MaxRequestBodySize: 100, ReadTimeout: patience,
			HeaderReceived: func(h *RequestHeader) (c RequestConfig) {
				switch string(h.RequestURI()) {
				case "/refused":
					c.RefuseStatus = 403
				case "/hook":
					panic("a hook")
				}
				return c
			},
			ContinueHandler: func(*RequestHeader) bool { return false },
			Handler: func(ctx *RequestCtx) {
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
			{get("/"), "GET / 200"},
			{head("HEAD /a HTTP/1.1", "Host: a"), "HEAD /a 200"},
			{post("/", "abc"), "POST / 200"},
			{get("/large"), "GET /large 200"},
			{get("/file"), "GET /file 200"},
			{get("/stream"), "GET /stream 200"},
			{get("/short"), "GET /short 200 cut"},
			{get("/panic"), "GET /panic 500"},
			{get("/abort"), "GET /abort 0 cut"},
			{get("/late"), "GET /late 408"},
			{get("/left"), "GET / 504"},
			{get("/hijack"), "GET /hijack 200"},
			{get("/silent"), "GET /silent 0"},
			{get("/informational"), "GET /informational 100"},
			{get("/hook"), "GET /hook 0 cut"},
			{post("/refused", "abc"), "POST /refused 403 refused"},
			{post("/x", "abc", "Expect: 100-continue"), "POST /x 417 refused"},
			{post("/x", numbered(101)), "POST /x 413 refused"},
			{"nothing\r\n\r\n", "GET / 400 refused"},
			{get("/", "X: "+strings.Repeat("x", 70_000)), "GET / 431 refused"},
			{get("/x", "Content-Length: x"), "GET / 400 refused"},
		} {
			c := ts.dial()
			go func() { _, _ = io.WriteString(c.Conn, get("/first")+tc.request) }()
			go func() { _, _ = io.Copy(io.Discard, c.r) }()
			log.expect(t, "GET /first 200")
			log.expect(t, tc.log)
			_ = c.Close()
		}
		c := ts.dial()
		c.send("GET /cut HTT")
		if ts.engine.sockets {
			c.closeWrite()
			log.expect(t, "GET / 400 refused")
			c.expect(400, "Error when parsing request")
		}
		_ = c.Close()
		if n := len(log); n > 0 {
			t.Errorf("%d lines more: %s", n, <-log)
		}
	})
}

// countingConn counts what was read.
type countingConn struct {
	net.Conn
	n int64
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n += int64(n)
	return n, err
}

// TestBytesOfResponsesAreCounted compares what is told with what arrives.
func TestBytesOfResponsesAreCounted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(numbered(200_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		told := make(chan SentResponse, 100)
		ts := start(&Server{ResponseSent: func(_ *RequestCtx, sent SentResponse) { told <- sent }, StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
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
			for _, size := range []int{0, 1, copyLimit + 1, flushSize, 1 << 20} {
				requests = append(requests, get(fmt.Sprintf("%s?size=%d", path, size)))
			}
		}
		requests = append(requests, post("/unread", numbered(1000)), chunked("/unread", "3\r\nabc\r\n0\r\n\r\n"),
			post("/read", "abc", "Expect: 100-continue"), head("HEAD /?size=100 HTTP/1.1", "Host: a"))
		for _, pipelined := range []bool{false, true} {
			c := ts.dial()
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
					resp, err := readResponse(r, request[:strings.IndexByte(request, ' ')])
					if err != nil {
						t.Fatal(err)
					}
					if resp.StatusCode != 100 {
						break
					}
					informed += int64(len("HTTP/1.1 100 Continue\r\n\r\n"))
				}
				sent := receive(t, "what is told", told)
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

// TestResponseThatIsNotTakenIsLogged has clients go away while they are sent
// something.
func TestResponseThatIsNotTakenIsLogged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	const size = 64 << 20
	if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, size)
	forEachEngine(t, func(t *testing.T, start starter) {
		told := make(chan SentResponse, 1)
		ts := start(&Server{ResponseSent: func(_ *RequestCtx, sent SentResponse) { told <- sent }, Handler: func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/file":
				ctx.SendFile(file)
			case "/stream":
				ctx.SetBodyStream(bytes.NewReader(body), -1)
			default:
				ctx.Response.SetBodyRaw(body)
			}
		}})
		for _, path := range []string{"/", "/stream", "/file"} {
			c := ts.dial()
			c.get(path)
			if _, err := io.ReadFull(c.r, make([]byte, 100_000)); err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
			sent := receive(t, "the end", told)
			if sent.StatusCode != 200 || sent.Err == nil || sent.Bytes >= size || sent.Bytes < 100_000 && !(ts.engine.tls && path == "/") {
				t.Errorf("%s: told %+v", path, sent)
			}
		}
	})
}

func TestRefusedConnectionsAreLogged(t *testing.T) {
	for want, s := range map[error]*Server{ErrConcurrencyLimit: {Concurrency: 1}, ErrPerIPConnLimit: {MaxConnsPerIP: 1}} {
		forEachEngine(t, func(t *testing.T, start starter) {
			told := make(chan SentResponse, 10)
			s := &Server{Concurrency: s.Concurrency, MaxConnsPerIP: s.MaxConnsPerIP, Handler: echo, ResponseSent: func(ctx *RequestCtx, sent SentResponse) {
				if ctx.RemoteAddr().String() == "" || ctx.ConnID() == 0 || ctx.Time().IsZero() {
					t.Error("nothing is known of the connection")
				}
				told <- sent
			}}
			ts := start(s)
			if s.MaxConnsPerIP > 0 && !ts.engine.sockets {
				t.Skip("there are no addresses")
			}
			c := ts.dial()
			c.get("/")
			c.expect(200, echoed("GET", "/", ""))
			receive(t, "the first response", told)
			nc, err := ts.dialer()
			if err != nil {
				t.Fatal(err)
			}
			other := ts.wrap(nc)
			resp := other.next("GET")
			sent := receive(t, "the refusal", told)
			if sent.StatusCode != resp.StatusCode || sent.Bytes == 0 || sent.Refused != want || sent.Err != nil {
				t.Errorf("told %+v for %d", sent, resp.StatusCode)
			}
		})
	}
	told := make(chan SentResponse, 1)
	ts := startServer(t, tlsEngine, &Server{Handler: echo, ResponseSent: func(_ *RequestCtx, sent SentResponse) { told <- sent }})
	c := ts.dialPlain()
	c.get("/")
	_ = c.next("GET")
	if sent := receive(t, "plain http", told); sent.StatusCode != 400 || sent.Refused == nil {
		t.Errorf("told %+v", sent)
	}
}

// TestTimeoutsAreLogged has requests that do not arrive, and late handlers that
// still read.
func TestTimeoutsAreLogged(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		log := make(accessLog, 10)
		ended := make(chan struct{}, 1)
		ts := start(&Server{ResponseSent: log.note, StreamRequestBody: true, ReadTimeout: 30 * time.Millisecond,
			HeaderReceived: func(*RequestHeader) RequestConfig { return RequestConfig{ReadTimeout: patience} },
			Handler: TimeoutHandler(func(ctx *RequestCtx) {
				_, _ = io.Copy(io.Discard, ctx.RequestBodyStream())
				ended <- struct{}{}
			}, time.Millisecond, "late")})
		c := ts.dial()
		c.send(head("POST /reads HTTP/1.1", "Host: a", "Content-Length: 100"))
		c.expect(408, "late")
		log.expect(t, "POST /reads 408")
		_ = c.Close()
		receive(t, "the end of the late handler", ended)
		c = ts.dial()
		c.expect(408, "Request timeout")
		log.expect(t, "GET / 408 refused")
		c = ts.dial()
		c.send("GET /half")
		c.expect(408, "Request timeout")
		log.expect(t, "GET / 408 refused")
	})
}

func TestResponseSentThatPanics(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: echo, ResponseSent: func(*RequestCtx, SentResponse) { panic(errors.New("out of paper")) }})
		c := ts.dial()
		c.send(get("/1") + get("/2"))
		c.expect(200, echoed("GET", "/1", ""))
		c.expect(200, echoed("GET", "/2", ""))
		ts.log.waitFor(t, "panic in ResponseSent", "out of paper")
	})
}
