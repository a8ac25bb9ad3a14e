package fasthttp

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var linkPattern = regexp.MustCompile(`href="([^"]*)"`)

// pageLinks returns the targets of the links in a page.
func pageLinks(t *testing.T, at, page string) (list []string) {
	t.Helper()
	base, err := url.Parse("http://example.com" + at)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range linkPattern.FindAllStringSubmatch(page, -1) {
		to, err := base.Parse(html.UnescapeString(m[1]))
		if err != nil {
			t.Fatalf("broken link %q: %v", m[1], err)
		}
		list = append(list, to.Host+to.EscapedPath())
	}
	return list
}

func TestPagesListWhatIsThere(t *testing.T) {
	names := []string{"a.txt", "B.txt", "c d.txt", "percent%41.txt", `<script>alert('&"').txt`, "a:b", "ümlaut", "q?x#y", ".hidden"}
	files := map[string]string{"dir/z/x": "x", "dir/y/x": "x", "dir/link@": "z", "dir/dangling@": "nowhere"}
	for _, name := range names {
		files["dir/"+name] = name
	}
	root := plant(t, files)
	for name, s := range map[string]*FS{"root": {Root: root}, "fs.FS": {FS: os.DirFS(root)}, "compressed": {Root: root, Compress: true}} {
		s.GenerateIndexPages, s.AllowHiddenFiles = true, true
		h := s.NewRequestHandler()
		a := askFor(t, h, "GET", "/dir/")
		if got := string(a.header.ContentType()); a.status != 200 || got != "text/html; charset=utf-8" {
			t.Fatalf("%s: got %d %s", name, a.status, got)
		}
		links := pageLinks(t, "/dir/", a.body)
		if links[0] != "example.com/" || !slices.Equal(links[1:3], []string{"example.com/dir/y/", "example.com/dir/z/"}) {
			t.Errorf("%s: the page begins with %q", name, links[:3])
		}
		if got := links[3:]; !slices.IsSortedFunc(got, func(a, b string) int {
			ua, _ := url.PathUnescape(a)
			ub, _ := url.PathUnescape(b)
			return strings.Compare(strings.TrimSuffix(ua, "/"), strings.TrimSuffix(ub, "/"))
		}) {
			t.Errorf("%s: not sorted: %q", name, got)
		}
		for _, link := range links {
			_, path, _ := strings.Cut(link, "/")
			want := 200
			if strings.Contains(path, "dangling") {
				want = 404
			}
			if b := askFor(t, h, "GET", "/"+path); b.status != want {
				t.Errorf("%s: the link %q leads to %d", name, link, b.status)
			}
		}
		if len(links) != len(names)+5 {
			t.Errorf("%s: %d links: %q", name, len(links), links)
		}
		if strings.Contains(a.body, "<script") || !strings.Contains(a.body, "&lt;script&gt;alert(&#39;&amp;&#34;&#39;).txt</a>") {
			t.Errorf("%s: names are not escaped:\n%s", name, a.body)
		}
		if strings.Contains(a.body, "percentA") {
			t.Errorf("%s: a percent sign is not encoded", name)
		}
		askFor(t, h, "HEAD", "/dir/").check(t, "HEAD", 200, "")
	}
}

func TestPagesOfTheRootHaveNoWayUp(t *testing.T) {
	root := plant(t, map[string]string{"a": "a"})
	for target, h := range map[string]RequestHandler{"/": FSHandler(root, 0), "/static/": FSHandler(root, 1)} {
		a := askFor(t, h, "GET", target)
		if got := pageLinks(t, target, a.body); !slices.Equal(got, []string{"example.com" + target + "a"}) {
			t.Errorf("%s leads to %q", target, got)
		}
		if !strings.Contains(a.body, "<title>Index of "+target+"</title>") {
			t.Errorf("%s has the title of another page:\n%s", target, a.body)
		}
	}
}

func TestAPageIsNamedAsItWasAskedFor(t *testing.T) {
	h := (&FS{Root: plant(t, map[string]string{"a": "a"}), GenerateIndexPages: true, PathRewrite: func(*RequestCtx) []byte { return nil }}).NewRequestHandler()
	for _, target := range []string{"/one/", "/two/", "/one/", "/%3Cb%3E/"} {
		path, err := url.PathUnescape(target)
		if err != nil {
			t.Fatal(err)
		}
		if a := askFor(t, h, "GET", target); !strings.Contains(a.body, "<h1>Index of "+strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(path)+"</h1>") {
			t.Errorf("%s is\n%s", target, a.body)
		}
	}
}

func TestPagesAreJSONForWhoPrefersIt(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": "12345", "b<>.txt": "", "dir/x": "x"})
	h := (&FS{Root: root, GenerateIndexPages: true}).NewRequestHandler()
	for range 2 {
		a := askFor(t, h, "GET", "/", "Accept", "application/json")
		if got := string(a.header.ContentType()) + " " + a.get("Vary"); got != "application/json Accept" {
			t.Errorf("the type is %q", got)
		}
		var got []map[string]any
		if err := json.Unmarshal([]byte(a.body), &got); err != nil {
			t.Fatalf("%v in %s", err, a.body)
		}
		want := []map[string]any{
			{"name": "dir", "type": "directory", "mtime": got[0]["mtime"]},
			{"name": "a.txt", "type": "file", "size": 5.0, "mtime": "Mon, 06 May 2024 07:08:09 GMT"},
			{"name": "b<>.txt", "type": "file", "size": 0.0, "mtime": "Mon, 06 May 2024 07:08:09 GMT"},
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestPagesHaveTheDateOfTheNewestEntry(t *testing.T) {
	root := plant(t, map[string]string{"a": "a", "b": "b"})
	newest := modelTime.Add(48 * time.Hour)
	for path, at := range map[string]time.Time{"b": newest, ".": modelTime} {
		if err := os.Chtimes(filepath.Join(root, path), at, at); err != nil {
			t.Fatal(err)
		}
	}
	h := FSHandler(root, 0)
	date := string(AppendHTTPDate(nil, newest))
	if a := askFor(t, h, "GET", "/"); a.get("Last-Modified") != date {
		t.Errorf("the page has the date %q", a.get("Last-Modified"))
	}
	askFor(t, h, "GET", "/", "If-Modified-Since", date).check(t, "same", 304, "")
}

// Several Accept fields are one list (RFC 9110 section 5.3).
func TestIndexPagesForSeveralAcceptFields(t *testing.T) {
	h := (&FS{Root: plant(t, map[string]string{"a": "text"}), GenerateIndexPages: true}).NewRequestHandler()
	for want, fields := range map[string][2]string{
		"application/json": {"image/png", "application/json"}, "text/html; charset=utf-8": {"application/json", "text/html"},
	} {
		var ctx RequestCtx
		ctx.Request.Header.Add(HeaderAccept, fields[0])
		ctx.Request.Header.Add(HeaderAccept, fields[1])
		h(&ctx)
		if got := string(ctx.Response.Header.ContentType()); got != want {
			t.Errorf("%q: got %s, want %s", fields, got, want)
		}
	}
}
