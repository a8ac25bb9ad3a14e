package fasthttp

import (
	"cmp"
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/dial"
	"github.com/valyala/fasthttp/internal/patience"
)

const (
	// DefaultDialTimeout is how long a dial without a timeout of its own may
	// take, from the look-up of the name to the established connection.
	DefaultDialTimeout = 3 * time.Second

	// DefaultDNSCacheDuration is how long a TCPDialer remembers the addresses of a
	// name, unless TCPDialer.DNSCacheDuration is set.
	DefaultDNSCacheDuration = time.Minute
)

// DialFunc connects to addr, which is always "host:port".
//
// It returns the plain connection even if the client speaks TLS: the client does the
// handshake.
//
// If SetReadDeadline or SetWriteDeadline of the connection returns an error, as for a channel of
// SSH, the limits of calls apply nevertheless: the client reads on a goroutine of its own then,
// and closes the connection at the deadline of a Write. A *tls.Conn is used as it is.
type DialFunc func(addr string) (net.Conn, error)

// DialFuncWithTimeout is a DialFunc that must return within timeout: clients pass the
// remaining time of the call.
type DialFuncWithTimeout func(addr string, timeout time.Duration) (net.Conn, error)

// Resolver finds the addresses of a host. A *net.Resolver is one.
type Resolver interface {
	// LookupIPAddr returns the addresses of a host, of both versions of IP. It
	// has to return soon after the context has ended.
	LookupIPAddr(context.Context, string) (names []net.IPAddr, err error)
}

// ErrDialTimeout reports that no connection was established in time. It is a net.Error
// whose Timeout method returns true, and errors.Is reports that it is
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

// Is reports whether target is context.DeadlineExceeded.
func (*dialTimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// ErrDialWithUpstream names the address to which a dial has failed. errors.Is and
// errors.As find its cause, and the ErrDialWithUpstream itself.
type ErrDialWithUpstream struct {
	// Upstream is the "host:port" that was dialed, with an IP address instead of the
	// host if the name was resolved.
	Upstream string

	cause error
}

// Error names the address and the cause.
func (e *ErrDialWithUpstream) Error() string {
	return "error when dialing " + e.Upstream + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *ErrDialWithUpstream) Unwrap() error { return e.cause }

// TCPDialer establishes TCP connections. It remembers the addresses of names for
// DNSCacheDuration, looks a name up once however many goroutines wait for it, and begins
// with another address of the name each time. If a dial fails at all remembered addresses,
// it asks the resolver again, and tries addresses that are new, within its time. Such
// queries for a name are at least a second apart.
//
// Every timeout covers the whole dial: the wait for its turn if Concurrency is set,
// the look-up, and the attempts at all addresses. The error is an ErrDialWithUpstream
// that wraps the cause, which is ErrDialTimeout if the time was up. If the attempts at
// several addresses have failed, it wraps an ErrDialWithUpstream for each.
//
// The zero value is ready for use. Fields must not be changed, nor the dialer copied,
// after the first dial. Its methods may be called concurrently.
type TCPDialer struct {
	// Resolver looks up names: net.DefaultResolver by default. It runs in a goroutine
	// of its own, so that a dial ends in time even if the resolver does not; the
	// context that it gets ends when no dial is waiting.
	Resolver Resolver

	// LocalAddr is the address to dial from: the system chooses it by default. If it
	// has an IP address, addresses of the other IP version are not dialed.
	LocalAddr *net.TCPAddr

	// Control is called for each socket before it connects, with the network
	// ("tcp4" or "tcp6") and the address as net.Dialer.Control gets them. An
	// error ends the attempt at this address.
	Control func(network, address string, c syscall.RawConn) error

	// Concurrency is how many dials may be in progress at once; further dials wait.
	// There is no limit by default.
	Concurrency int

	// DNSCacheDuration is how long the addresses of a name are used without asking the
	// resolver again: DefaultDNSCacheDuration by default, not at all if it is negative.
	// Addresses at which a dial has failed are looked up again earlier. Failed look-ups
	// are not remembered.
	DNSCacheDuration time.Duration

	// KeepAlive is the interval between keep-alive probes on connections. The default
	// is the one of net.Dialer; a negative value disables probes.
	KeepAlive time.Duration

	// DisableDNSResolution leaves names to the operating system, as net.Dial
	// does: Resolver is not used and nothing is remembered.
	DisableDNSResolution bool

	dialer dial.Dialer
}

// defaultDialer is the dialer of the functions, and of clients that have no
// other.
var defaultDialer TCPDialer

// Dial connects to addr, "host:port", over IPv4 within DefaultDialTimeout. It uses a
// TCPDialer that all functions and clients share. To count or limit connections, wrap
// it and set the wrapper as Dial of a client. The error is an ErrDialWithUpstream.
func Dial(addr string) (net.Conn, error) { return defaultDialer.Dial(addr) }

// DialTimeout is Dial with a timeout of its own. If timeout is not positive, it has
// passed already.
func DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return defaultDialer.DialTimeout(addr, timeout)
}

// DialDualStack is Dial over IPv4 and IPv6, whichever answers first: see
// TCPDialer.DialDualStack.
func DialDualStack(addr string) (net.Conn, error) { return defaultDialer.DialDualStack(addr) }

// DialDualStackTimeout is DialDualStack with a timeout of its own. If timeout is not
// positive, it has passed already.
func DialDualStackTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return defaultDialer.DialDualStackTimeout(addr, timeout)
}

// FlushDNSCache makes the dialer that the functions and clients share forget
// all addresses: see TCPDialer.FlushDNSCache.
func FlushDNSCache() { defaultDialer.FlushDNSCache() }

// Dial connects to addr, "host:port", over IPv4 within DefaultDialTimeout. The
// addresses of the host are tried one after the other, each for its share of
// the time. The error is an ErrDialWithUpstream.
func (d *TCPDialer) Dial(addr string) (net.Conn, error) {
	return d.DialTimeout(addr, patience.Dial)
}

// DialTimeout is Dial with a timeout of its own. If timeout is not positive, it has
// passed already.
func (d *TCPDialer) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return d.dialTimeout("tcp4", addr, timeout)
}

// DialDualStack connects to addr, "host:port", over IPv4 or IPv6 within
// DefaultDialTimeout. The addresses of the host race as in RFC 8305: the two versions
// in turn, beginning with the version that the resolver put first, the next one as soon
// as an attempt has failed or 250 ms have passed. The first connection is returned, the
// others are closed.
func (d *TCPDialer) DialDualStack(addr string) (net.Conn, error) {
	return d.DialDualStackTimeout(addr, patience.Dial)
}

// DialDualStackTimeout is DialDualStack with a timeout of its own. If timeout is not
// positive, it has passed already.
func (d *TCPDialer) DialDualStackTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return d.dialTimeout("tcp", addr, timeout)
}

func (d *TCPDialer) dialTimeout(network, addr string, timeout time.Duration) (net.Conn, error) {
	if timeout <= 0 {
		return nil, &ErrDialWithUpstream{addr, ErrDialTimeout}
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, addr)
}

// DialContext connects to addr, "host:port", and gives up when ctx ends. It has
// the shape of net.Dialer.DialContext: network is "tcp4" for IPv4 as in Dial,
// "tcp6" for IPv6 likewise, or "tcp" for both as in DialDualStack.
//
// If ctx has no deadline, DefaultDialTimeout applies. The hooks of net/http/httptrace
// that ctx carries are called. The error wraps context.Cause(ctx) if ctx was
// canceled, and ErrDialTimeout if its deadline has passed. The end of ctx has no
// effect on an established connection.
func (d *TCPDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, &ErrDialWithUpstream{addr, net.UnknownNetworkError(network)}
	}
	if _, ok := ctx.Deadline(); !ok {
		limited, cancel := context.WithTimeout(ctx, patience.Dial)
		defer cancel()
		ctx = limited
	}
	return d.dialer.Dial(ctx, d.config(), network, addr)
}

// FlushDNSCache makes the dialer forget all addresses. Dials that begin after
// that wait for no look-up that began before it.
func (d *TCPDialer) FlushDNSCache() { d.dialer.Names.Flush() }

// config returns the configuration that the fields describe.
func (d *TCPDialer) config() *dial.Config {
	c := &dial.Config{
		Net:         net.Dialer{KeepAlive: d.KeepAlive, Control: d.Control, FallbackDelay: dial.AttemptDelay},
		Resolver:    d.Resolver,
		Keep:        cmp.Or(d.DNSCacheDuration, DefaultDNSCacheDuration),
		Concurrency: d.Concurrency,
		Host:        asciiHost,
		Report:      reportDial,
	}
	if d.LocalAddr != nil {
		c.Net.LocalAddr = d.LocalAddr
	}
	switch {
	case d.DisableDNSResolution:
		c.Resolver = nil
	case c.Resolver == nil:
		c.Resolver = net.DefaultResolver
	}
	return c
}

// dialError wraps err, with which dialing upstream has ended, in an
// ErrDialWithUpstream. ctx decides whether the time was up or the caller has canceled
// the dial.
func dialError(ctx context.Context, upstream string, err error) *ErrDialWithUpstream {
	deadline, ok := ctx.Deadline()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.DeadlineExceeded):
		err = ErrDialTimeout
	case cause != nil:
		err = cause
	case ok && isTimeout(err) && !time.Now().Before(deadline):
		// the network has noticed it before the context
		err = ErrDialTimeout
	}
	return &ErrDialWithUpstream{upstream, err}
}

// reportDial is the Report of dial.Config.
func reportDial(ctx context.Context, target string, err error) (timedOut bool, reported error) {
	e := dialError(ctx, target, err)
	return e.cause == ErrDialTimeout, e
}
