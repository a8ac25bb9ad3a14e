package files

import (
	"io/fs"
	"path"
	"time"
)

// dirEntry is an entry of a directory on a page.
type dirEntry struct {
	name     string
	dir      bool
	size     int64
	modified time.Time
}

// listDirectory returns the entries of a directory that Find would find, and the
// latest modification time of the entries and the directory itself.
func (f *Finder) listDirectory(name string, dir fs.File, info fs.FileInfo) ([]dirEntry, time.Time, error) {
	entries, err := readDir(dir)
	if err != nil {
		return nil, time.Time{}, err
	}
	isCopy := f.copiesAmong(name, entries)
	list, newest := make([]dirEntry, 0, len(entries)), info.ModTime()
	for _, entry := range entries {
		if entry.Name()[0] == '.' && !f.listsHidden || isCopy(entry.Name()) {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			// it was removed while the directory was read
			continue
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			// a link is shown as its target, if there is one
			if target, err := fs.Stat(f.tree, path.Join(name, entry.Name())); err == nil {
				info = target
			}
		}
		if !isServed(info) && info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		list = append(list, dirEntry{entry.Name(), info.IsDir(), info.Size(), info.ModTime()})
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return list, newest, nil
}

// copiesAmong returns a function that reports whether an entry of a directory is a
// compressed copy. It opens an entry with a suffix of the application to check that,
// unless its original is there.
func (f *Finder) copiesAmong(dir string, entries []fs.DirEntry) func(name string) bool {
	if f.codings == nil {
		return isReservedName
	}
	there := make(map[string]bool, len(entries))
	for _, entry := range entries {
		there[entry.Name()] = true
	}
	return func(name string) bool {
		original, ok := f.codings.original(name)
		if !ok || isReservedName(name) || there[original] {
			return ok || isReservedName(name)
		}
		file, info, err := openWithInfo(f.tree, path.Join(dir, name))
		if err != nil {
			return false
		}
		defer func() { _ = file.Close() }()
		return f.codings.isCopy(name, file, info)
	}
}
