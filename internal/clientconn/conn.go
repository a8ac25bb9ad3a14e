// Package clientconn implements a client's connection below its protocol: bytes that
// were received and not consumed, writing, the check of an idle connection before it
// is reused (Probe), TLS, and Guard, which owns the deadlines and cancellation.
//
// It knows neither requests nor responses. Start with Conn.
package clientconn

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// Conn is a connection of a client. Attach initializes it.
//
// Calls on several processors take turns with a connection, so the fields that every call
// needs are together, in as few cache lines as possible.
//
// Only one goroutine reads at a time, and only one writes. Any goroutine may use the Guard.
type Conn struct {
	// Recv holds the bytes that were received and not consumed. Only the reader uses it.
	Recv         recvbuf.Buffer
	Net          net.Conn     // the connection for the application protocol, a *tls.Conn if it uses TLS
	recordConn   *recordConn  // below TLS, nil if there is none
	async        *asyncWriter // for Post, nil before StartPosting
	roundTripper *roundTripper
	// Probe checks the socket. With TLS, the bytes that it finds may be messages of TLS itself.
	Probe Probe
	// Duplex means that another goroutine writes while the reader reads. Only the reader
	// uses it.
	Duplex bool
	// Sent counts the written bytes. Only the writer uses it and WriteErr.
	Sent uint64
	// Guard owns the deadlines.
	Guard Guard

	pair *bufferPair // the memory of WriteBoth, nil before the first time
	// WriteErr and readErr are errors of the connection itself.
	WriteErr, readErr error
}

// bufferPair holds two buffers that are written with one call.
type bufferPair struct {
	buffers [2][]byte
	both    net.Buffers // buffers, as they are being written
}

// Attach makes conn the connection, with a receive buffer of size bytes.
func (c *Conn) Attach(conn net.Conn, size int) {
	conn = netio.WithDeadlines(conn)
	c.Net = conn
	c.Recv.Size = uint32(size)
	c.Guard.Attach(conn)
	c.Probe.Attach(lowest(conn))
	c.roundTripper = newRoundTripper(conn)
}

// lowest returns the connection below wrappers that have a method for it, as
// *tls.Conn does.
func lowest(conn net.Conn) net.Conn {
	for range 8 {
		w, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return conn
		}
		below := w.NetConn()
		if below == nil {
			return conn
		}
		conn = below
	}
	return conn
}

// Handshake starts TLS on the connection, with the deadline by. It fails if accept returns
// an error for the negotiated state. It returns the state of the handshake even if it fails.
// Functions in the configuration get the values of ctx, which may be nil; the Guard handles
// the end of ctx.
func (c *Conn) Handshake(ctx context.Context, config *tls.Config, by time.Time, accept func(*tls.ConnectionState) error) (tls.ConnectionState, error) {
	if err := c.Guard.Limit(by, by); err != nil {
		return tls.ConnectionState{}, err
	}
	gate := &recordConn{Conn: c.Net, probe: &c.Probe}
	secure := tls.Client(gate, config)
	if ctx == nil {
		ctx = context.Background()
	}
	err := secure.HandshakeContext(context.WithoutCancel(ctx))
	state := secure.ConnectionState()
	if err == nil {
		err = accept(&state)
	}
	if err == nil {
		err = c.Guard.Limit(time.Time{}, time.Time{})
	}
	if canceled := c.Guard.Err(); canceled != nil {
		return state, canceled
	}
	if err == nil {
		c.Net, c.recordConn, c.roundTripper = secure, gate, nil
	}
	return state, err
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.Recv.Release()
	return c.CloseNet()
}

// Peek returns the bytes in Recv, and Discard removes n of them.
func (c *Conn) Peek() []byte { return c.Recv.Peek() }

// Discard is described with Peek.
func (c *Conn) Discard(n int) { c.Recv.Discard(n) }

// Fill receives some bytes.
func (c *Conn) Fill() error {
	n, err := c.Read(c.Recv.ReadBuffer())
	if n > 0 {
		c.Recv.Received(n)
		return nil
	}
	return err
}

// Read receives into p, without the bytes in Recv, and returns either bytes or an error. A
// goroutine that writes meanwhile may extend or shorten the reader's deadline.
func (c *Conn) Read(p []byte) (int, error) {
	if err := c.readErr; err != nil && !netio.IsTimeout(err) {
		// the system reports the error only once
		return 0, err
	}
	for {
		n, err := netio.Some(c.Net, p)
		if n > 0 {
			return n, nil
		}
		if c.Duplex && netio.IsTimeout(err) && c.Guard.MayRead() {
			continue
		}
		c.readErr = err
		return 0, err
	}
}

// Write implements io.Writer. It counts the bytes written, and keeps the error.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.Net.Write(p)
	c.wrote(int64(n), err)
	return n, err
}

// WriteBoth writes a and b, with one system call if possible.
func (c *Conn) WriteBoth(a, b []byte) error {
	if c.pair == nil {
		c.pair = new(bufferPair)
	}
	p := c.pair
	p.buffers = [2][]byte{a, b}
	p.both = p.buffers[:]
	n, err := p.both.WriteTo(c.Net)
	p.buffers = [2][]byte{}
	c.wrote(n, err)
	return err
}

// CanRoundTrip reports whether RoundTrip may be called.
func (c *Conn) CanRoundTrip() bool { return c.roundTripper != nil }

// RoundTrip sends out if the connection is quiet. If all of it is accepted at once, RoundTrip
// waits for an answer, for the read deadline, or for the closing of the connection, and may
// receive the beginning of the answer into the memory of out; otherwise the answer is left to be
// read. If not all is accepted, RoundTrip returns early, and the caller sends the rest.
func (c *Conn) RoundTrip(out *bufpool.Buffer) RoundTripResult {
	a := c.roundTripper
	a.b = out.B
	if c.Recv.Empty() && cap(out.B) >= int(c.Recv.Size) {
		a.recvBuf = out.B[:cap(out.B)]
	}
	a.result, a.waiting = RoundTripResult{}, false
	// the next read hits the same deadline, or the same end
	_ = a.raw.Read(a.step)
	a.b, a.recvBuf = nil, nil
	asked := &a.result
	c.Sent += uint64(asked.Sent)
	if asked.SendErr != nil {
		asked.SendErr = netio.Op(c.Net, "write", asked.SendErr)
		c.WriteErr = asked.SendErr
	}
	if asked.RecvErr != nil {
		asked.RecvErr = netio.Op(c.Net, "read", asked.RecvErr)
		c.readErr = asked.RecvErr
	}
	return *asked
}

func (c *Conn) wrote(n int64, err error) {
	c.Sent += uint64(n)
	if err != nil {
		c.WriteErr = err
	}
}

// Failed reports whether the connection itself has failed. A malformed response or a timeout
// does not count.
func (c *Conn) Failed() bool {
	return c.Guard.Err() == nil &&
		(c.WriteErr != nil && !netio.IsTimeout(c.WriteErr) || c.readErr != nil && !netio.IsTimeout(c.readErr))
}

// IsTLS reports whether the connection speaks TLS.
func (c *Conn) IsTLS() bool { return c.recordConn != nil }

// MayBeReadable reports whether there may be something for ReadReady: bytes, or the end of the
// connection. With TLS, received bytes may be unread.
func (c *Conn) MayBeReadable() bool {
	if c.recordConn != nil {
		return true
	}
	state := c.Probe.Check()
	return state == Readable || state == Ended
}

// ReadReady is Read without waiting: if nothing has arrived, or the connection cannot be
// checked, the error is a timeout.
func (c *Conn) ReadReady(p []byte) (int, error) {
	if c.recordConn == nil {
		if !c.MayBeReadable() {
			return 0, errWouldWait
		}
		return c.Read(p)
	}
	n, err := c.recordConn.readReady(c.Net, p)
	if n == 0 && err != nil && err != error(errWouldWait) {
		c.readErr = err
	}
	return n, err
}

// IsQuiet reports whether an idle connection seems usable: nothing arrived after its last
// response, and the peer did not close it. It is true for a connection that cannot be
// checked.
func (c *Conn) IsQuiet() bool {
	if c.recordConn != nil {
		return c.recordConn.isQuiet(c.Net)
	}
	if timed, ok := c.Net.(*netio.TimedConn); ok {
		return timed.IsQuiet()
	}
	state := c.Probe.Check()
	return state == Quiet || state == Unknown
}

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

// HasEnded reports whether the peer has stopped sending, as far as the system can tell, or the
// connection has failed. There may still be bytes to read: only Linux can tell then.
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
	unsent      []byte    // setUnsent sets it
	flushMemory []byte    // memory for unsent during a flush
	flushing    bool      // bytes before those in unsent are being written
	err         error     // of the connection, once it has failed
	endBy       time.Time // the deadline of all writes, or zero

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

// maxUnsent is how many bytes may wait: more than anyone posts before a flush. A peer can make TLS
// answer whatever it sends, and take none of the answers.
const maxUnsent = 1 << 20

var errManyUnsent = errors.New("fasthttp: the peer takes none of the messages of TLS that it causes")

// add appends bytes to the unsent ones.
func (p *asyncWriter) add(b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.unsent)+len(b) > maxUnsent {
		// nothing can follow a record that is lost
		p.err = cmp.Or(p.err, errManyUnsent)
		return p.err
	}
	p.setUnsent(append(p.unsent, b...))
	return nil
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
	if n == len(b) && len(p.unsent) == 0 {
		return false, nil
	}
	p.setUnsent(append(p.unsent[:0], b[n:]...))
	if len(p.unsent) == 0 && cap(p.unsent) > maxFlushMemory {
		p.unsent = nil
	}
	return len(p.unsent) > 0, nil
}

// flush writes all bytes that were added, and waits for the connection to accept them: at most within,
// as long as it accepts none.
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
		if err = p.writeAll(b, g, within); err == nil {
			err = g.LimitWrite(time.Time{})
		}
		p.mu.Lock()
		p.flushing = false
		if p.err = cmp.Or(p.err, err); cap(b) <= maxFlushMemory {
			p.flushMemory = b[:0]
		}
		p.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// writeAll writes b for flush.
func (p *asyncWriter) writeAll(b []byte, g *Guard, within time.Duration) error {
	for {
		if err := g.LimitWrite(time.Now().Add(within)); err != nil {
			return err
		}
		// in this order: EndWrites uses the reverse
		endBy := p.writesEndBy()
		if !endBy.IsZero() {
			if err := g.ShortenWrite(endBy); err != nil {
				return err
			}
		}
		n, err := netio.WriteCaught(p.conn, b)
		if n == 0 || !netio.IsTimeout(err) {
			return err
		}
		// it has accepted something
		if endBy = p.writesEndBy(); !endBy.IsZero() && !time.Now().Before(endBy) {
			return err
		}
		b = b[n:]
	}
}

func (p *asyncWriter) writesEndBy() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.endBy
}

// maxFlushMemory is the largest memory kept for the next bytes.
const maxFlushMemory = 64 << 10

// StartPosting makes Post and Flush usable: from now on all writes use them. It is called once, by
// the only user of the connection.
func (c *Conn) StartPosting() {
	if c.recordConn == nil {
		c.async = newAsyncWriter(c.Net)
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
		if _, err := c.Net.Write(b); err != nil {
			return false, err
		}
	}
	return c.async.post(nil)
}

// Flush writes the bytes that Post has left, and waits until the connection accepts them: at most
// within, as long as it accepts none.
func (c *Conn) Flush(within time.Duration) error { return c.async.flush(&c.Guard, within) }

// EndWrites makes Flush fail at the given time, whatever the connection accepts until then. It may be
// called while Flush waits.
func (c *Conn) EndWrites(by time.Time) error {
	c.async.mu.Lock()
	c.async.endBy = by
	c.async.mu.Unlock()
	return c.Guard.ShortenWrite(by)
}

// HasUnsent reports whether Post or Flush has bytes to write: TLS answers some messages of
// the peer by itself.
func (c *Conn) HasUnsent() bool { return c.async.hasUnsent.Load() }
