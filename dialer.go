package fasthttp

import (
	"context"
	"net"
	"time"
)

const (
	// DefaultDialTimeout is how long Dial and DialDualStack may take, from the
	// look-up of the name to the established connection.
	DefaultDialTimeout = 3 * time.Second

	// DefaultDNSCacheDuration is how long a TCPDialer remembers the addresses
	// of a name, unless TCPDialer.DNSCacheDuration says otherwise.
	DefaultDNSCacheDuration = time.Minute
)

// DialFunc connects to addr, which is always "host:port".
//
// It returns the plain connection also where the client speaks TLS: the
// handshake is the client's business.
type DialFunc func(addr string) (net.Conn, error)

// DialFuncWithTimeout is a DialFunc that must return within timeout: clients
// pass what is left of the time that the call was given.
type DialFuncWithTimeout func(addr string, timeout time.Duration) (net.Conn, error)

// Resolver finds the addresses of a host. A *net.Resolver is one.
type Resolver interface {
	LookupIPAddr(context.Context, string) (names []net.IPAddr, err error)
}

// ErrDialTimeout says that no connection was established in time. It is a
// net.Error whose Timeout method returns true, and errors.Is takes it for a
// context.DeadlineExceeded.
var ErrDialTimeout error = &dialTimeoutError{}

type dialTimeoutError struct{}

func (*dialTimeoutError) Error() string {
	return "fasthttp: dialing to the given tcp address timed out"
}

// Timeout implements net.Error.
func (*dialTimeoutError) Timeout() bool { return true }

// Temporary implements net.Error.
func (*dialTimeoutError) Temporary() bool { return true }

// Is makes the error known as that of a context whose time is up.
func (*dialTimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// ErrDialWithUpstream says which address could not be connected to. Its cause
// is found with errors.Is and errors.As, and it is found that way itself.
type ErrDialWithUpstream struct {
	// Upstream is the "host:port" that was dialed: with an IP address in the
	// place of the host where it got as far as that.
	Upstream string

	cause error
}

// Error names the address and the cause.
func (e *ErrDialWithUpstream) Error() string {
	return "error when dialing " + e.Upstream + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *ErrDialWithUpstream) Unwrap() error { return e.cause }
