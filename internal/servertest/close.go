package servertest

import (
	"crypto/tls"
	"net"
	"time"
)

// Close ends a connection in order. A child process between fork and exec holds a copy of
// every socket, so that closing ours ends nothing yet: therefore the writes end before.
func Close(nc net.Conn) error {
	if over, ok := nc.(*tls.Conn); ok {
		// a Write that goes on would have CloseWrite wait
		_ = nc.SetWriteDeadline(time.Now())
		_ = over.CloseWrite()
		endWrites(over.NetConn())
	} else {
		endWrites(nc)
	}
	return nc.Close()
}

// endWrites ends the writes of a connection that has such an end.
func endWrites(nc net.Conn) {
	if half, ok := nc.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// Reset ends a connection without order. The peer sees that once no child process holds a
// copy of the socket.
func Reset(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = nc.Close()
}

// life is how long a connection of a test lasts at most, so that nothing waits for ever for
// a test that has failed.
func life() time.Duration {
	// the clock of a bubble of testing/synctest begins with the year 2000, and hours pass
	// there at once
	if time.Now().Year() < 2010 {
		return 1000 * time.Hour
	}
	return 5 * Patience
}
