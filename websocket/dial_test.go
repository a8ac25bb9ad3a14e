package websocket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
)

// TestDial connects by URLs, with cookies, fields and TLS.
func TestDial(t *testing.T) {
	t.Parallel()
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		t.Run(e.Name, func(t *testing.T) {
			u := &Upgrader{}
			s := servertest.Start(t, e, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				text := fmt.Sprintf("%s %s %s %s", ctx.RequestURI(), ctx.Host(), ctx.Request.Header.Peek("X-Own"), ctx.Request.Header.Peek("Cookie"))
				ctx.Response.Header.Set("Set-Cookie", "b=2")
				_ = u.Upgrade(ctx, func(c *Conn) {
					_ = c.WriteMessage(TextMessage, []byte(text))
					_, _, _ = c.ReadMessage()
				})
			}}, prepare)
			jar, err := cookiejar.New(nil)
			servertest.Must(t, err)
			d := &Dialer{Jar: jar, TLSClientConfig: servertest.TrustCertificate(), HandshakeTimeout: servertest.Patience}
			addr := s.Listener.Addr().String()
			scheme := "ws://"
			if e.TLS {
				scheme = "wss://"
			}
			for i, want := range []string{"a=1", "b=2; a=1"} {
				ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
				c, resp, err := d.DialContext(ctx, scheme+addr+"/x?y#z", http.Header{"X-Own": {"own"}, "cookie": {"a=1"}, "Host": {"other.example"}})
				servertest.Must(t, err)
				// the context has no effect on the connection
				cancel()
				if resp.StatusCode != 101 || resp.Header.Get("Set-Cookie") != "b=2" {
					t.Errorf("dial %d: %d %v", i, resp.StatusCode, resp.Header)
				}
				expectMessage(t, c, TextMessage, []byte("/x?y other.example own "+want))
				if c.RemoteAddr().String() != addr || c.NetConn() != c.UnderlyingConn() || c.LocalAddr() == nil {
					t.Error("the addresses are wrong")
				}
				servertest.Must(t, c.Close())
			}
			if e.TLS {
				if _, _, err := new(Dialer).Dial(scheme+addr, nil); err == nil {
					t.Error("an unknown certificate")
				}
			}
		})
	}
}

func TestDialRefusesRequests(t *testing.T) {
	d := &Dialer{Subprotocols: []string{"a"}, NetDial: func(string, string) (net.Conn, error) {
		t.Error("dialed")
		return nil, io.EOF
	}}
	for _, u := range []string{"", "example.com", "ftp://example.com", "ws:///path", "ws://user@example.com", "ws://[::1", "ws://:80"} {
		if _, _, err := d.Dial(u, nil); err == nil {
			t.Errorf("dialed %q", u)
		}
	}
	for _, name := range []string{"Upgrade", "connection", "Sec-WebSocket-Key", "sec-websocket-version", "Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol"} {
		if _, _, err := d.Dial("ws://example.com", http.Header{name: {"x"}}); err == nil {
			t.Errorf("sent the field %s", name)
		}
	}
}

// TestDialRefusesResponses has servers that break the opening handshake.
func TestDialRefusesResponses(t *testing.T) {
	const good = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: x, upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\n"
	for _, tt := range []struct {
		name, response string
		ok             bool
		status         int
		content        string
	}{
		{"usual", good, true, 101, ""},
		{"subprotocol", good + "Sec-WebSocket-Protocol: a\r\n", true, 101, ""},
		{"compression", good + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n", true, 101, ""},
		{"informational", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\nContent-Length: 5\r\n\r\n" + good, true, 101, ""},
		{"informational before a refusal", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 403 Forbidden\r\nContent-Length: 1\r\n\r\nx", false, 403, "x"},
		{"informational without end", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 3000) + good, false, 0, ""},
		{"HTTP/1.0", strings.Replace(good, "HTTP/1.1", "HTTP/1.0", 1) + "\r\n", false, 101, ""},
		{"refusal", "HTTP/1.1 403 Forbidden\r\nContent-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), false, 403, strings.Repeat("x", 1024)},
		{"redirect", "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n", false, 302, ""},
		{"no Upgrade", strings.Replace(good, "Upgrade: W", "X: W", 1), false, 101, ""},
		{"another Connection", strings.Replace(good, "x, upgrade", "keep-alive", 1), false, 101, ""},
		{"another key", strings.Replace(good, "ACCEPT", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", 1), false, 101, ""},
		{"no key", strings.Replace(good, "Accept", "Accepted", 1), false, 101, ""},
		{"another subprotocol", good + "Sec-WebSocket-Protocol: A\r\n", false, 101, ""},
		{"two subprotocols", good + "Sec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: b\r\n", false, 101, ""},
		{"another extension", good + "Sec-WebSocket-Extensions: foo\r\n", false, 101, ""},
		{"compression without a parameter", good + "Sec-WebSocket-Extensions: permessage-deflate\r\n", false, 101, ""},
		{"malformed", "HTTP/1.1 x\r\n", false, 0, ""},
		{"endless", good + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 100), false, 0, ""},
	} {
		peer := servertest.NewMemoryPeer(t, func(c *servertest.PeerConn) {
			req, err := http.ReadRequest(bufio.NewReader(c))
			if err != nil {
				return
			}
			accept := ws.AppendAccept(nil, []byte(req.Header.Get("Sec-Websocket-Key")))
			text := strings.Replace(tt.response, "ACCEPT", string(accept), 1)
			if !strings.HasSuffix(text, "x") && !strings.HasSuffix(text, "\r\n\r\n") {
				text += "\r\n"
			}
			_, _ = io.WriteString(c, text)
			_, _ = io.Copy(io.Discard, c)
		})
		d := &Dialer{Subprotocols: []string{"a", "b"}, EnableCompression: true, NetDial: func(string, string) (net.Conn, error) { return peer.Dial() }}
		c, resp, err := d.Dial("ws://example.com", nil)
		switch {
		case tt.ok != (err == nil):
			t.Errorf("%s: %v", tt.name, err)
		case tt.status == 0:
			if resp != nil {
				t.Errorf("%s: got a response", tt.name)
			}
			continue
		case !tt.ok && !errors.Is(err, ErrBadHandshake):
			t.Errorf("%s: %v", tt.name, err)
		case tt.status != 101 && !strings.Contains(err.Error(), strconv.Itoa(tt.status)):
			t.Errorf("%s: the error does not name the status: %v", tt.name, err)
		}
		if content, _ := io.ReadAll(resp.Body); resp.StatusCode != tt.status || string(content) != tt.content {
			t.Errorf("%s: got %d %q", tt.name, resp.StatusCode, content)
		}
		if c != nil {
			_ = c.CloseNow()
		}
	}
}

// TestDialEndsWithItsContext has servers that do not answer.
func TestDialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	silent := servertest.Silent(t)
	ctx, cancel := context.WithCancel(t.Context())
	d := &Dialer{NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := net.Dial("tcp", silent.Addr())
		cancel()
		return nc, err
	}}
	if _, _, err := d.DialContext(ctx, "ws://example.com", nil); err != context.Canceled {
		t.Errorf("after the end of the context: %v", err)
	}
	d.HandshakeTimeout = servertest.Short
	if _, _, err := d.Dial("ws://example.com", nil); err != context.DeadlineExceeded {
		t.Errorf("after the timeout: %v", err)
	}
	failed := errors.New("failed")
	d = &Dialer{NetDialTLSContext: func(context.Context, string, string) (net.Conn, error) { return nil, failed }}
	if _, _, err := d.Dial("wss://example.com", nil); err != failed {
		t.Errorf("the error of NetDialTLSContext is %v", err)
	}
	d = &Dialer{Proxy: func(*http.Request) (*url.URL, error) { return nil, failed }}
	if _, _, err := d.Dial("ws://example.com", nil); err != failed {
		t.Errorf("the error of Proxy is %v", err)
	}
}

// TestDialFunctionsThatReturnNothing has functions that return neither a connection nor an error.
func TestDialFunctionsThatReturnNothing(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, string, string) (net.Conn, error) { return nil, nil }
	dial := func(string, string) (net.Conn, error) { return nil, nil }
	for url, d := range map[string]*Dialer{
		"ws://example.com":   {NetDial: dial},
		"ws://example.com/1": {NetDial: dial, HandshakeTimeout: servertest.Patience},
		"ws://example.com/2": {NetDialContext: nothing},
		"wss://example.com":  {NetDial: dial},
		"wss://example.com/": {NetDialTLSContext: nothing},
	} {
		if c, _, err := d.Dial(url, nil); err != errNoConn {
			t.Errorf("%s: %v, %v", url, c, err)
		}
	}
}

// TestDialEndsBeforeNetDial has a NetDial that takes longer than a dial may.
func TestDialEndsBeforeNetDial(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		ours, theirs := bubblePair()
		d := &Dialer{HandshakeTimeout: time.Second, NetDial: func(string, string) (net.Conn, error) {
			time.Sleep(time.Minute) // in a bubble
			return ours, nil
		}}
		began := time.Now()
		if _, _, err := d.Dial("ws://example.com", nil); err != context.DeadlineExceeded || time.Since(began) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		if sent, err := io.ReadAll(theirs); len(sent) > 0 || err != nil || time.Since(began) != time.Minute {
			t.Errorf("a connection that is late got %q, %v, after %v", sent, err, time.Since(began))
		}
		d.NetDial = func(string, string) (net.Conn, error) { panic("a panic") }
		defer func() {
			if fault := recover(); fault != "a panic" {
				t.Errorf("Dial panicked with %v", fault)
			}
		}()
		_, _, err := d.Dial("ws://example.com", nil)
		t.Errorf("after a panic: %v", err)
	})
}

// TestDialEndsWithoutDeadlines has a connection whose deadlines fail, and a server that does not answer.
func TestDialEndsWithoutDeadlines(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		ours, theirs := bubblePair()
		d := &Dialer{HandshakeTimeout: time.Minute, NetDial: func(string, string) (net.Conn, error) {
			return servertest.TimelessConn{Conn: ours}, nil
		}}
		began := time.Now()
		if _, _, err := d.Dial("ws://example.com", nil); err != context.DeadlineExceeded || time.Since(began) != time.Minute {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		_ = theirs.Close()
	})
}

// TestDialThroughAProxy has an HTTP proxy.
func TestDialThroughAProxy(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		s := start(serving(&Upgrader{}, echo))
		if !s.Engine.Sockets {
			t.Skip("the proxy connects to sockets")
		}
		var asked atomic.Int32
		proxy := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			target := string(ctx.RequestURI())
			if asked.Add(1); !ctx.IsConnect() || target != s.Listener.Addr().String() {
				ctx.Error("no", 400)
				return
			}
			ctx.Hijack(func(nc net.Conn) {
				to, err := net.Dial("tcp", target)
				if err != nil {
					return
				}
				defer to.Close()
				go func() {
					_, _ = io.Copy(to, nc)
					_ = servertest.Close(to)
				}()
				_, _ = io.Copy(nc, to)
			})
		}})
		scheme, proxyScheme := "ws://", "http://"
		if s.Engine.TLS {
			scheme = "wss://"
			// the proxy has TLS, which fasthttpproxy would have to trust
			t.Skip("tests of fasthttpproxy have such proxies")
		}
		d := &Dialer{Proxy: func(req *http.Request) (*url.URL, error) {
			return url.Parse(proxyScheme + proxy.Listener.Addr().String())
		}}
		c, _, err := d.Dial(scheme+s.Listener.Addr().String()+"/", nil)
		servertest.Must(t, err)
		servertest.Must(t, c.WriteMessage(TextMessage, []byte("through")))
		expectMessage(t, c, TextMessage, []byte("through"))
		servertest.Must(t, c.Close())
		if asked.Load() != 1 {
			t.Errorf("the proxy was asked %d times", asked.Load())
		}
	})
}
