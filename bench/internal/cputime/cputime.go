// Package cputime tells how much processor time the process has used. Where
// other programs compete for the processors, the time on the clock says little
// about a benchmark; its processor time still does.
package cputime

import "time"

// Used returns the time that all threads of the process have run so far, in the
// kernel or out of it. It is 0 on systems where it cannot be told.
func Used() time.Duration { return used() }
