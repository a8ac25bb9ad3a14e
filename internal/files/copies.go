package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/lockorder"
)

// copyFolder is the folder for compressed copies of files: a tree like the tree of
// the originals, or the same one. A copy ends in a stamp, which identifies outdated
// copies.
//
// A copy is written to a file with another name, which is then renamed, so that no
// reader ever sees half of one. Neither step follows a symbolic link: a copy
// replaces a link in its place.
type copyFolder struct {
	dir      string
	confined bool     // links may not lead out of dir
	apart    bool     // dir is not the root of the files, and may have to be created
	mark     rootMark // of the root of the files, if it is apart

	mu   lockorder.Mutex[lockorder.CopyFolder]
	tidy map[string]bool // folders in which needless copies were removed
}

const (
	// tempSuffix follows the name of an unfinished copy. There is at most one such
	// file for each copy, even if several processes write copies.
	tempSuffix = ".tmp"
	// tempAge is the age above which a temporary file is no longer being written:
	// its process has ended.
	tempAge = 10 * time.Minute

	copyMode   = 0o600
	folderMode = 0o750

	// maxTidyFolders is the largest number of folders remembered as tidy.
	maxTidyFolders = 1024
)

// errGainsNothing means that a coding does not make a file smaller.
var errGainsNothing = errors.New("fasthttp: compression gains nothing")

// errNotACopy means that a file of the application has the name of a copy.
var errNotACopy = errors.New("fasthttp: a file has the name of a compressed copy")

// fileCopy is the copy of a file in a coding, which may not exist yet.
type fileCopy struct {
	dir, base string
	stamp     copyStamp
	modified  time.Time
	coding    coding.Coding
}

// of returns the copy of a file. Its name is the original's name with the suffix.
func (k *copyFolder) of(name, suffix string, original fs.FileInfo, kind coding.Coding) *fileCopy {
	dir, base := splitName(name)
	return &fileCopy{dir, base + suffix, stampFor(k.mark, original, kind), copyTime(original.ModTime()), kind}
}

// get opens an existing copy, and returns the size of its content. The stamp follows
// the content.
func (k *copyFolder) get(c *fileCopy) (fs.File, int64, error) {
	dir, err := k.open(c.dir)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = dir.Close() }()
	return c.open(dir)
}

// make makes a copy of plain, and returns the same as get.
func (k *copyFolder) make(c *fileCopy, plain *Content) (fs.File, int64, error) {
	if err := k.makeFolder(c.dir); err != nil {
		return nil, 0, err
	}
	dir, err := k.open(c.dir)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = dir.Close() }()
	if err := c.write(dir, plain); err != nil {
		return nil, 0, err
	}
	return c.open(dir)
}

// open opens the folder for the copies of the files in a folder.
func (k *copyFolder) open(name string) (*os.Root, error) {
	if !k.confined {
		return os.OpenRoot(openTree(k.dir).path(name))
	}
	root, err := os.OpenRoot(k.dir)
	if err != nil || name == "." {
		return root, err
	}
	defer func() { _ = root.Close() }()
	return root.OpenRoot(filepath.FromSlash(name))
}

// makeFolder makes a folder for copies, if they have a separate tree.
func (k *copyFolder) makeFolder(name string) error {
	if !k.apart {
		return nil
	}
	if err := os.MkdirAll(k.dir, folderMode); err != nil || name == "." {
		return err
	}
	if !k.confined {
		return os.MkdirAll(openTree(k.dir).path(name), folderMode)
	}
	root, err := os.OpenRoot(k.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return root.MkdirAll(filepath.FromSlash(name), folderMode)
}

// open opens the copy, if it is a regular file, not a link to one, and has the
// stamp.
func (c *fileCopy) open(dir *os.Root) (fs.File, int64, error) {
	f, size, stamp, err := openStamped(dir, c.base)
	if err != nil {
		return nil, 0, err
	}
	if stamp != c.stamp {
		return nil, 0, errors.Join(errChanged, f.Close())
	}
	return f, size, nil
}

// openStamped opens a copy, whatever its stamp. It must be a regular file.
// openStamped returns the size of its content.
func openStamped(dir *os.Root, base string) (f *os.File, size int64, stamp copyStamp, err error) {
	seen, err := dir.Lstat(base)
	if err != nil {
		return nil, 0, stamp, err
	}
	if !seen.Mode().IsRegular() {
		return nil, 0, stamp, ErrNotRegular
	}
	if f, err = dir.OpenFile(base, OpenFlags, 0); err != nil {
		return nil, 0, stamp, err
	}
	info, err := f.Stat()
	if err == nil {
		var ok bool
		if stamp, ok = readStamp(f, info.Size()); !ok || !os.SameFile(seen, info) {
			err = errChanged
		}
	}
	if err != nil {
		return nil, 0, stamp, errors.Join(err, f.Close())
	}
	return f, info.Size() - int64(stampSize), stamp, nil
}

// write makes the copy. If it fails, it leaves no temporary file.
func (c *fileCopy) write(dir *os.Root, plain *Content) (err error) {
	if !c.mayReplace(dir) {
		return errNotACopy
	}
	temp := tempName(c.base)
	f, err := createTemp(dir, temp)
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		// even if the encoder panics
		if !renamed {
			err = errors.Join(err, dir.Remove(temp))
		}
	}()
	err = encodeTo(f, plain, c.coding)
	if err == nil {
		_, err = f.Write(c.stamp[:])
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	info, err := dir.Lstat(temp)
	if err != nil {
		return err
	}
	if info.Size()-int64(stampSize) >= plain.Size {
		return errGainsNothing
	}
	if err := dir.Chtimes(temp, c.modified, c.modified); err != nil {
		return err
	}
	if err := dir.Rename(temp, c.base); err != nil {
		return err
	}
	renamed = true
	return nil
}

// mayReplace reports whether no file, or only a copy, has the name of the copy: files
// of the application may end in the suffix that it has chosen.
func (c *fileCopy) mayReplace(dir *os.Root) bool {
	if isReservedName(c.base) {
		return true
	}
	f, _, _, err := openStamped(dir, c.base)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	_ = f.Close()
	return true
}

// tempName returns the name of an unfinished copy. If the name of the copy
// with the suffix is too long, it uses a hash and the end of the name.
func tempName(base string) string {
	const longest = 255 // in bytes, on most systems
	if len(base)+len(tempSuffix) <= longest {
		return base + tempSuffix
	}
	sum := sha256.Sum256([]byte(base))
	end := strings.ToValidUTF8(base[len(base)-32:], "")
	return hex.EncodeToString(sum[:]) + end + tempSuffix
}

// createTemp creates a new file. It replaces one that another process has left.
func createTemp(dir *os.Root, name string) (*os.File, error) {
	const flags = os.O_CREATE | os.O_EXCL | os.O_WRONLY
	f, err := dir.OpenFile(name, flags, copyMode)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	info, statErr := dir.Lstat(name)
	if statErr != nil || time.Since(info.ModTime()) < tempAge {
		return nil, err
	}
	if err := dir.Remove(name); err != nil {
		return nil, err
	}
	return dir.OpenFile(name, flags, copyMode)
}

// remove removes the copy of any version of a file.
func (k *copyFolder) remove(name, suffix string) {
	folder, base := splitName(name)
	dir, err := k.open(folder)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	k.removeFrom(dir, base+suffix)
}

// removeFrom removes the file if it is a copy of a file in the root.
func (k *copyFolder) removeFrom(dir *os.Root, base string) {
	f, _, stamp, err := openStamped(dir, base)
	if err != nil {
		return
	}
	_ = f.Close()
	if stamp.root() == k.mark {
		_ = dir.Remove(base)
	}
}

// tidyUp removes leftovers of other processes in a folder: copies whose originals
// are not in the tree, and half-written copies. It looks at each folder once.
// original returns the name of the file of which a name can be a copy.
func (k *copyFolder) tidyUp(tree fs.FS, folder string, original func(name string) (string, bool)) {
	if !k.isFirst(folder) {
		return
	}
	dir, err := k.open(folder)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	f, err := dir.Open(".")
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1) // a partial list will do
	_ = f.Close()
	for _, entry := range entries {
		name := entry.Name()
		base, ok := original(name)
		switch {
		case !ok:
		case strings.HasSuffix(name, tempSuffix):
			if info, err := entry.Info(); err == nil && isReservedName(name) && info.Mode().IsRegular() && time.Since(info.ModTime()) >= tempAge {
				_ = dir.Remove(name)
			}
		default:
			if _, err := fs.Stat(tree, path.Join(folder, base)); errors.Is(err, fs.ErrNotExist) {
				k.removeFrom(dir, name)
			}
		}
	}
}

// isFirst reports whether tidyUp has not looked at a folder yet, and remembers the
// folder.
func (k *copyFolder) isFirst(folder string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tidy[folder] {
		return false
	}
	if k.tidy == nil || len(k.tidy) >= maxTidyFolders {
		k.tidy = map[string]bool{}
	}
	k.tidy[folder] = true
	return true
}

// knows reports whether there may be copies in a folder.
func (k *copyFolder) knows(folder string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tidy[folder]
}
