//go:build !linux

package serving

import "syscall"

// reusePort is nil: on other systems sharing an address does not distribute connections.
var reusePort func(network, address string, conn syscall.RawConn) error
