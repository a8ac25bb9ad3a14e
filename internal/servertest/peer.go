package servertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Peer is a scripted server: serve handles every connection. No connection outlives the
// test, nor lasts so long that a test hangs.
type Peer struct {
	T        testing.TB               // the test it belongs to
	Dial     func() (net.Conn, error) // connects to it
	Conns    atomic.Int32             // number of accepted connections
	Requests atomic.Int32             // number of requests read

	ln    net.Listener
	all   sync.WaitGroup
	ended chan struct{}
	end   func() // closes ended

	mu   sync.Mutex
	over bool                     // no connection is opened any more
	open map[net.Conn]*time.Timer // each ends its connection
}

// NewPeer runs serve for every connection, which is closed afterwards: see Close. serve
// does not run on the goroutine of the test, so it must report failures with PeerConn.Fail.
func NewPeer(t testing.TB, serve func(c *PeerConn)) *Peer {
	t.Helper()
	ln, dial := ListenTCP(t)
	return newPeer(t, ln, dial, serve)
}

// NewMemoryPeer is NewPeer for connections in memory, which a testing/synctest bubble
// needs.
func NewMemoryPeer(t testing.TB, serve func(c *PeerConn)) *Peer {
	t.Helper()
	ln, dial := ListenMemory(t)
	return newPeer(t, ln, dial, serve)
}

func newPeer(t testing.TB, ln net.Listener, dial func() (net.Conn, error), serve func(c *PeerConn)) *Peer {
	p := &Peer{T: t, Dial: dial, ln: ln, ended: make(chan struct{}), open: make(map[net.Conn]*time.Timer)}
	p.end = sync.OnceFunc(func() { close(p.ended) })
	p.all.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			n := p.Conns.Add(1)
			if !p.begin(nc) {
				return
			}
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

// Silent is a peer that reads requests and never answers.
func Silent(t testing.TB) *Peer {
	return NewPeer(t, func(c *PeerConn) { c.UntilClosed() })
}

// begin records a connection, unless the peer has stopped.
func (p *Peer) begin(nc net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		_ = Close(nc)
		return false
	}
	p.open[nc] = time.AfterFunc(life(), func() { _ = Close(nc) })
	return true
}

func (p *Peer) close(nc net.Conn) {
	_ = Close(nc)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[nc].Stop()
	delete(p.open, nc)
}

// Stop closes the listener and all connections, and waits for the serving goroutines.
func (p *Peer) Stop() {
	p.end()
	_ = p.ln.Close()
	p.mu.Lock()
	p.over = true
	for nc := range p.open {
		_ = Close(nc)
	}
	p.mu.Unlock()
	served := make(chan struct{})
	go func() {
		defer close(served)
		p.all.Wait()
	}()
	if !received(served, new(struct{})) {
		p.T.Errorf("a peer does not end:\n%s", Stacks())
	}
}

// Ended is closed when the peer stops.
func (p *Peer) Ended() <-chan struct{} { return p.ended }

// OpenConns counts the open connections.
func (p *Peer) OpenConns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// Addr is the address at which the peer listens.
func (p *Peer) Addr() string { return p.ln.Addr().String() }

// URL returns the http URL of a path.
func (p *Peer) URL(path string) string { return "http://" + p.Addr() + path }

// Counts checks the number of connections and requests that the peer has seen.
func (p *Peer) Counts(conns, requests int32) {
	p.T.Helper()
	if p.Conns.Load() != conns || p.Requests.Load() != requests {
		p.T.Errorf("the peer has seen %d connections and %d requests, want %d and %d",
			p.Conns.Load(), p.Requests.Load(), conns, requests)
	}
}

// HasAccepted checks the number of connections that the peer has seen.
func (p *Peer) HasAccepted(conns int32) {
	p.T.Helper()
	if n := p.Conns.Load(); n != conns {
		p.T.Errorf("the peer has seen %d connections, want %d", n, conns)
	}
}

// PeerConn is a connection of a Peer.
type PeerConn struct {
	net.Conn
	Peer   *Peer
	Number int           // counted from 1
	R      *bufio.Reader // reads from it
	Body   string        // of the last request
}

// Over makes c use nc, which is a connection on top of c's own.
func (c *PeerConn) Over(nc net.Conn) *PeerConn {
	over := *c
	over.Conn, over.R = nc, bufio.NewReader(nc)
	return &over
}

// Close ends the connection: see the function Close.
func (c *PeerConn) Close() error { return Close(c.Conn) }

// Fail reports a failure, and ends the connection, so that no side waits for more on it.
func (c *PeerConn) Fail(format string, args ...any) {
	c.Peer.T.Errorf("connection %d: %s", c.Number, fmt.Sprintf(format, args...))
	_ = c.Close()
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

// Asked reads a request, and returns its method and target, or "" at the end of the
// connection.
func (c *PeerConn) Asked() string {
	req := c.Request()
	if req == nil {
		return ""
	}
	return req.Method + " " + req.RequestURI
}

// Expect reads requests, which must have these methods and targets.
func (c *PeerConn) Expect(requests ...string) {
	for _, want := range requests {
		if got := c.Asked(); got != want {
			c.Fail("got the request %q, want %q", got, want)
			return
		}
	}
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

// Content reads content, which must be want.
func (c *PeerConn) Content(want string) {
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c.R, got); err != nil || string(got) != want {
		c.Fail("the content is %q, %v, want %q", got, err, want)
	}
}

// Send writes text.
func (c *PeerConn) Send(text string) { _, _ = io.WriteString(c.Conn, text) }

// OK sends a response with a body.
func (c *PeerConn) OK(body string) {
	c.Send(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
}

// Echo answers each request with its method and target.
func (c *PeerConn) Echo() {
	for asked := c.Asked(); asked != ""; asked = c.Asked() {
		c.OK(asked)
	}
}

// EndWrites shuts down the peer's writing side.
func (c *PeerConn) EndWrites() { endWrites(c.Conn) }

// UntilClosed waits until the client closes the connection.
func (c *PeerConn) UntilClosed() { _, _ = io.Copy(io.Discard, c.R) }

// Linger shuts down the peer's writing side, and waits until the client closes the
// connection, too: a Close with unread requests would reset the connection, and the client
// might not read the last response.
func (c *PeerConn) Linger() {
	c.EndWrites()
	c.UntilClosed()
}

// Await waits until a channel is closed or delivers a value, or the peer has stopped.
func (c *PeerConn) Await(ch <-chan struct{}) {
	select {
	case <-ch:
	case <-c.Peer.Ended():
	}
}
