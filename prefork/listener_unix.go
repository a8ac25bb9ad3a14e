//go:build !windows

package prefork

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// listenerFile returns the socket of ln, to be inherited by children. That of
// ln.File becomes one that blocks each time a child is started with it, and so
// do the sockets of the children that serve already, which are the same one.
func listenerFile(ln *net.TCPListener) (*os.File, error) {
	c, err := ln.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var failed error
	if err := c.Control(func(own uintptr) { fd, failed = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, os.NewSyscallError("fcntl", failed)
	}
	return os.NewFile(uintptr(fd), "listener"), nil
}
