//go:build unix

package connpool

import "syscall"

const canPeek = true

// peek first asks whether there is any event: mostly there is none, and that answer
// is cheaper.
func peek(fd uintptr) State {
	for {
		is, err := ready(fd)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return Ended
		case !is:
			return Quiet
		default:
			return peekByte(fd)
		}
	}
}

func peekByte(fd uintptr) State {
	var b [1]byte
	for {
		n, err := peekInto(fd, b[:])
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN || err == syscall.EWOULDBLOCK:
			return Quiet
		case err == nil && n > 0:
			return Readable
		default:
			return Ended
		}
	}
}
