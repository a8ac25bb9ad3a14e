package servertest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// H2Peer is an HTTP/2 server that a test scripts, connection by connection, on the test's
// goroutine. Calls of clients run on other goroutines.
type H2Peer struct {
	*Peer
	TLS      *tls.Config    // nil without TLS
	Accepted chan *PeerConn // unread connections
}

// NewH2Peer listens. The test must accept each connection.
func NewH2Peer(t testing.TB) *H2Peer {
	t.Helper()
	return newH2Peer(t, NewPeer)
}

// NewMemoryH2Peer is NewH2Peer for connections in memory, which a testing/synctest bubble
// needs.
func NewMemoryH2Peer(t testing.TB) *H2Peer {
	t.Helper()
	return newH2Peer(t, NewMemoryPeer)
}

func newH2Peer(t testing.TB, listen func(t testing.TB, serve func(c *PeerConn)) *Peer) *H2Peer {
	p := &H2Peer{Accepted: make(chan *PeerConn, 1000)}
	p.Peer = listen(t, func(c *PeerConn) {
		select {
		case p.Accepted <- c:
			<-c.Peer.Ended()
		case <-c.Peer.Ended():
		}
	})
	return p
}

// NewH2TLSPeer is NewH2Peer with TLS, and with the protocols from which the server chooses.
func NewH2TLSPeer(t testing.TB, protos ...string) *H2Peer {
	t.Helper()
	p := NewH2Peer(t)
	cert, key := Certificate()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	p.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: protos}
	return p
}

// URL returns the URL of a path.
func (p *H2Peer) URL(path string) string {
	if p.TLS != nil {
		return "https://" + p.Addr() + path
	}
	return p.Peer.URL(path)
}

// Accept returns the next connection, of which nothing was read but the TLS handshake.
func (p *H2Peer) Accept() *H2Side {
	p.T.Helper()
	return p.Side(Receive(p.T, "a connection", p.Accepted))
}

// AcceptUnless is Accept, but returns nil if a call ends before there is a connection. The
// result of the call stays in done.
func (p *H2Peer) AcceptUnless(done chan error) *H2Side {
	p.T.Helper()
	var c *PeerConn
	came := patiently(func(late <-chan time.Time) bool {
		select {
		case c = <-p.Accepted:
			return true
		case err := <-done:
			done <- err
			return true
		case <-late:
			return false
		}
	})
	switch {
	case !came:
		p.T.Fatal("neither a connection nor the end of the call")
	case c != nil:
		return p.Side(c)
	}
	return nil
}

// Side makes an H2Side of an accepted connection.
func (p *H2Peer) Side(c *PeerConn) *H2Side {
	p.T.Helper()
	if p.TLS != nil {
		over := tls.Server(c.Conn, p.TLS)
		_ = over.SetDeadline(time.Now().Add(Patience))
		if err := over.Handshake(); err != nil {
			p.T.Fatal(err)
		}
		c = c.Over(over)
	}
	s := &H2Side{H2Conn: NewH2Conn(NewConn(p.T, c.Conn), H2Server)}
	s.SetReuseFrames()
	return s
}

// Greet accepts a connection, and sends settings, which are alternating ids and values.
func (p *H2Peer) Greet(settings ...uint32) *H2Side {
	p.T.Helper()
	return p.Accept().Greet(settings...)
}

// H2Side is the server's side of a connection.
type H2Side struct {
	*H2Conn
	Taken int // number of streams that Request has returned
}

// Greet reads the client's preface, and sends settings.
func (c *H2Side) Greet(settings ...uint32) *H2Side {
	c.T.Helper()
	got := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c.R, got); err != nil || string(got) != http2.ClientPreface {
		c.T.Fatalf("the connection begins with %q, %v", got, err)
	}
	c.Until("SETTINGS", c.Greeted)
	c.Settings(settings...).AckSettings().Flush()
	return c
}

// Request waits for the next head of a request.
func (c *H2Side) Request() *H2Stream {
	c.T.Helper()
	c.Until("a request", func() bool { return len(c.Order) > c.Taken })
	c.Taken++
	return c.Streams[c.Order[c.Taken-1]]
}

// Requests waits for n heads of requests.
func (c *H2Side) Requests(n int) (all []*H2Stream) {
	c.T.Helper()
	for range n {
		all = append(all, c.Request())
	}
	return all
}

// RequestUnless is Request, but returns nil if a call ends before that.
func (c *H2Side) RequestUnless(call interface{ HasEnded() bool }) *H2Stream {
	c.T.Helper()
	defer func() { _ = c.SetReadDeadline(time.Now().Add(Patience)) }()
	for begun := time.Now(); len(c.Order) == c.Taken; {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := c.R.Peek(1); errors.Is(err, os.ErrDeadlineExceeded) {
			if call.HasEnded() {
				return nil
			}
			if time.Since(begun) > Patience {
				c.T.Fatal("neither a request nor the end of the call")
			}
			continue
		}
		_ = c.SetReadDeadline(time.Now().Add(Patience))
		if err := c.Take(); err != nil {
			c.T.Fatalf("neither a request nor the end of the call: %v", err)
		}
	}
	return c.Request()
}

// Whole waits for the next request, and for its end.
func (c *H2Side) Whole() *H2Stream {
	c.T.Helper()
	r := c.Request()
	c.EndOf(r)
	return r
}

// EndOf waits for the end of a request.
func (c *H2Side) EndOf(r *H2Stream) {
	c.T.Helper()
	c.Until(fmt.Sprintf("the end of stream %d", r.ID), func() bool { return r.IsDone() })
	if r.Reset != nil {
		c.T.Fatalf("stream %d was reset with %v", r.ID, *r.Reset)
	}
}

// ExpectReset waits until the client resets a stream.
func (c *H2Side) ExpectReset(r *H2Stream, code http2.ErrCode) {
	c.T.Helper()
	c.Until(fmt.Sprintf("a reset of stream %d", r.ID), func() bool { return r.Reset != nil })
	if *r.Reset != code {
		c.T.Errorf("stream %d was reset with %v, want %v", r.ID, *r.Reset, code)
	}
}

// Head queues the head of a response.
func (c *H2Side) Head(r *H2Stream, flags http2.Flags, status string, fields ...string) *H2Side {
	c.Headers(r.ID, flags, append([]string{":status: " + status}, fields...)...)
	return c
}

// Respond sends a response.
func (c *H2Side) Respond(r *H2Stream, status, content string, fields ...string) {
	c.T.Helper()
	if content == "" {
		c.Head(r, Whole, status, fields...)
	} else {
		c.Head(r, EndHeaders, status, fields...)
		c.Data(r.ID, EndStream, content)
	}
	c.Flush()
}

// Serve answers the next request with its path.
func (c *H2Side) Serve() *H2Stream {
	c.T.Helper()
	r := c.Whole()
	c.Respond(r, "200", r.Field(":path"))
	return r
}

// GoAway announces the end of the connection, and that streams above last are not processed.
func (c *H2Side) GoAway(last uint32, code http2.ErrCode) *H2Side {
	c.Frame(http2.FrameGoAway, 0, 0, H2Words(last, uint32(code)))
	return c
}

// SendContent sends content as the windows of the client permit.
func (c *H2Side) SendContent(r *H2Stream, content string, end bool) {
	c.T.Helper()
	window := c.InitialWindow()
	for sent := 0; sent < len(content); {
		may := min(65535+c.Granted[0], window+c.Granted[r.ID], len(content)-sent, 16<<10)
		if may <= 0 {
			c.Until("a window", func() bool { return 65535+c.Granted[0] > 0 && window+c.Granted[r.ID] > 0 })
			continue
		}
		flags := http2.Flags(0)
		if sent += may; end && sent == len(content) {
			flags = EndStream
		}
		c.Data(r.ID, flags, content[sent-may:sent]).Flush()
		c.Granted[0] -= may
		c.Granted[r.ID] -= may
	}
}

// Ending reads until the client has closed the connection, and returns the GOAWAY code, or
// "cut" without one.
func (c *H2Side) Ending() string {
	c.T.Helper()
	for {
		if err := c.Take(); errors.Is(err, os.ErrDeadlineExceeded) {
			c.T.Fatal("the client does not end the connection")
		} else if err != nil {
			break
		}
	}
	if c.Away == nil {
		return "cut"
	}
	return c.Away.ErrCode.String()
}
