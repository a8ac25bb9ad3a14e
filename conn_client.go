package fasthttp

import (
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/connpool"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/ioread"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// clientConn is a connection of a client. One of a HostClient belongs to one
// call, or to one body stream, at a time, or it is idle and belongs to the pool.
//
// Calls of several processors take turns with a connection, so what every call
// needs stands together, in as few cache lines as possible.
type clientConn struct {
	recv     recvbuf.Buffer
	conn     net.Conn // what HTTP is spoken through: plain, or with TLS
	protocol clientProtocol
	past     *connPast
	gate     *tlsGate // below TLS, nil if there is none
	// asker speaks on the connection in its place, nil if nothing can
	asker *connpool.Asker
	probe connpool.Probe
	// answered says that a response came through the connection before
	answered bool
	// duplex says that somebody writes while the call reads
	duplex bool
	wire   http1.ClientConn
	// sent counts the bytes of the request that were written; those of all
	// requests for a PipelineClient. It is the writer's, as is writeErr.
	sent  uint64
	guard connGuard

	upstream string
	pair     *bufferPair // what writeBoth needs, nil before the first time
	// writeErr and readErr are errors of the connection itself
	writeErr, readErr error
}

// connPast is what a connection remembers.
type connPast struct {
	memo    memo // what the server has said of late, which it may well say again
	created time.Time
	lastUse time.Duration // since created; AcquireConn sets it, for who can ask
}

// bufferPair is two buffers that are written with one call.
type bufferPair struct {
	buffers [2][]byte
	both    net.Buffers // buffers, as they are being written
}

// adoptConn makes what a dial function has returned for addr a connection.
func adoptConn(conn net.Conn, addr string, size int) *clientConn {
	cc := &clientConn{conn: conn, upstream: addr, past: &connPast{created: time.Now()}}
	cc.recv.Size = uint32(size)
	cc.wire.Open()
	cc.protocol = (*http1Client)(cc)
	cc.guard.attach(conn)
	if remote := conn.RemoteAddr(); remote != nil {
		cc.upstream = remote.String()
	}
	cc.probe.Attach(lowestConn(conn))
	cc.asker = connpool.NewAsker(conn)
	return cc
}

// lowestConn returns what is below wrappers that say what they wrap, as
// *tls.Conn does.
func lowestConn(conn net.Conn) net.Conn {
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

// Conn returns the connection that HTTP is spoken through: a *tls.Conn where the
// client speaks TLS.
func (cc *clientConn) Conn() net.Conn { return cc.conn }

// CreatedTime returns when the connection was established.
func (cc *clientConn) CreatedTime() time.Time { return cc.past.created }

// LastUseTime returns when the connection last became idle; for a new one, when
// it was established.
func (cc *clientConn) LastUseTime() time.Time { return cc.past.created.Add(cc.past.lastUse) }

// Close closes the connection.
func (cc *clientConn) Close() error { return cc.protocol.Close() }

func (cc *clientConn) reserve() bool { return cc.protocol.reserve() }

// peek, discard and fill make the connection the source of a response.
func (cc *clientConn) peek() []byte { return cc.recv.Peek() }

func (cc *clientConn) discard(n int) { cc.recv.Discard(n) }

func (cc *clientConn) fill() error {
	n, err := cc.receive(cc.recv.Space())
	if n > 0 {
		cc.recv.Received(n)
		return nil
	}
	return err
}

var _ source = (*clientConn)(nil)

// receive reads into p. Whoever writes meanwhile may give the reader more time,
// or less.
func (cc *clientConn) receive(p []byte) (int, error) {
	if err := cc.readErr; err != nil && !isTimeout(err) {
		// the system says it once
		return 0, err
	}
	for {
		n, err := ioread.Some(cc.conn, p)
		if n > 0 {
			return n, nil
		}
		if cc.duplex && isTimeout(err) && cc.guard.mayRead() {
			continue
		}
		cc.readErr = err
		return 0, err
	}
}

// Write writes to the connection, counts what was written, and keeps the error.
func (cc *clientConn) Write(p []byte) (int, error) {
	n, err := cc.conn.Write(p)
	cc.wrote(int64(n), err)
	return n, err
}

// writeBoth writes a and b, with one system call where that is possible.
func (cc *clientConn) writeBoth(a, b []byte) error {
	if cc.pair == nil {
		cc.pair = new(bufferPair)
	}
	p := cc.pair
	p.buffers = [2][]byte{a, b}
	p.both = p.buffers[:]
	n, err := p.both.WriteTo(cc.conn)
	p.buffers = [2][]byte{}
	cc.wrote(n, err)
	return err
}

// ask writes what is in out and waits for the answer, the beginning of which it may
// receive into the memory of out. It has no effect unless the connection is quiet.
func (cc *clientConn) ask(out *bufpool.Buffer) connpool.Asked {
	var room []byte
	if cc.recv.Empty() && cap(out.B) >= int(cc.recv.Size) {
		room = out.B[:cap(out.B)]
	}
	asked := cc.asker.Ask(cc.conn, out.B, room)
	cc.wrote(int64(asked.Sent), asked.SendErr)
	if asked.RecvErr != nil {
		cc.readErr = asked.RecvErr
	}
	return asked
}

func (cc *clientConn) wrote(n int64, err error) {
	cc.sent += uint64(n)
	if err != nil {
		cc.writeErr = err
	}
}

// failed reports whether the connection itself has failed, rather than what came
// through it or the time.
func (cc *clientConn) failed() bool {
	return cc.guard.err() == nil &&
		(cc.writeErr != nil && !isTimeout(cc.writeErr) || cc.readErr != nil && !isTimeout(cc.readErr))
}

// isSeenLater reports whether a call looks at an idle connection when it writes the
// request, which costs less, rather than before anybody hears of the connection.
func (cc *clientConn) isSeenLater(call *callState) bool {
	return cc.asker != nil && call.trace == nil && call.purpose != callHandsOut
}

// quiet reports whether an idle connection looks as if it could be used: nothing
// came since its last response, and the peer did not close it. A connection that
// cannot be looked at gets the benefit of the doubt.
func (cc *clientConn) quiet() bool {
	if cc.gate != nil {
		return cc.gate.quiet(cc.conn)
	}
	state := cc.probe.Look()
	return state == connpool.Quiet || state == connpool.Unknown
}
