package fasthttp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func zipped(text string) string { return string(AppendGzipBytes(nil, []byte(text))) }

// Modification times may be wrong: tools that build the same archive twice give all
// files the same one.
func TestCopiesAreOfTheSameSizeAndTime(t *testing.T) {
	for _, at := range []time.Time{modelTime, time.Unix(0, 0), time.Unix(1, 5)} {
		root := plant(t, map[string]string{"a.txt": long})
		path := filepath.Join(root, "a.txt")
		for name, text := range map[string]string{"first": long, "another size": long + "more", "shorter": long[:5000]} {
			if err := errors.Join(os.WriteFile(path, []byte(text), 0o644), os.Chtimes(path, at, at)); err != nil {
				t.Fatal(err)
			}
			for _, s := range []*FS{{Root: root, SkipCache: true}, {Root: root}} {
				s.Compress = true
				h := s.NewRequestHandler()
				for range 2 {
					if a := askFor(t, h, "GET", "/a.txt", "Accept-Encoding", "gzip"); a.get("Content-Encoding") != "gzip" || a.decode(t) != text {
						t.Errorf("%s of %v: %.50q", name, at, a.decode(t))
					}
				}
			}
		}
	}
}

func TestRootsWithTheSameFolderForCopiesDoNotShareThem(t *testing.T) {
	one, two := plant(t, map[string]string{"a.txt": "one" + long}), plant(t, map[string]string{"a.txt": "two" + long})
	copies := t.TempDir()
	for range 2 {
		for root, text := range map[string]string{one: "one" + long, two: "two" + long} {
			h := (&FS{Root: root, CompressRoot: copies, Compress: true}).NewRequestHandler()
			askFor(t, h, "GET", "/a.txt", "Accept-Encoding", "gzip").checkCoding(t, root, "gzip", text)
		}
	}
}

func TestCopiesAreNotServedByTheirNames(t *testing.T) {
	names := []string{"a.txt.fasthttp.gz", "a.txt.fasthttp.br", "a.txt.fasthttp.zst", "alone.fasthttp.gz", "a.txt.fasthttp.gz.tmp", "A.TXT.FASTHTTP.GZ", "sub/x.fasthttp.br"}
	files := map[string]string{"a.txt": long, "sub/b": "b", "b.gz": "x", "c.fasthttp.gzip": "x"}
	for _, name := range names {
		files[name] = "a copy"
	}
	root := plant(t, files)
	for name, s := range map[string]*FS{
		"plain": {Root: root}, "compressed": {Root: root, Compress: true}, "fs.FS": {FS: os.DirFS(root)}, "uncached": {Root: root, SkipCache: true, Compress: true},
		"other suffixes": {Root: root, Compress: true, CompressedFileSuffix: ".z", CompressRoot: t.TempDir()},
	} {
		s.GenerateIndexPages, s.AllowHiddenFiles = true, true
		h := s.NewRequestHandler()
		askFor(t, h, "GET", "/a.txt", "Accept-Encoding", "gzip")
		for _, target := range names {
			for range 2 {
				askFor(t, h, "GET", "/"+target).check(t, name+" "+target, 404, "")
				askFor(t, h, "GET", "/"+target, "Accept-Encoding", "gzip").check(t, name+" "+target, 404, "")
			}
		}
		askFor(t, h, "GET", "/b.gz").check(t, name, 200, "x")
		if got := strings.Join(pageLinks(t, "/", askFor(t, h, "GET", "/").body), " "); strings.ReplaceAll(got, "example.com", "") != "/sub/ /a.txt /b.gz /c.fasthttp.gzip" {
			t.Errorf("%s: the page leads to %q", name, got)
		}
	}
	askFor(t, func(ctx *RequestCtx) { ServeFile(ctx, root+"/a.txt.fasthttp.gz") }, "GET", "/").check(t, "named", 404, "")
}

// Other files may also have the suffix that the application has chosen.
func TestCopiesWithAnotherSuffixAreToldByTheirStamp(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": long, "archive.gz": zipped(random(200)), "b.txt": long})
	s := func() *FS {
		return &FS{Root: root, Compress: true, CompressedFileSuffix: ".gz", GenerateIndexPages: true, Precompressed: true}
	}
	h := s().NewRequestHandler()
	for range 2 {
		askFor(t, h, "GET", "/a.txt", "Accept-Encoding", "gzip").checkCoding(t, "file", "gzip", long)
	}
	for _, h := range []RequestHandler{h, s().NewRequestHandler()} {
		askFor(t, h, "GET", "/a.txt", "Accept-Encoding", "gzip").checkCoding(t, "file", "gzip", long)
		askFor(t, h, "GET", "/a.txt.gz").check(t, "copy", 404, "")
		askFor(t, h, "GET", "/archive.gz").check(t, "archive", 200, zipped(random(200)))
	}
	// an orphan, in a folder that the handler has not seen yet
	if err := os.Remove(filepath.Join(root, "a.txt")); err != nil {
		t.Fatal(err)
	}
	askFor(t, s().NewRequestHandler(), "GET", "/a.txt.gz").check(t, "orphan", 404, "")
	if page := askFor(t, s().NewRequestHandler(), "GET", "/").body; strings.Contains(page, "a.txt.gz") || !strings.Contains(page, "archive.gz") {
		t.Errorf("the page is %s", page)
	}
}

// The handler removes the copies of removed files, including files removed while no handler
// ran.
func TestCopiesOfFilesThatAreGoneAreRemoved(t *testing.T) {
	apart := filepath.Join(t.TempDir(), "copies")
	for name, copies := range map[string]string{"beside": "", "apart": apart} {
		root := plant(t, map[string]string{
			"sub/a.txt": long, "sub/b.txt": long, "sub/c.txt": long, "sub/other.fasthttp.gz": "by another program",
			"sub/old.txt.fasthttp.gz.tmp": "x", "sub/young.txt.fasthttp.gz.tmp": "x",
		})
		if err := os.Chtimes(filepath.Join(root, "sub/young.txt.fasthttp.gz.tmp"), time.Now(), time.Now()); err != nil {
			t.Fatal(err)
		}
		where := root
		if copies != "" {
			where = copies
		}
		h := handlerOf(&FS{Root: root, CompressRoot: copies, Compress: true})
		there := func() (names []string) {
			entries, err := os.ReadDir(filepath.Join(where, "sub"))
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range entries {
				if strings.Contains(entry.Name(), ".fasthttp") {
					names = append(names, entry.Name())
				}
			}
			return names
		}
		for _, file := range []string{"a", "b", "c"} {
			askFor(t, h.handle, "GET", "/sub/"+file+".txt", "Accept-Encoding", "gzip").checkCoding(t, name, "gzip", long)
		}
		// the handler has no cache entry for it
		h.finder.Clear()
		if err := os.Remove(filepath.Join(root, "sub/a.txt")); err != nil {
			t.Fatal(err)
		}
		askFor(t, h.handle, "GET", "/sub/a.txt").check(t, name, 404, "")
		if got := fmt.Sprint(there()); strings.Contains(got, "a.txt") || !strings.Contains(got, "b.txt") {
			t.Errorf("%s: there is %s", name, got)
		}
		// another process removes it
		if err := os.Remove(filepath.Join(root, "sub/b.txt")); err != nil {
			t.Fatal(err)
		}
		next := (&FS{Root: root, CompressRoot: copies, Compress: true}).NewRequestHandler()
		askFor(t, next, "GET", "/sub/c.txt", "Accept-Encoding", "gzip").checkCoding(t, name, "gzip", long)
		want := "[c.txt.fasthttp.gz]"
		if copies == "" {
			want = "[c.txt.fasthttp.gz other.fasthttp.gz young.txt.fasthttp.gz.tmp]"
		}
		if got := fmt.Sprint(there()); got != want {
			t.Errorf("%s: there is %s, want %s", name, got, want)
		}
	}
}

func TestCompressedSiblingsAreTaken(t *testing.T) {
	// the siblings have another text, which shows that the handler has not made them
	sibling := "the sibling's " + long
	root := plant(t, map[string]string{
		"a.txt": long, "a.txt.gz": zipped(sibling), "old.txt": long, "old.txt.gz": zipped(sibling), "linked.txt": long, "linked.txt.gz@": "../outside.gz",
		"../outside.gz": zipped("secret"),
	})
	if err := os.Chtimes(filepath.Join(root, "old.txt.gz"), modelTime.Add(-time.Hour), modelTime.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*FS{"root": {Root: root}, "fs.FS": {FS: mapOf(root, "a.txt", "a.txt.gz", "old.txt", "old.txt.gz", "linked.txt")}} {
		s.Compress = true
		askFor(t, s.NewRequestHandler(), "GET", "/a.txt", "Accept-Encoding", "gzip").checkCoding(t, name+" unasked", "gzip", long)
		s.Precompressed = true
		h := s.NewRequestHandler()
		askFor(t, h, "GET", "/a.txt", "Accept-Encoding", "gzip").checkCoding(t, name, "gzip", sibling)
		askFor(t, h, "GET", "/a.txt").checkCoding(t, name, "", long)
		askFor(t, h, "GET", "/old.txt", "Accept-Encoding", "gzip").checkCoding(t, name+" old", "gzip", long)
		askFor(t, h, "GET", "/linked.txt", "Accept-Encoding", "gzip").checkCoding(t, name+" linked", "gzip", long)
		a := askFor(t, h, "GET", "/a.txt", "Accept-Encoding", "gzip")
		if got := string(a.header.ContentType()); got != "text/plain; charset=utf-8" {
			t.Errorf("%s: the type is %q", name, got)
		}
	}
}

// A program may put compressed files into a tree for a handler that compresses
// nothing.
func TestCompressedSiblingsNeedNoCompress(t *testing.T) {
	root := plant(t, map[string]string{
		"a.txt": long, "a.txt.gz": zipped(long), "b.css": long, "b.css.br": string(AppendBrotliBytes(nil, []byte(long))), "b.css.gz": zipped(long),
		"pic.png": long, "pic.png.zst": string(AppendZstdBytes(nil, []byte(long))), "none.txt": long,
	})
	for name, s := range map[string]*FS{"cached": {Root: root}, "uncached": {Root: root, SkipCache: true}, "compressed": {Root: root, Compress: true, CompressRoot: t.TempDir()}} {
		h := s.NewRequestHandler()
		a := askFor(t, h, "GET", "/b.css", "Accept-Encoding", "br")
		if a.get("Content-Encoding") != "" || a.body != long {
			t.Errorf("%s: unasked for: %s", name, a.header)
		}
		s.Precompressed = true
		h = s.NewRequestHandler()
		for range 2 {
			for _, c := range []struct{ target, accept, coding string }{
				{"/a.txt", "gzip", "gzip"}, {"/a.txt", "br, zstd, gzip", "gzip"}, {"/a.txt", "br, gzip;q=0", ""}, {"/a.txt", "", ""},
				{"/b.css", "gzip, br", "br"}, {"/b.css", "zstd, gzip", "gzip"}, {"/b.css", "br;q=0.1, gzip", "gzip"}, {"/b.css", "identity, br;q=0.5", ""},
				{"/pic.png", "gzip, zstd", "zstd"}, {"/pic.png", "gzip", ""},
			} {
				for _, method := range []string{"HEAD", "GET"} {
					a := askFor(t, h, method, c.target, "Accept-Encoding", c.accept)
					if got := a.get("Content-Encoding"); a.status != 200 || got != c.coding || a.get("Vary") != "Accept-Encoding" {
						t.Errorf("%s: %s %s for %q: %d %q", name, method, c.target, c.accept, a.status, got)
					} else if method == "GET" && a.decode(t) != long {
						t.Errorf("%s: %s for %q has another content", name, c.target, c.accept)
					}
				}
			}
			if got := askFor(t, h, "GET", "/none.txt", "Accept-Encoding", "gzip, br").get("Content-Encoding"); got != "" && name != "compressed" {
				t.Errorf("%s: unexpected coding %q", name, got)
			}
		}
		if made, err := filepath.Glob(filepath.Join(root, "*.fasthttp*")); err != nil || len(made) > 0 {
			t.Errorf("%s: made: %q, %v", name, made, err)
		}
	}
}

// sentContent returns the bytes of a response, without copying them.
func sentContent(h RequestHandler, method, target, accept string) ([]byte, string) {
	var ctx RequestCtx
	ctx.Request.Header.SetMethod(method)
	ctx.Request.SetRequestURI(target)
	ctx.Request.Header.Set(HeaderAcceptEncoding, accept)
	h(&ctx)
	return ctx.Response.Body(), string(ctx.Response.Header.ContentEncoding())
}

// The same content is encoded once, even if the file system cannot be a key of the
// cache, or the handler caches no files.
func TestContentIsEncodedOnce(t *testing.T) {
	text := "once " + long
	maps := fstest.MapFS{"a.txt": {Data: []byte(text)}, "noise.txt": {Data: []byte(random(1000))}}
	root := plant(t, map[string]string{"a.txt": text, "file": ""})
	for name, h := range map[string]RequestHandler{
		"ServeFS of a map":     func(ctx *RequestCtx) { ServeFS(ctx, maps, string(ctx.Path())) },
		"uncached":             (&FS{FS: maps, Compress: true, SkipCache: true}).NewRequestHandler(),
		"uncached page":        (&FS{FS: maps, Compress: true, SkipCache: true, GenerateIndexPages: true, PathRewrite: func(*RequestCtx) []byte { return []byte("/") }}).NewRequestHandler(),
		"uncached, not stored": (&FS{Root: root, CompressRoot: root + "/file", Compress: true, SkipCache: true}).NewRequestHandler(),
	} {
		first, coding := sentContent(h, "GET", "/a.txt", "gzip")
		if coding != "gzip" {
			t.Errorf("%s: %q", name, coding)
		}
		for range 3 {
			again, coding := sentContent(h, "GET", "/a.txt", "gzip")
			if coding != "gzip" || &again[0] != &first[0] {
				t.Errorf("%s: encoded again", name)
			}
		}
		if _, coding := sentContent(h, "HEAD", "/a.txt", "gzip"); coding != "gzip" {
			t.Errorf("%s: HEAD gets %q", name, coding)
		}
	}
	h := (&FS{FS: maps, Compress: true, SkipCache: true}).NewRequestHandler()
	if _, coding := sentContent(h, "GET", "/noise.txt", "gzip"); coding != "" {
		t.Errorf("noise has become smaller")
	}
	maps["a.txt"] = &fstest.MapFile{Data: []byte(strings.Replace(text, "once", "then", 1))}
	askFor(t, h, "GET", "/a.txt", "Accept-Encoding", "gzip").checkCoding(t, "other content", "gzip", "then "+long)
}
