package rawsys

// Address is where a connection comes from, if that is an IP address.
type Address struct {
	IP   [16]byte
	Zone uint32 // the index of the interface of a link-local address, or 0
	Port uint16
	Size uint8 // of the address in IP, in bytes; 0 if there is none
}
