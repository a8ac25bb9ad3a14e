package files

import (
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/lockorder"
)

// Node is the result of looking up a path: a file, the index file of a directory, or
// the generated page of a directory. It has the representations that were requested.
type Node struct {
	key   string // in the cache
	name  string // of the file, or of the directory of a page
	dir   bool   // the path is a directory
	title string // of a page
	info  fs.FileInfo

	plain    *Content
	json     *Node // the entries of a page as JSON
	cache    *nodeCache
	checked  atomic.Int64                                      // when it was last found to be current
	used     atomic.Int64                                      // when it was last requested
	encoding [coding.Count]lockorder.Mutex[lockorder.Encoding] // held while the variant is encoded

	mu       lockorder.Mutex[lockorder.Node]
	closed   bool
	bytes    int64 // in memory
	open     int64 // files
	siblings [coding.Count]siblingFile
	variants [coding.Count]atomic.Pointer[Content]
}

// siblingFile is the file beside another file with its content in a coding.
type siblingFile struct {
	checked bool
	info    fs.FileInfo // nil if there is none
}

// findSibling looks for the file beside n with its content in a coding, and remembers
// it.
func (n *Node) findSibling(tree fs.FS, kind coding.Coding) {
	info := statSibling(tree, n.name, kind)
	n.mu.Lock()
	n.siblings[kind] = siblingFile{true, info}
	n.mu.Unlock()
}

func statSibling(tree fs.FS, name string, kind coding.Coding) fs.FileInfo {
	info, err := fs.Stat(tree, name+siblingSuffixes[kind])
	if err != nil {
		return nil
	}
	return info
}

// siblingsAreCurrent reports whether the remembered files beside the file are
// unchanged.
func (n *Node) siblingsAreCurrent(tree fs.FS) bool {
	n.mu.Lock()
	beside := n.siblings
	n.mu.Unlock()
	for kind, was := range beside {
		if !was.checked {
			continue
		}
		is := statSibling(tree, n.name, coding.Coding(kind))
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

// IsPage reports whether the node is a page generated for a directory.
func (n *Node) IsPage() bool { return n.title != "" }

// isOf reports whether the node still matches the file.
func (n *Node) isOf(info fs.FileInfo) bool {
	return sameInfo(info, n.info)
}

// sameInfo reports whether a file is unchanged.
func sameInfo(is, was fs.FileInfo) bool {
	if is.Size() != was.Size() || !is.ModTime().Equal(was.ModTime()) {
		return false
	}
	// other files than the operating system's have no identity: they are not even the same as
	// themselves
	return os.SameFile(is, was) || !os.SameFile(is, is)
}

// setVariant keeps the content in a coding, which is the plain content if the coding
// saves nothing. It reports whether the node has taken over the share of its file.
func (n *Node) setVariant(kind coding.Coding, c *Content) bool {
	if !n.storeVariant(kind, c) {
		return false
	}
	if n.cache != nil {
		n.cache.makeRoom(n)
	}
	return true
}

func (n *Node) storeVariant(kind coding.Coding, c *Content) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return false
	}
	n.variants[kind].Store(c)
	if c != n.plain && n.cache != nil {
		n.count(c)
	}
	return true
}

// count adds content of the node to the totals of the cache.
func (n *Node) count(c *Content) {
	n.bytes += int64(len(c.data))
	n.cache.bytes.Add(int64(len(c.data)))
	if c.shared != nil {
		n.open++
		n.cache.open.Add(1)
	}
}

// closeFiles closes the files, except for responses being sent.
func (n *Node) closeFiles() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	n.closed = true
	n.plain.Release()
	for i := range n.variants {
		if c := n.variants[i].Load(); c != nil && c != n.plain {
			c.Release()
		}
	}
}

// parts returns the node, and its JSON node if there is one.
func (n *Node) parts() []*Node {
	if n.json == nil {
		return []*Node{n}
	}
	return []*Node{n, n.json}
}
