//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cputime

import (
	"syscall"
	"time"
)

func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
