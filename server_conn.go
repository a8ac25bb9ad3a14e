package fasthttp

import (
	"net"
	"net/netip"
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
