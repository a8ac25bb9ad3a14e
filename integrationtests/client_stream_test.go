package integrationtests

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// stream makes a call, and leaves the body of the response to be read from the
// connection.
func stream(t testing.TB, hc *fasthttp.HostClient, url string) (*fasthttp.Response, io.ReadCloser) {
	t.Helper()
	resp := responseFor(t)
	resp.StreamBody = true
	servertest.Must(t, hc.Do(requestTo(t, fasthttp.MethodGet, url), resp))
	body, ok := resp.BodyStream().(io.ReadCloser)
	if !ok {
		t.Fatalf("the body is %T, no stream", resp.BodyStream())
	}
	return resp, body
}

func TestClientStreamsBodies(t *testing.T) {
	content := strings.Repeat("0123456789", 20_000)
	for name, response := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + content,
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n30d40\r\n" + content + "\r\n0\r\nX-End: yes\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := servertest.Answering(t, response)
			hc := hostFor(p)
			hc.MaxResponseBodySize = 10 // does not limit streams
			for range 3 {
				resp, body := stream(t, hc, p.URL("/"))
				got, err := io.ReadAll(body)
				if err != nil || string(got) != content {
					t.Fatalf("read %d bytes, %v", len(got), err)
				}
				// the connection is idle at the end of the body, whether or not the
				// stream was closed
				if hc.IdleConnsCount() != 1 {
					t.Error("the connection is not idle after the last byte")
				}
				if _, err := body.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("after the end: %v", err)
				}
				if name == "chunked" && string(resp.Header.Peek("X-End")) != "yes" {
					t.Error("the trailer is missing")
				}
				servertest.Must(t, body.Close())
			}
			p.Counts(1, 3)
		})
	}
}

// Do returns when the head of the response has arrived.
func TestClientStreamBeginsBeforeItsEnd(t *testing.T) {
	gate := make(chan struct{})
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Request()
		c.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
		select {
		case <-gate:
		case <-c.Peer.Ended():
			return
		}
		c.Send("67890")
		c.UntilClosed()
	})
	hc := hostFor(p)
	hc.StreamResponseBody = true
	resp := responseFor(t)
	servertest.Must(t, hc.Do(requestTo(t, fasthttp.MethodGet, p.URL("/")), resp))
	var b [5]byte
	if _, err := io.ReadFull(resp.BodyStream(), b[:]); err != nil || string(b[:]) != "12345" {
		t.Fatalf("got %q, %v", b, err)
	}
	close(gate)
	if rest, err := io.ReadAll(resp.BodyStream()); err != nil || string(rest) != "67890" {
		t.Errorf("got %q, %v", rest, err)
	}
}

// Close before the end of a stream closes the connection, unless the rest of the
// body has arrived. It never waits for the server.
func TestClientStreamClosedEarly(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		response string
		kept     bool
		err      error
	}{
		"endless":              {"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\nsome", false, nil},
		"chunked":              {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n", false, nil},
		"until close":          {"HTTP/1.1 200 OK\r\n\r\nsome", false, nil},
		"all of it is there":   {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsome", true, nil},
		"closed for a reason":  {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsome", false, errors.New("bad")},
		"closed by the server": {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nsome", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := servertest.Answering(t, tt.response)
			hc := hostFor(p)
			_, body := stream(t, hc, p.URL("/"))
			servertest.Soon(t, "closing", func() { servertest.Must(t, body.(fasthttp.ReadCloserWithError).CloseWithError(tt.err)) })
			if kept := hc.IdleConnsCount() == 1; kept != tt.kept {
				t.Errorf("the connection was kept: %v, want %v", kept, tt.kept)
			}
			if n := hc.ConnsCount() - hc.IdleConnsCount(); n != 0 {
				t.Errorf("%d connections are still in use", n)
			}
			if _, err := body.Read(make([]byte, 1)); err == nil || err == io.EOF {
				t.Errorf("reading after Close: %v", err)
			}
			servertest.Must(t, body.Close())
		})
	}
}

// Known failure 42: a truncated stream ends with an error other than io.EOF.
func TestClientStreamCutOff(t *testing.T) {
	for _, response := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n12345",
	} {
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			c.Request()
			c.Send(response)
		})
		hc := hostFor(p)
		_, body := stream(t, hc, p.URL("/"))
		if got, err := io.ReadAll(body); err != io.ErrUnexpectedEOF || string(got) != "12345" {
			t.Errorf("%q: read %q, %v", response, got, err)
		}
		if hc.ConnsCount() != 0 {
			t.Error("the connection was kept")
		}
	}
}

// Known failure 42: a proxy forwards a truncated body as a truncated one.
func TestProxyPassesTruncatedBodyOn(t *testing.T) {
	t.Parallel()
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Request()
		c.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n")
	})
	hc := hostFor(p)
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			req := requestTo(t, fasthttp.MethodGet, p.URL("/"))
			ctx.Response.StreamBody = true
			if err := hc.Do(req, &ctx.Response); err != nil {
				ctx.Error(err.Error(), fasthttp.StatusBadGateway)
			}
		}})
		c := ts.Dial()
		c.Send("GET / HTTP/1.1\r\nHost: proxy\r\n\r\n")
		got, _ := io.ReadAll(c)
		if !bytes.Contains(got, []byte("12345")) || bytes.Contains(got, []byte("0\r\n\r\n")) {
			t.Errorf("the client of the proxy got %q", got)
		}
	})
}

func TestClientStreamDeadline(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(hc *fasthttp.HostClient, req *fasthttp.Request){
		"ReadTimeout": func(hc *fasthttp.HostClient, _ *fasthttp.Request) { hc.ReadTimeout = time.Minute },
		"SetTimeout":  func(_ *fasthttp.HostClient, req *fasthttp.Request) { req.SetTimeout(time.Minute) },
	} {
		inBubble(t, func(t *testing.T) {
			hc := clientInBubble(t, func(c *servertest.PeerConn) {
				c.Request()
				c.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
				c.UntilClosed()
			})
			hc.StreamResponseBody = true
			req, resp := requestTo(t, fasthttp.MethodGet, "http://peer/"), responseFor(t)
			prepare(hc, req)
			begun := time.Now()
			servertest.Must(t, hc.Do(req, resp))
			got, err := io.ReadAll(resp.BodyStream())
			if took := time.Since(begun); err != error(fasthttp.ErrTimeout) || took != time.Minute {
				t.Errorf("%s: read %q, %v after %v, want ErrTimeout after a minute", name, got, err, took)
			}
		})
	}
}

// A goroutine may close a stream while another one reads from it.
func TestClientStreamClosedWhileRead(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for c.Request() != nil {
			c.Send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12345")
			if c.Number%2 == 0 {
				c.Send(strings.Repeat("x", 95))
			}
		}
	})
	hc := hostFor(p)
	for range 200 {
		_, body := stream(t, hc, p.URL("/"))
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = io.Copy(io.Discard, body) })
		wg.Go(func() { _ = body.Close() })
		wg.Go(func() { _ = body.Close() })
		servertest.Soon(t, "reading", wg.Wait)
	}
	if n := hc.ConnsCount() - hc.IdleConnsCount(); n != 0 {
		t.Errorf("%d connections are still in use", n)
	}
}

// If a response has an open stream, the next call with this response closes it and
// can use its connection.
func TestClientClosesStreamOfLastResponse(t *testing.T) {
	p := servertest.Answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("x", 100000))
	hc := hostFor(p)
	hc.MaxConns = 1
	hc.StreamResponseBody = true
	req, resp := requestTo(t, fasthttp.MethodGet, p.URL("/")), responseFor(t)
	for range 3 {
		servertest.Soon(t, "the call", func() { servertest.Must(t, hc.Do(req, resp)) })
	}
}

// Get reads the whole body, even if StreamResponseBody is set, and obeys the limit.
func TestClientGetDoesNotStream(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	hc := hostFor(p)
	hc.StreamResponseBody = true
	hc.MaxResponseBodySize = 2
	if _, body, err := hc.Get(nil, p.URL("/")); err != nil || string(body) != "ok" {
		t.Errorf("got %q, %v", body, err)
	}
	hc.CloseIdleConnections()
	hc = hostFor(p)
	hc.StreamResponseBody = true
	hc.MaxResponseBodySize = 1
	if _, _, err := hc.Get(nil, p.URL("/")); err != fasthttp.ErrBodyTooLarge {
		t.Errorf("got %v, want ErrBodyTooLarge", err)
	}
}

// Get resets its settings before it releases a request to the pool, even after a redirect.
func TestClientStreamsAfterGetWasRedirected(t *testing.T) {
	t.Parallel()
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			if req.URL.Path == "/from" {
				c.Send("HTTP/1.1 302 Found\r\nLocation: /to\r\nContent-Length: 0\r\n\r\n")
				continue
			}
			c.Send(servertest.OK)
		}
	})
	hc := hostFor(p)
	hc.StreamResponseBody = true
	// with the race detector, a sync.Pool drops some values
	for range 20 {
		if _, body, err := hc.Get(nil, p.URL("/from")); err != nil || string(body) != "ok" {
			t.Fatalf("got %q, %v", body, err)
		}
		for range 2 {
			req, resp := requestTo(t, fasthttp.MethodGet, p.URL("/to")), responseFor(t)
			servertest.Must(t, hc.Do(req, resp))
			if !resp.IsBodyStream() {
				t.Fatal("the body is no stream")
			}
		}
	}
}

// After 101 the stream is the connection.
func TestClientUpgrade(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Request()
		c.Send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nhello ")
		line, _ := c.R.ReadString('\n')
		c.Send(line)
	})
	hc := hostFor(p)
	resp, body := stream(t, hc, p.URL("/"))
	if resp.StatusCode() != fasthttp.StatusSwitchingProtocols {
		t.Fatalf("status %d", resp.StatusCode())
	}
	if _, err := io.WriteString(body.(io.Writer), "world\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(body).ReadString('\n'); err != nil || line != "hello world\n" {
		t.Errorf("got %q, %v", line, err)
	}
	servertest.Must(t, body.Close())
	if n := hc.ConnsCount(); n != 0 {
		t.Errorf("%d connections left", n)
	}
	_, plain := stream(t, hostFor(servertest.Answering(t, servertest.OK)), p.URL("/"))
	if _, err := plain.(io.Writer).Write([]byte("x")); err == nil {
		t.Error("a body could be written to")
	}
}

// A stream returns the pieces of a slow body as they arrive.
func TestClientStreamOfSlowServer(t *testing.T) {
	read := make(chan struct{})
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Request()
		c.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for range 5 {
			c.Send("3\r\nabc\r\n")
			select {
			case <-read:
			case <-c.Peer.Ended():
				return
			}
		}
		c.Send("0\r\n\r\n")
		c.UntilClosed()
	})
	_, body := stream(t, hostFor(p), p.URL("/"))
	for range 5 {
		var b [3]byte
		if _, err := io.ReadFull(body, b[:]); err != nil || string(b[:]) != "abc" {
			t.Fatalf("got %q, %v", b, err)
		}
		servertest.Send(t, "a piece that was read", read, struct{}{})
	}
	if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
		t.Errorf("got %q, %v after the last piece", rest, err)
	}
}

// The timeouts of the request do not limit a connection that was switched to another
// protocol.
func TestClientUpgradeOutlivesTimeouts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hc := clientInBubble(t, func(c *servertest.PeerConn) {
			c.Request()
			c.Send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
			_, _ = io.Copy(c.Conn, c.R)
		})
		hc.WriteTimeout, hc.ReadTimeout = time.Minute, time.Minute
		_, body := stream(t, hc, "http://peer/")
		defer body.Close()
		time.Sleep(time.Hour) // bubble: the argument of inBubble
		if _, err := io.WriteString(body.(io.Writer), "ping"); err != nil {
			t.Fatal(err)
		}
		var b [4]byte
		if _, err := io.ReadFull(body, b[:]); err != nil || string(b[:]) != "ping" {
			t.Errorf("got %q, %v", b, err)
		}
	})
}
