package restart

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns the time of the clock that systemd compares with.
func monotonic() (time.Duration, bool) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return time.Duration(now.Nano()), err == nil
}
