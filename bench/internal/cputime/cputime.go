// Package cputime measures the processor time of the process. If other programs compete for
// the processors, the elapsed time of a benchmark means little, but its processor time is
// still useful.
package cputime

import "time"

// Used returns the time that all threads of the process have run so far, in the kernel or out
// of it. It is 0 on systems without a way to measure it.
func Used() time.Duration { return used() }
