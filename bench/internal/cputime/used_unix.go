//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// Package cputime measures the processor time of the process. If other programs compete for
// the processors, the elapsed time of a benchmark means little, but its processor time is
// still useful.
package cputime

import (
	"syscall"
	"time"
)

// Used returns the time that all threads of the process have run so far, in the kernel or out
// of it.
func Used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
