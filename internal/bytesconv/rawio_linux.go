//go:build linux && !race && (amd64 || arm64)

package bytesconv

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What follows are system calls on nonblocking sockets and epoll sets. They return
// at once, so that the scheduler need not be told of them, which costs more than
// some of them do, and has it take the processor away from who was only
// interrupted.
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

// RawSendfile is sendfile(2) to a nonblocking socket. It is only for parts of a
// file that are in memory: the scheduler does not know of it while it waits for
// a disk.
func RawSendfile(to, from int, offset *int64, count int) (n int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(syscall.SYS_SENDFILE, uintptr(to), uintptr(from), uintptr(unsafe.Pointer(offset)), uintptr(count), 0, 0)
	return int(r), errno
}

// IsInMemory tells whether the byte of a file at an offset can be read without
// waiting for a disk. It is false where the file system cannot tell.
func IsInMemory(fd int, offset int64) bool {
	var b [1]byte
	vector := syscall.Iovec{Base: &b[0], Len: 1}
	// the offset is in two halves, of which the first has all of it here
	n, _, errno := syscall.RawSyscall6(unix.SYS_PREADV2, uintptr(fd), uintptr(unsafe.Pointer(&vector)), 1, uintptr(offset), 0, unix.RWF_NOWAIT)
	return n == 1 && errno == 0
}

// RawControl is epoll_ctl(2).
func RawControl(set, op, fd int, ev *syscall.EpollEvent) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_CTL, uintptr(set), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(ev)), 0, 0)
	return errno
}

// RawClose is close(2), of a socket that does not linger.
func RawClose(fd int) syscall.Errno {
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(fd), 0, 0)
	return errno
}
