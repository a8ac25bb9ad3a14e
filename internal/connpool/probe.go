package connpool

import (
	"net"
	"syscall"
)

// State is the result of a Probe.
type State uint8

const (
	// Unknown says that the connection cannot be checked.
	Unknown State = iota
	// Quiet says that nothing came: the connection is as it was left.
	Quiet
	// Readable says that there are bytes to be read.
	Readable
	// Ended says that the peer closed the connection, or that it failed.
	Ended
)

// Probe checks an idle connection without reading from it and without waiting. The
// zero value is the Probe of a connection that cannot be checked.
//
// A Probe is used by one goroutine at a time.
type Probe struct {
	raw   syscall.RawConn
	look  func(fd uintptr)
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
	p.look = func(fd uintptr) { p.state = peek(fd) }
	p.end = func(fd uintptr) { p.ended = hungUp(fd) }
}

// Sees reports whether the connection can be checked.
func (p *Probe) Sees() bool { return p.raw != nil }

// HasEnded reports whether the peer sends nothing any more, or the connection has failed. If
// there are bytes to be read, only Linux can tell.
func (p *Probe) HasEnded() bool {
	if p.raw == nil {
		return false
	}
	return p.raw.Control(p.end) != nil || p.ended
}

// Look returns the state of the connection, at the price of one system call.
func (p *Probe) Look() State {
	if p.raw == nil {
		return Unknown
	}
	p.state = Unknown
	// Control does not wait for anything, and heeds no deadline
	if p.raw.Control(p.look) != nil {
		return Ended
	}
	return p.state
}
