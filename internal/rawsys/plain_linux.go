//go:build linux && (race || !(amd64 || arm64))

package rawsys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// For the race detector a write to a descriptor happens before a read from one, but
// it knows only syscall.Read and syscall.Write. So each function here also calls
// one of these with no bytes, which has no other effect.

// Recv is recv(2) with MSG_DONTWAIT.
func Recv(fd int, p []byte) (n int, errno syscall.Errno) {
	n, _, err := unix.Recvfrom(fd, p, unix.MSG_DONTWAIT)
	_, _ = syscall.Read(fd, nil)
	errno, _ = err.(syscall.Errno)
	return n, errno
}

// Peek is recv(2) with MSG_DONTWAIT and MSG_PEEK: the bytes can be read again.
func Peek(fd int, p []byte) (n int, errno syscall.Errno) {
	n, _, err := unix.Recvfrom(fd, p, unix.MSG_DONTWAIT|unix.MSG_PEEK)
	errno, _ = err.(syscall.Errno)
	return n, errno
}

// Send is send(2) with MSG_DONTWAIT and MSG_NOSIGNAL.
func Send(fd int, p []byte) (n int, errno syscall.Errno) {
	_, _ = syscall.Write(fd, nil)
	n, err := unix.SendmsgN(fd, p, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	errno, _ = err.(syscall.Errno)
	return n, errno
}

// SendBoth sends two parts with one call, so that one packet can hold both.
// Neither may be empty.
func SendBoth(fd int, head, body []byte) (n int, errno syscall.Errno) {
	_, _ = syscall.Write(fd, nil)
	n, err := unix.SendmsgBuffers(fd, [][]byte{head, body}, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	errno, _ = err.(syscall.Errno)
	return n, errno
}

// Poll is epoll_wait(2) with a time limit of zero.
func Poll(set int, events []syscall.EpollEvent) (n int, errno syscall.Errno) {
	n, err := syscall.EpollWait(set, events, 0)
	errno, _ = err.(syscall.Errno)
	return n, errno
}

// Ready is poll(2) with a time limit of zero. With POLLIN it reports whether a read of the
// descriptor would not wait, be it for bytes, an end or an error; with POLLRDHUP, whether the
// peer has ended its data, whether or not bytes arrived before the end, and were read.
func Ready(fd int, events int16) (ready bool, errno syscall.Errno) {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}}, 0)
	errno, _ = err.(syscall.Errno)
	return n == 1, errno
}

// Accept is accept4(2). It is the exception: it may wait, and the scheduler knows about it.
func Accept(fd int) (n int, from Address, errno syscall.Errno) {
	n, sa, err := unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	errno, _ = err.(syscall.Errno)
	return n, AddressIn(sa), errno
}

// Control is epoll_ctl(2).
func Control(set, op, fd int, ev *syscall.EpollEvent) syscall.Errno {
	errno, _ := syscall.EpollCtl(set, op, fd, ev).(syscall.Errno)
	return errno
}

// CloseSocket is close(2).
func CloseSocket(fd int) syscall.Errno {
	errno, _ := syscall.Close(fd).(syscall.Errno)
	return errno
}

// SetNonblock is fcntl(2): it sets O_NONBLOCK unless it is set.
func SetNonblock(fd int) syscall.Errno {
	flags, err := unix.FcntlInt(uintptr(fd), syscall.F_GETFL, 0)
	if err == nil && flags&syscall.O_NONBLOCK == 0 {
		_, err = unix.FcntlInt(uintptr(fd), syscall.F_SETFL, flags|syscall.O_NONBLOCK)
	}
	errno, _ := err.(syscall.Errno)
	return errno
}

// Signal makes the descriptor ready.
func (e Event) Signal() { _, _ = syscall.Write(e.fd, one) }
