package prefork

import (
	"errors"
	"fmt"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
	"golang.org/x/sys/unix"
)

// reserve returns an address with a port that the system gives to no other socket until the test ends.
// A socket has it that does not listen: a master, or its children, may listen beside it.
func reserve(t *testing.T) (addr string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	servertest.Must(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	servertest.Must(t, errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1),
		unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}),
	))
	own, err := unix.Getsockname(fd)
	servertest.Must(t, err)
	return fmt.Sprint("127.0.0.1:", own.(*unix.SockaddrInet4).Port)
}
