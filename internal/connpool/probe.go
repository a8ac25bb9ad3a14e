package connpool

import (
	"net"
	"syscall"
)

// State is the result of a Probe.
type State uint8

const (
	// Unknown means that the connection cannot be checked.
	Unknown State = iota
	// Quiet means that nothing was received: the connection is as it was left.
	Quiet
	// Readable means that there are bytes to read.
	Readable
	// Ended means that the peer closed the connection, or that it failed.
	Ended
)

// Probe checks an idle connection without reading from it and without waiting. The zero
// value is the Probe of a connection that cannot be checked.
//
// Only one goroutine may use a Probe at a time.
type Probe struct {
	raw   syscall.RawConn
	check func(fd uintptr)
	state State
	end   func(fd uintptr)
	ended bool
}

// Attach makes p check c. Only connections of the operating system can be checked,
// and only on systems that can peek into a socket.
func (p *Probe) Attach(c net.Conn) {
	*p = Probe{}
	s, ok := c.(syscall.Conn)
	if !ok || !canPeek {
		return
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return
	}
	p.raw = raw
	p.check = func(fd uintptr) { p.state = peek(fd) }
	p.end = func(fd uintptr) { p.ended = hungUp(fd) }
}

// CanCheck reports whether the connection can be checked.
func (p *Probe) CanCheck() bool { return p.raw != nil }

// HasEnded reports whether the peer has stopped sending, or the connection has failed. If
// there are bytes to read, only Linux can tell.
func (p *Probe) HasEnded() bool {
	if p.raw == nil {
		return false
	}
	return p.raw.Control(p.end) != nil || p.ended
}

// Check returns the state of the connection. It takes one system call.
func (p *Probe) Check() State {
	if p.raw == nil {
		return Unknown
	}
	p.state = Unknown
	// Control does not wait, and ignores deadlines
	if p.raw.Control(p.check) != nil {
		return Ended
	}
	return p.state
}
