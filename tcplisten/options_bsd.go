//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package tcplisten

import (
	"errors"

	"golang.org/x/sys/unix"
)

func setReusePort(fd uintptr) error {
	return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, reusePort, 1)
}

func setDeferAccept(uintptr) error { return errors.ErrUnsupported }

func setFastOpen(uintptr) error { return errors.ErrUnsupported }

// setBacklog calls listen again, which only changes the length of the queue.
func setBacklog(fd uintptr, n int) error { return unix.Listen(int(fd), n) }
