//go:build !unix

package tlswire

import (
	"net"
	"syscall"
)

// rawOf returns nil: this system has no reads that do not block, so the wire reads from
// the transport as from any net.Conn.
func rawOf(net.Conn) syscall.RawConn { return nil }

func (w *wire) fillRaw(syscall.RawConn) error { panic("fasthttp: there is no descriptor") }

func (w *wire) readFD(uintptr) (done bool) { return true }
