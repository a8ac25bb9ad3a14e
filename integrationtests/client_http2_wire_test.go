package integrationtests

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// h2Peer is a server of HTTP/2 of which a test says, on its own goroutine, what it does on
// each connection. Calls of clients run on other goroutines: see startCall.
type h2Peer struct {
	t        testing.TB
	ln       net.Listener
	tls      *tls.Config // nil without TLS
	accepted atomic.Int32
	conns    chan net.Conn
	mu       sync.Mutex
	open     []net.Conn
}

// newH2Peer listens. Each connection is then to be accepted.
func newH2Peer(t testing.TB) *h2Peer {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &h2Peer{t: t, ln: ln, conns: make(chan net.Conn, 1000)}
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.open = append(p.open, nc)
			p.mu.Unlock()
			p.accepted.Add(1)
			p.conns <- nc
		}
	}()
	t.Cleanup(p.stop)
	return p
}

// newH2TLSPeer is newH2Peer with TLS, and with the protocols among which the server chooses.
func newH2TLSPeer(t testing.TB, protos ...string) *h2Peer {
	t.Helper()
	p := newH2Peer(t)
	cert, key := servertest.Certificate()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	p.tls = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: protos}
	return p
}

func (p *h2Peer) stop() {
	_ = p.ln.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, nc := range p.open {
		_ = nc.Close()
	}
}

func (p *h2Peer) addr() string { return p.ln.Addr().String() }

func (p *h2Peer) url(path string) string {
	if p.tls != nil {
		return "https://" + p.addr() + path
	}
	return "http://" + p.addr() + path
}

// client returns a client of p that speaks HTTP/2 alone. When the test ends, nothing of it
// must be left.
func (p *h2Peer) client() *fasthttp.HostClient {
	hc := &fasthttp.HostClient{Addr: p.addr(), IsTLS: p.tls != nil, MaxIdleConnDuration: servertest.Never}
	if p.tls != nil {
		hc.Protocols.SetHTTP2(true)
		hc.TLSConfig = servertest.TrustCertificate()
	} else {
		hc.Protocols.SetUnencryptedHTTP2(true)
	}
	p.t.Cleanup(func() { p.endOf(hc) })
	return hc
}

// endOf closes the connections of a client, and checks that nothing is left.
func (p *h2Peer) endOf(hc *fasthttp.HostClient) {
	hc.CloseIdleConnections()
	p.stop()
	begun := time.Now()
	for hc.ConnsCount() != 0 || hc.PendingRequests() != 0 {
		if time.Since(begun) > servertest.Patience {
			p.t.Errorf("%d connections and %d calls are left", hc.ConnsCount(), hc.PendingRequests())
			return
		}
		hc.CloseIdleConnections()
		time.Sleep(time.Millisecond)
	}
}

// accept returns the next connection, of which nothing was read but the handshake of TLS.
func (p *h2Peer) accept() *h2Side {
	p.t.Helper()
	return p.side(servertest.Receive(p.t, "a connection", p.conns))
}

// acceptUnless is accept, but returns nil if a call ends before there is a connection.
func (p *h2Peer) acceptUnless(call *h2Call) *h2Side {
	p.t.Helper()
	select {
	case nc := <-p.conns:
		return p.side(nc)
	case err := <-call.done:
		call.done <- err
	case <-time.After(servertest.Patience):
		p.t.Fatal("neither a connection nor the end of the call")
	}
	return nil
}

func (p *h2Peer) side(nc net.Conn) *h2Side {
	p.t.Helper()
	_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
	if p.tls != nil {
		tc := tls.Server(nc, p.tls)
		if err := tc.Handshake(); err != nil {
			p.t.Fatal(err)
		}
		nc = tc
	}
	c := &h2Side{
		h2Conn: newHTTP2(servertest.NewConn(p.t, nc)), streams: make(map[uint32]*h2Request),
		settled: make(map[http2.SettingID]uint32), granted: make(map[uint32]int),
	}
	c.fr.SetReuseFrames()
	return c
}

// greet accepts a connection, and sends settings, which are ids and values in turn.
func (p *h2Peer) greet(settings ...uint32) *h2Side {
	p.t.Helper()
	return p.accept().greet(settings...)
}

func (c *h2Side) greet(settings ...uint32) *h2Side {
	c.T.Helper()
	c.preface()
	c.settings(settings...).frame(http2.FrameSettings, http2.FlagSettingsAck, 0, "")
	c.flush()
	return c
}

// hasAccepted checks that the client has opened no more than a number of connections.
func (p *h2Peer) hasAccepted(n int32) {
	p.t.Helper()
	if got := p.accepted.Load(); got != n {
		p.t.Errorf("the client has opened %d connections, want %d", got, n)
	}
}

// h2Side is the server's side of a connection. Calls that wait for something read the
// frames that come before it: they acknowledge SETTINGS and answer PING, and keep what else
// there is to know.
type h2Side struct {
	*h2Conn
	streams map[uint32]*h2Request
	order   []uint32 // of the streams, as their heads came
	taken   int      // how many of them request has returned
	settled map[http2.SettingID]uint32
	acks    int
	pings   int
	pongs   int
	mute    bool // PING is not answered
	away    *http2.ErrCode
	granted map[uint32]int // how much more the client takes, above what it took at first
}

// h2Request is what came on a stream.
type h2Request struct {
	id       uint32
	fields   []hpack.HeaderField
	trailers []hpack.HeaderField
	content  []byte
	ended    bool
	reset    *http2.ErrCode
}

func (r *h2Request) field(name string) string { return fieldOf(r.fields, name) }

func fieldOf(fields []hpack.HeaderField, name string) string {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// preface reads what a connection begins with.
func (c *h2Side) preface() {
	c.T.Helper()
	got := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c.R, got); err != nil || string(got) != http2.ClientPreface {
		c.T.Fatalf("the connection begins with %q, %v", got, err)
	}
	c.until("SETTINGS", func() bool { return len(c.settled) > 0 })
}

// read reads a frame.
func (c *h2Side) read() error {
	frame, err := c.fr.ReadFrame()
	if err != nil {
		return err
	}
	id := frame.Header().StreamID
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			c.acks++
			break
		}
		c.settled[0] = 0 // they may be none
		return f.ForeachSetting(func(s http2.Setting) error {
			c.settled[s.ID] = s.Val
			return nil
		})
	case *http2.PingFrame:
		if f.IsAck() {
			c.pongs++
			break
		}
		c.pings++
		if c.mute {
			break
		}
		return c.frame(http2.FramePing, http2.FlagPingAck, 0, string(f.Data[:])).write()
	case *http2.MetaHeadersFrame:
		c.noteHead(id, f)
	case *http2.DataFrame:
		r := c.streams[id]
		if r == nil || r.ended {
			return fmt.Errorf("DATA on stream %d, which is not open", id)
		}
		r.content = append(r.content, f.Data()...)
		r.ended = f.StreamEnded()
	case *http2.RSTStreamFrame:
		code := f.ErrCode
		r := c.streams[id]
		if r == nil {
			return fmt.Errorf("RST_STREAM of stream %d, which has not begun", id)
		}
		r.reset = &code
	case *http2.WindowUpdateFrame:
		c.granted[id] += int(f.Increment)
	case *http2.GoAwayFrame:
		code := f.ErrCode
		c.away = &code
	}
	return nil
}

func (c *h2Side) noteHead(id uint32, f *http2.MetaHeadersFrame) {
	fields := slices.Clone(f.Fields)
	if r := c.streams[id]; r != nil {
		r.trailers, r.ended = fields, f.StreamEnded()
		return
	}
	if id%2 == 0 || len(c.order) > 0 && id <= c.order[len(c.order)-1] {
		c.T.Errorf("stream %d begins after %v", id, c.order)
	}
	c.streams[id] = &h2Request{id: id, fields: fields, ended: f.StreamEnded()}
	c.order = append(c.order, id)
}

// until reads frames until a condition holds.
func (c *h2Side) until(what string, holds func() bool) {
	c.T.Helper()
	for !holds() {
		if err := c.read(); err != nil {
			c.T.Fatalf("never came: %s: %v", what, err)
		}
	}
}

// request waits for the next head of a request.
func (c *h2Side) request() *h2Request {
	c.T.Helper()
	c.until("a request", func() bool { return len(c.order) > c.taken })
	c.taken++
	return c.streams[c.order[c.taken-1]]
}

// requests waits for n of them.
func (c *h2Side) requests(n int) (all []*h2Request) {
	c.T.Helper()
	for range n {
		all = append(all, c.request())
	}
	return all
}

// requestUnless is request, but returns nil if a call ends before.
func (c *h2Side) requestUnless(call *h2Call) *h2Request {
	c.T.Helper()
	defer func() { _ = c.SetReadDeadline(time.Now().Add(servertest.Patience)) }()
	for begun := time.Now(); len(c.order) == c.taken; {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := c.R.Peek(1); errors.Is(err, os.ErrDeadlineExceeded) {
			if len(call.done) > 0 {
				return nil
			}
			if time.Since(begun) > servertest.Patience {
				c.T.Fatal("neither a request nor the end of the call")
			}
			continue
		}
		_ = c.SetReadDeadline(time.Now().Add(servertest.Patience))
		if err := c.read(); err != nil {
			c.T.Fatalf("neither a request nor the end of the call: %v", err)
		}
	}
	return c.request()
}

// whole waits for the next request, and for its end.
func (c *h2Side) whole() *h2Request {
	c.T.Helper()
	r := c.request()
	c.endOf(r)
	return r
}

// endOf waits for the end of a request.
func (c *h2Side) endOf(r *h2Request) {
	c.T.Helper()
	c.until(fmt.Sprintf("the end of stream %d", r.id), func() bool { return r.ended || r.reset != nil })
	if r.reset != nil {
		c.T.Fatalf("stream %d was reset with %v", r.id, *r.reset)
	}
}

// expectReset waits until the client resets a stream.
func (c *h2Side) expectReset(r *h2Request, code http2.ErrCode) {
	c.T.Helper()
	c.until(fmt.Sprintf("a reset of stream %d", r.id), func() bool { return r.reset != nil })
	if *r.reset != code {
		c.T.Errorf("stream %d was reset with %v, want %v", r.id, *r.reset, code)
	}
}

// head sends the head of a response.
func (c *h2Side) head(r *h2Request, flags http2.Flags, status string, fields ...string) *h2Side {
	c.headers(r.id, flags, append([]string{":status: " + status}, fields...)...)
	return c
}

// respond sends a response.
func (c *h2Side) respond(r *h2Request, status, content string, fields ...string) {
	c.T.Helper()
	if content == "" {
		c.head(r, whole, status, fields...)
	} else {
		c.head(r, endHeaders, status, fields...)
		c.data(r.id, endStream, content)
	}
	c.flush()
}

// serve answers the next request with its path.
func (c *h2Side) serve() *h2Request {
	c.T.Helper()
	r := c.whole()
	c.respond(r, "200", r.field(":path"))
	return r
}

// sync waits until the client has read all that was sent.
func (c *h2Side) sync() {
	c.T.Helper()
	before := c.pongs
	c.frame(http2.FramePing, 0, 0, "are here").flush()
	c.until("an answer to PING", func() bool { return c.pongs > before })
}

// goAway says that the connection ends, and that no stream above last is looked at.
func (c *h2Side) goAway(last uint32, code http2.ErrCode) *h2Side {
	c.frame(http2.FrameGoAway, 0, 0, words(last, uint32(code)))
	return c
}

// send sends content as the windows of the client permit.
func (c *h2Side) send(r *h2Request, content string, end bool) {
	c.T.Helper()
	window := 65535
	if n, ok := c.settled[http2.SettingInitialWindowSize]; ok {
		window = int(n)
	}
	for sent := 0; sent < len(content); {
		may := min(65535+c.granted[0], window+c.granted[r.id], len(content)-sent, 16<<10)
		if may <= 0 {
			c.until("a window", func() bool { return 65535+c.granted[0] > 0 && window+c.granted[r.id] > 0 })
			continue
		}
		flags := http2.Flags(0)
		if sent += may; end && sent == len(content) {
			flags = endStream
		}
		c.data(r.id, flags, content[sent-may:sent]).flush()
		c.granted[0] -= may
		c.granted[r.id] -= may
	}
}

// expectEnd reads until the client has closed the connection, and returns the code of
// GOAWAY, or "cut" without one.
func (c *h2Side) expectEnd() string {
	c.T.Helper()
	for {
		if err := c.read(); errors.Is(err, os.ErrDeadlineExceeded) {
			c.T.Fatal("the client does not end the connection")
		} else if err != nil {
			break
		}
	}
	if c.away == nil {
		return "cut"
	}
	return c.away.String()
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

// get begins a GET.
func (p *h2Peer) get(hc *fasthttp.HostClient, path string) *h2Call {
	p.t.Helper()
	return startCall(p.t, hc.Do, fasthttp.MethodGet, p.url(path))
}

// post begins a POST.
func (p *h2Peer) post(hc *fasthttp.HostClient, path, body string) *h2Call {
	p.t.Helper()
	return startCall(p.t, hc.Do, fasthttp.MethodPost, p.url(path), withBody(body))
}

// stream begins a GET whose response is a stream.
func (p *h2Peer) stream(hc *fasthttp.HostClient, path string) *h2Call {
	p.t.Helper()
	return startCall(p.t, hc.Do, fasthttp.MethodGet, p.url(path), asStream)
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

// TestHTTP2PeerServesNetHTTP has the client of net/http call the peer, so that what the
// tests of the client here find is not a fault of the peer.
func TestHTTP2PeerServesNetHTTP(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprint("TLS ", secure), func(t *testing.T) {
			p := newH2Peer(t)
			if secure {
				p = newH2TLSPeer(t, "h2")
			}
			var protocols http.Protocols
			protocols.SetHTTP2(p.tls != nil)
			protocols.SetUnencryptedHTTP2(p.tls == nil)
			tr := &http.Transport{Protocols: &protocols, TLSClientConfig: servertest.TrustCertificate()}
			defer tr.CloseIdleConnections()
			// this client may dial one connection more, and close it unused
			accept := func() *h2Side {
				for {
					c := p.accept()
					if _, err := c.R.Peek(1); err != io.EOF {
						return c
					}
				}
			}
			type result struct {
				text string
				err  error
			}
			ask := func(method, path string, body io.Reader) <-chan result {
				done := make(chan result, 1)
				req, err := http.NewRequest(method, p.url(path), body)
				if err != nil {
					t.Fatal(err)
				}
				if body != nil {
					req.Trailer = http.Header{"X-Sum": {"7"}}
				}
				go func() {
					resp, err := tr.RoundTrip(req)
					if err != nil {
						done <- result{"", err}
						return
					}
					defer resp.Body.Close()
					content, err := io.ReadAll(resp.Body)
					done <- result{fmt.Sprintf("%s %d %s %v", resp.Proto, resp.StatusCode, content, maps.Clone(resp.Trailer)), err}
				}()
				return done
			}
			first := ask("GET", "/a", nil)
			c := accept().greet(uint32(http2.SettingInitialWindowSize), 100)
			c.serve()
			if got := servertest.Receive(t, "a response", first); got.text != "HTTP/2.0 200 /a map[]" || got.err != nil {
				t.Errorf("GET: got %v", got)
			}
			second := ask("POST", "/b", io.MultiReader(strings.NewReader(numbered(1000))))
			r := c.request()
			c.until("a full window", func() bool { return len(r.content) == 100 })
			c.sync()
			c.window(r.id, 10_000).flush()
			c.endOf(r)
			if string(r.content) != numbered(1000) || fieldOf(r.trailers, "x-sum") != "7" {
				t.Errorf("POST: got %d bytes, %v", len(r.content), r.trailers)
			}
			c.head(r, endHeaders, "200")
			c.send(r, numbered(500_000), false)
			c.headers(r.id, whole, "x-end: yes").flush()
			if got := servertest.Receive(t, "a response", second); got.text != "HTTP/2.0 200 "+numbered(500_000)+" map[X-End:[yes]]" || got.err != nil {
				t.Errorf("POST: got %.100v, %v", got.text, got.err)
			}
			third := ask("GET", "/c", nil)
			c.reset(c.whole().id, http2.ErrCodeInternal).flush()
			if got := servertest.Receive(t, "an error", third); got.err == nil || !strings.Contains(got.err.Error(), "INTERNAL_ERROR") {
				t.Errorf("after a reset: %v", got)
			}
			c.goAway(0, http2.ErrCodeNo).flush()
			c.sync()
			last := ask("GET", "/d", nil)
			accept().greet().serve()
			if got := servertest.Receive(t, "a response", last); got.err != nil {
				t.Errorf("after GOAWAY: %v", got)
			}
		})
	}
}
