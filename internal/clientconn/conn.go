package clientconn

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
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
	conn         net.Conn     // the connection for the application protocol: plain, or with TLS
	recordConn   *recordConn  // below TLS, nil if there is none
	async        *asyncWriter // for Post, nil before StartPosting
	roundTripper *roundTripper
	probe        Probe
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
	c.conn = conn
	c.Recv.Size = uint32(size)
	c.Guard.Attach(conn)
	c.probe.Attach(lowest(conn))
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
	gate := &recordConn{Conn: c.conn, probe: &c.probe}
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
		c.conn, c.recordConn, c.roundTripper = secure, gate, nil
	}
	return state, err
}

// Net returns the connection for the application protocol, a *tls.Conn if it uses TLS.
func (c *Conn) Net() net.Conn { return c.conn }

// Close closes the connection.
func (c *Conn) Close() error {
	c.Recv.Release()
	return c.conn.Close()
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
		n, err := netio.Some(c.conn, p)
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
	n, err := c.conn.Write(p)
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
	n, err := p.both.WriteTo(c.conn)
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
		asked.SendErr = netio.Op(c.conn, "write", asked.SendErr)
		c.WriteErr = asked.SendErr
	}
	if asked.RecvErr != nil {
		asked.RecvErr = netio.Op(c.conn, "read", asked.RecvErr)
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

// Probeable reports whether Check can check the socket.
func (c *Conn) Probeable() bool { return c.probe.CanCheck() }

// Check checks the socket. With TLS, the bytes that it finds may be messages of TLS itself.
func (c *Conn) Check() State { return c.probe.Check() }

// IsTLS reports whether the connection speaks TLS.
func (c *Conn) IsTLS() bool { return c.recordConn != nil }

// HasEnded reports whether the peer has stopped sending, as far as the system can tell.
// There may still be bytes to read.
func (c *Conn) HasEnded() bool { return c.probe.HasEnded() }

// MayBeReadable reports whether there may be something for ReadReady: bytes, or the end of the
// connection. With TLS, received bytes may be unread.
func (c *Conn) MayBeReadable() bool {
	if c.recordConn != nil {
		return true
	}
	state := c.probe.Check()
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
	n, err := c.recordConn.readReady(c.conn, p)
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
		return c.recordConn.isQuiet(c.conn)
	}
	state := c.probe.Check()
	return state == Quiet || state == Unknown
}
