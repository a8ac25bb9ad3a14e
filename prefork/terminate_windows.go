package prefork

import "os"

// terminate kills a process, which may have ended already: Windows has no signal that asks a
// process to end.
func terminate(p *os.Process) { _ = p.Kill() }
