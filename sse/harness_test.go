package sse_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// prepare sets the engine of a server.
var prepare = roottest.Prepare

// server is a running server, with a client of net/http that speaks one version of HTTP.
type server struct{ *roottest.Server }

type starter func(s *fasthttp.Server) *server

// everywhere runs a test with both versions of HTTP, on both engines, with TLS and without.
func everywhere(t *testing.T, test func(t *testing.T, start starter)) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		test(t, func(s *fasthttp.Server) *server {
			s.HTTP2.WriteByteTimeout = servertest.Never // a client that does not read is left for another reason
			return &server{start(s)}
		})
	})
}

// ours returns a client of this module with the server's version of HTTP.
func (s *server) ours(t testing.TB) *fasthttp.Client {
	c := &fasthttp.Client{TLSConfig: servertest.TrustCertificate()}
	switch {
	case !s.HTTP2:
		c.Protocols.SetHTTP1(true)
	case s.Engine.TLS:
		c.Protocols.SetHTTP2(true)
	default:
		c.Protocols.SetUnencryptedHTTP2(true)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// opened is an open response.
type opened struct {
	*http.Response
	t      testing.TB
	r      *bufio.Reader
	cancel func()
}

// open sends a GET. Fields are names and values in turn.
func (s *server) open(t testing.TB, path string, fields ...string) *opened {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stop := time.AfterFunc(5*servertest.Patience, cancel)
	t.Cleanup(func() { stop.Stop(); cancel() })
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL(path), nil)
	servertest.Must(t, err)
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := s.Client.Do(req)
	servertest.Must(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	if want := map[bool]int{false: 1, true: 2}[s.HTTP2]; resp.ProtoMajor != want {
		t.Errorf("the response has the version %s", resp.Proto)
	}
	o := newOpened(t, resp)
	o.cancel = cancel
	return o
}

func newOpened(t testing.TB, resp *http.Response) *opened {
	return &opened{Response: resp, t: t, r: bufio.NewReader(resp.Body)}
}

// want reads the text that must be next.
func (o *opened) want(text string) {
	o.t.Helper()
	got := make([]byte, len(text))
	if n, err := io.ReadFull(o.r, got); err != nil || string(got) != text {
		o.t.Fatalf("got %q, %v, want %q", got[:n], err, text)
	}
}

// wantEnd checks that the response ends, without an error.
func (o *opened) wantEnd() {
	o.t.Helper()
	if rest, err := io.ReadAll(o.r); err != nil || len(rest) > 0 {
		o.t.Errorf("the stream ends with %.200q, %v", rest, err)
	}
}

// inBubble runs a test in a bubble, in which time passes only while all goroutines wait.
// Connections must be in memory.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	// the clock of the process must not be started in the bubble
	clock.Now()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(clock.Resolution)
		defer ticker.Stop()
		for !servertest.IsClosed(stop) {
			<-ticker.C
			clock.Now()
		}
	}()
	defer func() {
		close(stop)
		servertest.Receive(t, "the end of the pace", stopped)
	}()
	servertest.Bubble(t, func(t *testing.T) {
		// workers that are idle end by themselves
		t.Cleanup(func() { time.Sleep(time.Hour) }) // bubble: within synctest.Test
		test(t)
	})
}

// inMemory serves a handler in memory, until the test ends.
func inMemory(t *testing.T, s *fasthttp.Server) (dial func() *servertest.Conn, ln *fasthttputil.InmemoryListener) {
	t.Helper()
	prepare(s, servertest.MemoryEngine)
	s.NoDefaultDate = true
	ln = fasthttputil.NewInmemoryListener()
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	var conns []*servertest.Conn
	t.Cleanup(func() {
		for _, c := range conns {
			_ = c.Close()
		}
		servertest.ShutDown(t, s)
		servertest.Must(t, servertest.Receive(t, "the end of Serve", served))
	})
	return func() *servertest.Conn {
		nc, err := ln.Dial()
		servertest.Must(t, err)
		conns = append(conns, servertest.NewConn(t, nc))
		return conns[len(conns)-1]
	}, ln
}

// memoryClient is a client whose connections lead to a listener in memory.
func memoryClient(t *testing.T, ln *fasthttputil.InmemoryListener) *fasthttp.HostClient {
	c := &fasthttp.HostClient{Addr: "a:80", DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// repeated is text of about n bytes.
func repeated(n int) []byte { return []byte(strings.Repeat("0123456789", n/10)) }
