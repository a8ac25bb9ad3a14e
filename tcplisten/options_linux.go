package tcplisten

import "golang.org/x/sys/unix"

const (
	// deferSeconds is for how long the system waits for the first bytes of a
	// client. After that the connection can be accepted without them.
	deferSeconds = 1
	// fastOpenQueue is how many half-open connections may have data in their first
	// packet. Further ones fall back to the ordinary handshake.
	fastOpenQueue = 1024
)

func setReusePort(fd uintptr) error {
	return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
}

func setDeferAccept(fd uintptr) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, deferSeconds)
}

func setFastOpen(fd uintptr) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_FASTOPEN, fastOpenQueue)
}

// setBacklog calls listen again, which only changes the length of the queue.
func setBacklog(fd uintptr, n int) error { return unix.Listen(int(fd), n) }
