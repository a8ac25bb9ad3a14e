//go:build unix

package connpool

import "golang.org/x/sys/unix"

const canPeek = true

func peek(fd uintptr) State {
	var b [1]byte
	for {
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN || err == unix.EWOULDBLOCK:
			return Quiet
		case err == nil && n > 0:
			return Readable
		default:
			return Ended
		}
	}
}
