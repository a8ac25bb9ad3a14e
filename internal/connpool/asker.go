package connpool

import (
	"net"
	"syscall"

	"github.com/valyala/fasthttp/internal/neterr"
)

// Asker sends a question on a TCP connection and waits for the answer, with fewer
// system calls than net.Conn: package net reads before it waits, although an answer
// cannot be there yet.
//
// An Asker is used by one goroutine at a time. Only Linux has any.
type Asker struct {
	raw  syscall.RawConn
	step func(fd uintptr) bool
	b    []byte // the question
	room []byte // for the answer

	asked   Asked
	waiting bool // the question was sent
}

// Asked is the result of a question.
type Asked struct {
	// State is the state of the connection before anything was sent; Unknown if it
	// could not be checked, since its time was over or it was closed. Nothing is sent
	// unless it is Quiet.
	State State
	// Sent is how much of the question was sent, and Got how much of the answer
	// came. Both say something also beside an error.
	Sent, Got int
	// SendErr and RecvErr are errors of the connection, with the types that
	// package net gives them.
	SendErr, RecvErr error
}

// NewAsker returns an Asker for c, or nil unless c is a *net.TCPConn itself and this
// system has Askers. A type that wraps or embeds a connection must see the bytes that
// are written and read.
func NewAsker(c net.Conn) *Asker {
	tcp, ok := c.(*net.TCPConn)
	if !ok || !canAsk {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	a := &Asker{raw: raw}
	a.step = a.talk
	return a
}

// Ask sends b, unless the connection is not quiet. If all of b is taken at once, it
// waits until there is an answer, until the deadline of reading, or until the
// connection is closed; it returns early otherwise, and the rest of b is left to
// the caller. The answer goes into room, which may be where b is, and may be
// empty: then it stays to be read.
func (a *Asker) Ask(c net.Conn, b, room []byte) Asked {
	a.b, a.room = b, room
	a.asked, a.waiting = Asked{}, false
	// the next read meets the same deadline, or the same end
	_ = a.raw.Read(a.step)
	a.b, a.room = nil, nil
	asked := &a.asked
	asked.SendErr, asked.RecvErr = neterr.Op(c, "write", asked.SendErr), neterr.Op(c, "read", asked.RecvErr)
	return *asked
}
