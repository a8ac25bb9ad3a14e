package fasthttp

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/servertest"
)

// plant makes a tree of files with the same modification time, and returns its root.
func plant(t testing.TB, files map[string]string) string {
	t.Helper()
	return servertest.Plant(t, modelTime, files)
}

func plantFile(t testing.TB, path, text string) {
	t.Helper()
	servertest.PlantFile(t, modelTime, path, text)
}

// fileAnswer is the response to a request for a file.
type fileAnswer struct {
	status int
	body   string
	header *ResponseHeader
}

// askFor calls h with a request. fields are names and values in turn.
func askFor(t testing.TB, h RequestHandler, method, target string, fields ...string) fileAnswer {
	t.Helper()
	var req Request
	req.Header.SetMethod(method)
	req.SetRequestURI(target)
	req.Header.SetHost("example.com")
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Add(fields[i], fields[i+1])
	}
	var ctx RequestCtx
	ctx.Init(&req, nil, &servertest.Log{})
	h(&ctx)
	var body bytes.Buffer
	if err := ctx.Response.BodyWriteTo(&body); err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	if n := ctx.Response.Header.ContentLength(); ctx.IsBodyStream() && n != body.Len() {
		t.Fatalf("%s %s: %d bytes were announced, and %d came", method, target, n, body.Len())
	}
	return fileAnswer{ctx.Response.StatusCode(), body.String(), &ctx.Response.Header}
}

// check checks the status, and the body of a successful response.
func (a fileAnswer) check(t testing.TB, what string, status int, body string) {
	t.Helper()
	if a.status != status || status/100 == 2 && a.body != body {
		t.Errorf("%s: got %d %.100q, want %d %.100q", what, a.status, a.body, status, body)
	}
}

// handlerOf makes the handler of s, for tests that look at its state.
func handlerOf(s *FS) *fileHandler { return newFileHandler(s, s.settings()) }

func (a fileAnswer) get(name string) string { return string(a.header.Peek(name)) }

var long = strings.Repeat("all work and no play makes a dull text. ", 5000) // long enough to be compressed

func TestFilesAreServedWithTypeAndDate(t *testing.T) {
	root := plant(t, map[string]string{
		"a.txt": "text", "b.html": "<p>", "c.JSON": "{}", "d.bin": "\x00\x01", "noext": "plain", "pic": "\x89PNG\r\n\x1a\n",
		"doc": " <!DOCTYPE html><p>", "e.zzz": "\xff\xfe", "empty": "", "long.css": long, "sub/deep/f.svg": "<svg/>", "long": "\x00" + long,
	})
	for name, h := range map[string]RequestHandler{
		"cached":   (&FS{Root: root}).NewRequestHandler(),
		"uncached": (&FS{Root: root, SkipCache: true}).NewRequestHandler(),
		"fs.FS":    (&FS{FS: os.DirFS(root)}).NewRequestHandler(),
		"stream":   (&FS{FS: onlyReadable{os.DirFS(root)}, CacheDuration: time.Hour}).NewRequestHandler(),
	} {
		for target, want := range map[string]struct{ contentType, body string }{
			"/a.txt":                 {"text/plain; charset=utf-8", "text"},
			"/b.html":                {"text/html; charset=utf-8", "<p>"},
			"/c.JSON":                {"application/json", "{}"},
			"/d.bin":                 {"application/octet-stream", "\x00\x01"},
			"/noext":                 {"text/plain; charset=utf-8", "plain"},
			"/pic":                   {"image/png", "\x89PNG\r\n\x1a\n"},
			"/doc":                   {"text/html; charset=utf-8", " <!DOCTYPE html><p>"},
			"/e.zzz":                 {"application/octet-stream", "\xff\xfe"},
			"/empty":                 {"text/plain; charset=utf-8", ""},
			"/long.css":              {"text/css; charset=utf-8", long},
			"/long":                  {"application/octet-stream", "\x00" + long},
			"/sub/deep/f.svg":        {"image/svg+xml", "<svg/>"},
			"//sub/./deep/f.svg?x=y": {"image/svg+xml", "<svg/>"},
		} {
			for range 2 { // from the file and from the cache
				a := askFor(t, h, "GET", target)
				a.check(t, name+" "+target, 200, want.body)
				if got := string(a.header.ContentType()); got != want.contentType {
					t.Errorf("%s %s is %q, want %q", name, target, got, want.contentType)
				}
				if got := a.get("Last-Modified"); got != "Mon, 06 May 2024 07:08:09 GMT" {
					t.Errorf("%s %s was modified %q", name, target, got)
				}
				a = askFor(t, h, "HEAD", target)
				a.check(t, name+" HEAD "+target, 200, "")
				if a.header.ContentLength() != len(want.body) || string(a.header.ContentType()) != want.contentType {
					t.Errorf("%s HEAD %s: %s", name, target, a.header)
				}
			}
		}
	}
}

// onlyReadable is a file system whose files have no method but Read.
type onlyReadable struct{ fs.FS }

func (o onlyReadable) Open(name string) (fs.File, error) {
	f, err := o.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return struct{ fs.File }{f}, nil
}

// Known failure 44.
func TestOtherMethodsThanGetAndHeadAreRefused(t *testing.T) {
	h := FSHandler(plant(t, map[string]string{"a.txt": "a", "dir/index.html": "i", "list/b": "b"}), 0)
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "FOO"} {
		for _, target := range []string{"/a.txt", "/dir/", "/dir", "/list/", "/"} {
			for range 2 {
				a := askFor(t, h, method, target)
				a.check(t, method+" "+target, 405, "")
				if got := a.get("Allow"); got != "GET, HEAD" {
					t.Errorf("%s %s: Allow is %q", method, target, got)
				}
			}
		}
		askFor(t, h, method, "/nothing").check(t, method, 404, "")
	}
}

// Known failure 45.
func TestLinksThatLeaveTheRootAreNotFollowed(t *testing.T) {
	root := plant(t, map[string]string{
		"a.txt": "a", "dir/b.txt": "b", "../secret.txt": "secret", "in@": "a.txt", "dir/up@": "../a.txt", "out@": "../secret.txt",
		"outdir@": "..", "dangling@": "nowhere", "loop@": "loop", "indir@": "dir", "indexed/index.html@": "../../secret.txt",
	})
	if err := os.Symlink(filepath.Join(root, "a.txt"), filepath.Join(root, "absolute")); err != nil {
		t.Fatal(err)
	}
	confined := (&FS{Root: root, IndexNames: []string{"index.html"}}).NewRequestHandler()
	free := (&FS{Root: root, IndexNames: []string{"index.html"}, AllowSymlinksOutsideRoot: true}).NewRequestHandler()
	for target, want := range map[string]struct {
		confined, free int
		body           string
	}{
		"/in":                {200, 200, "a"},
		"/dir/up":            {200, 200, "a"},
		"/indir/b.txt":       {200, 200, "b"},
		"/out":               {404, 200, "secret"},
		"/outdir/secret.txt": {404, 200, "secret"},
		"/absolute":          {404, 200, "a"},
		"/dangling":          {404, 404, ""},
		"/loop":              {404, 404, ""},
		"/indexed/":          {403, 200, "secret"},
	} {
		askFor(t, confined, "GET", target).check(t, target, want.confined, want.body)
		askFor(t, free, "GET", target).check(t, target, want.free, want.body)
	}
}

func TestARootMayBeALinkThatIsTurned(t *testing.T) {
	base := plant(t, map[string]string{"v1/a.txt": "one", "v2/a.txt": "two", "current@": "v1"})
	link := filepath.Join(base, "current")
	h := (&FS{Root: link, CacheDuration: time.Nanosecond}).NewRequestHandler()
	askFor(t, h, "GET", "/a.txt").check(t, "before", 200, "one")
	if err := errors.Join(os.Remove(link), os.Symlink("v2", link)); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the new tree", func() bool { return askFor(t, h, "GET", "/a.txt").body == "two" })
}

// Known failure 49.
func TestPathsAreDecodedOnce(t *testing.T) {
	h := FSHandler(plant(t, map[string]string{"%41.txt": "percent", "A.txt": "letter", "a%2fb": "x", "../secret.txt": "secret"}), 0)
	for target, want := range map[string]string{"/%2541.txt": "percent", "/%41.txt": "letter", "/A.txt": "letter", "/a%252fb": "x"} {
		askFor(t, h, "GET", target).check(t, target, 200, want)
	}
	for _, target := range []string{"/%252e%252e/secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/..%5csecret.txt"} {
		askFor(t, h, "GET", target).check(t, target, 404, "")
	}
	askFor(t, h, "GET", "/A.txt%00").check(t, "NUL", 400, "")
}

// Known failure 50.
func TestRewrittenPathsDoNotLeaveTheRoot(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": "a", "%41.txt": "percent", "sub/b": "b", "..c": "c", "../secret.txt": "secret"})
	h := (&FS{Root: root, AllowHiddenFiles: true, PathRewrite: func(ctx *RequestCtx) []byte { return ctx.QueryArgs().Peek("to") }}).NewRequestHandler()
	for to, want := range map[string]struct {
		status int
		body   string
	}{
		"/a.txt": {200, "a"}, "a.txt": {200, "a"}, "//a.txt": {200, "a"}, "/./sub/b": {200, "b"}, "/%2541.txt": {200, "percent"}, "/..c": {200, "c"},
		"/../secret.txt": {400, ""}, "/sub/../a.txt": {400, ""}, "..": {400, ""}, "/a.txt%00": {400, ""}, "": {403, ""}, "/nothing": {404, ""},
	} {
		for range 2 {
			askFor(t, h, "GET", "/?to="+to).check(t, to, want.status, want.body)
		}
	}
}

func TestARootMayBeASingleFile(t *testing.T) {
	dir := plant(t, map[string]string{"file.txt": "text", "other.txt": "other", "outside@": "../link"})
	plantFile(t, filepath.Join(dir, "../link"), "linked")
	always := func(*RequestCtx) []byte { return []byte("/") }
	for name, s := range map[string]*FS{
		"file":       {Root: filepath.Join(dir, "file.txt")},
		"uncached":   {Root: filepath.Join(dir, "file.txt"), SkipCache: true},
		"compressed": {Root: filepath.Join(dir, "file.txt"), Compress: true},
		"link":       {Root: filepath.Join(dir, "outside")},
		"fs.FS":      {FS: os.DirFS(dir), Root: "file.txt"},
		"deep":       {FS: os.DirFS(filepath.Dir(dir)), Root: filepath.Base(dir) + "/./file.txt"},
	} {
		want := "text"
		if name == "link" {
			want = "linked"
		}
		h := s.NewRequestHandler()
		s.PathRewrite = always
		everywhere := s.NewRequestHandler()
		for range 2 {
			askFor(t, h, "GET", "/").check(t, name, 200, want)
			askFor(t, everywhere, "GET", "/any/thing").check(t, name+", rewritten", 200, want)
			for _, target := range []string{"/file.txt", "/other.txt", "/x/", "/../other.txt"} {
				askFor(t, h, "GET", target).check(t, name+" "+target, 404, "")
			}
		}
		if got := askFor(t, h, "GET", "/").get("Content-Type"); name == "file" && got != "text/plain; charset=utf-8" {
			t.Errorf("%s: Content-Type is %q", name, got)
		}
	}
}

func TestIndexNamesAreTriedInOrder(t *testing.T) {
	root := plant(t, map[string]string{"one/b.html": "b", "both/a.html": "a", "both/b.html": "b", "dirs/a.html/x": "x", "dirs/b.html": "b", "none/x": "x"})
	h := (&FS{Root: root, IndexNames: []string{"a.html", "b.html"}}).NewRequestHandler()
	askFor(t, h, "GET", "/one/").check(t, "one", 200, "b")
	askFor(t, h, "GET", "/both/").check(t, "both", 200, "a")
	askFor(t, h, "GET", "/dirs/").check(t, "dirs", 200, "b")
	askFor(t, h, "GET", "/none/").check(t, "none", 403, "")
}

func TestPathNotFoundAnswersWhatIsNotThere(t *testing.T) {
	h := (&FS{Root: plant(t, nil), PathNotFound: func(ctx *RequestCtx) {
		ctx.SetStatusCode(StatusTeapot)
		ctx.SetBodyString("own")
	}}).NewRequestHandler()
	if a := askFor(t, h, "GET", "/nothing"); a.status != StatusTeapot || a.body != "own" {
		t.Errorf("got %d %q", a.status, a.body)
	}
	if a := askFor(t, h, "POST", "/nothing"); a.status != StatusTeapot {
		t.Errorf("POST: got %d", a.status)
	}
}

func TestARootThatIsMissingFindsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	h := (&FS{Root: dir}).NewRequestHandler()
	askFor(t, h, "GET", "/a").check(t, "before", 404, "")
	plantFile(t, filepath.Join(dir, "a"), "a")
	askFor(t, h, "GET", "/a").check(t, "after", 200, "a")
}

func TestWhatIsNoRegularFileIsNotFound(t *testing.T) {
	h := (&FS{FS: fstest.MapFS{"device": {Mode: fs.ModeDevice}, "pipe": {Mode: fs.ModeNamedPipe}}}).NewRequestHandler()
	askFor(t, h, "GET", "/device").check(t, "device", 404, "")
	askFor(t, h, "GET", "/pipe").check(t, "pipe", 404, "")
}

func TestTheApplicationsFieldsStay(t *testing.T) {
	h := (&FS{Root: plant(t, map[string]string{"a.txt": "a"}), Compress: true}).NewRequestHandler()
	wrapped := func(ctx *RequestCtx) {
		ctx.SetContentType("x/y")
		ctx.Response.Header.Set("Cache-Control", "max-age=1")
		ctx.Response.Header.Set("Vary", "Cookie")
		h(ctx)
	}
	for _, fields := range [][]string{nil, {"If-Modified-Since", "Mon, 06 May 2024 07:08:09 GMT"}} {
		a := askFor(t, wrapped, "GET", "/a.txt", fields...)
		if a.get("Cache-Control") != "max-age=1" || a.get("Vary") != "Cookie, Accept-Encoding" || string(a.header.ContentType()) != "x/y" {
			t.Errorf("%d has\n%s", a.status, a.header)
		}
	}
}

func TestTagsAreThoseOfTheRepresentation(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": long})
	h := (&FS{Root: root, GenerateETag: true, Compress: true}).NewRequestHandler()
	plain, zipped := askFor(t, h, "GET", "/a.txt"), askFor(t, h, "GET", "/a.txt", "Accept-Encoding", "gzip")
	if a, b := plain.get("Etag"), zipped.get("Etag"); a == b || !strings.HasPrefix(a, `W/"`) || !strings.HasPrefix(b, `W/"`) {
		t.Fatalf("the tags are %s and %s", a, b)
	}
	askFor(t, h, "GET", "/a.txt", "If-None-Match", plain.get("Etag")).check(t, "the same", 304, "")
	askFor(t, h, "GET", "/a.txt", "If-None-Match", zipped.get("Etag")).check(t, "the other one", 200, long)
	a := askFor(t, h, "GET", "/a.txt", "Accept-Encoding", "gzip", "If-None-Match", zipped.get("Etag"))
	if a.status != 304 || a.get("Etag") != zipped.get("Etag") || a.get("Vary") != "Accept-Encoding" || a.get("Last-Modified") != "" {
		t.Errorf("304 is\n%s", a.header)
	}
}

//go:embed fs_handler_test.go
var embedded embed.FS

// TestFilesWithoutATimeAreRevalidatedByTheirContent has files of embed.FS, whose time is the
// zero time and cannot serve as a validator.
func TestFilesWithoutATimeAreRevalidatedByTheirContent(t *testing.T) {
	for name, h := range map[string]RequestHandler{
		"default":            (&FS{FS: embedded}).NewRequestHandler(),
		"pages":              (&FS{FS: embedded, GenerateIndexPages: true}).NewRequestHandler(),
		"compressed":         (&FS{FS: embedded, Compress: true}).NewRequestHandler(),
		"ETag":               (&FS{FS: embedded, GenerateETag: true}).NewRequestHandler(),
		"strong":             (&FS{FS: embedded, StrongETag: true}).NewRequestHandler(),
		"ETag, not cached":   (&FS{FS: embedded, GenerateETag: true, SkipCache: true}).NewRequestHandler(),
		"strong, not cached": (&FS{FS: embedded, StrongETag: true, SkipCache: true}).NewRequestHandler(),
		"ServeFS":            func(ctx *RequestCtx) { ServeFS(ctx, embedded, string(ctx.Path())) },
		"Nix":                (&FS{FS: fstest.MapFS{"fs_handler_test.go": {Data: []byte("package fasthttp"), ModTime: time.Unix(1, 0)}}}).NewRequestHandler(),
		"one more":           (&FS{FS: fstest.MapFS{"fs_handler_test.go": {Data: []byte("package fasthttp, changed")}}}).NewRequestHandler(),
	} {
		prefix := `W/"`
		if strings.HasPrefix(name, "strong") {
			prefix = `"`
		}
		seen := map[string]string{}
		for _, coding := range []string{"identity", "gzip"} {
			a := askFor(t, h, "GET", "/fs_handler_test.go", "Accept-Encoding", coding, "If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT", "If-None-Match", `"a"`)
			tag := a.get("Etag")
			if a.status != 200 || !strings.HasPrefix(tag, prefix) || a.get("Last-Modified") != "" || !strings.HasPrefix(a.decode(t), "package fasthttp") {
				t.Errorf("%s: got %d\n%s", name, a.status, a.header)
			}
			if with := seen[tag]; with != "" && with != a.get("Content-Encoding")+"!" {
				t.Errorf("%s: two codings have the tag %s", name, tag)
			}
			seen[tag] = a.get("Content-Encoding") + "!"
			for _, method := range []string{"GET", "HEAD"} {
				again := askFor(t, h, method, "/fs_handler_test.go", "Accept-Encoding", coding, "If-None-Match", tag)
				if again.status != 304 || again.get("Etag") != tag || again.body != "" {
					t.Errorf("%s: %s again got %d\n%s", name, method, again.status, again.header)
				}
			}
		}
	}
	// two contents of one size have two tags
	h := (&FS{FS: fstest.MapFS{"a": {Data: []byte("1")}, "b": {Data: []byte("2")}}}).NewRequestHandler()
	if a, b := askFor(t, h, "GET", "/a").get("Etag"), askFor(t, h, "GET", "/b").get("Etag"); a == b {
		t.Errorf("both files have the tag %s", a)
	}
	// reading them for each request would cost too much
	h = (&FS{FS: embedded, SkipCache: true}).NewRequestHandler()
	if a := askFor(t, h, "GET", "/fs_handler_test.go"); a.status != 200 || a.get("Etag") != "" || a.get("Last-Modified") != "" {
		t.Errorf("not cached: got %d\n%s", a.status, a.header)
	}
}

func TestChangedFilesAreServedAnewAfterAWhile(t *testing.T) {
	root := plant(t, map[string]string{"small": "old", "large": "old" + long, "list/a": "a", "gone": "x", "late/x": "x"})
	h := (&FS{Root: root, CacheDuration: time.Nanosecond, GenerateIndexPages: true, IndexNames: []string{"index.html"}}).NewRequestHandler()
	ask := func(target string) string { return askFor(t, h, "GET", target).body }
	for _, target := range []string{"/small", "/large", "/list/", "/gone", "/late/"} {
		ask(target)
	}
	for name, text := range map[string]string{"small": "newer", "large": "newer" + long, "list/b": "b", "late/index.html": "index"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(root, "gone")); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the small file", func() bool { return ask("/small") == "newer" })
	servertest.Eventually(t, "the large file", func() bool { return ask("/large") == "newer"+long })
	servertest.Eventually(t, "the list", func() bool { return strings.Contains(ask("/list/"), "./b") })
	servertest.Eventually(t, "the index file", func() bool { return ask("/late/") == "index" })
	servertest.Eventually(t, "no file", func() bool { return askFor(t, h, "GET", "/gone").status == 404 })
}

// TestFilesThatAreOpenedAnewAreTheCachedOnes changes a file without random access, which is
// opened for each response.
func TestFilesThatAreOpenedAnewAreTheCachedOnes(t *testing.T) {
	for name, s := range map[string]*FS{"cached": {}, "uncached": {SkipCache: true}} {
		tree := fstest.MapFS{}
		s.FS, s.CacheDuration, s.AcceptByteRange, s.CacheControl = onlyReadable{tree}, time.Hour, true, "immutable"
		s.PathNotFound = func(ctx *RequestCtx) { ctx.SetStatusCode(404) }
		h := s.NewRequestHandler()
		for i, text := range []string{long, long + "more", long[:len(long)-1], long} {
			tree["a"] = &fstest.MapFile{Data: []byte(text), ModTime: modelTime.Add(time.Duration(i) * time.Hour)}
			for range 2 {
				a := askFor(t, h, "GET", "/a")
				a.check(t, name, 200, text)
				if got := a.get("Last-Modified"); got != string(AppendHTTPDate(nil, tree["a"].ModTime)) {
					t.Errorf("%s: version %d has the date %s", name, i, got)
				}
				a = askFor(t, h, "GET", "/a", "Range", "bytes=-7")
				a.check(t, name, 206, text[len(text)-7:])
			}
		}
		delete(tree, "a")
		for range 2 {
			a := askFor(t, h, "GET", "/a", "Range", "bytes=1-2")
			if got := a.get("Cache-Control") + a.get("Last-Modified") + a.get("Content-Range"); a.status != 404 || got != "" {
				t.Errorf("%s: a removed file gets %d\n%s", name, a.status, a.header)
			}
		}
	}
}

// countingFS counts the calls of Open.
type countingFS struct {
	fs.FS
	mu   sync.Mutex
	n    int
	hold chan struct{} // Open waits until it is closed
}

func (c *countingFS) Open(name string) (fs.File, error) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	if c.hold != nil {
		<-c.hold
	}
	return c.FS.Open(name)
}

func (c *countingFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(c.FS, name) }

func TestAFileIsOpenedByOneRequestAtATime(t *testing.T) {
	opens := &countingFS{FS: os.DirFS(plant(t, map[string]string{"long": long})), hold: make(chan struct{})}
	h := (&FS{FS: opens}).NewRequestHandler()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { askFor(t, h, "GET", "/long").check(t, "long", 200, long) })
	}
	close(opens.hold)
	wg.Wait()
	if opens.n != 1 {
		t.Errorf("the file was opened %d times", opens.n)
	}
}

// panickingFS panics on its first use.
type panickingFS struct {
	fs.FS
	once sync.Once
}

func (p *panickingFS) Open(name string) (fs.File, error) {
	p.once.Do(func() { panic("the file system's") })
	return p.FS.Open(name)
}

func TestALookUpThatPanicsHoldsNobodyUp(t *testing.T) {
	h := (&FS{FS: &panickingFS{FS: os.DirFS(plant(t, map[string]string{"a": "a"}))}}).NewRequestHandler()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("there was no panic")
			}
		}()
		askFor(t, h, "GET", "/a")
	}()
	askFor(t, h, "GET", "/a").check(t, "afterwards", 200, "a")
}

// TestNoFileStaysOpen counts the open descriptors of the process.
func TestNoFileStaysOpen(t *testing.T) {
	const descriptors = "/proc/self/fd"
	open := func() (n int) {
		list, err := os.ReadDir(descriptors)
		if err != nil {
			t.Skip("this system does not tell which files are open")
		}
		for _, entry := range list {
			if target, err := os.Readlink(filepath.Join(descriptors, entry.Name())); err == nil && strings.Contains(target, t.Name()) {
				n++
			}
		}
		return n
	}
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprint("f", i)] = long
	}
	root := plant(t, files)
	for name, s := range map[string]*FS{
		"stopped":  {Root: root, CleanStop: make(chan struct{})},
		"expired":  {Root: root, CacheDuration: 10 * time.Millisecond},
		"uncached": {Root: root, SkipCache: true},
	} {
		h := s.NewRequestHandler()
		for file := range files {
			askFor(t, h, "GET", "/"+file).check(t, name, 200, long)
			askFor(t, h, "GET", "/"+file, "If-None-Match", "*").check(t, name, 304, "")
			askFor(t, h, "HEAD", "/"+file).check(t, name, 200, "")
		}
		if s.CleanStop != nil {
			if open() < len(files) {
				t.Errorf("%d files are open, want all", open())
			}
			close(s.CleanStop)
		}
		// the garbage collector closes the root itself
		servertest.Eventually(t, name+": files closed", func() bool { return open() <= 3 })
		runtime.KeepAlive(h)
	}
}

func TestAStreamKeepsItsFileOpen(t *testing.T) {
	h := handlerOf(&FS{Root: plant(t, map[string]string{"long": long})})
	var ctx RequestCtx
	ctx.Request.SetRequestURI("/long")
	h.handle(&ctx)
	h.finder.Clear()
	var body bytes.Buffer
	if err := ctx.Response.BodyWriteTo(&body); err != nil || body.String() != long {
		t.Errorf("got %d bytes, %v", body.Len(), err)
	}
}

func TestServingCachedFilesAllocatesNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the pools forget things under the race detector")
	}
	h := (&FS{Root: plant(t, map[string]string{"a.txt": strings.Repeat("small ", 100)}), AcceptByteRange: true, GenerateETag: true, Compress: true}).NewRequestHandler()
	for name, fields := range map[string][]string{
		"200":   nil,
		"304":   {"If-Modified-Since: Mon, 06 May 2024 07:08:09 GMT"},
		"206":   {"Range: bytes=1-20"},
		"coded": {"Accept-Encoding: gzip, deflate, br"},
	} {
		c := &loopConn{request: []byte(servertest.Get("/a.txt", fields...))}
		s := &Server{Handler: h}
		serve := func() {
			c.left = 50
			_ = s.ServeConn(c)
		}
		serve()
		if n := least(serve); n > 0 {
			t.Errorf("%s: %v allocations for 50 requests", name, n)
		}
	}
}

func TestResponseSendFileStreamsTheFile(t *testing.T) {
	root := plant(t, map[string]string{"long": long, "dir/x": "x"})
	var resp Response
	if err := resp.SendFile(filepath.Join(root, "long")); err != nil {
		t.Fatal(err)
	}
	if got := string(resp.Header.Peek("Last-Modified")); got != "Mon, 06 May 2024 07:08:09 GMT" || resp.Header.ContentLength() != len(long) {
		t.Errorf("the header is\n%s", &resp.Header)
	}
	file, offset, length := resp.BodyStream().(fileSpan).span()
	if file == nil || offset != 0 || length != int64(len(long)) {
		t.Errorf("the span is %v, %d, %d", file, offset, length)
	}
	if _, err := io.CopyN(io.Discard, resp.BodyStream(), 10); err != nil {
		t.Fatal(err)
	}
	if _, offset, length = resp.BodyStream().(fileSpan).span(); offset != 10 || length != int64(len(long)-10) {
		t.Errorf("after 10 bytes the span is %d, %d", offset, length)
	}
	if string(resp.Body()) != long[10:] {
		t.Error("the rest is another one")
	}
	if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file was not closed: %v", err)
	}
	resp.SetBodyString("kept")
	for _, name := range []string{"nothing", "dir"} {
		if err := resp.SendFile(filepath.Join(root, name)); err == nil || string(resp.Body()) != "kept" {
			t.Errorf("%s: %v, and the body is %q", name, err, resp.Body())
		}
	}
	if err := resp.SendFile(filepath.Join(root, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// The handler makes the field lines of a file for the first response, of any kind.
// All responses have the same ones.
func TestAnswersSayTheSameHoweverOftenTheyAreGiven(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"a.txt": "text", "long.css": long, "list/b": "b", "list/c": "c"})
	requests := [][]string{
		{MethodGet, "/a.txt"},
		{MethodHead, "/a.txt"},
		{MethodGet, "/a.txt", "Range", "bytes=1-2"},
		{MethodGet, "/a.txt", "Range", "bytes=9-"},
		{MethodGet, "/a.txt", "If-Modified-Since", "Fri, 31 Dec 2100 00:00:00 GMT"},
		{MethodGet, "/a.txt", "X-Set", HeaderVary, "X-Value", "Cookie"},
		{MethodGet, "/a.txt", "X-Set", HeaderETag, "X-Value", "mine"},
		{MethodGet, "/a.txt", "X-Set", "status"},
		{MethodGet, "/long.css"},
		{MethodGet, "/long.css", "Accept-Encoding", "gzip"},
		{MethodGet, "/list/"},
		{MethodGet, "/list/", "Accept", "application/json"},
		{MethodGet, "/list/", "Accept-Encoding", "gzip"},
	}
	for _, settings := range []*FS{
		{},
		{AcceptByteRange: true, GenerateIndexPages: true},
		{AcceptByteRange: true, GenerateIndexPages: true, GenerateETag: true, Compress: true, CompressRoot: t.TempDir()},
	} {
		handler := func() RequestHandler {
			files := FS{Root: root, AcceptByteRange: settings.AcceptByteRange, GenerateIndexPages: settings.GenerateIndexPages,
				GenerateETag: settings.GenerateETag, Compress: settings.Compress, CompressRoot: settings.CompressRoot}
			h := files.NewRequestHandler()
			return func(ctx *RequestCtx) {
				ctx.Response.Header.SetNoDefaultContentType(true)
				switch name := string(ctx.Request.Header.Peek("X-Set")); name {
				case "":
				case "status":
					ctx.SetStatusCode(StatusNotModified)
				default:
					ctx.Response.Header.SetBytesV(name, ctx.Request.Header.Peek("X-Value"))
				}
				h(ctx)
			}
		}
		ask := func(h RequestHandler, r []string) string {
			answer := askFor(t, h, r[0], r[1], r[2:]...)
			answer.header.head.State |= header.NoDefaultDate // the date may change in between
			return answer.header.String()
		}
		var want []string
		for _, r := range requests {
			want = append(want, ask(handler(), r))
		}
		for first := range requests {
			h := handler()
			for i := range 2*len(requests) + 1 {
				n := (first + i) % len(requests)
				r := requests[n]
				if got := ask(h, r); got != want[n] {
					t.Errorf("%v after %d others, from %d on: %q, want %q", r, i, first, got, want[n])
				}
			}
		}
	}
}
