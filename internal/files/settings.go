package files

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/valyala/fasthttp/internal/coding"
)

// Settings configures a Finder. The zero value serves the working directory, without
// pages, tags and codings.
type Settings struct {
	// FS holds the files; nil means the operating system.
	FS fs.FS
	// Root is the directory or the single file to serve, within FS if that is set. ""
	// means the working directory, or all of FS.
	Root string
	// AllowEmptyRoot makes an empty Root mean no directory at all.
	AllowEmptyRoot bool
	// AllowSymlinksOutsideRoot follows symbolic links out of Root.
	AllowSymlinksOutsideRoot bool

	// IndexNames are the names of files to serve for their directory.
	IndexNames []string
	// GenerateIndexPages generates a page for a directory without such a file.
	GenerateIndexPages bool
	// ContentTypes maps extensions to types. It overrides all other sources.
	ContentTypes map[string]string
	// Tags is the kind of entity tags.
	Tags TagKind

	// TTL is how long a node is served unchecked, and how long an unused one is kept.
	TTL time.Duration
	// SkipCache looks up every node anew.
	SkipCache bool

	// FindHidden serves files with a path segment that begins with a dot, and
	// ListHidden lists them on pages.
	FindHidden, ListHidden bool
	// RootIsThere makes MissingRoot return nil.
	RootIsThere bool

	// Codings are the codings in which contents are encoded.
	Codings coding.Set
	// CompressTypes are the types of contents to encode; if empty, the default ones.
	CompressTypes []string
	// Suffixes are the suffixes of the names of copies.
	Suffixes [coding.Count]string
	// CompressRoot is the directory for copies; "" means Root.
	CompressRoot string
	// Precompressed serves encoded files from beside the originals.
	Precompressed bool
}

// New returns a Finder for the settings.
func New(s *Settings) *Finder {
	f := &Finder{
		indexNames:  s.IndexNames,
		pages:       s.GenerateIndexPages,
		tags:        s.Tags,
		types:       extensionTypes(s.ContentTypes),
		hidden:      s.FindHidden,
		listsHidden: s.ListHidden,
	}
	if s.RootIsThere {
		f.rootState.Store(rootSeen)
	}
	if !s.SkipCache {
		f.cache = newNodeCache(s.TTL)
	}
	root := s.Root
	switch {
	case s.FS == nil:
		root = rootDir(root, s.AllowEmptyRoot)
		if info, err := os.Stat(root); err == nil && info.Mode().IsRegular() {
			file := root
			root, f.only = filepath.Dir(file), filepath.Base(file)
			f.tree = fileTree{treeOf(root, s.AllowSymlinksOutsideRoot, s.TTL), file}
			break
		}
		f.tree, f.rootless = treeOf(root, s.AllowSymlinksOutsideRoot, s.TTL), root == ""
	default:
		f.tree = s.FS
		// unlike a path of a client, it may have dot segments
		name := path.Clean("/" + filepath.ToSlash(root))[1:]
		if name == "" {
			break
		}
		if info, err := fs.Stat(s.FS, name); err == nil && info.Mode().IsRegular() {
			name, f.only = splitName(name)
		}
		if name != "." {
			f.tree = subTree{s.FS, name}
		}
	}
	if s.Codings != 0 || s.Precompressed {
		f.codings = newFileCodings(s, root)
	}
	return f
}

// rootDir returns the absolute path of a root, or "" for none.
func rootDir(root string, allowEmpty bool) string {
	if root == "" && allowEmpty {
		return ""
	}
	dir, err := filepath.Abs(root)
	if err != nil {
		// there is no working directory: nothing will be found. An empty root would mean all files
		return cmp.Or(root, ".")
	}
	return dir
}
