package files

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// The paths were decoded once: a percent sign in them is not an escape (known
// failure 49), and no ".." may be left (50).
func TestNamesStayInTheTree(t *testing.T) {
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
		{"/..", "", ErrHostileName},
		{"..", "", ErrHostileName},
		{"/../a", "", ErrHostileName},
		{"/a/..", "", ErrHostileName},
		{"/a/../b", "", ErrHostileName},
		{"/.../../b", "", ErrHostileName},
		// a backslash is a letter if the rules of Windows do not apply
		{`/..\a`, `..\a`, nil},
		{"/a\x00b", "", ErrHostileName},
	} {
		if got, err := Name(c.path, false); got != c.want || err != c.err {
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
		// short names of other files, such as .git
		"/GIT~1/config", "/d/env~1", "/SECRET~2.TXT", "/WEB-CO~1.CON", "/TE021F~1.htm", "/ABC~123.A", "/a~9",
	} {
		if name, err := Name(p, true); err == nil {
			t.Errorf("%q became %q", p, name)
		}
	}
	for _, p := range []string{"/", "/a.txt", "/.hidden", "/..dots", "/console", "/com", "/com10", "/comic.txt", "/a b.txt", "/null", "/ümlaut", "/d/./e", "/~1", "/a~", "/a~0", "/a~b", "/a~1b", "/longname~1", "/a~1.html", "/a~1.b.c", "/a.b~1", "/~user"} {
		if _, err := Name(p, true); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
}

// Without a root, paths are absolute, and the application has chosen at least their beginning.
func TestPathsWithoutARootBeginWithADriveOnWindows(t *testing.T) {
	whole, rooted := New(&Settings{AllowEmptyRoot: true}), New(&Settings{Root: t.TempDir(), AllowEmptyRoot: true})
	for p, want := range map[string]string{
		"/C:/a.txt": "C:/a.txt", "D:/a/b/": "D:/a/b", "//c:/./a//b": "c:/a/b", "C:/": "C:", "/C:": "C:", "/C:/Users/RUNNER~1/Temp/a": "C:/Users/RUNNER~1/Temp/a",
	} {
		if got, err := whole.nameOf(p, true); got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", p, got, err, want)
		}
		if name, err := rooted.nameOf(p, true); err == nil {
			t.Errorf("below a root %q became %q", p, name)
		}
	}
	for _, p := range []string{
		"", "/", "a.txt", "/a/C:/b", "//server/share/a", "/C:a.txt", "/CC:/a", "/1:/a", "/C:/a:b", "/C:/a.txt::$DATA", `/C:/a\b`, `/C:\a`, "/C:/con", "/C:/a./b",
		"/C:/D:/a", "/C:/../a", "/C:/a\x00", "/?:/a",
	} {
		if name, err := whole.nameOf(p, true); err == nil {
			t.Errorf("%q became %q", p, name)
		}
	}
	if name, err := whole.nameOf("/C:/a", false); name != "C:/a" || err != nil {
		t.Errorf("elsewhere it is %q, %v", name, err)
	}
}

func FuzzName(f *testing.F) {
	for _, seed := range []string{"/", "/a/b", "/../a", `/a\..\b`, "/a\x00", "/%2e%2e/", "//a", "/con.txt", "C:\\x", "/..", "a/.../b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		for _, windows := range []bool{false, true} {
			name, err := Name(p, windows)
			if err != nil {
				if err != ErrHostileName && err != errNoSuchName {
					t.Fatalf("%q: unexpected error %v", p, err)
				}
				continue
			}
			if !filepath.IsLocal(name) {
				t.Fatalf("%q became %q, which is not local", p, name)
			}
			// the name is valid for package fs, except for its encoding
			if !fs.ValidPath(strings.ToValidUTF8(name, "x")) {
				t.Fatalf("%q became %q, which is no valid path", p, name)
			}
			if again, err := Name(name, windows); again != name || err != nil {
				t.Fatalf("%q became %q, and that %q, %v", p, name, again, err)
			}
		}
	})
}

func TestHiddenPaths(t *testing.T) {
	for name, want := range map[string]bool{
		".": false, "a": false, "a.b": false, "a/b.c": false, ".a": true, "a/.b": true, "a/.b/c": true, "..a": true, ".well-known": false,
		".well-known/a": false, "a/.well-known/b": false, ".well-known/.a": true, ".well-known.": true, "a./b": false, "...": true,
	} {
		if got := isHiddenPath(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
