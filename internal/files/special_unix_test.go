//go:build unix

package files

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp/internal/coding"
)

// To open a pipe wakes the program at its other end, and to open a device may have
// other effects.
func TestPipesAndSocketsAreNotEvenOpened(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": "a", "link@": "pipe", "dir/index.html@": "../pipe"})
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root) // names of sockets must be short
	ln, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	for name, s := range map[string]Settings{
		"root": {Root: root}, "uncached": {Root: root, SkipCache: true}, "free": {Root: root, AllowSymlinksOutsideRoot: true}, "fs.FS": {FS: os.DirFS(root)},
		"below": {FS: os.DirFS(filepath.Dir(root)), Root: filepath.Base(root)}, "siblings": {Root: root, Precompressed: true, Codings: coding.SetOf(coding.Gzip)},
	} {
		s.GenerateIndexPages, s.IndexNames = true, []string{"index.html"}
		f := New(&s)
		opened := &openings{FS: f.tree}
		if statOf(f.tree) == nil {
			t.Errorf("%s: files are opened to be looked at", name)
		}
		f.tree = opened
		for _, target := range []string{"/pipe", "/link", "/socket", "/pipe/", "/dir/"} {
			for range 2 {
				a := ask(t, f, "GET", target, "")
				if a.err == nil || a.err == ErrNoSlash || IsServersFault(a.err) || errors.Is(a.err, ErrDeniedName) && target != "/dir/" {
					t.Errorf("%s: %s: %v", name, target, a.err)
				}
			}
		}
		for _, file := range opened.names {
			if strings.Contains(file, "pipe") || strings.Contains(file, "socket") || strings.Contains(file, "link") || strings.Contains(file, "index") {
				t.Errorf("%s: %s was opened", name, file)
			}
		}
		page := ask(t, f, "GET", "/", "").body
		if strings.Contains(page, "pipe") || strings.Contains(page, "socket") || !strings.Contains(page, "a.txt") {
			t.Errorf("%s: the page is %s", name, page)
		}
	}
}
