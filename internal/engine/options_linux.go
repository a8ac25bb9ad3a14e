package engine

import (
	"syscall"
	"time"
)

// keepaliveProbes is the number of unanswered probes after which a connection ends, as in
// package net.
const keepaliveProbes = 9

// setOptions sets the options of a connection, or the options that accepted connections
// inherit from their listener. It reports whether the system has taken all of them. Old
// kernels refuse some on a listener of Multipath TCP, as package net makes by default. The
// accepted connections take them, as most are plain TCP.
func (s *Set) setOptions(fd int) (all bool) {
	all = true
	set := func(level, option, value int) {
		all = syscall.SetsockoptInt(fd, level, option, value) == nil && all
	}
	set(syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	period := s.Host.Keepalive()
	if period <= 0 {
		set(syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 0)
		return all
	}
	seconds := int((period + time.Second - 1) / time.Second)
	set(syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1)
	set(syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, seconds)
	set(syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, seconds)
	set(syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, keepaliveProbes)
	return all
}
