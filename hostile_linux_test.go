package fasthttp

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns the processor time of the thread. Other programs do not add
// to it.
func processorTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
