package fasthttp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// copyFolder is where compressed copies of files are kept: a tree like that of
// the originals, or the same one. A copy has the time of the last change of its
// original, which is how one that is out of date is told.
//
// Copies are written to a file of another name, which is then renamed, so that
// nobody ever sees half of one. Neither step follows a symbolic link: a link in
// the place of a copy is replaced.
type copyFolder struct {
	dir      string
	confined bool // folders below dir are not left through links
	made     bool // dir may have to be made
}

const (
	// tempSuffix is behind the name of a copy that is being written. There is
	// one at most for each copy, also with several processes.
	tempSuffix = ".tmp"
	// tempAge is after what time a process must have ended that writes a copy.
	tempAge = 10 * time.Minute

	copyMode   = 0o600
	folderMode = 0o750
)

// errGainsNothing says that a file does not get smaller in a coding.
var errGainsNothing = errors.New("fasthttp: compression gains nothing")

// get opens the copy of a file, and makes it where it is missing or out of date.
func (k *copyFolder) get(name, suffix string, plain *fileContent, coding contentCoding) (fs.File, fs.FileInfo, error) {
	dirName, base := splitName(name)
	base += suffix
	if dir, err := k.open(dirName); err == nil {
		f, info, err := openCopy(dir, base, plain.modified)
		_ = dir.Close()
		if err == nil {
			return f, info, nil
		}
	}
	if err := k.makeFolder(dirName); err != nil {
		return nil, nil, err
	}
	dir, err := k.open(dirName)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = dir.Close() }()
	if err := writeCopy(dir, base, plain, coding); err != nil {
		return nil, nil, err
	}
	return openCopy(dir, base, plain.modified)
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

// makeFolder makes a folder for copies, where those are apart from the files.
func (k *copyFolder) makeFolder(name string) error {
	if !k.made {
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

// openCopy opens a copy that is a regular file, no link to one, and of the time.
func openCopy(dir *os.Root, base string, modified time.Time) (fs.File, fs.FileInfo, error) {
	seen, err := dir.Lstat(base)
	if err != nil {
		return nil, nil, err
	}
	if !seen.Mode().IsRegular() || !seen.ModTime().Equal(modified) {
		return nil, nil, errChanged
	}
	f, err := dir.OpenFile(base, openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(seen, info) {
		err = errChanged
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// writeCopy makes a copy. Whatever fails, no temporary file is left.
func writeCopy(dir *os.Root, base string, plain *fileContent, coding contentCoding) (err error) {
	temp := base + tempSuffix
	f, err := createTemp(dir, temp)
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		// also where the encoder panics
		if !renamed {
			err = errors.Join(err, dir.Remove(temp))
		}
	}()
	if err := errors.Join(encodeTo(f, plain, coding), f.Close()); err != nil {
		return err
	}
	info, err := dir.Lstat(temp)
	if err != nil {
		return err
	}
	if info.Size() >= plain.size {
		return errGainsNothing
	}
	if err := dir.Chtimes(temp, plain.modified, plain.modified); err != nil {
		return err
	}
	if err := dir.Rename(temp, base); err != nil {
		return err
	}
	renamed = true
	return nil
}

// createTemp creates a file that must not be there. One that a process has left
// behind is removed.
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

// remove removes a copy of the file as it was.
func (k *copyFolder) remove(name, suffix string, plain *fileContent) {
	dirName, base := splitName(name)
	dir, err := k.open(dirName)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	base += suffix
	if info, err := dir.Lstat(base); err == nil && info.Mode().IsRegular() && info.ModTime().Equal(plain.modified) {
		_ = dir.Remove(base)
	}
}
