package netio

import (
	"errors"
	"fmt"
	"net"
	"runtime/debug"
)

// ErrPanic is the error of a connection that has panicked.
var ErrPanic = errors.New("fasthttp: panic of a connection")

// CatchPanic is deferred: it turns a panic into an error. A connection of the application may
// panic. On the goroutine of a call the panic reaches the application, but nothing else would
// recover it on a goroutine of this module.
func CatchPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v\n%s", ErrPanic, p, debug.Stack())
	}
}

// WriteCaught is conn.Write: a panic becomes an error. All of p counts as written then, since some of
// it may have been.
func WriteCaught(conn net.Conn, p []byte) (n int, err error) {
	n = len(p)
	defer CatchPanic(&err)
	return conn.Write(p)
}

// CloseCaught is conn.Close: a panic becomes an error.
func CloseCaught(conn net.Conn) (err error) {
	defer CatchPanic(&err)
	return conn.Close()
}
