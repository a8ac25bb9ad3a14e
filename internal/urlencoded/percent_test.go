package urlencoded

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

func TestEveryByteIsKeptOrEscaped(t *testing.T) {
	for _, tc := range []struct {
		name   string
		encode func(dst, src []byte) []byte
		kept   string
		plus   string
	}{
		{"arg", AppendArg, unreserved, " "},
		{"path", AppendPath, unreserved + "/:@$&+,;=", ""},
	} {
		for i := range 256 {
			c := string([]byte{byte(i)})
			want := fmt.Sprintf("%%%02X", i)
			if strings.Contains(tc.kept, c) {
				want = c
			}
			if strings.Contains(tc.plus, c) {
				want = "+"
			}
			if got := string(tc.encode(nil, []byte(c))); got != want {
				t.Errorf("%s %q: %q, want %q", tc.name, c, got, want)
			}
		}
	}
}

func TestEncodingCopiesRunsBetweenEscapes(t *testing.T) {
	for _, tc := range []struct{ in, arg, path string }{
		{"", "", ""},
		{"plain", "plain", "plain"},
		{"a b", "a+b", "a%20b"},
		{"/a/b c/", "%2Fa%2Fb+c%2F", "/a/b%20c/"},
		{"\x00mid\xff", "%00mid%FF", "%00mid%FF"},
		{"100%", "100%25", "100%25"},
		{"ä", "%C3%A4", "%C3%A4"},
	} {
		if got := string(AppendArg([]byte("<"), []byte(tc.in))); got != "<"+tc.arg {
			t.Errorf("AppendArg(%q) = %q, want %q", tc.in, got, "<"+tc.arg)
		}
		if got := string(AppendPath([]byte("<"), []byte(tc.in))); got != "<"+tc.path {
			t.Errorf("AppendPath(%q) = %q, want %q", tc.in, got, "<"+tc.path)
		}
	}
}

func TestDecodingKeepsInvalidEscapes(t *testing.T) {
	for _, tc := range []struct{ in, arg, path string }{
		{"", "", ""},
		{"a+b", "a b", "a+b"},
		{"%41%4a%4A", "AJJ", "AJJ"},
		{"%", "%", "%"},
		{"%4", "%4", "%4"},
		{"%zz", "%zz", "%zz"},
		{"%4z", "%4z", "%4z"},
		{"%%41", "%A", "%A"},
		{"%4%41", "%4A", "%4A"},
		{"a%41%", "aA%", "aA%"},
		{"+%2b+", " + ", "+++"},
		{"%2541", "%41", "%41"},
		{"%u0041", "%u0041", "%u0041"},
		{"%00%ff", "\x00\xff", "\x00\xff"},
	} {
		if got := string(AppendDecodedArg([]byte("<"), []byte(tc.in))); got != "<"+tc.arg {
			t.Errorf("AppendDecodedArg(%q) = %q, want %q", tc.in, got, "<"+tc.arg)
		}
		if got := string(AppendDecodedPath([]byte("<"), []byte(tc.in))); got != "<"+tc.path {
			t.Errorf("AppendDecodedPath(%q) = %q, want %q", tc.in, got, "<"+tc.path)
		}
	}
}

// A plus sign after a percent sign at the end is neither part of an escape nor a
// space: as in v1.77.0, both bytes are kept.
func TestDecodingKeepsAPlusThatEndsBehindAPercentSign(t *testing.T) {
	for src, want := range map[string]string{"a%+": "a%+", "%+": "%+", "+%+": " %+", "%++": "%  ", "%+a": "% a", "+%": " %"} {
		if got := string(AppendDecodedArg(nil, []byte(src))); got != want {
			t.Errorf("%q decodes to %q, want %q", src, got, want)
		}
	}
}

func TestDecodingInPlace(t *testing.T) {
	b := []byte("a%20b+c%zz%4")
	if got := string(AppendDecodedArg(b[:0], b)); got != "a b c%zz%4" {
		t.Errorf("argument: %q", got)
	}
	b = []byte("/%41/+/%42%")
	if got := string(AppendDecodedPath(b[:0], b)); got != "/A/+/B%" {
		t.Errorf("path: %q", got)
	}
}

func TestBadEscapesAreFound(t *testing.T) {
	for in, want := range map[string]bool{
		"": false, "/a": false, "/%41": false, "/%41%42": false,
		"%": true, "%4": true, "%4g": true, "/%41/%": true, "%%41": true,
	} {
		if got := HasBadEscape([]byte(in)); got != want {
			t.Errorf("HasBadEscape(%q) = %v", in, got)
		}
	}
}

func TestRecodingPassesBadEscapesOn(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"/a b", "/a%20b"},
		{"/%61%20%2f", "/a%20/"},
		{"/%zz", "/%zz"},
		{"/%", "/%"},
		{"/%25", "/%25"},
		{"/%%41", "/%%41"},
		{"/%4%41", "/%4%41"},
		{"/%xy%41", "/%xyA"},
		{"/a%%2f%2e.", "/a%/.."},
		{"/%\xff%41", "/%%FFA"},
		{"%e4%E4", "%E4%E4"},
	} {
		if got := string(AppendRecodedPath([]byte("<"), []byte(tc.in))); got != "<"+tc.want {
			t.Errorf("AppendRecodedPath(%q) = %q, want %q", tc.in, got, "<"+tc.want)
		}
	}
}

func TestVisibleTextIsKept(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a/b?c#d%zz\"<>ä": "a/b?c#d%zz\"<>ä", "a b\r\nc\x00\x7f": "a%20b%0D%0Ac%00%7F", "a long text, with blanks": "a%20long%20text,%20with%20blanks",
	} {
		if got := string(AppendVisible([]byte("<"), []byte(in))); got != "<"+want {
			t.Errorf("AppendVisible(%q) = %q, want %q", in, got, "<"+want)
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	src := []byte("/a%20path+with%zz/some escapes/and-a-long-run-of-text-that-needs-none")
	dst := make([]byte, 0, 4*len(src))
	for name, f := range map[string]func(dst, src []byte) []byte{
		"AppendArg": AppendArg, "AppendPath": AppendPath,
		"AppendDecodedArg": AppendDecodedArg, "AppendDecodedPath": AppendDecodedPath,
		"AppendRecodedPath": AppendRecodedPath, "AppendVisible": AppendVisible,
	} {
		if n := testing.AllocsPerRun(100, func() { f(dst, src) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func FuzzEncodedTextDecodesToItself(f *testing.F) {
	for _, s := range []string{"", "a b", "%zz", "\x00\xff", "a+b%20c", "/x/?#"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		arg := AppendArg(nil, text)
		if got := AppendDecodedArg(nil, arg); !bytes.Equal(got, text) {
			t.Errorf("argument %q: %q, back %q", text, arg, got)
		}
		if got, err := url.QueryUnescape(string(arg)); err != nil || got != string(text) {
			t.Errorf("argument %q: net/url reads %q as %q, %v", text, arg, got, err)
		}
		path := AppendPath(nil, text)
		if got := AppendDecodedPath(nil, path); !bytes.Equal(got, text) {
			t.Errorf("path %q: %q, back %q", text, path, got)
		}
	})
}

func FuzzDecodeAnyText(f *testing.F) {
	for _, s := range []string{"", "%", "%4", "%4%41", "%%41", "+%2b", "%2541%", "%zz%41"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		arg, path := AppendDecodedArg(nil, src), AppendDecodedPath(nil, src)
		in := bytes.Clone(src)
		if got := AppendDecodedArg(in[:0], in); !bytes.Equal(got, arg) {
			t.Errorf("argument in place: %q, else %q", got, arg)
		}
		in = bytes.Clone(src)
		if got := AppendDecodedPath(in[:0], in); !bytes.Equal(got, path) {
			t.Errorf("path in place: %q, else %q", got, path)
		}
		if want, err := url.PathUnescape(string(src)); (err != nil) != HasBadEscape(src) || err == nil && want != string(path) {
			t.Errorf("path %q: %q, net/url %q, %v", src, path, want, err)
		}
		recoded := AppendRecodedPath(nil, src)
		if got := AppendDecodedPath(nil, recoded); !bytes.Equal(got, path) {
			t.Errorf("%q recoded is %q, which reads %q, want %q", src, recoded, got, path)
		}
		if HasBadEscape(recoded) != HasBadEscape(src) {
			t.Errorf("%q recoded is %q", src, recoded)
		}
		if again := AppendRecodedPath(nil, recoded); !bytes.Equal(again, recoded) {
			t.Errorf("%q recoded is %q, once more %q", src, recoded, again)
		}
	})
}

func BenchmarkDecodePathWithoutEscapes(b *testing.B) {
	src := []byte("/static/images/2024/holiday/beach-at-dawn.jpeg")
	dst := make([]byte, 0, 64)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendDecodedPath(dst[:0], src)
	}
}

func BenchmarkEncodeArg(b *testing.B) {
	src := []byte("a search for something, with 3 spaces")
	dst := make([]byte, 0, 128)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendArg(dst[:0], src)
	}
}

func TestAppendASCIIEscapesAllThatIsNotVisible(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a=b&c": "a=b&c", "long enough for a word": "long%20enough%20for%20a%20word", "\u00e4?%zz+#": "%C3%A4?%zz+#",
		"\x00\x1f\x7f\xff~!": "%00%1F%7F%FF~!",
	} {
		if got := string(AppendASCII([]byte("<"), []byte(in))); got != "<"+want {
			t.Errorf("%q became %q, want %q", in, got, "<"+want)
		}
	}
}
