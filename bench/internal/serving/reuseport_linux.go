package serving

import (
	"errors"
	"syscall"
)

// soReusePort is SO_REUSEPORT, which package syscall does not have for every architecture.
// mips, parisc and sparc have another number; servers are not measured on them.
const soReusePort = 15

var reusePort = func(_, _ string, conn syscall.RawConn) error {
	var set error
	err := conn.Control(func(fd uintptr) {
		set = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, soReusePort, 1)
	})
	return errors.Join(err, set)
}
