package fasthttpproxy

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"golang.org/x/net/http/httpproxy"
)

// listen serves connections until the test ends.
func listen(t *testing.T, addr string, serve func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skipf("%s cannot be listened on here: %v", addr, err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		serving.Wait()
	})
	return ln.Addr().String()
}

// echoes returns the address of an echo server.
func echoes(t *testing.T) string {
	return listen(t, "127.0.0.1:0", func(c net.Conn) { _, _ = io.Copy(c, c) })
}

// testProxy supports CONNECT and SOCKS5. It always connects to target.
type testProxy struct {
	target string
	user   string // the "user:password" that it requires, or ""
	answer string // the response to CONNECT; success by default

	mu    sync.Mutex
	asked []string
}

func (p *testProxy) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, what)
}

// requests returns the requests to the proxy since the last call.
func (p *testProxy) requests() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := strings.Join(p.asked, " ")
	p.asked = nil
	return asked
}

func (p *testProxy) serve(c net.Conn) {
	r := bufio.NewReader(c)
	first, err := r.Peek(1)
	if err != nil {
		return
	}
	agreed := false
	if first[0] == 5 {
		agreed = p.serveSocks(r, c)
	} else {
		agreed = p.serveConnect(r, c)
	}
	if !agreed {
		return
	}
	upstream, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer func() { _ = upstream.Close() }()
	go func() {
		_, _ = io.Copy(upstream, r)
		_ = upstream.Close()
	}()
	_, _ = io.Copy(c, upstream)
}

func (p *testProxy) serveConnect(r *bufio.Reader, c net.Conn) bool {
	req, err := http.ReadRequest(r)
	if err != nil {
		p.note("bad request: " + err.Error())
		return false
	}
	p.note(req.Method + " " + req.RequestURI + " for " + req.Host)
	if want := base64.StdEncoding.EncodeToString([]byte(p.user)); p.user != "" && req.Header.Get("Proxy-Authorization") != "Basic "+want {
		_, _ = io.WriteString(c, "HTTP/1.1 407 Who Are You\r\nContent-Length: 4\r\n\r\nwho?")
		return false
	}
	answer := p.answer
	if answer == "" {
		answer = "HTTP/1.1 200 Connection established\r\n\r\n"
	}
	_, _ = io.WriteString(c, answer)
	return strings.Contains(answer, " 200 ")
}

func (p *testProxy) serveSocks(r *bufio.Reader, c net.Conn) bool {
	read := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(r, b)
		return b
	}
	methods := read(int(read(2)[1]))
	if p.user == "" {
		_, _ = c.Write([]byte{5, 0})
	} else {
		if !strings.Contains(string(methods), "\x02") {
			_, _ = c.Write([]byte{5, 0xff})
			return false
		}
		_, _ = c.Write([]byte{5, 2})
		name := string(read(int(read(2)[1])))
		password := string(read(int(read(1)[0])))
		if name+":"+password != p.user {
			_, _ = c.Write([]byte{1, 1})
			return false
		}
		_, _ = c.Write([]byte{1, 0})
	}
	var host string
	switch head := read(4); head[3] {
	case 1:
		host = net.IP(read(4)).String()
	case 4:
		host = net.IP(read(16)).String()
	default:
		host = string(read(int(read(1)[0])))
	}
	port := binary.BigEndian.Uint16(read(2))
	p.note("SOCKS " + net.JoinHostPort(host, strconv.Itoa(int(port))))
	code := byte(0)
	if p.answer != "" {
		code = p.answer[0]
	}
	_, _ = c.Write([]byte{5, code, 0, 1, 127, 0, 0, 1, 0, 1})
	return code == 0
}

// expectEcho checks that conn is a connection to the echo server, closes it, and returns the
// bytes received before the echo.
func expectEcho(t *testing.T, conn net.Conn) (before string) {
	t.Helper()
	defer func() { _ = conn.Close() }()
	const text = "through the tunnel"
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	var got []byte
	b := make([]byte, 7)
	for !strings.HasSuffix(string(got), text) {
		n, err := conn.Read(b)
		if err != nil {
			t.Fatalf("%q, then %v", got, err)
		}
		got = append(got, b[:n]...)
	}
	return strings.TrimSuffix(string(got), text)
}

func TestDialThroughAProxy(t *testing.T) {
	open, closed := &testProxy{target: echoes(t)}, &testProxy{target: echoes(t), user: "me@home:s:cret"}
	openAddr, closedAddr := listen(t, "127.0.0.1:0", open.serve), listen(t, "127.0.0.1:0", closed.serve)
	open6 := listen(t, "[::1]:0", open.serve)
	for _, c := range []struct {
		name string
		dial fasthttp.DialFunc
		addr string
		want string
	}{
		{"HTTP", FasthttpHTTPDialer(openAddr), "name.test:80", "CONNECT name.test:80 for name.test:80"},
		{"HTTP by URL", FasthttpHTTPDialer("http://" + openAddr), "name.test:8080", "CONNECT name.test:8080 for name.test:8080"},
		{"HTTP to IPv6", FasthttpHTTPDialer(openAddr), "[2001:db8::1]:443", "CONNECT [2001:db8::1]:443 for [2001:db8::1]:443"},
		{"HTTP to a name in other letters", FasthttpHTTPDialer(openAddr), "b\u00fccher.test:80", "CONNECT xn--bcher-kva.test:80 for xn--bcher-kva.test:80"},
		{"HTTP to this host", FasthttpHTTPDialer(openAddr), "localhost:80", "CONNECT localhost:80 for localhost:80"},
		{"HTTP with credentials", FasthttpHTTPDialer("me%40home:s%3Acret@" + closedAddr), "name.test:80", "CONNECT name.test:80 for name.test:80"},
		{"HTTP with timeout", FasthttpHTTPDialerTimeout(openAddr, time.Minute), "name.test:80", "CONNECT name.test:80 for name.test:80"},
		{"HTTP over IPv6", FasthttpHTTPDialerDualStack(open6), "name.test:80", "CONNECT name.test:80 for name.test:80"},
		{"HTTP over IPv6 with timeout", FasthttpHTTPDialerDualStackTimeout(open6, time.Minute), "name.test:80", "CONNECT name.test:80 for name.test:80"},
		{"SOCKS5", FasthttpSocksDialer("socks5://" + openAddr), "name.test:80", "SOCKS name.test:80"},
		{"SOCKS5 without scheme", FasthttpSocksDialer(openAddr), "10.1.2.3:443", "SOCKS 10.1.2.3:443"},
		{"SOCKS5 to IPv6", FasthttpSocksDialer(openAddr), "[2001:db8::1]:443", "SOCKS [2001:db8::1]:443"},
		{"SOCKS5 with credentials", FasthttpSocksDialer("socks5://me%40home:s%3Acret@" + closedAddr), "name.test:80", "SOCKS name.test:80"},
		{"SOCKS5 over IPv6", FasthttpSocksDialerDualStack(open6), "name.test:80", "SOCKS name.test:80"},
		{"no proxy", FasthttpHTTPDialer(""), open.target, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := c.dial(c.addr)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := conn.(*net.TCPConn); !ok {
				t.Errorf("the connection is a %T", conn)
			}
			if before := expectEcho(t, conn); before != "" {
				t.Errorf("%q came out of the tunnel by itself", before)
			}
			if got := open.requests() + closed.requests(); got != c.want {
				t.Errorf("the proxy was asked for %q, want %q", got, c.want)
			}
		})
	}
}

func TestNothingBehindTheAnswerIsLost(t *testing.T) {
	for name, answer := range map[string]string{
		"short":          "HTTP/1.1 200 OK\r\n\r\nhello",
		"with hints":     "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nVia: a\r\n\r\nhello",
		"with a length":  "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nhello",
		"with chunks":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello",
		"with no length": "HTTP/1.1 200 OK\r\nContent-Length: -1\r\nContent-Length:\r\n\r\nhello",
		"with lengths":   "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nhello",
		"with codings":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, \x80\r\nTransfer-Encoding: chunked, chunked\r\n\r\nhello",
		"with HTTP/1.0":  "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nhello",
		"with long head": "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\nhello",
	} {
		t.Run(name, func(t *testing.T) {
			p := &testProxy{target: echoes(t), answer: answer}
			conn, err := FasthttpHTTPDialer(listen(t, "127.0.0.1:0", p.serve))("name.test:80")
			if err != nil {
				t.Fatal(err)
			}
			if before := expectEcho(t, conn); before != "hello" {
				t.Errorf("%q came before the echo", before)
			}
		})
	}
}

func TestWhatAProxySaysIsInTheError(t *testing.T) {
	for name, c := range map[string]struct {
		answer, user string
		status       int
		text         string
		cause        error
	}{
		"refused":     {answer: "HTTP/1.1 403 Not Here\r\nContent-Length: 3\r\n\r\nno!", status: 403, text: `403 "Not Here"`},
		"credentials": {user: "a:b", status: 407, text: `407 "Who Are You"`},
		"redirect":    {answer: "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", status: 302, text: "302"},
		"cut off":     {answer: "HTTP/1.1 200", cause: io.ErrUnexpectedEOF},
		"no HTTP":     {answer: "go away\r\n\r\n", text: "status line"},
		"endless":     {answer: strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 20), cause: errHints},
		"huge head":   {answer: "HTTP/1.1 403 OK\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &testProxy{answer: c.answer, user: c.user}
			addr := listen(t, "127.0.0.1:0", p.serve)
			_, err := FasthttpHTTPDialer("me:secret@" + addr)("name.test:80")
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("the error is %v", err)
			}
			if e.Proxy != addr || e.Target != "name.test:80" || e.StatusCode != c.status {
				t.Errorf("the error is about %s, %s and %d", e.Proxy, e.Target, e.StatusCode)
			}
			if c.text != "" && !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("the text is %q", err)
			}
			if c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("the error is %v, want %v", err, c.cause)
			}
			if name == "refused" && string(e.Body) != "no!" {
				t.Errorf("the body is %q", e.Body)
			}
		})
	}
	for name, p := range map[string]*testProxy{
		"SOCKS5 refused":     {answer: "\x02"},
		"SOCKS5 credentials": {user: "a:b"},
	} {
		addr := listen(t, "127.0.0.1:0", p.serve)
		if _, err := FasthttpSocksDialer("x:y@" + addr)("name.test:80"); err == nil || !strings.Contains(err.Error(), addr) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProxyTimeouts(t *testing.T) {
	release := make(chan struct{})
	silent := listen(t, "127.0.0.1:0", func(net.Conn) { <-release })
	defer close(release)
	const timeout = 30 * time.Millisecond
	for name, dial := range map[string]fasthttp.DialFunc{
		"HTTP":   FasthttpHTTPDialerTimeout(silent, timeout),
		"HTTPS":  FasthttpHTTPDialerTimeout("https://"+silent, timeout),
		"SOCKS5": fixed(&Dialer{ConnectTimeout: timeout}, silent, "socks5"),
	} {
		_, err := dial("name.test:80")
		if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() {
			t.Errorf("%s: %v is no timeout", name, err)
		}
	}
}

func TestTargetsCannotSayMoreThanTheyAre(t *testing.T) {
	p := &testProxy{target: echoes(t)}
	addr := listen(t, "127.0.0.1:0", p.serve)
	for _, dial := range []fasthttp.DialFunc{FasthttpHTTPDialer(addr), FasthttpSocksDialer(addr)} {
		for _, target := range []string{
			"name.test", "name.test:", ":80", "a b:80", "a\r\nX: y:80", "a:80\r\nX: y", "a:80 HTTP/1.1\r\n\r\n", "a\x00b:80",
			"user@name.test:80", "a/b:80", "name.test:99999", "name.test:-1", "name.test:http", "",
		} {
			if _, err := dial(target); !errors.Is(err, errTarget) {
				t.Errorf("%q: %v", target, err)
			}
		}
	}
	if asked := p.requests(); asked != "" {
		t.Errorf("the proxy was asked for %q", asked)
	}
}

func TestProxiesThatAreNotUnderstoodAreNotLeftOut(t *testing.T) {
	for _, text := range []string{"ftp://name.test", "http://", "%zz", "http://a b", "name.test:99999", "://", "http://u:secret@name.test:x"} {
		for name, dial := range map[string]fasthttp.DialFunc{"HTTP": FasthttpHTTPDialer(text), "SOCKS5": FasthttpSocksDialer(text)} {
			if _, err := dial("127.0.0.1:1"); err != errProxy {
				t.Errorf("%s through %q: %v", name, text, err)
			}
		}
		for _, config := range []httpproxy.Config{{HTTPProxy: text}, {HTTPSProxy: text}} {
			d := &Dialer{Config: config}
			if _, err := d.GetDialFunc(false); err != errProxy {
				t.Errorf("GetDialFunc with %+v: %v", config, err)
			}
			if _, err := d.GetDialFuncForTLS(false, true); err != errProxy {
				t.Errorf("GetDialFuncForTLS with %+v: %v", config, err)
			}
		}
	}
}

// expectRoute checks which of two proxies a dial uses.
func expectRoute(t *testing.T, what string, dial fasthttp.DialFunc, addr, want string, proxies ...*testProxy) {
	t.Helper()
	conn, err := dial(addr)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	expectEcho(t, conn)
	var got []string
	for i, p := range proxies {
		if p.requests() != "" {
			got = append(got, strconv.Itoa(i))
		}
	}
	if route := strings.Join(got, " "); route != want {
		t.Errorf("%s: it went through proxy %q, want %q", what, route, want)
	}
}

func TestWhichProxyIsForWhom(t *testing.T) {
	target := echoes(t)
	plain, secure := &testProxy{target: target}, &testProxy{target: target}
	plainAddr, secureAddr := listen(t, "127.0.0.1:0", plain.serve), listen(t, "127.0.0.1:0", secure.serve)
	config := httpproxy.Config{HTTPProxy: plainAddr, HTTPSProxy: "socks5://" + secureAddr, NoProxy: "127.0.0.0/8,.direct.test"}
	d := &Dialer{Config: config}
	check := func(t *testing.T, useEnv bool) {
		t.Helper()
		guess, err := d.GetDialFunc(useEnv)
		if err != nil {
			t.Fatal(err)
		}
		expectRoute(t, "port 80", guess, "name.test:80", "0", plain, secure)
		expectRoute(t, "port 443", guess, "name.test:443", "1", plain, secure)
		expectRoute(t, "port 8443", guess, "name.test:8443", "0", plain, secure)
		expectRoute(t, "this host", guess, target, "", plain, secure)
		for isTLS, want := range map[bool]string{false: "0", true: "1"} {
			known, err := d.GetDialFuncForTLS(useEnv, isTLS)
			if err != nil {
				t.Fatal(err)
			}
			expectRoute(t, "port 8443 and known", known, "name.test:8443", want, plain, secure)
		}
	}
	t.Run("configured", func(t *testing.T) { check(t, false) })
	t.Run("environment", func(t *testing.T) {
		for name, value := range map[string]string{
			"HTTP_PROXY": config.HTTPProxy, "HTTPS_PROXY": config.HTTPSProxy, "NO_PROXY": config.NoProxy,
			"http_proxy": "", "https_proxy": "", "no_proxy": "", "REQUEST_METHOD": "",
		} {
			t.Setenv(name, value)
			if value == "" {
				_ = os.Unsetenv(name)
			}
		}
		check(t, true)
		expectRoute(t, "function", FasthttpProxyHTTPDialer(), "name.test:80", "0", plain, secure)
		expectRoute(t, "function with timeout", FasthttpProxyHTTPDialerTimeout(time.Minute), "name.test:443", "1", plain, secure)
		t.Setenv("HTTP_PROXY", "ftp://name.test")
		if _, err := FasthttpProxyHTTPDialer()("name.test:80"); err != errProxy {
			t.Error(err)
		}
	})
}

func TestTLSWithTheProxy(t *testing.T) {
	// a server with a certificate for example.com, and a client that trusts it
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	p := &testProxy{target: echoes(t), answer: "HTTP/1.1 200 OK\r\n\r\nhello"}
	addr := listen(t, "127.0.0.1:0", func(c net.Conn) {
		p.serve(tls.Server(c, &tls.Config{Certificates: known.TLS.Certificates}))
	})
	pool := x509.NewCertPool()
	pool.AddCert(known.Certificate())
	d := &Dialer{Config: httpproxy.Config{HTTPProxy: "https://" + addr}}
	dial, err := d.GetDialFunc(false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dial("name.test:80"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate was taken: %v", err)
	}
	d.ProxyTLSConfig = &tls.Config{RootCAs: pool}
	conn, err := dial("name.test:80")
	if err != nil {
		t.Fatal(err)
	}
	if before := expectEcho(t, conn); before != "hello" {
		t.Errorf("%q came before the echo", before)
	}
}

func TestDialerIsADialerForOthers(t *testing.T) {
	target := echoes(t)
	d := &Dialer{Config: httpproxy.Config{HTTPProxy: "127.0.0.1:1"}}
	for _, network := range []string{"tcp", "tcp4"} {
		conn, err := d.Dial(network, target)
		if err != nil {
			t.Fatal(err)
		}
		expectEcho(t, conn)
	}
	asked := ""
	f := DialerFunc(func(network, addr string) (net.Conn, error) {
		asked = network + " " + addr
		return nil, io.EOF
	})
	if _, err := f.Dial("tcp", "a:1"); err != io.EOF || asked != "tcp a:1" {
		t.Errorf("%q, %v", asked, err)
	}
}

func TestUnreachableProxyIsNamed(t *testing.T) {
	addr := "127.0.0.1:" + servertest.FreePort(t)
	_, err := FasthttpHTTPDialer(addr)("name.test:80")
	if e, ok := errors.AsType[*fasthttp.ErrDialWithUpstream](err); !ok || e.Upstream != addr {
		t.Errorf("the error is %v", err)
	}
}

func ExampleFasthttpHTTPDialer() {
	c := &fasthttp.Client{Dial: FasthttpHTTPDialer("user:password@proxy.example:8080")}
	_ = c
}

func ExampleDialer() {
	d := &Dialer{
		Config:         httpproxy.Config{HTTPSProxy: "socks5://proxy.example:1080", NoProxy: ".internal.example"},
		Timeout:        time.Second,
		ConnectTimeout: 5 * time.Second,
	}
	dial, err := d.GetDialFuncForTLS(false, true)
	if err != nil {
		panic(err)
	}
	c := &fasthttp.HostClient{Addr: "api.example:8443", IsTLS: true, Dial: dial}
	_ = c
}
