//go:build unix

package servertest

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// The client sees the end of a connection even if a copy of the socket exists, as a child
// process has between fork and exec.
func TestEndIsSeenBesideACopyOfTheSocket(t *testing.T) {
	t.Parallel()
	cert, key := Certificate()
	pair, err := tls.X509KeyPair(cert, key)
	Must(t, err)
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	untilEnded := func(c *PeerConn) { <-c.Peer.Ended() }
	for name, tt := range map[string]struct {
		serve func(c *PeerConn)
		stops bool // the peer
		tls   bool
	}{
		"serve returns": {serve: func(*PeerConn) {}},
		"Close":         {serve: func(c *PeerConn) { _ = c.Close(); untilEnded(c) }},
		"Conn.Close":    {serve: func(c *PeerConn) { _ = NewConn(t, c.Conn).Close(); untilEnded(c) }},
		"Linger":        {serve: (*PeerConn).Linger},
		"Stop":          {serve: untilEnded, stops: true},
		"TLS": {tls: true, serve: func(c *PeerConn) {
			c = c.Over(tls.Server(c.Conn, config))
			c.Expect("GET /")
			_ = c.Close()
			untilEnded(c)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copied := make(chan struct{})
			p := NewPeer(t, func(c *PeerConn) {
				file, err := c.Conn.(*net.TCPConn).File()
				if err != nil {
					t.Error(err)
					return
				}
				t.Cleanup(func() { _ = file.Close() })
				close(copied)
				tt.serve(c)
			})
			nc, err := p.Dial()
			Must(t, err)
			defer nc.Close()
			_ = nc.SetDeadline(time.Now().Add(Patience))
			Receive(t, "the copy", copied)
			if tt.tls {
				config := TrustCertificate()
				config.ServerName = "127.0.0.1"
				over := tls.Client(nc, config)
				if _, err := io.WriteString(over, Get("/")); err != nil {
					t.Fatal(err)
				}
				if b, err := io.ReadAll(over); len(b) > 0 || err != nil {
					t.Errorf("over TLS: got %q, %v", b, err)
				}
			}
			if tt.stops {
				go p.Stop()
			}
			if b, err := io.ReadAll(nc); len(b) > 0 || err != nil {
				t.Errorf("got %q, %v, want the end of the connection", b, err)
			}
		})
	}
}

// faults collects failures.
type faults struct {
	testing.TB
	mu    sync.Mutex
	texts []string
}

func (f *faults) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

// A peer that finds a fault ends its connection.
func TestFaultEndsTheConnection(t *testing.T) {
	t.Parallel()
	found := &faults{TB: t}
	p := NewPeer(found, func(c *PeerConn) {
		c.Expect("GET /a")
		<-c.Peer.Ended()
	})
	nc, err := p.Dial()
	Must(t, err)
	c := NewConn(t, nc)
	defer c.Close()
	c.Get("/b")
	c.ExpectEnd()
	p.Stop()
	if n := len(found.texts); n != 1 {
		t.Errorf("the peer has found %d faults: %q", n, found.texts)
	}
}
