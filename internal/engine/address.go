package engine

import (
	"net"
	"net/netip"
)

// address is that of a peer, in little memory. The zero value is none.
type address struct {
	ip   [16]byte
	zone uint32 // the interface of a link-local address, or 0
	port uint16
	size uint8 // of the address in ip, in bytes
}

// addressOf returns the address without a port and a zone.
func addressOf(ip netip.Addr) (a address) {
	a.size = uint8(copy(a.ip[:], ip.AsSlice()))
	return a
}

// known reports whether there is an address.
func (a *address) known() bool { return a.size > 0 }

// addr returns the address without its zone.
func (a *address) addr() netip.Addr {
	ip, _ := netip.AddrFromSlice(a.ip[:a.size])
	return ip
}

// tcp returns the address as package net has it.
func (a *address) tcp() *net.TCPAddr {
	addr := &net.TCPAddr{IP: append(net.IP(nil), a.ip[:a.size]...), Port: int(a.port)}
	if a.zone != 0 {
		if i, err := net.InterfaceByIndex(int(a.zone)); err == nil {
			addr.Zone = i.Name
		}
	}
	return addr
}
