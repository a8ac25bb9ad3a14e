//go:build linux

package netloop

import (
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/lockorder"
)

// Group is a set of loops that share the connections.
type Group struct {
	// Local is for the owner of the Group, which sets it before it adds connections.
	Local any

	loops    atomic.Pointer[[]*Loop]
	nextLoop atomic.Uint32
	now      func() time.Duration // the clock of the loops

	growing lockorder.Mutex[lockorder.LoopGroup]
	closed  bool
}

// NewGroup starts n loops.
func NewGroup(n int) (*Group, error) { return newGroup(n, clock.Monotonic) }

// newGroup is NewGroup for loops with another clock, which a test sets.
func newGroup(n int, now func() time.Duration) (*Group, error) {
	g := &Group{now: now}
	g.loops.Store(new([]*Loop))
	if err := g.Grow(n); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// Len returns the number of loops.
func (g *Group) Len() int { return len(*g.loops.Load()) }

// Grow starts loops until there are n. Connections stay on their loop; connections added
// later are spread over all loops.
func (g *Group) Grow(n int) error {
	if g.Len() >= n {
		return nil
	}
	g.growing.Lock()
	defer g.growing.Unlock()
	for !g.closed && g.Len() < n {
		l, err := newLoop(g)
		if err != nil {
			return fmt.Errorf("netloop: cannot start an event loop: %w", err)
		}
		loops := append(slices.Clone(*g.loops.Load()), l)
		g.loops.Store(&loops)
	}
	return nil
}

// Close ends all loops. No connection may be left on them.
func (g *Group) Close() {
	g.growing.Lock()
	defer g.growing.Unlock()
	g.closed = true
	for _, l := range *g.loops.Load() {
		l.close()
	}
}

// Add gives c, which must have been initialised, to one of the loops. The loop calls its
// Handler from then on, possibly before Add returns. Its first deadline is patience from
// now; 0 means no deadline.
func (g *Group) Add(c *Conn, patience time.Duration) error {
	loops := *g.loops.Load()
	return loops[g.nextLoop.Add(1)%uint32(len(loops))].add(c, patience)
}

// ErrClosed is the error of operations on a closed connection or loop. It is a
// net.ErrClosed.
var ErrClosed = fmt.Errorf("netloop: %w", net.ErrClosed)
