package integrationtests

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
)

// traceLog records the events of connections and requests, by their numbers.
type traceLog struct {
	t testing.TB

	mu       sync.Mutex
	conns    map[uint64]string
	requests map[uint64][]string // of each connection
	last     uint64              // the connection accepted last
	number   map[uint64]int      // of a request in requests, by its ID
	sent     []fasthttp.TracedResponse
}

func newTraceLog(t testing.TB) *traceLog {
	return &traceLog{t: t, conns: map[uint64]string{}, requests: map[uint64][]string{}, number: map[uint64]int{}}
}

func (l *traceLog) conn(id uint64, conn net.Conn, event string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == 0 || conn == nil {
		l.t.Errorf("%s: connection %d, %v", event, id, conn)
	}
	l.conns[id] = strings.TrimPrefix(l.conns[id]+" "+event, " ")
}

func (l *traceLog) request(ctx *fasthttp.RequestCtx, event string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := ctx.ConnID()
	if l.conns[id] == "" {
		l.t.Errorf("%s: a request of connection %d, which was not accepted", event, id)
	}
	n, known := l.number[ctx.ID()]
	if !known {
		n = len(l.requests[id])
		l.number[ctx.ID()] = n
		l.requests[id] = append(l.requests[id], event)
		return
	}
	l.requests[id][n] += " " + event
}

func (l *traceLog) trace() *fasthttp.ServerTrace {
	note := func(event string) func(ctx *fasthttp.RequestCtx) {
		return func(ctx *fasthttp.RequestCtx) { l.request(ctx, event) }
	}
	return &fasthttp.ServerTrace{
		ConnAccepted: func(id uint64, conn net.Conn) {
			l.conn(id, conn, "accepted")
			l.mu.Lock()
			l.last = id
			l.mu.Unlock()
		},
		TLSHandshakeDone: func(id uint64, conn net.Conn, state tls.ConnectionState, err error) {
			if state.HandshakeComplete != (err == nil) {
				l.t.Errorf("the handshake is complete: %v, and its error %v", state.HandshakeComplete, err)
			}
			event := "tls"
			if err != nil {
				event = "failed"
			}
			l.conn(id, conn, event)
		},
		HeadReceived: func(ctx *fasthttp.RequestCtx) {
			l.request(ctx, fmt.Sprintf("%s %s", ctx.Method(), ctx.RequestURI()))
			ctx.SetUserValue("span", "span")
		},
		BodyReceived:  note("body"),
		HandlerBegins: note("begins"),
		HandlerEnds:   note("ends"),
		ResponseSent: func(ctx *fasthttp.RequestCtx, sent fasthttp.TracedResponse) {
			event := fmt.Sprint(sent.StatusCode)
			if sent.Refused != nil {
				event += " refused"
			}
			if sent.Err != nil {
				event += " cut"
			}
			if ctx.UserValue("span") == nil {
				event += " spanless"
			}
			l.request(ctx, event)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.sent = append(l.sent, sent)
		},
		ConnEnded: func(id uint64, conn net.Conn, why fasthttp.ConnEnd) { l.conn(id, conn, why.String()) },
	}
}

// expect waits until the last connection has these events, and checks the events of its requests.
func (l *traceLog) expect(conn string, requests ...string) {
	l.t.Helper()
	servertest.Eventually(l.t, conn, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		events := l.conns[l.last]
		return strings.Count(events, " ") >= strings.Count(conn, " ")
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := l.conns[l.last]; got != conn {
		l.t.Errorf("the events of the connection are %q, want %q", got, conn)
	}
	if got, want := strings.Join(l.requests[l.last], "\n"), strings.Join(requests, "\n"); got != want {
		l.t.Errorf("the events of the requests are\n%s\nwant\n%s", got, want)
	}
}

// tracedServer returns a server whose handler does what the path names.
func tracedServer(t testing.TB, wait <-chan struct{}) *fasthttp.Server {
	late := fasthttp.TimeoutHandler(func(*fasthttp.RequestCtx) { <-wait }, time.Millisecond, "late")
	echoLines := switching(func(c *lines) {
		c.line = func(c *lines, line string) { servertest.Must(t, c.conn.Append([]byte(line+"\n"), nil)); c.conn.Flush() }
	})
	return &fasthttp.Server{
		MaxRequestBodySize: 100,
		HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
			switch string(h.RequestURI()) {
			case "/refused":
				c.RefuseStatus = 403
			case "/read":
				c.BodyMode = fasthttp.BodyModeStream
			}
			return c
		},
		Handler: func(ctx *fasthttp.RequestCtx) {
			if ctx.UserValue("span") != "span" {
				t.Errorf("%s: the value of HeadReceived is not there", ctx.Path())
			}
			switch string(ctx.Path()) {
			case "/read":
				_, _ = io.Copy(io.Discard, ctx.RequestBodyStream())
			case "/events":
				ctx.SetContentType("text/event-stream")
				ctx.SetBodyStream(strings.NewReader("data: 1\n\n"), -1)
			case "/panic":
				panic("a mistake")
			case "/abort":
				panic(http.ErrAbortHandler)
			case "/late":
				late(ctx)
			case "/left":
				ctx.TimeoutErrorWithCode("left", 504)
			case "/hijack":
				ctx.Hijack(func(net.Conn) {})
			case "/lines":
				echoLines(ctx)
			}
		},
	}
}

// TestTraceOfRequests has requests of each kind, and each end of a connection.
func TestTraceOfRequests(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		log, wait := newTraceLog(t), make(chan struct{})
		defer close(wait)
		s := tracedServer(t, wait)
		s.Trace = log.trace()
		ts := start(s)
		opened := "accepted "
		if ts.Engine.TLS {
			opened += "tls "
		}
		for _, tc := range []struct{ request, end, want string }{
			{servertest.Get("/"), "client", "GET / begins ends 200"},
			{servertest.Post("/", "abc"), "client", "POST / body begins ends 200"},
			{servertest.Chunked("/", "3\r\nabc\r\n0\r\n\r\n"), "client", "POST / body begins ends 200"},
			{servertest.Post("/read", "abc"), "client", "POST /read begins ends 200"},
			{servertest.Get("/events"), "client", "GET /events begins ends 200"},
			{servertest.Get("/late"), "client", "GET /late begins ends 408"},
			{servertest.Post("/refused", "abc"), "client", "POST /refused 403 refused"},
			{servertest.Get("/left"), "client", "GET /left begins ends 504 spanless"},
			{servertest.Get("/close", "Connection: close"), "server", "GET /close begins ends 200"},
			{"GET /old HTTP/1.0\r\nHost: a\r\n\r\n", "server", "GET /old begins ends 200"},
			{servertest.Get("/panic"), "server", "GET /panic begins ends 500"},
			{servertest.Get("/abort"), "aborted", "GET /abort begins ends 0 cut"},
			{servertest.Post("/large", numbered(101)), "fault", "POST /large 413 refused"},
			{"nothing\r\n\r\n", "fault", "400 refused spanless"},
			{servertest.Get("/hijack"), "hijacked", "GET /hijack begins ends 200"},
		} {
			c := ts.Dial()
			c.Send(servertest.Get("/first"))
			c.Next("GET")
			c.Send(tc.request)
			if tc.end == "client" {
				c.Next("GET")
				_ = c.Close()
			} else {
				_, _ = io.Copy(io.Discard, c.R)
			}
			log.expect(opened+tc.end, "GET /first begins ends 200", tc.want)
			_ = c.Close()
		}
		c := ts.Dial()
		c.Send(servertest.Get("/lines") + "line\n")
		c.Next("GET")
		c.ExpectLine("line\n")
		_ = c.Close()
		log.expect(opened+"client", "GET /lines begins ends 101")

		c = ts.Dial()
		c.Get("/")
		c.Next("GET")
		servertest.Must(t, s.Shutdown())
		log.expect(opened+"shutdown", "GET / begins ends 200")
		for _, sent := range log.sent {
			if sent.Protocol != "HTTP/1.1" && sent.Protocol != "HTTP/1.0" || sent.StatusCode > 0 && sent.Bytes <= 0 || sent.Sending < 0 || sent.Handling < 0 || sent.Receiving < 0 {
				t.Errorf("reported %+v", sent)
			}
		}
	})
}

// TestTraceOfHTTP2Requests has requests of each kind over HTTP/2, and several at once.
func TestTraceOfHTTP2Requests(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		log, wait := newTraceLog(t), make(chan struct{})
		s := tracedServer(t, wait)
		s.Trace = log.trace()
		ts := start(s)
		opened := "accepted "
		if ts.Engine.TLS {
			opened += "tls "
		}
		for _, tc := range []struct {
			method, path, body string
			status             int
			want               string
		}{
			{"GET", "/", "", 200, "GET / begins ends 200"},
			{"POST", "/", "abc", 200, "POST / body begins ends 200"},
			{"POST", "/read", "abc", 200, "POST /read begins ends 200"},
			{"GET", "/events", "", 200, "GET /events begins ends 200"},
			{"GET", "/late", "", 408, "GET /late begins ends 408"},
			{"POST", "/refused", "abc", 403, "POST /refused 403 refused"},
			{"GET", "/left", "", 504, "GET /left begins ends 504 spanless"},
			{"POST", "/large", numbered(101), 413, "POST /large 413 refused"},
		} {
			c := ts.dialFrames(t)
			c.Sync()
			c.Begin(1, tc.body == "", tc.method, tc.path)
			if tc.body != "" {
				c.Data(1, 1, tc.body).Flush()
			}
			if got := c.Response(1).Status(); got != fmt.Sprint(tc.status) {
				t.Errorf("%s: got %s, want %d", tc.path, got, tc.status)
			}
			c.Begin(3, true, "GET", "/second")
			c.Response(3)
			_ = c.Conn.Close()
			log.expect(opened+"client", tc.want, "GET /second begins ends 200")
		}
		close(wait)
		c := ts.dialFrames(t)
		c.Sync()
		c.Begin(1, true, "GET", "/panic")
		c.Begin(3, true, "GET", "/")
		c.Response(3)
		done := shutDown(ts.testServer, t.Context())
		_ = c.Listen().Ending()
		_ = c.Conn.Close()
		servertest.Must(t, servertest.Receive(t, "Shutdown", done))
		log.expect(opened+"shutdown", "GET /panic begins ends 0 cut", "GET / begins ends 200")
		for _, sent := range log.sent {
			if sent.Protocol != "HTTP/2.0" {
				t.Errorf("reported %+v", sent)
			}
		}
	})
}

// TestTraceOfFailedHandshake has a client that does not speak TLS.
func TestTraceOfFailedHandshake(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, func(t *testing.T, e servertest.Engine) {
		log := newTraceLog(t)
		trace := log.trace()
		var refused atomic.Int32
		trace.ResponseSent = func(_ *fasthttp.RequestCtx, sent fasthttp.TracedResponse) {
			if refused.Add(1); sent.StatusCode != 400 || sent.Refused == nil {
				t.Errorf("reported %+v", sent)
			}
		}
		ts := startServer(t, e, &fasthttp.Server{Handler: echo, Trace: trace})
		c := ts.DialPlain()
		c.Send(servertest.Get("/"))
		_, _ = io.Copy(io.Discard, c.R)
		_ = c.Close()
		// the 400 for a client of plain HTTP belongs to no request
		servertest.Eventually(t, "the end", func() bool {
			log.mu.Lock()
			defer log.mu.Unlock()
			return log.conns[log.last] == "accepted failed fault" && refused.Load() == 1
		})
	})
}

// TestTraceHasDurations has events at known times.
func TestTraceHasDurations(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log := newTraceLog(t)
		var ends []string
		trace := log.trace()
		trace.ConnEnded = func(_ uint64, _ net.Conn, why fasthttp.ConnEnd) { ends = append(ends, why.String()) }
		s := &fasthttp.Server{IdleTimeout: time.Minute, ReadTimeout: time.Minute, NoDefaultDate: true, Logger: &servertest.Log{}, Trace: trace,
			Handler: func(ctx *fasthttp.RequestCtx) {
				time.Sleep(2 * time.Second)
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					time.Sleep(3 * time.Second)
					_, _ = w.WriteString("streamed")
				})
			}}
		ln := fasthttputil.NewInmemoryListener()
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		nc, err := ln.Dial()
		servertest.Must(t, err)
		c := servertest.NewConn(t, nc)
		c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 4") + "ab")
		time.Sleep(time.Second)
		c.Send("cd")
		c.Expect(200, "streamed")
		began := time.Now()
		c.ExpectEnd()
		if took := time.Since(began); took != time.Minute {
			t.Errorf("the connection ends after %v", took)
		}
		c.Conn.Close()
		servertest.Must(t, s.Shutdown())
		servertest.Must(t, <-served)
		if len(log.sent) != 1 || log.sent[0].Receiving != time.Second || log.sent[0].Handling != 2*time.Second || log.sent[0].Sending != 3*time.Second {
			t.Errorf("reported %+v", log.sent)
		}
		if fmt.Sprint(ends) != "[timeout]" {
			t.Errorf("the connection has ended: %v", ends)
		}
	})
}

// TestTraceMayPanic has hooks that panic. The panics are logged, and have no other effect.
func TestTraceMayPanic(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		fails := func(*fasthttp.RequestCtx) { panic("a hook") }
		log := &servertest.Log{}
		s := &fasthttp.Server{Logger: log, Handler: echo, Trace: &fasthttp.ServerTrace{
			ConnAccepted:     func(uint64, net.Conn) { panic("a hook") },
			TLSHandshakeDone: func(uint64, net.Conn, tls.ConnectionState, error) { panic("a hook") },
			HeadReceived:     fails, BodyReceived: fails, HandlerBegins: fails, HandlerEnds: fails,
			ResponseSent: func(*fasthttp.RequestCtx, fasthttp.TracedResponse) { panic("a hook") },
			ConnEnded:    func(uint64, net.Conn, fasthttp.ConnEnd) { panic("a hook") },
		}}
		ts := start(s)
		c := ts.Dial()
		for range 2 {
			c.Send(servertest.Post("/", "abc"))
			c.Expect(200, servertest.Echoed("POST", "/", "abc"))
		}
		_ = c.Close()
		want := 12
		if ts.Engine.TLS {
			want++
		}
		servertest.Eventually(t, "all entries of the log", func() bool { return len(log.All()) == want })
		for _, line := range log.All() {
			if !strings.Contains(line, "panic in ServerTrace: a hook") {
				t.Errorf("the log has %q", line)
			}
		}
	})
}

// TestTraceOfRefusedConnections has more clients than the server accepts.
func TestTraceOfRefusedConnections(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		refused := make(chan fasthttp.TracedResponse, 10)
		var accepted []uint64
		var mu sync.Mutex
		s := &fasthttp.Server{Handler: echo, Concurrency: 1, Logger: &servertest.Log{}, Trace: &fasthttp.ServerTrace{
			ConnAccepted: func(id uint64, _ net.Conn) {
				mu.Lock()
				defer mu.Unlock()
				accepted = append(accepted, id)
			},
			ResponseSent: func(_ *fasthttp.RequestCtx, sent fasthttp.TracedResponse) {
				if sent.Refused != nil {
					refused <- sent
				}
			},
		}}
		ts := start(s)
		c := ts.Dial()
		c.Get("/")
		c.Next("GET")
		other := ts.Dial()
		other.Expect(503, "The connection cannot be served because Server.Concurrency limit exceeded")
		sent := servertest.Receive(t, "the refusal", refused)
		if !errors.Is(sent.Refused, fasthttp.ErrConcurrencyLimit) || sent.StatusCode != 503 || sent.Protocol != "" || sent.Sending != 0 {
			t.Errorf("reported %+v", sent)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(accepted) != 1 {
			t.Errorf("connections %v were accepted", accepted)
		}
	})
}
