package files

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// lookUp opens the file or directory with a name.
func (f *Finder) lookUp(name string, end End, title []byte) (*Node, error) {
	if f.only != "" {
		if name != "." {
			return nil, fs.ErrNotExist
		}
		name = f.only
	}
	file, info, err := openWithInfo(f.tree, name)
	if err != nil {
		if f.codings != nil && errors.Is(err, fs.ErrNotExist) {
			f.codings.forget(name)
		}
		return nil, err
	}
	if info.IsDir() {
		defer func() { _ = file.Close() }()
		if end == EndsInName {
			return nil, ErrNoSlash
		}
		return f.lookUpDirectory(file, info, name, string(title))
	}
	if f.codings != nil && f.codings.isCopy(name, file, info) {
		return nil, errors.Join(fs.ErrNotExist, file.Close())
	}
	return f.newNode(file, info, name)
}

// newNode makes the node of an open file, which it takes over.
func (f *Finder) newNode(file fs.File, info fs.FileInfo, name string) (*Node, error) {
	c, err := loadContent(file, info.Size(), f.types.of(name), func() (fs.File, error) { return f.tree.Open(name) })
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, name)
	}
	c.setModified(info.ModTime())
	if err := f.tags.tag(c); err != nil {
		c.Release()
		return nil, fmt.Errorf("%w: %s", err, name)
	}
	return &Node{name: name, info: info, plain: c}, nil
}

// lookUpDirectory finds the index file of a directory, or makes its page.
func (f *Finder) lookUpDirectory(dir fs.File, info fs.FileInfo, name, title string) (*Node, error) {
	for _, index := range f.indexNames {
		file, info, err := openWithInfo(f.tree, path.Join(name, index))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrDeniedName, err)
		case info.IsDir():
			_ = file.Close()
			continue
		}
		n, err := f.newNode(file, info, path.Join(name, index))
		if err == nil {
			n.dir = true
		}
		return n, err
	}
	if !f.pages {
		return nil, ErrNoIndex
	}
	list, modified, err := f.listDirectory(name, dir, info)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, name)
	}
	page := dataContent(appendPage(nil, title, name == ".", list), "text/html; charset=utf-8", modified)
	listing := dataContent(appendListing(nil, list), "application/json", modified)
	if err := errors.Join(f.tags.tag(page), f.tags.tag(listing)); err != nil {
		return nil, err
	}
	return &Node{
		name: name, dir: true, title: title, info: info, plain: page,
		json: &Node{name: name, dir: true, title: title, info: info, plain: listing},
	}, nil
}
