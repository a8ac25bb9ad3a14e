//go:build !unix

package tlswire

import "net"

// findFD leaves raw unset: where the system has no reads that do not wait, the
// wire reads from the transport like anybody else.
func (w *wire) findFD(net.Conn) {}

func (w *wire) fillRaw() error { panic("fasthttp: there is no descriptor") }
