package clientconn

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/lockorder"
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

// asyncWriter writes to a connection without waiting. It keeps the bytes that the connection does
// not accept at once; a goroutine that may wait flushes them.
//
// TLS writes to a poster, so that one sending goroutine does not block the others, or TLS
// itself. TLS never sees a partial write, so its connection stays usable.
type asyncWriter struct {
	conn net.Conn
	raw  syscall.RawConn // nil if the system or the connection cannot write without waiting
	step func(fd uintptr) bool

	hasUnsent   atomic.Bool // len(unsent) > 0
	mu          lockorder.Mutex[lockorder.AsyncWriter]
	unsent      []byte // setUnsent sets it
	flushMemory []byte // memory for unsent during a flush
	flushing    bool   // bytes before those in unsent are being written
	err         error  // of the connection, once it has failed

	b     []byte // being written by step
	sent  int
	errno syscall.Errno
}

func newAsyncWriter(conn net.Conn) *asyncWriter {
	p := &asyncWriter{conn: conn}
	p.step = p.write
	if tcp, ok := conn.(*net.TCPConn); ok && hasRawCalls {
		p.raw, _ = tcp.SyscallConn()
	}
	return p
}

// add appends bytes to the unsent ones.
func (p *asyncWriter) add(b []byte) {
	p.mu.Lock()
	p.setUnsent(append(p.unsent, b...))
	p.mu.Unlock()
}

// setUnsent sets the bytes that are left. The mutex is held.
func (p *asyncWriter) setUnsent(b []byte) {
	p.unsent = b
	if some := len(b) > 0; some != p.hasUnsent.Load() {
		p.hasUnsent.Store(some)
	}
}

// post writes the bytes that were added before, and then b, as far as the connection accepts
// them.
func (p *asyncWriter) post(b []byte) (waits bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.err != nil:
		return false, p.err
	case p.flushing:
		p.setUnsent(append(p.unsent, b...))
		return true, nil
	}
	if len(p.unsent) > 0 {
		p.setUnsent(append(p.unsent, b...))
		b = p.unsent
	}
	n := 0
	for p.raw != nil && n < len(b) {
		p.b, p.sent, p.errno = b[n:], 0, 0
		err := p.raw.Write(p.step)
		p.b = nil
		if err == nil && p.errno != 0 {
			err = &net.OpError{Op: "write", Net: "tcp", Addr: p.conn.RemoteAddr(), Err: p.errno}
		}
		if err != nil {
			p.err = err
			return false, err
		}
		if p.sent == 0 {
			break
		}
		n += p.sent
	}
	p.setUnsent(append(p.unsent[:0], b[n:]...))
	if len(p.unsent) == 0 && cap(p.unsent) > maxFlushMemory {
		p.unsent = nil
	}
	return len(p.unsent) > 0, nil
}

// flush writes all bytes that were added, and waits for the connection to accept them, at
// most within for each part.
func (p *asyncWriter) flush(g *Guard, within time.Duration) error {
	for {
		p.mu.Lock()
		b, err := p.unsent, p.err
		if len(b) == 0 || err != nil {
			p.mu.Unlock()
			return err
		}
		p.setUnsent(p.flushMemory)
		p.flushMemory, p.flushing = nil, true
		p.mu.Unlock()
		if err = g.LimitWrite(time.Now().Add(within)); err == nil {
			_, err = p.conn.Write(b)
		}
		if err == nil {
			err = g.LimitWrite(time.Time{})
		}
		p.mu.Lock()
		p.flushing = false
		if p.err = err; cap(b) <= maxFlushMemory {
			p.flushMemory = b[:0]
		}
		p.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// maxFlushMemory is the largest memory kept for the next bytes.
const maxFlushMemory = 64 << 10

// StartPosting makes Post and Flush usable: from now on all writes use them. It is called once, by
// the only user of the connection.
func (c *Conn) StartPosting() {
	if c.recordConn == nil {
		c.async = newAsyncWriter(c.conn)
		return
	}
	c.async = newAsyncWriter(c.recordConn.Conn)
	c.recordConn.async.Store(c.async)
}

// Post writes b without waiting. waits means that some of it is left, and that Flush must be
// called. Only one goroutine may call Post or Flush at a time.
func (c *Conn) Post(b []byte) (waits bool, err error) {
	if c.recordConn == nil {
		return c.async.post(b)
	}
	if len(b) > 0 {
		if _, err := c.conn.Write(b); err != nil {
			return false, err
		}
	}
	return c.async.post(nil)
}

// Flush writes the bytes that Post has left, and waits until the connection accepts them: at
// most within for each part.
func (c *Conn) Flush(within time.Duration) error { return c.async.flush(&c.Guard, within) }

// HasUnsent reports whether Post or Flush has bytes to write: TLS answers some messages of
// the peer by itself.
func (c *Conn) HasUnsent() bool { return c.async.hasUnsent.Load() }
