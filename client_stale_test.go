package fasthttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/connpool"
	"github.com/valyala/fasthttp/internal/sender"
	"github.com/valyala/fasthttp/internal/servertest"
	"golang.org/x/net/http2"
)

// Known failure 29: the server closes each connection while it is idle. Every
// request goes out on another connection, and no server gets a request twice.
func TestClientPostsAfterIdleCloseSucceed(t *testing.T) {
	t.Parallel()
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		if c.Request() != nil {
			c.Send(servertest.OK)
		}
	})
	var w connWatch
	hc := hostFor(p)
	hc.Dial = w.dial
	req, resp := requestTo(t, MethodPost, p.URL("/")), responseFor(t)
	for i := range 60 {
		req.SetBodyString(fmt.Sprint("body ", i))
		servertest.Must(t, hc.Do(req, resp))
		w.awaitEnd(t)
	}
	p.Counts(60, 60)
}

// Known failure 60: the same for an HTTP/2 server, with or without a GOAWAY. Nothing reads the
// connection in the first moment after a call, which is when the next call begins.
func TestClientPostsAfterIdleCloseOfHTTP2Succeed(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *servertest.H2Side){
		"close":            func(c *servertest.H2Side) { _ = c.Close() },
		"reset":            func(c *servertest.H2Side) { servertest.Reset(c.Conn.Conn) },
		"GOAWAY and close": func(c *servertest.H2Side) { c.GoAway(1, http2.ErrCodeNo).Flush(); _ = c.Close() },
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", TLS ", secure), func(t *testing.T) {
				t.Parallel()
				var w connWatch
				hc := &HostClient{Dial: w.dial, IsTLS: secure}
				var p *servertest.H2Peer
				if secure {
					p = servertest.NewH2TLSPeer(t, "h2")
					hc.Protocols.SetHTTP2(true)
					hc.TLSConfig = servertest.TrustCertificate()
				} else {
					p = servertest.NewH2Peer(t)
					hc.Protocols.SetUnencryptedHTTP2(true)
				}
				hc.Addr = p.Addr()
				servertest.EndsWith(t, hc)
				req, resp := requestTo(t, MethodPost, p.URL("/")), responseFor(t)
				for i := range 30 {
					req.SetBodyString(fmt.Sprint("body ", i))
					done := make(chan error, 1)
					go func() { done <- hc.Do(req, resp) }()
					c := p.AcceptUnless(done)
					if c == nil {
						t.Fatalf("call %d: %v", i, servertest.Receive(t, "the end of the call", done))
					}
					c.Greet()
					c.Respond(c.Whole(), "200", "ok")
					if err := servertest.Receive(t, "the response", done); err != nil {
						t.Fatalf("call %d: %v", i, err)
					}
					end(c)
					w.awaitSomething(t)
				}
			})
		}
	}
}

// The client checks every connection before it reuses it, whatever the request and
// however short the idle time. It writes nothing to a closed one.
func TestClientLooksAtEveryConnection(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", sender.OneWrite+1)
	requests := map[string]func(hc *HostClient, req *Request){
		"GET":   func(*HostClient, *Request) {},
		"POST":  func(_ *HostClient, req *Request) { req.SetBodyString("content") },
		"large": func(_ *HostClient, req *Request) { req.SetBodyString(large) },
		"chunks": func(_ *HostClient, req *Request) {
			req.SetBodyStream(strings.NewReader("content"), -1)
		},
		"stream": func(_ *HostClient, req *Request) { req.SetBodyStream(strings.NewReader(large), len(large)) },
		"asks first": func(hc *HostClient, req *Request) {
			hc.ExpectContinueTimeout = servertest.Short // the server sends no 100
			req.Header.Set(HeaderExpect, "100-continue")
			req.SetBodyString("content")
		},
		"traced": func(hc *HostClient, _ *Request) {
			hc.Trace = &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {}}
		},
		"timeouts": func(hc *HostClient, _ *Request) {
			hc.ReadTimeout, hc.WriteTimeout = servertest.Patience, servertest.Patience
		},
		"wrapped": func(hc *HostClient, _ *Request) { hc.Dial = dialWrapped },
	}
	for name, prepare := range requests {
		for _, text := range []string{"", servertest.OK, "x"} {
			t.Run(fmt.Sprintf("%s after %q", name, text), func(t *testing.T) {
				// an attempt is in vain if the sending of a large body is not seen to end, within a
				// moment after its response
				const tries = 10
				for try := 1; !looksAtConnection(t, prepare, text); try++ {
					if try == tries {
						t.Fatal("no connection was kept")
					}
				}
			})
		}
	}
}

// looksAtConnection has a peer send text on an idle connection, and checks that the client notices
// before the next request. It returns false if the client did not keep the connection.
func looksAtConnection(t *testing.T, prepare func(hc *HostClient, req *Request), text string) (kept bool) {
	spoil, rest := make(chan struct{}), make(chan int64, 1)
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		if c.Request() == nil {
			return
		}
		c.Send(servertest.OK)
		if c.Number > 1 {
			return
		}
		c.Await(spoil)
		c.Send(text)
		if text == "" {
			c.EndWrites()
		}
		n, _ := io.Copy(io.Discard, c.R)
		rest <- n
	})
	hc := hostFor(p)
	req, resp := requestTo(t, MethodPost, p.URL("/")), responseFor(t)
	prepare(hc, req)
	servertest.Must(t, hc.Do(req, resp))
	g, ok := hc.pool.TryGet(connpool.Any)
	if !ok || !g.Found {
		hc.pool.ReleasePlace(connpool.Any)
		return false
	}
	if !g.Conn.line.Probe.CanCheck() {
		t.Skip("connections cannot be looked at on this system")
	}
	close(spoil)
	servertest.Eventually(t, "something on the connection", func() bool { return g.Conn.line.Probe.Check() != clientconn.Quiet })
	hc.ReleaseConn(g.Conn)
	prepare(hc, req)
	servertest.Must(t, hc.Do(req, resp))
	if n := servertest.Receive(t, "the end of the connection", rest); n != 0 {
		t.Errorf("%d bytes were written to a connection that the server had closed", n)
	}
	p.Counts(2, 2)
	return true
}

// dialWrapped returns a connection whose NetConn returns the wrapped one.
func dialWrapped(addr string) (net.Conn, error) {
	conn, err := net.Dial("tcp", addr)
	return wrappedConn{conn}, err
}

type wrappedConn struct{ net.Conn }

func (c wrappedConn) NetConn() net.Conn { return c.Conn }

func TestAcquireConnLooksAtConnections(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		if c.Request() != nil {
			c.Send(servertest.OK)
		}
	})
	hc := hostFor(p)
	servertest.Must(t, hc.Do(requestTo(t, MethodGet, p.URL("/")), responseFor(t)))
	g, _ := hc.pool.TryGet(connpool.Any)
	if !g.Found || !g.Conn.line.Probe.CanCheck() {
		t.Skip("connections cannot be looked at on this system")
	}
	servertest.Eventually(t, "the end", func() bool { return g.Conn.line.Probe.Check() != clientconn.Quiet })
	hc.ReleaseConn(g.Conn)
	cc, err := hc.AcquireConn(0, false)
	servertest.Must(t, err)
	if cc == g.Conn {
		t.Error("AcquireConn returns a connection that the peer has closed")
	}
	hc.CloseConn(cc)
}

// A closed connection that cannot be checked fails on the first write, before any
// byte is sent.
func TestClientPostsOnClosedPipeSucceed(t *testing.T) {
	t.Parallel()
	p := servertest.NewMemoryPeer(t, func(c *servertest.PeerConn) {
		if c.Request() != nil {
			c.Send(servertest.OK)
		}
	})
	hc := hostFor(p)
	hc.Dial = func(string) (net.Conn, error) { return p.Dial() }
	req, resp := requestTo(t, MethodPost, "http://memory/"), responseFor(t)
	req.SetBodyString("body")
	for range 60 {
		servertest.Must(t, hc.Do(req, resp))
		servertest.Eventually(t, "the connection closed", func() bool { return p.OpenConns() == 0 })
	}
	p.Counts(60, 60)
}

// A POST is not repeated if the server has read its bytes.
func TestClientDoesNotRepeatPostThatWasTaken(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Request()
		c.Send(servertest.OK)
		c.Request()
	})
	hc := hostFor(p)
	req, resp := requestTo(t, MethodPost, p.URL("/")), responseFor(t)
	req.SetBodyString("body")
	servertest.Must(t, hc.Do(req, resp))
	if err := hc.Do(req, resp); err != error(ErrConnectionClosed) && !errors.Is(err, io.EOF) && !isReset(err) {
		t.Errorf("got %v, want ErrConnectionClosed", err)
	}
	p.Counts(1, 2)
}

func isReset(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}

// The client sends idempotent requests MaxIdemponentCallAttempts times.
func TestClientRepeatsIdempotentRequests(t *testing.T) {
	for _, tt := range []struct {
		method   string
		attempts int
		want     int32
	}{
		{MethodGet, 0, 5}, {MethodHead, 0, 5}, {MethodPut, 3, 3}, {MethodOptions, 2, 2},
		{MethodGet, 1, 1}, {MethodPost, 0, 1}, {MethodPatch, 0, 1}, {MethodDelete, 0, 1},
	} {
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) { c.Request() })
		hc := hostFor(p)
		hc.MaxIdemponentCallAttempts = tt.attempts
		err := hc.Do(requestTo(t, tt.method, p.URL("/")), responseFor(t))
		if err != error(ErrConnectionClosed) {
			t.Errorf("%s: got %v, want ErrConnectionClosed", tt.method, err)
		}
		if n := p.Requests.Load(); n != tt.want {
			t.Errorf("%s was sent %d times, want %d", tt.method, n, tt.want)
		}
	}
}

// Known failure 30.
func TestClientTruncatedResponseIsUnexpectedEOF(t *testing.T) {
	for _, response := range []string{
		"H",
		"HTTP/1.1 200 OK\r\nContent-Le",
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n",
	} {
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			c.Request()
			c.Send(response)
		})
		err := hostFor(p).Do(requestTo(t, MethodGet, p.URL("/")), responseFor(t))
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: got %v, want io.ErrUnexpectedEOF", response, err)
		}
		p.Counts(1, 1)
	}
}

// Known failure 31.
func TestClientCallsQueueForConnections(t *testing.T) {
	full := make(chan struct{})
	var here atomic.Int32
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for c.Request() != nil {
			if here.Add(1) == DefaultMaxConnsPerHost {
				close(full)
			}
			c.Await(full) // so that the other calls have to wait
			c.Send(servertest.OK)
		}
	})
	client := &Client{MaxIdleConnDuration: servertest.Never}
	defer client.CloseIdleConnections()
	var calls servertest.Crowd
	var failed atomic.Int32
	for range 700 {
		calls.Go(func() {
			if _, _, err := client.Get(nil, p.URL("/")); err != nil {
				failed.Add(1)
				t.Error(err)
			}
		})
	}
	calls.Wait(t, "700 calls")
	if n := failed.Load(); n > 0 {
		t.Errorf("%d of 700 calls failed", n)
	}
	p.HasAccepted(DefaultMaxConnsPerHost)
}

// Known failure 31: MaxConnWaitTimeout limits the wait for a connection.
func TestClientWaitTimeout(t *testing.T) {
	release := make(chan struct{})
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for c.Request() != nil {
			c.Await(release)
			c.Send(servertest.OK)
		}
	})
	hc := hostFor(p)
	hc.MaxConns = 1
	hc.MaxConnWaitTimeout = servertest.Short
	first := make(chan error, 1)
	go func() { first <- hc.Do(requestTo(t, MethodGet, p.URL("/")), responseFor(t)) }()
	servertest.Eventually(t, "a request", func() bool { return p.Requests.Load() == 1 })
	req, resp := requestTo(t, MethodGet, p.URL("/")), responseFor(t)
	if err := hc.Do(req, resp); err != ErrNoFreeConns {
		t.Errorf("got %v, want ErrNoFreeConns", err)
	}
	if err := hc.DoTimeout(req, resp, time.Millisecond); err != error(ErrTimeout) {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	close(release)
	servertest.Must(t, servertest.Receive(t, "the first response", first))
	servertest.Must(t, hc.Do(req, resp))
	p.Counts(1, 2)
}

// Known failure 32: a higher limit lets waiting calls continue.
func TestClientSetMaxConnsWakesWaiters(t *testing.T) {
	release := make(chan struct{})
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for c.Request() != nil {
			c.Await(release)
			c.Send(servertest.OK)
		}
	})
	hc := hostFor(p)
	hc.MaxConns = 1
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			req, resp := AcquireRequest(), AcquireResponse()
			defer ReleaseRequest(req)
			defer ReleaseResponse(resp)
			req.SetRequestURI(p.URL("/"))
			if err := hc.Do(req, resp); err != nil {
				t.Error(err)
			}
		})
	}
	servertest.Eventually(t, "calls that wait", func() bool { return hc.pool.Waiting() == 3 && p.Requests.Load() == 1 })
	hc.SetMaxConns(4)
	servertest.Eventually(t, "all calls at the server", func() bool { return p.Requests.Load() == 4 })
	close(release)
	servertest.Soon(t, "4 calls", wg.Wait)
	hc.SetMaxConns(2)
	if n := hc.ConnsCount(); n != 2 {
		t.Errorf("%d connections after SetMaxConns(2)", n)
	}
}

// Known failure 32: after thousands of calls with failing connections, timeouts and
// few connections, the count of connections is right.
func TestClientUnderStressLosesNoPlace(t *testing.T) {
	t.Parallel()
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for n := 0; c.Request() != nil; n++ {
			switch (c.Number + n) % 7 {
			case 0:
				return
			case 1:
				c.Send(servertest.OKClose)
				return
			case 2:
				c.Send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok")
				return
			}
			c.Send(servertest.OK)
		}
	})
	hc := hostFor(p)
	hc.MaxConns = 8
	var calls servertest.Crowd
	for i := range 2000 {
		calls.Go(func() {
			req, resp := AcquireRequest(), AcquireResponse()
			defer ReleaseRequest(req)
			defer ReleaseResponse(resp)
			req.SetRequestURI(p.URL("/"))
			if i%3 == 0 {
				_ = hc.DoTimeout(req, resp, time.Duration(i)*10*time.Microsecond+1)
			} else {
				_ = hc.Do(req, resp)
			}
		})
	}
	calls.Wait(t, "2000 calls")
	if waiting := hc.pool.Waiting(); waiting != 0 {
		t.Errorf("%d calls wait", waiting)
	}
	if n := hc.ConnsCount(); n != hc.IdleConnsCount() {
		t.Errorf("%d connections, of which %d are idle", n, hc.IdleConnsCount())
	}
}

// Known failure 29, with TLS: the client notices that the server has closed an idle
// connection. It reuses a connection on which only TLS messages have arrived.
func TestClientTLSIdleConnections(t *testing.T) {
	cert, roots := servertest.CertificateFor(t, []string{"example.test"})
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns atomic.Int32
	s := &http.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }),
		ConnState: func(_ net.Conn, state http.ConnState) { conns.Add(map[http.ConnState]int32{http.StateNew: 1}[state]) },
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	go func() { _ = s.ServeTLS(ln, "", "") }()
	defer s.Close()
	var w connWatch
	hc := &HostClient{
		Addr: "example.test", IsTLS: true, TLSConfig: &tls.Config{RootCAs: roots},
		Dial: func(string) (net.Conn, error) { return w.dial(ln.Addr().String()) },
	}
	defer hc.CloseIdleConnections()
	req, resp := requestTo(t, MethodPost, "https://example.test/"), responseFor(t)
	req.SetBodyString("body")
	for range 10 {
		servertest.Must(t, hc.Do(req, resp))
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for 10 requests", n)
	}
	_ = s.Shutdown(t.Context())
	w.awaitSomething(t)
	if err := hc.Do(req, resp); err == nil {
		t.Error("a call to a closed server succeeded")
	} else if _, ok := errors.AsType[*net.OpError](err); !ok {
		t.Errorf("got %v, want the error of dialing", err)
	}
}
