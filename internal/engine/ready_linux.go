package engine

import (
	"syscall"

	"github.com/valyala/fasthttp/internal/rawsys"
	"golang.org/x/sys/unix"
)

// isReady reports whether a socket has something for a Read or an Accept, whatever its
// deadline. It returns false if c does not lead to its socket.
func isReady(c any) (ready bool) {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	// Control does not wait for anything, and heeds no deadline
	err = raw.Control(func(fd uintptr) {
		is, errno := rawsys.Ready(int(fd), unix.POLLIN)
		ready = is && errno == 0
	})
	return ready && err == nil
}
