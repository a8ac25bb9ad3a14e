package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/connpool"
)

// Known failure 29: the server closes each connection while it is idle. Every
// request goes out on another one, and no server sees any of them twice.
func TestClientPostsAfterIdleCloseSucceed(t *testing.T) {
	closed := make(chan struct{})
	p := newPeer(t, func(c *peerConn) {
		if c.request() != nil {
			c.write(respOK)
		}
		_ = c.Close()
		closed <- struct{}{}
	})
	hc := p.host()
	req, resp := requestTo(t, MethodPost, p.url("/")), responseFor(t)
	for i := range 60 {
		req.SetBodyString(fmt.Sprint("body ", i))
		mustDo(t, hc.Do(req, resp))
		<-closed
	}
	p.counts(60, 60)
}

// Every connection is looked at before it is used again, whatever the request and
// however short the rest: nothing is written to one that is of no use.
func TestClientLooksAtEveryConnection(t *testing.T) {
	large := strings.Repeat("x", oneWrite+1)
	requests := map[string]func(hc *HostClient, req *Request){
		"GET":   func(*HostClient, *Request) {},
		"POST":  func(_ *HostClient, req *Request) { req.SetBodyString("content") },
		"large": func(_ *HostClient, req *Request) { req.SetBodyString(large) },
		"chunks": func(_ *HostClient, req *Request) {
			req.SetBodyStream(strings.NewReader("content"), -1)
		},
		"stream": func(_ *HostClient, req *Request) { req.SetBodyStream(strings.NewReader(large), len(large)) },
		"asks first": func(_ *HostClient, req *Request) {
			req.Header.Set(HeaderExpect, "100-continue")
			req.SetBodyString("content")
		},
		"traced": func(hc *HostClient, _ *Request) {
			hc.Trace = &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {}}
		},
		"timeouts": func(hc *HostClient, _ *Request) { hc.ReadTimeout, hc.WriteTimeout = patience, patience },
		"wrapped":  func(hc *HostClient, _ *Request) { hc.Dial = dialWrapped },
	}
	for name, prepare := range requests {
		for _, text := range []string{"", respOK, "x"} {
			t.Run(fmt.Sprintf("%s behind %q", name, text), func(t *testing.T) {
				spoil, rest := make(chan struct{}), make(chan int64, 1)
				p := newPeer(t, func(c *peerConn) {
					if c.request() == nil {
						return
					}
					c.write(respOK)
					if c.number > 1 {
						return
					}
					<-spoil
					c.write(text)
					if text == "" {
						_ = c.Conn.(*net.TCPConn).CloseWrite()
					}
					n, _ := io.Copy(io.Discard, c.r)
					rest <- n
				})
				hc := p.host()
				req, resp := requestTo(t, MethodPost, p.url("/")), responseFor(t)
				prepare(hc, req)
				mustDo(t, hc.Do(req, resp))
				g, ok := hc.pool.TryGet()
				if !ok || !g.Found {
					t.Fatal("the connection was not kept")
				}
				if !g.Conn.line.CanBeSeen() {
					t.Skip("connections cannot be looked at on this system")
				}
				close(spoil)
				eventually(t, "something on the connection", func() bool { return g.Conn.line.Look() != connpool.Quiet })
				hc.ReleaseConn(g.Conn)
				prepare(hc, req)
				mustDo(t, hc.Do(req, resp))
				if n := <-rest; n != 0 {
					t.Errorf("%d bytes were written to a connection that was of no use", n)
				}
				p.counts(2, 2)
			})
		}
	}
}

// dialWrapped returns a connection that says what it wraps.
func dialWrapped(addr string) (net.Conn, error) {
	conn, err := net.Dial("tcp", addr)
	return wrappedConn{conn}, err
}

type wrappedConn struct{ net.Conn }

func (c wrappedConn) NetConn() net.Conn { return c.Conn }

func TestAcquireConnLooksAtConnections(t *testing.T) {
	p := newPeer(t, func(c *peerConn) {
		if c.request() != nil {
			c.write(respOK)
		}
	})
	hc := p.host()
	mustDo(t, hc.Do(requestTo(t, MethodGet, p.url("/")), responseFor(t)))
	g, _ := hc.pool.TryGet()
	if !g.Found || !g.Conn.line.CanBeSeen() {
		t.Skip("connections cannot be looked at on this system")
	}
	eventually(t, "the end", func() bool { return g.Conn.line.Look() != connpool.Quiet })
	hc.ReleaseConn(g.Conn)
	cc, err := hc.AcquireConn(0, false)
	mustDo(t, err)
	if cc == g.Conn {
		t.Error("AcquireConn returns a connection that the peer has closed")
	}
	hc.CloseConn(cc)
}

// A connection that cannot be looked at fails when it is written to: nothing was
// sent then.
func TestClientPostsOnClosedPipeSucceed(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	defer ln.Close()
	var closed atomic.Int32
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			c := &peerConn{Conn: nc, peer: &peer{}, r: bufio.NewReader(nc)}
			if c.request() != nil {
				c.write(respOK)
			}
			_ = nc.Close()
			closed.Add(1)
		}
	}()
	hc := &HostClient{Addr: "memory", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	defer hc.CloseIdleConnections()
	req, resp := requestTo(t, MethodPost, "http://memory/"), responseFor(t)
	req.SetBodyString("body")
	for i := range int32(60) {
		mustDo(t, hc.Do(req, resp))
		eventually(t, "the connection closed", func() bool { return closed.Load() > i })
	}
}

// A POST whose bytes the server has taken in is not sent again.
func TestClientDoesNotRepeatPostThatWasTaken(t *testing.T) {
	p := newPeer(t, func(c *peerConn) {
		c.request()
		c.write(respOK)
		c.request()
	})
	hc := p.host()
	req, resp := requestTo(t, MethodPost, p.url("/")), responseFor(t)
	req.SetBodyString("body")
	mustDo(t, hc.Do(req, resp))
	if err := hc.Do(req, resp); err != error(ErrConnectionClosed) && !errors.Is(err, io.EOF) && !isReset(err) {
		t.Errorf("got %v, want ErrConnectionClosed", err)
	}
	p.counts(1, 2)
}

func isReset(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}

// What may be repeated is sent MaxIdemponentCallAttempts times.
func TestClientRepeatsIdempotentRequests(t *testing.T) {
	for _, tt := range []struct {
		method   string
		attempts int
		want     int32
	}{
		{MethodGet, 0, 5}, {MethodHead, 0, 5}, {MethodPut, 3, 3}, {MethodOptions, 2, 2},
		{MethodGet, 1, 1}, {MethodPost, 0, 1}, {MethodPatch, 0, 1}, {MethodDelete, 0, 1},
	} {
		p := newPeer(t, func(c *peerConn) { c.request() })
		hc := p.host()
		hc.MaxIdemponentCallAttempts = tt.attempts
		err := hc.Do(requestTo(t, tt.method, p.url("/")), responseFor(t))
		if err != error(ErrConnectionClosed) {
			t.Errorf("%s: got %v, want ErrConnectionClosed", tt.method, err)
		}
		if n := p.reqs.Load(); n != tt.want {
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
		p := newPeer(t, func(c *peerConn) {
			c.request()
			c.write(response)
		})
		err := p.host().Do(requestTo(t, MethodGet, p.url("/")), responseFor(t))
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: got %v, want io.ErrUnexpectedEOF", response, err)
		}
		p.counts(1, 1)
	}
}

// Known failure 31.
func TestClientCallsQueueForConnections(t *testing.T) {
	p := newPeer(t, func(c *peerConn) {
		for c.request() != nil {
			time.Sleep(time.Millisecond)
			c.write(respOK)
		}
	})
	client := &Client{}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	var failed atomic.Int32
	for range 700 {
		wg.Go(func() {
			if _, _, err := client.Get(nil, p.url("/")); err != nil {
				failed.Add(1)
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := failed.Load(); n > 0 {
		t.Errorf("%d of 700 calls failed", n)
	}
	if n := p.conns.Load(); n > DefaultMaxConnsPerHost {
		t.Errorf("%d connections, more than %d", n, DefaultMaxConnsPerHost)
	}
}

// Known failure 31: where a limit for the wait is set, it counts.
func TestClientWaitTimeout(t *testing.T) {
	release := make(chan struct{})
	p := newPeer(t, func(c *peerConn) {
		for c.request() != nil {
			<-release
			c.write(respOK)
		}
	})
	hc := p.host()
	hc.MaxConns = 1
	hc.MaxConnWaitTimeout = 20 * time.Millisecond
	first := make(chan error)
	go func() { first <- hc.Do(requestTo(t, MethodGet, p.url("/")), responseFor(t)) }()
	eventually(t, "a request", func() bool { return p.reqs.Load() == 1 })
	req, resp := requestTo(t, MethodGet, p.url("/")), responseFor(t)
	if err := hc.Do(req, resp); err != ErrNoFreeConns {
		t.Errorf("got %v, want ErrNoFreeConns", err)
	}
	if err := hc.DoTimeout(req, resp, time.Millisecond); err != error(ErrTimeout) {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	close(release)
	mustDo(t, <-first)
	mustDo(t, hc.Do(req, resp))
	p.counts(1, 2)
}

// Known failure 32: raising the limit lets those go on who wait.
func TestClientSetMaxConnsWakesWaiters(t *testing.T) {
	release := make(chan struct{})
	p := newPeer(t, func(c *peerConn) {
		for c.request() != nil {
			<-release
			c.write(respOK)
		}
	})
	hc := p.host()
	hc.MaxConns = 1
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			req, resp := AcquireRequest(), AcquireResponse()
			defer ReleaseRequest(req)
			defer ReleaseResponse(resp)
			req.SetRequestURI(p.url("/"))
			if err := hc.Do(req, resp); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "calls that wait", func() bool { return hc.pool.Waiting() == 3 && p.reqs.Load() == 1 })
	hc.SetMaxConns(4)
	eventually(t, "all calls at the server", func() bool { return p.reqs.Load() == 4 })
	close(release)
	wg.Wait()
	hc.SetMaxConns(2)
	if n := hc.ConnsCount(); n != 2 {
		t.Errorf("%d connections after SetMaxConns(2)", n)
	}
}

// Known failure 32: thousands of calls with failing connections, timeouts and
// few connections lose nothing.
func TestClientUnderStressLosesNoPlace(t *testing.T) {
	p := newPeer(t, func(c *peerConn) {
		for n := 0; c.request() != nil; n++ {
			switch (c.number + n) % 7 {
			case 0:
				return
			case 1:
				c.write(respClose)
				return
			case 2:
				c.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok")
				return
			}
			c.write(respOK)
		}
	})
	hc := p.host()
	hc.MaxConns = 8
	var wg sync.WaitGroup
	for i := range 2000 {
		wg.Go(func() {
			req, resp := AcquireRequest(), AcquireResponse()
			defer ReleaseRequest(req)
			defer ReleaseResponse(resp)
			req.SetRequestURI(p.url("/"))
			if i%3 == 0 {
				_ = hc.DoTimeout(req, resp, time.Duration(i)*10*time.Microsecond+1)
			} else {
				_ = hc.Do(req, resp)
			}
		})
	}
	soon(t, "2000 calls", wg.Wait)
	if waiting := hc.pool.Waiting(); waiting != 0 {
		t.Errorf("%d calls wait", waiting)
	}
	if n := hc.ConnsCount(); n != hc.IdleConnsCount() {
		t.Errorf("%d connections, of which %d are idle", n, hc.IdleConnsCount())
	}
}
