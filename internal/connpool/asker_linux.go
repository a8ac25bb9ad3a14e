package connpool

import (
	"io"
	"syscall"

	"github.com/valyala/fasthttp/internal/rawsys"
)

const canRoundTrip = true

// doStep is a step of asking, and reports whether it was the last one. The first step
// sends, and the later ones receive.
//
// RawConn.Read clears the readiness of the connection before the first step. So peek
// finds earlier bytes, and later bytes end the wait.
func (a *RoundTripper) doStep(fd uintptr) bool {
	if a.waiting {
		return a.receive(int(fd))
	}
	asked := &a.result
	if asked.State = peek(fd); asked.State != Quiet {
		return true
	}
	n, errno := rawsys.Send(int(fd), a.b)
	switch errno {
	case 0:
		asked.Sent = n
		a.waiting = n == len(a.b)
	case syscall.EAGAIN, syscall.EINTR:
	default:
		asked.SendErr = errno
	}
	return !a.waiting
}

func (a *RoundTripper) receive(fd int) bool {
	if len(a.recvBuf) == 0 {
		ready, _ := rawsys.Ready(fd)
		return ready
	}
	for {
		n, errno := rawsys.Recv(fd, a.recvBuf)
		switch {
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			return false
		case errno != 0:
			a.result.RecvErr = errno
		case n == 0:
			a.result.RecvErr = io.EOF
		default:
			a.result.Got = n
		}
		return true
	}
}
