package websocket

import (
	"io"
	"net"
	"sync"
	"time"
)

// NetConn returns a net.Conn over the messages of c. Each Write sends a binary message. Read
// returns the bytes of messages, of both types, one after the other. It returns io.EOF after
// the peer has closed c with CloseNormalClosure or CloseGoingAway, and otherwise the errors
// of Conn.ReadMessage. Close is Conn.Close. The other methods of c that read must not be
// used.
func NetConn(c *Conn) net.Conn { return &netConn{Conn: c} }

// netConn is a net.Conn over messages.
type netConn struct {
	*Conn
	mu sync.Mutex // held by Read; guards the following
	r  io.Reader
}

// Read implements net.Conn.
func (n *netConn) Read(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(p) > 0 {
		if n.r == nil {
			_, r, err := n.NextReader()
			if err != nil {
				return 0, endOfStream(err)
			}
			n.r = r
		}
		size, err := n.r.Read(p)
		if err == io.EOF {
			n.r, err = nil, nil
		}
		if size > 0 || err != nil {
			return size, endOfStream(err)
		}
	}
	return 0, nil
}

func endOfStream(err error) error {
	if IsCloseError(err, CloseNormalClosure, CloseGoingAway) {
		return io.EOF
	}
	return err
}

// Write implements net.Conn.
func (n *netConn) Write(p []byte) (int, error) {
	if err := n.WriteMessage(BinaryMessage, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// SetDeadline implements net.Conn.
func (n *netConn) SetDeadline(t time.Time) error {
	if err := n.SetReadDeadline(t); err != nil {
		return err
	}
	return n.SetWriteDeadline(t)
}
