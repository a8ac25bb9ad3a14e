package fasthttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/http1"
)

var defaultTransport = &transport{}

// transport makes attempts over the connections of the HostClient or, if h3 is not nil, by HTTP/3.
type transport struct{ h3 *h3Connector }

var _ RoundTripperContext = defaultTransport

// RoundTripContext implements RoundTripperContext.
func (t *transport) RoundTripContext(ctx context.Context, hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	call := &req.call
	if call.purpose != callSends {
		return t.roundTripAlone(ctx, hc, req, resp)
	}
	outer, deadline, trace := call.ctx, call.deadline, call.trace
	defer func() { call.ctx, call.deadline, call.trace = outer, deadline, trace }()
	hc.limitCall(call, ctx)
	return t.RoundTrip(hc, req, resp)
}

// RoundTrip implements RoundTripper.
//
// RoundTrip may find only after sending a request that the peer has closed the
// connection. It then sends the request again on another connection, but only if this
// connection has carried a response before, and none of the request was written, or the
// connection cannot be checked before use and was closed cleanly without a byte of a response.
func (t *transport) RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	if req.call.purpose != callSends {
		return t.roundTripAlone(noContext, hc, req, resp)
	}
	call := &req.call
	call.outcome, call.upstream = attemptPending, ""
	if err := hc.prepare(req); err != nil {
		return false, err
	}
	if call.bodyConsumed {
		return false, errBodyConsumed
	}
	for refusals := 0; ; {
		p, since, err := t.connect(hc, req)
		if err != nil {
			call.outcome = attemptUnreached
			return true, err
		}
		untouched, err := p.roundTrip(hc, req, resp, since)
		if err == nil {
			return false, nil
		}
		if isRefusal(err) || err == errH2NoStream && since == 0 {
			// a server that wants no requests on new connections may never want any
			refusals++
			untouched = untouched && call.backoff(refusals, hc.maxAttempts())
		}
		if untouched {
			continue
		}
		return !call.bodyConsumed && !errors.Is(err, ErrBodyTooLarge) && call.canceled() == nil, err
	}
}

// connect returns a connection for the request, or a reservation of one, and since when it is idle,
// on the clock: zero for a new one.
func (t *transport) connect(hc *HostClient, req *Request) (attempter, time.Duration, error) {
	if t.h3 != nil {
		return t.h3.connect(hc, req)
	}
	cc, since, err := hc.acquire(&req.call)
	if err != nil {
		return nil, since, err
	}
	req.call.upstream = cc.upstream
	return cc.protocol, since, nil
}

// isUntouched reports whether a request that failed with err may be sent again whatever
// its method, since the server has not processed it, or most probably not. The first request of
// a connection is not sent again.
func (x *clientExchange) isUntouched(err error) bool {
	cc := x.cc
	if x.probe == probeStale {
		return true
	}
	if !cc.hasResponded || x.call.bodyConsumed || x.call.outcome != attemptLost {
		return false
	}
	return cc.line.Sent == 0 || err == io.EOF && !cc.line.Probeable()
}

// roundTripAlone is RoundTrip for a caller other than a HostClient. ctx may be nil.
func (t *transport) roundTripAlone(ctx context.Context, hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	if err := hc.ready(); err != nil {
		return false, err
	}
	req.call = callState{purpose: callSends}
	defer func() {
		req.call = callState{}
		_ = req.body.closeStream()
	}()
	if req.timeout > 0 {
		req.call.deadline = time.Now().Add(req.timeout)
	}
	if ctx != nil {
		hc.limitCall(&req.call, ctx)
	}
	return t.RoundTrip(hc, req, resp)
}

// errBodyConsumed reports that a request cannot be sent again.
var errBodyConsumed = errors.New("fasthttp: the body stream of the request was already read")

// clientExchange is one request with its response on one connection.
type clientExchange struct {
	hc   *HostClient
	cc   *clientConn
	call *callState
	req  *Request
	resp *Response

	// properties of the request, kept here since the stream being sent may change its
	// header
	isHead, isConnect, closes bool

	encoding http1.Encoding // of the request
	frame    http1.Framing
	// sender sends the content; nil if the call does that itself
	sender *bodySender
	probe  connProbe
	heads  headReader
	traced tracedWrite
	// released is set once the exchange has given up the connection, to the pool or to
	// the stream of the body
	released bool
	follows  clientconn.Following // the end of the context
}

// connProbe is the knowledge about an idle connection before the request is written.
type connProbe uint8

const (
	probeDone    connProbe = iota // it was checked, or it is a new one
	probePending                  // it was idle, and was not checked since
	probeStale                    // it is no longer usable
)

// http1Client is HTTP/1.1 on a connection.
type http1Client struct{ cc *clientConn }

// roundTrip implements clientProtocol.
func (p http1Client) roundTrip(hc *HostClient, req *Request, resp *Response, since time.Duration) (untouched bool, err error) {
	cc, call := p.cc, &req.call
	cc.line.Sent = 0
	x := clientExchange{hc: hc, cc: cc, call: call, req: req, resp: resp}
	if since != 0 && cc.probesOnWrite(call) {
		x.probe = probePending
	}
	over := false
	defer func() {
		if !over {
			// a hook of the application has panicked
			x.abort()
		}
	}()
	if call.trace != nil {
		traceGotConn(call, cc.line.Net(), since)
	}
	if err = x.exchange(); err != nil {
		err = x.failed(err)
		x.abort()
	}
	over = true
	if err == nil {
		return false, nil
	}
	if call.outcome != attemptResponded && cc.line.Failed() {
		call.outcome = attemptLost
	}
	return x.isUntouched(err), err
}

// exchange sends the request and reads the response. It gives up the connection unless it returns
// an error.
func (x *clientExchange) exchange() error {
	h := &x.req.Header
	if h.isExtended() {
		// HTTP/1.1 has no such request
		x.call.outcome = attemptUnreached
		return ErrNoExtendedConnect
	}
	x.isHead, x.isConnect, x.closes = h.IsHead(), h.IsConnect(), h.ConnectionClose()
	x.encoding = x.req.encode(0)
	if x.call.ctx != nil {
		x.follows = x.cc.line.Guard.Follow(x.call.ctx, contextError)
	}
	err := x.send()
	if err == nil && x.cc.phases.Sending() == http1.Asking {
		err = x.awaitContinue()
	}
	if err != nil && !x.mayHaveResponse() {
		return err
	}
	if headErr := x.readHead(); headErr != nil {
		if err == nil {
			err = headErr
		}
		return err
	}
	if x.hc.ResponseHeaderTimeout > 0 {
		if canceled := x.cc.line.Guard.PassHead(); canceled != nil {
			return canceled
		}
	}
	x.resp.ParseNetConn(x.cc.line.Net())
	if x.streams() {
		return x.startStream()
	}
	if err := x.readBody(); err != nil {
		return err
	}
	if !x.switched() {
		x.cc.phases.Advance(http1.ResponseEnds)
	}
	// unsolicited bytes are not a response to the next request
	keep := x.keepsConn() && len(x.cc.line.Recv.Peek()) == 0
	if x.sender != nil {
		if err := x.finishSender(keep); err != nil {
			return err
		}
	}
	x.finish(keep)
	return nil
}

// keepsConn reports whether neither message ends the connection.
func (x *clientExchange) keepsConn() bool {
	return x.cc.head.KeepsAlive() && !x.frame.MustClose && !x.closes
}

// mayHaveResponse reports whether there may be an answer although the request could not
// be written to its end: a server that refuses a large body closes the connection in
// the middle of it. A response that was sent has arrived by then, so the wait is
// short.
func (x *clientExchange) mayHaveResponse() bool {
	cc := x.cc
	return cc.phases.Sending() == http1.SendFailed && cc.line.Sent > 0 && x.hc.limitDraining(&cc.line.Guard, x.call.deadline) == nil
}

// finishSender ends the sending of a request whose response is complete. wait is
// set if the connection could be reused then.
func (x *clientExchange) finishSender(wait bool) error {
	phase, err := x.sender.finish(wait)
	x.cc.line.Duplex = false
	switch phase {
	case http1.Sent:
		x.cc.phases.Advance(http1.SendEnds)
	case http1.SendFailed:
		x.cc.phases.Advance(http1.SendFails)
	default:
		x.cc.phases.Advance(http1.SendStops)
	}
	x.traceWrote(wroteRequest, err)
	if phase == http1.SendFailed && x.cc.line.WriteErr == nil {
		// the stream has failed, so the response may be to something other than the
		// request
		return err
	}
	return nil
}

// finish returns the connection to the pool, to be reused or to be closed.
func (x *clientExchange) finish(keep bool) {
	// if it is too late, the end of the context cancels the connection
	keep = x.follows.Stop() && keep && x.cc.phases.Reusable()
	if t := x.call.trace; keep && t != nil && t.PutIdleConn != nil {
		x.tracePutIdle(t.PutIdleConn)
	}
	x.released = true
	if keep && x.cc.phases.Advance(http1.NextRequest) {
		x.hc.keepConn(x.cc)
	} else {
		x.hc.CloseConn(x.cc)
	}
}

// tracePutIdle reports that the connection will be reused. If the hook panics, it is closed.
func (x *clientExchange) tracePutIdle(put func(error)) {
	panics := true
	defer func() {
		if panics {
			x.released = true
			x.hc.CloseConn(x.cc)
		}
	}()
	put(nil)
	panics = false
}

// abort ends an exchange that has failed.
func (x *clientExchange) abort() {
	if x.sender != nil {
		x.sender.Abandon()
	}
	if !x.released {
		x.finish(false)
	}
}

// failed returns the error that the call gets for err.
func (x *clientExchange) failed(err error) error {
	if canceled := x.cc.line.Guard.Err(); canceled != nil {
		return canceled
	}
	if x.sender != nil {
		if _, sendErr := x.sender.Ended(); sendErr != nil && x.cc.line.WriteErr == nil {
			return sendErr
		}
	}
	if isTimeout(err) {
		if canceled := x.call.canceled(); canceled != nil {
			return canceled
		}
		return ErrTimeout
	}
	return err
}

// limitWrite gives the request its deadline, and the response the same until the
// request is written.
func (x *clientExchange) limitWrite() error {
	deadline := x.call.deadline
	if timeout := x.hc.WriteTimeout; timeout > 0 {
		deadline = clock.Earliest(deadline, time.Now().Add(timeout))
	}
	return x.cc.line.Guard.LimitRequest(deadline)
}

// limitsResponses reports whether a response has other deadlines than its request.
func (c *HostClient) limitsResponses() bool {
	return c.ReadTimeout > 0 || c.WriteTimeout > 0 || c.ResponseHeaderTimeout > 0
}

// limitResponse gives the response to a request that was just written its deadlines,
// in a call with the deadline.
func (c *HostClient) limitResponse(g *clientconn.Guard, deadline time.Time) error {
	by := c.responseBy(deadline)
	if c.ResponseHeaderTimeout <= 0 {
		return g.LimitRead(by)
	}
	return g.LimitResponse(time.Now().Add(c.ResponseHeaderTimeout), by)
}

// limitDraining is limitResponse for a request that could not be written to its end: only
// a response that has arrived by then is of interest.
func (c *HostClient) limitDraining(g *clientconn.Guard, deadline time.Time) error {
	return g.LimitRead(clock.Earliest(c.responseBy(deadline), time.Now().Add(drainingTime)))
}

// responseBy returns the time by which the response to a request that was just written
// must have arrived, in a call with the deadline.
func (c *HostClient) responseBy(deadline time.Time) time.Time {
	if c.ReadTimeout <= 0 {
		return deadline
	}
	return clock.Earliest(deadline, time.Now().Add(c.ReadTimeout))
}

// drainingTime is how long responses are waited for after requests can no longer be
// sent.
const drainingTime = 250 * time.Millisecond

// clientConn is a connection of a client. A connection of a HostClient belongs to one
// call, or to one body stream, or it is idle and belongs to the pool.
type clientConn struct {
	line   clientconn.Conn
	phases http1.ClientConn
	// hasResponded is set once a response was received on the connection
	hasResponded bool
	// shared means that the protocol permits several users at once
	shared   bool
	protocol clientProtocol
	upstream string
	head     http1.Head // of the response in progress
	history  *connHistory
}

// connHistory is the history of a connection.
type connHistory struct {
	created time.Time
	lastUse time.Duration // since created; AcquireConn sets it for LastUseTime
}

// adoptConn returns a clientConn for conn, which a dial function has returned for
// addr.
func adoptConn(conn net.Conn, addr string, size int) *clientConn {
	cc := &clientConn{upstream: addr, history: &connHistory{created: time.Now()}}
	cc.line.Attach(conn, size)
	cc.phases.Open()
	cc.protocol = http1Client{cc}
	if remote := conn.RemoteAddr(); remote != nil {
		cc.upstream = remote.String()
	}
	return cc
}

// Conn returns the connection that HTTP is spoken through: a *tls.Conn if the client
// speaks TLS.
func (cc *clientConn) Conn() net.Conn { return cc.line.Net() }

// CreatedTime returns when the connection was established.
func (cc *clientConn) CreatedTime() time.Time { return cc.history.created }

// LastUseTime returns when the connection last became idle; for a new one, when
// it was established.
func (cc *clientConn) LastUseTime() time.Time { return cc.history.created.Add(cc.history.lastUse) }

// Close closes the connection.
func (cc *clientConn) Close() error { return cc.protocol.Close() }

func (cc *clientConn) reserve() bool { return cc.protocol.reserve() }

// probesOnWrite reports whether a call checks an idle connection when it writes the
// request, which costs less, rather than before the trace or the caller gets the
// connection.
func (cc *clientConn) probesOnWrite(call *callState) bool {
	return cc.line.CanRoundTrip() && call.trace == nil && call.purpose != callAcquires
}

// clientProtocol is the protocol of one connection. It is chosen when the connection
// was established, and with TLS when the two sides have agreed on it.
type clientProtocol interface {
	attempter
	// pooled is called for a shared connection once the pool knows that.
	pooled()
	// reserve makes one more reservation, if there is room, and reports whether there
	// was. It must not wait: the pool holds its lock.
	reserve() bool
	// Close closes the connection.
	Close() error
}

// attempter sends a request once.
type attempter interface {
	// roundTrip sends req and fills resp, on a connection that the pool of hc has
	// given to the caller. since is when it became idle, on the clock, and zero for a
	// new one. roundTrip always gives up the connection, or the reservation, before
	// it returns: to the pool, or to the stream of a body.
	//
	// untouched reports whether a request that has failed may be sent again whatever
	// its method, since the server has not processed it.
	roundTrip(hc *HostClient, req *Request, resp *Response, since time.Duration) (untouched bool, err error)
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

// pooled implements clientProtocol.
func (http1Client) pooled() {}

// reserve implements clientProtocol: the holder of the connection has the only
// reservation.
func (http1Client) reserve() bool { return false }

// Close implements clientProtocol.
func (p http1Client) Close() error {
	return p.cc.line.Close()
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
