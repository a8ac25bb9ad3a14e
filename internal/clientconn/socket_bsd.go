//go:build unix && !linux

package clientconn

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const canPeek = true

func ready(fd uintptr) (bool, syscall.Errno) {
	fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds[:], 0)
	errno, _ := err.(syscall.Errno)
	return n == 1, errno
}

func peekInto(fd uintptr, p []byte) (n int, errno syscall.Errno) {
	n, _, err := unix.Recvfrom(int(fd), p, unix.MSG_PEEK|unix.MSG_DONTWAIT)
	errno, _ = err.(syscall.Errno)
	return n, errno
}

func hungUp(fd uintptr) bool { return peek(fd) == Ended }
