// Package neterr gives errors of connections the types that package net gives them:
// programs look for a *net.OpError, and for whether it is a timeout.
package neterr

import (
	"io"
	"net"
	"os"
	"syscall"
)

// Conn is what an error tells of a connection.
type Conn interface {
	// LocalAddr is that of net.Conn.
	LocalAddr() net.Addr
	// RemoteAddr is that of net.Conn.
	RemoteAddr() net.Addr
}

// Op returns err, which op on c has led to, as package net would report it: io.EOF as
// it is, and all else as a *net.OpError. op is "read", "write" and the like.
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
