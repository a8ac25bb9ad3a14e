//go:build !windows

package prefork

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// listenerFile returns the socket of ln for children to inherit. It does not use
// ln.File: each start of a child with that file sets the socket to blocking mode, also
// for the children that serve already, since all share one socket.
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
