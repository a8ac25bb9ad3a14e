package fasthttputil

import (
	"net"
	"os"
)

// ErrConnectionClosed is returned by Write after either end of the connection was
// closed, by this side or by the peer. errors.Is matches it with net.ErrClosed.
var ErrConnectionClosed error = &closedError{"fasthttputil: connection closed"}

// ErrInmemoryListenerClosed is returned by the Accept, Dial, DialWithLocalAddr and
// repeated Close calls of an InmemoryListener that has been closed. errors.Is
// matches it with net.ErrClosed.
var ErrInmemoryListenerClosed error = &closedError{"fasthttputil: inmemorylistener is already closed: use of closed network connection"}

// ErrTimeout is returned by Read and Write when the deadline of the connection has
// passed. It is a net.Error that reports a timeout, and errors.Is matches it with
// os.ErrDeadlineExceeded.
var ErrTimeout = &timeoutError{}

// closedError has a fixed text that callers know, and matches net.ErrClosed, by which servers
// distinguish a shutdown from a failure.
type closedError struct {
	text string
}

func (e *closedError) Error() string { return e.text }

func (e *closedError) Is(target error) bool { return target == net.ErrClosed }

type timeoutError struct{}

var _ net.Error = ErrTimeout

func (e *timeoutError) Error() string { return "fasthttputil: timeout" }

// Timeout is always true.
func (e *timeoutError) Timeout() bool { return true }

// Temporary is always true, as for the deadline errors of package net: the connection works
// again after the deadline has been moved.
func (e *timeoutError) Temporary() bool { return true }

func (e *timeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }
