package integrationtests

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/servertest"
)

const (
	maxStreams    = uint32(http2.SettingMaxConcurrentStreams)
	initialWindow = uint32(http2.SettingInitialWindowSize)
	maxFrame      = uint32(http2.SettingMaxFrameSize)
	tableSize     = uint32(http2.SettingHeaderTableSize)
)

// greeted returns the connection of a client after one call: the client knows the settings.
func (p *h2Peer) greeted(hc *fasthttp.HostClient, settings ...uint32) *h2Side {
	p.T.Helper()
	call := p.get(hc, "/first")
	c := p.Greet(settings...)
	c.Serve()
	call.is(200, "/first")
	c.Until("the acknowledgement", func() bool { return c.Acks == 1 })
	return c
}

// change sends settings, and waits until the client has them.
func changeSettings(c *h2Side, settings ...uint32) {
	c.T.Helper()
	acks := c.Acks
	c.Settings(settings...).Flush()
	c.Until("the acknowledgement", func() bool { return c.Acks > acks })
}

// expectNoRequest checks that no further request arrives.
func expectNoRequest(c *h2Side) {
	c.T.Helper()
	c.Sync()
	if len(c.Order) > c.Taken {
		c.T.Fatalf("requests %v came, %d of which were expected", c.Order, c.Taken)
	}
}

// TestHTTP2ClientSharesConnections fills a connection, then a second one, and has one more
// call.
func TestHTTP2ClientSharesConnections(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*h2Peer{"plain": newH2Peer(t), "TLS": newH2TLSPeer(t, "h2")} {
		hc := p.client()
		hc.MaxConns = 2
		first := p.greeted(hc, maxStreams, 3)
		var calls []*h2Call
		call := func() {
			calls = append(calls, p.get(hc, fmt.Sprint("/", len(calls))))
		}
		for range 3 {
			call()
		}
		requests := first.Requests(3)
		p.HasAccepted(1)
		call()
		second := p.Greet(maxStreams, 3)
		others := second.Requests(1)
		second.Sync()
		call()
		call()
		others = append(others, second.Requests(2)...)
		call() // there is no room for it
		servertest.Eventually(t, "7 calls", func() bool { return hc.PendingRequests() == 7 })
		expectNoRequest(first)
		expectNoRequest(second)
		p.HasAccepted(2)
		if n := hc.ConnsCount(); n != 2 {
			t.Errorf("%s: ConnsCount is %d with two connections", name, n)
		}
		if n := hc.IdleConnsCount(); n != 0 {
			t.Errorf("%s: IdleConnsCount is %d with calls on both connections", name, n)
		}
		first.Respond(requests[1], "200", requests[1].Field(":path"))
		requests[1] = first.Request()
		for _, r := range requests {
			first.Respond(r, "200", r.Field(":path"))
		}
		for _, r := range others {
			second.Respond(r, "200", r.Field(":path"))
		}
		for i, call := range calls {
			call.is(200, fmt.Sprint("/", i))
		}
		servertest.Eventually(t, "two idle connections", func() bool { return hc.IdleConnsCount() == 2 })
	}
}

// TestHTTP2ClientFollowsTheNumberOfStreams changes the number of streams while calls run.
func TestHTTP2ClientFollowsTheNumberOfStreams(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	hc.MaxConns = 1
	c := p.greeted(hc, maxStreams, 3)
	var calls []*h2Call
	for range 3 {
		calls = append(calls, p.get(hc, "/"))
	}
	open := c.Requests(3)
	changeSettings(c, maxStreams, 1)
	for range 3 {
		calls = append(calls, p.get(hc, "/"))
	}
	servertest.Eventually(t, "6 calls", func() bool { return hc.PendingRequests() == 6 })
	for range 2 {
		expectNoRequest(c)
		c.Respond(open[0], "200", "well")
		open = open[1:]
	}
	expectNoRequest(c)
	// two more at once
	changeSettings(c, maxStreams, 3)
	open = append(open, c.Requests(2)...)
	expectNoRequest(c)
	// none at all
	changeSettings(c, maxStreams, 0)
	for _, r := range open {
		c.Respond(r, "200", "well")
	}
	expectNoRequest(c)
	late := startCall(t, func(req *fasthttp.Request, resp *fasthttp.Response) error {
		return hc.DoTimeout(req, resp, servertest.Short)
	}, "GET", p.URL("/"))
	late.fails(fasthttp.ErrTimeout)
	changeSettings(c, maxStreams, 100)
	c.Respond(c.Request(), "200", "well")
	for _, call := range calls {
		call.is(200, "well")
	}
	p.HasAccepted(1)
}

// TestHTTP2ClientDialsOnce has many calls that begin before there is a connection.
func TestHTTP2ClientDialsOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		peer *h2Peer
		set  func(hc *fasthttp.HostClient)
	}{
		"plain":                 {newH2Peer(t), func(*fasthttp.HostClient) {}},
		"TLS":                   {newH2TLSPeer(t, "h2"), func(*fasthttp.HostClient) {}},
		"TLS, HTTP/1.1 as well": {newH2TLSPeer(t, "h2"), func(hc *fasthttp.HostClient) { hc.Protocols.SetHTTP1(true) }},
	} {
		p, hc := tt.peer, tt.peer.client()
		tt.set(hc)
		gate := make(chan struct{})
		var dials atomic.Int32
		hc.Dial = func(addr string) (net.Conn, error) {
			dials.Add(1)
			<-gate
			return net.Dial("tcp4", addr)
		}
		const n = 60
		var calls []*h2Call
		for i := range n {
			calls = append(calls, p.post(hc, fmt.Sprint("/", i), numbered(i)))
		}
		servertest.Eventually(t, "all calls", func() bool { return hc.PendingRequests() == n })
		servertest.Eventually(t, "a dial", func() bool { return dials.Load() > 0 })
		close(gate)
		c := p.Greet(maxStreams, n)
		for range n {
			r := c.Whole()
			c.Respond(r, "200", r.Field(":path")+string(r.Content))
		}
		for i, call := range calls {
			call.is(200, fmt.Sprint("/", i, numbered(i)))
		}
		if got := dials.Load(); got != 1 {
			t.Errorf("%s: %d dials, want 1", name, got)
		}
	}
}

// TestHTTP2ClientDialFails has calls that wait for a failing dial: all of them fail, none
// hangs, and the next call dials again.
func TestHTTP2ClientDialFails(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	gate, broken := make(chan struct{}), fmt.Errorf("the network is gone")
	var good atomic.Bool
	hc.Dial = func(addr string) (net.Conn, error) {
		if good.Load() {
			return net.Dial("tcp4", addr)
		}
		<-gate
		return nil, broken
	}
	hc.MaxIdemponentCallAttempts = 1
	var calls []*h2Call
	for range 20 {
		calls = append(calls, p.get(hc, "/"))
	}
	servertest.Eventually(t, "all calls", func() bool { return hc.PendingRequests() == 20 })
	close(gate)
	for _, call := range calls {
		call.failsWith(broken.Error())
	}
	good.Store(true)
	call := p.get(hc, "/again")
	p.Greet().Serve()
	call.is(200, "/again")
}

// protocolServer serves the protocol of the request over TLS.
func protocolServer(t *testing.T, protos ...string) (addr string) {
	cert, key := servertest.Certificate()
	pair, err := tls.X509KeyPair(cert, key)
	servertest.Must(t, err)
	ln, err := tls.Listen("tcp4", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: protos})
	servertest.Must(t, err)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) })}
	s.ErrorLog = log.New(io.Discard, "", 0)
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(slices.Contains(protos, "h2"))
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close() })
	return ln.Addr().String()
}

// TestHTTP2ClientNegotiates has servers that speak one version or both, or do not use ALPN.
func TestHTTP2ClientNegotiates(t *testing.T) {
	t.Parallel()
	var none, one, two, both fasthttp.Protocols
	one.SetHTTP1(true)
	two.SetHTTP2(true)
	both.SetHTTP1(true)
	both.SetHTTP2(true)
	for _, tt := range []struct {
		client fasthttp.Protocols
		server []string
		want   string // "" for an error
	}{
		{none, []string{"h2", "http/1.1"}, "HTTP/1.1"},
		{one, []string{"h2", "http/1.1"}, "HTTP/1.1"},
		{two, []string{"h2", "http/1.1"}, "HTTP/2.0"},
		{both, []string{"h2", "http/1.1"}, "HTTP/2.0"},
		{both, []string{"http/1.1"}, "HTTP/1.1"},
		{both, nil, "HTTP/1.1"},
		{both, []string{"h2"}, "HTTP/2.0"},
		{two, []string{"http/1.1"}, ""},
		{two, nil, ""},
	} {
		t.Run(fmt.Sprint(tt.client, tt.server), func(t *testing.T) {
			t.Parallel()
			addr := protocolServer(t, tt.server...)
			var dials atomic.Int32
			client := &fasthttp.Client{Protocols: tt.client, TLSConfig: servertest.TrustCertificate(), Dial: func(addr string) (net.Conn, error) {
				dials.Add(1)
				return net.Dial("tcp4", addr)
			}}
			defer client.CloseIdleConnections()
			for range 5 {
				req, resp := requestTo(t, "GET", "https://"+addr+"/"), responseFor(t)
				err := client.DoTimeout(req, resp, servertest.Patience)
				if tt.want == "" {
					if err == nil {
						t.Errorf("the call succeeded by %s", resp.Header.Protocol())
					} else if errors := err.Error(); strings.Contains(errors, "timeout") {
						t.Errorf("got %v", err)
					}
					return
				}
				if err != nil || string(resp.Body()) != tt.want || string(resp.Header.Protocol()) != tt.want {
					t.Fatalf("the server got %q, the client %q, %v, want %s", resp.Body(), resp.Header.Protocol(), err, tt.want)
				}
			}
			if got := dials.Load(); got != 1 {
				t.Errorf("%d dials, want 1", got)
			}
		})
	}
}

// TestHTTP2ClientFindsHTTP1AfterManyCallsBegan has calls that all wait for the same
// handshake, which ends with HTTP/1.1.
func TestHTTP2ClientFindsHTTP1AfterManyCallsBegan(t *testing.T) {
	t.Parallel()
	addr := protocolServer(t, "http/1.1")
	hc := &fasthttp.HostClient{Addr: addr, IsTLS: true, TLSConfig: servertest.TrustCertificate(), MaxConns: 4}
	hc.Protocols.SetHTTP1(true)
	hc.Protocols.SetHTTP2(true)
	defer hc.CloseIdleConnections()
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			status, body, err := hc.GetTimeout(nil, "https://"+addr+"/", servertest.Patience)
			if status != 200 || string(body) != "HTTP/1.1" || err != nil {
				t.Errorf("got %d %q, %v", status, body, err)
			}
		})
	}
	all.Wait()
	if n := hc.ConnsCount(); n > 4 {
		t.Errorf("there are %d connections, MaxConns is 4", n)
	}
}

// TestHTTP2ClientWithoutTLSAndBothVersions speaks HTTP/1.1 where it could speak both.
func TestHTTP2ClientWithoutTLSAndBothVersions(t *testing.T) {
	t.Parallel()
	p := servertest.Answering(t, servertest.OK)
	hc := hostFor(p)
	hc.Protocols.SetHTTP1(true)
	hc.Protocols.SetHTTP2(true)
	hc.Protocols.SetUnencryptedHTTP2(true)
	resp := responseFor(t)
	servertest.Must(t, hc.Do(requestTo(t, "GET", p.URL("/")), resp))
	if got := string(resp.Header.Protocol()); got != "HTTP/1.1" {
		t.Errorf("got %s", got)
	}
}

// TestHTTP2ClientFindsHTTP1WithoutTLS sends HTTP/2 to a server that speaks only HTTP/1: once.
func TestHTTP2ClientFindsHTTP1WithoutTLS(t *testing.T) {
	t.Parallel()
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	hc := &fasthttp.HostClient{Addr: s.Listener.Addr().String()}
	hc.Protocols.SetUnencryptedHTTP2(true)
	for _, method := range []string{"GET", "POST"} {
		err := hc.Do(requestTo(t, method, s.URL), responseFor(t))
		if err == nil || !strings.Contains(err.Error(), "the server speaks HTTP/1") {
			t.Errorf("%s: got %v", method, err)
		}
		if n := conns.Swap(0); n != 1 {
			t.Errorf("%s: %d connections", method, n)
		}
	}
}

// TestHTTP2ClientDrains receives GOAWAY: calls in progress complete, and new ones use another
// connection.
func TestHTTP2ClientDrains(t *testing.T) {
	t.Parallel()
	for name, goAway := range map[string]func(c *h2Side){
		"at once": func(c *h2Side) { c.GoAway(7, http2.ErrCodeNo).Flush() },
		"in two steps": func(c *h2Side) {
			c.GoAway(1<<31-1, http2.ErrCodeNo).Flush()
			c.Sync()
			c.GoAway(7, http2.ErrCodeNo).Flush()
		},
		"before it is sure": func(c *h2Side) { c.GoAway(1<<31-1, http2.ErrCodeNo).Flush() },
	} {
		t.Run(name, func(t *testing.T) {
			p := newH2Peer(t)
			hc := p.client()
			c := p.greeted(hc)
			var calls []*h2Call
			for range 2 {
				calls = append(calls, p.get(hc, "/old"))
			}
			calls = append(calls, p.post(hc, "/old", numbered(100_000)))
			old := c.Requests(3)
			goAway(c)
			c.Sync()
			fresh := p.get(hc, "/new")
			other := p.Greet()
			other.Serve()
			fresh.is(200, "/new")
			c.Window(0, 100_000)
			for _, r := range old {
				if !r.Ended {
					c.Window(r.ID, 100_000)
					c.Flush()
					c.EndOf(r)
				}
				c.Respond(r, "200", "old")
			}
			for _, call := range calls {
				call.is(200, "old")
			}
			if got := c.Ending(); got != "NO_ERROR" && got != "cut" {
				t.Errorf("the connection ends with %s", got)
			}
			fresh = p.get(hc, "/again")
			other.Serve()
			fresh.is(200, "/again")
			p.HasAccepted(2)
			servertest.Eventually(t, "one connection", func() bool { return hc.ConnsCount() == 1 })
		})
	}
}

// TestHTTP2ClientSeesTheEndOfIdleConnections has a server that ends a connection without
// calls. The next call uses a new one, even if it is not idempotent.
func TestHTTP2ClientSeesTheEndOfIdleConnections(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *h2Side){
		"close":            func(c *h2Side) { _ = c.Close() },
		"GOAWAY and close": func(c *h2Side) { c.GoAway(1, http2.ErrCodeNo).Flush(); _ = c.Close() },
		"GOAWAY":           func(c *h2Side) { c.GoAway(1, http2.ErrCodeNo).Flush() },
		"an error":         func(c *h2Side) { c.GoAway(1, http2.ErrCodeEnhanceYourCalm).Flush() },
		"reset":            func(c *h2Side) { servertest.Reset(c.Conn.Conn) },
	} {
		p := newH2Peer(t)
		hc := p.client()
		end(p.greeted(hc))
		servertest.Eventually(t, "no connection after "+name, func() bool { return hc.ConnsCount() == 0 })
		call := p.post(hc, "/new", "pay")
		p.Greet().Serve()
		call.is(200, "/new")
		p.HasAccepted(2)
	}
}

// TestHTTP2ClientPostsWhileIdleConnectionsEnd sends a POST while its connection ends.
func TestHTTP2ClientPostsWhileIdleConnectionsEnd(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	for i := range servertest.Times(500) {
		c := p.greeted(hc)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_ = c.GoAway(1, http2.ErrCodeNo).TryFlush()
			_ = c.Close()
		}()
		call := p.post(hc, fmt.Sprint("/", i), "pay")
		next := p.Greet()
		next.Serve()
		call.is(200, fmt.Sprint("/", i))
		servertest.Receive(t, "the end of the connection", gone)
		_ = next.Close()
		servertest.Eventually(t, "no connection", func() bool { return hc.ConnsCount() == 0 })
	}
}

// TestHTTP2ClientEndsIdleConnections has connections that are not used.
func TestHTTP2ClientEndsIdleConnections(t *testing.T) {
	t.Parallel()
	t.Run("MaxIdleConnDuration", func(t *testing.T) {
		t.Parallel()
		p := newH2Peer(t)
		hc := p.client()
		hc.MaxIdleConnDuration = 2 * servertest.Short
		if got := p.greeted(hc).Ending(); got != "NO_ERROR" {
			t.Errorf("the connection ends with %s", got)
		}
		servertest.Eventually(t, "no connection", func() bool { return hc.ConnsCount() == 0 })
	})
	t.Run("CloseIdleConnections", func(t *testing.T) {
		t.Parallel()
		p := newH2Peer(t)
		hc := p.client()
		c := p.greeted(hc)
		call := p.get(hc, "/busy")
		r := c.Request()
		hc.CloseIdleConnections()
		c.Sync()
		if c.Away != nil {
			t.Error("a connection with a call is closed")
		}
		c.Respond(r, "200", "well")
		call.is(200, "well")
		servertest.Eventually(t, "an idle connection", func() bool { return hc.IdleConnsCount() == 1 })
		hc.CloseIdleConnections()
		if got := c.Ending(); got != "NO_ERROR" {
			t.Errorf("the connection ends with %s", got)
		}
	})
	t.Run("MaxConnDuration", func(t *testing.T) {
		t.Parallel()
		p := newH2Peer(t)
		hc := p.client()
		c := p.greeted(hc)
		under := p.get(hc, "/long")
		r := c.Request()
		// the clock by which the client judges connections
		older := func() {
			t.Helper()
			made := time.Now()
			servertest.Eventually(t, "an older connection", func() bool { return clock.Now().After(made.Add(servertest.Short)) })
		}
		older()
		hc.MaxConnDuration = servertest.Short
		call := p.get(hc, "/new")
		other := p.Greet()
		r2 := other.Whole()
		c.Respond(r, "200", "late")
		under.is(200, "late")
		if got := c.Ending(); got != "NO_ERROR" {
			t.Errorf("the connection ends with %s", got)
		}
		// a connection that gets too old during its last call
		older()
		other.Respond(r2, "200", "well")
		call.is(200, "well")
		if got := other.Ending(); got != "NO_ERROR" {
			t.Errorf("the second connection ends with %s", got)
		}
	})
	t.Run("SetMaxConns", func(t *testing.T) {
		t.Parallel()
		p := newH2Peer(t)
		hc := p.client()
		first := p.greeted(hc, maxStreams, 1)
		a := p.get(hc, "/a")
		ra := first.Request()
		b := p.get(hc, "/b")
		second := p.Greet(maxStreams, 1)
		rb := second.Request()
		hc.SetMaxConns(1)
		first.Respond(ra, "200", "a")
		second.Respond(rb, "200", "b")
		a.is(200, "a")
		b.is(200, "b")
		servertest.Eventually(t, "one connection", func() bool { return hc.ConnsCount() == 1 })
	})
}

// TestHTTP2ClientPings has servers that fall silent while they have calls.
func TestHTTP2ClientPings(t *testing.T) {
	t.Parallel()
	start := func(p *h2Peer, within time.Duration) (*fasthttp.HostClient, *h2Side) {
		hc := p.client()
		hc.HTTP2.SendPingTimeout, hc.HTTP2.PingTimeout = 2*servertest.Short, within
		return hc, p.greeted(hc)
	}
	withH2PeerInTime(t, "answered", func(t testing.TB, p *h2Peer) {
		hc, c := start(p, servertest.Patience)
		call := p.get(hc, "/long")
		r := c.Request()
		c.Until("PING", func() bool { return c.Pings > 0 })
		c.Respond(r, "200", "late")
		call.is(200, "late")
		p.HasAccepted(1)
	})
	withH2Peer(t, "silent", func(t testing.TB, p *h2Peer) {
		hc, c := start(p, h2Limit)
		c.Mute = true
		get, post := p.get(hc, "/get"), p.post(hc, "/post", "pay")
		c.Requests(2)
		c.Until("PING", func() bool { return c.Pings > 0 })
		// the GET is sent again
		other := p.Greet()
		if r := other.Serve(); r.Field(":method") != "GET" {
			t.Errorf("%s is sent again", r.Field(":path"))
		}
		get.is(200, "/get")
		if err := post.wait(); err == nil {
			t.Error("the POST succeeds")
		}
		expectNoRequest(other)
		servertest.Eventually(t, "one connection", func() bool { return hc.ConnsCount() == 1 })
	})
	withH2Peer(t, "silent while idle", func(t testing.TB, p *h2Peer) {
		hc, c := start(p, h2Limit)
		c.Mute = true
		c.Ending()
		servertest.Eventually(t, "no connection", func() bool { return hc.ConnsCount() == 0 })
		call := p.post(hc, "/new", "pay")
		p.Greet().Serve()
		call.is(200, "/new")
	})
}

// TestHTTP2ClientSaysGoodbye closes idle connections that are no sockets, or use TLS: the
// client sends GOAWAY first.
func TestHTTP2ClientSaysGoodbye(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*h2Peer{"plain": newH2Peer(t), "TLS": newH2TLSPeer(t, "h2")} {
		for _, wrap := range []bool{false, true} {
			hc := p.client()
			hc.Dial = func(addr string) (net.Conn, error) {
				nc, err := net.Dial("tcp4", addr)
				if wrap {
					nc = struct{ net.Conn }{nc}
				}
				return nc, err
			}
			c := p.greeted(hc)
			servertest.Eventually(t, "an idle connection", func() bool { return hc.IdleConnsCount() == 1 })
			hc.CloseIdleConnections()
			if got := c.Ending(); got != "NO_ERROR" {
				t.Errorf("%s, wrapped %v: the connection ends with %s", name, wrap, got)
			}
			c = p.greeted(hc)
			c.Frame(http2.FramePing, 0, 1, "01234567").Flush()
			if got := c.Ending(); got != "PROTOCOL_ERROR" {
				t.Errorf("%s, wrapped %v: the connection ends with %s", name, wrap, got)
			}
		}
	}
}
