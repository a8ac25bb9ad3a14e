package rawsys

// Address is where a connection comes from, if that is an IP address.
type Address struct {
	IP   [16]byte // the address, in its first bytes
	Zone uint32   // the index of the interface of a link-local address, or 0
	Port uint16   // the port
	Size uint8    // how many bytes of IP are the address; 0 if there is none
}
