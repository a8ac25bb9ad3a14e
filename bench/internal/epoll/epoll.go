// Package epoll has connections that one thread waits for, as loads have them: that leaves a
// server more processor time than a goroutine for each connection. It needs linux. Start with
// New.
package epoll

import (
	"net"
	"syscall"
	"time"
)

// Event is what happened to a connection.
type Event struct {
	Conn int // its number
	// Readable is set if bytes or the end have arrived, and Writable if a full buffer has room again.
	Readable, Writable bool
}

// Dial connects to a server. The kernel keeps no such connection after its end, so that the ports
// are free for the next run. control may set options of the socket before; it may be nil.
func Dial(addr string, control func(fd uintptr) error) (net.Conn, error) {
	const patience = time.Minute
	dialer := net.Dialer{Timeout: patience, KeepAlive: -1}
	if control != nil {
		dialer.Control = func(_, _ string, c syscall.RawConn) (err error) {
			if failed := c.Control(func(fd uintptr) { err = control(fd) }); failed != nil {
				return failed
			}
			return err
		}
	}
	nc, err := dialer.Dial("tcp4", addr)
	if err != nil {
		return nil, err
	}
	return nc, nc.(*net.TCPConn).SetLinger(0)
}
