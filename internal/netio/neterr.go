package netio

import (
	"io"
	"net"
	"os"
	"syscall"
)

// Conn is the part of a net.Conn that an error describes.
type Conn interface {
	// LocalAddr is as in net.Conn.
	LocalAddr() net.Addr
	// RemoteAddr is as in net.Conn.
	RemoteAddr() net.Addr
}

// Op returns err, the error of the operation op on c, as package net would return
// it: io.EOF unchanged, and all others as a *net.OpError. op is "read", "write" or
// the like.
func Op(c Conn, op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if _, ok := err.(*net.OpError); ok {
		return err
	}
	if errno, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, errno)
	}
	told := &net.OpError{Op: op, Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
	if told.Addr != nil {
		told.Net = told.Addr.Network()
	}
	return told
}
