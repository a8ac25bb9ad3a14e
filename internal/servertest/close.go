package servertest

import (
	"crypto/tls"
	"net"
	"time"
)

// Close closes a connection cleanly. A child process between fork and exec holds a copy of
// every socket, so that closing our copy ends nothing yet. Therefore Close first shuts down
// the writing side.
func Close(nc net.Conn) error {
	if over, ok := nc.(*tls.Conn); ok {
		// a running Write would block CloseWrite
		_ = nc.SetWriteDeadline(time.Now())
		_ = over.CloseWrite()
		endWrites(over.NetConn())
	} else {
		endWrites(nc)
	}
	return nc.Close()
}

// endWrites shuts down the writing side of a connection that supports it.
func endWrites(nc net.Conn) {
	if half, ok := nc.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// Reset resets a connection. The peer notices when no child process holds a copy of the
// socket.
func Reset(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = nc.Close()
}

// life is the longest time of a connection of a test, so that nothing waits forever for a
// failed test.
func life() time.Duration {
	// the clock of a testing/synctest bubble begins with the year 2000, and hours pass
	// there at once
	if time.Now().Year() < 2010 {
		return 1000 * time.Hour
	}
	return 5 * Patience
}
