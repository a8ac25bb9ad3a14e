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
)

const (
	header1 = "PROXY TCP4 192.0.2.1 198.51.100.2 1234 443\r\n"
	header6 = "PROXY TCP6 2001:db8::1 2001:db8::2 1234 443\r\n"

	local1 = "PROXY UNKNOWN\r\n"
	local2 = "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00"
)

// header2 returns a header of version 2 from a client, with n bytes behind the
// addresses.
func header2(client byte, n int) string {
	b := []byte("\r\n\r\n\x00\r\nQUIT\n\x21\x11")
	b = binary.BigEndian.AppendUint16(b, uint16(12+3+n))
	b = append(b, 192, 0, 2, client, 198, 51, 100, 2, 4, 210, 1, 187, 4)
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	return string(append(b, make([]byte, n)...))
}

// fromLocalhost trusts those that the tests connect from.
func fromLocalhost() *ProxyProtocol { return &ProxyProtocol{From: ranges("127.0.0.0/8")} }

// ends answers with the addresses of the connection.
func ends(ctx *RequestCtx) {
	fmt.Fprintf(ctx, "%v %v %s", ctx.RemoteAddr(), ctx.LocalAddr(), ctx.RemoteIP())
}

const endsOfClient = "192.0.2.1:1234 198.51.100.2:443 192.0.2.1"

// forEachSocketEngine is forEachEngine for those whose peers have an IP address.
func forEachSocketEngine(t *testing.T, test func(t *testing.T, start starter)) {
	for _, e := range engines {
		if e.sockets {
			t.Run(e.name, func(t *testing.T) {
				test(t, func(s *Server) *testServer { return startServer(t, e, s) })
			})
		}
	}
}

// dialThrough opens a connection to the server that begins with a header, in
// pieces.
func (ts *testServer) dialThrough(header ...string) *testConn {
	ts.t.Helper()
	c := ts.dialPlain()
	for i, piece := range header {
		if i > 0 {
			// so that it comes alone: whether it does is for the system to say
			runtime.Gosched()
		}
		c.send(piece)
	}
	if ts.engine.tls {
		return ts.encrypted(c)
	}
	return c
}

// encrypted begins TLS on a connection.
func (ts *testServer) encrypted(c *testConn) *testConn {
	config := trustTestCert()
	config.ServerName = "127.0.0.1"
	return ts.wrap(tls.Client(c.Conn, config))
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
			conn := ts.dialThrough(c.header)
			if c.want == "" {
				c.want = fmt.Sprintf("%v %v 127.0.0.1", conn.LocalAddr(), conn.RemoteAddr())
			}
			for range 3 {
				conn.get("/")
				conn.expect(200, c.want)
			}
		}
		ts.log.checkEmpty(t)
	})
}

func TestProxyProtocolHeaderComesInPieces(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: ends, ProxyProtocol: fromLocalhost()})
		for _, header := range []string{header1, header2(1, 20)} {
			c := ts.dialThrough(strings.Split(header, "")...)
			c.get("/")
			c.expect(200, endsOfClient)
			if ts.engine.tls {
				continue
			}
			// together with requests, and with the start of one
			c = ts.dialThrough(header + get("/") + get("/") + "GET / HT")
			c.expect(200, endsOfClient)
			c.expect(200, endsOfClient)
			c.send("TP/1.1\r\nHost: a\r\n\r\n")
			c.expect(200, endsOfClient)
			// and the client has ended its side
			c = ts.dialThrough(header[:20], header[20:]+get("/"))
			c.closeWrite()
			c.expect(200, endsOfClient)
			c.expectEnd()
		}
		ts.log.checkEmpty(t)
	})
}

func TestProxyProtocolRefusesWhatHasNoHeader(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: fromLocalhost()}
		ts := start(s)
		for _, in := range []string{
			get("/"), "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "\r\n\r\n" + get("/"),
			"PROXY TCP4 192.0.2.1 198.51.100.2 1234\r\n" + get("/"),
			strings.Replace(header1, "\r\n", "\n", 1) + get("/"),
			strings.Replace(header2(1, 0), "\x21\x11", "\x21\x13", 1) + get("/"),
			header2(1, 5000),
			header1 + header1,
		} {
			c := ts.dialPlain()
			if in == header1+header1 && !ts.engine.tls {
				// the second one is a malformed request
				c.send(in + "\r\n")
				if resp := c.next("GET"); resp.StatusCode != 400 {
					t.Errorf("two headers: %d", resp.StatusCode)
				}
				continue
			}
			c.send(in)
			c.expectCut()
		}
		ts.log.waitFor(t, "cannot read the proxy protocol from 127.0.0.1", "malformed header")
		ts.log.waitFor(t, "cannot read the proxy protocol from 127.0.0.1", "too large")
	})
}

// A proxy that looks whether the server is there closes the connection, and so does
// one whose client has gone.
func TestProxyProtocolPassesOverConnectionsWithoutABeginning(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: fromLocalhost()}
		s.ProxyProtocol.Timeout = time.Minute // more than the test waits
		ts := start(s)
		for _, in := range []string{"", "P", header1[:30], header2(1, 20)[:14], header2(1, 20)[:30]} {
			c := ts.dialPlain()
			c.send(in)
			eventually(t, "an open connection", func() bool { return s.GetOpenConnectionsCount() == 1 })
			c.closeWrite()
			c.expectCut()
			eventually(t, "no open connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
		}
		ts.log.checkEmpty(t)
	})
}

func TestProxyProtocolIsForTrustedPeersOnly(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: &ProxyProtocol{From: ranges("10.0.0.0/8")}}
		ts := start(s)
		for _, in := range []string{header1, get("/"), ""} {
			c := ts.dialPlain()
			_, _ = c.Write([]byte(in))
			c.expectCut()
		}
		ts.log.waitFor(t, "refused the connection from 127.0.0.1", ErrUntrustedPeer.Error())
		if s.GetOpenConnectionsCount() != 0 || s.GetCurrentConcurrency() != 0 {
			t.Error("refused connections are counted")
		}
	})
}

func TestProxyProtocolServesOthersAsTheyAre(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: &ProxyProtocol{From: ranges("10.0.0.0/8"), ServeOthers: true}}
		ts := start(s)
		c := ts.dial()
		c.get("/")
		c.expect(200, fmt.Sprintf("%v %v 127.0.0.1", c.LocalAddr(), c.RemoteAddr()))
		if ts.engine.tls {
			return
		}
		c = ts.dialPlain()
		c.send(header1 + "\r\n" + get("/"))
		if resp := c.next("GET"); resp.StatusCode != 400 {
			t.Errorf("a header of a stranger: %d", resp.StatusCode)
		}
	})
}

func TestProxyProtocolHeaderHasATimeout(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		for _, setup := range []func(s *Server){
			func(s *Server) { s.ProxyProtocol.Timeout = 30 * time.Millisecond },
			func(s *Server) { s.ReadTimeout = 30 * time.Millisecond },
		} {
			s := &Server{Handler: ends, ProxyProtocol: fromLocalhost(), LogAllErrors: true}
			setup(s)
			ts := start(s)
			for _, in := range []string{"", header1[:20]} {
				c := ts.dialPlain()
				c.send(in)
				c.expectCut()
			}
			ts.log.waitFor(t, "cannot read the proxy protocol from 127.0.0.1", "timeout")
		}
	})
}

// The time for the header is not the one for requests.
func TestProxyProtocolTimeoutEndsWithTheHeader(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: fromLocalhost(), IdleTimeout: time.Minute}
		s.ProxyProtocol.Timeout = 500 * time.Millisecond
		ts := start(s)
		c := ts.dialThrough(header1)
		if !ts.engine.tls {
			// TLS has a timeout of its own for the handshake
			<-time.After(700 * time.Millisecond)
		}
		c.get("/")
		c.expect(200, endsOfClient)
	})
}

// The time for the first request begins with the end of the header, however late that
// has come.
func TestProxyProtocolRequestsHaveAllTheirTime(t *testing.T) {
	const headTime = time.Second
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: fromLocalhost(), ReadTimeout: headTime}
		s.ProxyProtocol.Timeout = time.Minute
		ts := start(s)
		if ts.engine.tls {
			t.Skip("a handshake stands before the request")
		}
		c := ts.dialPlain()
		c.send(header1[:20])
		<-time.After(headTime + headTime/10)
		c.send(header1[20:] + "GET / HT")
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if b, err := c.r.Peek(1); !isTimeout(err) {
			t.Fatalf("got %q, %v before the request was there", b, err)
		}
		_ = c.SetReadDeadline(time.Now().Add(patience))
		c.send("TP/1.1\r\nHost: a\r\n\r\n")
		c.expect(200, endsOfClient)

		c = ts.dialThrough(header1 + "GET / HT")
		if resp := c.next("GET"); resp.StatusCode != StatusRequestTimeout {
			t.Errorf("status %d", resp.StatusCode)
		}
		c.expectEnd()
	})
}

// A server that waits for headers, and for requests behind them, is shut down at
// once; what has come by then is answered.
func TestProxyProtocolShutdown(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		var states sync.Map
		s := &Server{Handler: ends, ProxyProtocol: fromLocalhost(), ConnState: func(nc net.Conn, state ConnState) {
			states.Store(nc, state)
		}}
		s.ProxyProtocol.Timeout = time.Minute
		ts := start(s)
		conns := []*testConn{ts.dialPlain(), ts.dialPlain()}
		conns[1].send(header1[:20])
		if !ts.engine.tls {
			conns = append(conns, ts.dialThrough(header1))
		}
		idle := ts.dialThrough(header2(1, 10))
		idle.get("/")
		idle.expect(200, endsOfClient)
		conns = append(conns, idle)
		eventually(t, "all connections", func() bool { return s.GetOpenConnectionsCount() == int32(len(conns)) })
		begin := time.Now()
		shutDown(t, s)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
		for _, c := range conns {
			c.expectCut()
		}
		states.Range(func(nc, state any) bool {
			if state != StateClosed {
				t.Errorf("%v is %v", nc.(net.Conn).RemoteAddr(), state)
			}
			return true
		})
	})
}

// A shutdown that ended the wait for a header would lose the request behind it, which
// may have come already.
func TestProxyProtocolShutdownDoesNotEndTheWaitAtOnce(t *testing.T) {
	s := &Server{Handler: ends, ProxyProtocol: fromLocalhost()}
	ts := startServer(t, engines[0], s)
	some := func(is func(*engine.Conn) bool) (found bool) {
		s.conns.All(func(c *engine.Conn) { found = found || is(c) })
		return found
	}
	c := ts.dialPlain()
	eventually(t, "a wait for the header", func() bool { return some((*engine.Conn).Opening) })
	c.send(header1)
	eventually(t, "a wait for a request", func() bool { return some((*engine.Conn).Waiting) })
}

func TestProxyProtocolCountsConnectionsOfClients(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: fromLocalhost(), MaxConnsPerIP: 2}
		ts := start(s)
		var conns []*testConn
		for client := range byte(3) {
			for range 2 {
				c := ts.dialThrough(header2(client, 0))
				c.get("/")
				if resp := c.next("GET"); resp.StatusCode != 200 {
					t.Fatalf("connection %d of a client: %d %q", len(conns)%2, resp.StatusCode, resp.body)
				}
				conns = append(conns, c)
			}
		}
		// those that have not said yet whom they are from do not count
		for range 3 {
			ts.dialPlain()
		}
		more := ts.dialThrough(header2(1, 0))
		if !ts.engine.tls {
			_, _ = more.Write([]byte(get("/")))
		}
		resp := more.next("GET")
		if resp.StatusCode != StatusTooManyRequests || !resp.Close {
			t.Errorf("got %d %q", resp.StatusCode, resp.body)
		}
		more.expectCut()
		ts.log.waitFor(t, "refused the connection from 192.0.2.1:1234", ErrPerIPConnLimit.Error())
		_ = conns[2].Close()
		eventually(t, "the end of a connection", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			n := 0
			for _, k := range s.perIP {
				n += k
			}
			return n == 5
		})
		c := ts.dialThrough(header2(1, 0))
		c.get("/")
		c.expect(200, endsOfClient)
	})
}

// Whoever gets the connection finds the client at its other end.
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
		c := ts.dialThrough(header1)
		c.get("/")
		c.expect(200, "192.0.2.1:1234 198.51.100.2:443")
		c.send("hello\n")
		if got := receive(t, "the hijacked connection", hijacked); got != `192.0.2.1:1234 198.51.100.2:443 "hello\n" <nil>` {
			t.Errorf("hijacked %s", got)
		}
		if b, err := io.ReadAll(c.r); string(b) != "bye\n" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		if _, ok := closed.Load("192.0.2.1:1234"); !ok {
			t.Error("ConnState was not told of the client")
		}
	})
}

// Large bodies, files and uploads go through as they do without a header.
func TestProxyProtocolConnectionsCarryBodies(t *testing.T) {
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
		c := ts.dialThrough(header1)
		for range 2 {
			c.get("/")
			c.expect(200, text)
			c.send(post("/", text))
			if resp := c.next("POST"); resp.body != text {
				t.Errorf("an echo of %d bytes", len(resp.body))
			}
		}
	})
}

func TestProxyProtocolOnUnixSockets(t *testing.T) {
	for _, e := range engines[:2] {
		t.Run(e.name, func(t *testing.T) {
			e.listen = func(t testing.TB) (net.Listener, func() (net.Conn, error)) {
				name := filepath.Join(t.TempDir(), "socket")
				ln, err := net.Listen("unix", name)
				if err != nil {
					t.Skip(err)
				}
				return ln, func() (net.Conn, error) { return net.Dial("unix", name) }
			}
			ts := startServer(t, e, &Server{Handler: ends, ProxyProtocol: &ProxyProtocol{FromUnix: true}})
			c := ts.dialThrough(header1)
			c.get("/")
			c.expect(200, endsOfClient)
			other := startServer(t, e, &Server{Handler: ends, ProxyProtocol: fromLocalhost()})
			c = other.dialThrough()
			c.expectCut()
		})
	}
}

// A listener of crypto/tls has made TLS connections of what begins with a header.
func TestProxyProtocolUnderTLSOfOthers(t *testing.T) {
	cert, key := testCert()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	plain, dial := listenTCP(t)
	e := engines[0]
	e.listen = func(testing.TB) (net.Listener, func() (net.Conn, error)) {
		return tls.NewListener(plain, &tls.Config{Certificates: []tls.Certificate{pair}}), dial
	}
	ts := startServer(t, e, &Server{ProxyProtocol: fromLocalhost(), Handler: func(ctx *RequestCtx) {
		fmt.Fprintf(ctx, "%v %v %v", ctx.RemoteAddr(), ctx.IsTLS(), ctx.TLSConnectionState().HandshakeComplete)
	}})
	c := ts.encrypted(ts.dialThrough(header1))
	c.get("/")
	c.expect(200, "192.0.2.1:1234 true true")
}

func TestProxyProtocolOfServeConn(t *testing.T) {
	s := &Server{Handler: ends, ProxyProtocol: fromLocalhost(), Logger: &testLog{}}
	serve := func(nc net.Conn) <-chan error {
		done := make(chan error, 1)
		go func() { done <- s.ServeConn(nc) }()
		return done
	}
	ln, dial := listenTCP(t)
	defer ln.Close()
	for in, want := range map[string]error{header1 + get("/"): nil, get("/"): ErrProxyHeader, header1[:20]: io.ErrUnexpectedEOF} {
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
		if err := receive(t, "the end", done); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", in, err, want)
		}
		_ = client.Close()
	}
	pipe := fasthttputil.NewPipeConns()
	if err := receive(t, "the end", serve(pipe.Conn1())); err != ErrUntrustedPeer {
		t.Errorf("a stranger: %v", err)
	}
	shutDown(t, s)
}

// The address that a proxy has named is a peer like others: it may be that of
// another proxy, which has set fields.
func TestProxyProtocolBeforeTrustedProxies(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{
			ProxyProtocol:  fromLocalhost(),
			TrustedProxies: TrustedProxies{Ranges: ranges("192.0.2.1/32")},
			Handler:        func(ctx *RequestCtx) { fmt.Fprint(ctx, ctx.ClientIP()) },
		}
		ts := start(s)
		for header, want := range map[string]string{header2(1, 0): "203.0.113.1", header2(2, 0): "192.0.2.2", local2: "127.0.0.1"} {
			c := ts.dialThrough(header)
			c.send(head("GET / HTTP/1.1", "Host: a", "X-Forwarded-For: 203.0.113.1"))
			c.expect(200, want)
		}
	})
}

// Connections are used again, and nothing of the one before may show.
func TestProxyProtocolConnectionsAreUsedAgain(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: fromLocalhost()}
		ts := start(s)
		for i := range 50 {
			header, want := header2(byte(i), 0), fmt.Sprintf("192.0.2.%d:1234 198.51.100.2:443 192.0.2.%d", i, i)
			if i%3 == 0 {
				header = local2
			}
			c := ts.dialThrough(header)
			if i%3 == 0 {
				want = fmt.Sprintf("%v %v 127.0.0.1", c.LocalAddr(), c.RemoteAddr())
			}
			c.get("/")
			c.expect(200, want)
			_ = c.Close()
		}
		eventually(t, "no open connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
	})
}
