package servertest

import (
	"errors"
	"net"
	"time"
)

// TimelessConn is a connection of the application that has no deadlines, as a channel of SSH.
type TimelessConn struct{ net.Conn }

// ErrTimeless is the error of the methods for deadlines.
var ErrTimeless = errors.New("there are no deadlines")

// SetDeadline implements net.Conn.
func (TimelessConn) SetDeadline(time.Time) error { return ErrTimeless }

// SetReadDeadline implements net.Conn.
func (TimelessConn) SetReadDeadline(time.Time) error { return ErrTimeless }

// SetWriteDeadline implements net.Conn.
func (TimelessConn) SetWriteDeadline(time.Time) error { return ErrTimeless }
