package fasthttp

import (
	"net"
	"os"
	"syscall"

	"github.com/valyala/fasthttp/internal/netloop"
)

// fileSender returns what sends a part of a file over a connection without
// copying it through the process, or nil where there is no such way.
func fileSender(nc net.Conn) func(file *os.File, offset, length int64) (int64, error) {
	switch c := nc.(type) {
	case *eventConn:
		return c.sendFile
	case *net.TCPConn:
		return rawSender(c)
	case *net.UnixConn:
		return rawSender(c)
	}
	return nil
}

func (c *eventConn) sendFile(file *os.File, offset, length int64) (int64, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	return c.detach().SendFile(raw, offset, length)
}

func rawSender(nc syscall.Conn) func(file *os.File, offset, length int64) (int64, error) {
	return func(file *os.File, offset, length int64) (sent int64, err error) {
		from, err := file.SyscallConn()
		if err != nil {
			return 0, err
		}
		to, err := nc.SyscallConn()
		if err != nil {
			return 0, err
		}
		var failed error
		err = to.Write(func(fd uintptr) (done bool) {
			for sent < length && failed == nil {
				var n int64
				n, failed = netloop.SendFile(int(fd), from, &offset, length-sent)
				sent += n
				if failed == netloop.ErrAgain {
					failed = nil
					return false
				}
			}
			return true
		})
		if failed != nil {
			err = failed
		}
		return sent, err
	}
}
