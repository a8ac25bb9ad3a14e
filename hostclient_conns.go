package fasthttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/connpool"
	"github.com/valyala/fasthttp/internal/dial"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/patience"
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
		p, since, err := t.connect(hc, req, resp)
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
func (t *transport) connect(hc *HostClient, req *Request, resp *Response) (attempter, time.Duration, error) {
	if t.h3 != nil {
		return t.h3.connect(hc, req)
	}
	if hc.h2 != nil && (resp.StreamBody || hc.StreamResponseBody) {
		req.call.need = hc.connFor(req)
	}
	cc, since, err := hc.acquire(&req.call)
	if err != nil {
		return nil, since, err
	}
	req.call.upstream = cc.upstream
	return cc.protocol, since, nil
}

// roundTripAlone is RoundTrip for a caller other than a HostClient. ctx may be nil.
func (t *transport) roundTripAlone(ctx context.Context, hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	if err := hc.ready(); err != nil {
		return false, err
	}
	req.call = callState{purpose: callSends}
	defer func() {
		req.call = callState{}
		_ = req.body.CloseStream()
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

// connFor returns the kind of connection that a request needs whose response may be a stream. If it
// asks for another protocol by Upgrade, which HTTP/2 has not (RFC 9113 section 8.6), that is one of
// HTTP/1.1, unless its caller could not use the connection, or c may not speak HTTP/1.1.
func (c *HostClient) connFor(req *Request) connpool.Need {
	if req.call.content != contentAsSet || !c.Protocols.HTTP1() || !req.Header.ConnectionUpgrade() || len(req.Header.Peek(HeaderUpgrade)) == 0 {
		return connpool.Any
	}
	return connpool.Own
}

// splitAddrs returns the addresses of HostClient.Addr. Addresses for a dial function
// of the application are left as they are: they may be paths of Unix sockets, or
// empty if the function knows where to connect to.
func (c *HostClient) splitAddrs() (addrs []string) {
	custom := c.dialsItself()
	for addr := range strings.SplitSeq(c.Addr, ",") {
		addr = strings.TrimSpace(addr)
		switch {
		case addr == "":
		case custom:
			addrs = append(addrs, addr)
		default:
			addrs = append(addrs, AddMissingPort(addr, c.IsTLS))
		}
	}
	if custom && len(addrs) == 0 {
		return []string{""}
	}
	return addrs
}

// acquire returns a connection for the call, and the time of the clock since which it
// is idle, zero for a new one.
func (c *HostClient) acquire(call *callState) (cc *clientConn, since time.Duration, err error) {
	if call.trace != nil {
		traceGetConn(call, c.Addr)
	}
	now := clock.Elapsed()
	c.lastUse.Store(int64(now))
	g, ok := c.pool.TryGet(call.need)
	if !ok {
		if g, err = c.await(call); err != nil {
			return nil, since, err
		}
		now = clock.Elapsed()
	}
	for g.Found {
		if cc = g.Conn; c.usable(call, cc, now, g.Since) {
			return cc, g.Since, nil
		}
		if g, ok = c.pool.Replace(cc, call.need); !ok {
			if g, err = c.await(call); err != nil {
				return nil, since, err
			}
			now = clock.Elapsed()
		}
	}
	cc, err = c.open(call)
	return cc, since, err
}

// await waits for a connection.
func (c *HostClient) await(call *callState) (connpool.Grant[*clientConn], error) {
	until := call.deadline
	if c.MaxConnWaitTimeout > 0 {
		until = clock.Earliest(until, time.Now().Add(c.MaxConnWaitTimeout))
	}
	g, err := c.pool.Get(call.need, until, call.done())
	switch {
	case err == nil:
		return g, nil
	case err == connpool.ErrCanceled:
		return g, call.canceled()
	case until.Equal(call.deadline):
		return g, ErrTimeout
	}
	return g, ErrNoFreeConns
}

// usable reports whether an idle connection may be used. Every one is checked, here
// or before the request is written (see probesOnWrite): the server may have closed it,
// or sent unsolicited bytes, a moment ago.
func (c *HostClient) usable(call *callState, cc *clientConn, now, since time.Duration) bool {
	if now-since >= c.pool.MaxIdle || c.MaxConnDuration > 0 && clock.At(now).Sub(cc.history.created) >= c.MaxConnDuration {
		return false
	}
	return cc.shared || cc.probesOnWrite(call) || cc.line.IsQuiet()
}

// open opens a connection in a place of the pool that the caller holds.
func (c *HostClient) open(call *callState) (cc *clientConn, err error) {
	holds := true
	defer func() {
		// even if a function of the application panics
		if holds {
			c.pool.ReleasePlace(call.need)
		}
	}()
	cc, late, err := c.connect(call)
	holds = err != nil && !late
	if late {
		c.pool.MarkLate(call.need)
	}
	if err == nil && cc.shared {
		c.pool.Share(cc)
		cc.protocol.pooled()
	}
	return cc, err
}

// connect establishes a connection. If late is set, the dial continues and holds the
// place.
func (c *HostClient) connect(call *callState) (cc *clientConn, late bool, err error) {
	if len(c.addrs) == 0 {
		return nil, false, errNoAddr
	}
	first, n := c.nextAddr.Add(1)-1, uint32(len(c.addrs))
	for i := range n {
		addr := c.addrs[(first+i)%n]
		call.upstream = addr
		by := dial.Share(call.deadline, int(n-i))
		if cc, late, err = c.connectTo(call, addr, by); err == nil || late {
			return cc, late, err
		}
		if canceled := call.canceled(); canceled != nil {
			return nil, false, canceled
		}
		if call.expired() {
			if err != ErrTLSHandshakeTimeout {
				err = ErrTimeout
			}
			break
		}
	}
	return nil, false, err
}

var errNoAddr = errors.New("fasthttp: HostClient.Addr is empty")

// connectTo establishes a connection to addr, which is dialed before the time by unless it is zero.
func (c *HostClient) connectTo(call *callState, addr string, by time.Time) (*clientConn, bool, error) {
	config, err := c.tlsConfig(addr)
	if err != nil {
		return nil, false, err
	}
	conn, late, err := c.dial(call, addr, by)
	if err != nil {
		return nil, late, err
	}
	cc := adoptConn(conn, addr, c.readSize())
	switch {
	case config != nil:
		err = c.secure(call, cc, config)
	case c.h2 != nil:
		c.beginHTTP2(cc)
	}
	return cc, false, err
}

// secure starts TLS on cc, or closes it.
func (c *HostClient) secure(call *callState, cc *clientConn, config *tls.Config) (err error) {
	done := false
	defer func() {
		if !done || err != nil {
			_ = cc.Close()
		}
	}()
	if t := call.trace; t != nil && t.TLSHandshakeStart != nil {
		t.TLSHandshakeStart()
	}
	if call.need == connpool.Own {
		config = withoutHTTP2(config)
	}
	stop := cc.line.Guard.Watch(call.ctx, contextError)
	by := clock.Earliest(call.deadline, time.Now().Add(c.tlsTimeout()))
	var http2 bool
	state, err := cc.handshake(call.ctx, config, by, func(negotiated string) (err error) {
		http2, err = c.agree(negotiated, call.need)
		return err
	})
	if stop != nil && !stop() && err == nil {
		err = call.canceled()
	}
	if t := call.trace; t != nil && t.TLSHandshakeDone != nil {
		t.TLSHandshakeDone(state, err)
	}
	if err == nil && http2 {
		c.beginHTTP2(cc)
	}
	done = true
	return err
}

// dial connects to addr with the configured dial function, before the time by. Dial, which does not
// get the time, may take all that the call has left, since it may hold its place in the pool.
func (c *HostClient) dial(call *callState, addr string, by time.Time) (conn net.Conn, late bool, err error) {
	var timeout, share time.Duration
	if !call.deadline.IsZero() {
		if timeout = time.Until(call.deadline); timeout <= 0 {
			return nil, false, ErrTimeout
		}
		share = max(time.Until(by), 1)
	}
	var connect func() (net.Conn, error)
	switch {
	case c.DialContext != nil:
		conn, err := c.dialContext(call, by, addr, c.DialContext)
		if err == nil && conn == nil {
			err = errNoConn
		}
		return conn, false, err
	case c.DialTimeout != nil:
		connect = func() (net.Conn, error) { return c.DialTimeout(addr, share) }
	case c.Dial != nil:
		connect = func() (net.Conn, error) { return c.Dial(addr) }
	default:
		conn, err := c.dialContext(call, clock.Earliest(by, time.Now().Add(patience.Dial)), addr, defaultDialer.DialContext)
		return conn, false, err
	}
	if call.done() != nil || c.DialTimeout == nil && timeout > 0 {
		conn, late, err = c.dialUninterruptible(call, addr, timeout, connect)
	} else {
		conn, err = connect()
	}
	if err == nil && conn == nil {
		err = errNoConn
	}
	return conn, late, err
}

var errNoConn = errors.New("fasthttp: the dial function returned neither a connection nor an error")

// dialUninterruptible dials with a function that cannot be interrupted. A late connection takes
// the place in the pool, for the next call.
func (c *HostClient) dialUninterruptible(call *callState, addr string, timeout time.Duration, connect func() (net.Conn, error)) (net.Conn, bool, error) {
	aside := dial.Uninterruptible{
		Dial: connect, WrapPanic: passPanic,
		Late: func(conn net.Conn, err error) { c.keepLate(conn, err, addr) },
	}
	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	conn, late, err := aside.Run(expired, call.done())
	if late {
		if err = call.canceled(); err == nil {
			err = ErrTimeout
		}
	}
	return conn, late, err
}

// keepLate takes a connection that was established too late for its call.
func (c *HostClient) keepLate(conn net.Conn, err error, addr string) {
	kept := false
	defer func() {
		if !kept {
			// of a connection of the application: nothing else recovers a panic on this goroutine
			_ = recover()
			c.pool.ReleaseLatePlace()
		}
	}()
	switch {
	case conn == nil || err != nil:
	case c.IsTLS || c.h2 != nil:
		_ = conn.Close()
	default:
		cc := adoptConn(conn, addr, c.readSize())
		kept = true
		c.pool.Put(cc, clock.Elapsed())
	}
}

// tlsConfig returns the configuration for an address, which is nil without TLS.
func (c *HostClient) tlsConfig(addr string) (*tls.Config, error) {
	if !c.IsTLS {
		return nil, nil
	}
	return c.tls.For(c.TLSConfig, addr, c.protocolNames)
}

// withoutHTTP2 returns a copy of config that does not offer HTTP/2: a server that may choose
// HTTP/2 does so.
func withoutHTTP2(config *tls.Config) *tls.Config {
	config = config.Clone()
	config.NextProtos = slices.DeleteFunc(slices.Clone(config.NextProtos), func(name string) bool { return name == "h2" })
	return config
}

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
func (cc *clientConn) Conn() net.Conn { return cc.line.Net }

// CreatedTime returns when the connection was established.
func (cc *clientConn) CreatedTime() time.Time { return cc.history.created }

// LastUseTime returns when the connection last became idle; for a new one, when
// it was established.
func (cc *clientConn) LastUseTime() time.Time { return cc.history.created.Add(cc.history.lastUse) }

// Close closes the connection.
func (cc *clientConn) Close() error { return cc.protocol.Close() }

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

// limitsResponses reports whether a response has other deadlines than its request.
func (c *HostClient) limitsResponses() bool {
	return c.ReadTimeout > 0 || c.WriteTimeout > 0 || c.ResponseHeaderTimeout > 0
}

// limitResponse gives the response to a request that was just written its deadlines, if they
// differ from those of the request, in a call with the deadline.
func (c *HostClient) limitResponse(g *clientconn.Guard, deadline time.Time) error {
	switch {
	case c.ResponseHeaderTimeout > 0:
		return g.LimitResponse(time.Now().Add(c.ResponseHeaderTimeout), c.responseBy(deadline))
	case c.ReadTimeout > 0 || c.WriteTimeout > 0:
		return g.LimitRead(c.responseBy(deadline))
	}
	return nil
}

// limitDraining sets the deadline of the response to a request that could not be written to its
// end: only a response that has arrived by then is of interest.
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
