package engine

import (
	"syscall"
	"time"
)

// keepaliveProbes is after how many probes without an answer a connection ends, as package
// net has it.
const keepaliveProbes = 9

// setOptions sets the options of a connection, or those that accepted connections inherit
// from their listener. It reports whether the system has taken all of them. Old kernels do
// not for a listener of Multipath TCP, which those of package net are by default. The
// connections take them, as most are of TCP alone.
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
