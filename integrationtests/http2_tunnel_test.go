package integrationtests

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
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

// connectRequest returns an extended CONNECT, or a CONNECT if protocol is empty.
func (s *http2Server) connectRequest(protocol string) *fasthttp.Request {
	req := new(fasthttp.Request)
	if protocol == "" {
		req.Header.SetMethod("CONNECT")
		req.SetRequestURI(s.url("/")) // its host is the target
	} else {
		req.SetRequestURI(s.url("/a?b=c"))
		req.Header.SetConnectProtocol(protocol)
	}
	return req
}

// openTunnel opens a tunnel.
func (s *http2Server) openTunnel(t testing.TB, hc *fasthttp.HostClient, protocol string) net.Conn {
	t.Helper()
	resp := &fasthttp.Response{StreamBody: true}
	servertest.Must(t, hc.DoTimeout(s.connectRequest(protocol), resp, servertest.Patience))
	if resp.StatusCode() != 200 {
		t.Fatalf("got %s", resp)
	}
	nc, ok := resp.BodyStream().(net.Conn)
	if !ok {
		t.Fatalf("the body is a %T", resp.BodyStream())
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

type closeWriter interface{ CloseWrite() error }

// Tunnels carry any bytes both ways at once, beyond the windows, and each direction ends for
// itself.
func TestHTTP2Tunnels(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		reported := make(chan fasthttp.SentResponse, 10)
		s := start(&fasthttp.Server{
			HTTP2:        fasthttp.HTTP2Config{ExtendedConnect: true},
			ResponseSent: func(_ *fasthttp.RequestCtx, sent fasthttp.SentResponse) { reported <- sent },
			Handler: func(ctx *fasthttp.RequestCtx) {
				ctx.SetBodyString("not sent")
				if protocol := ctx.ConnectProtocol(); protocol != nil && (string(protocol) != "upper/1" || string(ctx.RequestURI()) != "/a?b=c" || string(ctx.Path()) != "/a") {
					t.Errorf("got %s %s", protocol, ctx.RequestURI())
				}
				ctx.Hijack(func(nc net.Conn) {
					if nc.RemoteAddr().String() != ctx.RemoteAddr().String() || nc.LocalAddr().String() != ctx.LocalAddr().String() || !ctx.IsConnect() {
						t.Errorf("the connection is from %v to %v", nc.RemoteAddr(), nc.LocalAddr())
					}
					b := make([]byte, 10_000)
					for {
						n, err := nc.Read(b)
						if _, failed := nc.Write(bytes.ToUpper(b[:n])); failed != nil {
							t.Error(failed)
							return
						}
						if err != nil {
							if err != io.EOF {
								t.Error(err)
							}
							_, _ = nc.Write([]byte(" the end"))
							return
						}
					}
				})
			},
		})
		hc := s.tunnelClient(t)
		for _, protocol := range []string{"", "upper/1"} {
			nc := s.openTunnel(t, hc, protocol)
			if sent := servertest.Receive(t, "ResponseSent", reported); sent.StatusCode != 200 || sent.Err != nil {
				t.Errorf("reported %+v", sent)
			}
			text := numbered(3 << 20)
			written := make(chan error, 1)
			go func() {
				_, err := io.WriteString(nc, text)
				written <- errors.Join(err, nc.(closeWriter).CloseWrite())
			}()
			got, err := io.ReadAll(nc)
			if want := strings.ToUpper(text) + " the end"; string(got) != want || err != nil {
				t.Errorf("%q: %d of %d bytes, %v", protocol, len(got), len(want), err)
			}
			servertest.Must(t, servertest.Receive(t, "the end of writing", written))
			if _, err := nc.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a write after CloseWrite: %v", err)
			}
			servertest.Must(t, nc.Close())
			if err := nc.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a second Close: %v", err)
			}
			if _, err := nc.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a read after Close: %v", err)
			}
		}
		if n := hc.ConnsCount(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
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

func TestHTTP2TunnelDeadlines(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		check := func(t *testing.T, nc net.Conn) {
			b := make([]byte, 1)
			servertest.Must(t, nc.SetReadDeadline(time.Now().Add(servertest.Short)))
			for range 2 {
				if n, err := nc.Read(b); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("a read: %d, %v", n, err)
				}
			}
			// a deadline set while a read waits
			servertest.Must(t, nc.SetReadDeadline(time.Now().Add(servertest.Never)))
			read := make(chan error, 1)
			go func() {
				_, err := nc.Read(b)
				read <- err
			}()
			servertest.Must(t, nc.SetReadDeadline(time.Unix(1, 0)))
			if err := servertest.Receive(t, "the end of a read", read); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a read that waits: %v", err)
			}
			servertest.Must(t, nc.SetDeadline(time.Time{}))
		}
		results, checked := make(chan error, 1), make(chan struct{})
		s := start(&fasthttp.Server{HTTP2: fasthttp.HTTP2Config{ExtendedConnect: true}, Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Hijack(func(nc net.Conn) {
				<-checked
				check(t, nc)
				if _, err := nc.Write([]byte("a")); err != nil {
					t.Error(err)
				}
				// a writer whose peer does not read: the deadline is set while it waits
				go func() {
					n, err := 0, error(nil)
					for err == nil && n < 100<<20 {
						var k int
						k, err = nc.Write(make([]byte, 100_000))
						n += k
					}
					results <- err
				}()
				_, err := io.ReadFull(nc, make([]byte, 1))
				if err != nil {
					t.Error(err)
				}
				_ = nc.SetWriteDeadline(time.Unix(1, 0))
				_, _ = io.Copy(io.Discard, nc)
			})
		}})
		nc := s.openTunnel(t, s.tunnelClient(t), "upper/1")
		check(t, nc)
		close(checked)
		if _, err := io.ReadFull(nc, make([]byte, 1)); err != nil {
			t.Error(err)
		}
		if _, err := nc.Write([]byte("b")); err != nil {
			t.Error(err)
		}
		if err := servertest.Receive(t, "the end of the writer", results); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the writer: %v", err)
		}
		servertest.Must(t, nc.Close())
	})
}

// A reset, and the end of the connection, fail both directions on the other side.
func TestHTTP2TunnelsAreCut(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		type result struct{ read, write error }
		results := make(chan result, 1)
		s := start(&fasthttp.Server{HTTP2: fasthttp.HTTP2Config{ExtendedConnect: true}, Handler: func(ctx *fasthttp.RequestCtx) {
			resets := string(ctx.ConnectProtocol()) == "reset"
			ctx.Hijack(func(nc net.Conn) {
				if resets {
					_ = nc.(interface{ UnsafeConn() net.Conn }).UnsafeConn().(interface{ Reset() error }).Reset()
					return
				}
				_, err := nc.Read(make([]byte, 1))
				_, failed := nc.Write([]byte("a"))
				results <- result{err, failed}
			})
		}})
		// by a client
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
		// by a server
		hc := s.tunnelClient(t)
		nc := s.openTunnel(t, hc, "reset")
		if _, err := nc.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Errorf("a reset by the server: %v", err)
		}
		if _, err := nc.Write([]byte("a")); err == nil {
			t.Error("a write after a reset by the server")
		}
		// by the limits of the call
		for name, call := range map[string]func(req *fasthttp.Request, resp *fasthttp.Response) error{
			"timeout": func(req *fasthttp.Request, resp *fasthttp.Response) error {
				return hc.DoTimeout(req, resp, 10*servertest.Short)
			},
			"context": func(req *fasthttp.Request, resp *fasthttp.Response) error {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(10*servertest.Short, cancel)
				return hc.DoContext(ctx, req, resp)
			},
		} {
			resp := &fasthttp.Response{StreamBody: true}
			if err := call(s.connectRequest("a"), resp); err != nil {
				// the machine is slow
				t.Logf("%s: %v", name, err)
				continue
			}
			nc := resp.BodyStream().(net.Conn)
			if _, err := nc.Read(make([]byte, 1)); err == nil || err == io.EOF {
				t.Errorf("%s: %v", name, err)
			}
			servertest.Must(t, nc.Close())
			servertest.Receive(t, "the end", results)
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
		servertest.Must(t, nc.(closeWriter).CloseWrite())
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
			if err := hc.Do(s.connectRequest("late"), resp); err != nil {
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
		if err := do(s.connectRequest("a"), &fasthttp.Response{StreamBody: true}); !errors.Is(err, fasthttp.ErrNoExtendedConnect) {
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
