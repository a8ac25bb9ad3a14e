//go:build !unix

package fasthttp

// findFD leaves raw unset: where the system has no reads that do not wait, the
// wire reads from the transport like anybody else.
func (w *tlsWire) findFD() {}

func (w *tlsWire) fillRaw() error { panic("fasthttp: there is no descriptor") }
