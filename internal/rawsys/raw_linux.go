//go:build linux && !race && (amd64 || arm64)

package rawsys

import (
	"encoding/binary"
	"syscall"
	"unsafe"
)

// The use of unsafe follows the rule for syscall.RawSyscall: the conversion of a pointer to
// an integer is in the argument list of the call. That keeps the memory alive and in its
// place until the call returns.

// Recv is recv(2) with MSG_DONTWAIT.
func Recv(fd int, p []byte) (n int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), syscall.MSG_DONTWAIT, 0, 0)
	return int(r), errno
}

// Peek is recv(2) with MSG_DONTWAIT and MSG_PEEK: the bytes can be read again.
func Peek(fd int, p []byte) (n int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), syscall.MSG_DONTWAIT|syscall.MSG_PEEK, 0, 0)
	return int(r), errno
}

// Send is send(2) with MSG_DONTWAIT and MSG_NOSIGNAL.
func Send(fd int, p []byte) (n int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL, 0, 0)
	return int(r), errno
}

// SendBoth sends two parts with one call, so that one packet can hold both.
// Neither may be empty.
func SendBoth(fd int, head, body []byte) (n int, errno syscall.Errno) {
	var parts [2]syscall.Iovec
	parts[0].Base, parts[1].Base = unsafe.SliceData(head), unsafe.SliceData(body)
	parts[0].SetLen(len(head))
	parts[1].SetLen(len(body))
	message := syscall.Msghdr{Iov: &parts[0], Iovlen: uint64(len(parts))}
	r, _, errno := syscall.RawSyscall(syscall.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
	return int(r), errno
}

// Poll is epoll_wait(2) with a time limit of zero.
func Poll(set int, events []syscall.EpollEvent) (n int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(set), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	return int(r), errno
}

// Accept is accept4(2). It is the exception: it may wait, and the scheduler knows about it.
func Accept(fd int) (n int, from Address, errno syscall.Errno) {
	var sa syscall.RawSockaddrInet6 // an address of IPv4 is shorter
	size := uint32(unsafe.Sizeof(sa))
	r, _, errno := syscall.Syscall6(syscall.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size)), syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, from, errno
	}
	switch sa.Family {
	case syscall.AF_INET:
		// its four bytes are at the offset of the IPv6 flow information
		binary.NativeEndian.PutUint32(from.IP[:], sa.Flowinfo)
		from.Size = 4
	case syscall.AF_INET6:
		from.IP, from.Zone, from.Size = sa.Addr, sa.Scope_id, uint8(len(sa.Addr))
	default:
		return int(r), from, 0
	}
	from.Port = binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, sa.Port))
	return int(r), from, 0
}

// Ready is poll(2) with a time limit of zero. With POLLIN it reports whether a read of the
// descriptor would not wait, be it for bytes, an end or an error; with POLLRDHUP, whether the
// peer has ended its data, whether or not bytes arrived before the end, and were read.
func Ready(fd int, events int16) (ready bool, errno syscall.Errno) {
	watched := pollFd{fd: int32(fd), events: events}
	var limit syscall.Timespec
	n, _, errno := syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&watched)), 1, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	return n == 1, errno
}

// pollFd is struct pollfd.
type pollFd struct {
	fd              int32
	events, revents int16
}

// Control is epoll_ctl(2).
func Control(set, op, fd int, ev *syscall.EpollEvent) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_CTL, uintptr(set), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(ev)), 0, 0)
	return errno
}

// CloseSocket is close(2). Closing a socket waits if SO_LINGER is set that way, even with
// O_NONBLOCK, and sockets inherit the option from their listener. So CloseSocket closes such
// a socket, and a descriptor that is not a socket, by a call that the scheduler knows about.
func CloseSocket(fd int) syscall.Errno {
	var linger syscall.Linger
	size := uint32(unsafe.Sizeof(linger))
	_, _, errno := syscall.RawSyscall6(syscall.SYS_GETSOCKOPT, uintptr(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, uintptr(unsafe.Pointer(&linger)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 || linger.Onoff != 0 && linger.Linger != 0 {
		errno, _ = syscall.Close(fd).(syscall.Errno)
		return errno
	}
	_, _, errno = syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(fd), 0, 0)
	return errno
}

// SetNonblock is fcntl(2): it sets O_NONBLOCK unless it is set.
func SetNonblock(fd int) syscall.Errno {
	flags, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	if errno == 0 && flags&syscall.O_NONBLOCK == 0 {
		_, _, errno = syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFL, flags|syscall.O_NONBLOCK)
	}
	return errno
}

// Signal makes the descriptor ready.
func (e Event) Signal() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, uintptr(e.fd), uintptr(unsafe.Pointer(&one[0])), uintptr(len(one)))
}
