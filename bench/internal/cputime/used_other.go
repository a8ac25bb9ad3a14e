//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

// Package cputime has no way to measure the processor time of the process on this system.
package cputime

import "time"

// Used returns 0.
func Used() time.Duration { return 0 }
