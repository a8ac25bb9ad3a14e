package dial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// ErrNoAddress says that a host has no address that may be dialed.
var ErrNoAddress = errors.New("fasthttp: the host has no address of the ip version that is dialed: " +
	"dual stack dialing uses both of them")

// Config says how a Dialer dials. All of it but Net and Resolver must be the same each
// time.
type Config struct {
	// Net connects to one address. LocalAddr is nil or a *net.TCPAddr: addresses of the
	// other IP version are not dialed if it has an IP address.
	Net net.Dialer
	// Resolver looks up names; nil leaves them to the operating system, and nothing is
	// remembered.
	Resolver Resolver
	// Keep is how long addresses are remembered, not at all if it is not positive.
	Keep time.Duration
	// Concurrency is how many dials may run at a time; there is no limit if it is not
	// positive.
	Concurrency int
	// Host returns the form of a host that DNS knows it by.
	Host func(host string) (string, error)
	// Report is that of Attempts. It also gets, as target, the address whose dial has
	// not come as far as an attempt.
	Report func(ctx context.Context, target string, err error) (timedOut bool, reported error)
}

// Dialer connects to addresses, and remembers those of names. The zero value is ready for
// use. The methods may be called concurrently.
type Dialer struct {
	// Names is what it remembers.
	Names Names

	once  sync.Once
	seats chan struct{} // taken by dials; nil for no limit
}

// Dial connects to addr, "host:port". The network is "tcp", for a race of the addresses of
// both IP versions, or "tcp4" or "tcp6", whose addresses are tried in turn. The error is
// one of c.Report.
func (d *Dialer) Dial(ctx context.Context, c *Config, network, addr string) (net.Conn, error) {
	if err := d.takeSeat(ctx, c.Concurrency); err != nil {
		return nil, c.failed(ctx, addr, err)
	}
	defer d.leaveSeat()
	targets, err := d.Targets(ctx, c, network, addr)
	if err != nil {
		return nil, c.failed(ctx, addr, err)
	}
	attempts := Attempts{Connect: c.Net.DialContext, Report: c.Report}
	if network == "tcp" {
		return attempts.Race(ctx, targets)
	}
	return attempts.InTurn(ctx, network, targets)
}

func (c *Config) failed(ctx context.Context, addr string, err error) error {
	_, err = c.Report(ctx, addr, err)
	return err
}

func (d *Dialer) takeSeat(ctx context.Context, concurrency int) error {
	d.once.Do(func() {
		if concurrency > 0 {
			d.seats = make(chan struct{}, concurrency)
		}
	})
	if d.seats == nil {
		return nil
	}
	select {
	case d.seats <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *Dialer) leaveSeat() {
	if d.seats != nil {
		<-d.seats
	}
}

// Targets returns what is dialed for addr, in the order of the attempts.
func (d *Dialer) Targets(ctx context.Context, c *Config, network, addr string) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if host, err = c.Host(host); err != nil {
		return nil, err
	}
	if host == "" || c.Resolver == nil {
		return []string{net.JoinHostPort(host, port)}, nil
	}
	var hosts *Addresses
	if ip, err := netip.ParseAddr(host); err == nil {
		hosts = NewAddresses([]netip.Addr{ip})
	} else if hosts, err = d.Names.Lookup(ctx, host, c.Resolver, c.Keep); err != nil {
		return nil, err
	}
	var targets []string
	for _, ip := range hosts.InTurn() {
		if c.mayDial(network, ip) {
			targets = append(targets, net.JoinHostPort(ip.String(), port))
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
