package clientconn

import "github.com/valyala/fasthttp/internal/netio"

// ErrPanic is the error of a connection that has panicked.
var ErrPanic = netio.ErrPanic

// ReadCaught is Read for goroutines of the client: a panic becomes an error.
func (c *Conn) ReadCaught(p []byte) (n int, err error) {
	defer netio.CatchPanic(&err)
	return c.Read(p)
}

// FillCaught is Fill for goroutines of the client.
func (c *Conn) FillCaught() (err error) {
	defer netio.CatchPanic(&err)
	return c.Fill()
}

// WriteCaught is Write for goroutines of the client: a panic becomes an error. All of p counts as
// written then, since some of it may have been.
func (c *Conn) WriteCaught(p []byte) (n int, err error) {
	n = len(p)
	defer netio.CatchPanic(&err)
	return c.Write(p)
}

// CloseNet closes Net, which others may be using. Nothing depends on the result of a Close, so a
// panic in it matters no more than an error.
func (c *Conn) CloseNet() error { return netio.CloseCaught(c.Net) }
