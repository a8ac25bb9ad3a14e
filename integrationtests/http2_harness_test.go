package integrationtests

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// http2Server is a server that speaks HTTP/2 and HTTP/1, and a client of net/http that
// speaks HTTP/2 alone.
type http2Server struct {
	*testServer
	client *http.Client
}

type http2Starter func(s *fasthttp.Server) *http2Server

// overHTTP2 runs a test on both engines, with TLS and without.
func overHTTP2(t *testing.T, test func(t *testing.T, start http2Starter)) {
	t.Parallel()
	for _, e := range servertest.Engines {
		if !e.Sockets {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			test(t, func(s *fasthttp.Server) *http2Server { return startHTTP2(t, e, s) })
		})
	}
}

func startHTTP2(t testing.TB, e servertest.Engine, s *fasthttp.Server) *http2Server {
	t.Helper()
	h := &http2Server{testServer: serveHTTP2(t, e, s)}
	h.client = &http.Client{Transport: h.transport(t), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return h
}

// transport returns a transport whose idle connections are closed at the end of the test.
func (s *http2Server) transport(t testing.TB) *http.Transport {
	var p http.Protocols
	if s.Engine.TLS {
		p.SetHTTP2(true)
	} else {
		p.SetUnencryptedHTTP2(true)
	}
	tr := &http.Transport{
		Protocols: &p, TLSClientConfig: servertest.TrustCertificate(),
		ExpectContinueTimeout: servertest.Never, DisableCompression: true,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// url returns the URL of a path.
func (s *http2Server) url(path string) string {
	if s.Engine.TLS {
		return "https://" + s.Listener.Addr().String() + path
	}
	return "http://" + s.Listener.Addr().String() + path
}

// request makes a request. Fields are names and values in turn.
func (s *http2Server) request(t testing.TB, method, path string, body io.Reader, fields ...string) *http.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, s.url(path), body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Add(fields[i], fields[i+1])
	}
	return req
}

// open sends a request, and returns the response before its content.
func (s *http2Server) open(t testing.TB, req *http.Request) *http.Response {
	t.Helper()
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.Proto != "HTTP/2.0" {
		t.Errorf("%s %s: answered with %s", req.Method, req.URL.Path, resp.Proto)
	}
	return resp
}

// do sends a request, and reads the response.
func (s *http2Server) do(t testing.TB, req *http.Request) servertest.Response {
	t.Helper()
	resp := s.open(t, req)
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v after %d bytes of content", req.Method, req.URL.Path, err, len(content))
	}
	return servertest.Response{Response: resp, Content: string(content)}
}

// ask sends a request, and checks the response.
func (s *http2Server) ask(t testing.TB, method, path, body string, status int, content string, fields ...string) servertest.Response {
	t.Helper()
	var sent io.Reader
	if body != "" {
		sent = strings.NewReader(body)
	}
	resp := s.do(t, s.request(t, method, path, sent, fields...))
	if resp.StatusCode != status || resp.Content != content {
		t.Errorf("%s %s: got %d %.200q, want %d %.200q", method, path, resp.StatusCode, resp.Content, status, content)
	}
	return resp
}

// get is ask for a GET that is answered with 200.
func (s *http2Server) get(t testing.TB, path, content string) servertest.Response {
	t.Helper()
	return s.ask(t, "GET", path, "", 200, content)
}

// informed makes a request one that notes informational responses.
func informed(req *http.Request) (*http.Request, func() []string) {
	var mu sync.Mutex
	var got []string
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, strings.TrimSpace(fmt.Sprint(code, " ", strings.Join(h["Link"], ", "))))
		return nil
	}}
	return req.WithContext(httptrace.WithClientTrace(req.Context(), trace)), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// reset reports whether the error of a client of net/http is that the server has reset the
// stream with a code. The type of the error is not exported.
func resetWith(err error, code http2.ErrCode) bool {
	return err != nil && strings.Contains(err.Error(), "stream error: stream ID ") && strings.Contains(err.Error(), "; "+code.String()+"; received from peer")
}

// frameConn is a client that sends and receives single frames.
type frameConn struct {
	*http2.Framer
	t            testing.TB
	nc           net.Conn
	enc          *hpack.Encoder
	block        bytes.Buffer
	got          map[uint32]*frames
	away         *http2.GoAwayFrame // the last one
	pings, pongs int
	// window is what the server has said that it takes on each stream in the beginning.
	window uint32
	// greeted says that the settings of the server have come.
	greeted bool
	// granted is how much more the server has said that it takes, by stream.
	granted map[uint32]int
}

// frames is what came on a stream.
type frames struct {
	heads   []map[string]string // also informational ones, and trailers
	content []byte
	reset   *http2.ErrCode
	ended   bool
}

// head returns the head with the number, or nil.
func (f *frames) head(n int) map[string]string {
	if n >= len(f.heads) {
		return nil
	}
	return f.heads[n]
}

// done reports whether there is nothing more to come.
func (f *frames) done() bool { return f.ended || f.reset != nil }

// dialFrames connects, and sends the preface with settings.
func (s *http2Server) dialFrames(t testing.TB, settings ...http2.Setting) *frameConn {
	t.Helper()
	nc, err := net.Dial("tcp4", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if s.Engine.TLS {
		config := servertest.TrustCertificate()
		config.NextProtos, config.ServerName = []string{"h2"}, "127.0.0.1"
		tc := tls.Client(nc, config)
		if err := tc.Handshake(); err != nil {
			t.Fatal(err)
		}
		if got := tc.ConnectionState().NegotiatedProtocol; got != "h2" {
			t.Fatalf("the protocol is %q", got)
		}
		nc = tc
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
	c := &frameConn{Framer: http2.NewFramer(nc, nc), t: t, nc: nc, got: make(map[uint32]*frames), window: 65535, granted: make(map[uint32]int)}
	c.enc = hpack.NewEncoder(&c.block)
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.WriteString(nc, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	c.must(c.WriteSettings(settings...))
	return c
}

func (c *frameConn) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("cannot send a frame: %v", err)
	}
}

// ask sends the head of a request. Fields are names and values in turn.
func (c *frameConn) ask(id uint32, end bool, method, path string, fields ...string) {
	c.t.Helper()
	scheme := "http"
	if _, ok := c.nc.(*tls.Conn); ok {
		scheme = "https"
	}
	c.fields(id, end, append([]string{":method", method, ":scheme", scheme, ":authority", "a", ":path", path}, fields...)...)
}

// fields sends a header section.
func (c *frameConn) fields(id uint32, end bool, fields ...string) {
	c.t.Helper()
	c.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = c.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	block := c.block.Bytes()
	first := block[:min(len(block), 16<<10)]
	c.must(c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndStream: end, EndHeaders: len(first) == len(block)}))
	for rest := block[len(first):]; len(rest) > 0; {
		part := rest[:min(len(rest), 16<<10)]
		rest = rest[len(part):]
		c.must(c.WriteContinuation(id, len(rest) == 0, part))
	}
}

// stream returns what came on a stream.
func (c *frameConn) stream(id uint32) *frames {
	if c.got[id] == nil {
		c.got[id] = &frames{}
	}
	return c.got[id]
}

// read reads a frame, and returns the error of the connection.
func (c *frameConn) read() error {
	frame, err := c.ReadFrame()
	if err != nil {
		return err
	}
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			break
		}
		if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
			c.window = v
		}
		c.greeted = true
		return c.WriteSettingsAck()
	case *http2.PingFrame:
		if f.IsAck() {
			c.pongs++
			break
		}
		c.pings++
		return c.WritePing(true, f.Data)
	case *http2.MetaHeadersFrame:
		head := make(map[string]string)
		for _, field := range f.Fields {
			if was, ok := head[field.Name]; ok {
				head[field.Name] = was + "\n" + field.Value
			} else {
				head[field.Name] = field.Value
			}
		}
		s := c.stream(f.StreamID)
		s.heads = append(s.heads, head)
		s.ended = s.ended || f.StreamEnded()
	case *http2.DataFrame:
		s := c.stream(f.StreamID)
		s.content = append(s.content, f.Data()...)
		s.ended = s.ended || f.StreamEnded()
	case *http2.RSTStreamFrame:
		code := f.ErrCode
		c.stream(f.StreamID).reset = &code
	case *http2.WindowUpdateFrame:
		c.granted[f.StreamID] += int(f.Increment)
	case *http2.GoAwayFrame:
		copied := *f
		c.away = &copied
	}
	return nil
}

// until reads frames until a condition holds.
func (c *frameConn) until(what string, holds func() bool) {
	c.t.Helper()
	for !holds() {
		if err := c.read(); err != nil {
			c.t.Fatalf("never came: %s: %v\n%v", what, err, c.away)
		}
	}
}

// response reads frames until a stream has ended.
func (c *frameConn) response(id uint32) *frames {
	c.t.Helper()
	c.until(fmt.Sprintf("the end of stream %d", id), c.stream(id).done)
	return c.stream(id)
}

// expect reads a response, and checks it.
func (c *frameConn) expect(id uint32, status, content string) *frames {
	c.t.Helper()
	f := c.response(id)
	if f.reset != nil {
		c.t.Errorf("stream %d: reset with %v", id, *f.reset)
	}
	final := 0
	for final < len(f.heads)-1 && strings.HasPrefix(f.heads[final][":status"], "1") {
		final++
	}
	if got := f.head(final)[":status"]; got != status || string(f.content) != content {
		c.t.Errorf("stream %d: got %q %.200q, want %q %.200q", id, got, f.content, status, content)
	}
	return f
}

// expectReset reads frames until a stream was reset, and checks the code.
func (c *frameConn) expectReset(id uint32, code http2.ErrCode) *frames {
	c.t.Helper()
	f := c.response(id)
	if f.reset == nil || *f.reset != code {
		c.t.Errorf("stream %d: got %v with %d bytes, reset %v, want %v", id, f.heads, len(f.content), f.reset, code)
	}
	return f
}

// roundTrip waits until the server has seen all that was sent before.
func (c *frameConn) roundTrip() {
	c.t.Helper()
	before := c.pongs
	c.must(c.WritePing(false, [8]byte{1}))
	c.until("the answer to PING", func() bool { return c.pongs > before })
}

// expectEnd reads frames until the connection ends, which GOAWAY with the code must have
// announced.
func (c *frameConn) expectEnd(code http2.ErrCode) {
	c.t.Helper()
	for {
		if err := c.read(); err != nil {
			break
		}
	}
	if c.away == nil || c.away.ErrCode != code {
		c.t.Errorf("the connection ends with %v, want GOAWAY with %v", c.away, code)
	}
}
