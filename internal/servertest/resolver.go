package servertest

import (
	"context"
	"net"
	"sync/atomic"
)

// Resolver is a resolver that counts its look-ups.
type Resolver struct {
	Lookups atomic.Int64                                                 // number of look-ups
	Find    func(ctx context.Context, host string) ([]net.IPAddr, error) // answers them
}

// LookupIPAddr calls Find.
func (r *Resolver) LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error) {
	r.Lookups.Add(1)
	return r.Find(ctx, host)
}

// ResolvesTo returns a resolver that returns the same addresses for all names.
func ResolvesTo(addresses ...string) *Resolver {
	var found []net.IPAddr
	for _, a := range addresses {
		found = append(found, net.IPAddr{IP: net.ParseIP(a)})
	}
	return &Resolver{Find: func(context.Context, string) ([]net.IPAddr, error) { return found, nil }}
}
