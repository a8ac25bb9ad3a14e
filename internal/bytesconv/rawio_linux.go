//go:build linux && !race

package bytesconv

import (
	"syscall"
	"unsafe"
)

// What follows are system calls on nonblocking descriptors. They return at once,
// so that the scheduler need not be told of them, which costs more than some of
// them do, and has it take the processor away from who was only interrupted.
//
// The rule is that of syscall.RawSyscall: the pointer becomes an integer in the
// call itself, which keeps what it points to alive and where it is.

// RawRead is read(2).
func RawRead(fd int, p []byte) (n int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(r), errno
}

// RawWrite is write(2).
func RawWrite(fd int, p []byte) (n int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(r), errno
}

// RawPoll is epoll_wait(2) that does not wait.
func RawPoll(fd int, events []syscall.EpollEvent) (n int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	return int(r), errno
}
