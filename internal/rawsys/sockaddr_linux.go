package rawsys

import "golang.org/x/sys/unix"

// AddressIn returns the address in a socket address, or none.
func AddressIn(sa unix.Sockaddr) (a Address) {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		a.Port, a.Size = uint16(sa.Port), uint8(copy(a.IP[:], sa.Addr[:]))
	case *unix.SockaddrInet6:
		a = Address{IP: sa.Addr, Zone: sa.ZoneId, Port: uint16(sa.Port), Size: uint8(len(sa.Addr))}
	}
	return a
}
