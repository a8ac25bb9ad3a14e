package connpool

import (
	"net"
	"syscall"
)

// State is what a Probe has seen.
type State uint8

const (
	// Unknown says that the connection cannot be looked at.
	Unknown State = iota
	// Quiet says that nothing came: the connection is as it was left.
	Quiet
	// Readable says that there are bytes to be read.
	Readable
	// Ended says that the peer closed the connection, or that it failed.
	Ended
)

// Probe looks at an idle connection without reading from it and without
// waiting. The zero value is one of a connection that cannot be looked at.
//
// A Probe is used by one goroutine at a time.
type Probe struct {
	raw   syscall.RawConn
	look  func(fd uintptr)
	state State
	tells bool
}

// Attach makes p look at c. Only connections of the operating system can be
// looked at, and those only on systems where a socket can be peeked into.
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
	_, isTCP := c.(*net.TCPConn)
	p.tells = canCount && isTCP
	p.look = func(fd uintptr) { p.state = peek(fd) }
}

// Look returns the state of the connection.
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

// Tells reports whether Taken will know what the peer has taken in.
func (p *Probe) Tells() bool { return p.tells }

// Taken returns how many of the bytes that were written to a TCP connection the
// system of the peer has taken in, and whether that can be told.
func (p *Probe) Taken() (n uint64, ok bool) {
	if p.raw == nil {
		return 0, false
	}
	err := p.raw.Control(func(fd uintptr) { n, ok = acknowledged(fd) })
	return n, ok && err == nil
}
