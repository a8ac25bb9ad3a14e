package fasthttp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHiddenFilesAreServedOnlyIfAskedFor(t *testing.T) {
	root := plant(t, map[string]string{
		".env": "secret", ".git/config": "secret", "sub/.htpasswd": "secret", "sub/.a/b/c": "secret", "...": "secret", "..dots": "secret",
		".well-known/security.txt": "known", ".well-known/acme-challenge/x": "known", "sub/.well-known/y": "known",
		".well-known/.hidden": "secret", ".well-knownx": "secret", ".Well-Known/x": "secret",
		"a.txt": "plain", "sub/b.c.d": "plain", "dir./x": "plain", ".index/x": "secret", "own/.index.html": "index",
	})
	for name, s := range map[string]*FS{
		"root": {Root: root}, "uncached": {Root: root, SkipCache: true}, "fs.FS": {FS: os.DirFS(root)}, "free": {Root: root, AllowSymlinksOutsideRoot: true},
	} {
		s.IndexNames = []string{".index.html"} // chosen by the application
		h := s.NewRequestHandler()
		all := &FS{Root: s.Root, FS: s.FS, SkipCache: s.SkipCache, AllowHiddenFiles: true}
		asked := all.NewRequestHandler()
		for target, want := range map[string]string{
			"/.env": "secret", "/.git/config": "secret", "/sub/.htpasswd": "secret", "/sub/.a/b/c": "secret", "/...": "secret", "/..dots": "secret",
			"/%2eenv": "secret", "//.env": "secret", "/sub/../.env": "secret", "/.well-known/.hidden": "secret", "/.well-knownx": "secret", "/.Well-Known/x": "secret",
			"/.well-known/security.txt": "known", "/.well-known/acme-challenge/x": "known", "/sub/.well-known/y": "known",
			"/a.txt": "plain", "/sub/b.c.d": "plain", "/dir./x": "plain",
		} {
			for range 2 {
				status := 200
				if want == "secret" {
					status = 404
				}
				askFor(t, h, "GET", target).check(t, name+" "+target, status, want)
				askFor(t, asked, "GET", target).check(t, name+", all, "+target, 200, want)
			}
		}
		for _, target := range []string{"/.git", "/.git/", "/.index", "/.index/", "/.env/"} {
			askFor(t, h, "GET", target).check(t, name+" "+target, 404, "")
			askFor(t, h, "POST", target).check(t, name+" "+target, 404, "")
		}
		askFor(t, h, "GET", "/own/").check(t, name+" index", 200, "index")
	}
}

// A client that chooses the host also chooses the folder.
func TestHostsDoNotNameHiddenFolders(t *testing.T) {
	root := plant(t, map[string]string{".git/config": "secret", "a.example/x": "plain"})
	h := (&FS{Root: root, PathRewrite: NewVHostPathRewriter(0)}).NewRequestHandler()
	ask := func(host, target string) fileAnswer {
		return askFor(t, func(ctx *RequestCtx) { ctx.Request.Header.SetHost(host); ctx.Request.SetHost(host); h(ctx) }, "GET", target)
	}
	ask("a.example", "/x").check(t, "host", 200, "plain")
	ask(".git", "/config").check(t, "hidden", 404, "")
}

func TestHiddenFilesAreListedOnlyIfAskedFor(t *testing.T) {
	root := plant(t, map[string]string{".env": "x", ".git/x": "x", ".well-known/x": "x", "a": "a"})
	for name, c := range map[string]struct {
		h    RequestHandler
		want string
	}{
		"usual":   {FSHandler(root, 0), "/a"},
		"asked":   {(&FS{Root: root, GenerateIndexPages: true, AllowHiddenFiles: true}).NewRequestHandler(), "/.git/ /.well-known/ /.env /a"},
		"a known": {(&FS{Root: root, GenerateIndexPages: true, PathRewrite: func(*RequestCtx) []byte { return []byte("/.well-known") }}).NewRequestHandler(), "/x"},
		"named":   {func(ctx *RequestCtx) { ServeFile(ctx, root) }, "/a"},
		"of FS":   {func(ctx *RequestCtx) { ServeFS(ctx, os.DirFS(root), "/") }, "/a"},
	} {
		a := askFor(t, c.h, "GET", "/")
		got := pageLinks(t, "/", a.body)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], "example.com")
		}
		if got = slices.DeleteFunc(got, func(link string) bool { return link == "/" }); strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
		if a := askFor(t, c.h, "GET", "/", "Accept", "application/json"); strings.Contains(a.body, ".env") != (name == "asked") {
			t.Errorf("%s: %s", name, a.body)
		}
	}
}

// An application may serve hidden files that it names itself.
func TestNamedFilesMayBeHidden(t *testing.T) {
	root := plant(t, map[string]string{".config/a.txt": "text"})
	askFor(t, func(ctx *RequestCtx) { ServeFile(ctx, root+"/.config/a.txt") }, "GET", "/").check(t, "file", 200, "text")
	askFor(t, func(ctx *RequestCtx) { ServeFS(ctx, os.DirFS(root), ".config/a.txt") }, "GET", "/").check(t, "fs.FS", 200, "text")
	askFor(t, (&FS{Root: root + "/.config"}).NewRequestHandler(), "GET", "/a.txt").check(t, "below a hidden root", 200, "text")
	askFor(t, (&FS{Root: root + "/.config/a.txt"}).NewRequestHandler(), "GET", "/").check(t, "a hidden root", 200, "text")
	askFor(t, (&FS{FS: os.DirFS(root), Root: ".config"}).NewRequestHandler(), "GET", "/a.txt").check(t, "below a hidden root of FS", 200, "text")
	// as frameworks send a file that the application chose
	whole := &FS{AllowEmptyRoot: true, PathRewrite: func(*RequestCtx) []byte { return []byte(filepath.ToSlash(root) + "/.config/a.txt") }}
	askFor(t, whole.NewRequestHandler(), "GET", "/").check(t, "whole path", 200, "text")
	inFS := &FS{FS: os.DirFS(root), AllowEmptyRoot: true}
	askFor(t, inFS.NewRequestHandler(), "GET", "/.config/a.txt").check(t, "path in an FS", 404, "")
}
