package fasthttptest

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

// Peer is a server in memory that does as a test says, byte by byte, for tests of clients.
//
//	peer := fasthttptest.NewPeer(t)
//	go client.Do(req, resp)
//	c := peer.Accept()
//	c.Expect("GET / HTTP/1.1\r\n")
//	c.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal")
//	c.Close() // the response is cut off
//
// A step waits for the client without a limit: if the client does something else, the limit of go
// test applies, and within a testing/synctest bubble the deadlock is reported at once. SetDeadline
// limits the steps of a connection.
type Peer struct {
	t  testing.TB
	ln *fasthttputil.InmemoryListener

	mu    sync.Mutex
	conns []net.Conn
}

// NewPeer returns a peer, which ends with the test, with its connections.
func NewPeer(t testing.TB) *Peer {
	p := &Peer{t: t, ln: fasthttputil.NewInmemoryListener()}
	t.Cleanup(func() {
		_ = p.ln.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		rest()
	})
	return p
}

// Client returns a client whose connections lead to the peer, whatever the host of the URL is.
func (p *Peer) Client() *fasthttp.Client {
	c := &fasthttp.Client{DialContext: func(context.Context, string, string) (net.Conn, error) { return p.ln.Dial() }}
	p.t.Cleanup(c.CloseIdleConnections)
	return c
}

// Dial opens a connection to the peer, for clients that Client does not return. It waits until
// Accept takes the connection, and returns an error if the test ends before.
func (p *Peer) Dial() (net.Conn, error) { return p.ln.Dial() }

// Accept waits for the next connection. It must be called by the goroutine of the test, like all
// methods of the connection that check something.
func (p *Peer) Accept() *PeerConn {
	p.t.Helper()
	nc, err := p.ln.Accept()
	if err != nil {
		p.t.Fatalf("fasthttptest: no connection: %v", err)
	}
	p.mu.Lock()
	p.conns = append(p.conns, nc)
	p.mu.Unlock()
	return &PeerConn{t: p.t, Conn: nc}
}

// PeerConn is the peer's side of a connection.
type PeerConn struct {
	net.Conn
	t testing.TB
}

// Expect reads bytes, which must be want.
func (c *PeerConn) Expect(want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c.Conn, got); err != nil || string(got) != want {
		c.t.Fatalf("fasthttptest: got %q, %v, want %q", got[:n], err, want)
	}
}

// ExpectHead reads the head of a request, up to and with its empty line, and returns it.
func (c *PeerConn) ExpectHead() string {
	c.t.Helper()
	var head []byte
	var one [1]byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if _, err := c.Read(one[:]); err != nil {
			c.t.Fatalf("fasthttptest: the head of the request ends after %q: %v", head, err)
		}
		head = append(head, one[0])
	}
	return string(head)
}

// ExpectEnd checks that the client closes the connection, and sends nothing before.
func (c *PeerConn) ExpectEnd() {
	c.t.Helper()
	if got, err := io.ReadAll(c.Conn); len(got) > 0 {
		c.t.Fatalf("fasthttptest: got %q, %v, want the end of the connection", got, err)
	}
}

// Send sends bytes.
func (c *PeerConn) Send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatalf("fasthttptest: cannot send %q: %v", text, err)
	}
}
