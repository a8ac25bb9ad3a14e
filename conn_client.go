package fasthttp

import (
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/http1"
)

// clientConn is a connection of a client. One of a HostClient belongs to one
// call, or to one body stream, at a time, or it is idle and belongs to the pool.
type clientConn struct {
	line clientconn.Conn
	wire http1.ClientConn
	// answered says that a response came through the connection before
	answered bool
	protocol clientProtocol
	upstream string
	past     *connPast
}

// connPast is what a connection remembers.
type connPast struct {
	memo    memo // what the server has said of late, which it may well say again
	created time.Time
	lastUse time.Duration // since created; AcquireConn sets it, for who can ask
}

// adoptConn makes what a dial function has returned for addr a connection.
func adoptConn(conn net.Conn, addr string, size int) *clientConn {
	cc := &clientConn{upstream: addr, past: &connPast{created: time.Now()}}
	cc.line.Attach(conn, size)
	cc.wire.Open()
	cc.protocol = (*http1Client)(cc)
	if remote := conn.RemoteAddr(); remote != nil {
		cc.upstream = remote.String()
	}
	return cc
}

// Conn returns the connection that HTTP is spoken through: a *tls.Conn if the client
// speaks TLS.
func (cc *clientConn) Conn() net.Conn { return cc.line.Net() }

// CreatedTime returns when the connection was established.
func (cc *clientConn) CreatedTime() time.Time { return cc.past.created }

// LastUseTime returns when the connection last became idle; for a new one, when
// it was established.
func (cc *clientConn) LastUseTime() time.Time { return cc.past.created.Add(cc.past.lastUse) }

// Close closes the connection.
func (cc *clientConn) Close() error { return cc.protocol.Close() }

func (cc *clientConn) reserve() bool { return cc.protocol.reserve() }

// peek, discard and fill make the connection the source of a response.
func (cc *clientConn) peek() []byte { return cc.line.Recv.Peek() }

func (cc *clientConn) discard(n int) { cc.line.Recv.Discard(n) }

func (cc *clientConn) fill() error { return cc.line.Fill() }

var _ source = (*clientConn)(nil)

// isSeenLater reports whether a call looks at an idle connection when it writes the
// request, which costs less, rather than before anybody hears of the connection.
func (cc *clientConn) isSeenLater(call *callState) bool {
	return cc.line.Asks() && call.trace == nil && call.purpose != callHandsOut
}
