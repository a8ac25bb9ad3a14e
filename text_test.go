package fasthttp

import (
	"bytes"
	"html"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/ascii"
)

func TestHTMLIsEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain": "plain", `<a href="'&'">ä</a>`: "&lt;a href=&#34;&#39;&amp;&#39;&#34;&gt;ä&lt;/a&gt;", "&amp;": "&amp;amp;", "\x00\xff": "\x00\xff",
	} {
		if got := string(AppendHTMLEscape([]byte("<"), in)); got != "<"+want {
			t.Errorf("%q: %q, want %q", in, got, "<"+want)
		}
		if got := string(AppendHTMLEscapeBytes(nil, []byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestArgsAreQuoted(t *testing.T) {
	for plain, quoted := range map[string]string{"": "", "a b": "a+b", "a/b?ä": "a%2Fb%3F%C3%A4", "-._~": "-._~", "100%": "100%25"} {
		if got := string(AppendQuotedArg([]byte("<"), []byte(plain))); got != "<"+quoted {
			t.Errorf("%q: %q, want %q", plain, got, "<"+quoted)
		}
		if got := string(AppendUnquotedArg([]byte("<"), []byte(quoted))); got != "<"+plain {
			t.Errorf("%q: %q, want %q", quoted, got, "<"+plain)
		}
	}
	b := []byte("a%20b+c%zz%4")
	if got := string(AppendUnquotedArg(b[:0], b)); got != "a b c%zz%4" {
		t.Errorf("in place: %q", got)
	}
}

func TestHeaderKeysAreNormalized(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "coNTENT-TYPe": "Content-Type", "HOST": "Host", "foo-bar-baz": "Foo-Bar-Baz", "-a": "-A", "a--b": "A--B", "x_y-z": "X_y-Z", "ETag": "Etag",
		"a b-c": "a b-c", "foo:bar-x": "foo:bar-x", "ä-ö": "ä-ö", "foo\r\n-bar": "foo  -bar", "a\x00-b": "a -b",
	} {
		if got := string(AppendNormalizedHeaderKey([]byte("x"), in)); got != "x"+want {
			t.Errorf("%q: %q, want %q", in, got, "x"+want)
		}
		if got := string(AppendNormalizedHeaderKeyBytes(nil, []byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTextHelpersDoNotAllocate(t *testing.T) {
	dst := make([]byte, 0, 256)
	n := testing.AllocsPerRun(100, func() {
		dst = AppendHTMLEscape(dst[:0], `<a href="x">&</a>`)
		dst = AppendQuotedArg(dst[:0], []byte("a b/c"))
		dst = AppendUnquotedArg(dst[:0], []byte("a+b%20c"))
		dst = AppendNormalizedHeaderKey(dst[:0], "x-request-id")
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzAppendHTMLEscape(f *testing.F) {
	f.Add(`<a href="'&'">`)
	f.Fuzz(func(t *testing.T, s string) {
		got := string(AppendHTMLEscape(nil, s))
		if want := html.EscapeString(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	})
}

func FuzzAppendNormalizedHeaderKey(f *testing.F) {
	f.Add("content-type")
	f.Add("a\r\nb: c")
	f.Fuzz(func(t *testing.T, s string) {
		got := string(AppendNormalizedHeaderKey(nil, s))
		if len(got) != len(s) || strings.ContainsAny(got, "\r\n\x00") || ascii.IsToken([]byte(s)) && !strings.EqualFold(got, s) {
			t.Errorf("%q: %q", s, got)
		}
		if again := AppendNormalizedHeaderKey(nil, got); !bytes.Equal(again, []byte(got)) {
			t.Errorf("%q: %q, then %q", s, got, again)
		}
	})
}
