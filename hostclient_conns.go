package fasthttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/connpool"
)

// splitAddrs returns the addresses of HostClient.Addr. Those for a dial function
// of the application are left as they are: they may be paths of Unix sockets, or
// nothing at all where the function knows where to connect to.
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

// care says what becomes of a request that the server has ended the connection
// for, and so whether a connection that was used a moment ago is looked at.
type care uint8

const (
	// repeatable requests are sent again in any case.
	repeatable care = iota
	// delicate requests are sent again where it can be told that the peer has
	// taken in nothing.
	delicate
	// unique requests cannot be sent again.
	unique
)

func careFor(req *Request) care {
	switch {
	case req.IsBodyStream():
		return unique
	case isIdempotent(req):
		return repeatable
	}
	return delicate
}

// acquire returns a connection for the caller alone.
func (c *HostClient) acquire(call *callState, of care) (*clientConn, error) {
	if call.trace != nil {
		traceGetConn(call, c.Addr)
	}
	now := clock.Now()
	c.lastUse.Store(now.UnixNano())
	g, ok := c.pool.TryGet()
	if !ok {
		var err error
		if g, err = c.await(call); err != nil {
			return nil, err
		}
		now = clock.Now()
	}
	for g.Found {
		cc := g.Conn
		if c.usable(cc, now, g.Since, of) {
			if call.trace != nil {
				traceGotConn(call, cc.conn, g.Since)
			}
			return cc, nil
		}
		_ = cc.Close()
		if g, ok = c.pool.TakeIdle(); !ok {
			break
		}
	}
	return c.open(call)
}

// await waits for a connection.
func (c *HostClient) await(call *callState) (connpool.Grant[*clientConn], error) {
	until := call.deadline
	if c.MaxConnWaitTimeout > 0 {
		until = earliest(until, time.Now().Add(c.MaxConnWaitTimeout))
	}
	g, err := c.pool.Get(until, call.done())
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

// usable tells whether an idle connection may be used.
func (c *HostClient) usable(cc *clientConn, now, since time.Time, of care) bool {
	idle := now.Sub(since)
	if idle >= c.maxIdle() || c.MaxConnDuration > 0 && now.Sub(cc.created) >= c.MaxConnDuration {
		return false
	}
	safe := of == repeatable || of == delicate && cc.probe.Tells()
	if safe && idle < recent && !cc.secure && !c.distrust.Load() {
		return true
	}
	if cc.quiet() {
		return true
	}
	c.distrust.Store(true)
	return false
}

// open opens a connection in a place of the pool that the caller holds.
func (c *HostClient) open(call *callState) (*clientConn, error) {
	cc, late, err := c.connect(call)
	if err != nil {
		if !late {
			c.pool.Drop()
		}
		return nil, err
	}
	if call.trace != nil {
		traceGotConn(call, cc.conn, time.Time{})
	}
	return cc, nil
}

// connect establishes a connection. With late, somebody else holds the place.
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
	conn, late, err := c.dial(call, addr)
	if err != nil {
		return nil, late, err
	}
	plain := conn
	if c.IsTLS {
		if conn, err = c.handshake(call, plain, addr); err != nil {
			_ = plain.Close()
			return nil, false, err
		}
	}
	return c.adopt(conn, plain, addr), false, nil
}

// adopt makes a connection one of c. plain is what is below its TLS.
func (c *HostClient) adopt(conn, plain net.Conn, addr string) *clientConn {
	now := time.Now()
	cc := &clientConn{conn: conn, secure: conn != plain, upstream: addr, created: now, lastUse: now, size: c.readSize(), memo: new(memo)}
	if remote := plain.RemoteAddr(); remote != nil {
		cc.upstream = remote.String()
	}
	cc.probe.Attach(plain)
	return cc
}

// dial connects to addr by the means that are configured.
func (c *HostClient) dial(call *callState, addr string) (conn net.Conn, late bool, err error) {
	var timeout time.Duration
	if !call.deadline.IsZero() {
		if timeout = time.Until(call.deadline); timeout <= 0 {
			return nil, false, ErrTimeout
		}
	}
	var dial func() (net.Conn, error)
	switch {
	case c.DialContext != nil:
		conn, err := c.dialContext(call, 0, addr, c.DialContext)
		if err == nil && conn == nil {
			err = errNoConn
		}
		return conn, false, err
	case c.DialTimeout != nil:
		dial = func() (net.Conn, error) { return c.DialTimeout(addr, timeout) }
	case c.Dial != nil:
		dial = func() (net.Conn, error) { return c.Dial(addr) }
	default:
		conn, err := c.dialContext(call, DefaultDialTimeout, addr, defaultDialer.DialContext)
		return conn, false, err
	}
	if call.done() != nil || c.DialTimeout == nil && timeout > 0 {
		conn, late, err = c.dialAside(call, addr, timeout, dial)
	} else {
		conn, err = dial()
	}
	if err == nil && conn == nil {
		err = errNoConn
	}
	return conn, late, err
}

var errNoConn = errors.New("fasthttp: the dial function returned neither a connection nor an error")

// dialAside dials with a function that cannot be interrupted, on a goroutine of
// its own, since the caller may not have the time to wait for it. A connection
// that comes too late takes the place in the pool, for whoever is next.
func (c *HostClient) dialAside(call *callState, addr string, timeout time.Duration, dial func() (net.Conn, error)) (net.Conn, bool, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	var mu sync.Mutex
	left := false
	done := make(chan result, 1)
	go func() {
		conn, err := dial()
		mu.Lock()
		defer mu.Unlock()
		if !left {
			done <- result{conn, err}
			return
		}
		if err == nil && conn != nil && !c.IsTLS {
			c.pool.Put(c.adopt(conn, conn, addr), clock.Now())
			return
		}
		if err == nil && conn != nil {
			_ = conn.Close()
		}
		c.pool.Drop()
	}()
	var expired <-chan time.Time
	if timeout > 0 {
		timer := AcquireTimer(timeout)
		defer ReleaseTimer(timer)
		expired = timer.C
	}
	var err error
	select {
	case r := <-done:
		return r.conn, false, r.err
	case <-expired:
		err = ErrTimeout
	case <-call.done():
		err = call.canceled()
	}
	mu.Lock()
	defer mu.Unlock()
	select {
	case r := <-done:
		return r.conn, false, r.err
	default:
		left = true
		return nil, true, err
	}
}

// clientTLS is the configurations of a HostClient, one for each address.
type clientTLS struct {
	mu      sync.Mutex
	configs map[string]*tls.Config
}

// tlsConfig returns the configuration for an address. Nothing about an address,
// however strange, makes it less strict.
func (c *HostClient) tlsConfig(addr string) *tls.Config {
	c.tls.mu.Lock()
	defer c.tls.mu.Unlock()
	if config := c.tls.configs[addr]; config != nil {
		return config
	}
	config := &tls.Config{}
	if c.TLSConfig != nil {
		config = c.TLSConfig.Clone()
	}
	if config.ServerName == "" {
		config.ServerName = serverName(AddMissingPort(addr, true))
	}
	if config.ClientSessionCache == nil {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	if config.NextProtos == nil {
		config.NextProtos = []string{"http/1.1"}
	}
	if c.tls.configs == nil {
		c.tls.configs = make(map[string]*tls.Config)
	}
	c.tls.configs[addr] = config
	return config
}

// serverName returns the name that the certificate of an address must be for.
func serverName(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		// no certificate is for such a name
		return addr
	}
	return host
}

// handshakeTimeout limits a TLS handshake of a call without a deadline.
const handshakeTimeout = 10 * time.Second

// handshake makes conn one with TLS.
func (c *HostClient) handshake(call *callState, conn net.Conn, addr string) (net.Conn, error) {
	if t := call.trace; t != nil && t.TLSHandshakeStart != nil {
		t.TLSHandshakeStart()
	}
	secure := tls.Client(conn, c.tlsConfig(addr))
	_ = conn.SetDeadline(earliest(call.deadline, time.Now().Add(c.tlsTimeout())))
	ctx := call.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	err := secure.HandshakeContext(ctx)
	state := secure.ConnectionState()
	if err == nil && state.NegotiatedProtocol != "" && state.NegotiatedProtocol != "http/1.1" {
		err = fmt.Errorf("fasthttp: the server speaks %s, not HTTP/1.1", state.NegotiatedProtocol)
	}
	switch canceled := call.canceled(); {
	case err == nil:
		err = conn.SetDeadline(time.Time{})
	case canceled != nil:
		err = canceled
	case isTimeout(err):
		err = ErrTLSHandshakeTimeout
	}
	if t := call.trace; t != nil && t.TLSHandshakeDone != nil {
		t.TLSHandshakeDone(state, err)
	}
	if err != nil {
		return nil, err
	}
	return secure, nil
}
