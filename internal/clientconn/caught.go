package clientconn

import (
	"errors"
	"fmt"
	"net"
	"runtime/debug"

	"github.com/valyala/fasthttp/internal/netio"
)

// A connection of the application may panic. On the goroutine of a call the panic reaches the
// application, but nothing else would recover it on a goroutine of the client.

// ErrPanic is the error of a connection that has panicked.
var ErrPanic = errors.New("fasthttp: panic of a connection")

// catchPanic is deferred: it turns a panic into an error.
func catchPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v\n%s", ErrPanic, p, debug.Stack())
	}
}

// ReadCaught is Read for goroutines of the client: a panic becomes an error.
func (c *Conn) ReadCaught(p []byte) (n int, err error) {
	defer catchPanic(&err)
	return c.Read(p)
}

// FillCaught is Fill for goroutines of the client.
func (c *Conn) FillCaught() (err error) {
	defer catchPanic(&err)
	return c.Fill()
}

// WriteCaught is Write for goroutines of the client: a panic becomes an error. All of p counts as
// written then, since some of it may have been.
func (c *Conn) WriteCaught(p []byte) (n int, err error) {
	n = len(p)
	defer catchPanic(&err)
	return c.Write(p)
}

// readCaught returns the part of p that it has read. A number of bytes that p cannot have is a panic, too.
func readCaught(conn net.Conn, p []byte) (received []byte, err error) {
	defer catchPanic(&err)
	n, err := netio.Some(conn, p)
	return p[:n], err
}

func writeCaught(conn net.Conn, p []byte) (n int, err error) {
	defer catchPanic(&err)
	return conn.Write(p)
}

// CloseNet closes Net, which others may be using.
func (c *Conn) CloseNet() (err error) {
	// nothing depends on the result of a Close, so a panic in it matters no more than an error
	defer catchPanic(&err)
	return c.Net.Close()
}
