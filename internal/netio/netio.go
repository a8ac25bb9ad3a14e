// Package netio has what every user of a connection needs: reading the first bytes that
// arrive (Some), deadlines for connections that have none (WithDeadlines), panics of connections
// (CatchPanic), errors of package net for connections that are not its own (Conn, Op), and which
// errors are timeouts (IsTimeout).
package netio

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// ErrClosed is the error of Read from a closed stream of content.
var ErrClosed = errors.New("fasthttp: read from a body stream that was closed")

// maxEmpty is how often in a row a reader may return neither bytes nor an error.
const maxEmpty = 100

// Some reads at least one byte into p, which must not be empty, or returns an error:
// the error of r, or io.ErrNoProgress if r keeps returning neither bytes nor an
// error. As with any io.Reader, bytes and an error may be returned together.
func Some(r io.Reader, p []byte) (n int, err error) {
	if n, err = r.Read(p); n > 0 || err != nil {
		return n, err
	}
	return Again(r, p)
}

// Again is Some for a reader that has returned neither bytes nor an error.
func Again(r io.Reader, p []byte) (n int, err error) {
	for range maxEmpty - 1 {
		if n, err = r.Read(p); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

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

// IsTimeout reports whether err, or an error that it wraps, is a timeout.
func IsTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}
