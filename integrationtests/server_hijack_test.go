package integrationtests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
)

// upgrade is a handler that switches to a protocol that echoes lines.
func upgrade(ctx *fasthttp.RequestCtx) {
	ctx.Hijack(func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(c, "you said %s", line)
		}
	})
	ctx.SetStatusCode(fasthttp.StatusSwitchingProtocols)
	ctx.Response.Header.Set("Connection", "Upgrade")
	ctx.Response.Header.Set("Upgrade", "lines")
}

func TestHijackHandsTheConnectionOver(t *testing.T) {
	t.Parallel()
	overTime(t, func(t testing.TB, start starter) {
		handler := func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) != outlasting {
				upgrade(ctx)
			}
		}
		ts := start(&fasthttp.Server{Handler: handler, ReadTimeout: reach, WriteTimeout: reach, IdleTimeout: reach * 5 / 4})
		c := ts.Dial()
		// bytes that were sent early are read first
		c.Send(servertest.Get("/", "Connection: Upgrade", "Upgrade: lines") + "first\nsec")
		resp := c.Next("GET")
		if resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "lines" || resp.Header.Get("Connection") != "Upgrade" || resp.Close {
			t.Errorf("got %d %v", resp.StatusCode, resp.Header)
		}
		c.ExpectLine("you said first\n")
		// the timeouts of the server do not apply
		outlast(ts)
		c.Send("ond\n")
		c.ExpectLine("you said second\n")
		for i := range 100 {
			c.Send(fmt.Sprintf("%d\n", i))
			c.ExpectLine(fmt.Sprintf("you said %d\n", i))
		}
		if ts.Engine.Sockets {
			c.EndWrites()
			c.ExpectEnd()
		} else {
			_ = c.Close()
		}
		servertest.Eventually(t, "no connection", func() bool { return ts.S.GetCurrentConcurrency() == 0 })
	})
}

// nextHead reads a head with the given status line, and returns its fields.
func nextHead(c *servertest.Conn, statusLine string) (fields string) {
	c.T.Helper()
	c.ExpectLine(statusLine + "\r\n")
	for {
		line, err := c.R.ReadString('\n')
		if err != nil {
			c.T.Fatalf("a head is cut off: %v, after %q", err, fields)
		}
		if line == "\r\n" {
			return fields
		}
		fields += line
	}
}

func TestHijackGivesARealConnection(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		addrs := make(chan string, 1)
		deadline := make(chan error, 1)
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if ctx.Hijacked() {
				t.Error("Hijacked before Hijack")
			}
			ctx.Hijack(func(c net.Conn) {
				addrs <- c.LocalAddr().String() + " " + c.RemoteAddr().String()
				_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
				_, err := c.Read(make([]byte, 1))
				deadline <- err
				if u, ok := c.(interface{ UnsafeConn() net.Conn }); !ok || u.UnsafeConn() == nil {
					t.Error("there is no way to the connection itself")
				}
			})
			if !ctx.Hijacked() {
				t.Error("not Hijacked after Hijack")
			}
		}})
		c := ts.Dial()
		c.Get("/")
		c.Expect(200, "")
		if got, want := servertest.Receive(t, "addresses", addrs), c.RemoteAddr().String()+" "+c.LocalAddr().String(); got != want {
			t.Errorf("addresses %q, want %q", got, want)
		}
		if err, ok := errors.AsType[net.Error](servertest.Receive(t, "deadline", deadline)); !ok || !err.Timeout() {
			t.Errorf("a deadline ends with %v", err)
		}
		c.ExpectEnd()
	})
}

func TestHijackWithoutResponse(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) != "/hijack" {
				echo(ctx)
				return
			}
			ctx.SetBodyString("not sent")
			ctx.HijackSetNoResponse(true)
			ctx.Hijack(func(c net.Conn) { _, _ = io.WriteString(c, "raw bytes\n") })
		}})
		c := ts.Dial()
		c.Send(servertest.Get("/before") + servertest.Get("/hijack"))
		// responses to earlier requests are sent first
		c.Expect(200, servertest.Echoed("GET", "/before", ""))
		c.ExpectLine("raw bytes\n")
		c.ExpectEnd()
		// even if the request asks to close the connection
		c = ts.Dial()
		c.Send(servertest.Get("/hijack", "Connection: close"))
		c.ExpectLine("raw bytes\n")
		c.ExpectEnd()
	})
}

func TestHijackIsDroppedWhereTheConnectionEnds(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		hijacked := make(chan string, 10)
		ts := start(&fasthttp.Server{MaxRequestsPerConn: 1, Handler: func(ctx *fasthttp.RequestCtx) {
			path := string(ctx.Path())
			ctx.Hijack(func(net.Conn) { hijacked <- path })
			if path == "/close" {
				ctx.SetConnectionClose()
			}
			ctx.SetBodyString("ok")
		}})
		for _, request := range []string{
			servertest.Get("/", "Connection: close"),
			servertest.Get("/close"),
			servertest.Head("GET / HTTP/1.0"),
		} {
			c := ts.Dial()
			c.Send(request)
			if resp := c.Expect(200, "ok"); !resp.Close {
				t.Errorf("%q: the response does not say that the connection ends", request)
			}
			c.ExpectEnd()
		}
		if len(hijacked) > 0 {
			t.Errorf("the handler was called for %q", <-hijacked)
		}
		// MaxRequestsPerConn does not prevent it
		for _, request := range []string{servertest.Get("/max"), servertest.Head("GET /old HTTP/1.0", "Connection: keep-alive")} {
			c := ts.Dial()
			c.Send(request)
			if resp := c.Expect(200, "ok"); resp.Close {
				t.Errorf("%q: the response says that the connection ends", request)
			}
			servertest.Receive(t, "the hijack", hijacked)
			c.ExpectEnd()
		}
	})
}

func TestHijackAtShutdown(t *testing.T) {
	t.Parallel()
	for _, closes := range []bool{false, true} {
		t.Run(fmt.Sprintf("CloseOnShutdown %v", closes), func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, start starter) {
				g := servertest.NewGate()
				hijacked := make(chan struct{})
				s := &fasthttp.Server{CloseOnShutdown: closes, Handler: func(ctx *fasthttp.RequestCtx) {
					ctx.Hijack(func(net.Conn) { close(hijacked) })
					passing(g)(ctx)
				}}
				ts := start(s)
				c := ts.Dial()
				c.Get("/")
				servertest.Receive(t, "the request", g.Entered)
				done := make(chan error, 1)
				go func() { done <- s.Shutdown() }()
				servertest.Receive(t, "return of Serve", ts.Served)
				close(g.Open)
				if resp := c.Expect(200, "through"); resp.Close != closes {
					t.Errorf("the response says close: %v", resp.Close)
				}
				if !closes {
					servertest.Receive(t, "the hijack", hijacked)
				}
				c.ExpectEnd()
				if err := servertest.Receive(t, "end of Shutdown", done); err != nil {
					t.Errorf("Shutdown: %v", err)
				}
				if !closes {
					return
				}
				select {
				case <-hijacked:
					t.Error("the connection was hijacked")
				default:
				}
			})
		})
	}
}

func TestShutdownDoesNotWaitForHijackedConnections(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &fasthttp.Server{Handler: upgrade, Concurrency: 1}
		ts := start(s)
		c := ts.Dial()
		c.Send(servertest.Get("/") + "hello\n")
		c.Next("GET")
		c.ExpectLine("you said hello\n")
		// the connection does not count as one of the server
		if a, b := s.GetCurrentConcurrency(), s.GetOpenConnectionsCount(); a != 0 || b != 0 {
			t.Errorf("%d served connections, %d open ones", a, b)
		}
		second := ts.Dial()
		second.Get("/")
		if resp := second.Next("GET"); resp.StatusCode != 101 {
			t.Errorf("status %d", resp.StatusCode)
		}
		if err := s.Shutdown(); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		c.Send("still here\n")
		c.ExpectLine("you said still here\n")
	})
}

func TestKeepHijackedConns(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		kept := make(chan net.Conn, 1)
		ts := start(&fasthttp.Server{KeepHijackedConns: true, Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Hijack(func(c net.Conn) { kept <- c })
		}})
		c := ts.Dial()
		c.Send(servertest.Get("/") + "ahead\n")
		c.Expect(200, "")
		nc := servertest.Receive(t, "the hijack", kept)
		// the connection works after the handler has returned
		servertest.Eventually(t, "no served connection", func() bool { return ts.S.GetCurrentConcurrency() == 0 })
		if line, err := bufio.NewReader(nc).ReadString('\n'); line != "ahead\n" || err != nil {
			t.Errorf("got %q, %v", line, err)
		}
		_, _ = io.WriteString(nc, "reply\n")
		c.ExpectLine("reply\n")
		_ = nc.Close()
		c.ExpectEnd()
	})
}

// seenOf returns the parts of a request and its response that a test compares.
func seenOf(ctx *fasthttp.RequestCtx) string {
	return fmt.Sprintf("%s %s %s %s %q %q -> %d %q", ctx.Method(), ctx.Path(), ctx.Host(), ctx.QueryArgs(),
		ctx.Request.Header.Peek("X"), ctx.PostBody(), ctx.Response.StatusCode(), ctx.Response.Body())
}

const seenBefore = `POST /p a q=1 "y" "abc" -> 202 "taken"`

// The server closes user values after the HijackHandler has returned. Until then the
// request is unchanged.
func TestHijackHandlerHasTheRequest(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, without := range []bool{false, true} {
			hijacked, closed := make(chan string, 1), make(chan string, 1)
			goOn := make(chan struct{})
			ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				if ctx.IsGet() {
					return
				}
				ctx.SetUserValue("key", servertest.CloserFunc(func() { closed <- seenOf(ctx) }))
				ctx.SetStatusCode(202)
				ctx.SetBodyString("taken")
				ctx.HijackSetNoResponse(without)
				remote, id := ctx.RemoteAddr().String(), ctx.ID()
				ctx.Hijack(func(c net.Conn) {
					<-goOn
					if ctx.UserValue("key") == nil || ctx.RemoteAddr().String() != remote || ctx.ID() != id || ctx.Conn().RemoteAddr().String() != remote {
						t.Errorf("hijacked: %v %v %v %v", ctx.UserValue("key"), ctx.RemoteAddr(), ctx.ID(), ctx.Conn().RemoteAddr())
					}
					_, _ = io.WriteString(c, "hijacked\n")
					hijacked <- seenOf(ctx)
				})
			}})
			c := ts.Dial()
			c.Send(servertest.Head("POST /p?q=1 HTTP/1.1", "Host: a", "X: y", "Content-Length: 3") + "abc")
			if !without {
				c.Expect(202, "taken")
			}
			// other requests get other contexts and connections
			other := ts.Dial()
			servertest.Eventually(t, "hijack", func() bool { return ts.S.GetOpenConnectionsCount() <= 1 })
			other.Send(servertest.Head("GET /other HTTP/1.1", "Host: b"))
			other.Expect(200, "")
			select {
			case seen := <-closed:
				t.Errorf("closed while the HijackHandler runs: %s", seen)
			default:
			}
			close(goOn)
			if seen := servertest.Receive(t, "the HijackHandler", hijacked); seen != seenBefore {
				t.Errorf("the HijackHandler has %s", seen)
			}
			if seen := servertest.Receive(t, "the end of user values", closed); seen != seenBefore {
				t.Errorf("a user value has %s", seen)
			}
			c.ExpectLine("hijacked\n")
			c.ExpectEnd()
		}
	})
}

// A program that calls ServeConn continues with other connections while one is hijacked.
func TestServeConnDoesNotWaitForAHijackHandler(t *testing.T) {
	goOn := make(chan struct{})
	s := &fasthttp.Server{Logger: &servertest.Log{}, Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Hijack(func(c net.Conn) {
			<-goOn
			_, _ = io.WriteString(c, "hijacked\n")
		})
	}}
	pipe := fasthttputil.NewPipeConns()
	served := make(chan error, 1)
	go func() { served <- s.ServeConn(pipe.Conn1()) }()
	c := &servertest.Conn{Conn: pipe.Conn2(), T: t, R: bufio.NewReader(pipe.Conn2())}
	c.Get("/")
	c.Expect(200, "")
	if err := servertest.Receive(t, "return of ServeConn", served); err != nil {
		t.Errorf("ServeConn: %v", err)
	}
	if n := s.GetCurrentConcurrency(); n != 0 {
		t.Errorf("%d connections are being served", n)
	}
	close(goOn)
	c.ExpectLine("hijacked\n")
	c.ExpectEnd()
}

func TestHijackReadsAheadPieceByPiece(t *testing.T) {
	var got []string
	ended := make(chan struct{})
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetUserValue("end", servertest.CloserFunc(func() { close(ended) }))
		ctx.Hijack(func(c net.Conn) {
			b := make([]byte, 3)
			for {
				n, err := c.Read(b)
				if err != nil {
					return
				}
				got = append(got, string(b[:n]))
			}
		})
	}}
	c := &servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Get("/") + "abcdefg"), []byte("hi")}}
	if err := s.ServeConn(c); err != nil {
		t.Fatal(err)
	}
	servertest.Receive(t, "end of the HijackHandler", ended)
	if strings.Join(got, " ") != "abc def g hi" {
		t.Errorf("got %q", got)
	}
	if c.Closed != 1 {
		t.Errorf("closed %d times", c.Closed)
	}
}

func TestHijackBehindARequestStream(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/read" {
				_, _ = io.Copy(io.Discard, ctx.RequestBodyStream())
			}
			upgrade(ctx)
		}})
		for _, target := range []string{"/read", "/unread"} {
			c := ts.Dial()
			c.Send(servertest.Post(target, "the body") + "hello\n")
			if resp := c.Next("POST"); resp.StatusCode != 101 {
				t.Errorf("status %d", resp.StatusCode)
			}
			c.ExpectLine("you said hello\n")
		}
		// a body too large to drain ends the connection
		c := ts.Dial()
		c.Send(servertest.Head("POST /unread HTTP/1.1", "Host: a", "Content-Length: 1000000") + "x")
		if resp := c.Next("POST"); resp.StatusCode != 101 {
			t.Errorf("status %d", resp.StatusCode)
		}
		c.ExpectEnd()
	})
}

func TestHijackOfConnectIsATunnel(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Hijack(func(c net.Conn) { _, _ = io.Copy(c, io.LimitReader(c, 12)) })
		}})
		c := ts.Dial()
		c.Send(servertest.Head("CONNECT a.test:443 HTTP/1.1", "Host: a.test:443") + "ahead, ")
		resp, err := http.ReadResponse(c.R, &http.Request{Method: "CONNECT"})
		if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Length") != "" {
			t.Fatalf("got %+v, %v", resp, err)
		}
		c.Send("later")
		if b, err := io.ReadAll(c.R); string(b) != "ahead, later" || err != nil {
			t.Errorf("got %q, %v", b, err)
		}
	})
}

// After a body that was cut off, the bytes of another protocol would be taken for content.
func TestHijackIsDroppedAfterABodyThatWasCutOff(t *testing.T) {
	t.Parallel()
	failing := func(fail <-chan struct{}) func(w *bufio.Writer) {
		return func(w *bufio.Writer) {
			_, _ = w.WriteString("begun")
			_ = w.Flush()
			<-fail
			panic(http.ErrAbortHandler)
		}
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		fail := make(chan struct{}, 1)
		push, made := pushes(func(*fasthttp.RequestCtx, *pushed) {})
		ts := start(&fasthttp.Server{Logger: noLog{}, Handler: func(ctx *fasthttp.RequestCtx) {
			if len(ctx.Path()) == 1 {
				push(ctx)
			} else {
				ctx.SetBodyStreamWriter(failing(fail))
			}
			ctx.Hijack(func(c net.Conn) {
				t.Error("the handler was called")
				_ = c.Close()
			})
		}})
		for _, path := range []string{"/stream", "/"} {
			c := ts.Dial()
			openHead(t, c, servertest.Get(path))
			if path == "/" {
				p := beginning(t, made)
				servertest.Must(t, p.push.Send([]byte("begun")))
				wantText(t, c.R, "5\r\nbegun\r\n")
				p.push.Abort()
				p.wantEnd(t, func(error) bool { return true })
			} else {
				wantText(t, c.R, "5\r\nbegun\r\n")
				fail <- struct{}{}
			}
			if rest, _ := io.ReadAll(c.R); len(rest) > 0 {
				t.Errorf("%s: got %q after the part of a body", path, rest)
			}
		}
	})
}
