package dial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrNoAddress means that a host has no address that may be dialed.
var ErrNoAddress = errors.New("fasthttp: the host has no address of the ip version that is dialed: " +
	"dual stack dialing uses both of them")

// Config configures a Dialer. All fields but Net and Resolver must be the same in every call.
type Config struct {
	// Net connects to one address. LocalAddr is nil or a *net.TCPAddr. If it has an IP
	// address, addresses of the other IP version are not dialed.
	Net net.Dialer
	// Resolver looks up names. If it is nil, the operating system looks them up, and nothing
	// is cached.
	Resolver Resolver
	// Keep is how long addresses are cached. They are not cached if it is not positive.
	Keep time.Duration
	// Concurrency is the largest number of concurrent dials; there is no limit if it is not
	// positive.
	Concurrency int
	// Host converts a host to the form that DNS uses.
	Host func(host string) (string, error)
	// Report is like Attempts.Report. If a dial fails before its first attempt, target is the
	// address passed to Dial.
	Report func(ctx context.Context, target string, err error) (timedOut bool, reported error)
}

// Dialer connects to addresses, and caches the addresses of names. The zero value is ready for
// use. The methods may be called concurrently.
type Dialer struct {
	// Names is the cache.
	Names Names

	once  sync.Once
	slots chan struct{} // taken by dials; nil for no limit
}

// Dial connects to addr, "host:port". With the network "tcp" it races the addresses of both IP
// versions; with "tcp4" or "tcp6" it tries the addresses of that version in turn. The error is
// a result of c.Report.
func (d *Dialer) Dial(ctx context.Context, c *Config, network, addr string) (net.Conn, error) {
	if err := d.acquireSlot(ctx, c.Concurrency); err != nil {
		return nil, c.failed(ctx, addr, err)
	}
	defer d.releaseSlot()
	f, err := d.find(ctx, c, addr)
	if err != nil {
		return nil, c.failed(ctx, addr, err)
	}
	targets, err := f.targets(c, network)
	if err != nil {
		return nil, c.failed(ctx, addr, err)
	}
	conn, err := c.connect(ctx, network, targets)
	if err == nil || !f.remembered || errors.Is(ctx.Err(), context.Canceled) || !isOfAddress(err) {
		return conn, err
	}
	if !d.Names.Doubt(f.host, f.addresses) || ctx.Err() != nil {
		return nil, err
	}
	return d.dialOthers(ctx, c, network, f, targets, err)
}

// isOfAddress reports whether err means that a dial failed because of its address, which
// refused, was unreachable, or did not answer. An invalid port, or a lack of descriptors,
// would be the same with other addresses.
func isOfAddress(err error) bool {
	if call, ok := errors.AsType[*os.SyscallError](err); ok && strings.HasPrefix(call.Syscall, "connect") {
		return true
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// dialOthers continues Dial after connecting to all cached addresses has failed with that
// error: the name may have other addresses now. It asks for them once.
func (d *Dialer) dialOthers(ctx context.Context, c *Config, network string, f found, tried []string, failed error) (net.Conn, error) {
	err := error(nil)
	if f.addresses, _, err = d.Names.lookUp(ctx, f.host, c.Resolver, c.Keep); err != nil {
		if ctx.Err() != nil {
			return nil, c.failed(ctx, net.JoinHostPort(f.host, f.port), err)
		}
		return nil, failed
	}
	targets, _ := f.targets(c, network)
	targets = slices.DeleteFunc(targets, func(target string) bool { return slices.Contains(tried, target) })
	if len(targets) == 0 {
		return nil, failed
	}
	return c.connect(ctx, network, targets)
}

// connect connects to one of the targets.
func (c *Config) connect(ctx context.Context, network string, targets []string) (net.Conn, error) {
	attempts := Attempts{Connect: c.Net.DialContext, Report: c.Report}
	if network == "tcp" {
		return attempts.Race(ctx, targets)
	}
	return attempts.Serially(ctx, network, targets)
}

func (c *Config) failed(ctx context.Context, addr string, err error) error {
	_, err = c.Report(ctx, addr, err)
	return err
}

func (d *Dialer) acquireSlot(ctx context.Context, concurrency int) error {
	d.once.Do(func() {
		if concurrency > 0 {
			d.slots = make(chan struct{}, concurrency)
		}
	})
	if d.slots == nil {
		return nil
	}
	select {
	case d.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *Dialer) releaseSlot() {
	if d.slots != nil {
		<-d.slots
	}
}

// Targets returns the addresses to dial for addr, in the order of the attempts.
func (d *Dialer) Targets(ctx context.Context, c *Config, network, addr string) ([]string, error) {
	f, err := d.find(ctx, c, addr)
	if err != nil {
		return nil, err
	}
	return f.targets(c, network)
}

// found is a host with its addresses.
type found struct {
	host, port string
	addresses  *Addresses // nil if the operating system finds them
	remembered bool       // the addresses were found by an earlier dial
}

// find finds the addresses of the host of addr.
func (d *Dialer) find(ctx context.Context, c *Config, addr string) (f found, err error) {
	if f.host, f.port, err = net.SplitHostPort(addr); err != nil {
		return f, err
	}
	if f.host, err = c.Host(f.host); err != nil {
		return f, err
	}
	if f.host == "" || c.Resolver == nil {
		return f, nil
	}
	if ip, err := netip.ParseAddr(f.host); err == nil {
		f.addresses = NewAddresses([]netip.Addr{ip})
		return f, nil
	}
	f.addresses, f.remembered, err = d.Names.lookUp(ctx, f.host, c.Resolver, c.Keep)
	return f, err
}

// targets returns the addresses to dial, in the order of the attempts.
func (f found) targets(c *Config, network string) (targets []string, err error) {
	if f.addresses == nil {
		return []string{net.JoinHostPort(f.host, f.port)}, nil
	}
	for _, ip := range f.addresses.InTurn() {
		if c.mayDial(network, ip) {
			targets = append(targets, net.JoinHostPort(ip.String(), f.port))
		}
	}
	if len(targets) == 0 {
		return nil, ErrNoAddress
	}
	return targets, nil
}

// mayDial reports whether ip is of the right version.
func (c *Config) mayDial(network string, ip netip.Addr) bool {
	is4 := ip.Is4() || ip.Is4In6()
	if network == "tcp4" && !is4 || network == "tcp6" && is4 {
		return false
	}
	local, _ := c.Net.LocalAddr.(*net.TCPAddr)
	return local == nil || local.IP == nil || is4 == (local.IP.To4() != nil)
}
