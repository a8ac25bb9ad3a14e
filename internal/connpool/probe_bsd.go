//go:build unix && !linux

package connpool

import "golang.org/x/sys/unix"

func ready(fd uintptr) (bool, error) {
	fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds[:], 0)
	return n == 1, err
}

func peekInto(fd uintptr, p []byte) (n int, err error) {
	n, _, err = unix.Recvfrom(int(fd), p, unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return n, err
}

func hungUp(fd uintptr) bool { return peek(fd) == Ended }
