package fasthttputil

import (
	"net"
	"time"
)

// PipeConns is a pair of connected connections: the bytes written to one can be read
// from the other. They stay in the memory of the process. Use NewPipeConns to make a
// pair; the zero value cannot be used.
//
// Unlike the two ends of net.Pipe, these connections have a buffer. Write copies its
// argument and returns without waiting for a Read as long as at most 1 MiB is unread,
// so a single goroutine can use both ends. If there is more, Write waits for the peer
// to read, as on a socket. Reading releases the memory of the buffer; a connection
// without unread bytes holds none.
//
// The connections follow the contract of net.Conn. All their methods may be called by several
// goroutines at once, and the bytes of one Write stay together. In detail:
//
//   - Closing either end closes both directions and wakes every blocked Read and
//     Write. Data that was written before stays readable, then Read returns io.EOF.
//     Write returns ErrConnectionClosed. Closing again does nothing and returns nil.
//   - Once a deadline has passed, Read and Write return ErrTimeout until it is moved
//     or cleared. It may be set at any time, also while a Read or Write is blocked.
//     After the connection has been closed, deadlines have no effect.
//   - A Write that its deadline or Close interrupts returns an error and the number of
//     bytes written so far; the peer can still read these bytes.
//   - Reading into an empty slice returns 0 and nil at once. Writing an empty slice
//     returns the error for a closed connection or a passed deadline, and otherwise
//     does nothing: the peer does not notice it.
//
// The methods of PipeConns itself, other than Close, must not be called by several
// goroutines at once.
type PipeConns struct {
	conn1, conn2 pipeConn
	// stream1 carries the bytes that conn1 writes, and stream2 the bytes that conn2 writes.
	stream1, stream2 stream
}

// NewPipeConns makes a pair of connected connections. Both report an address with
// the network and the text "pipe" until SetAddresses sets others.
func NewPipeConns() *PipeConns {
	// Both conns and both streams are parts of one allocation.
	pc := &PipeConns{}
	pc.stream1.init()
	pc.stream2.init()
	pc.conn1.in, pc.conn1.out = &pc.stream2, &pc.stream1
	pc.conn2.in, pc.conn2.out = &pc.stream1, &pc.stream2
	return pc
}

// Conn1 returns one end of the pair, always the same one. Its peer is Conn2.
func (pc *PipeConns) Conn1() net.Conn {
	return &pc.conn1
}

// Conn2 returns the other end of the pair, always the same one. Its peer is Conn1.
func (pc *PipeConns) Conn2() net.Conn {
	return &pc.conn2
}

// SetAddresses sets the results of LocalAddr and RemoteAddr: the first two arguments for
// Conn1, the last two for Conn2. A nil argument means the default address "pipe". Call it
// before other goroutines use the connections.
func (pc *PipeConns) SetAddresses(localAddr1, remoteAddr1, localAddr2, remoteAddr2 net.Addr) {
	pc.conn1.local, pc.conn1.remote = localAddr1, remoteAddr1
	pc.conn2.local, pc.conn2.remote = localAddr2, remoteAddr2
}

// Close closes both connections. The error is always nil. It may be called more than
// once, and from any goroutine.
func (pc *PipeConns) Close() error {
	closeStreams(&pc.stream1, &pc.stream2)
	return nil
}

// pipeConn is one end of a PipeConns.
type pipeConn struct {
	in, out       *stream
	local, remote net.Addr // nil means pipeAddr
}

func (c *pipeConn) Read(p []byte) (int, error) {
	return c.in.read(p)
}

func (c *pipeConn) Write(p []byte) (int, error) {
	return c.out.write(p)
}

func (c *pipeConn) Close() error {
	closeStreams(c.in, c.out)
	return nil
}

func (c *pipeConn) LocalAddr() net.Addr {
	return orPipeAddr(c.local)
}

func (c *pipeConn) RemoteAddr() net.Addr {
	return orPipeAddr(c.remote)
}

func (c *pipeConn) SetDeadline(t time.Time) error {
	c.in.reader.setDeadline(t)
	c.out.writer.setDeadline(t)
	return nil
}

func (c *pipeConn) SetReadDeadline(t time.Time) error {
	c.in.reader.setDeadline(t)
	return nil
}

func (c *pipeConn) SetWriteDeadline(t time.Time) error {
	c.out.writer.setDeadline(t)
	return nil
}

// pipeAddr is the default address of a connection.
type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }

func (pipeAddr) String() string { return "pipe" }

func orPipeAddr(addr net.Addr) net.Addr {
	if addr == nil {
		return pipeAddr{}
	}
	return addr
}
