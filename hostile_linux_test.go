package fasthttp

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns for how long the thread has had a processor: what others do
// at the same time does not count.
func processorTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
