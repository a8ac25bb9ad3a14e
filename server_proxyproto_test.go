package fasthttp

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/servertest"
)

const (
	header1 = "PROXY TCP4 192.0.2.1 198.51.100.2 1234 443\r\n"
	header6 = "PROXY TCP6 2001:db8::1 2001:db8::2 1234 443\r\n"

	local1 = "PROXY UNKNOWN\r\n"
	local2 = "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00"
)

// header2 returns a header of version 2 for a client, with n bytes after the
// addresses.
func header2(client byte, n int) string {
	b := []byte("\r\n\r\n\x00\r\nQUIT\n\x21\x11")
	b = binary.BigEndian.AppendUint16(b, uint16(12+3+n))
	b = append(b, 192, 0, 2, client, 198, 51, 100, 2, 4, 210, 1, 187, 4)
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	return string(append(b, make([]byte, n)...))
}

// fromLocalhost trusts the addresses from which the tests connect.
func fromLocalhost() *ProxyProtocol { return &ProxyProtocol{From: ranges("127.0.0.0/8")} }

// ends responds with the addresses of the connection.
func ends(ctx *RequestCtx) {
	fmt.Fprintf(ctx, "%v %v %s", ctx.RemoteAddr(), ctx.LocalAddr(), ctx.RemoteIP())
}

const endsOfClient = "192.0.2.1:1234 198.51.100.2:443 192.0.2.1"

// forEachSocketEngine is forEachEngine for the engines whose peers have an IP
// address.
func forEachSocketEngine(t *testing.T, test func(t *testing.T, start starter)) {
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		t.Run(e.Name, func(t *testing.T) {
			test(t, func(s *Server) *testServer { return startServer(t, e, s) })
		})
	}
}

// dialThrough opens a connection to the server and sends a header in pieces.
func dialThrough(ts *testServer, header ...string) *servertest.Conn {
	ts.T.Helper()
	c := ts.DialPlain()
	for i, piece := range header {
		if i > 0 {
			// so that the server may read the piece alone, which is up to the system
			runtime.Gosched()
		}
		c.Send(piece)
	}
	if ts.Engine.TLS {
		return encrypted(ts, c)
	}
	return c
}

// encrypted starts TLS on a connection.
func encrypted(ts *testServer, c *servertest.Conn) *servertest.Conn {
	config := servertest.TrustCertificate()
	config.ServerName = "127.0.0.1"
	return ts.Wrap(tls.Client(c.Conn, config))
}

func TestProxyProtocolNamesTheClient(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: fromLocalhost()}
		ts := start(s)
		for _, c := range []struct{ name, header, want string }{
			{"version 1", header1, endsOfClient},
			{"version 1, IPv6", header6, "[2001:db8::1]:1234 [2001:db8::2]:443 2001:db8::1"},
			{"version 2", header2(1, 0), endsOfClient},
			{"version 2 with extensions", header2(1, 300), endsOfClient},
			{"the largest", header2(1, 4096-16-12-3), endsOfClient},
			{"unknown", local1, ""},
			{"local", local2, ""},
		} {
			conn := dialThrough(ts, c.header)
			if c.want == "" {
				c.want = fmt.Sprintf("%v %v 127.0.0.1", conn.LocalAddr(), conn.RemoteAddr())
			}
			for range 3 {
				conn.Get("/")
				conn.Expect(200, c.want)
			}
		}
		ts.Log.CheckEmpty(t)
	})
}

func TestProxyProtocolHeaderComesInPieces(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: ends, ProxyProtocol: fromLocalhost()})
		for _, header := range []string{header1, header2(1, 20)} {
			c := dialThrough(ts, strings.Split(header, "")...)
			c.Get("/")
			c.Expect(200, endsOfClient)
			if ts.Engine.TLS {
				continue
			}
			// the header arrives together with requests and a part of one
			c = dialThrough(ts, header+servertest.Get("/")+servertest.Get("/")+"GET / HT")
			c.Expect(200, endsOfClient)
			c.Expect(200, endsOfClient)
			c.Send("TP/1.1\r\nHost: a\r\n\r\n")
			c.Expect(200, endsOfClient)
			// the client closes its side after the request
			c = dialThrough(ts, header[:20], header[20:]+servertest.Get("/"))
			c.EndWrites()
			c.Expect(200, endsOfClient)
			c.ExpectEnd()
		}
		ts.Log.CheckEmpty(t)
	})
}

func TestProxyProtocolRefusesWhatHasNoHeader(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: fromLocalhost()}
		ts := start(s)
		for _, in := range []string{
			servertest.Get("/"), "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "\r\n\r\n" + servertest.Get("/"),
			"PROXY TCP4 192.0.2.1 198.51.100.2 1234\r\n" + servertest.Get("/"),
			strings.Replace(header1, "\r\n", "\n", 1) + servertest.Get("/"),
			strings.Replace(header2(1, 0), "\x21\x11", "\x21\x13", 1) + servertest.Get("/"),
			header2(1, 5000),
			header1 + header1,
		} {
			c := ts.DialPlain()
			if in == header1+header1 && !ts.Engine.TLS {
				// the second line is a malformed request
				c.Send(in + "\r\n")
				if resp := c.Next("GET"); resp.StatusCode != 400 {
					t.Errorf("two headers: %d", resp.StatusCode)
				}
				continue
			}
			c.Send(in)
			c.ExpectCut()
		}
		ts.Log.WaitFor(t, "cannot read the proxy protocol from 127.0.0.1", "malformed header")
		ts.Log.WaitFor(t, "cannot read the proxy protocol from 127.0.0.1", "too large")
	})
}

// The health check of a proxy closes the connection without a header. So does a
// proxy whose client has left.
func TestProxyProtocolPassesOverConnectionsWithoutABeginning(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: fromLocalhost()}
		s.ProxyProtocol.Timeout = time.Minute // longer than the test takes
		ts := start(s)
		for _, in := range []string{"", "P", header1[:30], header2(1, 20)[:14], header2(1, 20)[:30]} {
			c := ts.DialPlain()
			c.Send(in)
			servertest.Eventually(t, "an open connection", func() bool { return s.GetOpenConnectionsCount() == 1 })
			c.EndWrites()
			c.ExpectCut()
			servertest.Eventually(t, "no open connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
		}
		ts.Log.CheckEmpty(t)
	})
}

func TestProxyProtocolIsForTrustedPeersOnly(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: &ProxyProtocol{From: ranges("10.0.0.0/8")}}
		ts := start(s)
		for _, in := range []string{header1, servertest.Get("/"), ""} {
			c := ts.DialPlain()
			_, _ = c.Write([]byte(in))
			c.ExpectCut()
		}
		ts.Log.WaitFor(t, "refused the connection from 127.0.0.1", ErrUntrustedPeer.Error())
		if s.GetOpenConnectionsCount() != 0 || s.GetCurrentConcurrency() != 0 {
			t.Error("refused connections are counted")
		}
	})
}

func TestProxyProtocolServesOthersAsTheyAre(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: &ProxyProtocol{From: ranges("10.0.0.0/8"), ServeOthers: true}}
		ts := start(s)
		c := ts.Dial()
		c.Get("/")
		c.Expect(200, fmt.Sprintf("%v %v 127.0.0.1", c.LocalAddr(), c.RemoteAddr()))
		if ts.Engine.TLS {
			return
		}
		c = ts.DialPlain()
		c.Send(header1 + "\r\n" + servertest.Get("/"))
		if resp := c.Next("GET"); resp.StatusCode != 400 {
			t.Errorf("a header of a stranger: %d", resp.StatusCode)
		}
	})
}

func TestProxyProtocolHeaderHasATimeout(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		for _, setup := range []func(s *Server){
			func(s *Server) { s.ProxyProtocol.Timeout = 30 * time.Millisecond },
			func(s *Server) { s.ReadTimeout = 30 * time.Millisecond },
		} {
			s := &Server{Handler: ends, ProxyProtocol: fromLocalhost(), LogAllErrors: true}
			setup(s)
			ts := start(s)
			for _, in := range []string{"", header1[:20]} {
				c := ts.DialPlain()
				_, _ = io.WriteString(c.Conn, in)
				c.ExpectCut()
			}
			ts.Log.WaitFor(t, "cannot read the proxy protocol from 127.0.0.1", "timeout")
		}
	})
}

// The timeout of the header does not apply to requests.
func TestProxyProtocolTimeoutEndsWithTheHeader(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		withLongerTimeouts(t, func(timeout time.Duration) (why string) {
			s := &Server{Handler: ends, ProxyProtocol: fromLocalhost(), IdleTimeout: time.Minute}
			s.ProxyProtocol.Timeout = timeout
			ts := start(s)
			c, late := ts.DialPlain(), ts.DialPlain()
			_, _ = io.WriteString(c.Conn, header1)
			_, _ = io.WriteString(late.Conn, header1[:20])
			expires(late)
			if ts.Engine.TLS {
				c = encrypted(ts, c)
			}
			if !answered(c, servertest.Get("/")) {
				return fmt.Sprintf("no request is answered behind a header that may take %v", timeout)
			}
			return ""
		})
	})
}

// The timeout of the first request begins at the end of the header, even if the
// header was late.
func TestProxyProtocolRequestsHaveAllTheirTime(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		withLongerTimeouts(t, func(headTime time.Duration) (why string) {
			s := &Server{Handler: ends, ProxyProtocol: fromLocalhost(), ReadTimeout: headTime}
			s.ProxyProtocol.Timeout = time.Hour
			ts := start(s)
			if ts.Engine.TLS {
				t.Skip("a handshake stands before the request")
			}
			c := ts.DialPlain()
			c.Send(header1[:20])
			late := dialThrough(ts, header1+"GET / HT")
			if resp := late.Next("GET"); resp.StatusCode != StatusRequestTimeout {
				t.Errorf("status %d", resp.StatusCode)
			}
			late.ExpectEnd()
			c.Send(header1[20:] + "GET / HT")
			// a response arrives now only if the time is up
			_ = c.SetReadDeadline(time.Now().Add(headTime / 3))
			_, err := c.R.Peek(1)
			_ = c.SetReadDeadline(time.Now().Add(servertest.Patience))
			if !isTimeout(err) || !answered(c, "TP/1.1\r\nHost: a\r\n\r\n") {
				return fmt.Sprintf("no request arrives within %v of its header", headTime)
			}
			return ""
		})
	})
}

// If a server waits for headers, and for requests after them, it shuts down at once.
// It responds to the requests that have arrived.
func TestProxyProtocolShutdown(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		var states sync.Map
		s := &Server{Handler: ends, ProxyProtocol: fromLocalhost(), ConnState: func(nc net.Conn, state ConnState) {
			states.Store(nc, state)
		}}
		s.ProxyProtocol.Timeout = time.Minute
		ts := start(s)
		conns := []*servertest.Conn{ts.DialPlain(), ts.DialPlain()}
		conns[1].Send(header1[:20])
		if !ts.Engine.TLS {
			conns = append(conns, dialThrough(ts, header1))
		}
		idle := dialThrough(ts, header2(1, 10))
		idle.Get("/")
		idle.Expect(200, endsOfClient)
		conns = append(conns, idle)
		servertest.Eventually(t, "all connections", func() bool { return s.GetOpenConnectionsCount() == int32(len(conns)) })
		// ShutDown waits less long than the server waits for headers
		servertest.ShutDown(t, s)
		for _, c := range conns {
			c.ExpectCut()
		}
		states.Range(func(nc, state any) bool {
			if state != StateClosed {
				t.Errorf("%v is %v", nc.(net.Conn).RemoteAddr(), state)
			}
			return true
		})
	})
}

// If a shutdown ended the wait for a header, it would lose a request that has
// arrived with the header.
func TestProxyProtocolShutdownDoesNotEndTheWaitAtOnce(t *testing.T) {
	s := &Server{Handler: ends, ProxyProtocol: fromLocalhost()}
	ts := startServer(t, servertest.Engines[0], s)
	some := func(is func(*engine.Conn) bool) (found bool) {
		s.conns.All(func(c *engine.Conn) { found = found || is(c) })
		return found
	}
	c := ts.DialPlain()
	servertest.Eventually(t, "a wait for the header", func() bool { return some((*engine.Conn).Opening) })
	c.Send(header1)
	servertest.Eventually(t, "a wait for a request", func() bool { return some((*engine.Conn).Waiting) })
}

func TestProxyProtocolCountsConnectionsOfClients(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		s := &Server{Handler: ends, ProxyProtocol: fromLocalhost(), MaxConnsPerIP: 2}
		ts := start(s)
		var conns []*servertest.Conn
		for client := range byte(3) {
			for range 2 {
				c := dialThrough(ts, header2(client, 0))
				c.Get("/")
				if resp := c.Next("GET"); resp.StatusCode != 200 {
					t.Fatalf("connection %d of a client: %d %q", len(conns)%2, resp.StatusCode, resp.Content)
				}
				conns = append(conns, c)
			}
		}
		// a connection does not count before its header has arrived
		for range 3 {
			ts.DialPlain()
		}
		more := dialThrough(ts, header2(1, 0))
		if !ts.Engine.TLS {
			_, _ = more.Write([]byte(servertest.Get("/")))
		}
		resp := more.Next("GET")
		if resp.StatusCode != StatusTooManyRequests || !resp.Close {
			t.Errorf("got %d %q", resp.StatusCode, resp.Content)
		}
		more.ExpectCut()
		ts.Log.WaitFor(t, "refused the connection from 192.0.2.1:1234", ErrPerIPConnLimit.Error())
		_ = conns[2].Close()
		servertest.Eventually(t, "the end of a connection", func() bool {
			_, n := s.perIP.Len()
			return n == 5
		})
		c := dialThrough(ts, header2(1, 0))
		c.Get("/")
		c.Expect(200, endsOfClient)
	})
}

// Handlers and hooks get connections that have the address of the client.
func TestProxyProtocolConnectionsHaveTheAddressesOfTheClient(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		hijacked := make(chan string, 1)
		var closed sync.Map
		s := &Server{
			ProxyProtocol: fromLocalhost(),
			ConnState: func(nc net.Conn, state ConnState) {
				if state == StateActive {
					closed.Store(nc.RemoteAddr().String(), true)
				}
			},
			Handler: func(ctx *RequestCtx) {
				fmt.Fprintf(ctx, "%v %v", ctx.Conn().RemoteAddr(), ctx.Conn().LocalAddr())
				ctx.Hijack(func(nc net.Conn) {
					line, err := bufio.NewReader(nc).ReadString('\n')
					hijacked <- fmt.Sprintf("%v %v %q %v", nc.RemoteAddr(), nc.LocalAddr(), line, err)
					_, _ = io.WriteString(nc, "bye\n")
				})
			},
		}
		ts := start(s)
		c := dialThrough(ts, header1)
		c.Get("/")
		c.Expect(200, "192.0.2.1:1234 198.51.100.2:443")
		c.Send("hello\n")
		if got := servertest.Receive(t, "the hijacked connection", hijacked); got != `192.0.2.1:1234 198.51.100.2:443 "hello\n" <nil>` {
			t.Errorf("hijacked %s", got)
		}
		if b, err := io.ReadAll(c.R); string(b) != "bye\n" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		if _, ok := closed.Load("192.0.2.1:1234"); !ok {
			t.Error("ConnState was not told of the client")
		}
	})
}

// Large bodies, files and uploads work as without a header.
func TestProxyProtocolConnectionsCarryBodies(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	text := strings.Repeat("0123456789abcdef", 1<<16)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{ProxyProtocol: fromLocalhost(), Handler: func(ctx *RequestCtx) {
			if ctx.IsPost() {
				ctx.SetBody(ctx.PostBody())
				return
			}
			ctx.SendFile(name)
		}}
		ts := start(s)
		c := dialThrough(ts, header1)
		for range 2 {
			c.Get("/")
			c.Expect(200, text)
			c.Send(servertest.Post("/", text))
			if resp := c.Next("POST"); resp.Content != text {
				t.Errorf("an echo of %d bytes", len(resp.Content))
			}
		}
	})
}

func TestProxyProtocolOnUnixSockets(t *testing.T) {
	for _, e := range servertest.Engines[:2] {
		t.Run(e.Name, func(t *testing.T) {
			e.Listen = func(t testing.TB) (net.Listener, func() (net.Conn, error)) {
				name := filepath.Join(t.TempDir(), "socket")
				ln, err := net.Listen("unix", name)
				if err != nil {
					t.Skip(err)
				}
				return ln, func() (net.Conn, error) { return net.Dial("unix", name) }
			}
			ts := startServer(t, e, &Server{Handler: ends, ProxyProtocol: &ProxyProtocol{FromUnix: true}})
			c := dialThrough(ts, header1)
			c.Get("/")
			c.Expect(200, endsOfClient)
			other := startServer(t, e, &Server{Handler: ends, ProxyProtocol: fromLocalhost()})
			c = dialThrough(other)
			c.ExpectCut()
		})
	}
}

// A listener of crypto/tls returns TLS connections. The header precedes their handshake.
func TestProxyProtocolUnderTLSOfOthers(t *testing.T) {
	cert, key := servertest.Certificate()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	plain, dial := servertest.ListenTCP(t)
	e := servertest.Engines[0]
	e.Listen = func(testing.TB) (net.Listener, func() (net.Conn, error)) {
		return tls.NewListener(plain, &tls.Config{Certificates: []tls.Certificate{pair}}), dial
	}
	ts := startServer(t, e, &Server{ProxyProtocol: fromLocalhost(), Handler: func(ctx *RequestCtx) {
		fmt.Fprintf(ctx, "%v %v %v", ctx.RemoteAddr(), ctx.IsTLS(), ctx.TLSConnectionState().HandshakeComplete)
	}})
	c := encrypted(ts, dialThrough(ts, header1))
	c.Get("/")
	c.Expect(200, "192.0.2.1:1234 true true")
}

func TestProxyProtocolOfServeConn(t *testing.T) {
	s := &Server{Handler: ends, ProxyProtocol: fromLocalhost(), Logger: &servertest.Log{}}
	serve := func(nc net.Conn) <-chan error {
		done := make(chan error, 1)
		go func() { done <- s.ServeConn(nc) }()
		return done
	}
	ln, dial := servertest.ListenTCP(t)
	defer ln.Close()
	for in, want := range map[string]error{header1 + servertest.Get("/"): nil, servertest.Get("/"): ErrProxyHeader, header1[:20]: io.ErrUnexpectedEOF} {
		client, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		nc, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		done := serve(nc)
		_, _ = io.WriteString(client, in)
		_ = client.(*net.TCPConn).CloseWrite()
		if err := servertest.Receive(t, "the end", done); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", in, err, want)
		}
		_ = client.Close()
	}
	pipe := fasthttputil.NewPipeConns()
	if err := servertest.Receive(t, "the end", serve(pipe.Conn1())); err != ErrUntrustedPeer {
		t.Errorf("a stranger: %v", err)
	}
	servertest.ShutDown(t, s)
}

// The address in a header is the peer: it may be the address of another proxy, which has set
// fields.
func TestProxyProtocolBeforeTrustedProxies(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{
			ProxyProtocol:  fromLocalhost(),
			TrustedProxies: TrustedProxies{Ranges: ranges("192.0.2.1/32")},
			Handler:        func(ctx *RequestCtx) { fmt.Fprint(ctx, ctx.ClientIP()) },
		}
		ts := start(s)
		for header, want := range map[string]string{header2(1, 0): "203.0.113.1", header2(2, 0): "192.0.2.2", local2: "127.0.0.1"} {
			c := dialThrough(ts, header)
			c.Send(servertest.Head("GET / HTTP/1.1", "Host: a", "X-Forwarded-For: 203.0.113.1"))
			c.Expect(200, want)
		}
	})
}

// The server reuses its memory for connections, and no address of an earlier one may
// show.
func TestProxyProtocolConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: fromLocalhost()}
		ts := start(s)
		for i := range 50 {
			header, want := header2(byte(i), 0), fmt.Sprintf("192.0.2.%d:1234 198.51.100.2:443 192.0.2.%d", i, i)
			if i%3 == 0 {
				header = local2
			}
			c := dialThrough(ts, header)
			if i%3 == 0 {
				want = fmt.Sprintf("%v %v 127.0.0.1", c.LocalAddr(), c.RemoteAddr())
			}
			c.Get("/")
			c.Expect(200, want)
			_ = c.Close()
		}
		servertest.Eventually(t, "no open connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
	})
}
