package fasthttpproxy_test

import (
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/websocket"
)

// A path that Rewrite has checked has the same meaning for the server.
func TestCheckedPaths(t *testing.T) {
	peer, got := heads(t, servertest.OK)
	p := &fasthttpproxy.ReverseProxy{Target: peer.URL("/base"), Rewrite: func(ctx *fasthttp.RequestCtx, req *fasthttp.Request) error {
		req.URI().SetPath("/base" + (&url.URL{Path: string(ctx.Path())}).EscapedPath())
		return nil
	}}
	c := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare).Dial()
	for target, want := range map[string]string{
		"/../a?q":              "/base/a?q",
		"/%2561dmin":           "/base/%2561dmin",
		"/x/%252e%252e/admin":  "/base/x/%252e%252e/admin",
		"/x/%2e%2e/admin":      "/base/admin",
		"/a%3Fb=1?c=2":         "/base/a%3Fb=1?c=2",
		"/a%23b":               "/base/a%23b",
		"/a?":                  "/base/a?",
		"/a%0d%0aX-Evil:%201":  "/base/a%0D%0AX-Evil:%201",
		"http://b/%2561dmin?q": "/base/%2561dmin?q",
	} {
		c.Send(servertest.Head("GET "+target+" HTTP/1.1", "Host: b"))
		if lines := servertest.Receive(t, target, got); lines[0] != "GET "+want+" HTTP/1.1" {
			t.Errorf("%s: the server got %q, want %q", target, lines[0], want)
		}
		c.Expect(200, "ok")
	}
}

// The question mark of an empty query is a part of the target (RFC 3986 section 6.2.3).
func TestEmptyQueriesBelowAPath(t *testing.T) {
	peer, got := heads(t, servertest.OK)
	p := &fasthttpproxy.ReverseProxy{Target: peer.URL("/base")}
	c := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare).Dial()
	for target, want := range map[string]string{"/a?": "/base/a?", "/?": "/base/?", "/a": "/base/a", "/a?b?": "/base/a?b?", "http://b?": "/base/?"} {
		c.Send(servertest.Head("GET "+target+" HTTP/1.1", "Host: b"))
		if lines := servertest.Receive(t, target, got); lines[0] != "GET "+want+" HTTP/1.1" {
			t.Errorf("%s: the server got %q, want %q", target, lines[0], want)
		}
		c.Expect(200, "ok")
	}
}

// OPTIONS for the whole server has no path.
func TestAsteriskWithAPath(t *testing.T) {
	peer, got := heads(t, servertest.OK)
	for _, preserve := range []bool{false, true} {
		p := &fasthttpproxy.ReverseProxy{Target: peer.URL("/base"), PreserveHost: preserve}
		c := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare).Dial()
		c.Send(servertest.Head("OPTIONS * HTTP/1.1", "Host: b"))
		lines := servertest.Receive(t, "the request", got)
		if c.Expect(200, "ok"); lines[0] != "OPTIONS * HTTP/1.1" {
			t.Errorf("the server got %q", lines)
		}
	}
}

// OPTIONS with an absolute target that has neither a path nor a query is for the whole server, too (RFC
// 9112 section 3.2.4).
func TestOptionsOfAnAbsoluteTarget(t *testing.T) {
	peer, got := heads(t, servertest.OK)
	nextProxy := &fasthttp.HostClient{Addr: peer.Addr(), AbsoluteForm: true}
	for name, tt := range map[string]struct {
		proxy  *fasthttpproxy.ReverseProxy
		prefix string // of what the server gets
		path   string // of the Target
		whole  string // the target that the server gets instead of an asterisk
	}{
		"a Target":             {proxy: &fasthttpproxy.ReverseProxy{Target: peer.URL("")}, whole: "*"},
		"a Target with a path": {proxy: &fasthttpproxy.ReverseProxy{Target: peer.URL("/base")}, path: "/base", whole: "*"},
		"a host that is kept":  {proxy: &fasthttpproxy.ReverseProxy{Target: peer.URL(""), PreserveHost: true}, whole: "*"},
		"a HostClient":         {proxy: &fasthttpproxy.ReverseProxy{Client: &fasthttp.HostClient{Addr: peer.Addr()}}, whole: "*"},
		"a Rewrite":            {proxy: &fasthttpproxy.ReverseProxy{Client: new(fasthttp.Client), Rewrite: rewriteNothing}, whole: "*"},
		"another proxy": {
			proxy: &fasthttpproxy.ReverseProxy{Client: nextProxy}, prefix: "http://" + peer.Addr(), whole: "http://" + peer.Addr(),
		},
	} {
		c := servertest.Start(t, servertest.SocketEngines[1], served(t, tt.proxy), roottest.Prepare).Dial()
		for _, row := range []struct{ line, want string }{
			{"OPTIONS http://" + peer.Addr(), "OPTIONS " + tt.whole},
			{"OPTIONS http://" + peer.Addr() + "/", "OPTIONS " + tt.prefix + tt.path + "/"},
			{"OPTIONS http://" + peer.Addr() + "?q", "OPTIONS " + tt.prefix + tt.path + "/?q"},
			{"OPTIONS /a?b=http://c", "OPTIONS " + tt.prefix + tt.path + "/a?b=http://c"},
			{"GET http://" + peer.Addr(), "GET " + tt.prefix + tt.path + "/"},
		} {
			c.Send(servertest.Head(row.line+" HTTP/1.1", "Host: "+peer.Addr()))
			lines := servertest.Receive(t, name, got)
			if c.Expect(200, "ok"); lines[0] != row.want+" HTTP/1.1" {
				t.Errorf("%s: %s: the server got %q, want %q", name, row.line, lines[0], row.want)
			}
		}
	}
}

// Clients do not choose the server.
func TestNoServerIsChosenByClients(t *testing.T) {
	other := servertest.Answering(t, servertest.OK)
	errs := make(chan error, 1)
	p := &fasthttpproxy.ReverseProxy{Client: new(fasthttp.Client), ErrorHandler: func(_ *fasthttp.RequestCtx, err error) { errs <- err }}
	c := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare).Dial()
	for _, text := range []string{
		servertest.Head("GET "+other.URL("/")+" HTTP/1.1", "Host: a"),
		servertest.Head("GET / HTTP/1.1", "Host: "+other.Addr()),
	} {
		c.Send(text)
		c.Expect(500, "Internal Server Error")
		if err := servertest.Receive(t, "the error", errs); errors.Is(err, fasthttpproxy.ErrBadGateway) {
			t.Error(err)
		}
	}
	other.Counts(0, 0)
}

// A trusted proxy may forward fields that it does not know. Servers could take them for known ones.
func TestTrustedProxiesForwardUnderscores(t *testing.T) {
	peer, got := heads(t, servertest.OK)
	p := &fasthttpproxy.ReverseProxy{Target: peer.URL(""), TrustForwarded: func(*fasthttp.RequestCtx) bool { return true }}
	c := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare).Dial()
	c.Send(servertest.Get("/", "X-Real-IP: 192.0.2.1", "X_Forwarded_For: 192.0.2.66", "X_Real_IP: 192.0.2.66"))
	lines := servertest.Receive(t, "the request", got)
	c.Expect(200, "ok")
	if text := strings.Join(lines, "\n"); strings.Contains(text, "192.0.2.66") || !strings.Contains(text, "192.0.2.1") {
		t.Errorf("the server got %q", lines)
	}
}

// A server without HTTP/2 answers the key of the client.
func TestWebSocketsOfAServerWithoutHTTP2(t *testing.T) {
	back := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + guid))
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, servertest.Head("HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket",
			"Sec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:]))+"\x81\x05hello")
		_, _ = io.CopyN(io.Discard, c, 1) // of the closing frame
	}))
	back.StartTLS()
	t.Cleanup(back.Close)
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		client := &fasthttp.HostClient{Addr: back.Listener.Addr().String(), IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
		client.Protocols.SetHTTP1(true)
		client.Protocols.SetHTTP2(true)
		front := start(served(t, &fasthttpproxy.ReverseProxy{Target: back.URL, Client: client}))
		d := websocket.Dialer{TLSClientConfig: servertest.TrustCertificate()}
		if front.HTTP2 {
			d.HTTP2Client = &fasthttp.Client{TLSConfig: servertest.TrustCertificate()}
			d.HTTP2Client.Protocols.SetHTTP2(front.Engine.TLS)
			d.HTTP2Client.Protocols.SetUnencryptedHTTP2(!front.Engine.TLS)
			t.Cleanup(d.HTTP2Client.CloseIdleConnections)
		}
		c, _, err := d.DialContext(t.Context(), strings.Replace(front.URL("/ws"), "http", "ws", 1), nil)
		servertest.Must(t, err)
		defer c.Close()
		if _, got, err := c.ReadMessage(); string(got) != "hello" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// A ModifyResponse that reads the body does not make a response of a part of it.
func TestModifiedCutResponses(t *testing.T) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			if c.Request() != nil {
				c.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n" + strings.Repeat("a", 100_000) + "\r\n")
			}
		})
		errs := make(chan error, 1)
		s := start(served(t, &fasthttpproxy.ReverseProxy{
			Target: peer.URL(""), ErrorHandler: func(_ *fasthttp.RequestCtx, err error) { errs <- err },
			ModifyResponse: func(ctx *fasthttp.RequestCtx) error {
				ctx.SetBody(append(ctx.Response.Body(), " and more"...))
				return nil
			},
		}))
		resp, content := s.MustAsk(t, "GET", "/", "")
		if resp.StatusCode != 502 || content != "Bad Gateway" {
			t.Errorf("got %d %.50q", resp.StatusCode, content)
		}
		if err := servertest.Receive(t, "the error", errs); !errors.Is(err, fasthttpproxy.ErrBadGateway) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
	})
}

// The host of an absolute target is the one that the client has asked for, not its Host field: a server
// never gets another host than the one that the application has seen.
func TestHostOfAbsoluteTargets(t *testing.T) {
	peer, got := heads(t, servertest.OK)
	for _, preserves := range []bool{false, true} {
		p := &fasthttpproxy.ReverseProxy{Target: peer.URL("/base"), PreserveHost: preserves, SendForwarded: true}
		c := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare).Dial()
		for target, line := range map[string]string{
			"http://other.test/p?q": "GET /base/p?q HTTP/1.1",
			"http://other.test?q":   "GET /base/?q HTTP/1.1",
			"http://other.test":     "GET /base/ HTTP/1.1",
		} {
			c.Send(servertest.Get(target))
			lines := servertest.Receive(t, target, got)
			c.Expect(200, "ok")
			want := map[string]string{
				"Host": peer.Addr(), "X-Forwarded-Host": "other.test", "Forwarded": `for=127.0.0.1;host="other.test";proto=http`,
			}
			if preserves {
				want["Host"] = "other.test"
			}
			if lines[0] != line {
				t.Errorf("%s: the server got %s", target, lines[0])
			}
			for name, value := range want {
				if values := named(lines, name); len(values) != 1 || values[0] != value {
					t.Errorf("%s: %s is %q, want %q", target, name, values, value)
				}
			}
		}
	}
}

// A client of HTTP/1.0, such as the health check of a balancer, may send no Host field. The server gets
// a host nevertheless (RFC 9112 section 3.2).
func TestRequestsWithoutAHost(t *testing.T) {
	peer, got := heads(t, servertest.OK)
	for name, p := range map[string]*fasthttpproxy.ReverseProxy{
		"a Target":                    {Target: peer.URL("")},
		"a host that is kept":         {Target: peer.URL(""), PreserveHost: true},
		"a host kept, and a path":     {Target: peer.URL("/base"), PreserveHost: true},
		"a HostClient":                {Client: &fasthttp.HostClient{Addr: peer.Addr() + ",other.test:80"}},
		"a HostClient, and a Rewrite": {Client: &fasthttp.HostClient{Addr: peer.Addr()}, Rewrite: rewriteNothing},
		"an LBClient":                 {Client: &fasthttp.LBClient{Clients: []fasthttp.BalancingClient{&fasthttp.HostClient{Addr: peer.Addr()}}}},
	} {
		c := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare).Dial()
		c.Send(servertest.Head("GET //b/a HTTP/1.0"))
		if resp := c.Next("GET"); resp.StatusCode != 200 {
			t.Errorf("%s: got %d %q", name, resp.StatusCode, resp.Content)
			continue
		}
		lines := servertest.Receive(t, name, got)
		if hosts := named(lines, "Host"); !strings.HasSuffix(lines[0], "//b/a HTTP/1.1") || len(hosts) != 1 || hosts[0] != peer.Addr() {
			t.Errorf("%s: the server got %q", name, lines)
		}
	}
}

func rewriteNothing(*fasthttp.RequestCtx, *fasthttp.Request) error { return nil }

// A client that chooses the server may speak TLS, although the request of the client came without.
func TestServersWithTLSAndWithoutATarget(t *testing.T) {
	back := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+" "+r.RequestURI)
	}))
	t.Cleanup(back.Close)
	host := &fasthttp.HostClient{Addr: back.Listener.Addr().String(), IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	balanced := &fasthttp.LBClient{Clients: []fasthttp.BalancingClient{host}}
	added := new(fasthttp.LBClient)
	added.AddClient(host)
	for name, p := range map[string]*fasthttpproxy.ReverseProxy{
		"a client that was added":     {Client: added, Rewrite: rewriteNothing},
		"a HostClient":                {Client: host},
		"a HostClient, and a Rewrite": {Client: host, Rewrite: rewriteNothing},
		"an LBClient, and a Rewrite":  {Client: balanced, Rewrite: rewriteNothing},
	} {
		c := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare).Dial()
		for _, target := range []string{"/a?b", "http://other.test/a?b"} {
			c.Send(servertest.Head("GET "+target+" HTTP/1.1", "Host: other.test"))
			if resp := c.Next("GET"); resp.Content != "other.test /a?b" {
				t.Errorf("%s: %s: got %d %q", name, target, resp.StatusCode, resp.Content)
			}
		}
	}
}

// An LBClient may have servers with TLS and others without.
func TestBalancedServersWithAndWithoutTLS(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+" "+r.RequestURI)
	})
	secure, plain := httptest.NewTLSServer(handler), httptest.NewServer(handler)
	t.Cleanup(secure.Close)
	t.Cleanup(plain.Close)
	rewriteHost := func(_ *fasthttp.RequestCtx, req *fasthttp.Request) error {
		req.URI().SetHost("new.test")
		req.URI().SetPath("/new")
		return nil
	}
	for name, rewrite := range map[string]func(*fasthttp.RequestCtx, *fasthttp.Request) error{
		"no Rewrite": nil, "a Rewrite that changes nothing": rewriteNothing, "a Rewrite": rewriteHost,
	} {
		client := &fasthttp.LBClient{Clients: []fasthttp.BalancingClient{
			&fasthttp.HostClient{Addr: plain.Listener.Addr().String()},
			&fasthttp.HostClient{Addr: secure.Listener.Addr().String(), IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}},
		}}
		p := &fasthttpproxy.ReverseProxy{Client: client, Rewrite: rewrite}
		c := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare).Dial()
		for target, want := range map[string]string{"/a?b": "/a?b", "http://other.test/a?b": "/a?b", "http://other.test?b": "/?b", "/a/../b//c?b": "/a/../b//c?b"} {
			want = "other.test " + want
			if name == "a Rewrite" {
				want = "new.test /new?b"
			}
			for range 2 {
				c.Send(servertest.Head("GET "+target+" HTTP/1.1", "Host: other.test"))
				if resp := c.Next("GET"); resp.Content != want {
					t.Errorf("%s: %s: got %d %q", name, target, resp.StatusCode, resp.Content)
				}
			}
		}
		for range 2 {
			c.Send(servertest.Head("OPTIONS * HTTP/1.1", "Host: other.test"))
			if resp := c.Next("OPTIONS"); resp.StatusCode != 200 {
				t.Errorf("%s: OPTIONS got %d %q", name, resp.StatusCode, resp.Content)
			}
		}
	}
}

// An LBClient may get servers with TLS after the proxy was used with others, and the other way around.
func TestBalancedServersThatAreAddedLater(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		_, _ = fmt.Fprintf(w, "%t %s %s %s:%s", r.TLS != nil, r.Host, r.RequestURI, user, password)
	})
	secure, plain := httptest.NewTLSServer(handler), httptest.NewServer(handler)
	t.Cleanup(secure.Close)
	t.Cleanup(plain.Close)
	server := func(isTLS bool) *fasthttp.HostClient {
		if isTLS {
			return &fasthttp.HostClient{Addr: secure.Listener.Addr().String(), IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
		}
		return &fasthttp.HostClient{Addr: plain.Listener.Addr().String()}
	}
	rewriteAll := func(_ *fasthttp.RequestCtx, req *fasthttp.Request) error {
		req.SetRequestURI("http://me%40x:p%3aw@new.test/new")
		return nil
	}
	for _, test := range []struct {
		rewrite      func(*fasthttp.RequestCtx, *fasthttp.Request) error
		target, want string
	}{
		{nil, "/a?b", "other.test /a?b :"},
		{nil, "http://other.test/a?b", "other.test /a?b :"},
		{rewriteNothing, "/a?b", "other.test /a?b :"},
		{rewriteNothing, "http://other.test/a?b", "other.test /a?b :"},
		{rewriteAll, "/a?b", "new.test /new me@x:p:w"},
	} {
		for _, addsTLS := range []bool{false, true} {
			client := &fasthttp.LBClient{Clients: []fasthttp.BalancingClient{server(!addsTLS)}}
			p := &fasthttpproxy.ReverseProxy{Client: client, Rewrite: test.rewrite}
			c := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare).Dial()
			got := map[string]bool{}
			get := func() {
				c.Send(servertest.Head("GET "+test.target+" HTTP/1.1", "Host: other.test"))
				got[c.Next("GET").Content] = true
			}
			get()
			client.AddClient(server(addsTLS))
			for range 4 {
				get()
			}
			if len(got) != 2 || !got["true "+test.want] || !got["false "+test.want] {
				t.Errorf("%s, with a Rewrite: %t, TLS is added: %t: got %v", test.target, test.rewrite != nil, addsTLS, got)
			}
		}
	}
}

// A server of net/http sends the date of the server, too.
func TestDatesBehindNetHTTP(t *testing.T) {
	for name, want := range map[string]string{"Date": "Mon, 01 Jan 2001 01:02:03 GMT", "X-Other": ""} {
		peer := servertest.Answering(t, servertest.Head("HTTP/1.1 200 OK", name+": Mon, 01 Jan 2001 01:02:03 GMT", "Content-Length: 2")+"ok")
		p := &fasthttpproxy.ReverseProxy{Target: peer.URL("")}
		t.Cleanup(p.CloseIdleConnections)
		front := httptest.NewServer(fasthttpadaptor.NewHTTPHandler(p.Handler))
		t.Cleanup(front.Close)
		resp, err := front.Client().Get(front.URL)
		servertest.Must(t, err)
		_ = resp.Body.Close()
		if dates := resp.Header["Date"]; len(dates) != 1 || want != "" && dates[0] != want {
			t.Errorf("%s: the date is %q", name, dates)
		}
	}
}

// The Host field has neither the zone of an address (RFC 6874 section 4) nor other characters than
// those of ASCII.
func TestHostFieldsOfTargets(t *testing.T) {
	peer, got := heads(t, servertest.OK)
	for target, want := range map[string]string{
		"http://[fe80::1%25eth0]:8080":    "[fe80::1]:8080",
		"http://b\u00fccher.example:8080": "xn--bcher-kva.example:8080",
	} {
		for _, path := range []string{"", "/base"} {
			client := &fasthttp.HostClient{Addr: "a:1", Dial: func(string) (net.Conn, error) { return net.Dial("tcp", peer.Addr()) }}
			p := &fasthttpproxy.ReverseProxy{Target: target + path, Client: client}
			c := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare).Dial()
			c.Send(servertest.Get("/"))
			lines := servertest.Receive(t, target, got)
			if c.Expect(200, "ok"); named(lines, "Host")[0] != want {
				t.Errorf("%s%s: the server got %q", target, path, lines)
			}
		}
	}
}
