//go:build unix && !linux

package websocket

import (
	"os"
	"syscall"
)

const readsSockets = true

// recv reads from a socket that does not block. again means that nothing has arrived.
func recv(fd uintptr, p []byte) (n int, err error, again bool) {
	for {
		n, err := syscall.Read(int(fd), p)
		switch err {
		case nil:
			return n, nil, false
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, nil, true
		default:
			return 0, os.NewSyscallError("read", err), false
		}
	}
}
