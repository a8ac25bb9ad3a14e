package fasthttp

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/servertest"
)

// decode returns the body without its content coding.
func (a fileAnswer) decode(t testing.TB) string {
	t.Helper()
	var r io.Reader = strings.NewReader(a.body)
	switch coding := a.get("Content-Encoding"); coding {
	case "":
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		r = z
	case "br":
		r = brotli.NewReader(r)
	case "zstd":
		z, err := zstd.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	default:
		t.Fatalf("unknown coding %q", coding)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (a fileAnswer) checkCoding(t testing.TB, what, coding, body string) {
	t.Helper()
	if got := a.get("Content-Encoding"); a.status != 200 || got != coding || a.decode(t) != body || a.get("Vary") != "Accept-Encoding" {
		t.Errorf("%s: got %d %q %.50q, Vary %q, want %q %.50q", what, a.status, got, a.decode(t), a.get("Vary"), coding, body)
	}
}

// Known failure 52: the server obeys qualities and "*", and always sends Vary.
func TestFilesAreCompressedAsTheClientLikes(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.txt": strings.Repeat("text ", 200), "long.css": long, "tiny.txt": "tiny", "pic.png": long, "random.txt": random(1000)}
	root := plant(t, files)
	all := FS{Root: root, Compress: true, CompressBrotli: true, CompressZstd: true}
	for name, s := range map[string]*FS{
		"beside":   {Root: root},
		"apart":    {Root: root, CompressRoot: filepath.Join(t.TempDir(), "a", "b")},
		"uncached": {Root: root, SkipCache: true},
		"fs.FS":    {FS: os.DirFS(root)},
		"stream":   {FS: onlyReadable{os.DirFS(root)}},
		"free":     {Root: root, AllowSymlinksOutsideRoot: true, CompressRoot: filepath.Join(t.TempDir(), "c")},
	} {
		s.Compress, s.CompressBrotli, s.CompressZstd = all.Compress, all.CompressBrotli, all.CompressZstd
		h := s.NewRequestHandler()
		for accept, coding := range map[string]string{
			"gzip": "gzip", "br": "br", "zstd": "zstd", "gzip, br, zstd": "br", "gzip, zstd": "zstd", "br;q=0.1, gzip;q=0.9": "gzip", "*": "br",
			"*, br;q=0": "zstd", "GZIP": "gzip", "gzip;q=0": "", "deflate": "", "identity": "", "identity, gzip;q=0.5": "", "": "",
		} {
			for range 2 {
				for _, file := range []string{"a.txt", "long.css"} {
					askFor(t, h, "GET", "/"+file, "Accept-Encoding", accept).checkCoding(t, name+" "+file+" "+accept, coding, files[file])
				}
				for _, file := range []string{"tiny.txt", "pic.png", "random.txt"} {
					askFor(t, h, "GET", "/"+file, "Accept-Encoding", accept).checkCoding(t, name+" "+file+" "+accept, "", files[file])
				}
			}
		}
		askFor(t, h, "GET", "/a.txt", "Accept-Encoding", "gzip;q=0.5", "Accept-Encoding", "br").checkCoding(t, "two fields", "br", files["a.txt"])
		a := askFor(t, h, "HEAD", "/a.txt", "Accept-Encoding", "gzip")
		if a.get("Content-Encoding") != "gzip" || a.header.ContentLength() <= 0 || a.header.ContentLength() >= len(files["a.txt"]) {
			t.Errorf("%s: HEAD is answered with\n%s", name, a.header)
		}
	}
}

// random returns text that compression does not shrink.
func random(n int) string {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
	return string(b)
}

func TestOnlyCodingsThatAreAskedForAreUsed(t *testing.T) {
	h := (&FS{Root: plant(t, map[string]string{"a.txt": long}), Compress: true}).NewRequestHandler()
	askFor(t, h, "GET", "/a.txt", "Accept-Encoding", "br, zstd").checkCoding(t, "neither", "", long)
	askFor(t, h, "GET", "/a.txt", "Accept-Encoding", "br, zstd, gzip").checkCoding(t, "gzip", "gzip", long)
}

func TestCopiesAreMadeOnceAndKept(t *testing.T) {
	root := plant(t, map[string]string{"sub/a.txt": long})
	apart := filepath.Join(t.TempDir(), "copies")
	for name, c := range map[string]struct {
		s    *FS
		path string
	}{
		"beside": {&FS{Root: root}, filepath.Join(root, "sub/a.txt.fasthttp.gz")},
		"apart":  {&FS{Root: root, CompressRoot: apart}, filepath.Join(apart, "sub/a.txt.fasthttp.gz")},
		"suffix": {&FS{Root: root, CompressedFileSuffix: ".z"}, filepath.Join(root, "sub/a.txt.z")},
		"map":    {&FS{Root: root, CompressedFileSuffixes: map[string]string{"gzip": ".zipped"}}, filepath.Join(root, "sub/a.txt.zipped")},
	} {
		c.s.Compress = true
		ask := func() { // of a handler that has cached no copy
			s := &FS{Root: c.s.Root, CompressRoot: c.s.CompressRoot, Compress: true, CompressedFileSuffix: c.s.CompressedFileSuffix, CompressedFileSuffixes: c.s.CompressedFileSuffixes}
			askFor(t, s.NewRequestHandler(), "GET", "/sub/a.txt", "Accept-Encoding", "gzip").checkCoding(t, name, "gzip", long)
		}
		ask()
		text, info := servertest.StateOf(t, c.path)
		if !info.ModTime().Before(modelTime) || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the copy is of %v, with mode %v", name, info.ModTime(), info.Mode())
		}
		ask()
		again, second := servertest.StateOf(t, c.path)
		if again != text || !os.SameFile(info, second) {
			t.Errorf("%s: the copy was made again", name)
		}
		left, err := filepath.Glob(filepath.Join(filepath.Dir(c.path), "*.tmp"))
		if err != nil || len(left) > 0 {
			t.Errorf("%s: files left: %q, %v", name, left, err)
		}
	}
}

// The name of a copy may be as long as the system allows. Then there is no room for the suffix
// of a temporary file.
func TestCopiesOfFilesWithLongNames(t *testing.T) {
	t.Parallel()
	files := make(map[string]string)
	for _, n := range []int{238, 239, 240, 241, 242} {
		files[strings.Repeat("x", n)] = long
		files["y"+strings.Repeat("x", n-1)] = long + "y"
		files["y"+strings.Repeat("x", (n-1)%2)+strings.Repeat("ü", (n-1)/2)] = long + "ü"
	}
	root := plant(t, files)
	h := (&FS{Root: root, Compress: true, CompressBrotli: true, CompressZstd: true}).NewRequestHandler()
	for name, text := range files {
		for coding, suffix := range FSCompressedFileSuffixes {
			askFor(t, h, "GET", "/"+url.PathEscape(name), "Accept-Encoding", coding).checkCoding(t, name, coding, text)
			if len(name+suffix) > 255 {
				continue
			}
			if _, info := servertest.StateOf(t, filepath.Join(root, name+suffix)); info.Size() == 0 {
				t.Errorf("%d bytes, %s: the copy is empty", len(name), coding)
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(root, "*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left: %q, %v", left, err)
	}
}

// Known failure 47: the server does not send links in place of copies, half-written copies, or
// copies that are out of date.
func TestCopiesAreNeverLinksOrOld(t *testing.T) {
	files := map[string]string{
		"link.txt": long, "link.txt.fasthttp.gz@": "../victim", "../victim": "untouched",
		"inner.txt": long, "inner.txt.fasthttp.gz@": "other", "other": "untouched, too",
		"old.txt": long, "old.txt.fasthttp.gz": "an old copy",
		"left.txt": long, "left.txt.fasthttp.gz.tmp": "left by a process that has ended",
		"templink.txt": long, "templink.txt.fasthttp.gz.tmp@": "other",
	}
	root := plant(t, files)
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"old.txt.fasthttp.gz", "left.txt.fasthttp.gz.tmp"} {
		if err := os.Chtimes(filepath.Join(root, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, confined := range []bool{true, false} {
		h := (&FS{Root: root, Compress: true, AllowSymlinksOutsideRoot: !confined}).NewRequestHandler()
		for _, name := range []string{"link.txt", "inner.txt", "old.txt", "left.txt", "templink.txt"} {
			askFor(t, h, "GET", "/"+name, "Accept-Encoding", "gzip").checkCoding(t, name, "gzip", long)
		}
		for _, name := range []string{"link.txt", "inner.txt", "old.txt", "left.txt"} {
			if _, info := servertest.StateOf(t, filepath.Join(root, name+".fasthttp.gz")); !info.Mode().IsRegular() || !info.ModTime().Equal(modelTime.Add(-time.Minute)) {
				t.Errorf("the copy of %s is %v of %v", name, info.Mode(), info.ModTime())
			}
		}
		for name, want := range map[string]string{"../victim": "untouched", "other": "untouched, too"} {
			if got, _ := servertest.StateOf(t, filepath.Join(root, name)); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
	}
	if _, err := os.Lstat(filepath.Join(root, "left.txt.fasthttp.gz.tmp")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file is still there: %v", err)
	}
}

// Known failure 47: if a copy cannot be made, no part of it stays on the disk.
func TestCopiesThatFailLeaveNothing(t *testing.T) {
	random := make([]byte, 10_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	noise := string(random)
	root := plant(t, map[string]string{
		"noise.txt": noise,
		// a directory in place of a copy is no copy, and cannot be replaced
		"taken.txt": long, "taken.txt.fasthttp.gz/inside": "",
	})
	if err := os.Chtimes(filepath.Join(root, "taken.txt.fasthttp.gz"), modelTime, modelTime); err != nil {
		t.Fatal(err)
	}
	h := (&FS{Root: root, Compress: true}).NewRequestHandler()
	askFor(t, h, "GET", "/noise.txt", "Accept-Encoding", "gzip").checkCoding(t, "noise", "", noise)
	askFor(t, h, "GET", "/taken.txt", "Accept-Encoding", "gzip").checkCoding(t, "taken", "gzip", long)
	left, err := filepath.Glob(filepath.Join(root, "*"+FSCompressedFileSuffix+"*"))
	if err != nil || len(left) != 1 || !strings.HasSuffix(left[0], "taken.txt.fasthttp.gz") {
		t.Errorf("there are %q, %v", left, err)
	}
}

func TestCopiesReplaceNoFiles(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": long, "a.txt.gz": "a file of its own"})
	h := handlerOf(&FS{Root: root, Compress: true, CompressedFileSuffix: ".gz"})
	for range 2 {
		askFor(t, h.handle, "GET", "/a.txt", "Accept-Encoding", "gzip").checkCoding(t, "in memory", "gzip", long)
	}
	if text, _ := servertest.StateOf(t, filepath.Join(root, "a.txt.gz")); text != "a file of its own" {
		t.Errorf("the file became %.50q", text)
	}
}

// HEAD encodes no content. A later GET does.
func TestLargeFilesAreEncodedBehindAHead(t *testing.T) {
	large := strings.Repeat("0123456789abcde\n", files.MaxCompressedInMemory/16+1)
	root := plant(t, map[string]string{"a.txt": large})
	h := handlerOf(&FS{Root: root, Compress: true})
	askFor(t, h.handle, "HEAD", "/a.txt", "Accept-Encoding", "gzip")
	askFor(t, h.handle, "GET", "/a.txt", "Accept-Encoding", "gzip").checkCoding(t, "after a HEAD", "gzip", large)
}

// mapOf reads files into a file system in memory.
func mapOf(root string, names ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for _, name := range names {
		path := filepath.Join(root, name)
		b, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err := errors.Join(err, statErr); err != nil {
			panic(err)
		}
		m[name] = &fstest.MapFile{Data: b, ModTime: info.ModTime()}
	}
	return m
}

func TestParallelRequestsGetWholeCopies(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": long})
	var handlers []RequestHandler
	for range 3 {
		// several handlers, as in several processes
		handlers = append(handlers, (&FS{Root: root, Compress: true, CompressBrotli: true, CompressZstd: true}).NewRequestHandler())
	}
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			coding := []string{"gzip", "br", "zstd"}[i%3]
			if a := askFor(t, handlers[i%len(handlers)], "GET", "/a.txt", "Accept-Encoding", coding); a.status != 200 || a.decode(t) != long {
				t.Errorf("%s: got %d %.50q", coding, a.status, a.body)
			}
		})
	}
	wg.Wait()
	left, err := filepath.Glob(filepath.Join(root, "*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left: %q, %v", left, err)
	}
}

// brokenFS is a file system with an error for each read of its files, or for opening one of
// them.
type brokenFS struct {
	fs.FS
	err    error
	opened string // the name of the file that cannot be opened, or "" if files cannot be read
}

func (b brokenFS) Open(name string) (fs.File, error) {
	if name == b.opened {
		return nil, &fs.PathError{Op: "open", Path: name, Err: b.err}
	}
	f, err := b.FS.Open(name)
	if err != nil || b.opened != "" {
		return f, err
	}
	return brokenFile{f, b.err}, nil
}

type brokenFile struct {
	fs.File
	err error
}

func (b brokenFile) Read([]byte) (int, error) { return 0, b.err }

// A file that exists is not missing, whatever is wrong with it.
func TestFilesThatCannotBeReadAreFaults(t *testing.T) {
	tree := fstest.MapFS{"a": {Data: []byte("some text")}, "long": {Data: []byte(long)}, "dir/index.html": {Data: []byte("index")}}
	notFound := func(*RequestCtx) { t.Error("a file that cannot be read is taken for a missing one") }
	for _, err := range []error{io.EOF, errors.New("a fault of the disk"), syscall.EMFILE} {
		for name, s := range map[string]*FS{
			"read":      {FS: brokenFS{FS: tree, err: err}},
			"strong":    {FS: brokenFS{FS: tree, err: err}, StrongETag: true},
			"not found": {FS: brokenFS{FS: tree, err: err}, PathNotFound: notFound, SkipCache: true},
		} {
			s.IndexNames = []string{"index.html"}
			h := s.NewRequestHandler()
			for _, target := range []string{"/a", "/long", "/dir/"} {
				askFor(t, h, "GET", target).check(t, fmt.Sprint(name, err, target), 500, "")
			}
		}
	}
	// a process that may not open more files still has its index file
	for target, c := range map[string]struct {
		err    error
		opened string
		status int
	}{
		"/dir/": {syscall.EMFILE, "dir/index.html", 500}, "/dir/?": {fs.ErrPermission, "dir/index.html", 403},
		"/b%0Afake": {syscall.EMFILE, "b\nfake", 500}, "/b%0Afake?": {fs.ErrPermission, "b\nfake", 404},
	} {
		var req Request
		req.SetRequestURI(target)
		var ctx RequestCtx
		log := &servertest.Log{}
		ctx.Init(&req, nil, log)
		(&FS{FS: brokenFS{tree, c.err, c.opened}, IndexNames: []string{"index.html"}}).NewRequestHandler()(&ctx)
		lines := log.All()
		if ctx.Response.StatusCode() != c.status || len(lines) != 1 || !strings.Contains(lines[0], c.err.Error()) || strings.Contains(lines[0], "\n") {
			t.Errorf("%s, %v: got %d, logged %q", target, c.err, ctx.Response.StatusCode(), lines)
		}
	}
}

// Codings are made independently: a client that asks for one does not get the plain
// file while another coding is being made.
func TestFilesAreCompressedInSeveralCodingsAtOnce(t *testing.T) {
	text := strings.Repeat("some text that is encoded well, ", 3000)
	root := plant(t, map[string]string{"a.txt": text})
	for name, s := range map[string]*FS{
		"copies": {Root: root, Compress: true, CompressBrotli: true, CompressZstd: true, CompressRoot: t.TempDir()},
		"memory": {FS: os.DirFS(root), Compress: true, CompressBrotli: true, CompressZstd: true},
	} {
		h := s.NewRequestHandler()
		var clients sync.WaitGroup
		for _, coding := range []string{"gzip", "br", "zstd"} {
			clients.Go(func() {
				var ctx RequestCtx
				ctx.Request.Header.Set(HeaderAcceptEncoding, coding)
				ctx.Request.SetRequestURI("/a.txt")
				h(&ctx)
				got, err := ctx.Response.BodyUncompressed()
				if string(ctx.Response.Header.ContentEncoding()) != coding || err != nil || string(got) != text {
					t.Errorf("%s, %s: the coding is %q; %d bytes, %v", name, coding, ctx.Response.Header.ContentEncoding(), len(got), err)
				}
			})
		}
		clients.Wait()
	}
}
