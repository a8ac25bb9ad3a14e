//go:build !linux

package serving

import "syscall"

// reusePort is nil: sharing an address means something else on other systems,
// where it does not spread connections.
var reusePort func(network, address string, conn syscall.RawConn) error
