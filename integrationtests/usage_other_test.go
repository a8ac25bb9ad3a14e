//go:build !unix

package integrationtests

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
