package prefork

import (
	"net"
	"os"
)

// listenerFile returns the socket of ln.
func listenerFile(ln *net.TCPListener) (*os.File, error) { return ln.File() }
