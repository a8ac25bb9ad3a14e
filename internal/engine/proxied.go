package engine

import (
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"

	"github.com/valyala/fasthttp/internal/proxied"
)

// NoAddr is the address of a TCP connection whose address is not known.
var NoAddr = &net.TCPAddr{IP: net.IPv4zero}

// Endpoints are the addresses of a connection as its PROXY header names them.
type Endpoints struct {
	// Remote is the address of the client, and Local the address to which it has connected.
	Remote, Local net.Addr
}

// EndpointsOf returns the addresses that a header names, or nil.
func EndpointsOf(h proxied.Header) *Endpoints {
	if !h.Source.IsValid() {
		return nil
	}
	return &Endpoints{tcpAddr(h.Source), tcpAddr(h.Destination)}
}

func tcpAddr(a netip.AddrPort) net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(a.Addr().Unmap(), a.Port()))
}

// Proxied is the state of a connection that begins, or has begun, with a PROXY header.
type Proxied struct {
	Endpoints atomic.Pointer[Endpoints] // nil while there are none
}

// Remote returns the address of the peer of a connection: the one of socket if there is no
// header.
func (p *Proxied) Remote(socket net.Conn) net.Addr {
	if ends := p.Endpoints.Load(); ends != nil {
		return ends.Remote
	}
	return socket.RemoteAddr()
}

// Local is Remote for the other end.
func (p *Proxied) Local(socket net.Conn) net.Addr {
	if ends := p.Endpoints.Load(); ends != nil {
		return ends.Local
	}
	return socket.LocalAddr()
}

// ProxiedConn is a connection without TLS, or the connection below a TLS connection.
type ProxiedConn struct {
	net.Conn
	Proxied
}

// NewProxiedConn returns a connection with the addresses of its header, or of the header
// that will arrive if ends is nil.
func NewProxiedConn(nc net.Conn, ends *Endpoints) *ProxiedConn {
	c := &ProxiedConn{Conn: nc}
	c.Endpoints.Store(ends)
	return c
}

// RemoteAddr implements net.Conn.
func (c *ProxiedConn) RemoteAddr() net.Addr { return c.Remote(c.Conn) }

// LocalAddr implements net.Conn.
func (c *ProxiedConn) LocalAddr() net.Addr { return c.Local(c.Conn) }

// CloseWrite ends the sending side if the connection has two.
func (c *ProxiedConn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return syscall.EINVAL
	}
	return half.CloseWrite()
}

// SyscallConn implements syscall.Conn, for setting options of a socket.
func (c *ProxiedConn) SyscallConn() (syscall.RawConn, error) {
	own, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, syscall.EINVAL
	}
	return own.SyscallConn()
}

// UnsafeConn returns the connection itself.
func (c *ProxiedConn) UnsafeConn() net.Conn { return c.Conn }

// Unproxied returns nc without its addresses from a header: the connection itself.
func Unproxied(nc net.Conn) net.Conn {
	if c, ok := nc.(*ProxiedConn); ok {
		return c.Conn
	}
	return nc
}
