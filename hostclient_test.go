package fasthttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/hostmap"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestHostClientCallAllocatesNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("under the race detector a sync.Pool drops some values on purpose")
	}
	ln := fasthttputil.NewInmemoryListener()
	defer ln.Close()
	go func() {
		nc, err := ln.Accept()
		for buf, answer := make([]byte, 64<<10), []byte(servertest.OK); err == nil; {
			if _, err = nc.Read(buf); err == nil {
				_, err = nc.Write(answer)
			}
		}
	}()
	dial := func(string) (net.Conn, error) { return ln.Dial() }
	// the peer has only one connection
	client := &Client{Dial: dial, MaxIdleConnDuration: servertest.Never}
	defer client.CloseIdleConnections()
	req, resp := requestTo(t, MethodPost, "http://example.com/path?query"), responseFor(t)
	req.SetBodyString("a body")
	upload, content := requestTo(t, MethodPost, "http://example.com/upload"), make([]byte, copyLimit)
	var body []byte
	var args Args
	args.Set("name", "value")
	for name, call := range map[string]func() error{
		"Do":         func() error { return client.Do(req, resp) },
		"DoTimeout":  func() error { return client.DoTimeout(req, resp, time.Minute) },
		"DoDeadline": func() error { return client.DoDeadline(req, resp, time.Now().Add(time.Minute)) },
		"upload":     func() error { upload.SetBodyRaw(content); return client.Do(upload, resp) },
		"new target": func() error { req.SetRequestURI("http://example.com/other"); return client.Do(req, resp) },
		"redirects":  func() error { return client.DoRedirects(req, resp, 1) },
		"Get": func() (err error) {
			_, body, err = client.Get(body, "http://example.com/path")
			return err
		},
		"GetTimeout": func() (err error) {
			_, body, err = client.GetTimeout(body, "http://example.com/path", time.Minute)
			return err
		},
		"Post": func() (err error) {
			_, body, err = client.Post(body, "http://example.com/path", &args)
			return err
		},
	} {
		servertest.Must(t, call())
		if n := testing.AllocsPerRun(500, func() { servertest.Must(t, call()) }); n != 0 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

func TestHostClientCounts(t *testing.T) {
	gate := make(chan struct{})
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for c.Request() != nil {
			select {
			case <-gate:
				c.Send(servertest.OK)
			case <-c.Peer.Ended():
			}
		}
	})
	hc := hostFor(p)
	if !hc.LastUseTime().IsZero() {
		t.Error("used before its first use")
	}
	done := make(chan error)
	for range 3 {
		go func() { done <- hc.Do(requestTo(t, MethodGet, p.URL("/")), nil) }()
	}
	servertest.Eventually(t, "three requests", func() bool { return p.Requests.Load() == 3 })
	if hc.PendingRequests() != 3 || hc.ConnsCount() != 3 || hc.IdleConnsCount() != 0 {
		t.Errorf("%d calls, %d connections, %d idle", hc.PendingRequests(), hc.ConnsCount(), hc.IdleConnsCount())
	}
	close(gate)
	for range 3 {
		servertest.Must(t, servertest.Receive(t, "the end of a call", done))
	}
	if hc.PendingRequests() != 0 || hc.ConnsCount() != 3 || hc.IdleConnsCount() != 3 {
		t.Errorf("%d calls, %d connections, %d idle", hc.PendingRequests(), hc.ConnsCount(), hc.IdleConnsCount())
	}
	if since := time.Since(hc.LastUseTime()); since > servertest.Patience || since < -time.Second {
		t.Errorf("used %v ago", since)
	}
	hc.CloseIdleConnections()
	if hc.ConnsCount() != 0 {
		t.Errorf("%d connections after CloseIdleConnections", hc.ConnsCount())
	}
}

// The client closes connections that are idle for MaxIdleConnDuration.
func TestHostClientMaxIdleConnDuration(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	hc := hostFor(p)
	hc.MaxIdleConnDuration = servertest.Short
	servertest.Must(t, hc.Do(requestTo(t, MethodGet, p.URL("/")), nil))
	servertest.Eventually(t, "the idle connection closed", func() bool { return hc.ConnsCount() == 0 })
	servertest.Must(t, hc.Do(requestTo(t, MethodGet, p.URL("/")), nil))
	p.Counts(2, 2)
}

func TestHostClientMaxConnDuration(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	hc := hostFor(p)
	hc.MaxConnDuration = time.Nanosecond
	for range 3 {
		servertest.Must(t, hc.Do(requestTo(t, MethodGet, p.URL("/")), nil))
	}
	p.Counts(3, 3)
}

func TestHostClientPoolStrategy(t *testing.T) {
	for strategy, want := range map[ConnPoolStrategyType][]int{FIFO: {1, 2, 3, 1, 2, 3}, LIFO: {3, 3, 3, 3, 3, 3}} {
		var mu sync.Mutex
		var order []int
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			for c.Request() != nil {
				mu.Lock()
				order = append(order, c.Number)
				mu.Unlock()
				c.Send(servertest.OK)
			}
		})
		hc := hostFor(p)
		hc.ConnPoolStrategy = strategy
		var conns []*clientConn
		for i := range 3 {
			cc, err := hc.AcquireConn(0, false)
			servertest.Must(t, err)
			servertest.Eventually(t, "the connection accepted", func() bool { return p.Conns.Load() == int32(i+1) })
			conns = append(conns, cc)
		}
		for _, cc := range conns {
			hc.ReleaseConn(cc)
		}
		for range 6 {
			servertest.Must(t, hc.Do(requestTo(t, MethodGet, p.URL("/")), responseFor(t)))
		}
		if fmt.Sprint(order) != fmt.Sprint(want) {
			t.Errorf("strategy %d used connections %v, want %v", strategy, order, want)
		}
	}
}

// The client uses its addresses in turn, and skips one that it cannot reach.
func TestHostClientAddrList(t *testing.T) {
	p := servertest.Answering(t, servertest.OKClose)
	var dialed []string
	hc := &HostClient{Addr: "a:1, b,c:3", Dial: func(addr string) (net.Conn, error) {
		dialed = append(dialed, addr)
		if addr == "b" {
			return nil, errors.New("down")
		}
		return net.Dial("tcp4", p.Addr())
	}}
	for range 4 {
		servertest.Must(t, hc.Do(requestTo(t, MethodGet, "http://any/"), nil))
	}
	if got, want := fmt.Sprint(dialed), "[a:1 b c:3 c:3 a:1]"; got != want {
		t.Errorf("dialed %v, want %v", got, want)
	}
}

// A dial function gets the text of Addr, as in v1.77.0: it may know the address to
// connect to, or dial Unix sockets.
func TestDialFunctionsGetTheAddressAsItIs(t *testing.T) {
	p := servertest.Answering(t, servertest.OKClose)
	for _, addr := range []string{"", "/run/app.sock", "@abstract", "example.com", "[::1]", "::1", "example.com:8080"} {
		for _, withTimeout := range []bool{false, true} {
			got := "none"
			dial := func(addr string) (net.Conn, error) {
				got = addr
				return net.Dial("tcp4", p.Addr())
			}
			hc := &HostClient{Addr: addr, Dial: dial}
			if withTimeout {
				hc = &HostClient{Addr: addr, DialTimeout: func(addr string, _ time.Duration) (net.Conn, error) { return dial(addr) }}
			}
			servertest.Must(t, hc.Do(requestTo(t, MethodGet, "http://any/"), nil))
			if got != addr {
				t.Errorf("dialed %q, want %q", got, addr)
			}
		}
		got := "none"
		pc := &PipelineClient{Addr: addr, Dial: func(addr string) (net.Conn, error) {
			got = addr
			return nil, errors.New("down")
		}, Logger: &servertest.Log{}}
		if err := pc.DoTimeout(requestTo(t, MethodGet, "http://any/"), nil, servertest.Patience); err == nil || got != addr {
			t.Errorf("a PipelineClient dialed %q, want %q; %v", got, addr, err)
		}
	}
	if err := (&HostClient{}).Do(requestTo(t, MethodGet, "http://any/"), nil); err != errNoAddr {
		t.Errorf("without an address and a dial function: %v", err)
	}
}

func TestHostClientDialErrors(t *testing.T) {
	down := errors.New("down")
	for _, tt := range []struct {
		dial DialFunc
		want error
	}{
		{func(string) (net.Conn, error) { return nil, down }, down},
		{func(string) (net.Conn, error) { return nil, nil }, errNoConn},
	} {
		hc := &HostClient{Addr: "a:1,b:2", Dial: tt.dial}
		if err := hc.Do(requestTo(t, MethodGet, "http://any/"), nil); err != tt.want {
			t.Errorf("got %v, want %v", err, tt.want)
		}
		if n := hc.ConnsCount(); n != 0 {
			t.Errorf("%d connections", n)
		}
	}
	hc := &HostClient{Addr: "127.0.0.1:1"}
	err := hc.Do(requestTo(t, MethodGet, "http://any/"), nil)
	if dialErr, ok := errors.AsType[*ErrDialWithUpstream](err); !ok || dialErr.Upstream != "127.0.0.1:1" {
		t.Errorf("got %v, want an ErrDialWithUpstream", err)
	}
}

// A program may read and write on a connection of the client directly.
func TestHostClientAcquireConn(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	hc := hostFor(p)
	for i := range 3 {
		cc, err := hc.AcquireConn(time.Minute, false)
		servertest.Must(t, err)
		if cc.CreatedTime().IsZero() || cc.LastUseTime().Before(cc.CreatedTime().Add(-time.Second)) {
			t.Errorf("created %v, used %v", cc.CreatedTime(), cc.LastUseTime())
		}
		if i > 0 && cc.history.lastUse == 0 {
			t.Error("it is not known when the connection was used")
		}
		w, r := hc.AcquireWriter(cc.Conn()), hc.AcquireReader(cc.Conn())
		req, resp := requestTo(t, MethodGet, p.URL("/")), responseFor(t)
		servertest.Must(t, req.Write(w))
		servertest.Must(t, w.Flush())
		servertest.Must(t, resp.Read(r))
		hc.ReleaseWriter(w)
		hc.ReleaseReader(r)
		if string(resp.Body()) != "ok" {
			t.Errorf("got %q", resp.Body())
		}
		if i < 2 {
			hc.ReleaseConn(cc)
		} else {
			hc.CloseConn(cc)
		}
	}
	p.Counts(1, 3)
}

// counting is a RoundTripper that counts its calls.
type counting struct {
	attempts atomic.Int32
	left     time.Duration
}

func (c *counting) RoundTrip(hc *HostClient, req *Request, resp *Response) (bool, error) {
	c.attempts.Add(1)
	c.left = req.GetTimeOut()
	return DefaultTransport.RoundTrip(hc, req, resp)
}

func TestClientTransport(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Request()
		if c.Number < 3 {
			return
		}
		c.Send(servertest.OK)
	})
	transport := &counting{}
	client := &Client{Transport: transport}
	defer client.CloseIdleConnections()
	req, resp := requestTo(t, MethodGet, p.URL("/")), responseFor(t)
	servertest.Must(t, client.DoTimeout(req, resp, time.Minute))
	if n := transport.attempts.Load(); n != 3 || string(resp.Body()) != "ok" {
		t.Errorf("%d attempts, %q", n, resp.Body())
	}
	if transport.left <= 0 || transport.left > time.Minute || req.GetTimeOut() != 0 {
		t.Errorf("%v was left, and %v is in the request", transport.left, req.GetTimeOut())
	}
}

// A request that came by TLS keeps its scheme if a handler sends it on without, and the other way round.
func TestHostClientLeavesTheSchemeOfAReceivedRequest(t *testing.T) {
	for scheme, isTLS := range map[string]bool{"http": false, "https": true} {
		req := requestTo(t, MethodGet, "/path")
		req.Header.SetHost("a.test")
		req.isTLS = isTLS
		transport := roundTripFunc(func(*HostClient, *Request, *Response) (bool, error) { return false, nil })
		hc := &HostClient{Addr: "b.test:1", IsTLS: !isTLS, Transport: transport}
		servertest.Must(t, hc.Do(req, responseFor(t)))
		if got := req.URI().Scheme(); string(got) != scheme {
			t.Errorf("%s became %s", scheme, got)
		}
	}
}

// If a program replaces DefaultTransport, all clients use the replacement, and so
// does a client that names DefaultTransport.
func TestDefaultTransportReplaced(t *testing.T) {
	before := DefaultTransport
	t.Cleanup(func() { DefaultTransport = before })
	p := servertest.Answering(t, servertest.OK)
	attempts := 0
	// a RoundTripper whose type cannot be compared
	DefaultTransport = roundTripFunc(func(hc *HostClient, req *Request, resp *Response) (bool, error) {
		attempts++
		return before.RoundTrip(hc, req, resp)
	})
	plain, named, old := hostFor(p), hostFor(p), hostFor(p)
	named.Transport, old.Transport = DefaultTransport, before
	client, clientNamed := &Client{}, &Client{Transport: DefaultTransport}
	defer client.CloseIdleConnections()
	defer clientNamed.CloseIdleConnections()
	for i, do := range []func(*Request, *Response) error{plain.Do, named.Do, client.Do, clientNamed.Do, Do, old.Do} {
		attempts = 0
		servertest.Must(t, do(requestTo(t, MethodGet, p.URL("/")), responseFor(t)))
		want := 1
		if i == 5 {
			want = 0
		}
		if attempts != want {
			t.Errorf("client %d: %d attempts went through the transport", i, attempts)
		}
	}
	defaultClient.CloseIdleConnections()
}

type roundTripFunc func(hc *HostClient, req *Request, resp *Response) (bool, error)

func (f roundTripFunc) RoundTrip(hc *HostClient, req *Request, resp *Response) (bool, error) {
	return f(hc, req, resp)
}

// A program may call DefaultTransport directly, without a call of a client.
func TestDefaultTransportAlone(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	hc := hostFor(p)
	resp := responseFor(t)
	if retry, err := DefaultTransport.RoundTrip(hc, requestTo(t, MethodGet, p.URL("/")), resp); retry || err != nil {
		t.Errorf("got %v, %v", retry, err)
	}
	req := requestTo(t, MethodGet, servertest.Silent(t).URL("/"))
	req.SetTimeout(servertest.Short)
	other := hostFor(servertest.Silent(t))
	if _, err := DefaultTransport.RoundTrip(other, req, resp); err != error(ErrTimeout) {
		t.Errorf("got %v, want ErrTimeout", err)
	}
}

func TestClientSharesHosts(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	var configured []string
	client := &Client{
		Name: "mine", MaxIdleConnDuration: servertest.Never,
		Dial: func(string) (net.Conn, error) { return net.Dial("tcp4", p.Addr()) },
		ConfigureClient: func(hc *HostClient) error {
			configured = append(configured, hc.Addr)
			if hc.Name != "mine" {
				t.Errorf("Name is %q", hc.Name)
			}
			if hc.Addr == "refused.test:80" {
				return io.ErrNoProgress
			}
			return nil
		},
	}
	defer client.CloseIdleConnections()
	for _, uri := range []string{"http://a.test/", "http://A.TEST:80/", "http://a.test:80/", "http://a.test:81/"} {
		if _, _, err := client.Get(nil, uri); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if got := fmt.Sprint(configured); got != "[a.test:80 a.test:81]" {
		t.Errorf("hosts are %v", got)
	}
	if client.ConnsCount() != 2 || client.IdleConnsCount() != 2 {
		t.Errorf("%d connections, %d idle", client.ConnsCount(), client.IdleConnsCount())
	}
	for range 2 {
		if _, _, err := client.Get(nil, "http://refused.test/"); err != io.ErrNoProgress {
			t.Errorf("got %v, want the error of ConfigureClient", err)
		}
	}
	client.CloseIdleConnections()
	if n := client.ConnsCount(); n != 0 {
		t.Errorf("%d connections after CloseIdleConnections", n)
	}
}

func TestClientDropsHostsThatAreNotUsed(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	client := &Client{
		MaxIdleConnDuration: servertest.Never,
		Dial:                func(string) (net.Conn, error) { return net.Dial("tcp4", p.Addr()) },
	}
	for i := range 20 {
		if _, _, err := client.Get(nil, fmt.Sprintf("http://host%d.test/", i)); err != nil {
			t.Fatal(err)
		}
	}
	client.hosts.Sweep()
	if n := len(client.hosts.All()); n != 20 {
		t.Errorf("%d hosts while they have connections", n)
	}
	client.CloseIdleConnections()
	for _, hc := range client.hosts.All() {
		hc.lastUse.Store(int64(clock.Elapsed() - 2*hostmap.SweepInterval))
	}
	client.hosts.Sweep()
	if n := len(client.hosts.All()); n != 0 {
		t.Errorf("%d hosts are left", n)
	}
	if _, _, err := client.Get(nil, "http://host1.test/"); err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
}

func TestGetAndPostReuseTheirBuffer(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			answer := req.Method + " " + req.Header.Get("Content-Type") + " " + c.Body
			c.Send("HTTP/1.1 200 OK\r\nContent-Length: " + string(AppendUint(nil, len(answer))) + "\r\n\r\n" + answer)
		}
	})
	hc := hostFor(p)
	dst := append(make([]byte, 0, 200), "old content"...)
	_, body, err := hc.Get(dst, p.URL("/"))
	if err != nil || string(body) != "GET  " || &body[0] != &dst[0] {
		t.Errorf("Get: %q, %v", body, err)
	}
	var args Args
	args.Set("a", "b c")
	_, body, err = hc.Post(dst, p.URL("/"), &args)
	if err != nil || string(body) != "POST application/x-www-form-urlencoded a=b+c" || &body[0] != &dst[0] {
		t.Errorf("Post: %q, %v", body, err)
	}
	_, body, err = hc.Post(nil, p.URL("/"), nil)
	if err != nil || string(body) != "POST application/x-www-form-urlencoded " {
		t.Errorf("Post without arguments: %q, %v", body, err)
	}
}

// Known failure 38: the client verifies the certificate for every form of an
// address.
func TestCertificatesAreVerifiedForEveryAddress(t *testing.T) {
	for _, addr := range []string{
		"other.test:443", "other.test", "127.0.0.1:443", "::1", "[::1", "a:b:c", ":443", "example.test:443:443", "*",
	} {
		hc := &HostClient{Addr: addr, IsTLS: true, TLSConfig: &tls.Config{}}
		if config, err := hc.tlsConfig(addr); err == nil && config.InsecureSkipVerify {
			t.Errorf("%q: verification is off", addr)
		}
	}
}
