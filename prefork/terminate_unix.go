//go:build !windows

package prefork

import (
	"os"
	"syscall"
)

// terminate asks a process to end. It may have ended already.
func terminate(p *os.Process) { _ = p.Signal(syscall.SIGTERM) }
