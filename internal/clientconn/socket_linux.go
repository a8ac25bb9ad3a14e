package clientconn

import (
	"io"
	"syscall"

	"github.com/valyala/fasthttp/internal/rawsys"
	"golang.org/x/sys/unix"
)

const (
	canPeek     = true
	hasRawCalls = true // for roundTripper and asyncWriter
)

// The calls of rawsys cannot wait, so the scheduler need not know about them: notifying it
// would double the cost.

func ready(fd uintptr) (bool, syscall.Errno) { return rawsys.Ready(int(fd), unix.POLLIN) }

func peekInto(fd uintptr, p []byte) (n int, errno syscall.Errno) { return rawsys.Peek(int(fd), p) }

func hungUp(fd uintptr) bool {
	ended, errno := rawsys.Ready(int(fd), unix.POLLRDHUP)
	return errno == 0 && ended
}

// doStep is a step of a round trip, and reports whether it was the last one. The first step
// sends, and the later ones receive.
//
// RawConn.Read clears the readiness of the connection before the first step. So peek
// finds earlier bytes, and later bytes end the wait.
func (a *roundTripper) doStep(fd uintptr) bool {
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

func (a *roundTripper) receive(fd int) bool {
	if len(a.recvBuf) == 0 {
		ready, _ := rawsys.Ready(fd, unix.POLLIN)
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

// write sends as much as it can, and reports that it need not be called again.
func (p *asyncWriter) write(fd uintptr) bool {
	n, errno := rawsys.Send(int(fd), p.b)
	switch errno {
	case 0:
		p.sent = n
	case syscall.EAGAIN, syscall.EINTR:
	default:
		p.errno = errno
	}
	return true
}
