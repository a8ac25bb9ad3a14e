package servertest

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// AwaitArrival waits until all bytes that were written to a connection have arrived at the
// system of the peer, even if its program does not read: a busy machine moves them later than
// the write. It does nothing for a connection in memory.
func AwaitArrival(t testing.TB, nc net.Conn) {
	t.Helper()
	if over, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = over.NetConn()
	}
	socket, ok := nc.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := socket.SyscallConn()
	Must(t, err)
	Eventually(t, "the arrival of all bytes", func() bool {
		left, err := 0, error(nil)
		Must(t, raw.Control(func(fd uintptr) { left, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }))
		Must(t, err)
		return left == 0
	})
}
