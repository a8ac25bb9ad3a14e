package fasthttp

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// knownHosts are hosts that calls find without a lock that others take as well.
// For each way to write a host there is one place, that others share: the first
// one has it, and keeps it until it is dropped. If two took turns, each of their
// calls would write what all processors read.
type knownHosts [knownSize]atomic.Pointer[knownHost]

const (
	knownBits = 6
	knownSize = 1 << knownBits
)

type knownHost struct {
	name  string
	isTLS bool
	hc    *HostClient
}

// place returns the place of a host.
func (k *knownHosts) place(host []byte, isTLS bool) *atomic.Pointer[knownHost] {
	const golden = 0x9e3779b97f4a7c15
	h := uint64(len(host)) << 1
	if isTLS {
		h++
	}
	for len(host) >= 8 {
		h = bits.RotateLeft64((h^binary.LittleEndian.Uint64(host))*golden, 32)
		host = host[8:]
	}
	for _, c := range host {
		h = h<<8 ^ h>>56 ^ uint64(c)
	}
	return &k[h*golden>>(64-knownBits)]
}

// find returns the client of a host, with one more call pending, or nil.
func (k *knownHosts) find(host []byte, isTLS bool) *HostClient {
	known := k.place(host, isTLS).Load()
	if known == nil || known.isTLS != isTLS || known.name != string(host) || !known.hc.enter() {
		return nil
	}
	return known.hc
}

// keep makes a host known if its place is free. Nobody drops hosts meanwhile.
func (k *knownHosts) keep(host []byte, isTLS bool, hc *HostClient) {
	if place := k.place(host, isTLS); place.Load() == nil {
		place.CompareAndSwap(nil, &knownHost{string(host), isTLS, hc})
	}
}

// forget frees the places of hosts that were dropped.
func (k *knownHosts) forget() {
	for i := range k {
		if known := k[i].Load(); known != nil && known.hc.dropped() {
			k[i].Store(nil)
		}
	}
}

// droppedHost is what is added to the pending calls of a HostClient that its
// Client has dropped.
const droppedHost = math.MinInt64 / 2

// enter counts a call of the Client, and reports whether c may be used for it:
// otherwise it was dropped, and the call is not counted.
func (c *HostClient) enter() bool {
	if c.pending.Add(1) > 0 {
		return true
	}
	c.pending.Add(-1)
	return false
}

// unused reports whether a Client may drop c if there is no call.
func (c *HostClient) unused() bool {
	return c.ConnsCount() == 0 && time.Since(c.LastUseTime()) >= hostSweep
}

// dropIf keeps all calls of the Client out if there is none and unused says so. It
// is asked again in the end, since a call may have come and gone meanwhile, and has
// left a connection then.
func (c *HostClient) dropIf(unused func() bool) {
	if unused() && c.pending.CompareAndSwap(0, droppedHost) && !unused() {
		c.pending.Add(-droppedHost)
	}
}

func (c *HostClient) dropped() bool { return c.pending.Load() < 0 }
