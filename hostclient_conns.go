package fasthttp

import (
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/connpool"
	"github.com/valyala/fasthttp/internal/dial"
	"github.com/valyala/fasthttp/internal/patience"
)

// connFor returns the kind of connection that a request needs, if there are several. A request that asks for another
// protocol by Upgrade, which HTTP/2 has not (RFC 9113 section 8.6), needs one of HTTP/1.1, unless
// its caller could not use the connection, or c may not speak HTTP/1.1.
func (c *HostClient) connFor(req *Request, resp *Response) connpool.Need {
	if req.call.content != contentAsSet || !resp.StreamBody && !c.StreamResponseBody || !c.Protocols.HTTP1() ||
		!req.Header.ConnectionUpgrade() || len(req.Header.Peek(HeaderUpgrade)) == 0 {
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
	first := c.nextAddr.Add(1) - 1
	for i := range uint32(len(c.addrs)) {
		addr := c.addrs[(first+i)%uint32(len(c.addrs))]
		call.upstream = addr
		if cc, late, err = c.connectTo(call, addr); err == nil || late {
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

func (c *HostClient) connectTo(call *callState, addr string) (*clientConn, bool, error) {
	config, err := c.tlsConfig(addr)
	if err != nil {
		return nil, false, err
	}
	conn, late, err := c.dial(call, addr)
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

// dial connects to addr with the configured dial function.
func (c *HostClient) dial(call *callState, addr string) (conn net.Conn, late bool, err error) {
	var timeout time.Duration
	if !call.deadline.IsZero() {
		if timeout = time.Until(call.deadline); timeout <= 0 {
			return nil, false, ErrTimeout
		}
	}
	var connect func() (net.Conn, error)
	switch {
	case c.DialContext != nil:
		conn, err := c.dialContext(call, 0, addr, c.DialContext)
		if err == nil && conn == nil {
			err = errNoConn
		}
		return conn, false, err
	case c.DialTimeout != nil:
		connect = func() (net.Conn, error) { return c.DialTimeout(addr, timeout) }
	case c.Dial != nil:
		connect = func() (net.Conn, error) { return c.Dial(addr) }
	default:
		conn, err := c.dialContext(call, patience.Dial, addr, defaultDialer.DialContext)
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
	switch {
	case conn == nil || err != nil:
		c.pool.ReleaseLatePlace()
	case c.IsTLS || c.h2 != nil:
		_ = conn.Close()
		c.pool.ReleaseLatePlace()
	default:
		c.pool.Put(adoptConn(conn, addr, c.readSize()), clock.Elapsed())
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
