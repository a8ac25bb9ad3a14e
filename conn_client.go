package fasthttp

import (
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/connpool"
)

// clientConn is a connection of a HostClient. It belongs to one call, or to one
// body stream, at a time, or it is idle and belongs to the pool.
type clientConn struct {
	conn     net.Conn // what HTTP is spoken through: plain, or with TLS
	probe    connpool.Probe
	secure   bool
	upstream string
	created  time.Time
	lastUse  time.Time

	in   *bufpool.Buffer // received; what lies before read is consumed
	read int
	size int // of in, to begin with

	// memo is what the server has said of late, which it may well say again
	memo *memo

	// limited says that deadlines may be set on conn. They are taken away by
	// the next call that has none, since most calls after one with a deadline
	// have one too.
	limited bool
	// answered says that a response came through the connection before
	answered bool
	// sent counts the bytes that were written, and began those of them that
	// belong to earlier requests
	sent, began uint64

	buffers [2][]byte
	both    net.Buffers // buffers, as they are being written
}

// Conn returns the connection that HTTP is spoken through: a *tls.Conn where the
// client speaks TLS.
func (cc *clientConn) Conn() net.Conn { return cc.conn }

// CreatedTime returns when the connection was established.
func (cc *clientConn) CreatedTime() time.Time { return cc.created }

// LastUseTime returns when the connection last became idle; for a new one, when
// it was established.
func (cc *clientConn) LastUseTime() time.Time { return cc.lastUse }

// Close closes the connection.
func (cc *clientConn) Close() error {
	cc.releaseBuffer()
	return cc.conn.Close()
}

// abort closes the connection in a way that makes the system throw away what was
// written and not yet sent.
func (cc *clientConn) abort() {
	if tcp, ok := cc.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = cc.Close()
}

// peek, discard and fill make the connection the source of a response.
func (cc *clientConn) peek() []byte {
	if cc.in == nil {
		return nil
	}
	return cc.in.B[cc.read:]
}

func (cc *clientConn) discard(n int) {
	if n > 0 {
		cc.read += n
	}
}

func (cc *clientConn) fill() error {
	n, err := readSome(cc.conn, cc.space())
	if n > 0 {
		cc.in.B = cc.in.B[:len(cc.in.B)+n]
		return nil
	}
	return err
}

var _ source = (*clientConn)(nil)

// space returns where the next bytes go: at least minSpace bytes.
func (cc *clientConn) space() []byte {
	if cc.in == nil {
		cc.in, cc.read = bufpool.Get(cc.size), 0
	}
	b := cc.in
	if cc.read == len(b.B) {
		b.B, cc.read = b.B[:0], 0
	}
	if cap(b.B)-len(b.B) < minSpace {
		if cc.read > 0 {
			b.B = b.B[:copy(b.B, b.B[cc.read:])]
			cc.read = 0
		}
		if cap(b.B)-len(b.B) < minSpace {
			b.Grow(max(cap(b.B), minSpace))
		}
	}
	return b.B[len(b.B):cap(b.B)]
}

// receiveInto makes buf, whose content is not needed any more, the buffer for what
// comes next, where that is possible.
func (cc *clientConn) receiveInto(buf *bufpool.Buffer) {
	if cc.in != nil || cap(buf.B) < cc.size {
		bufpool.Put(buf)
		return
	}
	buf.B = buf.B[:0]
	cc.in, cc.read = buf, 0
}

func (cc *clientConn) releaseBuffer() {
	if cc.in != nil {
		bufpool.Put(cc.in)
		cc.in, cc.read = nil, 0
	}
}

// Write writes to the connection and counts what was written.
func (cc *clientConn) Write(p []byte) (int, error) {
	n, err := cc.conn.Write(p)
	cc.sent += uint64(n)
	return n, err
}

// writeBoth writes a and b, with one system call where that is possible.
func (cc *clientConn) writeBoth(a, b []byte) error {
	cc.buffers = [2][]byte{a, b}
	cc.both = cc.buffers[:]
	n, err := cc.both.WriteTo(cc.conn)
	cc.buffers = [2][]byte{}
	cc.sent += uint64(n)
	return err
}

// limit sets the deadline for both directions, or takes away the one of an
// earlier call.
func (cc *clientConn) limit(deadline time.Time) {
	if deadline.IsZero() && !cc.limited {
		return
	}
	cc.limited = !deadline.IsZero()
	_ = cc.conn.SetDeadline(deadline)
}

func (cc *clientConn) limitRead(deadline time.Time) {
	cc.limited = true
	_ = cc.conn.SetReadDeadline(deadline)
}

// recent is how long a connection that was used counts as still open without a
// look at it. It is less than the time that servers keep idle connections for.
const recent = 5 * time.Millisecond

// quiet tells whether an idle connection looks as if it could be used: nothing
// came since its last response, and the peer did not close it. A connection that
// cannot be looked at gets the benefit of the doubt.
func (cc *clientConn) quiet() bool {
	switch cc.probe.Look() {
	case connpool.Ended:
		return false
	case connpool.Readable:
		return cc.secure && cc.onlyTLSNews()
	}
	return true
}

// onlyTLSNews tells whether what has arrived on an idle connection with TLS is
// TLS talking to itself, such as session tickets, and no end of it.
func (cc *clientConn) onlyTLSNews() bool {
	cc.limited = true
	_ = cc.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	var b [1]byte
	n, err := cc.conn.Read(b[:])
	return n == 0 && isTimeout(err)
}

// tookNothing tells whether it is certain that the peer has not taken in any of
// the current request.
func (cc *clientConn) tookNothing() bool {
	if cc.sent == cc.began {
		return true
	}
	if cc.secure {
		return false
	}
	taken, ok := cc.probe.Taken()
	return ok && taken <= cc.began
}
