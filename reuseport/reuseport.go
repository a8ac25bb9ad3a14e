// Package reuseport makes TCP listeners that share their address with other listeners of this
// process, or of other processes of the same user. The system distributes the connections
// among them. So a server can run as several processes without a process that distributes the
// connections.
//
// Package prefork starts and supervises such processes. Package tcplisten offers the
// options separately.
package reuseport

// ErrNoReusePort is the error on a system that does not let listeners share an address.
type ErrNoReusePort struct {
	err error
}

// Error implements error.
func (e *ErrNoReusePort) Error() string {
	const text = "reuseport: the system cannot share the address of a listener"
	if e.err == nil {
		return text
	}
	return text + ": " + e.err.Error()
}

// Unwrap returns the error of the system.
func (e *ErrNoReusePort) Unwrap() error { return e.err }
