package fasthttp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/http1"
)

// clientConn is a connection of a client. A connection of a HostClient belongs to one
// call, or to one body stream, or it is idle and belongs to the pool.
type clientConn struct {
	line clientconn.Conn
	wire http1.ClientConn
	// answered is set once a response was received on the connection
	answered bool
	protocol clientProtocol
	upstream string
	head     http1.Head // of the response in progress
	past     *connPast
}

// connPast is the history of a connection.
type connPast struct {
	created time.Time
	lastUse time.Duration // since created; AcquireConn sets it for LastUseTime
}

// adoptConn returns a clientConn for conn, which a dial function has returned for
// addr.
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

// peek, discard and fill read the received bytes of the connection; see recvbuf.Source.
func (cc *clientConn) peek() []byte { return cc.line.Peek() }

func (cc *clientConn) discard(n int) { cc.line.Discard(n) }

func (cc *clientConn) fill() error { return cc.line.Fill() }

// isSeenLater reports whether a call checks an idle connection when it writes the
// request, which costs less, rather than before the trace or the caller gets the
// connection.
func (cc *clientConn) isSeenLater(call *callState) bool {
	return cc.line.Asks() && call.trace == nil && call.purpose != callHandsOut
}

// clientProtocol is the protocol of one connection. It is chosen when the connection
// was established, and with TLS when the two sides have agreed on it.
type clientProtocol interface {
	// roundTrip sends req and fills resp, on a connection that the pool of hc has
	// given to the caller. since is when it became idle, on the clock, and zero for a
	// new one. roundTrip always gives up the connection, or the reservation, before
	// it returns: to the pool, or to the stream of a body.
	//
	// untouched reports whether a request that has failed may be sent again whatever
	// its method, since the server has not processed it.
	roundTrip(hc *HostClient, req *Request, resp *Response, since time.Duration) (untouched bool, err error)
	// shared reports whether the connection may have several users at once.
	shared() bool
	// pooled is called for such a connection once the pool knows that.
	pooled()
	// reserve makes one more reservation, if there is room, and reports whether there
	// was. It must not wait: the pool holds its lock.
	reserve() bool
	// Close closes the connection.
	Close() error
}

// agreeOnHTTP1 returns an error unless TLS has negotiated HTTP/1.1. The name is empty for a
// server that does not negotiate.
func agreeOnHTTP1(negotiated string) error {
	switch negotiated {
	case "", "http/1.1":
		return nil
	}
	return fmt.Errorf("fasthttp: the server speaks %s, not HTTP/1.1", negotiated)
}

// http1Client is HTTP/1.1 on a connection.
type http1Client clientConn

// roundTrip implements clientProtocol.
func (p *http1Client) roundTrip(hc *HostClient, req *Request, resp *Response, since time.Duration) (untouched bool, err error) {
	cc, call := (*clientConn)(p), &req.call
	cc.line.Sent = 0
	x := clientExchange{hc: hc, cc: cc, call: call, req: req, resp: resp}
	if since != 0 && cc.isSeenLater(call) {
		x.look = lookUnseen
	}
	if err = x.run(since); err == nil {
		return false, nil
	}
	if call.outcome != attemptAnswered && cc.line.Failed() {
		call.outcome = attemptLost
	}
	return x.isUntouched(err), err
}

// shared implements clientProtocol.
func (*http1Client) shared() bool { return false }

// pooled implements clientProtocol.
func (*http1Client) pooled() {}

// reserve implements clientProtocol: the holder of the connection has the only
// reservation.
func (*http1Client) reserve() bool { return false }

// Close implements clientProtocol.
func (p *http1Client) Close() error {
	return p.line.Close()
}

// handshakeTimeout limits a TLS handshake for which the application has not set
// another time.
const handshakeTimeout = 10 * time.Second

// handshake starts TLS on the connection, before a deadline. agree gets the name of the
// negotiated protocol. handshake returns the state of TLS even if it fails. ctx may be
// nil.
func (cc *clientConn) handshake(ctx context.Context, config *tls.Config, by time.Time, agree func(negotiated string) error) (tls.ConnectionState, error) {
	state, err := cc.line.Handshake(ctx, config, by, func(state *tls.ConnectionState) (err error) {
		return agree(state.NegotiatedProtocol)
	})
	if err != nil && isTimeout(err) && cc.line.Guard.Err() == nil {
		err = ErrTLSHandshakeTimeout
	}
	return state, err
}
