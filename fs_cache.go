package fasthttp

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/coding"
)

// What a cache holds at most. Where there is more, that goes which was not
// asked for the longest, more or less.
const (
	maxCachedFiles = 4096
	maxCachedBytes = 64 << 20 // of contents that are in memory
	maxCachedOpen  = 1024     // files that are kept open
)

// sweepPause is the least time between two looks at all that is in a cache.
const sweepPause = 100 * time.Millisecond

// node is what a path stood for when it was looked up: a file, the index file
// of a directory, or a page that was made of one. It has the representations
// that were asked for.
type node struct {
	key   string // in the cache
	name  string // of the file, or of the directory that a page shows
	dir   bool   // the path is that of a directory
	title string // of a page
	info  fs.FileInfo

	plain    *fileContent
	json     *node // what a page says, for programs
	cache    *nodeCache
	checked  atomic.Int64             // when it was found to be up to date
	used     atomic.Int64             // when it was asked for
	encoding [coding.Count]sync.Mutex // held while the variant is made

	mu       sync.Mutex
	dropped  bool
	bytes    int64 // in memory
	open     int64 // files
	beside   [coding.Count]besideFile
	variants [coding.Count]atomic.Pointer[fileContent]
}

// besideFile is what was found beside a file with its content in a coding.
type besideFile struct {
	looked bool
	info   fs.FileInfo // nil for nothing
}

// lookBeside remembers what lies beside the file.
func (n *node) lookBeside(tree fs.FS, kind coding.Coding) {
	info := statBeside(tree, n.name, kind)
	n.mu.Lock()
	n.beside[kind] = besideFile{true, info}
	n.mu.Unlock()
}

func statBeside(tree fs.FS, name string, kind coding.Coding) fs.FileInfo {
	info, err := fs.Stat(tree, name+siblingSuffixes[kind])
	if err != nil {
		return nil
	}
	return info
}

// besideIsCurrent reports whether there lies beside the file what did.
func (n *node) besideIsCurrent(tree fs.FS) bool {
	n.mu.Lock()
	beside := n.beside
	n.mu.Unlock()
	for kind, was := range beside {
		if !was.looked {
			continue
		}
		is := statBeside(tree, n.name, coding.Coding(kind))
		if is == nil || was.info == nil {
			if is != was.info {
				return false
			}
		} else if !sameInfo(is, was.info) {
			return false
		}
	}
	return true
}

// isPage reports whether the node is a page that was made of a directory.
func (n *node) isPage() bool { return n.title != "" }

// isOf reports whether the node is that of the file as it is now.
func (n *node) isOf(info fs.FileInfo) bool {
	return sameInfo(info, n.info)
}

// sameInfo reports whether a file is what it was.
func sameInfo(is, was fs.FileInfo) bool {
	if is.Size() != was.Size() || !is.ModTime().Equal(was.ModTime()) {
		return false
	}
	// what is not from the operating system cannot tell
	return os.SameFile(is, was) || is.Sys() == nil
}

// setVariant keeps what the content is in a coding, which may be the plain
// content where the coding gains nothing. It reports whether the node took over
// the share of its file.
func (n *node) setVariant(kind coding.Coding, c *fileContent) bool {
	if !n.storeVariant(kind, c) {
		return false
	}
	if n.cache != nil {
		n.cache.makeRoom(n)
	}
	return true
}

func (n *node) storeVariant(kind coding.Coding, c *fileContent) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dropped {
		return false
	}
	n.variants[kind].Store(c)
	if c != n.plain && n.cache != nil {
		n.count(c)
	}
	return true
}

// count counts content that the node has in the cache.
func (n *node) count(c *fileContent) {
	n.bytes += int64(len(c.data))
	n.cache.bytes.Add(int64(len(c.data)))
	if c.shared != nil {
		n.open++
		n.cache.open.Add(1)
	}
}

// drop lets go of the files. Responses that are being sent keep theirs open.
func (n *node) drop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dropped {
		return
	}
	n.dropped = true
	n.plain.release()
	for i := range n.variants {
		if c := n.variants[i].Load(); c != nil && c != n.plain {
			c.release()
		}
	}
}

// parts returns the node and that of what it says to programs, if it does.
func (n *node) parts() []*node {
	if n.json == nil {
		return []*node{n}
	}
	return []*node{n, n.json}
}

// nodeCache keeps nodes by path. A path is looked up by one goroutine at a
// time, and the others wait for what it finds.
type nodeCache struct {
	ttl   time.Duration
	bytes atomic.Int64
	open  atomic.Int64 // files that are kept open

	mu     sync.RWMutex
	nodes  map[string]*node
	loads  map[string]*load
	sweeps bool // a timer is set
}

// load is a look-up that is under way.
type load struct {
	done chan struct{}
	node *node
	err  error
}

func newNodeCache(ttl time.Duration) *nodeCache {
	return &nodeCache{ttl: ttl, nodes: map[string]*node{}, loads: map[string]*load{}}
}

// get returns the node of a path, or nil, and whether somebody has to check
// that it is still what the path stands for: one caller gets to know that.
func (c *nodeCache) get(key []byte) (n *node, stale bool) {
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

// errLookupFailed is what those get who waited for a look-up that panicked.
var errLookupFailed = errors.New("fasthttp: looking up a file panicked")

// load returns the node of a path that find makes, unless it is there already.
func (c *nodeCache) load(key string, find func() (*node, error)) (*node, error) {
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

// add puts n into the cache, and others out of it where there are too many.
func (c *nodeCache) add(n *node) {
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

// makeRoom takes nodes out of the cache where there is too much in it. It keeps one.
func (c *nodeCache) makeRoom(keep *node) {
	if c.open.Load() <= maxCachedOpen && c.bytes.Load() <= maxCachedBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evict(keep)
}

// evict is makeRoom for who holds mu.
func (c *nodeCache) evict(keep *node) {
	for len(c.nodes) > 1 && (len(c.nodes) > maxCachedFiles || c.open.Load() > maxCachedOpen || c.bytes.Load() > maxCachedBytes) {
		c.remove(c.oldest(keep))
	}
}

// oldest returns the one of a few nodes that was not asked for the longest: the
// order of a map is another one each time. It is never keep.
func (c *nodeCache) oldest(keep *node) (found *node) {
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

func (c *nodeCache) remove(n *node) {
	if c.nodes[n.key] != n {
		return
	}
	delete(c.nodes, n.key)
	for _, part := range n.parts() {
		// nothing is added to it any more then
		part.drop()
		c.bytes.Add(-part.bytes)
		c.open.Add(-part.open)
	}
}

// forget takes a node out of the cache that is not up to date.
func (c *nodeCache) forget(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(n)
}

// sweep takes out what was not asked for within the time to live, so that no
// file stays open for nothing. There is a timer only while there are nodes.
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
