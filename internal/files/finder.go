package files

import (
	"bytes"
	"errors"
	"io/fs"
	"sync/atomic"
	"syscall"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
)

// Finder looks up paths. New returns one.
type Finder struct {
	tree        fs.FS
	rootless    bool         // paths are absolute
	only        string       // the only file, with the path "/"; "" for a tree of files
	cache       *nodeCache   // nil for none
	codings     *fileCodings // nil for none
	indexNames  []string
	pages       bool
	tags        TagKind
	types       typesByExtension
	hidden      bool // names that begin with a dot are found
	listsHidden bool // and listed on pages
	rootState   atomic.Uint32
}

// The errors of Find, besides ErrHostileName and the errors of opening a file.
var (
	ErrNoSlash    = errors.New("fasthttp: path of a directory does not end in a slash")
	ErrNoIndex    = errors.New("fasthttp: directory has no index")
	ErrDeniedName = errors.New("fasthttp: index file cannot be opened")
)

var errNoDirectory = errors.New("fasthttp: not a directory")

// IsServersFault reports whether err has nothing to do with the requested file.
func IsServersFault(err error) bool {
	for _, fault := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.ENOMEM, errChanged, errUnreadable, errLookupFailed} {
		if errors.Is(err, fault) {
			return true
		}
	}
	return false
}

// The states of the root of a Finder.
const (
	rootUnknown = iota
	rootSeen
	rootMissed // MissingRoot has reported it
)

// MissingRoot returns the error if the root does not exist. It does so once; it
// returns nil after that, and if there is a root.
func (f *Finder) MissingRoot() error {
	if f.rootState.Load() != rootUnknown {
		return nil
	}
	info, err := fs.Stat(f.tree, ".")
	if err == nil && !info.IsDir() {
		err = errNoDirectory
	}
	if err == nil {
		f.rootState.Store(rootSeen)
	} else if !f.rootState.CompareAndSwap(rootUnknown, rootMissed) {
		return nil
	}
	return err
}

// IsCaching reports whether the Finder caches nodes with their contents.
func (f *Finder) IsCaching() bool { return f.cache != nil }

// HasCodings reports whether the content for a client depends on the codings that it
// accepts.
func (f *Finder) HasCodings() bool { return f.codings != nil }

// Clear empties the cache.
func (f *Finder) Clear() {
	if f.cache != nil {
		f.cache.clear()
	}
}

// Forget removes a node from the cache, after its content could not be acquired or opened.
func (f *Finder) Forget(n *Node) {
	if f.cache != nil {
		f.cache.forget(n)
	}
}

// Done releases a node unless it is in a cache. It ignores a nil node.
func (f *Finder) Done(n *Node) {
	if f.cache == nil && n != nil {
		for _, part := range n.parts() {
			part.closeFiles()
		}
	}
}

// Find looks up a path. title is the path as the client knows it, which becomes the
// title of the page of a directory. The caller must pass the node to Done.
func (f *Finder) Find(p []byte, end End, title []byte) (*Node, error) {
	if f.only != "" && end == EndsAsDir {
		end = EndsInSlash
	}
	n, err := f.find(p, end, title)
	if err == nil && end == EndsAsDir && !n.dir {
		f.Done(n)
		return nil, fs.ErrNotExist
	}
	return n, err
}

// find is Find for a path that may end like a directory's, and still name a file. It
// does not look into a directory if the path ends in its name: relative links in the
// content would be wrong.
func (f *Finder) find(p []byte, end End, title []byte) (*Node, error) {
	if f.cache != nil {
		// a normalized path is found at once; the cache holds no others
		n, stale := f.cache.get(bytes.Trim(p, "/"))
		switch {
		case n == nil:
		case !f.isCurrent(n, stale, title):
			f.cache.forget(n)
		case n.dir && end == EndsInName:
			return nil, ErrNoSlash
		default:
			return n, nil
		}
	}
	name, err := f.nameOf(string(p), servesWindows)
	if err != nil {
		return nil, err
	}
	if isReservedName(name) || !f.hidden && isHiddenPath(name) {
		return nil, fs.ErrNotExist
	}
	if f.cache == nil {
		return f.lookUp(name, end, title)
	}
	key := name
	if key == "." {
		key = ""
	}
	for {
		n, err := f.cache.load(key, func() (*Node, error) {
			n, err := f.lookUp(name, end, title)
			if err == nil {
				n.key = key
			}
			return n, err
		})
		// another goroutine may have looked it up, with the slash or without
		switch {
		case err == ErrNoSlash && end != EndsInName:
		case err == nil && n.dir && end == EndsInName:
			return nil, ErrNoSlash
		default:
			return n, err
		}
	}
}

// nameOf returns the name in the tree for a path.
func (f *Finder) nameOf(p string, windows bool) (string, error) {
	if f.rootless && windows {
		return driveName(p)
	}
	return Name(p, windows)
}

// isCurrent reports whether a node may be served unchanged. The title of a page is
// the path for which it was made, and several paths may lead to one directory.
func (f *Finder) isCurrent(n *Node, stale bool, title []byte) bool {
	if n.IsPage() && n.title != bytesconv.String(title) {
		return false
	}
	if !stale {
		return true
	}
	if n.dir {
		// there may be another index file by now, or other entries
		return false
	}
	info, err := fs.Stat(f.tree, n.name)
	if f.codings != nil && errors.Is(err, fs.ErrNotExist) {
		f.codings.forget(n.name)
	}
	return err == nil && n.isOf(info) && n.siblingsAreCurrent(f.tree)
}

// accepted returns the Accept fields as one list (RFC 9110 section 5.3), or nil.
func accepted(fields *field.List) (list []byte) {
	for i := fields.FindID(field.Accept, 0); i >= 0; i = fields.FindID(field.Accept, i+1) {
		if list == nil {
			list = fields.Value(i)
		} else {
			list = append(append(list[:len(list):len(list)], ", "...), fields.Value(i)...)
		}
	}
	return list
}

// Choose returns the content of a node that suits a client best, by the fields of its
// request; head means that the method is HEAD. The caller must acquire the content,
// which fails if the cache has dropped the node meanwhile.
func (f *Finder) Choose(n *Node, fields *field.List, head bool) *Content {
	if n.json != nil {
		if prefersJSON(accepted(fields)) {
			n = n.json
		}
	}
	if f.codings == nil || hasField(fields, field.Range) {
		return n.plain
	}
	return f.codings.choose(f, n, fields, head)
}
