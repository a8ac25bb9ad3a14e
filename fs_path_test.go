package fasthttp

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

func rewritten(f PathRewriteFunc, host, target string) string {
	var ctx RequestCtx
	ctx.Request.SetRequestURI(target)
	ctx.Request.Header.SetHost(host)
	return string(f(&ctx))
}

func TestPathRewritersStripAndPrefix(t *testing.T) {
	for _, c := range []struct {
		f                  PathRewriteFunc
		host, target, want string
	}{
		{NewPathSlashesStripper(0), "", "/foo/bar", "/foo/bar"},
		{NewPathSlashesStripper(1), "", "/foo/bar", "/bar"},
		{NewPathSlashesStripper(2), "", "/foo/bar", ""},
		{NewPathSlashesStripper(9), "", "/foo/bar", ""},
		{NewPathSlashesStripper(-1), "", "/foo/bar", "/foo/bar"},
		{NewPathSlashesStripper(1), "", "/foo/", "/"},
		{NewPathPrefixStripper(0), "", "/foo/bar", "/foo/bar"},
		{NewPathPrefixStripper(3), "", "/foo/bar", "o/bar"},
		{NewPathPrefixStripper(7), "", "/foo/bar", "r"},
		{NewPathPrefixStripper(8), "", "/foo/bar", ""},
		{NewPathPrefixStripper(9), "", "/foo/bar", "/foo/bar"},
		{NewPathPrefixStripper(-1), "", "/foo/bar", "/foo/bar"},
		{NewVHostPathRewriter(0), "foobar.com", "/foo/bar", "/foobar.com/foo/bar"},
		{NewVHostPathRewriter(1), "img.aaa.com", "/images/123/456.jpg", "/img.aaa.com/123/456.jpg"},
		{NewVHostPathRewriter(9), "a", "/foo/bar", "/a"},
		{NewVHostPathRewriter(0), "", "/foo", "/invalid-host/foo"},
		{NewVHostPathRewriter(0), "..", "/foo", "/invalid-host/foo"},
		{NewVHostPathRewriter(0), ".", "/foo", "/invalid-host/foo"},
	} {
		if got := rewritten(c.f, c.host, c.target); got != c.want {
			t.Errorf("%s %s became %q, want %q", c.host, c.target, got, c.want)
		}
	}
}

// The paths are what was decoded once: a percent sign in them is no escape
// (known failure 49), and no ".." may be left (50).
func TestFileNameStaysInTheTree(t *testing.T) {
	for _, c := range []struct {
		path, want string
		err        error
	}{
		{"", ".", nil},
		{"/", ".", nil},
		{"/a.txt", "a.txt", nil},
		{"a.txt", "a.txt", nil},
		{"/a/b", "a/b", nil},
		{"//a///b/", "a/b", nil},
		{"/a/./b/.", "a/b", nil},
		{"/a%2fb", "a%2fb", nil},
		{"/%2e%2e/b", "%2e%2e/b", nil},
		{"/..a", "..a", nil},
		{"/a..", "a..", nil},
		{"/...", "...", nil},
		{"/a...b", "a...b", nil},
		{`/a\b`, `a\b`, nil},
		{"/..", "", errHostileName},
		{"..", "", errHostileName},
		{"/../a", "", errHostileName},
		{"/a/..", "", errHostileName},
		{"/a/../b", "", errHostileName},
		{"/.../../b", "", errHostileName},
		// a backslash is a letter where the rules of Windows do not apply
		{`/..\a`, `..\a`, nil},
		{"/a\x00b", "", errHostileName},
	} {
		if got, err := fileName(c.path, false); got != c.want || err != c.err {
			t.Errorf("%q: %q, %v, want %q, %v", c.path, got, err, c.want, c.err)
		}
	}
}

// Known failure 46.
func TestWindowsNamesThatAreNoFilesAreNotFound(t *testing.T) {
	for _, p := range []string{
		"/c:/windows", "/a.txt::$DATA", "/a.txt:stream", `/a\b`, `\\server\share\a`, "/con", "/CON", "/aux.txt", "/Nul", "/prn.tar.gz",
		"/com1", "/LPT9.txt", "/com¹", "/com0", "/conin$", "/CONOUT$", "/nul .txt", "/a.", "/a ", "/dir./b", "/dir /b", "/a?b", "/a*", "/a<b",
		"/a>b", "/a|b", `/a"b`, "/a\x01", "/d/com2/x",
	} {
		if name, err := fileName(p, true); err == nil {
			t.Errorf("%q became %q", p, name)
		}
	}
	for _, p := range []string{"/", "/a.txt", "/.hidden", "/..dots", "/console", "/com", "/com10", "/comic.txt", "/a b.txt", "/null", "/ümlaut", "/d/./e"} {
		if _, err := fileName(p, true); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func FuzzFileName(f *testing.F) {
	for _, seed := range []string{"/", "/a/b", "/../a", `/a\..\b`, "/a\x00", "/%2e%2e/", "//a", "/con.txt", "C:\\x", "/..", "a/.../b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		for _, windows := range []bool{false, true} {
			name, err := fileName(p, windows)
			if err != nil {
				if e := nameError(0); !errors.As(err, &e) || e != 400 && e != 404 {
					t.Fatalf("%q: unexpected error %v", p, err)
				}
				continue
			}
			if !filepath.IsLocal(name) {
				t.Fatalf("%q became %q, which is not local", p, name)
			}
			// what fs calls valid is the same, but for the encoding
			if !fs.ValidPath(strings.ToValidUTF8(name, "x")) {
				t.Fatalf("%q became %q, which is no valid path", p, name)
			}
			if again, err := fileName(name, windows); again != name || err != nil {
				t.Fatalf("%q became %q, and that %q, %v", p, name, again, err)
			}
		}
	})
}
