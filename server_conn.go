package fasthttp

import (
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// ConnState is a state of a server's connection, as Server.ConnState is told.
type ConnState int

const (
	// StateNew is the state of a connection that was accepted and has not sent
	// anything yet. StateActive or StateClosed comes next.
	StateNew ConnState = iota

	// StateActive begins with the first byte of a request and ends when it was
	// answered. StateIdle, StateHijacked or StateClosed comes next.
	StateActive

	// StateIdle is the state of a connection that waits for its next request.
	// StateActive or StateClosed comes next.
	StateIdle

	// StateHijacked is the state of a connection that was handed to a
	// HijackHandler. It is the last one.
	StateHijacked

	// StateClosed is the state of a closed connection. It is the last one.
	StateClosed
)

// String returns the name of the state.
func (c ConnState) String() string {
	switch c {
	case StateNew:
		return "new"
	case StateActive:
		return "active"
	case StateIdle:
		return "idle"
	case StateHijacked:
		return "hijacked"
	case StateClosed:
		return "closed"
	}
	return ""
}

var connIDs atomic.Uint64

// serverConn is what a server knows of a connection all its life long.
type serverConn struct {
	s        *Server
	nc       net.Conn
	id       uint64
	opened   time.Duration   // from processBegan
	done     <-chan struct{} // closed when the server shuts down
	requests uint64
	empty    uint8 // bytes of empty lines since the last request
	isTLS    bool

	// waiting reports whether the connection waits for a request, so that a
	// shutdown may close it: see claim
	waiting atomic.Int32
	looks   uint8       // how often shutdowns have found it asked
	aborted bool        // cut it off instead of ending it in order
	pinned  atomic.Bool // somebody may still ask for it, so it is not used again

	prev, next *serverConn
	ip         netip.Addr // where it counts for MaxConnsPerIP
}

// The values of serverConn.waiting.
const (
	connBusy    int32 = iota
	connShaking       // for the end of a TLS handshake, or of what stands before
	connWaiting       // for a request
	connAsking        // the same, and a shutdown is about to end the wait
	connAsked         // the same: a shutdown wants to know whether there is a request
	connClaimed       // by a shutdown, which closes it
)

var serverConns = sync.Pool{New: func() any { return new(serverConn) }}

// openConn registers a connection that was accepted.
func (s *Server) openConn(nc net.Conn, ip netip.Addr) *serverConn {
	c := serverConns.Get().(*serverConn)
	s.register(c, nc, ip)
	return c
}

// register enters a connection into the books.
func (s *Server) register(c *serverConn, nc net.Conn, ip netip.Addr) {
	c.s, c.nc, c.ip = s, nc, ip
	_, c.isTLS = nc.(connTLSer)
	c.id = connIDs.Add(1)
	c.opened = time.Since(processBegan)
	c.requests, c.empty, c.aborted = 0, 0, false
	c.pinned.Store(s.ConnState != nil)
	c.looks = 0
	c.waiting.Store(connWaiting)
	if c.isTLS || s.awaitsHeader(nc) {
		c.waiting.Store(connShaking)
	}
	c.done = *s.done.Load()
	s.open.Add(1)
	s.shardOf(c).add(c)
	s.setState(c, StateNew)
}

// neverBegan reports whether a connection has not sent a single byte, where the time
// for that was ReadTimeout or ReadHeaderTimeout: then the end of that time is
// answered. The end of IdleTimeout is not, nor is that of a wait for another request.
func (c *serverConn) neverBegan() bool {
	return c.requests == 0 && c.empty == 0 && c.s.headTimeout() > 0
}

// pin keeps the connection from becoming another one, since somebody may ask for
// it from now on. What is asked for when it has ended is its addresses.
func (c *serverConn) pin() {
	c.pinned.Store(true)
	// an engine that asks the system for them knows them then
	_, _ = c.nc.RemoteAddr(), c.nc.LocalAddr()
}

// connShards is the number of lists that the connections of a server are spread
// over, so that those who come and go on all processors do not queue up for one
// lock.
const connShards = 16

// connShard is one list of connections, on cache lines of its own.
type connShard struct {
	mu     sync.Mutex
	first  *serverConn
	bodies *heldBody // that are arriving
	_      [104]byte
}

func (s *Server) shardOf(c *serverConn) *connShard { return &s.conns[c.id%connShards] }

func (l *connShard) add(c *serverConn) {
	l.mu.Lock()
	if c.next = l.first; c.next != nil {
		c.next.prev = c
	}
	l.first = c
	l.mu.Unlock()
}

func (l *connShard) remove(c *serverConn) {
	l.mu.Lock()
	if c.next != nil {
		c.next.prev = c.prev
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		l.first = c.next
	}
	c.prev, c.next = nil, nil
	l.mu.Unlock()
}

// closeConn closes a connection of the portable engine and forgets it.
func (s *Server) closeConn(c *serverConn) error {
	nc := c.nc
	if c.aborted {
		// a reset tells the peer that the message was cut off, whatever its
		// framing; so does TLS that does not end in order
		nc = transportOf(nc)
		if tcp, ok := nc.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	}
	err := nc.Close()
	s.setState(c, StateClosed)
	s.forgetConn(c)
	return err
}

// forgetConn takes a connection of the portable engine out of the books.
func (s *Server) forgetConn(c *serverConn) {
	// a shutdown may still be about to ask
	_ = c.asked()
	s.unregister(c)
	if c.pinned.Load() {
		return
	}
	c.nc, c.s = nil, nil
	serverConns.Put(c)
}

// unregister takes a connection out of the books.
func (s *Server) unregister(c *serverConn) {
	s.shardOf(c).remove(c)
	s.serving.Add(^uint32(0))
	if c.ip.IsValid() {
		s.mu.Lock()
		s.perIP.release(c.ip)
		s.mu.Unlock()
	}
	// a shutdown that is not seen here sees that the connection has gone
	if s.open.Add(-1) == 0 && s.stopping.Load() {
		s.mu.Lock()
		s.checkDrained()
		s.mu.Unlock()
	}
}

// idleClaimer is the connection of an engine that knows by itself whether it
// is idle.
type idleClaimer interface {
	claimIdle() (closeIt func())
}

// claimIdle makes a connection that waits for a request the caller's, who is to
// call closeIt without holding a lock of the server. It is nil for a busy connection.
func (c *serverConn) claimIdle() (closeIt func()) {
	if own, ok := c.nc.(idleClaimer); ok {
		return own.claimIdle()
	}
	nc := c.nc
	switch c.waiting.Load() {
	case connShaking:
		// a request can be right behind the handshake
		c.waiting.CompareAndSwap(connShaking, connAsked)
		return nil
	case connWaiting:
		if !c.waiting.CompareAndSwap(connWaiting, connAsking) {
			return nil
		}
		// until it is said that it is asked, the connection does not go away
		return func() {
			err := nc.SetReadDeadline(time.Unix(1, 0))
			if err != nil {
				c.waiting.Store(connClaimed)
				_ = nc.Close()
				return
			}
			c.waiting.Store(connAsked)
		}
	case connAsked:
		if c.looks++; c.looks < maxLooks || !c.claim() {
			return nil
		}
		// the goroutine that reads from it sees the end and cleans up; saying
		// goodbye on a TLS connection may take until the peer listens
		return func() { go nc.Close() }
	}
	return nil
}

// maxLooks is how many rounds of a shutdown a connection may take to say whether
// there is a request: it may be in a handshake, or have no deadlines.
const maxLooks = 5

// setWaiting says that the connection waits for a request.
func (c *serverConn) setWaiting() {
	c.waiting.Store(connWaiting)
	if c.s.stopping.Load() {
		c.waiting.CompareAndSwap(connWaiting, connAsked)
	}
}

// setBusy says that the first bytes of a request are there. It is false if a
// shutdown has claimed the connection. asked says that one has asked: its deadline
// is that of the connection then.
func (c *serverConn) setBusy() (ok, asked bool) {
	for {
		switch now := c.waiting.Load(); now {
		case connBusy:
			return true, false
		case connClaimed:
			return false, false
		case connAsking:
			runtime.Gosched()
		default:
			if c.waiting.CompareAndSwap(now, connBusy) {
				return true, now == connAsked
			}
		}
	}
}

// asked reports whether a shutdown wants to know whether there is a request.
func (c *serverConn) asked() bool {
	for c.waiting.Load() == connAsking {
		runtime.Gosched()
	}
	return c.waiting.Load() == connAsked
}

// claim reports whether the connection, which a shutdown has asked, has no request
// and now belongs to the caller, who closes it.
func (c *serverConn) claim() bool {
	return c.waiting.CompareAndSwap(connAsked, connClaimed)
}

func (c *serverConn) claimed() bool { return c.waiting.Load() == connClaimed }

func (s *Server) setState(c *serverConn, state ConnState) {
	if s.ConnState == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			s.logger().Printf("fasthttp: panic in ConnState: %v\n%s", p, debug.Stack())
		}
	}()
	s.ConnState(c.nc, state)
}

// perIPCounter counts the connections of each address. It holds no address
// without a connection.
type perIPCounter map[netip.Addr]int

// acquire counts a connection, unless there are limit of them.
func (p *perIPCounter) acquire(ip netip.Addr, limit int) bool {
	if *p == nil {
		*p = make(perIPCounter)
	}
	if (*p)[ip] >= limit {
		return false
	}
	(*p)[ip]++
	return true
}

func (p perIPCounter) release(ip netip.Addr) {
	if p[ip]--; p[ip] <= 0 {
		delete(p, ip)
	}
}

// connIP returns the address that stands for the peer in MaxConnsPerIP, which is not
// valid where it has none.
func connIP(nc net.Conn) netip.Addr { return hostOf(addrOf(nc.RemoteAddr())) }

// addrOf returns the IP address of a network address, without a zone. It is not
// valid if there is none.
func addrOf(addr net.Addr) netip.Addr {
	switch a := addr.(type) {
	case *net.TCPAddr:
		ip, _ := netip.AddrFromSlice(a.IP)
		return ip.Unmap()
	case nil:
		return netip.Addr{}
	default:
		ap, err := netip.ParseAddrPort(a.String())
		if err != nil {
			return netip.Addr{}
		}
		return ap.Addr().Unmap().WithZone("")
	}
}

// translated are the IPv6 addresses that stand for IPv4 ones (RFC 6052 section 2.1).
var translated = netip.MustParsePrefix("64:ff9b::/96")

// hostOf returns the address that stands for all those that one host may have: of
// IPv6 that is the first one of its network of 64 bits (RFC 4291 section 2.5.4), any
// address of which is at the disposal of whoever has one. All link-local addresses are
// in one such network, so they stand for themselves.
func hostOf(ip netip.Addr) netip.Addr {
	ip = ip.Unmap()
	switch {
	case !ip.Is6() || ip.IsLinkLocalUnicast():
		return ip
	case translated.Contains(ip):
		b := ip.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	network, _ := ip.WithZone("").Prefix(64)
	return network.Addr()
}
