package servertest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// Peer is a server of which a test says what it does on every connection.
type Peer struct {
	T        testing.TB   // the test it belongs to
	Conns    atomic.Int32 // how many connections it has accepted
	Requests atomic.Int32 // how many requests it has read

	ln    net.Listener
	all   sync.WaitGroup
	ended chan struct{}
	end   func() // closes ended

	mu   sync.Mutex
	open map[net.Conn]bool
}

// NewPeer runs serve for every connection, which is closed afterwards.
func NewPeer(t testing.TB, serve func(c *PeerConn)) *Peer {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Peer{T: t, ln: ln, ended: make(chan struct{}), open: make(map[net.Conn]bool)}
	p.end = sync.OnceFunc(func() { close(p.ended) })
	p.all.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			n := p.Conns.Add(1)
			p.mu.Lock()
			p.open[nc] = true
			p.mu.Unlock()
			p.all.Go(func() {
				defer p.close(nc)
				serve(&PeerConn{Conn: nc, Peer: p, Number: int(n), R: bufio.NewReader(nc)})
			})
		}
	})
	t.Cleanup(p.Stop)
	return p
}

// Answering is a peer that answers every request with the same bytes.
func Answering(t testing.TB, response string) *Peer {
	return NewPeer(t, func(c *PeerConn) {
		for c.Request() != nil {
			c.Send(response)
		}
	})
}

// Silent is a peer that takes requests and never answers.
func Silent(t testing.TB) *Peer {
	return NewPeer(t, func(c *PeerConn) { c.UntilClosed() })
}

func (p *Peer) close(nc net.Conn) {
	_ = nc.Close()
	p.mu.Lock()
	delete(p.open, nc)
	p.mu.Unlock()
}

// Stop closes the listener and all connections, and waits for those who serve
// them.
func (p *Peer) Stop() {
	p.end()
	_ = p.ln.Close()
	p.mu.Lock()
	for nc := range p.open {
		_ = nc.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}

// Ended is closed when the peer stops.
func (p *Peer) Ended() <-chan struct{} { return p.ended }

// OpenConns counts the connections that are open.
func (p *Peer) OpenConns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// Addr is the address at which the peer listens.
func (p *Peer) Addr() string { return p.ln.Addr().String() }

// URL returns the http URL of a path.
func (p *Peer) URL(path string) string { return "http://" + p.Addr() + path }

// Counts checks how many connections and requests the peer has seen.
func (p *Peer) Counts(conns, requests int32) {
	p.T.Helper()
	if p.Conns.Load() != conns || p.Requests.Load() != requests {
		p.T.Errorf("the peer has seen %d connections and %d requests, want %d and %d",
			p.Conns.Load(), p.Requests.Load(), conns, requests)
	}
}

// PeerConn is a connection of a Peer.
type PeerConn struct {
	net.Conn
	Peer   *Peer
	Number int           // counted from 1
	R      *bufio.Reader // what reads from it
	Body   string        // of the last request
}

// Request reads a request with its body; it is nil at the end of the connection.
func (c *PeerConn) Request() *http.Request {
	req, err := http.ReadRequest(c.R)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil
	}
	c.Body = string(body)
	c.Peer.Requests.Add(1)
	return req
}

// Head reads the head of a request, and reports whether there was one.
func (c *PeerConn) Head() bool {
	for {
		line, err := c.R.ReadString('\n')
		if err != nil {
			return false
		}
		if line == "\r\n" {
			c.Peer.Requests.Add(1)
			return true
		}
	}
}

// Content reads what is known to come.
func (c *PeerConn) Content(want string) {
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c.R, got); err != nil || string(got) != want {
		c.Peer.T.Errorf("the content is %q, %v, want %q", got, err, want)
	}
}

// Send writes text.
func (c *PeerConn) Send(text string) { _, _ = io.WriteString(c.Conn, text) }

// UntilClosed waits until the client closes the connection.
func (c *PeerConn) UntilClosed() { _, _ = io.Copy(io.Discard, c.R) }
