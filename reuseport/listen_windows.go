package reuseport

import (
	"context"
	"fmt"
	"net"
	"syscall"
)

// Listen listens on addr, of the form "host:port", with SO_REUSEADDR, which on Windows lets
// several listeners share one address. It is not defined which of them gets a connection:
// usually the first one does, until it is closed. The network is "tcp4", "tcp6", or "tcp" for
// both.
//
// The result is a *net.TCPListener. The error is an *ErrNoReusePort if the option
// cannot be set.
func Listen(network, addr string) (net.Listener, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, fmt.Errorf("reuseport: the network must be tcp, tcp4 or tcp6: %w", net.UnknownNetworkError(network))
	}
	var failed error
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		err := c.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(syscall.Handle(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
		})
		if err != nil {
			return err
		}
		return failed
	}}
	ln, err := lc.Listen(context.Background(), network, addr)
	if failed != nil {
		return nil, &ErrNoReusePort{failed}
	}
	return ln, err
}
