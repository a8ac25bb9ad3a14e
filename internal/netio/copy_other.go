//go:build !unix

package netio

import (
	"errors"
	"os"
	"syscall"
)

// CopySocket returns a copy of the socket of a listener, for new processes to inherit.
func CopySocket(ln syscall.Conn) (*os.File, error) {
	if l, ok := ln.(interface{ File() (*os.File, error) }); ok {
		return l.File()
	}
	return nil, errors.ErrUnsupported
}
