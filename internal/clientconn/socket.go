package clientconn

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

// peek first asks whether there is any event: mostly there is none, and that answer
// is cheaper.
func peek(fd uintptr) State {
	for {
		is, errno := ready(fd)
		switch {
		case errno == syscall.EINTR:
		case errno != 0:
			return Ended
		case !is:
			return Quiet
		default:
			return peekByte(fd)
		}
	}
}

func peekByte(fd uintptr) State {
	var b [1]byte
	for {
		n, errno := peekInto(fd, b[:])
		switch {
		case errno == syscall.EINTR:
		case errno == syscall.EAGAIN || errno == syscall.EWOULDBLOCK:
			return Quiet
		case errno == 0 && n > 0:
			return Readable
		default:
			return Ended
		}
	}
}

// roundTripper sends the request on a TCP connection and waits for the answer, with fewer system
// calls than net.Conn: package net reads before it waits, although an answer cannot have
// arrived yet. Only Linux has it. See Conn.RoundTrip.
type roundTripper struct {
	raw     syscall.RawConn
	step    func(fd uintptr) bool
	b       []byte // the request
	recvBuf []byte // for the answer

	result  RoundTripResult
	waiting bool // the request was sent
}

// RoundTripResult is the result of Conn.RoundTrip.
type RoundTripResult struct {
	// State is the state of the connection before the request was sent, or Unknown
	// if it could not be checked because its time was over or it was closed. The
	// request is sent only in the state Quiet.
	State State
	// Sent is the number of request bytes sent, and Got the number of answer bytes
	// received. Both are valid even with an error.
	Sent, Got int
	// SendErr and RecvErr are errors of the connection, with the types of package
	// net.
	SendErr, RecvErr error
}

// newRoundTripper returns a roundTripper for c, or nil unless c is a *net.TCPConn itself and
// this system has them. A type that wraps or embeds a connection must see the bytes that
// are written and read.
func newRoundTripper(c net.Conn) *roundTripper {
	tcp, ok := c.(*net.TCPConn)
	if !ok || !hasRawCalls {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	a := &roundTripper{raw: raw}
	a.step = a.doStep
	return a
}
