package fasthttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/peers"
	"github.com/valyala/fasthttp/internal/proxied"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// TrustedProxies lists the proxies in front of a Server that are trusted to name the
// client of a request, and the fields in which they do so. RequestCtx.ClientIP,
// RequestCtx.ClientScheme and RequestCtx.ClientHost return the results. The zero value
// trusts no proxy.
//
// Any client can send these fields. So name only fields that your proxies set, or
// append to, in each request: a field that they pass on unchanged may have been set by
// the client. The fields of a trailer section do not count.
type TrustedProxies struct {
	// Ranges are the addresses of the proxies. A request of another peer is answered as
	// if it had none of the fields. A range of all addresses, such as 0.0.0.0/0, lets
	// every client claim any address.
	Ranges []netip.Prefix

	// Unix trusts every peer that connects through a Unix socket. To connect, a
	// process needs permission to write to the file of the socket.
	Unix bool

	// AddressField is the name of the field that the proxies append the address of
	// their peer to, "X-Forwarded-For" if it is empty. It may be one that they
	// replace, such as "X-Real-IP".
	//
	// With "Forwarded" (RFC 7239) each element has the address, the scheme and the host
	// of one hop, so SchemeField and HostField have no effect. An IPv6 address has
	// brackets there (RFC 7239 section 6); an address without them counts as none, like
	// "unknown".
	AddressField string

	// SchemeField is the name of the field in which the proxies report whether the
	// client connected with http or https, "X-Forwarded-Proto" if it is empty. If it
	// has several values, the last one counts.
	SchemeField string

	// HostField is the name of the field in which the proxies send the host that the
	// client has requested, such as "X-Forwarded-Host". It is for proxies that send a
	// Host of their own, and set this field in each request: many proxies pass on the
	// field of the client. If HostField is empty, RequestCtx.Host counts. If the field
	// has several values, the last one counts.
	HostField string
}

// proxyTrust is the prepared form of TrustedProxies.
type proxyTrust struct {
	peers                 peers.Set
	address, scheme, host header.Key // host has no name if there is none
	standard              bool       // address is the field Forwarded
}

// newProxyTrust returns nil if no proxy is trusted.
func newProxyTrust(t *TrustedProxies) *proxyTrust {
	if len(t.Ranges) == 0 && !t.Unix {
		return nil
	}
	trust := &proxyTrust{
		peers:   peers.NewSet(t.Ranges, t.Unix),
		address: namedKey(t.AddressField, HeaderXForwardedFor),
		scheme:  namedKey(t.SchemeField, HeaderXForwardedProto),
		host:    namedKey(t.HostField, ""),
	}
	trust.standard = trust.address.ID == field.Forwarded
	return trust
}

func namedKey(name, usual string) header.Key {
	if name == "" {
		name = usual
	}
	return header.KeyOf([]byte(name))
}

// ClientIP returns the IP address of the client that sent the request, as far as the
// proxies of Server.TrustedProxies name it. If the peer is not a trusted proxy, it is
// the address of the peer.
//
// Otherwise AddressField is read from its end, with all its lines as one list: a
// trusted proxy appends the address of its own peer. The first address that does not
// belong to a trusted proxy is the client's. The part in front of it was sent by the
// client, and is ignored. Empty elements of the list count as none (RFC 9110 section
// 5.6.1). If a trusted proxy has appended something other than an address, such as
// "unknown", or there is nothing before its own address, the result is the address of
// that proxy, since nothing more is known.
//
// IPv4 addresses are returned as such, whatever form they were received in, and
// addresses have no zone. The result is the zero Addr, whose text is "invalid IP", if the
// peer has no IP address, as on a Unix socket or in memory, and no trusted proxy has noted
// one: see its method IsValid. RemoteIP is 0.0.0.0 then.
//
// RemoteAddr and RemoteIP return the address of the peer in any case.
func (ctx *RequestCtx) ClientIP() netip.Addr {
	ip, _ := ctx.clientHop()
	return ip
}

// ClientScheme returns "https" or "http". If the peer is a trusted proxy that reports
// it, this is how the client connected to the first trusted proxy, and otherwise how
// the peer connected. See Server.TrustedProxies.
func (ctx *RequestCtx) ClientScheme() string {
	var said []byte
	if trust := ctx.proxyTrust(); trust != nil {
		if trust.standard {
			_, hop := ctx.clientHop()
			said = hop.Proto
		} else {
			said = ctx.Request.Header.head.LastElement(trust.scheme)
		}
	}
	switch {
	case ascii.EqualFoldString(said, "https"):
		return "https"
	case ascii.EqualFoldString(said, "http"):
		return "http"
	case ctx.IsTLS():
		return "https"
	}
	return "http"
}

// ClientHost returns the host that the client has requested, with its port if there is
// one, as named by the peer if the peer is a trusted proxy. Otherwise it returns Host.
// See Server.TrustedProxies. It is valid until the handler returns.
//
// The client can choose it freely, like the Host field: compare it with the hosts that
// you serve before you use it in links.
func (ctx *RequestCtx) ClientHost() []byte {
	var said []byte
	if trust := ctx.proxyTrust(); trust != nil {
		if trust.standard {
			_, hop := ctx.clientHop()
			said = hop.Host
		} else if len(trust.host.Name) > 0 {
			said = ctx.Request.Header.head.LastElement(trust.host)
		}
	}
	if len(said) > 0 && http1.ValidHost(said) {
		return said
	}
	return ctx.Host()
}

// proxyTrust returns the trusted proxies, or nil if the peer is none of them.
func (ctx *RequestCtx) proxyTrust() *proxyTrust {
	if ctx.s == nil || ctx.s.trust == nil || !ctx.s.trust.peers.Has(ctx.RemoteAddr()) {
		return nil
	}
	return ctx.s.trust
}

// clientHop goes from the peer to the client, from one trusted proxy to the one in
// front of it. It returns the address of the client, and, if the Forwarded field is
// used, the element that describes its connection.
func (ctx *RequestCtx) clientHop() (ip netip.Addr, hop proxied.Element) {
	ip = peers.AddrOf(ctx.RemoteAddr())
	trust := ctx.proxyTrust()
	if trust == nil {
		return ip, hop
	}
	h := &ctx.Request.Header.head
	for i := h.LastField(trust.address, h.List.Len()); i >= 0; i = h.LastField(trust.address, i) {
		for rest := h.List.Value(i); rest != nil; {
			var node []byte
			if node, rest = proxied.Last(rest); len(node) == 0 {
				continue
			}
			parse := proxied.ParseNode
			if trust.standard {
				next, ok := proxied.ParseElement(node)
				if !ok {
					return ip, hop
				}
				hop, node, parse = next, next.For, proxied.ParseFor
			}
			next, ok := parse(node)
			if !ok {
				return ip, hop
			}
			if ip = next; !trust.peers.HasIP(ip) {
				return ip, hop
			}
		}
	}
	return ip, hop
}

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

// expectsProxyHeader reports whether a connection from an address begins with a header. It
// is an error if the connection is not to be served.
func (s *Server) expectsProxyHeader(from net.Addr) (header bool, err error) {
	switch {
	case s.headerPeers.Has(from):
		return true, nil
	case s.ProxyProtocol.ServeOthers:
		return false, nil
	}
	return false, ErrUntrustedPeer
}

// proxiedTLS is a TLS connection that the server has not made itself, over one that begins
// with a header.
type proxiedTLS struct {
	tlswire.Conn
	engine.Proxied
}

// RemoteAddr implements net.Conn.
func (c *proxiedTLS) RemoteAddr() net.Addr { return c.Remote(c.Conn) }

// LocalAddr implements net.Conn.
func (c *proxiedTLS) LocalAddr() net.Addr { return c.Local(c.Conn) }

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

// wrapProxied returns a connection that was accepted as one that begins with a
// header, if it does.
func (s *Server) wrapProxied(nc net.Conn) (net.Conn, error) {
	if s.ProxyProtocol == nil {
		return nc, nil
	}
	header, err := s.expectsProxyHeader(nc.RemoteAddr())
	if err != nil || !header {
		return nc, err
	}
	if c, ok := nc.(tlswire.Conn); ok {
		return &proxiedTLS{Conn: c}, nil
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

// wrapListener returns the listener to accept from: ln, wrapped if there is a
// ProxyProtocol.
func (s *Server) wrapListener(ln net.Listener) net.Listener {
	if s.ProxyProtocol == nil {
		return ln
	}
	if over, ok := ln.(*tlsListener); ok {
		return &tlsListener{&proxiedListener{over.Listener, s}, over.layer}
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
		if served := ln.s.wrapAccepted(nc); served != nil {
			return served, nil
		}
	}
}

// wrapAccepted is wrapProxied for a connection that was accepted. It closes the connection and
// returns nil if that is not to be served. A panic of its methods ends that connection alone:
// nothing else might recover it on the goroutine of a worker.
func (s *Server) wrapAccepted(nc net.Conn) (served net.Conn) {
	defer s.catchPanic("a connection that is accepted")
	defer func() {
		if served == nil {
			_ = nc.Close()
		}
	}()
	wrapped, err := s.wrapProxied(nc)
	if err != nil {
		s.logRefusal(nc, err)
		return nil
	}
	return wrapped
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
	h, err := proxied.Read(from)
	if err != nil {
		return s.headerFailed(c, err)
	}
	_ = from.SetReadDeadline(time.Time{})
	p.Endpoints.Store(engine.EndpointsOf(h))
	if err = s.admitClient(c); err != nil {
		s.refuseConn(c.NC, err)
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
