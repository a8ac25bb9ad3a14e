package fasthttpproxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
)

type proxyStarter = servertest.Starter[*fasthttp.Server]

func forEachEngine(t *testing.T, test func(t *testing.T, start proxyStarter)) {
	servertest.ForEachEngine(t, roottest.Prepare, test)
}

// served returns a server for the proxy.
func served(t testing.TB, p *fasthttpproxy.ReverseProxy) *fasthttp.Server {
	t.Cleanup(p.CloseIdleConnections)
	return &fasthttp.Server{
		Handler: p.Handler, StreamRequestBody: true, NoDefaultServerHeader: true,
		HTTP2: fasthttp.HTTP2Config{ExtendedConnect: true},
	}
}

// heads returns a peer that sends the lines of the heads of requests, and answers with response.
func heads(t testing.TB, response string) (p *servertest.Peer, got chan []string) {
	got = make(chan []string, 10)
	return servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for {
			lines, ok := headOf(c.R)
			if !ok {
				return
			}
			c.Peer.Requests.Add(1)
			got <- lines
			c.Send(response)
		}
	}), got
}

// told returns a peer that answers each request with the next text of responses, and ends a
// connection after as many as most.
func told(t testing.TB, most int) (p *servertest.Peer, responses chan<- string) {
	next := make(chan string, 1)
	return servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for range most {
			if c.Request() == nil {
				return
			}
			select {
			case text := <-next:
				c.Send(text)
			case <-c.Peer.Ended():
				return
			}
		}
	}), next
}

// headOf reads the lines of a head.
func headOf(r *bufio.Reader) (lines []string, ok bool) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, false
		}
		if line = strings.TrimSuffix(line, "\r\n"); line == "" {
			return lines, true
		}
		lines = append(lines, line)
	}
}

// named returns the lines of the field in a head.
func named(lines []string, field string) (values []string) {
	for _, line := range lines[1:] {
		if name, value, _ := strings.Cut(line, ": "); strings.EqualFold(name, field) {
			values = append(values, value)
		}
	}
	return values
}

// The fields of requests. A row without values wants the field to be missing.
var requestRows = []struct {
	name   string
	line   string
	fields []string
	target string              // that the server gets, or ""
	want   map[string][]string // values of fields
}{
	{
		name: "plain", line: "GET /a//b/../c%2Fd?x=%41;y=%zz HTTP/1.1", fields: []string{"X-Own: 1", "X-Own: 2", "User-Agent: me"},
		target: "/a//b/../c%2Fd?x=%41;y=%zz",
		want: map[string][]string{
			"X-Own": {"1", "2"}, "User-Agent": {"me"}, "Via": {"1.1 fasthttp"}, "X-Forwarded-Host": {"a"}, "Connection": nil,
			"Forwarded": nil, "Transfer-Encoding": nil, "Content-Length": nil, "Content-Type": nil,
		},
	},
	{name: "an absolute target", line: "GET http://other.test/p?q HTTP/1.1", target: "/p?q"},
	{name: "no user agent", line: "GET / HTTP/1.1", want: map[string][]string{"User-Agent": nil}},
	{name: "all of a server", line: "OPTIONS * HTTP/1.1", target: "*"},
	{name: "HTTP/1.0", line: "GET / HTTP/1.0", want: map[string][]string{"Via": {"1.0 fasthttp"}, "Connection": nil}},
	{
		name: "named fields", fields: []string{"Connection: X-Hop, close", "X-Hop: 1", "X-Own: 1"},
		want: map[string][]string{"X-Hop": nil, "X-Own": {"1"}, "Connection": nil},
	},
	{
		// CVE-2021-33197 of httputil.ReverseProxy
		name: "a first Connection field that is empty", fields: []string{"Connection:", "Connection: x-hop , X-Other", "X-Hop: 1", "X-Other: 1"},
		want: map[string][]string{"X-Hop": nil, "X-Other": nil, "Connection": nil},
	},
	{
		// golang/go issue 50580, and CVE-2022-31813 of httpd
		name: "fields of the proxy cannot be named", fields: []string{"Connection: X-Forwarded-For, X-Forwarded-Host, X-Forwarded-Proto, Via"},
		want: map[string][]string{"X-Forwarded-Host": {"a"}, "Via": {"1.1 fasthttp"}},
	},
	{
		name: "nor those that delimit messages", fields: []string{"Connection: Host, Content-Length, Transfer-Encoding"},
		want: map[string][]string{"X-Forwarded-Host": {"a"}},
	},
	{
		// CVE-2022-32148 of httputil.ReverseProxy, and CVE-2025-64484 of OAuth2-Proxy
		name: "an address that the client claims", fields: []string{
			"X-Forwarded-For: 192.0.2.1", "X-Forwarded-Host: evil", "X-Forwarded-Proto: gopher", "X-Forwarded-Port: 1", "X-Real-IP: 192.0.2.1",
			"Forwarded: for=192.0.2.1", "X_Forwarded_For: 192.0.2.1", "X-Forwarded_Host: evil", "X_REAL_IP: 192.0.2.1", "Forwarded_: kept",
		},
		want: map[string][]string{
			"X-Forwarded-Host": {"a"}, "X-Forwarded-Port": nil, "X-Real-Ip": nil, "Forwarded": nil,
			"X_Forwarded_For": nil, "X-Forwarded_Host": nil, "X_REAL_IP": nil, "X_real_ip": nil, "Forwarded_": {"kept"},
		},
	},
	{
		name: "what a server must not get", fields: []string{"Proxy: evil", "Content_Length: 5", "Transfer_Encoding: chunked", "Keep-Alive: 5",
			"Proxy-Connection: keep-alive", "Proxy-Authorization: Basic eA==", "HTTP2-Settings: x"},
		want: map[string][]string{
			"Proxy": nil, "Content_Length": nil, "Content_length": nil, "Transfer_Encoding": nil, "Transfer_encoding": nil, "Keep-Alive": nil,
			"Proxy-Connection": nil, "Proxy-Authorization": nil, "HTTP2-Settings": nil,
		},
	},
	{name: "trailers are accepted", fields: []string{"Connection: TE", "TE: deflate, trailers"}, want: map[string][]string{"TE": {"trailers"}, "Connection": {"TE"}}},
	{name: "other codings are not", fields: []string{"TE: deflate;q=0.5"}, want: map[string][]string{"TE": nil}},
	{
		// golang/go issue 80416
		name: "another protocol", fields: []string{"Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: x"},
		want: map[string][]string{"Connection": nil, "Upgrade": nil},
	},
	{
		// RFC 9110 sections 10.1.1 and 10.1.4: there is no content to wait with, and TE would need its option
		name: "a WebSocket", fields: []string{"Connection: Upgrade, TE", "Upgrade: websocket", "TE: trailers", "Expect: 100-continue"},
		want: map[string][]string{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "TE": nil, "Expect": nil},
	},
	{
		name: "a WebSocket and an empty body", fields: []string{"Connection: Upgrade", "Upgrade: websocket", "Content-Length: 0"},
		want: map[string][]string{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}},
	},
	{name: "hops of OPTIONS", line: "OPTIONS / HTTP/1.1", fields: []string{"Max-Forwards: 5"}, want: map[string][]string{"Max-Forwards": {"4"}}},
	{name: "hops of GET", fields: []string{"Max-Forwards: 5"}, want: map[string][]string{"Max-Forwards": {"5"}}},
	{name: "hops that are no number", line: "TRACE / HTTP/1.1", fields: []string{"Max-Forwards: x"}, want: map[string][]string{"Max-Forwards": {"x"}}},
	{name: "a Via field", fields: []string{"Via: 1.0 first"}, want: map[string][]string{"Via": {"1.0 first", "1.1 fasthttp"}}},
	{
		name: "cookies and credentials", fields: []string{"Cookie: a=1; b=2", "Authorization: Basic eA=="},
		want: map[string][]string{"Cookie": {"a=1; b=2"}, "Authorization": {"Basic eA=="}},
	},
}

func TestFieldsOfRequests(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		peer, got := heads(t, servertest.OK)
		r := start(served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL("")}))
		for _, row := range requestRows {
			line := row.line
			if line == "" {
				line = "GET / HTTP/1.1"
			}
			c := r.Dial()
			c.Send(servertest.Head(append([]string{line, "Host: a"}, row.fields...)...))
			lines := servertest.Receive(t, row.name, got)
			c.Expect(200, "ok")
			if method, _, _ := strings.Cut(line, " "); row.target != "" && lines[0] != method+" "+row.target+" HTTP/1.1" {
				t.Errorf("%s: the server got %q", row.name, lines[0])
			}
			want := map[string][]string{"Host": {peer.Addr()}, "X-Forwarded-Proto": {"http"}}
			if r.Engine.TLS {
				want["X-Forwarded-Proto"] = []string{"https"}
			}
			if r.Engine.Sockets {
				want["X-Forwarded-For"] = []string{"127.0.0.1"}
			}
			for name, values := range row.want {
				want[name] = values
			}
			for name, values := range want {
				if values := fmt.Sprint(values); fmt.Sprint(named(lines, name)) != values {
					t.Errorf("%s: %s is %q, want %s", row.name, name, named(lines, name), values)
				}
			}
		}
	})
}

func TestFieldsThatTrustedProxiesSet(t *testing.T) {
	peer, got := heads(t, servertest.OK)
	p := &fasthttpproxy.ReverseProxy{
		Target: peer.URL("/base/"), PreserveHost: true, SendForwarded: true, Via: "edge",
		TrustForwarded: func(ctx *fasthttp.RequestCtx) bool { return string(ctx.Path()) == "/trusted" },
	}
	r := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare)
	for _, trusted := range []bool{true, false} {
		path := fmt.Sprintf("/%v?q", trusted)
		if trusted {
			path = "/trusted?q"
		}
		c := r.Dial()
		c.Send(servertest.Get(path, "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https", "Forwarded: for=192.0.2.1"))
		lines := servertest.Receive(t, path, got)
		c.Expect(200, "ok")
		want := map[string][]string{
			"Host": {"a"}, "Via": {"1.1 edge"}, "X-Forwarded-For": {"127.0.0.1"}, "X-Forwarded-Proto": {"http"},
			"X-Forwarded-Host": {"a"}, "Forwarded": {`for=127.0.0.1;host="a";proto=http`},
		}
		if trusted {
			want["X-Forwarded-For"] = []string{"192.0.2.1, 127.0.0.1"}
			want["X-Forwarded-Proto"] = []string{"https"}
			want["Forwarded"] = []string{"for=192.0.2.1", `for=127.0.0.1;host="a";proto=http`}
		}
		if lines[0] != "GET /base"+path+" HTTP/1.1" {
			t.Errorf("the server got %s", lines[0])
		}
		for name, values := range want {
			if fmt.Sprint(named(lines, name)) != fmt.Sprint(values) {
				t.Errorf("%s: %s is %q, want %q", path, name, named(lines, name), values)
			}
		}
	}
}

// A request that proxy and server could delimit differently is not forwarded, and none
// begins inside another one.
func TestSmuggledRequests(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			for asked := c.Asked(); asked != ""; asked = c.Asked() {
				c.OK(asked + " " + c.Body)
			}
		})
		r := start(served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL("")}))
		for name, text := range map[string]string{
			"two lengths":          servertest.Post("/", "", "Content-Length: 43"),
			"an unknown coding":    servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked, identity"),
			"a folded field":       servertest.Get("/", "X-A: b", " Transfer-Encoding: chunked"),
			"a blank before colon": servertest.Get("/", "Content-Length : 43"),
			"two hosts":            servertest.Get("/", "Host: b"),
		} {
			c := r.Dial()
			_, _ = c.Conn.Write([]byte(text + servertest.Smuggled))
			resp, err := servertest.ReadResponse(c.R, "GET")
			if err == nil && (resp.StatusCode < 400 || strings.Contains(resp.Content, "smuggled")) {
				t.Errorf("%s: got %d %q", name, resp.StatusCode, resp.Content)
			}
		}
		if n := peer.Requests.Load(); n != 0 {
			t.Errorf("%d requests were forwarded", n)
		}
		// chunks count, and the connection ends (RFC 9112 section 6.1)
		c := r.Dial()
		c.Send(servertest.Chunked("/both", "1\r\na\r\n0\r\n\r\n", "Content-Length: 43") + servertest.Smuggled)
		c.Expect(200, "POST /both a")
		c.ExpectCut()
		c = r.Dial()
		c.Send(servertest.Head("CONNECT b:1 HTTP/1.1", "Host: b:1"))
		c.Expect(501, "Not Implemented")
		peer.Counts(1, 1)
		inside := servertest.Smuggled
		c = r.Dial()
		c.Send(servertest.Post("/length", inside) + servertest.Chunked("/chunks", fmt.Sprintf("%x;ext=1\r\n%s\r\n0\r\n\r\n", len(inside), inside)) +
			servertest.Head("POST /named HTTP/1.1", "Host: a", "Connection: content-length", fmt.Sprint("Content-Length: ", len(inside))) + inside)
		c.Expect(200, "POST /length "+inside)
		c.Expect(200, "POST /chunks "+inside)
		c.Expect(200, "POST /named "+inside)
	})
}

func TestFieldsOfResponses(t *testing.T) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		peer, response := told(t, math.MaxInt)
		s := start(served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL("")}))
		for _, row := range []struct {
			name   string
			head   []string
			status int
			want   http.Header
		}{
			{
				"all", []string{"HTTP/1.1 418 Teapot", "Set-Cookie: a=1", "Set-Cookie: b=2", "Server: theirs", "X-Own: 1", "Content-Type: a/b"}, 418,
				http.Header{"Set-Cookie": {"a=1", "b=2"}, "Server": {"theirs"}, "X-Own": {"1"}, "Content-Type": {"a/b"}, "Connection": nil, "Via": nil},
			},
			{
				"named", []string{"HTTP/1.1 200 OK", "Connection:", "Connection: X-Hop", "X-Hop: 1", "Keep-Alive: timeout=5", "Proxy-Authenticate: Basic", "Upgrade: h2c"}, 200,
				http.Header{"X-Hop": nil, "Keep-Alive": nil, "Proxy-Authenticate": nil, "Upgrade": nil, "Content-Type": nil, "Server": nil},
			},
			{"a connection that ends", []string{"HTTP/1.1 200 OK", "Connection: close"}, 200, http.Header{"Connection": nil}},
			{"an old server", []string{"HTTP/1.0 200 OK"}, 200, http.Header{"Connection": nil}},
			// caches count from the time of the server (RFC 9110 section 6.6.1)
			{"a date", []string{"HTTP/1.1 200 OK", "Date: Mon, 01 Jan 2001 01:02:03 GMT"}, 200, http.Header{"Date": {"Mon, 01 Jan 2001 01:02:03 GMT"}}},
			{"no date", []string{"HTTP/1.1 200 OK", "Date: yesterday"}, 200, nil},
			{"two dates", []string{"HTTP/1.1 200 OK", "Date: Mon, 01 Jan 2001 01:02:03 GMT", "Date: Mon, 01 Jan 2001 01:02:04 GMT"}, 200, nil},
		} {
			response <- servertest.Head(append(row.head, "Content-Length: 2")...) + "ok"
			resp, content := s.MustAsk(t, "GET", "/", "")
			if resp.StatusCode != row.status || content != "ok" || len(resp.Header["Date"]) != 1 {
				t.Errorf("%s: got %d %q with %v", row.name, resp.StatusCode, content, resp.Header)
			} else if at, err := http.ParseTime(resp.Header.Get("Date")); err != nil || row.want["Date"] == nil && time.Since(at) > time.Hour {
				t.Errorf("%s: the date is %v, %v", row.name, at, err)
			}
			for name, values := range row.want {
				if fmt.Sprint(resp.Header[name]) != fmt.Sprint(values) {
					t.Errorf("%s: %s is %q, want %q", row.name, name, resp.Header[name], values)
				}
			}
		}
		for _, row := range []struct{ name, method, response, content string }{
			{"HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n", ""},
			{"204", "GET", "HTTP/1.1 204 No Content\r\n\r\n", ""},
			{"304", "GET", "HTTP/1.1 304 Not Modified\r\nEtag: \"x\"\r\n\r\n", ""},
			{"nothing", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
			{"chunks", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "abc"},
			{"POST", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc"},
		} {
			response <- row.response
			if resp, content := s.MustAsk(t, row.method, "/", ""); content != row.content || resp.Header.Get("Content-Type") != "" {
				t.Errorf("%s: got %q with %v", row.name, content, resp.Header)
			}
		}
	})
}

// A protocol for which there was no request is no response.
func TestUnasked101(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		peer := servertest.Answering(t, servertest.Head("HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: other")+servertest.OK)
		r := start(served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL("")}))
		for _, fields := range [][]string{nil, {"Connection: Upgrade", "Upgrade: websocket"}} {
			c := r.Dial()
			c.Send(servertest.Get("/", fields...))
			c.Expect(502, "Bad Gateway")
		}
	})
}

func TestLastHop(t *testing.T) {
	peer := servertest.Answering(t, servertest.OK)
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		r := start(served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL("")}))
		c := r.Dial()
		c.Send(servertest.Head("OPTIONS / HTTP/1.1", "Host: a", "Max-Forwards: 0"))
		c.Expect(200, "")
		c.Send(servertest.Head("TRACE /x HTTP/1.1", "Host: a", "Max-Forwards: 0", "X-Own: 1", "Cookie: secret=1", "Authorization: secret"))
		resp := c.Next("TRACE")
		if !strings.HasPrefix(resp.Content, "TRACE /x HTTP/1.1\r\n") || !strings.Contains(resp.Content, "X-Own: 1\r\n") ||
			strings.Contains(resp.Content, "secret") || resp.Header.Get("Content-Type") != "message/http" {
			t.Errorf("got %q with %v", resp.Content, resp.Header)
		}
	})
	peer.Counts(0, 0)
}

// The error of a request that cannot be made has a status, and is one of the errors of the package.
func TestFailures(t *testing.T) {
	silent := servertest.Silent(t)
	gone := "127.0.0.1:" + servertest.FreePort(t)
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		failing := fmt.Errorf("failing")
		ok := servertest.Answering(t, servertest.OK)
		cut := servertest.NewPeer(t, func(c *servertest.PeerConn) { c.Request() })
		for _, row := range []struct {
			name   string
			proxy  *fasthttpproxy.ReverseProxy
			status int
			want   error
		}{
			{"nobody listens", &fasthttpproxy.ReverseProxy{Target: "http://" + gone}, 502, fasthttpproxy.ErrBadGateway},
			{"no response", &fasthttpproxy.ReverseProxy{Target: cut.URL("")}, 502, fasthttpproxy.ErrBadGateway},
			{"no response in time", &fasthttpproxy.ReverseProxy{Client: &fasthttp.HostClient{Addr: silent.Addr(), ResponseHeaderTimeout: time.Millisecond}}, 504, fasthttpproxy.ErrGatewayTimeout},
			{"no response in the time of a call", &fasthttpproxy.ReverseProxy{Client: &fasthttp.HostClient{Addr: silent.Addr(), Timeout: time.Millisecond}}, 504, fasthttp.ErrTimeout},
			{"no servers", &fasthttpproxy.ReverseProxy{Client: &fasthttp.LBClient{}}, 503, fasthttp.ErrNoAvailableClients},
			{"no text of HTTP", &fasthttpproxy.ReverseProxy{Target: servertest.Answering(t, "SSH-2.0\r\n\r\n").URL("")}, 502, fasthttpproxy.ErrBadGateway},
			{"Rewrite", &fasthttpproxy.ReverseProxy{Target: ok.URL(""), Rewrite: func(*fasthttp.RequestCtx, *fasthttp.Request) error { return failing }}, 502, failing},
			{"ModifyResponse", &fasthttpproxy.ReverseProxy{Target: ok.URL(""), ModifyResponse: func(*fasthttp.RequestCtx) error { return failing }}, 502, failing},
			{"an invalid Target", &fasthttpproxy.ReverseProxy{Target: "ftp://a"}, 500, nil},
			{"no Target", &fasthttpproxy.ReverseProxy{}, 500, nil},
		} {
			errs := make(chan error, 1)
			row.proxy.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) {
				errs <- err
				ctx.SetBodyString(strings.ToUpper(fmt.Sprint(ctx.Response.StatusCode())))
			}
			s := start(served(t, row.proxy))
			resp, content := s.MustAsk(t, "GET", "/", "")
			err := servertest.Receive(t, row.name, errs)
			if resp.StatusCode != row.status || content != fmt.Sprint(row.status) || row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("%s: got %d %q, %v", row.name, resp.StatusCode, content, err)
			}
		}
	})
}
