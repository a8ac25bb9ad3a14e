package integrationtests

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// h2Peer is an HTTP/2 server with its clients.
type h2Peer struct {
	*servertest.H2Peer
	dial fasthttp.DialFuncWithTimeout // of its clients, unless it is nil
}

func newH2Peer(t testing.TB) *h2Peer { return &h2Peer{H2Peer: servertest.NewH2Peer(t)} }

// withH2Peer runs a test of time: with a peer in memory, in a bubble.
func withH2Peer(t *testing.T, name string, test func(t testing.TB, p *h2Peer)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(t *testing.T) {
			p := servertest.NewMemoryH2Peer(t)
			test(t, &h2Peer{p, func(string, time.Duration) (net.Conn, error) { return p.Dial() }})
		})
	})
}

// withH2PeerInTime is withH2Peer with sockets, in real time.
func withH2PeerInTime(t *testing.T, name string, test func(t testing.TB, p *h2Peer)) {
	t.Helper()
	runInTime(t, name, func(t testing.TB) { test(t, newH2Peer(t)) })
}

func newH2TLSPeer(t testing.TB, protos ...string) *h2Peer {
	return &h2Peer{H2Peer: servertest.NewH2TLSPeer(t, protos...)}
}

// client returns a client of p that speaks only HTTP/2. When the test ends, nothing of it must
// be left.
func (p *h2Peer) client() *fasthttp.HostClient {
	hc := &fasthttp.HostClient{Addr: p.Addr(), IsTLS: p.TLS != nil, DialTimeout: p.dial, MaxIdleConnDuration: servertest.Never}
	if p.TLS != nil {
		hc.Protocols.SetHTTP2(true)
		hc.TLSConfig = servertest.TrustCertificate()
	} else {
		hc.Protocols.SetUnencryptedHTTP2(true)
	}
	p.T.Cleanup(func() {
		hc.CloseIdleConnections()
		p.Stop()
		servertest.NothingLeft(p.T, hc)
	})
	return hc
}

// acceptUnless returns nil if a call ends before there is a connection.
func (p *h2Peer) acceptUnless(call *h2Call) *h2Side {
	p.T.Helper()
	return p.AcceptUnless(call.done)
}

// h2Call is a call of a client.
type h2Call struct {
	t    testing.TB
	resp *fasthttp.Response
	done chan error
}

// startCall begins a call. A GET needs no set, which otherwise changes the request and the
// response first.
func startCall(t testing.TB, do func(*fasthttp.Request, *fasthttp.Response) error, method, url string, set ...func(*fasthttp.Request, *fasthttp.Response)) *h2Call {
	t.Helper()
	req := requestTo(t, method, url)
	c := &h2Call{t: t, resp: responseFor(t), done: make(chan error, 1)}
	for _, f := range set {
		f(req, c.resp)
	}
	go func() { c.done <- do(req, c.resp) }()
	return c
}

// HasEnded reports whether the call has ended.
func (c *h2Call) HasEnded() bool { return len(c.done) > 0 }

// get begins a GET.
func (p *h2Peer) get(hc *fasthttp.HostClient, path string) *h2Call {
	p.T.Helper()
	return startCall(p.T, hc.Do, fasthttp.MethodGet, p.URL(path))
}

// post begins a POST.
func (p *h2Peer) post(hc *fasthttp.HostClient, path, body string) *h2Call {
	p.T.Helper()
	return startCall(p.T, hc.Do, fasthttp.MethodPost, p.URL(path), withBody(body))
}

// stream begins a GET whose response is a stream.
func (p *h2Peer) stream(hc *fasthttp.HostClient, path string) *h2Call {
	p.T.Helper()
	return startCall(p.T, hc.Do, fasthttp.MethodGet, p.URL(path), asStream)
}

func withBody(body string) func(*fasthttp.Request, *fasthttp.Response) {
	return func(req *fasthttp.Request, _ *fasthttp.Response) { req.SetBodyString(body) }
}

func asStream(_ *fasthttp.Request, resp *fasthttp.Response) { resp.StreamBody = true }

// wait returns the error of the call.
func (c *h2Call) wait() error {
	c.t.Helper()
	return servertest.Receive(c.t, "the end of a call", c.done)
}

// is checks the response.
func (c *h2Call) is(status int, content string) *fasthttp.Response {
	c.t.Helper()
	if err := c.wait(); err != nil {
		c.t.Fatalf("the call failed: %v", err)
	}
	if c.resp.StatusCode() != status || !c.resp.IsBodyStream() && string(c.resp.Body()) != content {
		c.t.Errorf("got %d %.100q, want %d %.100q", c.resp.StatusCode(), c.resp.Body(), status, content)
	}
	if got := string(c.resp.Header.Protocol()); got != "HTTP/2.0" {
		c.t.Errorf("the response came by %q", got)
	}
	return c.resp
}

// fails checks the error.
func (c *h2Call) fails(want error) {
	c.t.Helper()
	if err := c.wait(); !errors.Is(err, want) {
		c.t.Errorf("got %v, want %v", err, want)
	}
}

// failsWith checks the text of the error.
func (c *h2Call) failsWith(text string) {
	c.t.Helper()
	if err := c.wait(); err == nil || !strings.Contains(err.Error(), text) {
		c.t.Errorf("got %v, want %q", err, text)
	}
}
