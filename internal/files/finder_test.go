package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/servertest"
)

var (
	plantTime = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	long      = strings.Repeat("all work and no play makes a dull text. ", 5000) // long enough to be compressed
)

// plant makes a tree of files with the same modification time, and returns its root.
func plant(t testing.TB, files map[string]string) string {
	t.Helper()
	return servertest.Plant(t, plantTime, files)
}

func plantFile(t testing.TB, path, text string) {
	t.Helper()
	servertest.PlantFile(t, plantTime, path, text)
}

// zipping returns settings that encode files with gzip.
func zipping(s Settings) *Settings {
	s.TTL = time.Hour
	s.Codings = coding.SetOf(coding.Gzip)
	s.Suffixes[coding.Gzip] = ".fasthttp.gz"
	return &s
}

func zipped(text string) string {
	return string(coding.AppendEncoded(nil, []byte(text), coding.Gzip, usualLevel))
}

// answer is the result for a path.
type answer struct {
	coding, body string
	data         []byte // the content, if it is in memory
	err          error
}

// ask finds a path for a client that accepts a coding.
func ask(t testing.TB, f *Finder, method, path, accept string) answer {
	t.Helper()
	n, err := f.Find([]byte(path), EndOf([]byte(path)), []byte(path))
	if err != nil {
		return answer{err: err}
	}
	defer f.Done(n)
	var fields field.List
	fields.Add("Accept-Encoding", accept).ID = field.AcceptEncoding
	c := f.Choose(n, &fields, method == "HEAD")
	if !c.Acquire() {
		t.Fatalf("%s was closed meanwhile", path)
	}
	defer c.Release()
	r, err := c.reader()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	body, err := io.ReadAll(io.LimitReader(r, c.Size))
	if err != nil {
		t.Fatal(err)
	}
	return answer{c.Coding, string(body), c.data, nil}
}

// check checks the coding, and the decoded body.
func (a answer) check(t testing.TB, what, kind, body string) {
	t.Helper()
	text := []byte(a.body)
	if a.coding == "gzip" {
		var err error
		if text, err = coding.AppendDecoded(nil, text, coding.Gzip, coding.HelperBound()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if a.err != nil || a.coding != kind || string(text) != body {
		t.Errorf("%s: got %q %.50q, %v, want %q %.50q", what, a.coding, text, a.err, kind, body)
	}
}

// openings is a file system that records the names that were opened.
type openings struct {
	fs.FS
	names []string
}

func (o *openings) Open(name string) (fs.File, error) {
	o.names = append(o.names, name)
	return o.FS.Open(name)
}

func (o *openings) Stat(name string) (fs.FileInfo, error) { return fs.Stat(o.FS, name) }

// Without a working directory, FS.Root has no absolute path. It is not the root of the system.
func TestAWorkingDirectoryThatIsGoneHasNoFiles(t *testing.T) {
	outside := plant(t, map[string]string{"a": "secret"})
	gone := t.TempDir()
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Skip("this system keeps the working directory:", err)
	}
	for _, root := range []string{"", ".", "sub"} {
		f := New(&Settings{Root: root, TTL: time.Hour})
		if a := ask(t, f, "GET", filepath.ToSlash(outside)+"/a", ""); a.err == nil {
			t.Errorf("%q: got %q", root, a.body)
		}
		if _, free := f.tree.(openTree); free {
			t.Errorf("%q: the tree follows links that lead outside", root)
		}
	}
}

// A deployment turns a link to another version of a file, and removes the former one.
func TestARootThatIsALinkToAFileMayBeTurned(t *testing.T) {
	for _, skip := range []bool{false, true} {
		for _, root := range []string{"a.txt", "data/a.txt"} {
			base := plant(t, map[string]string{"v1/a.txt": "one", "v2/a.txt": "two, longer", "data@": "v1", "a.txt@": "data/a.txt", "a.txt.gz@": "../outside", "../outside": "x"})
			f := New(&Settings{Root: filepath.Join(base, root), TTL: time.Hour, SkipCache: skip, Precompressed: true})
			ask(t, f, "GET", "/", "gzip").check(t, root, "", "one")
			data := filepath.Join(base, "data")
			if err := errors.Join(os.Remove(data), os.Symlink("v2", data), os.RemoveAll(filepath.Join(base, "v1"))); err != nil {
				t.Fatal(err)
			}
			if f.cache != nil {
				for _, n := range f.cache.nodes {
					n.checked.Store(0)
				}
			}
			ask(t, f, "GET", "/", "gzip").check(t, root+", turned", "", "two, longer")
		}
	}
}
