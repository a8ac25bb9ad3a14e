//go:build unix

package netio

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// CopySocket returns a copy of the socket of a listener, for new processes to inherit. It does not
// use the method File: starting a process with such a file sets the socket to blocking mode, for
// all processes that share it.
func CopySocket(ln syscall.Conn) (*os.File, error) {
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
