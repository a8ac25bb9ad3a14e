package fasthttp

import (
	"bytes"
	"crypto/tls"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// loopConn is a connection with a peer that repeats the same request, and reads all responses.
// It allocates nothing itself.
type loopConn struct {
	request []byte
	rest    []byte // unread bytes of the current request
	left    int    // requests that follow
	wrote   int
}

func (c *loopConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.left == 0 {
			return 0, net.ErrClosed
		}
		c.left--
		c.rest = c.request
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *loopConn) Write(p []byte) (int, error) {
	c.wrote += len(p)
	return len(p), nil
}

func (c *loopConn) Close() error                     { return nil }
func (c *loopConn) LocalAddr() net.Addr              { return zeroTCPAddr }
func (c *loopConn) RemoteAddr() net.Addr             { return zeroTCPAddr }
func (c *loopConn) SetDeadline(time.Time) error      { return nil }
func (c *loopConn) SetReadDeadline(time.Time) error  { return nil }
func (c *loopConn) SetWriteDeadline(time.Time) error { return nil }

func TestServerAllocatesNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the pools forget things under the race detector")
	}
	body := []byte("the body of the response")
	large, trailer := make([]byte, 100_000), []byte("X-Sum")
	plain := func(ctx *RequestCtx) {
		ctx.SetContentType("text/plain")
		ctx.SetBody(body)
	}
	settings := map[string]func() *Server{
		"plain": func() *Server { return &Server{} },
		"timeouts": func() *Server {
			return &Server{ReadTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: time.Minute}
		},
		"limits":     func() *Server { return &Server{MaxConnsPerIP: 10, Concurrency: 10, MaxRequestBodySize: 1 << 20} },
		"access log": func() *Server { return &Server{ResponseSent: func(*RequestCtx, SentResponse) {}} },
		"response ready": func() *Server {
			return &Server{ResponseReady: func(ctx *RequestCtx) { ctx.Response.Header.SetBytesV(HeaderXContentTypeOptions, trailer) }}
		},
		"trace": func() *Server {
			note := func(*RequestCtx) {}
			return &Server{Trace: &ServerTrace{
				HeadReceived: note, BodyReceived: note, HandlerBegins: note, HandlerEnds: note,
				ResponseSent: func(*RequestCtx, TracedResponse) {},
			}}
		},
	}
	for name, request := range map[string]struct {
		text string
		h    RequestHandler
	}{
		"GET":      {servertest.Get("/path?a=b&c=d", "User-Agent: a test", "Accept: */*", "Cookie: a=b; c=d", "X-Other: yes"), plain},
		"POST":     {servertest.Post("/", "a=b&c=d&and=so on", "Content-Type: application/x-www-form-urlencoded"), plain},
		"chunked":  {servertest.Chunked("/", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"), plain},
		"HEAD":     {servertest.Head("HEAD / HTTP/1.1", "Host: a"), plain},
		"pipeline": {servertest.Get("/1") + servertest.Get("/2") + servertest.Get("/3"), plain},
		"arguments": {servertest.Post("/x?a=b", "c=d", "Content-Type: application/x-www-form-urlencoded", "Cookie: e=f"), func(ctx *RequestCtx) {
			ctx.SetBody(ctx.Path())
			_, _ = ctx.Write(ctx.QueryArgs().Peek("a"))
			_, _ = ctx.Write(ctx.PostArgs().Peek("c"))
			_, _ = ctx.Write(ctx.Request.Header.Cookie("e"))
			_, _ = ctx.Write(ctx.Host())
		}},
		"medium response": {servertest.Get("/"), func(ctx *RequestCtx) { ctx.Response.SetBodyRaw(large[:5000]) }},
		"copied response": {servertest.Get("/"), func(ctx *RequestCtx) { ctx.Response.SetBodyRaw(large[:copyLimit]) }},
		"response with trailers": {servertest.Get("/"), func(ctx *RequestCtx) {
			_ = ctx.Response.Header.SetTrailerBytes(trailer)
			ctx.Response.Header.SetBytesKV(trailer, trailer)
			ctx.Response.SetBodyRaw(large[:copyLimit])
		}},
		"large response": {servertest.Get("/"), func(ctx *RequestCtx) { ctx.Response.SetBodyRaw(large) }},
		"large request":  {servertest.Post("/", string(large)), func(ctx *RequestCtx) { ctx.SetBody(ctx.PostBody()[:10]) }},
		"fields": {servertest.Get("/"), func(ctx *RequestCtx) {
			ctx.Response.Header.Set("X-One", "1")
			ctx.Response.Header.Set("Cache-Control", "no-store")
			ctx.Response.Header.SetCanonical([]byte("X-Two"), []byte("2"))
			ctx.SetStatusCode(201)
		}},
	} {
		for setting, server := range settings {
			t.Run(name+" "+setting, func(t *testing.T) {
				s := server()
				s.Handler = request.h
				c := &loopConn{request: []byte(request.text)}
				serve := func(n int) func() {
					return func() {
						c.left = n
						_ = s.ServeConn(c)
					}
				}
				serve(100)() // fills the pools
				// a garbage collection may empty the pools during a run, so the
				// least of some runs counts
				perConn := least(serve(1))
				if perConn > 0 {
					t.Errorf("%v allocations for a connection with one request", perConn)
				}
				if n := least(serve(100)); n > perConn {
					t.Errorf("%v allocations for a connection with 100 requests", n)
				}
				if c.wrote == 0 {
					t.Error("nothing was written")
				}
			})
		}
	}
}

// least returns the least number of allocations in several runs of f.
func least(f func()) float64 {
	n := testing.AllocsPerRun(10, f)
	for range 5 {
		n = min(n, testing.AllocsPerRun(10, f))
	}
	return n
}

// A request over a socket allocates nothing on either engine, and neither does the
// wait for it.
func TestServingSocketsAllocatesNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: func(ctx *RequestCtx) { ctx.Success("text/plain", ctx.Path()) }})
		if !ts.Engine.Sockets || ts.Engine.TLS {
			t.Skip("this is about plain sockets")
		}
		c := ts.Dial()
		request := []byte("GET /path HTTP/1.1\r\nHost: a\r\nUser-Agent: b\r\n\r\n")
		buf := make([]byte, 1024)
		ask := func(times int) {
			for range times {
				if _, err := c.Conn.Write(request); err != nil {
					t.Fatal(err)
				}
				n, err := c.Conn.Read(buf)
				if err != nil || !bytes.HasSuffix(buf[:n], []byte("/path")) {
					t.Fatalf("%q, %v", buf[:n], err)
				}
			}
		}
		ask(100)
		const times = 2000
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ask(times)
		runtime.ReadMemStats(&after)
		// a garbage collection may empty the pools meanwhile, and timers run
		if n := after.Mallocs - before.Mallocs; n > times/10 {
			t.Errorf("%d allocations for %d requests", n, times)
		}
	})
}

// A request over TLS allocates no more than crypto/tls does for the records of both sides,
// measured by a server with only a tls.Conn.
func TestServingTLSAllocatesNothingOfItsOwn(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	const text = "the body of the response"
	servertest.ForEachTLSEngine(t, func(t *testing.T, e servertest.Engine) {
		body := []byte(text)
		ts := startServer(t, e, &Server{Handler: func(ctx *RequestCtx) { ctx.Success("text/plain", body) }})
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			config := servertest.TrustCertificate()
			config.ServerName, config.MinVersion, config.MaxVersion = "127.0.0.1", version, version
			dial := func(addr string) *tls.Conn {
				nc, err := tls.Dial("tcp4", addr, config)
				if err != nil {
					t.Fatal(err)
				}
				return ts.Wrap(nc).Conn.(*tls.Conn)
			}
			ours, response := allocsOfTLS(t, dial(ts.Listener.Addr().String()), text)
			theirs, _ := allocsOfTLS(t, dial(bareTLS(t, response)), text)
			t.Logf("%s: %.2f allocations a request, %.2f by crypto/tls alone, its client included", tls.VersionName(version), ours, theirs)
			if ours > theirs+0.1 {
				t.Errorf("%s: %.2f allocations a request, want %.2f", tls.VersionName(version), ours, theirs)
			}
		}
	})
}

// bareTLS serves a connection with only crypto/tls. It responds to each record.
func bareTLS(t *testing.T, response []byte) (addr string) {
	t.Helper()
	pair, err := tls.X509KeyPair(servertest.Certificate())
	if err != nil {
		t.Fatal(err)
	}
	ln, err := tls.Listen("tcp4", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		buf := make([]byte, 4096)
		for {
			if _, err := nc.Read(buf); err != nil {
				return
			}
			if _, err := nc.Write(response); err != nil {
				return
			}
		}
	}()
	return ln.Addr().String()
}

// allocsOfTLS returns how many allocations a request takes on both sides, and the
// response, which ends with a text.
func allocsOfTLS(t *testing.T, c *tls.Conn, end string) (each float64, response []byte) {
	t.Helper()
	request := []byte(servertest.Get("/path", "User-Agent: a test"))
	buf := make([]byte, 4096)
	var n int
	ask := func(times int) {
		for range times {
			if _, err := c.Write(request); err != nil {
				t.Fatal(err)
			}
			var err error
			if n, err = c.Read(buf); err != nil || !bytes.HasSuffix(buf[:n], []byte(end)) {
				t.Fatalf("%q, %v", buf[:n], err)
			}
		}
	}
	ask(100)
	const times = 1000
	var before, after runtime.MemStats
	for round := range 3 {
		runtime.ReadMemStats(&before)
		ask(times)
		runtime.ReadMemStats(&after)
		// a garbage collection may empty the pools meanwhile, and timers run
		if some := float64(after.Mallocs-before.Mallocs) / times; round == 0 || some < each {
			each = some
		}
	}
	return each, bytes.Clone(buf[:n])
}
