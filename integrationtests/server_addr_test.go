package integrationtests

import (
	"net"
	"net/netip"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// A log should have the addresses of clients that reset their connections.
func TestAddressesAfterReset(t *testing.T) {
	t.Parallel()
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		t.Run(e.Name, func(t *testing.T) {
			testAddressesAfterReset(t, e)
			testAddressesOfHijackedAfterReset(t, e)
		})
	}
}

func testAddressesAfterReset(t *testing.T, e servertest.Engine) {
	remote, local := make(chan string, 1), make(chan string, 1)
	asked, closed := make(chan struct{}, 1), make(chan string, 1)
	s := &fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.WatchDisconnect()
			asked <- struct{}{}
			<-ctx.Done()
			remote <- ctx.RemoteAddr().String()
			local <- ctx.LocalAddr().String()
		},
		ConnState: func(nc net.Conn, state fasthttp.ConnState) {
			if state == fasthttp.StateClosed {
				closed <- nc.RemoteAddr().String() + " to " + nc.LocalAddr().String()
			}
		},
	}
	ts := startServer(t, e, s)
	c := ts.Dial()
	c.Get("/")
	servertest.Receive(t, "a request", asked)
	servertest.Reset(c.Conn)
	want := c.LocalAddr().String()
	if got := servertest.Receive(t, "the address", remote); got != want {
		t.Errorf("RemoteAddr is %s, want %s", got, want)
	}
	if got, want := servertest.Receive(t, "the address", local), c.RemoteAddr().String(); got != want {
		t.Errorf("LocalAddr is %s, want %s", got, want)
	}
	if got, want := servertest.Receive(t, "the end", closed), want+" to "+c.RemoteAddr().String(); got != want {
		t.Errorf("the closed connection is one from %s, want %s", got, want)
	}
}

func testAddressesOfHijackedAfterReset(t *testing.T, e servertest.Engine) {
	asked, addrs := make(chan struct{}, 1), make(chan [2]net.Addr, 1)
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.WatchDisconnect()
		asked <- struct{}{}
		<-ctx.Done()
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(nc net.Conn) { addrs <- [2]net.Addr{nc.LocalAddr(), nc.RemoteAddr()} })
	}}
	ts := startServer(t, e, s)
	c := ts.Dial()
	c.Get("/")
	servertest.Receive(t, "a request", asked)
	servertest.Reset(c.Conn)
	got := servertest.Receive(t, "the addresses", addrs)
	if want := c.RemoteAddr(); got[0] == nil || got[0].String() != want.String() {
		t.Errorf("LocalAddr of a hijacked connection is %v, want %v", got[0], want)
	}
	if want := c.LocalAddr(); got[1] == nil || got[1].String() != want.String() {
		t.Errorf("RemoteAddr of a hijacked connection is %v, want %v", got[1], want)
	}
}

// A closed connection still has its addresses, even if they were not read before.
func TestAddressesOfClosedConnections(t *testing.T) {
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		t.Run(e.Name, func(t *testing.T) {
			closed := make(chan [2]string, 1)
			ts := startServer(t, e, &fasthttp.Server{Handler: echo, ConnState: func(nc net.Conn, state fasthttp.ConnState) {
				if state == fasthttp.StateClosed {
					closed <- [2]string{nc.LocalAddr().String(), nc.RemoteAddr().String()}
				}
			}})
			c := ts.Dial()
			c.Get("/")
			c.Expect(200, servertest.Echoed("GET", "/", ""))
			_ = c.Close()
			if got, want := servertest.Receive(t, "the end", closed), [2]string{c.RemoteAddr().String(), c.LocalAddr().String()}; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// A socket for both versions of IP returns its peers' addresses in the form of IPv6.
func TestAddressesOfBothVersions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		listen, dial string
		size         int
	}{
		{"127.0.0.1:0", "127.0.0.1", net.IPv4len},
		{"[::1]:0", "::1", net.IPv6len},
		{"[::]:0", "127.0.0.1", net.IPv6len},
	} {
		for _, engine := range []fasthttp.Engine{fasthttp.EnginePortable, fasthttp.EngineEvent} {
			ln, err := net.Listen("tcp", test.listen)
			if err != nil {
				t.Logf("%s: %v", test.listen, err)
				continue
			}
			got := make(chan *net.TCPAddr, 1)
			s := &fasthttp.Server{Engine: engine, Handler: func(ctx *fasthttp.RequestCtx) { got <- ctx.RemoteAddr().(*net.TCPAddr) }}
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			_, port, err := net.SplitHostPort(ln.Addr().String())
			servertest.Must(t, err)
			nc, err := net.Dial("tcp", net.JoinHostPort(test.dial, port))
			servertest.Must(t, err)
			_, err = nc.Write([]byte(servertest.Get("/")))
			servertest.Must(t, err)
			remote := servertest.Receive(t, "the address", got)
			if remote.String() != nc.LocalAddr().String() || len(remote.IP) != test.size || remote.Zone != "" {
				t.Errorf("%s, engine %v: got %#v, want %v in %d bytes", test.listen, engine, remote, nc.LocalAddr(), test.size)
			}
			_ = nc.Close()
			servertest.ShutDown(t, s)
			servertest.Must(t, servertest.Receive(t, "return of Serve", served))
		}
	}
}

// The header of a proxy may have no address: then the proxy's own address stays.
func TestAddressesBehindProxyAfterReset(t *testing.T) {
	for _, host := range []string{"127.0.0.1:0", "[::1]:0"} {
		for _, engine := range []fasthttp.Engine{fasthttp.EnginePortable, fasthttp.EngineEvent} {
			ln, err := net.Listen("tcp", host)
			if err != nil {
				t.Logf("%s: %v", host, err)
				continue
			}
			asked, got := make(chan struct{}, 1), make(chan string, 1)
			s := &fasthttp.Server{
				Engine: engine, MaxConnsPerIP: 10,
				ProxyProtocol: &fasthttp.ProxyProtocol{From: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}},
				Handler: func(ctx *fasthttp.RequestCtx) {
					ctx.WatchDisconnect()
					asked <- struct{}{}
					<-ctx.Done()
					ctx.HijackSetNoResponse(true)
					ctx.Hijack(func(nc net.Conn) { got <- nc.RemoteAddr().String() })
				},
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			nc, err := net.Dial("tcp", ln.Addr().String())
			servertest.Must(t, err)
			_, err = nc.Write([]byte("PROXY UNKNOWN\r\n" + servertest.Get("/")))
			servertest.Must(t, err)
			servertest.Receive(t, "a request", asked)
			servertest.Reset(nc)
			if got, want := servertest.Receive(t, "the address", got), nc.LocalAddr().String(); got != want {
				t.Errorf("engine %v: got %v, want %v", engine, got, want)
			}
			servertest.ShutDown(t, s)
			servertest.Must(t, servertest.Receive(t, "return of Serve", served))
		}
	}
}

// ConnState may keep a connection, which is then hijacked, and ask for its addresses later.
func TestAddressesOfHandedOverConnections(t *testing.T) {
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		t.Run(e.Name, func(t *testing.T) {
			kept, over := make(chan net.Conn, 1), make(chan struct{})
			ts := startServer(t, e, &fasthttp.Server{
				Handler: func(ctx *fasthttp.RequestCtx) { ctx.Hijack(func(net.Conn) { close(over) }) },
				ConnState: func(nc net.Conn, state fasthttp.ConnState) {
					if state == fasthttp.StateHijacked {
						kept <- nc
					}
				},
			})
			c := ts.Dial()
			c.Get("/")
			nc := servertest.Receive(t, "the connection", kept)
			servertest.Receive(t, "the hijack", over)
			if nc.LocalAddr().String() != c.RemoteAddr().String() || nc.RemoteAddr().String() != c.LocalAddr().String() {
				t.Errorf("got %v and %v, want %v and %v", nc.LocalAddr(), nc.RemoteAddr(), c.RemoteAddr(), c.LocalAddr())
			}
		})
	}
}
