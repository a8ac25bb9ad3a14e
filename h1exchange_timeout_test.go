package fasthttp

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// TestHandlerThatTimedOutKeepsItsContext has handlers return after TimeoutError
// while other goroutines still use the context. The race detector reports if the
// server touches it.
func TestHandlerThatTimedOutKeepsItsContext(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		var late sync.WaitGroup
		ended := make(chan struct{})
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/quick" {
				ctx.SetBodyString("quick")
				return
			}
			n := string(ctx.QueryArgs().Peek("n"))
			conn, local := ctx.Conn(), ctx.LocalAddr().String()
			timedOut := make(chan struct{})
			late.Go(func() {
				<-timedOut
				for range 100 {
					ctx.SetBodyString("too late for that")
					ctx.Response.Header.Set("X-Late", "yes")
					ctx.SetUserValue("x", "y")
				}
				if err := ctx.EarlyHints(); err != nil {
					t.Errorf("EarlyHints: %v", err)
				}
				if err := ctx.SetReadDeadline(time.Time{}); err != ErrDeadlineUpdatesDisabled {
					t.Errorf("SetReadDeadline: %v", err)
				}
				if err := ctx.SetWriteDeadline(time.Time{}); err != ErrDeadlineUpdatesDisabled {
					t.Errorf("SetWriteDeadline: %v", err)
				}
				// the context keeps its request after the connection has served
				// others, or has ended
				<-ended
				body := string(ctx.PostBody())
				if string(ctx.Path()) != "/late" || body != strings.Repeat(n, 100) {
					t.Errorf("late: %q %q", ctx.Path(), body)
				}
				if ctx.Conn() != conn || ctx.LocalAddr().String() != local || ctx.ConnRequestNum() == 0 {
					t.Error("late: the connection is another one")
				}
				_ = ctx.String()
			})
			ctx.SetBodyString("in time")
			ctx.TimeoutError("too slow " + n)
			ctx.SetStatusCode(200)
			ctx.SetBodyString("changed after the timeout")
			close(timedOut)
		}})
		c := ts.Dial()
		for i := range 5 {
			c.Send(servertest.Post(fmt.Sprintf("/late?n=%d", i), strings.Repeat(fmt.Sprint(i), 100)))
			if resp := c.Expect(408, fmt.Sprintf("too slow %d", i)); resp.Close || resp.Header.Get("X-Late") != "" {
				t.Errorf("the response is %v", resp.Header)
			}
			c.Get("/quick")
			c.Expect(200, "quick")
		}
		_ = c.Close()
		servertest.Eventually(t, "end of the connection", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
		other := ts.Dial()
		other.Get("/quick")
		other.Expect(200, "quick")
		close(ended)
		servertest.Soon(t, "the end of the late goroutines", late.Wait)
	})
}

func TestTimeoutErrorVariants(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			ctx.SetBodyString("dropped")
			if ctx.LastTimeoutErrorResponse() != nil {
				t.Error("there is a timeout response before any timeout")
			}
			switch string(ctx.Path()) {
			case "/code":
				ctx.TimeoutErrorWithCode("later", 503)
			case "/response":
				resp := AcquireResponse()
				resp.SetStatusCode(504)
				resp.Header.Set("X-Own", "yes")
				resp.Header.SetContentType("text/own")
				resp.SetBodyString("own")
				ctx.TimeoutErrorWithResponse(resp)
				// TimeoutErrorWithResponse has made a copy
				resp.SetBodyString("changed")
				ReleaseResponse(resp)
			case "/twice":
				ctx.TimeoutError("first")
				ctx.TimeoutError("second")
			case "/close":
				resp := &Response{}
				resp.SetConnectionClose()
				ctx.TimeoutErrorWithResponse(resp)
			case "/panic":
				ctx.TimeoutError("before the panic")
				panic("after the timeout")
			}
			if r := ctx.LastTimeoutErrorResponse(); r == nil {
				t.Error("there is no timeout response")
			}
		}})
		c := ts.Dial()
		c.Get("/code")
		c.Expect(503, "later")
		c.Get("/response")
		if resp := c.Expect(504, "own"); resp.Header.Get("X-Own") != "yes" || resp.Header.Get("Content-Type") != "text/own" {
			t.Errorf("the fields are %v", resp.Header)
		}
		c.Get("/twice")
		c.Expect(408, "second")
		c.Get("/panic")
		c.Expect(408, "before the panic")
		c.Send(servertest.Head("HEAD /code HTTP/1.1", "Host: a"))
		if resp := c.Next("HEAD"); resp.StatusCode != 503 || resp.ContentLength != 5 {
			t.Errorf("HEAD got %d with length %d", resp.StatusCode, resp.ContentLength)
		}
		c.Get("/close")
		if resp := c.Expect(200, ""); !resp.Close {
			t.Error("Connection: close was lost")
		}
		c.ExpectEnd()
	})
}

// TestHandlerThatTimedOutReadsItsBodyOn has handlers time out while another
// goroutine reads the body from the connection.
func TestHandlerThatTimedOutReadsItsBodyOn(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		var late sync.WaitGroup
		ts := start(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/before" {
				ctx.SetBodyString("before")
				return
			}
			reading := make(chan struct{})
			late.Go(func() {
				body := ctx.RequestBodyStream()
				_, _ = io.ReadFull(body, make([]byte, 3))
				close(reading)
				if _, err := io.Copy(io.Discard, body); err == nil {
					t.Error("a body that was cut off ends in order")
				}
			})
			<-reading
			ctx.TimeoutError("too slow")
		}})
		for range 5 {
			c := ts.Dial()
			// the end of the connection must not lose the first response
			c.Send(servertest.Get("/before") + servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 1000000") + "abcdef")
			c.Expect(200, "before")
			if resp := c.Expect(408, "too slow"); !resp.Close {
				t.Error("the connection is kept though a goroutine reads from it")
			}
			_ = c.Close()
		}
		servertest.Soon(t, "the end of the late goroutines", late.Wait)
	})
}

// TestTimeoutInAHook has hooks time out that run before the handler. The server must
// not reuse their context for another request.
func TestTimeoutInAHook(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		timeOut := func(ctx *RequestCtx) { ctx.TimeoutErrorWithCode("busy", 503) }
		s := &Server{
			Handler:       echo,
			ErrorHandler:  func(ctx *RequestCtx, _ error) { timeOut(ctx) },
			ExpectHandler: func(ctx *RequestCtx) int { timeOut(ctx); return 403 },
		}
		ts := start(s)
		for range 10 {
			c := ts.Dial()
			c.Send(servertest.Get("/", "Content-Length: x"))
			if resp := c.Expect(503, "busy"); !resp.Close {
				t.Error("the connection is kept")
			}
			c = ts.Dial()
			c.Send(servertest.Post("/", "abc", "Expect: 100-continue"))
			c.Expect(503, "busy")
			c = ts.Dial()
			c.Get("/")
			c.Expect(200, servertest.Echoed("GET", "/", ""))
		}
	})
}

func TestHandlerThatPanics(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		closed := make(chan struct{}, 10)
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			ctx.SetUserValue("x", servertest.CloserFunc(func() { closed <- struct{}{} }))
			switch string(ctx.Path()) {
			case "/panic":
				ctx.Response.Header.Set("X-Half", "done")
				ctx.SetBodyString("half done")
				panic(fmt.Errorf("a mistake"))
			case "/abort":
				ctx.SetBodyString("half done")
				panic(http.ErrAbortHandler)
			case "/runtime":
				var none []int
				ctx.SetStatusCode(none[len(ctx.Path())])
			default:
				ctx.SetBodyString("ok")
			}
		}})
		for target, said := range map[string]string{"/panic": "a mistake", "/runtime": "index out of range"} {
			c := ts.Dial()
			c.Send(servertest.Get("/before") + servertest.Post(target, "unread") + servertest.Smuggled)
			c.Expect(200, "ok")
			servertest.Receive(t, "close of a user value", closed)
			if resp := c.Expect(500, "Internal Server Error"); !resp.Close || resp.Header.Get("X-Half") != "" {
				t.Errorf("the response is %v", resp.Header)
			}
			c.ExpectCut()
			servertest.Receive(t, "close of a user value", closed)
			line := ts.Log.WaitFor(t, said)
			if !strings.Contains(line, "timeout_test.go") || !strings.Contains(line, c.Conn.LocalAddr().String()) {
				t.Errorf("the log has no stack or no request: %q", line)
			}
		}
		logged := len(ts.Log.All())
		c := ts.Dial()
		c.Send(servertest.Get("/before") + servertest.Get("/abort") + servertest.Smuggled)
		c.Expect(200, "ok")
		c.ExpectCut()
		servertest.Receive(t, "close of a user value", closed)
		servertest.Receive(t, "close of a user value", closed)
		if n := len(ts.Log.All()); n != logged {
			t.Errorf("an abort was logged: %q", ts.Log.All()[logged:])
		}
		c = ts.Dial()
		c.Send(servertest.Head("HEAD /panic HTTP/1.1", "Host: a"))
		if resp := c.Next("HEAD"); resp.StatusCode != 500 {
			t.Errorf("HEAD got %d", resp.StatusCode)
		}
		c.ExpectCut()
	})
}

func TestHandlerThatPanicsInTheMiddleOfABody(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			_, _ = io.ReadFull(ctx.RequestBodyStream(), make([]byte, 3))
			panic("enough")
		}})
		c := ts.Dial()
		c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 100000") + strings.Repeat("x", 50_000))
		c.Expect(500, "Internal Server Error")
		c.ExpectEnd()
	})
}

// TestContextThatTimedOutIsAskedForItsEnd has goroutines ask a context for Done long
// after the response was sent. The race detector reports if they touch the
// connection, which serves later requests.
func TestContextThatTimedOutIsAskedForItsEnd(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		answered := make(chan struct{})
		var late sync.WaitGroup
		ts := start(&Server{CancelOnDisconnect: true, Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) != "/late" {
				return
			}
			late.Go(func() {
				<-answered
				for range 20 {
					derived, cancel := context.WithCancel(ctx)
					if ctx.Err() == nil || derived.Err() == nil {
						t.Error("the context goes on though the client has another answer")
					}
					if ctx.AfterFunc(func() {})() {
						t.Error("a function waits for a context that has ended")
					}
					ctx.WatchDisconnect()
					ctx.EnableFullDuplex()
					cancel()
				}
			})
			ctx.TimeoutError("late")
		}})
		c := ts.Dial()
		for range 3 {
			c.Get("/late")
			c.Expect(408, "late")
		}
		close(answered)
		for range 50 {
			c.Get("/")
			c.Expect(200, "")
		}
		servertest.Soon(t, "the end of the late goroutines", late.Wait)
		if n := ts.S.watches.Len(); n > 0 {
			t.Errorf("%d requests are still watched", n)
		}
	})
}

// TestConnThatIsKeptIsNoOtherConnection has a goroutine use a connection that has
// ended, after the system has given its descriptor to another one.
func TestConnThatIsKeptIsNoOtherConnection(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		kept := make(chan net.Conn, 1)
		left := make(chan *RequestCtx, 1)
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/keep":
				kept <- ctx.Conn()
			case "/late":
				left <- ctx
				ctx.TimeoutError("late")
			}
		}})
		c := ts.Dial()
		local, remote := c.LocalAddr().String(), c.RemoteAddr().String()
		c.Get("/late")
		c.Expect(408, "late")
		ctx := servertest.Receive(t, "the context", left)
		_ = c.Close()
		c = ts.Dial()
		c.Get("/keep")
		c.Expect(200, "")
		conn := servertest.Receive(t, "the connection", kept)
		if ts.Engine.Sockets {
			// while it is open, it waits like any other connection
			_ = conn.SetWriteDeadline(time.Now().Add(servertest.Patience))
			if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
				t.Errorf("Write: %v", err)
			}
			c.Expect(200, "")
		}
		_ = c.Close()
		servertest.Eventually(t, "the end of both", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })

		others := []*servertest.Conn{ts.Dial(), ts.Dial()}
		for _, other := range others {
			other.Get("/")
			other.Expect(200, "")
		}
		if n, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"); n > 0 || err == nil {
			t.Errorf("%d bytes were written, %v", n, err)
		}
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("%d bytes were read, %v", n, err)
		}
		_ = conn.SetDeadline(time.Unix(1, 0))
		_ = conn.Close()
		if ts.Engine.Sockets {
			if got := ctx.RemoteAddr().String(); got != local {
				t.Errorf("the address of the client is %s, want %s", got, local)
			}
			if got := ctx.LocalAddr().String(); got != remote {
				t.Errorf("the address of the server is %s, want %s", got, remote)
			}
		}
		for _, other := range others {
			other.Get("/")
			other.Expect(200, "")
		}
	})
}

// A 2xx response to CONNECT has neither content nor framing, also if a TimeoutError method has made
// it.
func TestTimeoutResponseToConnectHasNoContent(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		c := start(&Server{Handler: func(ctx *RequestCtx) { ctx.TimeoutErrorWithCode("late", 200) }}).Dial()
		c.Send("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n")
		all, err := io.ReadAll(c.R)
		servertest.Must(t, err)
		if got := string(all); strings.Contains(got, "Content-Length") || !strings.HasSuffix(got, "\r\n\r\n") {
			t.Errorf("got %q", got)
		}
	})
}
