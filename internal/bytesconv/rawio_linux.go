//go:build linux && !race && (amd64 || arm64)

package bytesconv

import (
	"syscall"
	"unsafe"
)

// What follows are system calls on nonblocking sockets and epoll sets. They return at once,
// so that the scheduler need not be told of them, which costs more than some of
// them do, and has it take the processor away from who was only interrupted.
//
// The rule is that of syscall.RawSyscall: the pointer becomes an integer in the
// call itself, which keeps what it points to alive and where it is.

// RawRead is recv(2), which costs two or three in a hundred instructions less than
// read(2).
func RawRead(fd int, p []byte) (n int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)
	return int(r), errno
}

// RawWrite is send(2), for the same reason.
func RawWrite(fd int, p []byte) (n int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), syscall.MSG_NOSIGNAL, 0, 0)
	return int(r), errno
}

// RawPoll is epoll_wait(2) that does not wait.
func RawPoll(fd int, events []syscall.EpollEvent) (n int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	return int(r), errno
}
