package connpool

import "github.com/valyala/fasthttp/internal/rawsys"

// ready and peekInto cannot wait, so the scheduler need not know about them:
// notifying it would double the cost.

func ready(fd uintptr) (bool, error) {
	is, errno := rawsys.Ready(int(fd))
	if errno != 0 {
		return false, errno
	}
	return is, nil
}

func peekInto(fd uintptr, p []byte) (n int, err error) {
	n, errno := rawsys.Peek(int(fd), p)
	if errno != 0 {
		return 0, errno
	}
	return n, nil
}

func hungUp(fd uintptr) bool {
	ended, errno := rawsys.HungUp(int(fd))
	return errno == 0 && ended
}
