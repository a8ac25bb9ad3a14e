package main

import (
	"slices"
	"sync"
)

// group has the sockets of serving.GroupPath.
type group[M comparable] struct {
	mu      sync.RWMutex
	members []M
}

func (g *group[M]) join(m M) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = append(g.members, m)
}

func (g *group[M]) leave(m M) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.members, m); i >= 0 {
		last := len(g.members) - 1
		g.members[i] = g.members[last]
		g.members = g.members[:last]
	}
}

// each calls send for every member. A member to which send cannot write is closed by send, and
// leaves when its reader notices that.
func (g *group[M]) each(send func(M)) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, m := range g.members {
		send(m)
	}
}
