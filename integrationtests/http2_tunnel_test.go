package integrationtests

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/policytest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// tunnelClient returns a client that speaks only HTTP/2.
func (s *http2Server) tunnelClient(t testing.TB) *fasthttp.HostClient {
	hc := &fasthttp.HostClient{Addr: s.Listener.Addr().String(), IsTLS: s.Engine.TLS, TLSConfig: servertest.TrustCertificate()}
	if s.Engine.TLS {
		hc.Protocols.SetHTTP2(true)
	} else {
		hc.Protocols.SetUnencryptedHTTP2(true)
	}
	t.Cleanup(hc.CloseIdleConnections)
	return hc
}

// tunnels returns the server for tunnels of a client.
func (s *http2Server) tunnels(hc *fasthttp.HostClient) policytest.TunnelServer {
	return policytest.TunnelServer{URL: s.url(""), Client: hc, Conns: hc.ConnsCount}
}

// openTunnel opens a tunnel.
func (s *http2Server) openTunnel(t testing.TB, hc *fasthttp.HostClient, protocol string) net.Conn {
	t.Helper()
	return s.tunnels(hc).Open(t, protocol)
}

// TestHTTP2Tunnels has the tests that package http3 has over HTTP/3.
func TestHTTP2Tunnels(t *testing.T) {
	var all []policytest.TunnelTransport
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		all = append(all, policytest.TunnelTransport{Name: e.Name, Start: func(t *testing.T, s *fasthttp.Server) policytest.TunnelServer {
			ts := startHTTP2(t, e, s)
			return ts.tunnels(ts.tunnelClient(t))
		}})
	}
	policytest.RunTunnels(t, all)
}

// What a side has written before it closes arrives, although the other side has granted no window
// for it yet.
func TestHTTP2TunnelsAreClosedAfterTheirBytes(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		const size = 300 << 10 // somewhat more than the window of the server
		text := numbered(size)
		ahead, received := make(chan struct{}, 1), make(chan string, 1)
		s := start(&fasthttp.Server{HTTP2: fasthttp.HTTP2Config{ExtendedConnect: true, MaxReceiveBufferPerStream: size - 10<<10}, Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Hijack(func(nc net.Conn) {
				<-ahead
				b, err := io.ReadAll(nc)
				if err != nil {
					t.Error(err)
				}
				received <- string(b)
			})
		}})
		nc := s.openTunnel(t, s.tunnelClient(t), "upper/1")
		if _, err := io.WriteString(nc, text); err != nil {
			t.Fatal(err)
		}
		servertest.Must(t, nc.Close())
		ahead <- struct{}{}
		if got := servertest.Receive(t, "the bytes", received); got != text {
			t.Errorf("%d bytes", len(got))
		}
		// the server closes
		closed := make(chan struct{})
		s = start(&fasthttp.Server{HTTP2: fasthttp.HTTP2Config{ExtendedConnect: true}, Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Hijack(func(nc net.Conn) {
				if _, err := io.WriteString(nc, text[:64<<10]); err != nil {
					t.Error(err)
				}
				_ = nc.Close()
				close(closed)
			})
		}})
		c := s.dialFrames(t)
		c.SendFields(1, false, ":method", "CONNECT", ":authority", "b:443")
		servertest.Receive(t, "Close", closed)
		st := c.Stream(1)
		c.Until("the window", func() bool { return st.Length == 65535 })
		if st.IsDone() {
			t.Errorf("the stream has ended after %d bytes", st.Length)
		}
		c.Must(c.WriteWindowUpdate(0, 1<<20))
		c.Must(c.WriteWindowUpdate(1, 1<<20))
		c.Until("the end", func() bool { return st.Ended })
		if string(st.Content) != text[:64<<10] {
			t.Errorf("%d bytes", st.Length)
		}
	})
}

// A reset by a client, and the end of its connection, fail both directions of the server.
func TestHTTP2TunnelsAreCut(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		type result struct{ read, write error }
		results := make(chan result, 1)
		s := start(policytest.TunnelsTo(func(nc net.Conn) {
			_, err := nc.Read(make([]byte, 1))
			_, failed := nc.Write([]byte("a"))
			results <- result{err, failed}
		}))
		for i, cut := range []func(c *h2Conn){
			func(c *h2Conn) { c.Must(c.WriteRSTStream(1, http2.ErrCodeCancel)) },
			func(c *h2Conn) { _ = c.Close() },
		} {
			c := s.dialFrames(t)
			c.SendFields(1, false, ":method", "CONNECT", ":authority", "b:443")
			st := c.Stream(1)
			c.Until("the response", func() bool { return st.Status() == "200" })
			cut(c)
			if r := servertest.Receive(t, "the end", results); r.read == nil || r.read == io.EOF || r.write == nil {
				t.Errorf("case %d: %v, %v", i, r.read, r.write)
			}
		}
	})
}

// SwitchProtocols drives a tunnel by events.
func TestHTTP2TunnelsSwitchProtocols(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		handler, made := connsOf(echoes)
		s := start(&fasthttp.Server{HTTP2: fasthttp.HTTP2Config{ExtendedConnect: true}, Handler: func(ctx *fasthttp.RequestCtx) {
			handler(ctx)
			ctx.SetStatusCode(200)
		}})
		hc := s.tunnelClient(t)
		talk := func(nc net.Conn) {
			t.Helper()
			r := bufio.NewReader(nc)
			for _, line := range []string{"hello\n", strings.Repeat("long", 10_000) + "\n"} {
				if _, err := io.WriteString(nc, line); err != nil {
					t.Fatal(err)
				}
				if got, err := r.ReadString('\n'); got != line || err != nil {
					t.Fatalf("%d bytes, %v", len(got), err)
				}
			}
		}
		// the client ends the connection
		nc := s.openTunnel(t, hc, "lines")
		c := servertest.Receive(t, "a connection", made)
		talk(nc)
		if c.conn.RemoteAddr().String() != nc.LocalAddr().String() || (c.conn.TLSConnectionState() != nil) != s.Engine.TLS {
			t.Errorf("from %v, %v", c.conn.RemoteAddr(), c.conn.TLSConnectionState())
		}
		servertest.Must(t, nc.(interface{ CloseWrite() error }).CloseWrite())
		if err := servertest.Receive(t, "Ended", c.ended); err != io.EOF {
			t.Errorf("ended with %v", err)
		}
		if rest, err := io.ReadAll(nc); len(rest) > 0 || err != nil {
			t.Errorf("%d bytes, %v", len(rest), err)
		}
		// the server does
		nc = s.openTunnel(t, hc, "lines")
		c = servertest.Receive(t, "a connection", made)
		talk(nc)
		servertest.Must(t, c.conn.Append([]byte("bye"), nil))
		servertest.Must(t, c.conn.Close())
		if rest, err := io.ReadAll(nc); string(rest) != "bye" || err != nil {
			t.Errorf("%q, %v", rest, err)
		}
		if err := servertest.Receive(t, "Ended", c.ended); err != nil {
			t.Errorf("ended with %v", err)
		}
		// the server resets it, and other streams of the connection continue
		other := s.openTunnel(t, hc, "lines")
		otherConn := servertest.Receive(t, "a connection", made)
		nc = s.openTunnel(t, hc, "lines")
		c = servertest.Receive(t, "a connection", made)
		talk(nc)
		c.conn.Abort()
		if _, err := io.ReadAll(nc); err == nil {
			t.Error("a reset is an end")
		}
		if err := servertest.Receive(t, "Ended", c.ended); !errors.Is(err, net.ErrClosed) {
			t.Errorf("ended with %v", err)
		}
		talk(other)
		servertest.Must(t, other.Close())
		if err := servertest.Receive(t, "Ended", otherConn.ended); err != io.EOF {
			t.Errorf("ended with %v", err)
		}
		if n := hc.ConnsCount(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// Responses to CONNECT of handlers that do not take the stream over.
func TestHTTP2TunnelsThatNobodyTakes(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		never := func(net.Conn) { t.Error("a refused connection is taken over") }
		s := start(&fasthttp.Server{HTTP2: fasthttp.HTTP2Config{ExtendedConnect: true}, Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/page":
				ctx.SetBodyString("a page")
			case "/empty":
				ctx.SetStatusCode(204)
			case "/refused":
				ctx.Error("no", 404)
			case "/hijacks":
				ctx.Error("no", 404)
				ctx.Hijack(never)
			case "/switches":
				ctx.SetStatusCode(101)
				ctx.Hijack(never)
			case "/silent":
				ctx.Hijack(never)
				ctx.HijackSetNoResponse(true)
			case "/stream":
				in := ctx.RequestBodyStream()
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					_, _ = io.Copy(w, in)
					_, _ = w.WriteString("!")
				})
			}
		}})
		c := s.dialFrames(t)
		for i, tt := range []struct{ path, status, content string }{
			{"/page", "501", "fasthttp: the handler of the extended CONNECT request has not taken the stream over"},
			{"/empty", "501", "fasthttp: the handler of the extended CONNECT request has not taken the stream over"},
			{"/refused", "404", "no"},
			{"/hijacks", "501", ""},
			{"/switches", "501", ""},
			{"/silent", "501", ""},
			{"/stream", "200", "in and out!"},
		} {
			id := uint32(2*i + 1)
			c.SendFields(id, false, ":method", "CONNECT", ":protocol", "x", ":scheme", "http", ":authority", "a", ":path", tt.path)
			c.Must(c.WriteData(id, true, []byte("in and out")))
			st := c.Response(id)
			if st.Status() != tt.status || tt.content != "" && string(st.Content) != tt.content {
				t.Errorf("%s: %v", tt.path, st)
			}
		}
	})
}

// A server that shuts down waits for tunnels, and with CloseOnShutdown opens none.
func TestHTTP2TunnelsAndShutdown(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		entered, goOn := make(chan struct{}, 1), make(chan struct{})
		s := start(&fasthttp.Server{CloseOnShutdown: true, HTTP2: fasthttp.HTTP2Config{ExtendedConnect: true}, Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.ConnectProtocol()) == "late" {
				entered <- struct{}{}
				<-goOn
			}
			ctx.Hijack(func(nc net.Conn) {
				_, _ = io.Copy(nc, nc)
			})
			ctx.OnShutdown(func(context.Context) { close(goOn) })
		}})
		hc := s.tunnelClient(t)
		nc := s.openTunnel(t, hc, "early")
		late := make(chan int, 1)
		go func() {
			resp := &fasthttp.Response{StreamBody: true}
			if err := hc.Do(s.tunnels(hc).Connect("late"), resp); err != nil {
				t.Error(err)
			}
			late <- resp.StatusCode()
			_ = resp.CloseBodyStream()
		}()
		servertest.Receive(t, "the late request", entered)
		done := make(chan error, 1)
		go func() { done <- s.S.Shutdown() }()
		if status := servertest.Receive(t, "the late response", late); status != 503 {
			t.Errorf("the late request gets %d", status)
		}
		if _, err := io.WriteString(nc, "still"); err != nil {
			t.Error(err)
		}
		b := make([]byte, 5)
		if _, err := io.ReadFull(nc, b); string(b) != "still" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		select {
		case err := <-done:
			t.Errorf("Shutdown has not waited: %v", err)
		default:
		}
		servertest.Must(t, nc.Close())
		servertest.Must(t, servertest.Receive(t, "Shutdown", done))
	})
}

// A client sends no extended CONNECT to a server that has not announced that it accepts them, nor
// over HTTP/1.1.
func TestHTTP2ClientAsksForPermission(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, do func(req *fasthttp.Request, resp *fasthttp.Response) error, s *http2Server) {
		t.Helper()
		ts := policytest.TunnelServer{URL: s.url("")}
		if err := do(ts.Connect("a"), &fasthttp.Response{StreamBody: true}); !errors.Is(err, fasthttp.ErrNoExtendedConnect) {
			t.Errorf("got %v", err)
		}
	}
	called := func(ctx *fasthttp.RequestCtx) { t.Errorf("the request is sent: %s", &ctx.Request) }
	for _, e := range []servertest.Engine{servertest.Engines[0], servertest.TLSEngines[0]} {
		s := startHTTP2(t, e, &fasthttp.Server{Handler: called})
		hc := s.tunnelClient(t)
		refused(t, hc.Do, s)
		if n := hc.ConnsCount(); n > 1 {
			t.Errorf("%d connections", n)
		}
		one := &http2Server{testServer: startServer(t, e, &fasthttp.Server{Handler: called})}
		both := one.tunnelClient(t)
		both.Protocols.SetHTTP1(true)
		refused(t, both.Do, one)
		plain := &fasthttp.HostClient{Addr: one.Listener.Addr().String(), IsTLS: e.TLS}
		refused(t, plain.Do, one)
		refused(t, (&fasthttp.PipelineClient{Addr: one.Listener.Addr().String(), IsTLS: e.TLS}).Do, one)
	}
	// the settings arrive late
	p := newH2Peer(t)
	hc := p.client()
	call := startCall(t, hc.Do, "CONNECT", p.URL("/x"), asStream, func(req *fasthttp.Request, _ *fasthttp.Response) {
		req.Header.SetConnectProtocol("a")
	})
	c := p.Accept()
	b := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c.R, b); err != nil {
		t.Fatal(err)
	}
	c.Until("SETTINGS", c.Greeted)
	c.Settings(uint32(http2.SettingEnableConnectProtocol), 1).AckSettings().Flush()
	r := c.Request()
	head := r.Head(0)
	if head[":protocol"] != "a" || head[":path"] != "/x" || head[":authority"] != p.Addr() || head[":scheme"] != "http" || head["content-length"] != "" || r.Ended {
		t.Errorf("the request is %v", head)
	}
	c.Head(r, endHeaders, "200").Flush()
	resp := call.is(200, "")
	_ = resp.CloseBodyStream()
	c.Until("the end", func() bool { return r.Ended })
}

// The response of a tunnel whose stream the client has reset is finished once.
func TestHTTP2TunnelsThatAreResetBeforeTheyOpen(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		entered, sent := make(chan struct{}, 1), make(chan error, 2)
		var finished atomic.Int32
		s := start(&fasthttp.Server{
			ResponseReady: func(*fasthttp.RequestCtx) { finished.Add(1) },
			ResponseSent:  func(_ *fasthttp.RequestCtx, how fasthttp.SentResponse) { sent <- how.Err },
			Handler: func(ctx *fasthttp.RequestCtx) {
				ctx.WatchDisconnect()
				entered <- struct{}{}
				<-ctx.Done()
				ctx.Hijack(func(net.Conn) { t.Error("a tunnel was opened") })
			},
		})
		c := servertest.GreetH2(s.testServer)
		c.SendFields(1, false, ":method", "CONNECT", ":authority", "b:443")
		servertest.Receive(t, "the request", entered)
		c.Reset(1, http2.ErrCodeCancel).Flush()
		if err := servertest.Receive(t, "the report", sent); err == nil {
			t.Error("the response is reported as sent")
		}
		if n := finished.Load(); n != 1 {
			t.Errorf("ResponseReady was called %d times", n)
		}
	})
}
