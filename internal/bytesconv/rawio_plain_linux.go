//go:build linux && (race || !(amd64 || arm64))

package bytesconv

import "syscall"

// The race detector takes what is written to a descriptor and read from one for
// a way to pass things on, which only the functions of package syscall tell it.

// RawRead is read(2).
func RawRead(fd int, p []byte) (n int, errno syscall.Errno) {
	n, err := syscall.Read(fd, p)
	errno, _ = err.(syscall.Errno)
	return n, errno
}

// RawWrite is write(2).
func RawWrite(fd int, p []byte) (n int, errno syscall.Errno) {
	n, err := syscall.Write(fd, p)
	errno, _ = err.(syscall.Errno)
	return n, errno
}

// RawPoll is epoll_wait(2) that does not wait.
func RawPoll(fd int, events []syscall.EpollEvent) (n int, errno syscall.Errno) {
	n, err := syscall.EpollWait(fd, events, 0)
	errno, _ = err.(syscall.Errno)
	return n, errno
}

// RawSendfile is sendfile(2).
func RawSendfile(to, from int, offset *int64, count int) (n int, errno syscall.Errno) {
	n, err := syscall.Sendfile(to, from, offset, count)
	errno, _ = err.(syscall.Errno)
	return n, errno
}

// IsInMemory has no use where the scheduler knows of every call.
func IsInMemory(int, int64) bool { return true }

// RawControl is epoll_ctl(2).
func RawControl(set, op, fd int, ev *syscall.EpollEvent) syscall.Errno {
	errno, _ := syscall.EpollCtl(set, op, fd, ev).(syscall.Errno)
	return errno
}

// RawClose is close(2).
func RawClose(fd int) syscall.Errno {
	errno, _ := syscall.Close(fd).(syscall.Errno)
	return errno
}
