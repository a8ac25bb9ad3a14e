package fasthttp

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/peers"
	"github.com/valyala/fasthttp/internal/servertest"
)

// ranges parses address ranges.
func ranges(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// contextBehind returns a context for a request from a peer, with field lines. Its
// server trusts the proxies.
func contextBehind(t testing.TB, trusted TrustedProxies, peer net.Addr, lines ...string) *RequestCtx {
	t.Helper()
	var req Request
	head := "GET / HTTP/1.1\r\nHost: own.example\r\n" + strings.Join(append(lines, ""), "\r\n") + "\r\n"
	if err := req.Read(bufio.NewReader(strings.NewReader(head))); err != nil {
		t.Fatal(err)
	}
	ctx := new(RequestCtx)
	ctx.Init(&req, peer, nil)
	ctx.s = &Server{trust: newProxyTrust(&trusted)}
	return ctx
}

var (
	plainTrust    = TrustedProxies{Ranges: ranges("10.0.0.0/8", "fd00::/8")}
	standardTrust = TrustedProxies{Ranges: ranges("10.0.0.0/8", "fd00::/8"), AddressField: "forwarded"}
	proxyPeer     = &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 4000}
	otherPeer     = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 99), Port: 4000}
)

func TestClientIsTheLastAddressThatIsNotTrusted(t *testing.T) {
	for _, c := range []struct {
		name    string
		trusted TrustedProxies
		peer    net.Addr
		lines   []string
		want    string // "" for no address
	}{
		{"no trusted proxy", TrustedProxies{}, proxyPeer, []string{"X-Forwarded-For: 192.0.2.1"}, "10.0.0.1"},
		{"a field without a trusted proxy", TrustedProxies{AddressField: "Forwarded"}, proxyPeer, []string{"Forwarded: for=192.0.2.1"}, "10.0.0.1"},
		{"a stranger", plainTrust, otherPeer, []string{"X-Forwarded-For: 192.0.2.1"}, "192.0.2.99"},
		{"no field", plainTrust, proxyPeer, nil, "10.0.0.1"},
		{"an empty field", plainTrust, proxyPeer, []string{"X-Forwarded-For:"}, "10.0.0.1"},
		{"one address", plainTrust, proxyPeer, []string{"X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
		{"an address that the client has sent", plainTrust, proxyPeer, []string{"X-Forwarded-For: 10.9.9.9, 192.0.2.1"}, "192.0.2.1"},
		{"a chain of proxies", plainTrust, proxyPeer, []string{"X-Forwarded-For: 1.1.1.1, 192.0.2.1, 10.0.0.3,10.0.0.2"}, "192.0.2.1"},
		{"several lines", plainTrust, proxyPeer, []string{"X-Forwarded-For: 1.1.1.1", "A: b", "x-forwarded-for: 192.0.2.1, 10.0.0.3", "X-Forwarded-For: 10.0.0.2"}, "192.0.2.1"},
		{"empty elements", plainTrust, proxyPeer, []string{"X-Forwarded-For: 192.0.2.1, , 10.0.0.2 ,,", "X-Forwarded-For: "}, "192.0.2.1"},
		{"a client inside", plainTrust, proxyPeer, []string{"X-Forwarded-For: 10.0.0.7, 10.0.0.2"}, "10.0.0.7"},
		{"a port", plainTrust, proxyPeer, []string{"X-Forwarded-For: 192.0.2.1:5000"}, "192.0.2.1"},
		{"an IPv6 address", plainTrust, proxyPeer, []string{"X-Forwarded-For: 2001:db8::1"}, "2001:db8::1"},
		{"an IPv6 address with a port", plainTrust, proxyPeer, []string{"X-Forwarded-For: [2001:DB8::1]:5000, fd00::2"}, "2001:db8::1"},
		{"an IPv4 address as one of IPv6", plainTrust, proxyPeer, []string{"X-Forwarded-For: ::ffff:192.0.2.1, ::ffff:10.0.0.2"}, "192.0.2.1"},
		{"a zone", plainTrust, proxyPeer, []string{"X-Forwarded-For: fe80::1%eth0"}, "fe80::1"},
		{"a trusted address with a zone", plainTrust, proxyPeer, []string{"X-Forwarded-For: 192.0.2.1, fd00::1%eth0"}, "192.0.2.1"},
		{"unknown", plainTrust, proxyPeer, []string{"X-Forwarded-For: 192.0.2.1, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"unknown to the nearest", plainTrust, proxyPeer, []string{"X-Forwarded-For: 192.0.2.1, unknown"}, "10.0.0.1"},
		{"garbage", plainTrust, proxyPeer, []string{"X-Forwarded-For: 192.0.2.1, 10.0.0.2 10.0.0.3"}, "10.0.0.1"},
		{"garbage in front", plainTrust, proxyPeer, []string{`X-Forwarded-For: ", [, 192.0.2.1`}, "192.0.2.1"},
		{"another field", plainTrust, proxyPeer, []string{"X_Forwarded_For: 192.0.2.1", "X-Real-IP: 192.0.2.1", "Forwarded: for=192.0.2.1"}, "10.0.0.1"},
		{"both fields", plainTrust, proxyPeer, []string{"Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.2"}, "192.0.2.2"},
		{"a field of one's own", TrustedProxies{Ranges: plainTrust.Ranges, AddressField: "x-real-ip"}, proxyPeer,
			[]string{"X-Real-IP: 192.0.2.1", "X-Forwarded-For: 192.0.2.2"}, "192.0.2.1"},
		{"a range of mapped addresses", TrustedProxies{Ranges: ranges("::ffff:10.0.0.0/104")}, proxyPeer, []string{"X-Forwarded-For: 192.0.2.1, 10.9.9.9"}, "192.0.2.1"},
		{"a mapped peer", plainTrust, &net.TCPAddr{IP: proxyPeer.IP.To16()}, []string{"X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
		{"a peer with a zone", TrustedProxies{Ranges: ranges("fe80::/10")}, &net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "lo"},
			[]string{"X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
		{"a range that is none", TrustedProxies{Ranges: []netip.Prefix{{}}}, proxyPeer, []string{"X-Forwarded-For: 192.0.2.1"}, "10.0.0.1"},
		{"a Unix socket", TrustedProxies{Unix: true}, &net.UnixAddr{Net: "unix"}, []string{"X-Forwarded-For: 1.1.1.1, 192.0.2.1"}, "192.0.2.1"},
		{"a Unix socket, without a field", TrustedProxies{Unix: true}, &net.UnixAddr{Net: "unix"}, nil, ""},
		{"a Unix socket that is not trusted", plainTrust, &net.UnixAddr{Net: "unix"}, []string{"X-Forwarded-For: 192.0.2.1"}, ""},
		{"a peer beside the Unix socket", TrustedProxies{Unix: true}, otherPeer, []string{"X-Forwarded-For: 192.0.2.1"}, "192.0.2.99"},

		{"Forwarded", standardTrust, proxyPeer, []string{`Forwarded: for=1.1.1.1, for=192.0.2.1;proto=https`, `Forwarded: For="[fd00::2]:80";by=10.0.0.1`}, "192.0.2.1"},
		{"Forwarded beside the other", standardTrust, proxyPeer, []string{"Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.2"}, "192.0.2.1"},
		{"the other alone", standardTrust, proxyPeer, []string{"X-Forwarded-For: 192.0.2.2"}, "10.0.0.1"},
		{"a hidden client", standardTrust, proxyPeer, []string{`Forwarded: for=192.0.2.1, for=_hidden, for=10.0.0.2`}, "10.0.0.2"},
		{"a hidden port", standardTrust, proxyPeer, []string{`Forwarded: for="192.0.2.1:_x"`}, "192.0.2.1"},
		{"an unknown client", standardTrust, proxyPeer, []string{`Forwarded: for=192.0.2.1, for=unknown`}, "10.0.0.1"},
		{"an element without an address", standardTrust, proxyPeer, []string{`Forwarded: for=192.0.2.1, proto=https`}, "10.0.0.1"},
		{"an element with two addresses", standardTrust, proxyPeer, []string{`Forwarded: for=192.0.2.1, for=10.0.0.2;for=192.0.2.2`}, "10.0.0.1"},
		{"Forwarded with IPv6 and no brackets", standardTrust, proxyPeer, []string{`Forwarded: for=2001:db8::1`}, "10.0.0.1"},
		{"Forwarded with IPv6 in quotes and no brackets", standardTrust, proxyPeer, []string{`Forwarded: for="2001:db8::1:80", for="[fd00::2]"`}, "fd00::2"},
		{"Forwarded with a trusted IPv6 and no brackets", standardTrust, proxyPeer, []string{`Forwarded: for=192.0.2.1, for=fd00::2`}, "10.0.0.1"},
		{"Forwarded with an IPv4 address as one of IPv6", standardTrust, proxyPeer, []string{`Forwarded: for="[::ffff:192.0.2.1]"`}, "192.0.2.1"},
		{"an open quote in front", standardTrust, proxyPeer, []string{`Forwarded: for="10.0.0.9, for=192.0.2.1`}, "192.0.2.1"},
		{"a quote that the next address closes", standardTrust, proxyPeer, []string{`Forwarded: for="10.0.0.9, for="[2001:db8::1]"`}, "2001:db8::1"},
		{"an open quote in another line", standardTrust, proxyPeer, []string{`Forwarded: for="10.0.0.9`, `Forwarded: for=192.0.2.1`}, "192.0.2.1"},
	} {
		ctx := contextBehind(t, c.trusted, c.peer, c.lines...)
		ip := ctx.ClientIP()
		if want, _ := netip.ParseAddr(c.want); ip != want {
			t.Errorf("%s: got %v, want %v", c.name, ip, want)
		}
		if ctx.RemoteAddr() != c.peer {
			t.Errorf("%s: the peer has become %v", c.name, ctx.RemoteAddr())
		}
	}
}

func TestSchemeAndHostAreThoseOfTheClient(t *testing.T) {
	withHost := plainTrust
	withHost.HostField = "X-Forwarded-Host"
	own := plainTrust
	own.SchemeField, own.HostField = "x-scheme", "x-host"
	for _, c := range []struct {
		name         string
		trusted      TrustedProxies
		peer         net.Addr
		lines        []string
		scheme, host string
	}{
		{"no trusted proxy", TrustedProxies{}, proxyPeer, []string{"X-Forwarded-Proto: https", "X-Forwarded-Host: a"}, "http", "own.example"},
		{"a stranger", withHost, otherPeer, []string{"X-Forwarded-Proto: https", "X-Forwarded-Host: a"}, "http", "own.example"},
		{"a proxy", withHost, proxyPeer, []string{"X-Forwarded-Proto: https", "X-Forwarded-Host: a:8443"}, "https", "a:8443"},
		{"a host that was not asked for", plainTrust, proxyPeer, []string{"X-Forwarded-Proto: HTTPS", "X-Forwarded-Host: a"}, "https", "own.example"},
		{"no field", withHost, proxyPeer, nil, "http", "own.example"},
		{"several values", withHost, proxyPeer, []string{"X-Forwarded-Proto: https", "X-Forwarded-Proto: https, http,", "X-Forwarded-Host: evil, a"}, "http", "a"},
		{"another scheme", withHost, proxyPeer, []string{"X-Forwarded-Proto: javascript", "X-Forwarded-Host: a/b"}, "http", "own.example"},
		{"user information", withHost, proxyPeer, []string{"X-Forwarded-Host: own.example@evil"}, "http", "own.example"},
		{"other fields", own, proxyPeer, []string{"X-Scheme: https", "X-Host: [::1]:80", "X-Forwarded-Host: b"}, "https", "[::1]:80"},
		{"Forwarded", standardTrust, proxyPeer, []string{`Forwarded: for=192.0.2.1;proto=https;host="a:80"`, "X-Forwarded-Proto: http"}, "https", "a:80"},
		{"a chain", standardTrust, proxyPeer, []string{`Forwarded: for=1.1.1.1;host=evil;proto=http, for=192.0.2.1;proto=https;host=a, for=10.0.0.2;proto=http;host=inside`}, "https", "a"},
		{"nothing said of the client", standardTrust, proxyPeer, []string{`Forwarded: for=1.1.1.1;host=evil, for=192.0.2.1`}, "http", "own.example"},
		{"a hidden client", standardTrust, proxyPeer, []string{`Forwarded: for=_x;proto=https;host=a`}, "https", "a"},
		{"garbage in front", standardTrust, proxyPeer, []string{`Forwarded: for=, =, for=10.0.0.2;proto=https;host=a`}, "https", "a"},
		{"a malformed host", standardTrust, proxyPeer, []string{`Forwarded: for=192.0.2.1;host="a b"`}, "http", "own.example"},
		{"the others beside Forwarded", standardTrust, proxyPeer, []string{"X-Forwarded-Proto: https", "X-Forwarded-Host: a"}, "http", "own.example"},
	} {
		ctx := contextBehind(t, c.trusted, c.peer, c.lines...)
		if scheme, host := ctx.ClientScheme(), string(ctx.ClientHost()); scheme != c.scheme || host != c.host {
			t.Errorf("%s: got %s://%s, want %s://%s", c.name, scheme, host, c.scheme, c.host)
		}
	}
}

func TestClientOfAContextWithoutAServer(t *testing.T) {
	var ctx RequestCtx
	if ip := ctx.ClientIP(); ip != netip.IPv4Unspecified() {
		t.Errorf("address %v", ip)
	}
	if scheme, host := ctx.ClientScheme(), ctx.ClientHost(); scheme != "http" || len(host) > 0 {
		t.Errorf("%s://%s", scheme, host)
	}
}

func TestFindingTheClientDoesNotAllocate(t *testing.T) {
	trusted := plainTrust
	trusted.HostField = "X-Forwarded-Host"
	plain := contextBehind(t, trusted, proxyPeer, "X-Forwarded-For: 192.0.2.1, [fd00::2]:80, 10.0.0.2", "X-Forwarded-Proto: https", "X-Forwarded-Host: a")
	standard := contextBehind(t, standardTrust, proxyPeer, `Forwarded: for="[2001:db8::1]:80";proto=https;host=a, for=10.0.0.2`)
	for _, ctx := range []*RequestCtx{plain, standard} {
		checkAllocs(t, "finding the client", func() {
			if ctx.ClientIP() == netip.MustParseAddr("10.0.0.1") || ctx.ClientScheme() != "https" || string(ctx.ClientHost()) != "a" {
				t.Fatal("not found")
			}
		})
	}
}

func TestServersKnowClientsBehindProxies(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{
			TrustedProxies: TrustedProxies{Ranges: ranges("127.0.0.0/8"), HostField: HeaderXForwardedHost},
			Handler: func(ctx *RequestCtx) {
				fmt.Fprintf(ctx, "%v %s %s %s", ctx.ClientIP(), ctx.ClientScheme(), ctx.ClientHost(), ctx.RemoteIP())
			},
		}
		ts := start(s)
		if !ts.Engine.Sockets {
			t.Skip("its peers have no IP address")
		}
		scheme := "http"
		if ts.Engine.TLS {
			scheme = "https"
		}
		c := ts.Dial()
		c.Get("/")
		c.Expect(200, "127.0.0.1 "+scheme+" a 127.0.0.1")
		c.Send(servertest.Head("GET / HTTP/1.1", "Host: a", "X-Forwarded-For: 10.0.0.1, 192.0.2.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: b"))
		c.Expect(200, "192.0.2.1 https b 127.0.0.1")
		// the fields of the previous request do not count
		c.Get("/")
		c.Expect(200, "127.0.0.1 "+scheme+" a 127.0.0.1")
		// fields of a trailer section, if the server accepts them, are not from a proxy
		c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Trailer: X-Forwarded-For", "Transfer-Encoding: chunked") +
			"1\r\na\r\n0\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: b\r\n\r\n")
		if resp := c.Next("POST"); resp.StatusCode != 400 && resp.Content != "127.0.0.1 "+scheme+" a 127.0.0.1" {
			t.Errorf("got %d %q", resp.StatusCode, resp.Content)
		}
	})
}

// The client address is the one that a trusted proxy has appended, whatever the
// client sends before it.
func FuzzClientIP(f *testing.F) {
	f.Add("10.0.0.2, ", false)
	f.Add(`"`, false)
	f.Add(`for="10.0.0.2, for=10.0.0.2`, true)
	f.Add(`for=10.0.0.2;x="\`, true)
	f.Add(",\t,", true)
	f.Fuzz(func(t *testing.T, sent string, standard bool) {
		name, trusted, appended := "X-Forwarded-For", plainTrust, "192.0.2.1"
		if standard {
			name, trusted, appended = "Forwarded", standardTrust, `for="192.0.2.1:80";proto=https;host=a`
		}
		var req Request
		for _, value := range []string{sent + ", " + appended, sent + "," + appended} {
			req.Header.Set(name, value)
			req.Header.SetHost("own.example")
			var ctx RequestCtx
			ctx.Init(&req, proxyPeer, nil)
			ctx.s.trust = newProxyTrust(&trusted)
			if ip := ctx.ClientIP(); ip != netip.MustParseAddr("192.0.2.1") {
				t.Errorf("%q: the client is %v", value, ip)
			}
			if standard && (ctx.ClientScheme() != "https" || string(ctx.ClientHost()) != "a") {
				t.Errorf("%q: %s://%s", value, ctx.ClientScheme(), ctx.ClientHost())
			}
		}
		// an address that only the client sends gives some result
		req.Header.Set(name, sent)
		var ctx RequestCtx
		ctx.Init(&req, proxyPeer, nil)
		ctx.s.trust = newProxyTrust(&trusted)
		if ip := ctx.ClientIP(); !ip.IsValid() || ip.Zone() != "" || ip.Is4In6() {
			t.Errorf("%q: the client is %v", sent, ip)
		}
		ctx.ClientScheme()
		ctx.ClientHost()
	})
}

// textAddr is an address of a type unknown to the server.
type textAddr string

func (textAddr) Network() string  { return "other" }
func (a textAddr) String() string { return string(a) }

func TestClientIPHasNoZoneWhateverTheKindOfAddress(t *testing.T) {
	for _, addr := range []net.Addr{
		textAddr("[fe80::1%eth0]:80"), &net.UDPAddr{IP: net.ParseIP("fe80::1"), Port: 80, Zone: "eth0"}, &net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 80, Zone: "eth0"},
	} {
		var ctx RequestCtx
		ctx.Init(new(Request), addr, nil)
		if ip := ctx.ClientIP(); ip != netip.MustParseAddr("fe80::1") {
			t.Errorf("%T: %v", addr, ip)
		}
		if set := peers.NewSet(ranges("fe80::/10"), false); !set.Has(addr) {
			t.Errorf("%T: %v is not in its range", addr, addr)
		}
	}
}

func TestPeersWithoutAnAddressHaveNoClientIP(t *testing.T) {
	for _, addr := range []net.Addr{
		fasthttputil.NewInmemoryListener().Addr(), &net.UnixAddr{Name: "socket", Net: "unix"}, new(net.TCPAddr), (*net.TCPAddr)(nil), (*net.UDPAddr)(nil),
	} {
		var ctx RequestCtx
		ctx.Init(new(Request), addr, nil)
		if ip := ctx.ClientIP(); ip.IsValid() {
			t.Errorf("%T %v: %v", addr, addr, ip)
		}
	}
}

// A relative redirect uses the scheme and the host that the client has used.
func TestRedirectsBehindProxiesAreTheClients(t *testing.T) {
	withHost := plainTrust
	withHost.HostField = "X-Forwarded-Host"
	fields := []string{"X-Forwarded-Proto: https", "X-Forwarded-Host: www.example:8443"}
	for _, tc := range []struct {
		name    string
		trusted TrustedProxies
		peer    net.Addr
		lines   []string
		uri     string
		want    string
	}{
		{"scheme and host", withHost, proxyPeer, fields, "/login?a=b", "https://www.example:8443/login?a=b"},
		{"a path without a slash", withHost, proxyPeer, fields, "login", "https://www.example:8443/login"},
		{"the scheme alone", plainTrust, proxyPeer, fields, "/login", "https://own.example/login"},
		{"Forwarded", standardTrust, proxyPeer, []string{"Forwarded: for=192.0.2.1;proto=https;host=www.example"}, "/login", "https://www.example/login"},
		{"no fields", withHost, proxyPeer, nil, "/login", "http://own.example/login"},
		{"a stranger", withHost, otherPeer, fields, "/login", "http://own.example/login"},
		{"nobody trusted", TrustedProxies{}, proxyPeer, fields, "/login", "http://own.example/login"},
		{"another host", withHost, proxyPeer, fields, "http://other.example/", "http://other.example/"},
		{"another host by the scheme of the client", withHost, proxyPeer, fields, "//other.example/", "https://other.example/"},
		{"an invalid host", withHost, proxyPeer, []string{"X-Forwarded-Host: a/b"}, "/login", "http://own.example/login"},
	} {
		ctx := contextBehind(t, tc.trusted, tc.peer, tc.lines...)
		ctx.Redirect(tc.uri, StatusFound)
		if got := string(ctx.Response.Header.Peek("Location")); got != tc.want {
			t.Errorf("%s: Location is %q, want %q", tc.name, got, tc.want)
		}
		if uri := ctx.URI().String(); uri != "http://own.example/" {
			t.Errorf("%s: the URI of the request is %q", tc.name, uri)
		}
	}
}
