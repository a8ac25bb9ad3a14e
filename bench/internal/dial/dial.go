// Package dial connects the clients of loads. Start with TCP.
package dial

import (
	"net"
	"syscall"
	"time"
)

const patience = 30 * time.Second

// TCP connects to a server, from the given address if it is not empty. The kernel keeps no such
// connection after its end, so that the ports are free for the next run, and does not probe the
// server, as in serving.Job.Crowd. control may set options of the socket before; it may be nil.
func TCP(source, addr string, control func(fd uintptr) error) (net.Conn, error) {
	dialer := net.Dialer{Timeout: patience, KeepAlive: -1}
	if source != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}
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
