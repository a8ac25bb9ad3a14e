package clientconn

import (
	"syscall"

	"github.com/valyala/fasthttp/internal/rawsys"
)

const canPost = true

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
