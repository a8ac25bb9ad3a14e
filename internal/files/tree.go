package files

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/lockorder"
)

// A tree is the source of the served files: an fs.FS of the application, or one of
// the types below. Names are results of Name; unlike in fs.ValidPath, names of the
// operating system need not be UTF-8.

// OpenFlags is for files of the operating system. If a pipe replaces a file just
// before it is opened, opening it would otherwise wait for the other end.
const OpenFlags = os.O_RDONLY | syscall.O_NONBLOCK

// confinedTree is a directory that no name and no symbolic link leads out of.
type confinedTree struct {
	dir     string
	refresh time.Duration

	mu      lockorder.Mutex[lockorder.FileTree]
	root    *os.Root
	checked time.Time
}

// current returns the directory. It may have been replaced by another one with the
// same name, for example by a deployment that changes a link, so current checks
// that now and then.
func (t *confinedTree) current() (*os.Root, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.root != nil && now.Sub(t.checked) < t.refresh {
		return t.root, nil
	}
	if t.root != nil && t.unchanged() {
		t.checked = now
		return t.root, nil
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil, err
	}
	// the garbage collector closes the previous one, since other goroutines may be
	// about to use it
	t.root, t.checked = root, now
	return root, nil
}

func (t *confinedTree) unchanged() bool {
	there, err := os.Stat(t.dir)
	if err != nil {
		return false
	}
	had, err := t.root.Stat(".")
	return err == nil && os.SameFile(there, had)
}

// Open implements fs.FS.
func (t *confinedTree) Open(name string) (fs.File, error) {
	root, err := t.current()
	if err != nil {
		return nil, err
	}
	return opened(root.OpenFile(filepath.FromSlash(name), OpenFlags, 0))
}

// Stat implements fs.StatFS.
func (t *confinedTree) Stat(name string) (fs.FileInfo, error) {
	root, err := t.current()
	if err != nil {
		return nil, err
	}
	return root.Stat(filepath.FromSlash(name))
}

// openTree is a directory. Names are joined to its path and opened unchanged,
// wherever links lead. The empty path means no directory: names are absolute paths
// then, with a volume in front on Windows.
type openTree string

func (t openTree) path(name string) string {
	switch {
	case t != "":
	case servesWindows:
		// without a slash after it, a drive means its working directory
		return filepath.Clean(filepath.FromSlash(name + "/"))
	default:
		t = "/"
	}
	return filepath.Join(string(t), filepath.FromSlash(name))
}

// Open implements fs.FS.
func (t openTree) Open(name string) (fs.File, error) {
	return opened(os.OpenFile(t.path(name), OpenFlags, 0))
}

// Stat implements fs.StatFS.
func (t openTree) Stat(name string) (fs.FileInfo, error) { return os.Stat(t.path(name)) }

// fileTree is the folder of a single file that the application has named: links lead to it from
// anywhere, and may be turned to another file. What lies beside it stays in the folder.
type fileTree struct {
	fs.FS
	file string
}

// Open implements fs.FS.
func (t fileTree) Open(name string) (fs.File, error) {
	if name == filepath.Base(t.file) {
		return opened(os.OpenFile(t.file, OpenFlags, 0))
	}
	return t.FS.Open(name)
}

// Stat implements fs.StatFS.
func (t fileTree) Stat(name string) (fs.FileInfo, error) {
	if name == filepath.Base(t.file) {
		return os.Stat(t.file)
	}
	return fs.Stat(t.FS, name)
}

// opened prevents a nil *os.File from becoming a non-nil fs.File.
func opened(f *os.File, err error) (fs.File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// treeOf returns the tree of a directory of the operating system.
func treeOf(dir string, allowLinksOutside bool, refresh time.Duration) fs.FS {
	if isWholeVolume(dir) || allowLinksOutside {
		return openTree(dir)
	}
	return &confinedTree{dir: dir, refresh: refresh}
}

// isWholeVolume reports whether dir is empty or a whole volume, to which names need
// not be confined.
func isWholeVolume(dir string) bool {
	return dir == "" || dir == filepath.VolumeName(dir) || filepath.IsAbs(dir) && filepath.Dir(dir) == dir
}

// subTree is the part of an fs.FS below a directory. It is like fs.Sub, but allows
// names that are not UTF-8.
type subTree struct {
	fsys fs.FS
	dir  string
}

// Open implements fs.FS.
func (t subTree) Open(name string) (fs.File, error) { return t.fsys.Open(path.Join(t.dir, name)) }

// Stat implements fs.StatFS.
func (t subTree) Stat(name string) (fs.FileInfo, error) {
	return fs.Stat(t.fsys, path.Join(t.dir, name))
}

// openWithInfo opens a file or a directory of a tree. If the tree can tell in
// advance, it does not open anything else: merely opening would release a process
// that waits at the other end of a pipe, or affect a device.
func openWithInfo(tree fs.FS, name string) (fs.File, fs.FileInfo, error) {
	if s := statOf(tree); s != nil {
		info, err := s.Stat(name)
		if err == nil && !isServed(info) {
			err = ErrNotRegular
		}
		if err != nil {
			return nil, nil, err
		}
	}
	f, err := tree.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !isServed(info) {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// isServed reports whether info describes a file or a directory.
func isServed(info fs.FileInfo) bool { return info.IsDir() || info.Mode().IsRegular() }

// statOf returns a file system that can stat without opening, or nil.
func statOf(tree fs.FS) fs.StatFS {
	s, ok := tree.(fs.StatFS)
	if sub, isSub := tree.(subTree); isSub {
		_, ok = sub.fsys.(fs.StatFS)
	}
	if !ok {
		return nil
	}
	return s
}

// readDir returns the entries of an open directory by name, directories first.
func readDir(f fs.File) ([]fs.DirEntry, error) {
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, ErrNotRegular
	}
	list, err := dir.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int {
		if a.IsDir() != b.IsDir() {
			if a.IsDir() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name(), b.Name())
	})
	return list, readError(err)
}
