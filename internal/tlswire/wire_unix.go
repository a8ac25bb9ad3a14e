//go:build unix

package tlswire

import (
	"io"
	"net"
	"os"
	"syscall"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// rawOf returns a RawConn for reading from the descriptor of socket, if socket is a socket
// of package net, and not a wrapper around one: reading the descriptor would bypass the
// Read of a wrapper.
func rawOf(socket net.Conn) syscall.RawConn {
	var raw syscall.RawConn
	var err error
	switch c := socket.(type) {
	case *net.TCPConn:
		raw, err = c.SyscallConn()
	case *net.UnixConn:
		raw, err = c.SyscallConn()
	}
	if err != nil {
		return nil
	}
	return raw
}

// fillRaw is like fill, for a socket. It holds a buffer only during system calls, not
// while the goroutine waits.
func (w *wire) fillRaw(raw syscall.RawConn) error {
	if err := raw.Read(w.read); err != nil {
		return err
	}
	err := w.readErr
	w.readErr = nil
	return err
}

// readFD reads ahead from the descriptor. It returns false if there is no data yet.
func (w *wire) readFD(fd uintptr) bool {
	b := bufpool.Get(w.aheadSize())
	n, err := syscall.Read(int(fd), b.B[:cap(b.B)])
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), b.B[:cap(b.B)])
	}
	if err == syscall.EAGAIN {
		bufpool.Put(b)
		return false
	}
	if err != nil {
		err = &net.OpError{
			Op: "read", Net: w.LocalAddr().Network(), Source: w.LocalAddr(), Addr: w.RemoteAddr(),
			Err: os.NewSyscallError("read", err),
		}
	} else if n == 0 {
		err = io.EOF
	}
	w.readErr = w.filled(b, n, err)
	return true
}
