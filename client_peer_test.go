package fasthttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// peer is a server of which a test says what it does on every connection.
type peer struct {
	t      testing.TB
	ln     net.Listener
	conns  atomic.Int32
	reqs   atomic.Int32
	ending atomic.Bool
	all    sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]bool
}

// newPeer runs serve for every connection, which is closed afterwards.
func newPeer(t testing.TB, serve func(c *peerConn)) *peer {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, ln: ln, open: make(map[net.Conn]bool)}
	p.all.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			n := p.conns.Add(1)
			p.mu.Lock()
			p.open[nc] = true
			p.mu.Unlock()
			p.all.Go(func() {
				defer p.close(nc)
				serve(&peerConn{Conn: nc, peer: p, number: int(n), r: bufio.NewReader(nc)})
			})
		}
	})
	t.Cleanup(p.stop)
	return p
}

// answering is a peer that answers every request with the same bytes.
func answering(t testing.TB, response string) *peer {
	return newPeer(t, func(c *peerConn) {
		for c.request() != nil {
			c.write(response)
		}
	})
}

func (p *peer) close(nc net.Conn) {
	_ = nc.Close()
	p.mu.Lock()
	delete(p.open, nc)
	p.mu.Unlock()
}

func (p *peer) stop() {
	p.ending.Store(true)
	_ = p.ln.Close()
	p.mu.Lock()
	for nc := range p.open {
		_ = nc.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}

func (p *peer) addr() string { return p.ln.Addr().String() }

func (p *peer) url(path string) string { return "http://" + p.addr() + path }

// host returns a client of the peer, whose connections are closed with the test.
func (p *peer) host() *HostClient {
	hc := &HostClient{Addr: p.addr()}
	p.t.Cleanup(func() {
		hc.CloseIdleConnections()
		if n, pending := hc.ConnsCount(), hc.PendingRequests(); n != 0 || pending != 0 {
			p.t.Errorf("%d connections and %d calls are left", n, pending)
		}
	})
	return hc
}

// peerConn is a connection of a peer.
type peerConn struct {
	net.Conn
	peer   *peer
	number int // counted from 1
	r      *bufio.Reader
	body   string // of the last request
}

// request reads a request with its body; it is nil at the end of the connection.
func (c *peerConn) request() *http.Request {
	req, err := http.ReadRequest(c.r)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil
	}
	c.body = string(body)
	c.peer.reqs.Add(1)
	return req
}

func (c *peerConn) write(s string) { _, _ = io.WriteString(c.Conn, s) }

// untilClosed waits until the client closes the connection.
func (c *peerConn) untilClosed() { _, _ = io.Copy(io.Discard, c.r) }

// counts checks how many connections and requests the peer has seen.
func (p *peer) counts(conns, reqs int32) {
	p.t.Helper()
	if p.conns.Load() != conns || p.reqs.Load() != reqs {
		p.t.Errorf("the peer has seen %d connections and %d requests, want %d and %d", p.conns.Load(), p.reqs.Load(), conns, reqs)
	}
}

const (
	respOK    = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	respClose = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
)

// requestTo returns a request that is released with the test.
func requestTo(t testing.TB, method, url string) *Request {
	req := AcquireRequest()
	t.Cleanup(func() { ReleaseRequest(req) })
	req.Header.SetMethod(method)
	req.SetRequestURI(url)
	return req
}

// responseFor returns a response that is released with the test.
func responseFor(t testing.TB) *Response {
	resp := AcquireResponse()
	t.Cleanup(func() { ReleaseResponse(resp) })
	return resp
}

// mustDo does a call that must not fail.
func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("the call failed: %v", err)
	}
}

// soon fails a test whose call takes much longer than it may.
func soon(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s hangs:\n%s", what, stacks())
	}
}
