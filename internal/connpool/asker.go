package connpool

import (
	"net"
	"syscall"

	"github.com/valyala/fasthttp/internal/netio"
)

// RoundTripper sends a question on a TCP connection and waits for the answer, with fewer
// system calls than net.Conn: package net reads before it waits, although an answer
// cannot have arrived yet.
//
// Only one goroutine may use a RoundTripper at a time. Only Linux has RoundTrippers.
type RoundTripper struct {
	raw     syscall.RawConn
	step    func(fd uintptr) bool
	b       []byte // the question
	recvBuf []byte // for the answer

	result  RoundTripResult
	waiting bool // the question was sent
}

// RoundTripResult is the result of a question.
type RoundTripResult struct {
	// State is the state of the connection before the question was sent, or Unknown
	// if it could not be checked because its time was over or it was closed. The
	// question is sent only in the state Quiet.
	State State
	// Sent is the number of question bytes sent, and Got the number of answer bytes
	// received. Both are valid even with an error.
	Sent, Got int
	// SendErr and RecvErr are errors of the connection, with the types of package
	// net.
	SendErr, RecvErr error
}

// NewRoundTripper returns a RoundTripper for c, or nil unless c is a *net.TCPConn itself and this
// system has Askers. A type that wraps or embeds a connection must see the bytes that
// are written and read.
func NewRoundTripper(c net.Conn) *RoundTripper {
	tcp, ok := c.(*net.TCPConn)
	if !ok || !canRoundTrip {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	a := &RoundTripper{raw: raw}
	a.step = a.doStep
	return a
}

// RoundTrip sends b if the connection is quiet. If all of b is accepted at once, RoundTrip waits
// for an answer, for the read deadline, or for the closing of the connection.
// Otherwise it returns early, and the caller sends the rest of b. The answer is
// stored in room, which may overlap b. If room is empty, the answer is left to be
// read.
func (a *RoundTripper) RoundTrip(c net.Conn, b, room []byte) RoundTripResult {
	a.b, a.recvBuf = b, room
	a.result, a.waiting = RoundTripResult{}, false
	// the next read hits the same deadline, or the same end
	_ = a.raw.Read(a.step)
	a.b, a.recvBuf = nil, nil
	asked := &a.result
	asked.SendErr, asked.RecvErr = netio.Op(c, "write", asked.SendErr), netio.Op(c, "read", asked.RecvErr)
	return *asked
}
