package files

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/lockorder"
)

// The limits of a cache. Above them, it drops approximately the least recently used
// entries.
const (
	MaxCachedFiles = 4096
	MaxCachedBytes = 64 << 20 // contents in memory
	MaxCachedOpen  = 1024     // open files
)

// sweepPause is the least time between two scans of a whole cache.
const sweepPause = 100 * time.Millisecond

// nodeCache caches nodes by path. One goroutine looks up a path, and others that
// need the same path wait for its result.
type nodeCache struct {
	ttl   time.Duration
	bytes atomic.Int64
	open  atomic.Int64 // open files

	mu     lockorder.RWMutex[lockorder.NodeCache]
	nodes  map[string]*Node
	loads  map[string]*load
	sweeps bool // a timer is set
}

// load is a running look-up.
type load struct {
	done chan struct{}
	node *Node
	err  error
}

func newNodeCache(ttl time.Duration) *nodeCache {
	return &nodeCache{ttl: ttl, nodes: map[string]*Node{}, loads: map[string]*load{}}
}

// get returns the node of a path, or nil. If stale is true, the caller must check
// that the path still refers to the node. Only one of several concurrent callers
// gets true.
func (c *nodeCache) get(key []byte) (n *Node, stale bool) {
	c.mu.RLock()
	n = c.nodes[string(key)]
	c.mu.RUnlock()
	if n == nil {
		return nil, false
	}
	now := clock.Now().UnixNano()
	if n.used.Load() != now {
		n.used.Store(now)
	}
	checked := n.checked.Load()
	stale = now-checked > int64(c.ttl) && n.checked.CompareAndSwap(checked, now)
	return n, stale
}

// errLookupFailed is the error of load for callers that waited for a look-up that
// panicked.
var errLookupFailed = errors.New("fasthttp: looking up a file panicked")

// load returns the node of a path, which find makes if the cache does not have it.
func (c *nodeCache) load(key string, find func() (*Node, error)) (*Node, error) {
	c.mu.Lock()
	if n := c.nodes[key]; n != nil {
		c.mu.Unlock()
		return n, nil
	}
	if l := c.loads[key]; l != nil {
		c.mu.Unlock()
		<-l.done
		return l.node, l.err
	}
	l := &load{done: make(chan struct{}), err: errLookupFailed}
	c.loads[key] = l
	c.mu.Unlock()

	defer func() {
		c.mu.Lock()
		delete(c.loads, key)
		if l.err == nil {
			c.add(l.node)
		}
		c.mu.Unlock()
		close(l.done)
	}()
	l.node, l.err = find()
	return l.node, l.err
}

// add puts n into the cache, and removes others if there are too many.
func (c *nodeCache) add(n *Node) {
	now := clock.Now().UnixNano()
	n.checked.Store(now)
	n.used.Store(now)
	c.nodes[n.key] = n
	for _, part := range n.parts() {
		part.cache = c
		part.count(part.plain)
	}
	c.evict(n)
	if !c.sweeps {
		c.sweeps = true
		time.AfterFunc(max(c.ttl, sweepPause), c.sweep)
	}
}

// makeRoom removes nodes other than keep from the cache if it is over its limits.
func (c *nodeCache) makeRoom(keep *Node) {
	if c.open.Load() <= MaxCachedOpen && c.bytes.Load() <= MaxCachedBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evict(keep)
}

// evict is makeRoom for callers that hold mu.
func (c *nodeCache) evict(keep *Node) {
	for len(c.nodes) > 1 && (len(c.nodes) > MaxCachedFiles || c.open.Load() > MaxCachedOpen || c.bytes.Load() > MaxCachedBytes) {
		c.remove(c.oldest(keep))
	}
}

// oldest returns, of the first few nodes other than keep, the least recently used
// one. A map yields its nodes in a different order each time.
func (c *nodeCache) oldest(keep *Node) (found *Node) {
	const few = 8
	looked := 0
	for _, n := range c.nodes {
		if n == keep {
			continue
		}
		if found == nil || n.used.Load() < found.used.Load() {
			found = n
		}
		if looked++; looked == few {
			break
		}
	}
	return found
}

func (c *nodeCache) remove(n *Node) {
	if c.nodes[n.key] != n {
		return
	}
	delete(c.nodes, n.key)
	for _, part := range n.parts() {
		// no variant is added to it from here on
		part.closeFiles()
		c.bytes.Add(-part.bytes)
		c.open.Add(-part.open)
	}
}

// forget removes an outdated node from the cache.
func (c *nodeCache) forget(n *Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(n)
}

// sweep removes nodes that were not used within the time to live, so that no unused
// file stays open. There is a timer only while there are nodes.
func (c *nodeCache) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := clock.Now().UnixNano() - int64(c.ttl)
	for _, n := range c.nodes {
		if n.used.Load() <= limit {
			c.remove(n)
		}
	}
	c.sweeps = len(c.nodes) > 0
	if c.sweeps {
		time.AfterFunc(max(c.ttl, sweepPause), c.sweep)
	}
}

// clear empties the cache.
func (c *nodeCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		c.remove(n)
	}
}
