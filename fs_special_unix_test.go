//go:build unix

package fasthttp

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Opening a pipe releases who waits at its other end, and to open a device may do
// something to it.
func TestPipesAndSocketsAreNotEvenOpened(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": "a", "link@": "pipe", "dir/index.html@": "../pipe"})
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root) // names of sockets have to be short
	ln, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	for name, s := range map[string]*FS{
		"root": {Root: root}, "uncached": {Root: root, SkipCache: true}, "free": {Root: root, AllowSymlinksOutsideRoot: true}, "fs.FS": {FS: os.DirFS(root)},
		"below": {FS: os.DirFS(filepath.Dir(root)), Root: filepath.Base(root)}, "siblings": {Root: root, Precompressed: true, Compress: true},
	} {
		s.GenerateIndexPages, s.IndexNames = true, []string{"index.html"}
		h := newFileHandler(s)
		opened := &openings{FS: h.tree}
		if statOf(h.tree) == nil {
			t.Errorf("%s: files are opened to be looked at", name)
		}
		h.tree = opened
		for _, target := range []string{"/pipe", "/link", "/socket", "/pipe/", "/dir/"} {
			for range 2 {
				if a := askFor(t, h.handle, "GET", target); a.status != 404 && (a.status != 403 || target != "/dir/") {
					t.Errorf("%s: %s is answered with %d", name, target, a.status)
				}
			}
		}
		for _, file := range opened.names {
			if strings.Contains(file, "pipe") || strings.Contains(file, "socket") || strings.Contains(file, "link") || strings.Contains(file, "index") {
				t.Errorf("%s: %s was opened", name, file)
			}
		}
		page := askFor(t, h.handle, "GET", "/").body
		if strings.Contains(page, "pipe") || strings.Contains(page, "socket") || !strings.Contains(page, "a.txt") {
			t.Errorf("%s: the page is %s", name, page)
		}
	}
}

// openings is a file system that remembers what was opened.
type openings struct {
	fs.FS
	names []string
}

func (o *openings) Open(name string) (fs.File, error) {
	o.names = append(o.names, name)
	return o.FS.Open(name)
}

func (o *openings) Stat(name string) (fs.FileInfo, error) { return fs.Stat(o.FS, name) }
