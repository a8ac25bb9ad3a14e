package rawsys

import (
	"net"
	"net/netip"
)

// Address is the IP address and the port of one end of a connection, in a compact form.
// The zero value means no address.
type Address struct {
	IP   [16]byte // the address, in its first bytes
	Zone uint32   // the index of the interface of a link-local address, or 0
	Port uint16   // the port
	Size uint8    // length of the address in IP; 0 if there is none
}

// AddressOf returns the address without a port and a zone.
func AddressOf(ip netip.Addr) (a Address) {
	a.Size = uint8(copy(a.IP[:], ip.AsSlice()))
	return a
}

// Known reports whether there is an address.
func (a *Address) Known() bool { return a.Size > 0 }

// Addr returns the address without its zone.
func (a *Address) Addr() netip.Addr {
	ip, _ := netip.AddrFromSlice(a.IP[:a.Size])
	return ip
}

// TCP returns the address in the form of package net.
func (a *Address) TCP() *net.TCPAddr {
	addr := &net.TCPAddr{IP: append(net.IP(nil), a.IP[:a.Size]...), Port: int(a.Port)}
	if a.Zone != 0 {
		if i, err := net.InterfaceByIndex(int(a.Zone)); err == nil {
			addr.Zone = i.Name
		}
	}
	return addr
}
