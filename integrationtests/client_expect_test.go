package integrationtests

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// expecting returns a request with Expect: 100-continue, and a client that waits for
// the response without a limit.
func expecting(t testing.TB, p *servertest.Peer, method string) (*fasthttp.HostClient, *fasthttp.Request) {
	hc := hostFor(p)
	hc.ExpectContinueTimeout = time.Hour
	req := requestTo(t, method, p.URL("/"))
	req.Header.Set(fasthttp.HeaderExpect, "100-Continue")
	return hc, req
}

// contents are the forms that the content of a request has, and the bytes that the
// client sends for each.
var contents = map[string]struct {
	set  func(req *fasthttp.Request)
	wire string
}{
	"bytes":       {func(req *fasthttp.Request) { req.SetBodyString("body") }, "body"},
	"many bytes":  {func(req *fasthttp.Request) { req.SetBodyString(manyBytes) }, manyBytes},
	"form":        {func(req *fasthttp.Request) { req.PostArgs().Set("b", "ody") }, "b=ody"},
	"stream":      {func(req *fasthttp.Request) { req.SetBodyStream(strings.NewReader("body"), 4) }, "body"},
	"long stream": {func(req *fasthttp.Request) { req.SetBodyStream(strings.NewReader(manyBytes), len(manyBytes)) }, manyBytes},
	"chunks":      {func(req *fasthttp.Request) { req.SetBodyStream(strings.NewReader("body"), -1) }, "4\r\nbody\r\n0\r\n\r\n"},
}

var manyBytes = strings.Repeat("0123456789", 20_000)

// If a server asks for the content, the client sends it and keeps the connection.
func TestClientSendsContentWhenTheServerAsksForIt(t *testing.T) {
	for name, content := range contents {
		t.Run(name, func(t *testing.T) {
			p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
				for c.Head() {
					if c.R.Buffered() > 0 {
						t.Errorf("%d bytes came with the head", c.R.Buffered())
					}
					c.Send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
					c.Send("HTTP/1.1 100 Continue\r\n\r\n")
					c.Content(content.wire)
					c.Send(servertest.OK)
				}
			})
			hc, req := expecting(t, p, fasthttp.MethodPost)
			resp := responseFor(t)
			for range 3 {
				content.set(req)
				servertest.Must(t, hc.Do(req, resp))
				if resp.StatusCode() != 200 || string(resp.Body()) != "ok" {
					t.Errorf("got %d %q", resp.StatusCode(), resp.Body())
				}
			}
			p.Counts(1, 3)
		})
	}
}

// If a server sends a final response at once, the client sends no content. It does
// not reuse the connection, because the server would take the next request for the
// content.
func TestClientKeepsContentThatTheServerDoesNotWant(t *testing.T) {
	t.Parallel()
	for name, content := range contents {
		for _, response := range []string{
			"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno",
			"HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
			"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno",
		} {
			p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
				if !c.Head() {
					return
				}
				c.Send(response)
				if rest, _ := io.ReadAll(c.R); len(rest) > 0 {
					t.Errorf("%s: %d bytes of content came", name, len(rest))
				}
			})
			hc, req := expecting(t, p, fasthttp.MethodPost)
			resp := responseFor(t)
			for range 2 {
				content.set(req)
				servertest.Must(t, hc.Do(req, resp))
				if string(resp.Body()) != "no" {
					t.Errorf("%s: got %d %q", name, resp.StatusCode(), resp.Body())
				}
			}
			// the client has not read the stream
			if req.IsBodyStream() {
				if rest, err := io.ReadAll(req.BodyStream()); err != nil || !strings.Contains(content.wire, string(rest)) || len(rest) < 4 {
					t.Errorf("%s: %d bytes of the stream are left, %v", name, len(rest), err)
				}
			}
			resp.StreamBody = true
			content.set(req)
			servertest.Must(t, hc.Do(req, resp))
			if body, err := io.ReadAll(resp.BodyStream()); err != nil || string(body) != "no" {
				t.Errorf("%s: the stream has %q, %v", name, body, err)
			}
			servertest.Must(t, resp.CloseBodyStream())
			p.Counts(3, 3)
		}
	}
}

// If a server ignores the expectation, the client sends the content after a while.
// It ignores a 100 that arrives later.
func TestClientDoesNotWaitForeverToSendContent(t *testing.T) {
	t.Parallel()
	cert, roots := servertest.CertificateFor(t, nil, net.IPv4(127, 0, 0, 1))
	for _, secure := range []bool{false, true} {
		for name, content := range contents {
			p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
				if secure {
					c.Conn = tls.Server(c.Conn, &tls.Config{Certificates: []tls.Certificate{cert}})
					c.R.Reset(c.Conn)
				}
				for c.Head() {
					c.Content(content.wire)
					c.Send("HTTP/1.1 100 Continue\r\n\r\n" + servertest.OK)
				}
			})
			hc, req := expecting(t, p, fasthttp.MethodPost)
			hc.ExpectContinueTimeout = time.Millisecond
			hc.IsTLS, hc.TLSConfig = secure, &tls.Config{RootCAs: roots}
			if secure {
				req.SetRequestURI("https://" + p.Addr() + "/")
			}
			for range 2 {
				content.set(req)
				resp := responseFor(t)
				servertest.Must(t, hc.Do(req, resp))
				if string(resp.Body()) != "ok" {
					t.Errorf("%s: got %d %q", name, resp.StatusCode(), resp.Body())
				}
			}
			p.Counts(1, 2)
		}
	}
}

// The client does not wait if the request has no content.
func TestClientDoesNotWaitWithoutContent(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			c.Send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + (c.Body + "....")[:4])
		}
	})
	hc, req := expecting(t, p, fasthttp.MethodPost)
	resp := responseFor(t)
	servertest.Must(t, hc.Do(req, resp))
	req.Header.SetProtocol("HTTP/1.0")
	req.SetBodyString("body")
	servertest.Must(t, hc.Do(req, resp))
	if string(resp.Body()) != "body" {
		t.Errorf("got %q", resp.Body())
	}
	p.Counts(1, 2)
}

// Whatever ends a call also ends its wait for 100 Continue.
func TestClientWaitForContinueEnds(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Head()
		c.UntilClosed()
	})
	hc, req := expecting(t, p, fasthttp.MethodPut)
	req.SetBodyString("body")
	if err := hc.DoTimeout(req, responseFor(t), 5*time.Millisecond); err != error(fasthttp.ErrTimeout) {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	before := p.Requests.Load()
	go func() {
		servertest.Eventually(t, "a head", func() bool { return p.Requests.Load() > before })
		cancel()
	}()
	if err := hc.DoContext(ctx, req, responseFor(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// If the connection ends before a response, the client acts as for any request: it
// repeats idempotent ones.
func TestClientWhoseExpectationIsNotAnswered(t *testing.T) {
	for _, tt := range []struct {
		method, answer string
		want           error
		requests       int32
	}{
		{fasthttp.MethodPut, "", fasthttp.ErrConnectionClosed, 5},
		{fasthttp.MethodPost, "", fasthttp.ErrConnectionClosed, 1},
		{fasthttp.MethodPut, "HTTP/1.1 1", io.ErrUnexpectedEOF, 1},
		{fasthttp.MethodPut, "HTTP/1.1 100 Continue\r\n\r\n", io.ErrUnexpectedEOF, 1},
	} {
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			c.Head()
			c.Send(tt.answer)
			if strings.HasSuffix(tt.answer, "\r\n\r\n") {
				c.Content("body")
			}
		})
		hc, req := expecting(t, p, tt.method)
		req.SetBodyString("body")
		if err := hc.Do(req, responseFor(t)); !errors.Is(err, tt.want) {
			t.Errorf("%s after %q: got %v, want %v", tt.method, tt.answer, err, tt.want)
		}
		p.Counts(tt.requests, tt.requests)
	}
}

// If the server responds with malformed bytes, the call fails at once, and the
// client sends no content.
func TestClientWhoseExpectationMeetsNonsense(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Head()
		c.Send("HTTP/1.1 nonsense\r\n\r\n")
		if rest, _ := io.ReadAll(c.R); len(rest) > 0 {
			t.Errorf("%d bytes of content came", len(rest))
		}
	})
	hc, req := expecting(t, p, fasthttp.MethodPut)
	req.SetBodyString("body")
	hc.MaxIdemponentCallAttempts = 1
	if err := hc.Do(req, responseFor(t)); err == nil {
		t.Error("no error")
	}
}

func TestClientTraceOfAnExpectation(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for n := 0; c.Head(); n++ {
			if n > 0 {
				c.Send(servertest.OK)
				return
			}
			c.Send("HTTP/1.1 100 Continue\r\n\r\n")
			c.Content("body")
			c.Send(servertest.OK)
		}
	})
	hc, req := expecting(t, p, fasthttp.MethodPost)
	req.SetBodyString("body")
	var events []string
	hc.Trace = tracing(&events)
	hc.Trace.Wait100Continue = func() { events = append(events, "wait") }
	hc.Trace.Got1xxResponse = func(int, textproto.MIMEHeader) error { return nil }
	for _, want := range [][]string{
		{"get conn", "connect", "connected", "got new conn", "wrote headers", "wait", "first byte", "100", "wrote request", "put conn"},
		{"get conn", "got old conn", "wrote headers", "wait", "first byte", "wrote request"},
	} {
		events = nil
		servertest.Must(t, hc.Do(req, nil))
		if !slices.Equal(events, want) {
			t.Errorf("got %q, want %q", events, want)
		}
	}
}
