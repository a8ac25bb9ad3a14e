package integrationtests

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// Host, the target of CONNECT, and the address for the dialer have the ASCII form of
// a host name, and no zone of an address.
func TestHostsAreSentInTheFormOfTheWire(t *testing.T) {
	for _, tt := range []struct{ uri, host, dialed string }{
		{"http://b\u00fccher.test/", "xn--bcher-kva.test", "xn--bcher-kva.test:80"},
		{"http://B\u00dcCHER.test:8080/", "xn--bcher-kva.test:8080", "xn--bcher-kva.test:8080"},
		{"http://b%C3%BCcher.test/", "xn--bcher-kva.test", "xn--bcher-kva.test:80"},
		{"http://\u4f8b\u3048.\u30c6\u30b9\u30c8/", "xn--r8jz45g.xn--zckzah", "xn--r8jz45g.xn--zckzah:80"},
		{"http://fa\u00df.test/", "xn--fa-hia.test", "xn--fa-hia.test:80"},
		{"http://[fe80::1%25eth0]/", "[fe80::1]", "[fe80::1%eth0]:80"},
		{"http://[fe80::1%25eth0]:8080/", "[fe80::1]:8080", "[fe80::1%eth0]:8080"},
		{"http://[::1]:81/", "[::1]:81", "[::1]:81"},
		{"http://plain.test/", "plain.test", "plain.test:80"},
		{"http://a_b.test/", "a_b.test", "a_b.test:80"},
	} {
		w := new(wiretap)
		dialed := ""
		client := &fasthttp.Client{Dial: func(addr string) (net.Conn, error) {
			dialed = addr
			return w.dial(addr)
		}}
		req := requestTo(t, fasthttp.MethodGet, tt.uri)
		servertest.Must(t, client.Do(req, nil))
		_, rest, _ := strings.Cut(w.String(), "\r\nHost: ")
		host, _, _ := strings.Cut(rest, "\r\n")
		if host != tt.host || dialed != tt.dialed {
			t.Errorf("%s: sent %q and dialed %q, want %q and %q", tt.uri, host, dialed, tt.host, tt.dialed)
		}
		req.Header.SetMethod(fasthttp.MethodConnect)
		req.SetURI(req.URI())
		if line, _, _ := strings.Cut(req.String(), "\r\n"); line != "CONNECT "+tt.host+" HTTP/1.1" {
			t.Errorf("%s: %q", tt.uri, line)
		}
	}
	for _, uri := range []string{"http://\xff.test/", "http://a\u00ad\u200d.test/", "http://xn--\u00fc/"} {
		if err := (&fasthttp.Client{}).Do(requestTo(t, fasthttp.MethodGet, uri), nil); err == nil || !strings.Contains(err.Error(), "invalid") {
			t.Errorf("%q: %v", uri, err)
		}
	}
	// the client sends a Host field that the caller has set as it is
	req := requestTo(t, fasthttp.MethodGet, "http://b\u00fccher.test/")
	req.UseHostHeader = true
	req.Header.SetHost("own")
	if wire, err := wireOf(t, req); err != nil || !strings.Contains(wire, "\r\nHost: own\r\n") {
		t.Errorf("sent %q, %v", wire, err)
	}
}

// A dialer asks DNS for A-labels.
func TestDialerAsksForALabels(t *testing.T) {
	asked := ""
	d := &fasthttp.TCPDialer{Resolver: &servertest.Resolver{Find: func(_ context.Context, host string) ([]net.IPAddr, error) {
		asked = host
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}}}
	for _, dial := range []func(string) (net.Conn, error){d.Dial, d.DialDualStack} {
		if _, err := dial("b\u00fccher.test:80"); err == nil || asked != "xn--bcher-kva.test" {
			t.Errorf("asked for %q, %v", asked, err)
		}
	}
}

// Clients reach addresses of both IP versions by default.
func TestClientsReachIPv6ByDefault(t *testing.T) {
	ln, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { _, _ = ctx.Write(ctx.Host()) }}
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(func() { servertest.ShutDown(t, server) })
	addr := ln.Addr().String()
	client, hc, pc := &fasthttp.Client{}, &fasthttp.HostClient{Addr: addr}, &fasthttp.PipelineClient{Addr: addr}
	defer client.CloseIdleConnections()
	defer hc.CloseIdleConnections()
	for name, do := range map[string]func(*fasthttp.Request, *fasthttp.Response) error{"Client": client.Do, "HostClient": hc.Do, "PipelineClient": pc.Do} {
		resp := responseFor(t)
		if err := do(requestTo(t, fasthttp.MethodGet, "http://"+addr+"/"), resp); err != nil || string(resp.Body()) != addr {
			t.Errorf("%s: %q, %v", name, resp.Body(), err)
		}
	}
}
