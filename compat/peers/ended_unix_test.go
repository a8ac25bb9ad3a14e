//go:build unix

package peers

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp/compat/internal/process"
)

// awaitEnd waits until the end of a connection has arrived, or the connection is closed. It reads
// nothing.
func awaitEnd(t *testing.T, nc net.Conn) {
	t.Helper()
	raw, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	process.Await(t, "the end of a connection", func() (err error) {
		closed := raw.Control(func(fd uintptr) {
			var n int
			n, _, err = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			switch {
			case n > 0:
				err = errors.New("there are bytes before the end")
			case err != syscall.EAGAIN && err != syscall.EINTR:
				err = nil
			}
		})
		if closed != nil {
			return nil
		}
		return err
	})
}
