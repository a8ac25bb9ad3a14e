package fasthttp

import (
	"crypto/sha256"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestSettingsAddFieldsToFiles(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": "text", "long.css": long, "list/b": "b"})
	date := string(AppendHTTPDate(nil, modelTime))
	for name, s := range map[string]*FS{"cached": {}, "uncached": {SkipCache: true}, "compressed": {Compress: true, CompressRoot: t.TempDir()}} {
		s.Root, s.AcceptByteRange, s.GenerateIndexPages = root, true, true
		without := s.NewRequestHandler()
		s.NoSniff, s.CacheControl = true, "public, max-age=60"
		h := s.NewRequestHandler()
		for range 2 {
			for target, fields := range map[string][]string{
				"/a.txt": nil, "/long.css": {"Accept-Encoding", "gzip"}, "/a.txt?": {"Range", "bytes=1-2"}, "/a.txt?1": {"Range", "bytes=0-0,2-2"},
				"/a.txt?2": {"If-Modified-Since", date}, "/list/": nil,
			} {
				for _, method := range []string{"GET", "HEAD"} {
					a := askFor(t, h, method, target, fields...)
					sniff := "nosniff"
					if a.status == 304 {
						sniff = ""
					}
					if got := a.get("Cache-Control") + " " + a.get("X-Content-Type-Options"); a.status >= 400 || got != "public, max-age=60 "+sniff {
						t.Errorf("%s: %s %s %q: %d %q", name, method, target, fields, a.status, got)
					}
					isPage := target == "/list/"
					a = askFor(t, without, method, target, fields...)
					if a.get("Cache-Control") != "" || (a.get("X-Content-Type-Options") != "") != isPage {
						t.Errorf("%s: %s %s %q, without: %s", name, method, target, fields, a.header)
					}
				}
			}
			own := func(ctx *RequestCtx) {
				ctx.Response.Header.Set("Cache-Control", "no-store")
				ctx.Response.Header.Set("X-Content-Type-Options", "own")
				ctx.Response.Header.Set("Content-Security-Policy", "own")
				h(ctx)
			}
			for _, target := range []string{"/a.txt", "/list/"} {
				if a := askFor(t, own, "GET", target); a.get("Cache-Control")+a.get("X-Content-Type-Options")+a.get("Content-Security-Policy") != "no-storeownown" {
					t.Errorf("%s: the application's fields were removed: %s", name, a.header)
				}
			}
			if a := askFor(t, h, "GET", "/none"); a.get("Cache-Control") != "" {
				t.Errorf("%s: 404 is cached: %s", name, a.header)
			}
		}
	}
}

// The client that uploads a file chooses the name that the page shows.
func TestPagesDoNothingButTheirStyle(t *testing.T) {
	h := (&FS{Root: plant(t, map[string]string{"<script>alert(1)<>": "x"}), GenerateIndexPages: true}).NewRequestHandler()
	for range 2 {
		a := askFor(t, h, "GET", "/")
		style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(a.body)
		if style == nil {
			t.Fatalf("no style in %s", a.body)
		}
		sum := sha256.Sum256([]byte(style[1]))
		want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
		if got := a.get("Content-Security-Policy"); got != want || a.get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("got %q, want %q in %s", got, want, a.header)
		}
		if strings.Contains(a.body, "style=") || strings.Contains(a.body, "<script") {
			t.Errorf("the page needs more: %s", a.body)
		}
		if a := askFor(t, h, "GET", "/", "Accept", "application/json"); a.get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("JSON: %s", a.header)
		}
	}
}

func TestStrongTagsStandForTheContent(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": long, "b.txt": long, "c.txt": "c" + long[1:], "small": "small", "list/x": "x", "empty": ""})
	for _, file := range []string{"a.txt", "c.txt"} {
		if err := os.Chtimes(filepath.Join(root, file), time.Unix(7, 0), time.Unix(7, 0)); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range map[string]*FS{
		"cached": {Root: root}, "uncached": {Root: root, SkipCache: true}, "stream": {FS: onlyReadable{os.DirFS(root)}}, "and weak": {Root: root, GenerateETag: true},
	} {
		s.StrongETag, s.Compress, s.AcceptByteRange, s.GenerateIndexPages, s.CompressRoot = true, true, true, true, t.TempDir()
		h := s.NewRequestHandler()
		tags := map[string]string{}
		for range 2 {
			for _, target := range []string{"/a.txt", "/b.txt", "/c.txt", "/small", "/empty", "/list/"} {
				if name == "stream" && target == "/list/" {
					continue // has no directories
				}
				for _, accept := range []string{"", "gzip"} {
					a := askFor(t, h, "GET", target, "Accept-Encoding", accept)
					tag := a.get("Etag")
					if !regexp.MustCompile(`^"[0-9a-f]{32}"$`).MatchString(tag) {
						t.Errorf("%s: %s has the tag %s", name, target, tag)
					}
					if was := tags[target+accept]; was != "" && was != tag {
						t.Errorf("%s: %s had %s, and has %s", name, target, was, tag)
					}
					tags[target+accept] = tag
				}
			}
		}
		if tags["/a.txt"] != tags["/b.txt"] || tags["/a.txt"] == tags["/c.txt"] || tags["/a.txt"] == tags["/a.txtgzip"] || tags["/a.txtgzip"] != tags["/b.txtgzip"] {
			t.Errorf("%s: the tags are %q", name, tags)
		}
		askFor(t, h, "GET", "/a.txt", "If-None-Match", tags["/b.txt"]).check(t, name, 304, "")
		askFor(t, h, "GET", "/a.txt", "If-Match", tags["/b.txt"]).check(t, name, 200, long)
		askFor(t, h, "GET", "/a.txt", "If-Match", tags["/c.txt"]).check(t, name, 412, "")
		askFor(t, h, "GET", "/a.txt", "Range", "bytes=3-5", "If-Range", tags["/a.txt"]).check(t, name, 206, long[3:6])
		askFor(t, h, "GET", "/a.txt", "Range", "bytes=3-5", "If-Range", tags["/c.txt"]).check(t, name, 200, long)
	}
	// if the time of the content is unknown, there is no other tag
	h := (&FS{FS: fstest.MapFS{"a": {Data: []byte("x")}}, StrongETag: true}).NewRequestHandler()
	if a := askFor(t, h, "GET", "/a"); !strings.HasPrefix(a.get("Etag"), `"`) {
		t.Errorf("no time: %s", a.header)
	}
}

func TestLargeContentHasAWeakTag(t *testing.T) {
	t.Parallel()
	for size, strong := range map[int64]bool{files.MaxHashed: true, files.MaxHashed + 1: false} {
		path := filepath.Join(t.TempDir(), "hole")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		if servertest.RaceDetector && strong {
			continue // takes too long
		}
		a := askFor(t, (&FS{Root: path, StrongETag: true}).NewRequestHandler(), "HEAD", "/")
		if got := a.get("Etag"); strings.HasPrefix(got, `"`) != strong || strings.HasPrefix(got, "W/") == strong {
			t.Errorf("%d bytes have the tag %s", size, got)
		}
	}
}

func TestContentTypesOfTheApplicationComeFirst(t *testing.T) {
	root := plant(t, map[string]string{"a.GLB": "x", "b.txt": "x", "c.html": "<p>", "Makefile": "x", "sub.dir/plain": "x", "d.md.txt": "x", "list/e": "e"})
	for name, s := range map[string]*FS{"root": {Root: root}, "fs.FS": {FS: os.DirFS(root)}, "uncached": {Root: root, SkipCache: true}} {
		s.ContentTypes = map[string]string{".glb": "model/gltf-binary", ".TXT": "text/x-own", "": "text/x-none"}
		h := s.NewRequestHandler()
		for target, want := range map[string]string{
			"/a.GLB": "model/gltf-binary", "/b.txt": "text/x-own", "/c.html": "text/html; charset=utf-8", "/Makefile": "text/x-none", "/sub.dir/plain": "text/x-none",
			"/d.md.txt": "text/x-own",
		} {
			if got := string(askFor(t, h, "GET", target).header.ContentType()); got != want {
				t.Errorf("%s: %s is %s, want %s", name, target, got, want)
			}
		}
	}
}

func TestFilesAreCompressedByType(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": long, "b.bin": long, "c.png": long, "d.mine": long})
	for name, c := range map[string]struct {
		types []string
		coded string
	}{"usual": {nil, "a.txt"}, "own": {[]string{"application/octet-stream", "image/*", "application/x-mine"}, "b.bin c.png d.mine"}} {
		h := (&FS{
			Root: root, Compress: true, CompressRoot: t.TempDir(), CompressTypes: c.types, ContentTypes: map[string]string{".mine": "application/x-mine"},
		}).NewRequestHandler()
		for _, file := range []string{"a.txt", "b.bin", "c.png", "d.mine"} {
			coding := ""
			if strings.Contains(c.coded, file) {
				coding = "gzip"
			}
			askFor(t, h, "GET", "/"+file, "Accept-Encoding", "gzip").checkCoding(t, name+" "+file, coding, long)
		}
	}
}

// With a wrong Root every file seems to be missing, and the log has the reason.
func TestAMissingRootIsLoggedOnce(t *testing.T) {
	base := plant(t, map[string]string{"file": "x", "there/a": "a"})
	missing := filepath.Join(base, "misspelt")
	for name, c := range map[string]struct {
		s      *FS
		target string
		want   string
	}{
		"missing":        {&FS{Root: missing}, "/a", "misspelt"},
		"missing, free":  {&FS{Root: missing, AllowSymlinksOutsideRoot: true}, "/a", "misspelt"},
		"missing, index": {&FS{Root: missing, IndexNames: []string{"index.html"}, GenerateIndexPages: true}, "/", "misspelt"},
		"uncached":       {&FS{Root: missing, SkipCache: true}, "/a", "misspelt"},
		"own 404":        {&FS{Root: missing, PathNotFound: func(ctx *RequestCtx) { ctx.SetStatusCode(404) }}, "/a", "misspelt"},
		"fs.FS":          {&FS{FS: fstest.MapFS{"x/y": {}}, Root: "misspelt"}, "/a", "misspelt"},
		"no directory":   {&FS{FS: fstest.MapFS{"device": {Mode: fs.ModeDevice}}, Root: "device"}, "/a", "not a directory"},
		"there":          {&FS{Root: filepath.Join(base, "there")}, "/none", ""},
		"there, fs.FS":   {&FS{FS: os.DirFS(base), Root: "there"}, "/none", ""},
		"found":          {&FS{Root: filepath.Join(base, "there")}, "/a", ""},
	} {
		h := c.s.NewRequestHandler()
		log := &servertest.Log{}
		for range 3 {
			var req Request
			req.SetRequestURI(c.target)
			var ctx RequestCtx
			ctx.Init(&req, nil, log)
			h(&ctx)
		}
		lines := log.All()
		if c.want == "" {
			log.CheckEmpty(t)
			continue
		}
		if len(lines) != 1 || !strings.Contains(lines[0], "FS.Root") || !strings.Contains(lines[0], c.want) {
			t.Errorf("%s: logged %q", name, lines)
		}
	}
	// a missing file that the application names is not logged
	log := &servertest.Log{}
	var ctx RequestCtx
	ctx.Init(&Request{}, nil, log)
	ServeFile(&ctx, missing)
	ServeFS(&ctx, fstest.MapFS{}, "none")
	log.CheckEmpty(t)
}

// Dot segments in FS.Root lead to no more of the file system than they name.
func TestRootOfAFileSystemWithDotSegments(t *testing.T) {
	files := fstest.MapFS{"public/a": {Data: []byte("public")}, "secret": {Data: []byte("secret")}}
	for _, root := range []string{"x/../public", "../public", "./public/", "/public", "public/x/.."} {
		h := (&FS{FS: files, Root: root}).NewRequestHandler()
		askFor(t, h, "GET", "/a").check(t, root, 200, "public")
		for _, target := range []string{"/secret", "/public/a"} {
			askFor(t, h, "GET", target).check(t, root+", "+target, 404, "Cannot open requested path")
		}
	}
	askFor(t, (&FS{FS: files, Root: "a\x00b"}).NewRequestHandler(), "GET", "/secret").check(t, "a root that is no path", 404, "Cannot open requested path")
}
