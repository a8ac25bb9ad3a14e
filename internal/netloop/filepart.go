//go:build linux

package netloop

import (
	"io"
	"os"
	"syscall"
)

// sendAtOnce limits the bytes of a file in one system call. The scheduler knows of the
// call, which may wait for a disk, and takes the processor away if it lasts for more than
// some 20 µs.
const sendAtOnce = 256 << 10

// sendBatch is how many bytes of a file a connection sends before the other connections of
// the loop are served.
const sendBatch = 4 << 20

// FilePart is a part of a file to send to a socket after a head. The system copies the
// bytes. The file's own offset does not change.
type FilePart struct {
	Head   []byte          // the unsent bytes before the part
	File   syscall.RawConn // the file
	Offset int64           // the position in the file of the next byte to send
	Length int64           // how many bytes of the file are unsent
}

// Done reports whether everything was sent.
func (f *FilePart) Done() bool { return len(f.Head) == 0 && f.Length == 0 }

// Send makes one attempt to send the head, or else a piece of the file, to the
// socket with the descriptor fd. The error is ErrAgain if there is no room, and
// io.ErrUnexpectedEOF if the file ends before the part does.
func (f *FilePart) Send(fd int) (err error) {
	if len(f.Head) > 0 {
		// MSG_MORE: the system waits for the bytes of the file
		n, err := syscall.SendmsgN(fd, f.Head, nil, nil, syscall.MSG_MORE|syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
		f.Head = f.Head[max(n, 0):]
		return sendError("sendmsg", err)
	}
	outer := f.File.Control(func(from uintptr) { err = f.sendFrom(int(from), fd) })
	if outer != nil {
		return outer
	}
	return err
}

func (f *FilePart) sendFrom(from, to int) error {
	size := int(min(f.Length, sendAtOnce))
	n, err := sendfile(to, from, &f.Offset, size)
	switch {
	case err == syscall.EINVAL || err == syscall.ENOSYS:
		// not every file system supports sendfile in every version of Linux
		return f.copyFrom(from, to)
	case err == nil && n == 0:
		return io.ErrUnexpectedEOF
	}
	f.Length -= int64(max(n, 0))
	return sendError("sendfile", err)
}

// sendfile is the system call. Tests replace it by a function that fails.
var sendfile = syscall.Sendfile

// copyAtOnce is how many bytes copyFrom copies at once.
const copyAtOnce = 64 << 10

// copyFrom is sendFrom without sendfile: it copies through a buffer.
func (f *FilePart) copyFrom(from, to int) error {
	buf := make([]byte, min(f.Length, copyAtOnce))
	n, err := syscall.Pread(from, buf, f.Offset)
	switch {
	case err == syscall.EINTR:
		return nil
	case err != nil:
		return os.NewSyscallError("pread", err)
	case n == 0:
		return io.ErrUnexpectedEOF
	}
	sent, err := syscall.SendmsgN(to, buf[:n], nil, nil, syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
	f.Offset += int64(max(sent, 0))
	f.Length -= int64(max(sent, 0))
	return sendError("sendmsg", err)
}

// sendError returns the error for err, a result of the system call named call. It
// returns nil for an interruption: the caller tries again.
func sendError(call string, err error) error {
	switch err {
	case nil, syscall.EINTR:
		return nil
	case syscall.EAGAIN:
		return ErrAgain
	}
	return os.NewSyscallError(call, err)
}

// SendFile sends as much of f as there is room for, but not much more than sendBatch bytes.
// If more is left, it returns ErrAgain, and the loop calls Serve: when there is room
// again, or after the other connections that are ready.
func (c *Conn) SendFile(f *FilePart) error {
	for stop := f.Length - sendBatch; !f.Done(); {
		switch err := f.Send(int(c.fd)); {
		case err == ErrAgain:
			c.awaitRoom()
			return err
		case err != nil:
			return err
		case f.Length > 0 && f.Length <= stop:
			// there may be room, of which the system would not tell again
			c.set(flagOutput)
			c.registerOutput()
			return ErrAgain
		}
	}
	c.unset(flagOutput)
	return nil
}
