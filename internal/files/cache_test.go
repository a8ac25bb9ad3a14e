package files

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"
	"time"
)

func TestUnchangedFilesAreNotOpenedAgain(t *testing.T) {
	for name, tree := range map[string]fs.FS{
		"system": os.DirFS(plant(t, map[string]string{"a": "a", "long": long})),
		// as the files of an archive/zip.Reader
		"own": fstest.MapFS{"a": {Data: []byte("a"), Sys: t}, "long": {Data: []byte(long), Sys: t}},
	} {
		opens := &openings{FS: tree}
		f := New(&Settings{FS: opens, TTL: time.Hour})
		for range 3 {
			ask(t, f, "GET", "/a", "").check(t, name, "", "a")
			ask(t, f, "GET", "/long", "").check(t, name, "", long)
			for _, n := range f.cache.nodes {
				n.checked.Store(0)
			}
		}
		if len(opens.names) != 2 {
			t.Errorf("%s: opened %q", name, opens.names)
		}
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	c := newNodeCache(time.Hour)
	add := func(key string, size int) {
		_, err := c.load(key, func() (*Node, error) {
			return &Node{key: key, plain: dataContent(make([]byte, size), "", time.Time{})}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range MaxCachedFiles + 100 {
		add(fmt.Sprint("f", i), 1)
	}
	if len(c.nodes) != MaxCachedFiles || c.bytes.Load() != MaxCachedFiles {
		t.Errorf("%d files, %d bytes", len(c.nodes), c.bytes.Load())
	}
	for i := range 10 {
		add(fmt.Sprint("big", i), MaxCachedBytes/4)
	}
	if n := c.bytes.Load(); n > MaxCachedBytes || n < MaxCachedBytes/2 {
		t.Errorf("%d bytes", n)
	}
	c.clear()
	if c.bytes.Load() != 0 || len(c.nodes) != 0 || c.open.Load() != 0 {
		t.Errorf("%d bytes, %d nodes, %d open", c.bytes.Load(), len(c.nodes), c.open.Load())
	}
}

func TestTheCacheKeepsABoundedNumberOfFilesOpen(t *testing.T) {
	large := &fstest.MapFile{Data: []byte(long[:MaxSmall+1]), ModTime: plantTime}
	tree := fstest.MapFS{}
	const files = MaxCachedOpen + 50
	for i := range files {
		tree[fmt.Sprint("f", i)] = large
	}
	f := New(&Settings{FS: tree, TTL: time.Hour})
	for name := range tree {
		if a := ask(t, f, "HEAD", "/"+name, ""); a.err != nil {
			t.Fatalf("%s: %v", name, a.err)
		}
	}
	open := 0
	for _, n := range f.cache.nodes {
		if n.plain.shared != nil {
			open++
		}
	}
	if open != MaxCachedOpen || int(f.cache.open.Load()) != open {
		t.Errorf("%d files are open, %d are counted", open, f.cache.open.Load())
	}
}

// Precompressed files sent in place of others count as open files.
func TestTheCacheCountsOpenSiblings(t *testing.T) {
	large := &fstest.MapFile{Data: []byte(long[:MaxSmall+1]), ModTime: plantTime}
	tree := fstest.MapFS{}
	const files = MaxCachedOpen/2 + 50
	for i := range files {
		tree[fmt.Sprint("f", i)], tree[fmt.Sprint("f", i, ".gz")] = large, large
	}
	f := New(&Settings{FS: tree, Precompressed: true, TTL: time.Hour})
	for i := range files {
		if a := ask(t, f, "HEAD", fmt.Sprint("/f", i), "gzip"); a.coding != "gzip" {
			t.Fatalf("%d: got %q, %v", i, a.coding, a.err)
		}
	}
	if open := f.cache.open.Load(); open != int64(2*len(f.cache.nodes)) || open > MaxCachedOpen {
		t.Errorf("%d files are open of %d nodes", open, len(f.cache.nodes))
	}
	f.cache.clear()
	if open := f.cache.open.Load(); open != 0 {
		t.Errorf("%d files are open in an empty cache", open)
	}
}

// badClose is a file system whose files panic when they are closed.
type badClose struct{ fs.FS }

func (b badClose) Open(name string) (fs.File, error) {
	f, err := b.FS.Open(name)
	return badFile{f.(readerAtFile)}, err
}

type readerAtFile interface {
	fs.File
	io.ReaderAt
	io.Seeker
}

type badFile struct{ readerAtFile }

func (badFile) Close() error { panic("cannot close") }

// The timer of the cache calls sweep, on a goroutine where a panic would end the program.
func TestTheCacheClosesFilesThatPanic(t *testing.T) {
	tree := fstest.MapFS{"f": {Data: []byte(long[:MaxSmall+1]), ModTime: plantTime}}
	f := New(&Settings{FS: badClose{tree}, TTL: time.Hour})
	if a := ask(t, f, "HEAD", "/f", ""); a.err != nil {
		t.Fatal(a.err)
	}
	if open := f.cache.open.Load(); open != 1 {
		t.Fatalf("%d files are open", open)
	}
	for _, n := range f.cache.nodes {
		n.used.Store(0)
	}
	f.cache.sweep()
	if open := f.cache.open.Load(); open != 0 || len(f.cache.nodes) != 0 {
		t.Errorf("%d files are open", open)
	}
}
