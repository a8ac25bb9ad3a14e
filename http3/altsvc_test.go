package http3

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// runTCP runs a server of HTTP/1.1 and HTTP/2 over TLS, and returns its port.
func runTCP(t *testing.T, s *fasthttp.Server) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Logger = quiet{t}
	s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate()}}
	served := make(chan error, 1)
	go func() { served <- s.ServeTLS(ln, "", "") }()
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := servertest.Receive(t, "the end of Serve", served); err != nil {
			t.Error(err)
		}
	})
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}

// tellProtocol responds with the version.
func tellProtocol(ctx *fasthttp.RequestCtx) { ctx.Write(ctx.Request.Header.Protocol()) }

func portOf(t *testing.T, addr string) uint16 {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(n)
}

// newAltClient returns a client that follows announcements.
func newAltClient(t *testing.T, a *AltTransport) *fasthttp.Client {
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	if a.ConnectTime == 0 {
		a.ConnectTime = wait
	}
	c := &fasthttp.Client{Transport: a, TLSConfig: &tls.Config{InsecureSkipVerify: true}, Timeout: wait}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// protocols returns the versions of n calls.
func protocols(t *testing.T, c *fasthttp.Client, url string, n int) (all []string) {
	t.Helper()
	for range n {
		resp, err := call(t, c, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(resp.Body()))
	}
	return all
}

func TestClientFollowsAnnouncements(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: tellProtocol})
	port := runTCP(t, &fasthttp.Server{Handler: tellProtocol, ResponseReady: Announce(portOf(t, addr), time.Hour)})
	a := &AltTransport{}
	c := newAltClient(t, a)
	if got := fmt.Sprint(protocols(t, c, "https://127.0.0.1:"+port, 3)); got != "[HTTP/1.1 HTTP/3.0 HTTP/3.0]" {
		t.Error(got)
	}
}

func TestAnnounceLeavesOtherResponsesAlone(t *testing.T) {
	set := Announce(443, time.Minute)
	_, addr := run(t, &fasthttp.Server{Handler: tellProtocol, ResponseReady: set})
	c, _ := newClient(t)
	resp, err := call(t, c, "https://"+addr, nil)
	if err != nil || len(resp.Header.Peek(altSvc)) > 0 {
		t.Errorf("%q, %v", resp.Header.Peek(altSvc), err)
	}
	port := runTCP(t, &fasthttp.Server{ResponseReady: set, Handler: func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/own" {
			ctx.Response.Header.Set(altSvc, "clear")
		}
	}})
	for path, want := range map[string]string{"/": `h3=":443"; ma=60`, "/own": "clear"} {
		resp, err := call(t, newAltClient(t, &AltTransport{}), "https://127.0.0.1:"+port+path, nil)
		if err != nil || string(resp.Header.Peek(altSvc)) != want {
			t.Errorf("%s: %q, %v", path, resp.Header.Peek(altSvc), err)
		}
	}
}

// No server listens on the port of the announcement.
func TestClientFallsBack(t *testing.T) {
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	port := runTCP(t, &fasthttp.Server{Handler: tellProtocol, ResponseReady: Announce(portOf(t, pc.LocalAddr().String()), time.Hour)})
	a := &AltTransport{ConnectTime: 20 * time.Millisecond}
	c := newAltClient(t, a)
	url := "https://127.0.0.1:" + port
	if got := fmt.Sprint(protocols(t, c, url, 2)); got != "[HTTP/1.1 HTTP/1.1]" {
		t.Error(got)
	}
	a.mu.Lock()
	for _, alt := range a.origins {
		if left := time.Until(alt.avoided); left <= 0 || left > DefaultAvoidTime {
			t.Error("the alternative is avoided for ", left)
		}
	}
	n := len(a.origins)
	a.mu.Unlock()
	if n != 1 {
		t.Errorf("%d alternatives", n)
	}
	// a connection would come too late
	a.ConnectTime = time.Hour
	if got := fmt.Sprint(protocols(t, c, url, 1)); got != "[HTTP/1.1]" {
		t.Error(got)
	}
}

func TestAnnouncementsAreKeptForTheirTime(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		a := &AltTransport{MaxOrigins: 3, MaxAge: time.Hour}
		a.prepare()
		said := func(addr, value string) {
			resp := new(fasthttp.Response)
			resp.Header.Set(altSvc, value)
			a.learn(origin{addr: addr}, resp)
		}
		find := func(addr string) string {
			if alt := a.find(origin{addr: addr}); alt != nil {
				return alt.addr
			}
			return ""
		}
		for _, row := range []struct {
			value string
			after time.Duration
			want  string
		}{
			{`h3=":1"; ma=10`, 9 * time.Second, "a:1"},
			{`h3=":1"; ma=10`, 10 * time.Second, ""},
			{`h3=":1"; ma=99999`, 59 * time.Minute, "a:1"},
			{`h3=":1"; ma=99999`, time.Hour, ""},
			{`h3=":1"`, 0, "a:1"},
			{`h3=":2"`, 0, "a:2"},
			{`nonsense`, 0, "a:2"},
			{`h3="A:3"`, 0, "a:3"},
			{`h3="b:3"`, 0, ""}, // another host, which replaces the former announcement
			{`h3=":4"`, 0, "a:4"},
			{`clear`, 0, ""},
			{`h2=":1", h3="b:1", h3=":5"`, 0, "a:5"},
			{`h2=":1"`, 0, ""},
			{`h3=":1"; ma=0`, 0, ""},
		} {
			said("a:443", row.value)
			time.Sleep(row.after)
			if got := find("a:443"); got != row.want {
				t.Errorf("%s after %v: %q", row.value, row.after, got)
			}
		}
		for i := range 10 {
			said(fmt.Sprint("host", i, ":443"), `h3=":443"`)
			if len(a.origins) > 3 || find(fmt.Sprint("host", i, ":443")) == "" {
				t.Errorf("%d origins", len(a.origins))
			}
		}
		alt := a.find(origin{addr: "host9:443"})
		a.avoid(alt)
		said("host9:443", `h3=":443"`)
		if find("host9:443") != "" {
			t.Error("it is not avoided")
		}
		time.Sleep(DefaultAvoidTime)
		if find("host9:443") == "" {
			t.Error("it is avoided too long")
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}

// plainTripper is a RoundTripper without RoundTripContext.
type plainTripper struct{ inner fasthttp.RoundTripper }

func (p plainTripper) RoundTrip(hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (bool, error) {
	return p.inner.RoundTrip(hc, req, resp)
}

// A RoundTripper around an AltTransport that knows no contexts does not keep it from the context of the
// call.
func TestAltTransportHasTheContextOfTheCall(t *testing.T) {
	t.Parallel()
	type key struct{}
	for _, https := range []bool{false, true} {
		var got any
		alt := &AltTransport{Base: fasthttp.RoundTripFunc(func(ctx context.Context, _ *fasthttp.HostClient, _ *fasthttp.Request, _ *fasthttp.Response) (bool, error) {
			got = ctx.Value(key{})
			return false, nil
		})}
		hc := &fasthttp.HostClient{Addr: "a.test", IsTLS: https, Transport: plainTripper{alt}}
		req := &fasthttp.Request{}
		req.SetRequestURI("/")
		req.Header.SetHost("a.test")
		if err := hc.DoContext(context.WithValue(context.Background(), key{}, "own"), req, nil); err != nil || got != "own" {
			t.Errorf("https %v: %v, and the value of the context is %v", https, err, got)
		}
		if err := alt.Close(); err != nil {
			t.Error(err)
		}
	}
}
