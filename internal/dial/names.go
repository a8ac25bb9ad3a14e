package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxNames is the largest number of names that Names caches.
	MaxNames = 4096
	// MaxAddresses is the largest number of addresses used for a name.
	MaxAddresses = 64
	// doubtDelay: addresses that were found after a doubt, or kept after one, are not
	// doubted again for this time, so that failing dials do not ask more often.
	doubtDelay = time.Second
)

// Resolver finds the addresses of a host. A *net.Resolver is one.
type Resolver interface {
	// LookupIPAddr returns the addresses of a host. It must return soon after the
	// context has ended.
	LookupIPAddr(context.Context, string) (names []net.IPAddr, err error)
}

// Addresses holds the addresses of a name. Its methods may be called concurrently.
type Addresses struct {
	// first holds the addresses of the IP version of the resolver's first address, second
	// the addresses of the other version.
	first, second []netip.Addr
	expires       time.Time
	uses          atomic.Uint32

	// guarded by the mutex of the cache
	doubted bool      // see Names.Doubt
	trusted time.Time // they are not doubted before this time
}

// NewAddresses returns the first MaxAddresses of addresses. It does not keep the
// slice.
func NewAddresses(addresses []netip.Addr) *Addresses {
	e := new(Addresses)
	for _, ip := range addresses[:min(len(addresses), MaxAddresses)] {
		ip = ip.Unmap()
		if len(e.first) == 0 || e.first[0].Is4() == ip.Is4() {
			e.first = append(e.first, ip)
		} else {
			e.second = append(e.second, ip)
		}
	}
	return e
}

// InTurn returns the addresses in the order in which to try them this time. The IP
// versions alternate (RFC 8305 section 4), and each version begins one address further
// than the last time.
func (e *Addresses) InTurn() []netip.Addr {
	// never negative, even if an int has 32 bits
	uses := int((e.uses.Add(1) - 1) % (1 << 30))
	addresses := make([]netip.Addr, 0, len(e.first)+len(e.second))
	for i := range max(len(e.first), len(e.second)) {
		if i < len(e.first) {
			addresses = append(addresses, e.first[(uses+i)%len(e.first)])
		}
		if i < len(e.second) {
			addresses = append(addresses, e.second[(uses+i)%len(e.second)])
		}
	}
	return addresses
}

// Names is a cache of the addresses of names, up to MaxNames of them. The zero value
// is empty. The methods may be called concurrently.
type Names struct {
	mu      sync.Mutex
	entries map[string]*Addresses
	lookups map[string]*lookup // running look-ups
	swept   time.Time          // when sweep last removed the old entries
}

// lookup is a look-up that any number of dials wait for.
type lookup struct {
	waiting int // guarded by the mutex of the cache
	cancel  context.CancelFunc

	done  chan struct{} // closed when the result is known
	entry *Addresses
	err   error
}

// Lookup returns the addresses of host; the case of letters does not matter. If they are
// not in the cache, it asks resolver, and caches the result for keep, or not at all if
// keep is not positive. Concurrent calls for one name share a look-up. If ctx ends before
// the result is known, Lookup returns the error of ctx. Errors are not cached.
func (c *Names) Lookup(ctx context.Context, host string, resolver Resolver, keep time.Duration) (*Addresses, error) {
	e, _, err := c.lookUp(ctx, host, resolver, keep)
	return e, err
}

// lookUp is Lookup that also reports whether the addresses were in the cache.
func (c *Names) lookUp(ctx context.Context, host string, resolver Resolver, keep time.Duration) (e *Addresses, cached bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	host = strings.ToLower(host)
	c.mu.Lock()
	if e := c.entries[host]; e != nil && !e.doubted && time.Now().Before(e.expires) {
		c.mu.Unlock()
		return e, true, nil
	}
	l := c.lookups[host]
	if l == nil {
		l = c.begin(ctx, host, resolver, keep)
	}
	l.waiting++
	c.mu.Unlock()

	select {
	case <-l.done:
		return l.entry, false, l.err
	case <-ctx.Done():
		c.stopWaiting(l, host)
		return nil, false, ctx.Err()
	}
}

// Doubt records that no connection could be established to any of the addresses of host
// that Lookup has returned. It reports whether another Lookup may return others. That
// Lookup asks the resolver, unless it was asked for this reason less than doubtDelay ago.
// If the resolver fails, the addresses stay in the cache.
func (c *Names) Doubt(host string, e *Addresses) bool {
	host = strings.ToLower(host)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[host] != e {
		return true
	}
	if !time.Now().Before(e.trusted) {
		e.doubted = true
	}
	return e.doubted
}

// begin starts a look-up. The look-up continues as long as any caller waits for it, even
// if the first caller has stopped waiting: it uses the values of ctx, but ignores its end.
func (c *Names) begin(ctx context.Context, host string, resolver Resolver, keep time.Duration) *lookup {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &lookup{cancel: cancel, done: make(chan struct{})}
	if c.lookups == nil {
		c.lookups = make(map[string]*lookup)
	}
	c.lookups[host] = l
	go func() {
		defer cancel()
		entry, err := (*Addresses)(nil), errResolverGoexit
		defer func() { c.end(l, host, entry, err, keep) }()
		entry, err = resolve(ctx, host, resolver)
	}()
	return l
}

// end publishes the result of a look-up to the callers that wait for it.
func (c *Names) end(l *lookup, host string, entry *Addresses, err error, keep time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(l.done)
	l.entry, l.err = entry, err
	if c.lookups[host] != l {
		// Flush has removed it, or all its callers have stopped waiting
		return
	}
	delete(c.lookups, host)
	now, before := time.Now(), c.entries[host]
	doubted := before != nil && before.doubted
	if doubted && err != nil {
		before.doubted = false
		before.trusted = now.Add(doubtDelay)
	}
	if err == nil && keep > 0 {
		entry.expires = now.Add(keep)
		if doubted {
			entry.trusted = now.Add(doubtDelay)
		}
		c.sweep(now, keep)
		if c.entries == nil {
			c.entries = make(map[string]*Addresses)
		}
		c.entries[host] = entry
	}
}

// stopWaiting records that a caller no longer waits for the look-up.
func (c *Names) stopWaiting(l *lookup, host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.waiting--
	if l.waiting > 0 {
		return
	}
	l.cancel()
	if c.lookups[host] == l {
		delete(c.lookups, host)
	}
}

// sweep makes room for an entry. Once in a while it removes all expired entries, so that
// names which are not looked up again do not stay forever.
func (c *Names) sweep(now time.Time, keep time.Duration) {
	if now.Sub(c.swept) >= keep || len(c.entries) >= MaxNames {
		c.swept = now
		for host, e := range c.entries {
			if !now.Before(e.expires) {
				delete(c.entries, host)
			}
		}
	}
	for host := range c.entries {
		if len(c.entries) < MaxNames {
			break
		}
		delete(c.entries, host)
	}
}

// Flush removes all addresses. A Lookup that is called afterwards does not share a look-up
// that began before Flush.
func (c *Names) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	clear(c.lookups)
}

// errResolverGoexit is the error of a look-up whose resolver has ended its goroutine
// with runtime.Goexit.
var errResolverGoexit = errors.New("fasthttp: the resolver has ended its goroutine")

// resolve calls the resolver. A panic of the resolver becomes an error of the look-up.
func resolve(ctx context.Context, host string, resolver Resolver) (entry *Addresses, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("fasthttp: panic in the resolver: %v\n%s", p, debug.Stack())
		}
	}()
	found, err := resolver.LookupIPAddr(ctx, host)
	if err != nil {
		return nil, err
	}
	addresses := make([]netip.Addr, 0, len(found))
	for _, a := range found {
		if ip, ok := netip.AddrFromSlice(a.IP); ok {
			addresses = append(addresses, ip.WithZone(a.Zone))
		}
	}
	if len(addresses) == 0 {
		return nil, ErrNoAddress
	}
	return NewAddresses(addresses), nil
}
