//go:build linux

package netloop

import (
	"io"
	"os"
	"syscall"
)

// sendAtOnce is how much of a file is sent by one system call. The scheduler
// knows of the call, which may wait for a disk, and takes the processor away if
// it lasts for more than some 20 µs.
const sendAtOnce = 256 << 10

// sendTurn is how much of a file is sent before the other connections of a loop
// get their turn.
const sendTurn = 4 << 20

// FilePart is a part of a file on its way to a socket, behind a head that goes
// with it. The system does the copying, and the file's own position stays where
// it is.
type FilePart struct {
	Head   []byte          // what goes before it, as far as it was not sent
	File   syscall.RawConn // where it is from
	Offset int64           // where in the file it begins
	Length int64           // what is left to be sent
}

// Done reports whether all was sent.
func (f *FilePart) Done() bool { return len(f.Head) == 0 && f.Length == 0 }

// Send makes one attempt to send the head, or else a piece of the file, to the
// socket with the descriptor fd, and reports whether there was room for all of it.
// The error is ErrAgain where there is no room, and io.ErrUnexpectedEOF where the
// file ends before the part does.
func (f *FilePart) Send(fd int) (whole bool, err error) {
	if len(f.Head) > 0 {
		// the system waits for what comes behind it
		n, err := syscall.SendmsgN(fd, f.Head, nil, nil, syscall.MSG_MORE|syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
		f.Head = f.Head[max(n, 0):]
		return len(f.Head) == 0, sendError("sendmsg", err)
	}
	outer := f.File.Control(func(from uintptr) { whole, err = f.sendFrom(int(from), fd) })
	if outer != nil {
		return false, outer
	}
	return whole, err
}

func (f *FilePart) sendFrom(from, to int) (whole bool, err error) {
	size := int(min(f.Length, sendAtOnce))
	n, err := sendfile(to, from, &f.Offset, size)
	switch {
	case err == syscall.EINVAL || err == syscall.ENOSYS:
		// not every file system can do it in every version of Linux
		return f.copyFrom(from, to)
	case err == nil && n == 0:
		return false, io.ErrUnexpectedEOF
	}
	f.Length -= int64(max(n, 0))
	return n == size, sendError("sendfile", err)
}

// sendfile is the system call. A test has one that fails.
var sendfile = syscall.Sendfile

// copyAtOnce is how much is copied through the process at a time.
const copyAtOnce = 64 << 10

// copyFrom is sendFrom by way of a buffer.
func (f *FilePart) copyFrom(from, to int) (whole bool, err error) {
	buf := make([]byte, min(f.Length, copyAtOnce))
	n, err := syscall.Pread(from, buf, f.Offset)
	switch {
	case err == syscall.EINTR:
		return false, nil
	case err != nil:
		return false, os.NewSyscallError("pread", err)
	case n == 0:
		return false, io.ErrUnexpectedEOF
	}
	sent, err := syscall.SendmsgN(to, buf[:n], nil, nil, syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
	f.Offset += int64(max(sent, 0))
	f.Length -= int64(max(sent, 0))
	return sent == n, sendError("sendmsg", err)
}

// sendError makes nothing of an interruption, after which one tries again.
func sendError(call string, err error) error {
	switch err {
	case nil, syscall.EINTR:
		return nil
	case syscall.EAGAIN:
		return ErrAgain
	}
	return os.NewSyscallError(call, err)
}

// SendFile sends as much of f as there is room for, but not too much in one go.
// It returns ErrAgain where that is not all, and Serve is called then: when there
// is room again, or behind the other connections that are ready.
func (c *Conn) SendFile(f *FilePart) error {
	for stop := f.Length - sendTurn; !f.Done(); {
		whole, err := f.Send(int(c.fd))
		if err != nil && err != ErrAgain {
			return err
		}
		if !whole || f.Length > 0 && f.Length <= stop {
			c.Again()
			return ErrAgain
		}
	}
	c.unset(flagOutput)
	return nil
}
