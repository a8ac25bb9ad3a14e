package fasthttp

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/engine"
)

// host is a Server as its engines see it.
type host Server

var _ engine.Host = (*host)(nil)

var h1Conns = sync.Pool{New: func() any { return newH1Conn() }}

// prepareConns puts the settings into the set of connections.
func (s *Server) prepareConns() {
	s.conns.Host = (*host)(s)
	s.conns.IdleWorker = max(s.MaxIdleWorkerDuration, 0)
	s.conns.Limits = engine.Limits{Handshake: s.handshakeTimeout(), First: s.set.firstTimeout, Idle: s.set.idleTimeout, Answered: s.set.headTimeout > 0}
	s.conns.Watched = s.ConnState != nil
	s.conns.Renew()
}

// Lend implements engine.Host.
func (h *host) Lend(c *engine.Conn, l engine.Link, last engine.Protocol) engine.Protocol {
	s := (*Server)(h)
	if c.Variant == variantHTTP2 || s.set.onlyHTTP2 && !c.IsTLS {
		return newH2Conn(s, c, l)
	}
	own, _ := last.(*h1Conn)
	switch {
	case own != nil:
	case l.KeepsSpace():
		own = s.restedConn()
	default:
		own = h1Conns.Get().(*h1Conn)
	}
	own.attach(s, c, l)
	return own
}

// Return implements engine.Host.
func (h *host) Return(p engine.Protocol, reuse bool) (last engine.Protocol, fault error) {
	if over, ok := p.(*h2Conn); ok {
		return nil, over.release()
	}
	own := p.(*h1Conn)
	fault = own.fault
	own.endKeeping()
	if reuse && own.reusable() {
		if !own.link.KeepsSpace() || !(*Server)(h).hasMany() {
			return own, fault
		}
		own.putAway()
		return nil, fault
	}
	own.release()
	if !own.conn.Left() {
		own.clear()
		h1Conns.Put(own)
	}
	return nil, fault
}

// PutAway implements engine.Host.
func (h *host) PutAway(p engine.Protocol, bare bool) (space *bufpool.Buffer, until time.Time, ok bool) {
	own, isH1 := p.(*h1Conn)
	if !isH1 || !own.mayRest(bare) {
		return nil, time.Time{}, false
	}
	if !bare {
		space = own.letSpace()
	}
	own.putAway()
	return space, afterTimeout(h.set.idleTimeout), true
}

// Dormant implements engine.Host.
func (h *host) Dormant(c *engine.Conn) (size int, until time.Time, ok bool) {
	if !(*Server)(h).hasMany() || h.set.headTimeout > 0 || c.IsPinned() || c.Variant == variantHTTP2 || h.set.onlyHTTP2 && !c.IsTLS {
		return 0, time.Time{}, false
	}
	return h.set.readSize, afterTimeout(h.set.firstTimeout), true
}

// TakeUp implements engine.Host.
func (h *host) TakeUp(c *engine.Conn, l engine.Link, space *bufpool.Buffer, readUntil, writeUntil time.Time) engine.Protocol {
	own := (*Server)(h).restedConn()
	own.attach((*Server)(h), c, l)
	own.readUntil, own.writeUntil = readUntil, writeUntil
	if space != nil {
		bufpool.Put(own.in)
		own.in, own.read = space, 0
	}
	return own
}

// Admit implements engine.Host.
func (h *host) Admit(nc net.Conn) (peer netip.Addr, err error) { return (*Server)(h).admit(nc) }

// Refuse implements engine.Host.
func (h *host) Refuse(nc net.Conn, why error) { (*Server)(h).turnAway(nc, why) }

// Crowded implements engine.Host.
func (h *host) Crowded(why error) {
	if why == ErrConcurrencyLimit && h.SleepWhenConcurrencyLimitsExceeded > 0 {
		h.conns.Pause(h.SleepWhenConcurrencyLimitsExceeded)
	}
}

// Gone implements engine.Host.
func (h *host) Gone(peer netip.Addr) { (*Server)(h).dismiss(peer) }

// Prepare implements engine.Host.
func (h *host) Prepare(nc net.Conn) {
	if !h.TCPKeepalive && h.TCPKeepalivePeriod >= 0 {
		return // its listener has set it
	}
	if tcp, ok := transportOf(nc).(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(h.keepalive())
	}
}

// defaultKeepalive is the setting of package net for the connections of its listeners.
const defaultKeepalive = 15 * time.Second

// maxKeepalive is the most that Linux accepts.
const maxKeepalive = (1<<15 - 1) * time.Second

// Keepalive implements engine.Host.
func (h *host) Keepalive() (period time.Duration) {
	switch {
	case h.TCPKeepalivePeriod < 0:
		return 0
	case h.TCPKeepalive && h.TCPKeepalivePeriod > 0:
		return min(h.TCPKeepalivePeriod, maxKeepalive)
	}
	return defaultKeepalive
}

// keepalive is Keepalive for package net.
func (h *host) keepalive() net.KeepAliveConfig {
	period := h.Keepalive()
	return net.KeepAliveConfig{Enable: period > 0, Idle: period, Interval: period}
}

// KindOf implements engine.Host.
func (h *host) KindOf(nc net.Conn) (opening, isTLS bool) {
	_, isTLS = nc.(connTLSer)
	return isTLS || (*Server)(h).awaitsHeader(nc), isTLS
}

// Opening implements engine.Host: the header of a proxy, and then TLS.
func (h *host) Opening(c *engine.Conn) (nc net.Conn, over bool, err error) {
	s := (*Server)(h)
	if s.ProxyProtocol != nil {
		if err := s.awaitHeader(c); err != nil {
			return nil, true, err
		}
	}
	if c.IsTLS {
		return s.beginTLS(c)
	}
	return engine.Unproxied(c.NC), false, nil
}

// Handshake implements engine.Host.
func (h *host) Handshake(c *engine.Conn) (serve func() error, err error) {
	return (*Server)(h).handshake(c)
}

// Transport implements engine.Host.
func (h *host) Transport(nc net.Conn) net.Conn { return transportOf(nc) }

// ExpectsHeader implements engine.Host.
func (h *host) ExpectsHeader(nc net.Conn) (wait time.Duration, expected, served bool) {
	s := (*Server)(h)
	if s.ProxyProtocol == nil {
		return 0, false, true
	}
	peer := nc.RemoteAddr()
	if peer == zeroTCPAddr {
		// it was reset before the system could be asked, as by the health check of a
		// proxy
		return 0, false, false
	}
	expected, err := s.announces(peer)
	if err != nil {
		s.logRefusal(nc, err)
		return 0, false, false
	}
	return s.proxyTimeout(), expected, true
}

// HeaderFailed implements engine.Host.
func (h *host) HeaderFailed(c *engine.Conn, err error) { _ = (*Server)(h).headerFailed(c, err) }

// AdmitClient implements engine.Host.
func (h *host) AdmitClient(c *engine.Conn) error { return (*Server)(h).admitClient(c) }

// StateChanged implements engine.Host.
func (h *host) StateChanged(nc net.Conn, state engine.State) {
	defer (*Server)(h).catchPanic("ConnState")
	h.ConnState(nc, ConnState(state))
}

// Logf implements engine.Host.
func (h *host) Logf(format string, args ...any) { (*Server)(h).logger().Printf(format, args...) }
