package fasthttpproxy

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"golang.org/x/net/http/httpproxy"
)

// plainProxy answers requests with the text of the request, and supports no tunnels.
func plainProxy(t *testing.T) (server *httptest.Server, asked chan string) {
	asked = make(chan string, 1)
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.RequestURI + " " + r.Host + " " + r.Header.Get("Proxy-Authorization")
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(server.Close)
	return server, asked
}

func TestPlainHTTPGoesToAProxyInAbsoluteForm(t *testing.T) {
	server, asked := plainProxy(t)
	server.Start()
	proxyURL, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxyURL.User = url.UserPassword("u", "p:w")
	d := &Dialer{Config: httpproxy.Config{HTTPProxy: proxyURL.String(), HTTPSProxy: proxyURL.String(), NoProxy: "direct.test"}}
	configure, err := d.ConfigureClient(false)
	if err != nil {
		t.Fatal(err)
	}
	client := &fasthttp.Client{ConfigureClient: configure}
	defer client.CloseIdleConnections()
	const auth = " Basic dTpwOnc="
	for _, tt := range []struct{ method, uri, want string }{
		{"GET", "http://a.test/x?y=z#h", "GET http://a.test/x?y=z a.test" + auth},
		{"GET", "http://user:pass@a.test:8080", "GET http://a.test:8080/ a.test:8080" + auth},
		{"POST", "http://b\u00fc.test/", "POST http://xn--b-eha.test/ xn--b-eha.test" + auth},
		{"GET", "http://[2001:db8::1%25eth0]/", "GET http://[2001:db8::1]/ [2001:db8::1]" + auth},
		{"OPTIONS", "http://a.test/x", "OPTIONS http://a.test/x a.test" + auth},
	} {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		req.Header.SetMethod(tt.method)
		req.SetRequestURI(tt.uri)
		for range 2 {
			if err := client.Do(req, resp); err != nil || resp.StatusCode() != 200 {
				t.Fatalf("%s: %v, %d", tt.uri, err, resp.StatusCode())
			}
			if got := servertest.Receive(t, "the request", asked); got != tt.want {
				t.Errorf("%s: the proxy was asked for %q, want %q", tt.uri, got, tt.want)
			}
		}
		if req.Header.Peek("Proxy-Authorization") != nil || strings.Contains(req.String(), " http://") {
			t.Errorf("%s: the request became %q", tt.uri, req.String())
		}
		fasthttp.ReleaseRequest(req)
		fasthttp.ReleaseResponse(resp)
	}
	// the server itself as the target, and credentials set by the caller
	hc := &fasthttp.HostClient{Addr: "a.test"}
	if err := configure(hc); err != nil {
		t.Fatal(err)
	}
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	req.Header.SetMethod("OPTIONS")
	req.Header.SetRequestURI("*")
	req.Header.SetHost("a.test")
	req.Header.Set("Proxy-Authorization", "own")
	if err := hc.Do(req, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := servertest.Receive(t, "the request", asked), "OPTIONS http://a.test a.test own"; got != want {
		t.Errorf("the proxy was asked for %q, want %q", got, want)
	}
	hc.CloseIdleConnections()
	// TLS is tunneled
	if _, _, err := client.Get(nil, "https://a.test/"); err == nil {
		t.Error("the proxy has opened a tunnel")
	}
	if got := servertest.Receive(t, "the request", asked); !strings.HasPrefix(got, "CONNECT a.test:443 ") {
		t.Errorf("the proxy was asked for %q", got)
	}
}

func TestAbsoluteFormOverTLSAndWithoutAProxy(t *testing.T) {
	server, asked := plainProxy(t)
	server.StartTLS()
	config := server.Client().Transport.(*http.Transport).TLSClientConfig
	direct := listen(t, "127.0.0.1:0", func(c net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		asked <- req.RequestURI
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
	})
	d := &Dialer{ProxyTLSConfig: config, Config: httpproxy.Config{HTTPProxy: server.URL}}
	configure, err := d.ConfigureClient(false)
	if err != nil {
		t.Fatal(err)
	}
	client := &fasthttp.Client{ConfigureClient: configure}
	defer client.CloseIdleConnections()
	for uri, want := range map[string]string{"http://a.test/x": "GET http://a.test/x a.test ", "http://" + direct + "/x": "/x"} {
		if _, _, err := client.Get(nil, uri); err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		if got := servertest.Receive(t, "the request", asked); got != want {
			t.Errorf("%s: asked for %q, want %q", uri, got, want)
		}
	}
	bad := &Dialer{Config: httpproxy.Config{HTTPProxy: "what://x"}}
	if _, err := bad.ConfigureClient(false); err == nil {
		t.Error("an unknown scheme is let pass")
	}
}

// The addresses of a HostClient may lack a port, and there may be several of them.
func TestConfiguredAddresses(t *testing.T) {
	tunnel, control := &testProxy{target: echoes(t)}, errors.New("not here")
	tunnelAddr := listen(t, "127.0.0.1:0", tunnel.serve)
	for _, tt := range []struct {
		addr, proxy string
		isTLS       bool
		want        string // what the tunnel was asked for, or the address that was dialed
	}{
		{addr: "name.test", proxy: "http", isTLS: true, want: "CONNECT name.test:443 for name.test:443"},
		{addr: "name.test:8443,other.test", proxy: "http", isTLS: true, want: "CONNECT name.test:8443 for name.test:8443"},
		{addr: "name.test", proxy: "socks5", want: "SOCKS name.test:80"},
		{addr: "[2001:db8::1]", proxy: "socks5", want: "SOCKS [2001:db8::1]:80"},
		{addr: "127.0.0.1", proxy: "socks5", want: "127.0.0.1:80"},
		{addr: "127.0.0.1", proxy: "socks5", isTLS: true, want: "127.0.0.1:443"},
		{addr: "127.0.0.1:8080 , name.test:80", proxy: "socks5", want: "127.0.0.1:8080"},
	} {
		dialed := ""
		d := &Dialer{Config: httpproxy.Config{HTTPProxy: tt.proxy + "://" + tunnelAddr, NoProxy: "127.0.0.1"}}
		d.HTTPSProxy = d.HTTPProxy
		d.Control = func(_, address string, _ syscall.RawConn) error {
			if address == tunnelAddr {
				return nil
			}
			dialed = address
			return control
		}
		configure, err := d.ConfigureClient(false)
		servertest.Must(t, err)
		hc := &fasthttp.HostClient{Addr: tt.addr, IsTLS: tt.isTLS}
		servertest.Must(t, configure(hc))
		first, _, _ := strings.Cut(tt.addr, ",")
		conn, err := hc.Dial(strings.TrimSpace(first))
		if err == nil {
			expectEcho(t, conn)
		}
		if got := dialed + tunnel.requests(); got != tt.want || (err == nil) != (dialed == "") {
			t.Errorf("%s, by %s: got %q, %v; want %q", tt.addr, tt.proxy, got, err, tt.want)
		}
	}
}

// A host that was set, and so was not checked, neither ends the target nor the request line.
func TestHostsThatWereSetStayInTheAbsoluteForm(t *testing.T) {
	lines := make(chan string, 1)
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for {
			line, err := c.R.ReadString('\n')
			if err != nil || !c.Head() {
				return
			}
			lines <- line
			c.OK("")
		}
	})
	hc := servertest.EndsWith(t, &fasthttp.HostClient{Addr: p.Addr(), AbsoluteForm: true})
	for host, want := range map[string]string{
		"a.test": "a.test", "a.test\r\nx:y": "a.test%0D%0Ax:y", "a.test x": "a.test%20x", "a.test\x00": "a.test%00",
	} {
		req := &fasthttp.Request{}
		req.SetRequestURI("http://b.test/p")
		req.URI().SetHost(host)
		servertest.Must(t, hc.Do(req, nil))
		if got := servertest.Receive(t, "a request", lines); got != "GET http://"+want+"/p HTTP/1.1\r\n" {
			t.Errorf("%q: the request line is %q", host, got)
		}
	}
	for _, host := range []string{"a.test/x", "a.test?x", "a.test#x", "a@b.test", `a.test\x`} {
		req := &fasthttp.Request{}
		req.SetRequestURI("http://b.test/p")
		req.URI().SetHost(host)
		want := fasthttp.InvalidHostError(strings.Trim(host, "abtesx."))
		if err := hc.DoTimeout(req, nil, servertest.Patience); err != want {
			t.Errorf("%q: got %v", host, err)
		}
	}
}
