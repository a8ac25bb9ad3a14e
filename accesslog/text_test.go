package accesslog

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
)

func TestSecretsAreReplaced(t *testing.T) {
	s := newSecrets([]string{"My-Own", strings.Repeat("long", 40)})
	for _, tc := range []struct{ url, want string }{
		{"", ""},
		{"/", "/"},
		{"*", "*"},
		{"/a?b=c", "/a?b=c"},
		{"/a?", "/a?"},
		{"/a?token", "/a?token"},
		{"/a?token=", "/a?token=***"},
		{"/a?token=x", "/a?token=***"},
		{"/a?b=c&token=x&d=e", "/a?b=c&token=***&d=e"},
		{"/a?token=x;b=c", "/a?token=***;b=c"},
		{"/a?token=x=y", "/a?token=***"},
		{"/a?=x", "/a?=x"},
		{"/a?ToKeN=x", "/a?ToKeN=***"},
		{"/a?%74oken=x", "/a?%74oken=***"},
		{"/a?t%6Fk%6fn=x", "/a?t%6Fk%6fn=x"},
		{"/a?t%6Fk%65n=x", "/a?t%6Fk%65n=***"},
		{"/a?access-token=x&client_secret=y&X-Amz-Signature=z", "/a?access-token=***&client_secret=***&X-Amz-Signature=***"},
		{"/a?user[password]=x&api.key=y&api_key=z", "/a?user[password]=***&api.key=***&api_key=***"},
		{"/a?key=x&code=y&sig=z&keyword=a&postcode=b&design=c", "/a?key=***&code=***&sig=***&keyword=a&postcode=b&design=c"},
		{"/a?myown=x&MY_OWN=y", "/a?myown=***&MY_OWN=***"},
		{"/a?" + strings.Repeat("long", 40) + "=x", "/a?" + strings.Repeat("long", 40) + "=***"},
		{"/a?next=/b?token=x", "/a?next=/b?token=***"},
		{"/a?next=%2Fb%3Ftoken%3Dx&c=d", "/a?next=***&c=d"},
		{"/a?next=%2Fb%3Fpage%3D1", "/a?next=%2Fb%3Fpage%3D1"},
		{"/a?next=%2Fb%3Fnext%3D%252Fc%253Ftoken%253Dx", "/a?next=***"},
		{"/a?next=%2Fb%3Ftoken=x&c=d", "/a?next=***&c=d"},
		{"/a?next=%2Fb%3Fpage=1%26token=x", "/a?next=***"},
		{"/a?next=%2Fb%3Fpage=1%26size=2", "/a?next=%2Fb%3Fpage=1%26size=2"},
		{"/a?next=%2Fb%3Btoken=x/c", "/a?next=***"},
		{"/a?next=https:%2F%2Fuser:secret@b", "/a?next=***"},
		{"/a%3Ftoken=x/b?c=d", "/***/b?c=d"},
		{"/a?b=%", "/a?b=%"},
		{"/a?b=%3", "/a?b=%3"},
		{"/a?%zz=b", "/a?%zz=b"},
		{"https://a/b?sid=x#token=y", "https://a/b?sid=***#token=***"},
		{"https://user:secret@a:80/b@c", "https://***@a:80/b@c"},
		{"https://user:secret@a?b", "https://***@a?b"},
		{"//user:secret@a", "//***@a"},
		{"https://u@s@a/", "https://***@a/"},
		{"user@a:80", "***@a:80"},
		{"user:secret@a:80", "***@a:80"},
		{"/fetch/https://user:secret@a/b", "/fetch/https://***@a/b"},
		{"https://a/fetch/https://token@b/c", "https://a/fetch/https://***@b/c"},
		{"http:/user:secret@a", "http:/***@a"},
		{"http:user:secret@a", "***@a"},
		{`http:\\user:secret@a`, `http:\\\\***@a`},
		{"/@scope/name@1.0", "/@scope/name@1.0"},
		{"/users/a@b.example", "/users/a@b.example"},
		{"/fetch/https%3A%2F%2Fuser%3Asecret%40a/b", "/fetch/***/b"},
		{"/a;jsessionid=x/b?c=d", "/a;jsessionid=***?c=d"},
		{"/a;v=1/b?c=d", "/a;v=1/b?c=d"},
		{"/a?https://user:secret@b", "/a?***"},
		{"/a?b=https://user:secret@c&d=e", "/a?b=***&d=e"},
		{"/a?b=https%3A%2F%2Fuser%3Asecret%40c&d=e", "/a?b=***&d=e"},
		{"/a?%2Fb%3Ftoken%3Dx", "/a?***"},
		{"/a?email=b%40c.example&d=50%25&e=f@g", "/a?email=b%40c.example&d=50%25&e=f@g"},
		{"/a\"b\\c\n\x7f\xc3\xa4?d=\x1b", `/a\"b\\c\x0a\x7f\xc3\xa4?d=\x1b`},
	} {
		if got := string(s.appendURL(nil, []byte(tc.url))); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.url, got, tc.want)
		}
	}
}

func TestTextIsEscaped(t *testing.T) {
	for c := range 256 {
		for size := range 26 {
			for at := range size {
				text := []byte(strings.Repeat("~ ", size))[:size]
				text[at] = byte(c)
				got := string(appendEscaped(nil, text))
				if back, err := strconv.Unquote(`"` + got + `"`); err != nil || back != string(text) {
					t.Errorf("%q became %q, which is %q, %v", text, got, back, err)
				}
				if printable := ' ' <= c && c <= '~'; printable && c != '"' && c != '\\' != (got == string(text)) || strings.IndexFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
					t.Errorf("%q became %q", text, got)
				}
				if plain := isPlain(text); size >= 8 && plain != (got == string(text)) {
					t.Errorf("isPlain(%q) is %v", text, plain)
				}
			}
		}
	}
}

// FuzzURL checks that a URL cannot forge a part of a line, and that the argument or the user at its
// end is masked.
func FuzzURL(f *testing.F) {
	for _, url := range []string{"", "/a?b=c&token=d", "https://a:b@c/?d=%2F%3Fe%3Df", "\"\\\n?\"", "/a?next=%2Fb%3Fnext%3D%252Fc%253Ftoken%253Dx"} {
		f.Add([]byte(url))
	}
	s := newSecrets(nil)
	f.Fuzz(func(t *testing.T, url []byte) {
		const secret = "H1dd3n"
		if bytes.Contains(url, []byte(secret)) || len(url) > MaxValue {
			return
		}
		for begin, end := range map[string]string{"?password=": "", "&password=": "", ";password=": "", "#password=": "", "%3Fpassword%3D": "", "%3Fpassword=": "", "//user:": "@a/", "https%3a%2f%2fuser:": "%40a"} {
			if begin[0] == '&' && !bytes.ContainsAny(url, ";?#") || begin[0] == '%' && !bytes.HasSuffix(url, []byte("?next=")) {
				continue
			}
			got := s.appendURL(nil, append(append(append(bytes.Clone(url), begin...), secret...), end...))
			if bytes.Contains(got, []byte(secret)) {
				t.Errorf("%q is logged as %q", url, got)
			}
			if text, err := strconv.Unquote(`"` + string(got) + `"`); err != nil || strings.IndexFunc(string(got), func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
				t.Errorf("%q is logged as %q, which is %q, %v", url, got, text, err)
			}
		}
	})
}

// BenchmarkLongURL measures URLs of which as many parts as possible may have a secret in them.
func BenchmarkLongURL(b *testing.B) {
	s := newSecrets(nil)
	for name, part := range map[string]string{"plain": "/a", "equals sign": "%3d/", "encoded three times": "%25253d/", "argument": "&%3d", "user": "a@%40/"} {
		b.Run(name, func(b *testing.B) {
			url := []byte(strings.Repeat(part, MaxValue/len(part)))
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = s.appendURL(dst[:0], url)
			}
		})
	}
}
