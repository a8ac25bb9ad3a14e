package files

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestACopyGoesWithItsFile(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": long})
	f := New(zipping(Settings{Root: root}))
	ask(t, f, "GET", "/a.txt", "gzip").check(t, "before", "gzip", long)
	if err := os.Remove(filepath.Join(root, "a.txt")); err != nil {
		t.Fatal(err)
	}
	f.cache.nodes["a.txt"].checked.Store(0)
	if a := ask(t, f, "GET", "/a.txt", ""); !errors.Is(a.err, fs.ErrNotExist) {
		t.Errorf("afterwards: %v", a.err)
	}
	if _, err := os.Lstat(filepath.Join(root, "a.txt.fasthttp.gz")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy is still there: %v", err)
	}
}

func TestCopiesThatCannotBeWrittenAreKeptInMemory(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": long, "file": "no directory"})
	f := New(zipping(Settings{Root: root, CompressRoot: filepath.Join(root, "file")}))
	for range 2 {
		ask(t, f, "GET", "/a.txt", "gzip").check(t, "in memory", "gzip", long)
	}
	if c := f.cache.nodes["a.txt"].variants[coding.Gzip].Load(); c == nil || c.data == nil {
		t.Error("the variant is not in memory")
	}
}

// Files of the operating system have copies, whatever their modification time.
func TestFilesWithoutATimeAreEncodedOnce(t *testing.T) {
	random := make([]byte, 1000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	noise := string(random)
	root := plant(t, map[string]string{"a.txt": long, "noise.txt": noise})
	for _, name := range []string{"a.txt", "noise.txt"} {
		if err := os.Chtimes(filepath.Join(root, name), time.Unix(0, 0), time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	f := New(zipping(Settings{Root: root, SkipCache: true}))
	ask(t, f, "GET", "/a.txt", "gzip").check(t, "first", "gzip", long)
	_, first := servertest.StateOf(t, filepath.Join(root, "a.txt.fasthttp.gz"))
	ask(t, f, "GET", "/a.txt", "gzip").check(t, "again", "gzip", long)
	if _, again := servertest.StateOf(t, filepath.Join(root, "a.txt.fasthttp.gz")); !os.SameFile(first, again) {
		t.Error("the copy was made again")
	}
	ask(t, f, "GET", "/noise.txt", "gzip").check(t, "noise", "", noise)
	// a second attempt to make the copy would fail
	if err := os.Mkdir(filepath.Join(root, "noise.txt.fasthttp.gz.tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := len(encodings.kept)
	ask(t, f, "GET", "/noise.txt", "gzip").check(t, "noise", "", noise)
	if len(encodings.kept) != before {
		t.Error("content that does not shrink was encoded again")
	}
}

func TestHEADEncodesNothing(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": long})
	memory := fstest.MapFS{"a.txt": {Data: []byte(long), ModTime: plantTime}}
	for name, s := range map[string]Settings{
		"beside": {Root: root}, "apart": {Root: root, CompressRoot: t.TempDir()}, "memory": {FS: memory}, "uncached": {FS: memory, SkipCache: true},
		"pages": {FS: memory, GenerateIndexPages: true},
	} {
		encodings = encodedCache{}
		f := New(zipping(s))
		path := "/a.txt"
		if s.GenerateIndexPages {
			path = "/"
		}
		plain := ask(t, f, "GET", path, "")
		for range 2 {
			ask(t, f, "HEAD", path, "gzip").check(t, name, "", plain.body)
		}
		if made, err := filepath.Glob(filepath.Join(root, "*.fasthttp*")); err != nil || len(made) > 0 || len(encodings.kept) > 0 {
			t.Errorf("%s: made: %q, %v, %d", name, made, err, len(encodings.kept))
		}
		ask(t, f, "GET", path, "gzip").check(t, name, "gzip", plain.body)
		ask(t, f, "HEAD", path, "gzip").check(t, name, "gzip", plain.body)
		if err := os.Remove(filepath.Join(root, "a.txt.fasthttp.gz")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// Known failure 47: a link with the name of a copy is not a copy, even if its
// target would be a valid one.
func TestLinksToCopiesAreNoCopies(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": long, "a.txt.fasthttp.gz@": "other"})
	name := filepath.Join(root, "a.txt")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	stamp := stampFor(rootMark{}, info, coding.Gzip)
	plantFile(t, filepath.Join(root, "other"), zipped("not what was asked for")+string(stamp[:]))
	ask := func() answer {
		return ask(t, New(zipping(Settings{Root: root})), "GET", "/a.txt", "gzip")
	}
	ask().check(t, "link", "gzip", long)
	if info, err := os.Lstat(name + ".fasthttp.gz"); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the link is still there: %v", err)
	}
	// so the stamp was not the reason
	if err := os.Rename(filepath.Join(root, "other"), name+".fasthttp.gz"); err != nil {
		t.Fatal(err)
	}
	ask().check(t, "copy", "gzip", "not what was asked for")
}

// The cache checks the siblings of a file as often as the file itself.
func TestCompressedSiblingsAreLookedAtAnew(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": long})
	name := filepath.Join(root, "a.txt.gz")
	f := New(&Settings{Root: root, Precompressed: true, TTL: time.Hour})
	ask := func(what, coding, content string) {
		t.Helper()
		// the next check is due
		if n := f.cache.nodes["a.txt"]; n != nil {
			n.checked.Store(0)
		}
		ask(t, f, "GET", "/a.txt", "gzip").check(t, what, coding, content)
	}
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(name+".new", []byte(zipped(content)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chtimes(name+".new", plantTime, plantTime), os.Rename(name+".new", name)); err != nil {
			t.Fatal(err)
		}
	}
	ask("none", "", long)
	write(long + "added")
	ask("added", "gzip", long+"added")
	write(long + "other")
	ask("replaced", "gzip", long+"other")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	ask("removed", "", long)
}

// Copies of another version of this package, and incomplete ones, are made again.
func TestCopiesWithoutAWholeStampAreMadeAgain(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": long})
	path := filepath.Join(root, "a.txt.fasthttp.gz")
	ask := func() answer {
		return ask(t, New(zipping(Settings{Root: root})), "GET", "/a.txt", "gzip")
	}
	ask().check(t, "first", "gzip", long)
	whole, _ := servertest.StateOf(t, path)
	if !strings.HasPrefix(whole, "\x1f\x8b") || len(ask().body) != len(whole)-stampSize {
		t.Fatalf("a copy has %d bytes, of which %d are sent", len(whole), len(ask().body))
	}
	br := whole[:len(whole)-stampSize+len(stampMagic)] + string(rune(coding.Brotli)) + whole[len(whole)-stampSize+len(stampMagic)+1:]
	for name, text := range map[string]string{
		"of v1.77.0": zipped("an old text"), "empty": "", "short": whole[:len(whole)-1], "cut": whole[:100], "stamp": whole[len(whole)-stampSize+1:],
		"longer": whole + "\x00", "of another coding": br, "zeros": strings.Repeat("\x00", len(whole)),
	} {
		for _, at := range []time.Time{plantTime, copyTime(plantTime), plantTime.Add(time.Hour)} {
			if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
				t.Fatal(err)
			}
			ask().check(t, name, "gzip", long)
			if got, _ := servertest.StateOf(t, path); got != whole {
				t.Errorf("%s: the copy has %d bytes", name, len(got))
			}
		}
	}
}
