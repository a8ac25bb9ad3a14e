//go:build unix

package connpool

import "golang.org/x/sys/unix"

const canPeek = true

// peek asks first whether there is anything to look at: mostly there is not, and
// that answer is the cheaper one.
func peek(fd uintptr) State {
	fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds[:], 0)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return Ended
		case n == 0:
			return Quiet
		default:
			return peekByte(fd)
		}
	}
}

func peekByte(fd uintptr) State {
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
