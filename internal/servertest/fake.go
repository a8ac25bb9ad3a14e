package servertest

import (
	"bytes"
	"io"
	"net"
	"time"
)

// FakeConn is a connection whose peer has sent everything beforehand: each Read
// returns the next piece. It needs no goroutine, so how the bytes are split is
// exact, and runs are fast.
type FakeConn struct {
	Pieces [][]byte     // the results of Read
	Out    bytes.Buffer // the written bytes
	// Starved is called when all pieces were read; it may add pieces. The
	// connection ends if it adds none.
	Starved func(c *FakeConn)
	Closed  int            // the number of calls of Close
	OnWrite func(p []byte) // called with the written bytes, unless it is nil
}

// Read returns the next piece, or as much of it as fits.
func (c *FakeConn) Read(p []byte) (int, error) {
	if c.Closed > 0 {
		return 0, net.ErrClosed
	}
	if len(c.Pieces) == 0 && c.Starved != nil {
		c.Starved(c)
	}
	if len(c.Pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.Pieces[0])
	if c.Pieces[0] = c.Pieces[0][n:]; len(c.Pieces[0]) == 0 {
		c.Pieces = c.Pieces[1:]
	}
	return n, nil
}

// Write keeps p in Out.
func (c *FakeConn) Write(p []byte) (int, error) {
	if c.Closed > 0 {
		return 0, net.ErrClosed
	}
	if c.OnWrite != nil {
		c.OnWrite(p)
	}
	return c.Out.Write(p)
}

// Close fails the second time.
func (c *FakeConn) Close() error {
	if c.Closed++; c.Closed > 1 {
		return net.ErrClosed
	}
	return nil
}

// ZeroAddr is the address of both sides of a FakeConn.
var ZeroAddr = &net.TCPAddr{IP: net.IPv4zero}

// LocalAddr returns ZeroAddr.
func (c *FakeConn) LocalAddr() net.Addr { return ZeroAddr }

// RemoteAddr returns ZeroAddr.
func (c *FakeConn) RemoteAddr() net.Addr { return ZeroAddr }

// SetDeadline does nothing, since no call waits.
func (c *FakeConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (c *FakeConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (c *FakeConn) SetWriteDeadline(time.Time) error { return nil }
