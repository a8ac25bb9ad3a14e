package fasthttp

import (
	"fmt"
	"time"
)

// clientProtocol is what a client speaks on one connection. It is chosen when the
// connection is there, and with TLS when the two sides have agreed on it.
type clientProtocol interface {
	// roundTrip sends req and fills resp, on a connection that the pool of hc has
	// given to the caller. since is when it became idle, on the clock, and zero for
	// a new one. The connection, or the reservation, has gone its way when roundTrip
	// returns, whatever happened: back to the pool, or to the stream of a body.
	//
	// untouched reports whether a request that has failed may be sent again whatever
	// its method, since the server has not worked on it.
	roundTrip(hc *HostClient, req *Request, resp *Response, since time.Duration) (untouched bool, err error)
	// shared reports whether the connection may have several users at a time.
	shared() bool
	// reserve takes one more of as many as there may be, and reports whether there
	// was room. It must not wait: the pool holds its lock.
	reserve() bool
	// Close closes the connection.
	Close() error
}

// protocolOf returns what is spoken on cc, given the protocol that TLS has
// negotiated, which is empty without TLS and for a server that does not negotiate.
func protocolOf(cc *clientConn, negotiated string) (clientProtocol, error) {
	switch negotiated {
	case "", "http/1.1":
		return (*http1Client)(cc), nil
	}
	return nil, fmt.Errorf("fasthttp: the server speaks %s, not HTTP/1.1", negotiated)
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

// reserve implements clientProtocol: who holds the connection has the one
// reservation that there is.
func (*http1Client) reserve() bool { return false }

// Close implements clientProtocol.
func (p *http1Client) Close() error {
	return p.line.Close()
}
