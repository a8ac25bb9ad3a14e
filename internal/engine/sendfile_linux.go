package engine

import (
	"net"
	"os"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/netloop"
)

// FileSender returns a function that sends a head and a part of a file over a connection
// without copying the file through the process. It is nil if nc does not allow that. The
// function returns how many bytes of the file were sent.
func FileSender(nc net.Conn) func(head []byte, file *os.File, offset, length int64) (int64, error) {
	var send func(f *netloop.FilePart) error
	switch c := Unproxied(nc).(type) {
	case *eventConn:
		send = func(f *netloop.FilePart) error { return c.detach(time.Time{}, time.Time{}).SendFile(f) }
	case *net.TCPConn:
		send = rawSender(c)
	case *net.UnixConn:
		send = rawSender(c)
	default:
		return nil
	}
	return func(head []byte, file *os.File, offset, length int64) (int64, error) {
		raw, err := file.SyscallConn()
		if err != nil {
			return 0, err
		}
		f := &netloop.FilePart{Head: head, File: raw, Offset: offset, Length: length}
		err = send(f)
		return length - f.Length, err
	}
}

func rawSender(nc syscall.Conn) func(f *netloop.FilePart) error {
	return func(f *netloop.FilePart) error {
		raw, err := nc.SyscallConn()
		if err != nil {
			return err
		}
		var failed error
		err = raw.Write(func(fd uintptr) (done bool) {
			for failed == nil && !f.Done() {
				failed = f.Send(int(fd))
				if failed == netloop.ErrAgain {
					failed = nil
					return false
				}
			}
			return true
		})
		if failed != nil {
			return failed
		}
		return err
	}
}
