package prefork

import "os"

// terminate ends a process, which may have ended already. Windows cannot ask it.
func terminate(p *os.Process) { _ = p.Kill() }
