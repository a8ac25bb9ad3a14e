//go:build !unix

package tlswire

import "net"

// findFD leaves raw unset: this system has no reads that do not block, so the wire
// reads from the transport as from any net.Conn.
func (w *wire) findFD(net.Conn) {}

func (w *wire) fillRaw() error { panic("fasthttp: there is no descriptor") }
