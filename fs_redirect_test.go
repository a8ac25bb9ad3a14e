package fasthttp

import (
	"net/url"
	"testing"
)

func TestDirectoriesAreRedirectedToTheirSlash(t *testing.T) {
	root := plant(t, map[string]string{"dir/index.html": "index", "a b%/index.html": "odd", "list/x": "x"})
	plain := FSHandler(root, 0)
	stripped := FSHandler(root, 1)
	for target, want := range map[string]struct {
		h        RequestHandler
		location string
	}{
		"/dir":        {plain, "./dir/"},
		"/dir?x=y":    {plain, "./dir/?x=y"},
		"/list":       {plain, "./list/"},
		"/a%20b%25":   {plain, "./a%20b%25/"},
		"/static/dir": {stripped, "./dir/"},
		"/static":     {stripped, "./static/"},
	} {
		for range 2 {
			a := askFor(t, want.h, "GET", target)
			if a.status != 302 || a.get("Location") != want.location {
				t.Errorf("%s: %d %s, want %s", target, a.status, a.get("Location"), want.location)
			}
		}
	}
	askFor(t, plain, "GET", "/dir/").check(t, "with the slash", 200, "index")
	askFor(t, plain, "GET", "/dir").check(t, "from the cache", 302, "")
	askFor(t, stripped, "GET", "/static/dir/").check(t, "stripped", 200, "index")
}

// Other projects serve files and directories in this way.
func TestARewriterThatEndsInASlashGetsNoRedirect(t *testing.T) {
	root := plant(t, map[string]string{"dir/index.html": "index", "file.txt": "text"})
	h := (&FS{Root: root, IndexNames: []string{"index.html"}, PathRewrite: func(ctx *RequestCtx) []byte {
		return append(ctx.Path(), '/')
	}}).NewRequestHandler()
	for range 2 {
		askFor(t, h, "GET", "/dir").check(t, "a directory", 200, "index")
		askFor(t, h, "GET", "/file.txt").check(t, "a file", 200, "text")
		askFor(t, h, "GET", "/none").check(t, "nothing", 404, "")
	}
}

// A client that constructs a link to a directory of this server does not control the target of
// the redirect.
func TestRedirectsOfDirectoriesStayOnTheServer(t *testing.T) {
	root := plant(t, map[string]string{
		"evil.com/x": "x", `\evil.com/x`: "x", "a:b/x": "x", "http:/x": "x", "d/evil.com/x": "x", "%2e%2e/x": "x", "q?/x": "x", "a%2fb/x": "x",
		"sub/deep/x": "x", "ümlaut/x": "x",
	})
	forEachEngine(t, func(t *testing.T, start starter) {
		c := start(&Server{Handler: FSHandler(root, 0)}).Dial()
		for _, target := range []string{
			"//evil.com", "///evil.com", "/%2Fevil.com", "/%2F%2Fevil.com", "/./evil.com", "/d//evil.com", "/d/../evil.com?a=//b",
			`/\evil.com`, "/%5Cevil.com", "/%5cevil.com?//host/a", "/a:b", "/http:", "/%252e%252e", "/q%3F?q%3F", "/sub%2Fdeep", "/a%252fb",
			"/%C3%BCmlaut?%0d%0aX:",
		} {
			c.Get(target)
			resp := c.Next("GET")
			location := resp.Header.Get("Location")
			base, err := url.Parse("http://good.com" + target)
			if err != nil {
				// if net/url refuses it, a browser takes it for a path
				base = &url.URL{Scheme: "http", Host: "good.com", Path: target}
			}
			to, err := base.Parse(location)
			if resp.StatusCode != 302 || err != nil || to.Host != "good.com" {
				t.Errorf("%s: %d to %q, which is %v, %v", target, resp.StatusCode, location, to, err)
				continue
			}
			// a browser takes a backslash for a slash
			if location[:2] != "./" || location[2] == '/' || location[2] == '\\' {
				t.Errorf("%s: to %q", target, location)
			}
			c.Get(to.RequestURI())
			if resp := c.Next("GET"); resp.StatusCode != 200 {
				t.Errorf("%s: %q leads to %s, which is %d", target, location, to.RequestURI(), resp.StatusCode)
			}
		}
	})
}

// A file is not a directory: RFC 3986 section 6.2.4.
func TestPathsOfFilesDoNotEndInASlash(t *testing.T) {
	root := plant(t, map[string]string{"file.txt": "text", "dir/index.html": "index", "dir/page": "page", "list/x": "x", "only": "only"})
	spa := &FS{Root: root, PathRewrite: func(*RequestCtx) []byte { return []byte("/file.txt") }}
	unnormal := func(h RequestHandler) RequestHandler {
		return func(ctx *RequestCtx) {
			ctx.URI().DisablePathNormalizing = true
			h(ctx)
		}
	}
	for name, c := range map[string]struct {
		h      RequestHandler
		target string
		status int
		body   string
	}{
		"slash":               {FSHandler(root, 0), "/file.txt/", 404, ""},
		"dot":                 {FSHandler(root, 0), "/file.txt/.", 404, ""},
		"dot, not normalised": {unnormal(FSHandler(root, 0)), "/file.txt/.", 404, ""},
		"slashes":             {FSHandler(root, 0), "/file.txt//", 404, ""},
		"escaped":             {FSHandler(root, 0), "/file.txt%2f", 404, ""},
		"and a name":          {FSHandler(root, 0), "/file.txt/x", 404, ""},
		"a name of the root":  {FSHandler(root, 0), "/dir/page/", 404, ""},
		"below a prefix":      {FSHandler(root, 1), "/static/file.txt/", 404, ""},
		"uncached":            {(&FS{Root: root, SkipCache: true}).NewRequestHandler(), "/file.txt/", 404, ""},
		"fs.FS":               {(&FS{FS: mapOf(root, "file.txt")}).NewRequestHandler(), "/file.txt/", 404, ""},
		"a file":              {FSHandler(root, 0), "/file.txt", 200, "text"},
		"a directory":         {FSHandler(root, 0), "/dir/", 200, "index"},
		"a directory's dot":   {FSHandler(root, 0), "/dir/.", 200, "index"},
		"rewritten":           {spa.NewRequestHandler(), "/any/path/", 200, "text"},
		"one file":            {(&FS{Root: root + "/only"}).NewRequestHandler(), "/", 200, "only"},
		"named":               {func(ctx *RequestCtx) { ServeFile(ctx, root+"/file.txt") }, "/any/path/", 200, "text"},
	} {
		for range 2 {
			askFor(t, c.h, "GET", c.target).check(t, name, c.status, c.body)
		}
		if c.status == 404 {
			askFor(t, c.h, "POST", c.target).check(t, name, 404, "")
			// a file cached by then is found
			if name == "slash" {
				askFor(t, c.h, "GET", "/file.txt").check(t, name, 200, "text")
				askFor(t, c.h, "GET", c.target).check(t, name, 404, "")
			}
		}
	}
}
