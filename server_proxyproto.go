package fasthttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/proxyproto"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// ProxyProtocol makes a Server read the PROXY protocol header, version 1 or 2, which
// proxies such as HAProxy send at the start of the connections that they forward,
// before any TLS handshake.
//
// A connection from one of the proxies must begin with the header, or it is closed. Its
// RemoteAddr is then the address of the client, and its LocalAddr the address that the
// client connected to: for RequestCtx, hooks, logs, and handlers that take over the
// connection. MaxConnsPerIP counts the connections of the client. If the header names
// no addresses, because the proxy connects for a health check of its own or does not
// know them, the addresses of the connection stay as they are. Server.ConnState is
// called with StateNew before the header has arrived.
//
// Both engines read the header. On the event engine a connection that waits for it
// has no goroutine.
type ProxyProtocol struct {
	// From are the addresses of the proxies. A header does not make a peer a proxy:
	// any client can send one.
	From []netip.Prefix

	// FromUnix treats every peer that connects through a Unix socket as one of the
	// proxies.
	FromUnix bool

	// ServeOthers serves connections from other peers without a header, under their own
	// addresses; a header on such a connection is a malformed request. By default these
	// connections are closed: there should be no path to the server that bypasses the
	// proxies.
	ServeOthers bool

	// Timeout is how long a connection may take for its header. 0 means
	// Server.ReadTimeout, or 10 seconds if it is not set. The time of the first request
	// starts after it.
	Timeout time.Duration
}

// Errors of ServeConn with Server.ProxyProtocol. Serve logs them.
var (
	// ErrProxyHeader reports that a connection from one of the proxies does not begin
	// with a header of the PROXY protocol, or not in time. It wraps the cause.
	ErrProxyHeader = errors.New("fasthttp: no header of the proxy protocol")

	// ErrUntrustedPeer reports that a connection is not from one of the proxies.
	ErrUntrustedPeer = errors.New("fasthttp: the connection is not from a trusted proxy")

	errUnknownTLS = errors.New("fasthttp: cannot read what stands before a tls handshake")
)

// proxyTimeout is how long a connection may take for the header.
func (s *Server) proxyTimeout() time.Duration {
	if s.ProxyProtocol.Timeout > 0 {
		return s.ProxyProtocol.Timeout
	}
	return s.handshakeTimeout()
}

// announces reports whether a connection from an address begins with a header. It
// is an error if the connection is not to be served.
func (s *Server) announces(from net.Addr) (header bool, err error) {
	switch {
	case s.headerPeers.Has(from):
		return true, nil
	case s.ProxyProtocol.ServeOthers:
		return false, nil
	}
	return false, ErrUntrustedPeer
}

// overTLS is a TLS connection that the server has not made itself.
type overTLS interface {
	net.Conn
	connTLSer
	NetConn() net.Conn
	CloseWrite() error
}

var _ overTLS = (*tls.Conn)(nil)

// proxiedTLS is such a connection over one that begins with a header.
type proxiedTLS struct {
	overTLS
	engine.Proxied
}

// RemoteAddr implements net.Conn.
func (c *proxiedTLS) RemoteAddr() net.Addr { return c.Remote(c.overTLS) }

// LocalAddr implements net.Conn.
func (c *proxiedTLS) LocalAddr() net.Addr { return c.Local(c.overTLS) }

// proxiedOf returns the addresses from the header of a connection, and the connection
// that the header is read from. p is nil if there is no header.
func proxiedOf(nc net.Conn) (p *engine.Proxied, from net.Conn) {
	switch c := nc.(type) {
	case *proxiedTLS:
		return &c.Proxied, c.NetConn()
	case *tls.Conn:
		if transport, ok := tlswire.Transport(c.NetConn()); ok {
			nc = transport
		}
	}
	if c, ok := nc.(*engine.ProxiedConn); ok {
		return &c.Proxied, c.Conn
	}
	return nil, nil
}

// awaitsHeader reports whether a connection about to be served begins with a header.
func (s *Server) awaitsHeader(nc net.Conn) bool {
	if s.ProxyProtocol == nil {
		return false
	}
	if c, ok := nc.(interface{ AwaitsHeader() bool }); ok {
		return c.AwaitsHeader()
	}
	p, _ := proxiedOf(nc)
	return p != nil
}

// throughProxy returns a connection that was accepted as one that begins with a
// header, if it does.
func (s *Server) throughProxy(nc net.Conn) (net.Conn, error) {
	if s.ProxyProtocol == nil {
		return nc, nil
	}
	header, err := s.announces(nc.RemoteAddr())
	if err != nil || !header {
		return nc, err
	}
	if c, ok := nc.(overTLS); ok {
		return &proxiedTLS{overTLS: c}, nil
	}
	if _, ok := nc.(connTLSer); ok {
		return nc, errUnknownTLS
	}
	return engine.NewProxiedConn(nc, nil), nil
}

// proxiedListener wraps a listener: its connections from the proxies begin with a
// header.
type proxiedListener struct {
	net.Listener
	s *Server
}

// behindProxies returns the listener to accept from: ln, wrapped if there is a
// ProxyProtocol.
func (s *Server) behindProxies(ln net.Listener) net.Listener {
	if s.ProxyProtocol == nil {
		return ln
	}
	if over, ok := ln.(*tlsListener); ok {
		return &tlsListener{&proxiedListener{over.Listener, s}, over.config}
	}
	return &proxiedListener{ln, s}
}

// Accept implements net.Listener.
func (ln *proxiedListener) Accept() (net.Conn, error) {
	for {
		nc, err := ln.Listener.Accept()
		if err != nil {
			return nil, err
		}
		served, err := ln.s.throughProxy(nc)
		if err == nil {
			return served, nil
		}
		ln.s.logRefusal(nc, err)
		_ = nc.Close()
	}
}

// SetDeadline sets the deadline of Accept if the listener has one.
func (ln *proxiedListener) SetDeadline(t time.Time) error {
	own, ok := ln.Listener.(interface{ SetDeadline(t time.Time) error })
	if !ok {
		return errors.ErrUnsupported
	}
	return own.SetDeadline(t)
}

// SyscallConn gives access to the socket of the listener, if it has one.
func (ln *proxiedListener) SyscallConn() (syscall.RawConn, error) { return socketOf(ln.Listener) }

// awaitHeader reads the header of a connection, if it begins with one. It returns an
// error if the connection is not to be served; the client has got a response by then
// if there is one.
func (s *Server) awaitHeader(c *engine.Conn) error {
	p, from := proxiedOf(c.NC)
	if p == nil {
		return nil
	}
	_ = from.SetReadDeadline(time.Now().Add(s.proxyTimeout()))
	h, err := proxyproto.Read(from)
	if err != nil {
		return s.headerFailed(c, err)
	}
	_ = from.SetReadDeadline(time.Time{})
	p.Ends.Store(engine.EndsOf(h))
	if err = s.admitClient(c); err != nil {
		s.turnAway(c.NC, err)
		return err
	}
	if !c.IsTLS {
		c.EndOpening()
	}
	return nil
}

// admitClient counts a connection for the address of its client, which the header has
// named.
func (s *Server) admitClient(c *engine.Conn) error {
	ip, err := s.admitAddress(c.NC)
	c.SetPeer(ip)
	return err
}

// headerFailed logs and returns the error of a header.
func (s *Server) headerFailed(c *engine.Conn, err error) error {
	if !isCommon(err) || s.LogAllErrors {
		s.logger().Printf("fasthttp: cannot read the proxy protocol from %v: %v", c.NC.RemoteAddr(), err)
	}
	return fmt.Errorf("%w: %w", ErrProxyHeader, err)
}
