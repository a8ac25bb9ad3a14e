package uri

import (
	"bytes"
	"path"
	"strings"
	"testing"
)

func TestPathsAreNormalized(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", "/"}, {"/", "/"}, {"x", "/x"}, {"//", "/"}, {"///a", "/a"}, {"/a//b", "/a/b"}, {"/a/", "/a/"}, {"/a//", "/a/"},
		{"/.", "/"}, {"/./", "/"}, {"/a/.", "/a/"}, {"/a/./", "/a/"}, {"/a/./b", "/a/b"}, {"/a/.//", "/a/"},
		{"/..", "/"}, {"/../", "/"}, {"/../../..", "/"}, {"/a/..", "/"}, {"/a/../", "/"}, {"/a/../..", "/"},
		{"/a/b/..", "/a/"}, {"/a/b/../", "/a/"}, {"/a/b/../c", "/a/c"}, {"/a/b/../../../c", "/c"}, {"/a/./../b", "/b"},
		{"/a//../b", "/b"}, {"/a/b//../c", "/a/c"}, {"/..//a", "/a"}, {"/a/..//../b/", "/b/"},
		{"/...", "/..."}, {"/a/.../b", "/a/.../b"}, {"/.a", "/.a"}, {"/..a", "/..a"}, {"/a..", "/a.."}, {"/a.", "/a."},
		{"./a", "/a"}, {"../a", "/a"}, {"a/../b", "/b"}, {".", "/"}, {"..", "/"},
		{"/a%2fb", "/a/b"}, {"/a%2Fb%2F..", "/a/"}, {"/%2e%2e/a", "/a"}, {"/%2E/a", "/a"}, {"/a/%2e%2e", "/"}, {"%2fa", "/a"},
		{"/a b", "/a b"}, {"/a%20b", "/a b"}, {"/a%252fb", "/a%2fb"}, {"/a+b", "/a+b"}, {"/%zz%", "/%zz%"}, {"/%00", "/\x00"},
		{`/a\..\b`, `/a\..\b`}, {"/a;p=1/b", "/a;p=1/b"}, {"*", "/*"},
	} {
		if got := string(AppendNormalPath([]byte("<"), []byte(tc.in))); got != "<"+tc.want {
			t.Errorf("%q: %q, want %q", tc.in, got, "<"+tc.want)
		}
		// in the memory of the text itself
		in := []byte(tc.in)
		if got := string(AppendNormalPath(in[:0], in)); got != tc.want {
			t.Errorf("%q: %q in place, want %q", tc.in, got, tc.want)
		}
		if isNormalPath([]byte(tc.in)) && tc.in != tc.want {
			t.Errorf("%q is said to be normal", tc.in)
		}
	}
	for _, s := range []string{"/", "/a", "/a/b.c/", "/a..b/c"} {
		if !isNormalPath([]byte(s)) {
			t.Errorf("%q is reported as not normal", s)
		}
	}
}

// At every position in a path of any length: deviations from normal form are found, and
// nothing else is.
func TestPathsAreExaminedToTheirEnds(t *testing.T) {
	for size := 2; size < 40; size++ {
		plain := []byte("/" + strings.Repeat("a", size-1))
		if !isNormalPath(plain) {
			t.Errorf("%q is reported as not normal", plain)
		}
		for _, tc := range []struct {
			text   string
			normal bool
		}{
			{"%", false}, {"//", false}, {"/.", false}, {"/..", false},
			{"/", true}, {".", true}, {"..", true}, {"./a", true}, {"/-", true}, {"/b/", true}, {"$", true}, {"&.", true}, {"\xaf", true}, {"\xaf.", true}, {"/\xae", true},
		} {
			for at := 2; at+len(tc.text) <= size; at++ {
				src := bytes.Clone(plain)
				copy(src[at:], tc.text)
				if isNormalPath(src) != tc.normal {
					t.Errorf("%q: %t", src, !tc.normal)
				}
			}
		}
	}
}

func FuzzNormalPath(f *testing.F) {
	for _, s := range []string{"", "/", "/a/../b", "a//./..", "/%2e%2e/%2f%", "/../..a/", "/catalogue/boots/", "/catalogue/boots./.", "/catalogue//.boots%", "/a./-$/%%//../..//"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		got := AppendNormalPath(nil, src)
		if isNormalPath(src) && !bytes.Equal(got, src) {
			t.Fatalf("%q is said to be normal and becomes %q", src, got)
		}
		again := bytes.Clone(got)
		if again = again[:NormalizePath(again)]; !bytes.Equal(again, got) {
			t.Fatalf("%q: %q, then %q", src, got, again)
		}
		decoded := AppendNormalPathReference(string(src))
		if string(got) != decoded {
			t.Fatalf("%q: %q, want %q", src, got, decoded)
		}
	})
}

// AppendNormalPathReference computes the normal form with the standard library.
func AppendNormalPathReference(src string) string {
	var b []byte
	for i := 0; i < len(src); i++ {
		if src[i] == '%' && i+2 < len(src) && strings.Contains(hexDigits, src[i+1:i+2]) && strings.Contains(hexDigits, src[i+2:i+3]) {
			b = append(b, byte(strings.Index(hexDigits, src[i+1:i+2])%16<<4|strings.Index(hexDigits, src[i+2:i+3])%16))
			i += 2
			continue
		}
		b = append(b, src[i])
	}
	text := "/" + string(b)
	clean := path.Clean(text)
	if clean != "/" && (strings.HasSuffix(text, "/") || strings.HasSuffix(text, "/.") || strings.HasSuffix(text, "/..")) {
		clean += "/"
	}
	return clean
}

// a digit's value is its position modulo 16
const hexDigits = "0123456789abcdef" + "0123456789ABCDEF"

func BenchmarkIsNormalPath(b *testing.B) {
	src := []byte("/static/images/2024/holiday/beach-at-dawn.jpeg")
	b.ReportAllocs()
	for b.Loop() {
		isNormalPath(src)
	}
}
