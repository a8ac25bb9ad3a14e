// Package peers maps the addresses of peers to hosts, counts the connections of each host,
// and tests whether a peer is in a set.
package peers

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// AddrOf returns the IP address of a network address, without a zone. The result is not
// valid if there is none.
func AddrOf(addr net.Addr) netip.Addr {
	switch a := addr.(type) {
	case *net.TCPAddr:
		if a == nil {
			return netip.Addr{}
		}
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

// translated are the IPv6 addresses that represent IPv4 ones (RFC 6052 section 2.1), and
// besides is an address of the same network that does not.
var (
	translated = netip.MustParsePrefix("64:ff9b::/96")
	besides    = netip.MustParseAddr("64:ff9b:0:0:1::")
)

// HostOf returns one address for all addresses that one host may have. For IPv6 it is the
// first address of the 64-bit network (RFC 4291 section 2.5.4), since a host may use any
// address of that network. All link-local addresses are in one such network, so HostOf
// returns them unchanged. HostOf of a result is the same result.
func HostOf(ip netip.Addr) netip.Addr {
	ip = ip.Unmap()
	switch {
	case !ip.Is6() || ip.IsLinkLocalUnicast():
		return ip
	case translated.Contains(ip):
		b := ip.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	network, _ := ip.WithZone("").Prefix(64)
	if network.Contains(besides) {
		return besides
	}
	return network.Addr()
}

// Counter counts the connections of each host. It holds no host without a connection.
// Its zero value is ready for use, also by several goroutines.
type Counter struct {
	mu sync.Mutex
	of map[netip.Addr]int
}

// Acquire counts a connection of a host, unless the host has limit connections.
func (c *Counter) Acquire(host netip.Addr, limit int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[host] >= limit {
		return false
	}
	if c.of == nil {
		c.of = make(map[netip.Addr]int)
	}
	c.of[host]++
	return true
}

// Release uncounts a connection of a host.
func (c *Counter) Release(host netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[host]--; c.of[host] <= 0 {
		delete(c.of, host)
	}
}

// Len returns the number of hosts, and the number of their connections.
func (c *Counter) Len() (hosts, conns int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.of {
		conns += n
	}
	return len(c.of), conns
}

// Set is a set of peers.
type Set struct {
	ranges []netip.Prefix
	unix   bool // those on Unix sockets are in it
}

// NewSet returns the set of the ranges, and with unix also of all peers on Unix sockets.
// IPv4 addresses may be written in any form.
func NewSet(ranges []netip.Prefix, unix bool) Set {
	ranges = slices.Clone(ranges)
	for i, r := range ranges {
		if addr := r.Addr(); addr.Is4In6() && r.Bits() >= 96 {
			ranges[i] = netip.PrefixFrom(addr.Unmap(), r.Bits()-96)
		}
	}
	return Set{ranges, unix}
}

// Has reports whether a peer with the address is in the set.
func (p *Set) Has(addr net.Addr) bool {
	if _, ok := addr.(*net.UnixAddr); ok {
		return p.unix
	}
	return p.HasIP(AddrOf(addr))
}

// HasIP is Has for an IP address.
func (p *Set) HasIP(ip netip.Addr) bool {
	for _, r := range p.ranges {
		if r.Contains(ip) {
			return true
		}
	}
	return false
}
