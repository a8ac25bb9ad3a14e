package websocket

import (
	"os"
	"syscall"

	"github.com/valyala/fasthttp/internal/rawsys"
)

const readsSockets = true

// recv reads from a socket that does not block. again means that nothing has arrived.
func recv(fd uintptr, p []byte) (n int, err error, again bool) {
	for {
		n, errno := rawsys.Recv(int(fd), p)
		switch errno {
		case 0:
			return n, nil, false
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, nil, true
		default:
			return 0, os.NewSyscallError("recv", errno), false
		}
	}
}
