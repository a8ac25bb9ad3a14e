package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/valyala/fasthttp/internal/coding"
)

// Settings say what a Finder finds. The zero value stands for the working
// directory, without pages, tags and codings.
type Settings struct {
	// FS is where files are from; nil for the operating system.
	FS fs.FS
	// Root is the directory to serve, within FS if that is set, or a single file of
	// the operating system. "" is the working directory, or all of FS.
	Root string
	// AllowEmptyRoot makes an empty Root stand for no directory at all.
	AllowEmptyRoot bool
	// AllowSymlinksOutsideRoot makes links be followed wherever they lead.
	AllowSymlinksOutsideRoot bool

	// IndexNames are the names of files that stand for their directory.
	IndexNames []string
	// GenerateIndexPages makes a page of a directory without such a file.
	GenerateIndexPages bool
	// ContentTypes are the types of files by extension, before all others.
	ContentTypes map[string]string
	// Tags are the entity tags that contents have.
	Tags TagKind

	// TTL is how long a node is served as it was found before it is looked at again,
	// and how long it is kept without being asked for.
	TTL time.Duration
	// SkipCache makes every node be looked up anew.
	SkipCache bool

	// FindHidden makes files be found of which a segment of the path begins with a
	// dot, and ListHidden makes them be on pages.
	FindHidden, ListHidden bool
	// RootIsThere says that MissingRoot has nothing to tell.
	RootIsThere bool

	// Codings are those in which contents are encoded.
	Codings coding.Set
	// CompressTypes are the types of such contents; the usual ones if there are none.
	CompressTypes []string
	// Suffixes are what the names of copies end in.
	Suffixes [coding.Count]string
	// CompressRoot is the directory for copies; "" for Root.
	CompressRoot string
	// Precompressed makes files be sent that lie encoded beside others.
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
		if file, ok := regularFile(root); ok {
			root, f.only = filepath.Dir(file), filepath.Base(file)
		}
		f.tree = treeOf(root, s.AllowSymlinksOutsideRoot, s.TTL)
	default:
		f.tree = s.FS
		if dir, err := Name(filepath.ToSlash(root), false); err == nil && dir != "." {
			f.tree = subTree{s.FS, dir}
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
		// there is no working directory: nothing will be found
		return root
	}
	return dir
}

// regularFile reports whether a root is a file, and returns its path without
// symbolic links: those may well lead out of the directory that it is in.
func regularFile(root string) (string, bool) {
	file, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", false
	}
	info, err := os.Stat(file)
	return file, err == nil && info.Mode().IsRegular()
}
