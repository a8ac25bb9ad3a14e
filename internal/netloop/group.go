//go:build linux

package netloop

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Group is a number of loops that share the connections.
type Group struct {
	loops []*Loop
	turn  atomic.Uint32
}

// NewGroup starts n loops.
func NewGroup(n int) (*Group, error) {
	g := &Group{}
	for range n {
		l, err := newLoop()
		if err != nil {
			g.Close()
			return nil, fmt.Errorf("netloop: cannot start an event loop: %w", err)
		}
		g.loops = append(g.loops, l)
	}
	return g, nil
}

// Close ends all loops. No connection may be left on them.
func (g *Group) Close() {
	for _, l := range g.loops {
		l.close()
	}
}

// Add gives c, which has been initialised, to one of the loops. From then on
// its Handler is called; that can be before Add returns. Its first deadline is
// patience from now, or never where that is 0.
func (g *Group) Add(c *Conn, patience time.Duration) error {
	i := g.turn.Add(1)
	l := g.loops[i%uint32(len(g.loops))]
	return l.add(c, patience)
}

// ErrClosed is what operations on a closed connection or loop return.
var ErrClosed = errors.New("netloop: closed")
