package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/uri"
)

func TestURIUpdate(t *testing.T) {
	const base = "https://u:p@h:1/a/b/c?q=1#f"
	for _, tc := range []struct{ base, ref, want string }{
		{base, "", "https://h:1/a/b/c?q=1#f"},
		{base, "http://x/y?z#w", "http://x/y?z#w"},
		{base, "HTTP://X", "http://x/"},
		{base, "a://b?c", "a://b/?c"},
		{base, "://x/y", "https://x/y"},
		{base, "//x/y", "https://x/y"},
		{base, "//X?q", "https://x/?q"},
		{base, "//", "https:///"},
		{base, "///y", "https:///y"},
		{base, "/", "https://h:1/"},
		{base, "/y", "https://h:1/y"},
		{base, "/y?z#w", "https://h:1/y?z#w"},
		{base, "/../y/./z//", "https://h:1/y/z/"},
		{base, "/y?a://b", "https://h:1/y?a://b"},
		{base, "y", "https://h:1/a/b/y"},
		{base, "y/", "https://h:1/a/b/y/"},
		{base, "./y", "https://h:1/a/b/y"},
		{base, "../y", "https://h:1/a/y"},
		{base, "../../../y", "https://h:1/y"},
		{base, ".", "https://h:1/a/b/"},
		{base, "..", "https://h:1/a/"},
		{base, "y?z#w", "https://h:1/a/b/y?z#w"},
		{base, "y#a/../b?c", "https://h:1/a/b/y#a/../b?c"},
		{base, "y?a/../b", "https://h:1/a/b/y?a/../b"},
		{base, "y?a://b", "https://h:1/a/b/y?a://b"},
		{base, "y?", "https://h:1/a/b/y"},
		{base, ";x", "https://h:1/a/b/;x"},
		{base, "g;x=1/../y", "https://h:1/a/b/y"},
		{base, "%2e%2e/y", "https://h:1/a/y"},
		{base, "y z", "https://h:1/a/b/y%20z"},
		{base, "y%20z%zz", "https://h:1/a/b/y%20z%25zz"},
		{base, "mailto:a@b", "https://h:1/a/b/mailto:a@b"},
		{base, "?z", "https://h:1/a/b/c?z"},
		{base, "?z#w", "https://h:1/a/b/c?z#w"},
		{base, "?", "https://h:1/a/b/c"},
		{base, "?a=b/c#d", "https://h:1/a/b/c?a=b/c#d"},
		{base, "#w", "https://h:1/a/b/c?q=1#w"},
		{base, "#a?b/../c", "https://h:1/a/b/c?q=1#a?b/../c"},
		{base, "#", "https://h:1/a/b/c?q=1"},
		{"http://h", "y", "http://h/y"},
		{"http://h", "../y", "http://h/y"},
		{"http://h", "?z", "http://h/?z"},
		{"http://h?q", "#z", "http://h/?q#z"},
		{"http://h/a%2fb/c", "y", "http://h/a/b/y"},
		{"http://h/d%20e/f;x?q", "y", "http://h/d%20e/y"},
		{"http://h/%zz/f", "y%", "http://h/%25zz/y%25"},
		{"http://h/a/b/..", "y", "http://h/a/y"},
	} {
		u := mustParseURI(t, tc.base)
		u.Update(tc.ref)
		if got := u.String(); got != tc.want {
			t.Errorf("%q + %q: %q, want %q", tc.base, tc.ref, got, tc.want)
		}
		again := u.String()
		if err := u.Parse(nil, []byte(again)); err != nil || u.String() != again {
			t.Errorf("%q + %q: %q is parsed as %q, %v", tc.base, tc.ref, again, u.String(), err)
		}
	}
}

func TestURIUpdateKeepsTheUserWithTheHost(t *testing.T) {
	for ref, want := range map[string]string{
		"/y": "u:p", "y": "u:p", "?y": "u:p", "#y": "u:p", "": "u:p", "//h/y": ":", "//v@h/y": "v:", "http://h:1/": ":", "://w:x@h": "w:x",
	} {
		u := mustParseURI(t, "https://u:p@h:1/a")
		u.Update(ref)
		if got := string(u.Username()) + ":" + string(u.Password()); got != want {
			t.Errorf("%q: %q, want %q", ref, got, want)
		}
	}
}

func TestURIUpdateByWhatIsNoURILeadsNowhere(t *testing.T) {
	for ref, c := range map[string]struct {
		want string
		err  error // the error of a client that sends a request there
	}{
		"//x:99999/":        {"https://x:99999/", uri.ErrPort},
		"//x:y/p?q#f":       {"https://x:y/p?q#f", uri.ErrPort},
		"http://[::1/":      {"http://[::1/", uri.ErrAddress},
		"//a b/":            {"https://a%20b/", InvalidHostError(" ")},
		"ftp://u@a%41/p?q#": {"ftp://a%41/p?q", EscapeError("%41")},
		"/a\r\nb":           {"http:///", errNoHost},
		"x\x00":             {"http:///", errNoHost},
		"http://a\\@b/":     {"http:///", errNoHost},
	} {
		u := mustParseURI(t, "https://u:p@h:1/a%zz/b?q=1#f")
		u.QueryArgs().Set("r", "2")
		if err := u.UpdateBytesErr([]byte(ref)); err == nil {
			t.Errorf("%q is taken", ref)
		}
		if got := u.String(); got != c.want {
			t.Errorf("%q leads to %q, want %q", ref, got, c.want)
		}
		req := requestTo(t, MethodGet, "http://h/")
		req.URI().Update(ref)
		client := &Client{Dial: func(addr string) (net.Conn, error) {
			t.Errorf("%q: %q is dialed", ref, addr)
			return nil, errNoConn
		}}
		switch err := client.Do(req, nil); {
		case strings.HasPrefix(ref, "ftp:"):
		case err != c.err:
			t.Errorf("%q: the error of a client is %v, want %v", ref, err, c.err)
		}
		if err := req.Write(bufio.NewWriter(io.Discard)); err != c.err {
			t.Errorf("%q: the error of Write is %v, want %v", ref, err, c.err)
		}
		u.Update("http://i/j")
		if got := u.String(); got != "http://i/j" || u.invalid() != nil {
			t.Errorf("%q: then another leads to %q, %v", ref, got, u.invalid())
		}
	}
	for ref, want := range map[string]string{"1ttp://x/": "http://h/a/1ttp:/x/", " http://x/": "http://h/a/%20http:/x/"} {
		u := mustParseURI(t, "http://h/a/b")
		if u.Update(ref); u.String() != want {
			t.Errorf("%q, which is no scheme, leads to %q, want %q", ref, u.String(), want)
		}
	}
}

// TestURIUpdateReturnsTheErrorOfParse checks that a reference with a control character is an
// ErrorInvalidURI in each of its forms, and that other errors are the ones of Parse.
func TestURIUpdateReturnsTheErrorOfParse(t *testing.T) {
	for _, ref := range []string{"http://x/\x01", "//x\x7f", "/a\r\nb", "b\tc", "?q\x01", "#f\x01"} {
		u := mustParseURI(t, "https://h/a?q=1#f")
		if err := u.UpdateBytesErr([]byte(ref)); !errors.Is(err, ErrorInvalidURI) {
			t.Errorf("%q: %v, want ErrorInvalidURI", ref, err)
		}
		if len(u.Host()) > 0 {
			t.Errorf("%q leaves the host %q", ref, u.Host())
		}
	}
	for _, ref := range []string{"http://x:y/", "http://[::1/", "http://a b/", "http://a%zz/", "http://a\\@b/", "http://x/%zz", "http://x/a b"} {
		u := mustParseURI(t, "https://h/a?q=1#f")
		want := new(URI).Parse(nil, []byte(ref))
		if err := u.UpdateBytesErr([]byte(ref)); err != want {
			t.Errorf("%q: %v, want %v", ref, err, want)
		}
	}
	for _, ref := range []string{"", "b", "?q", "#f", "/a", "//x/a", "http://x/a"} {
		u := mustParseURI(t, "https://h/a?q=1#f")
		if err := u.UpdateBytesErr([]byte(ref)); err != nil {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

func TestURIUpdateAndChangedArguments(t *testing.T) {
	for ref, want := range map[string]string{
		"#g": "http://h/a/b?x=1&z=3#g", "c": "http://h/a/c", "?k=v": "http://h/a/b?k=v", "/c": "http://h/c", "//i": "http://i/",
	} {
		u := mustParseURI(t, "http://h/a/b?x=1#f")
		u.QueryArgs().Set("z", "3")
		u.Update(ref)
		if got := u.String(); got != want {
			t.Errorf("%q: %q, want %q", ref, got, want)
		}
		if got := u.QueryArgs().String(); !strings.Contains(want, got) {
			t.Errorf("%q: arguments %q", ref, got)
		}
	}
}

func TestURIUpdateAfterSetPath(t *testing.T) {
	u := mustParseURI(t, "http://h/a/b")
	u.SetPath("/q r/100%/s")
	u.Update("c")
	if got, want := u.String(), "http://h/q%20r/100%25/c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	u.DisablePathNormalizing = true
	u.SetPath("/x//y/../s")
	u.Update("c")
	if got, want := u.String(), "http://h/x//y/../c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestURIUpdateByItsOwnParts(t *testing.T) {
	u := mustParseURI(t, "https://h/a/b?q#f")
	u.UpdateBytes(u.Path())
	if got := u.String(); got != "https://h/a/b" {
		t.Errorf("%q", got)
	}
	u.UpdateBytes(u.FullURI())
	if got := u.String(); got != "https://h/a/b" {
		t.Errorf("%q", got)
	}
}

func FuzzURIUpdate(f *testing.F) {
	for _, s := range [][2]string{
		{"http://h/a/b?c#d", "../e?f#g"}, {"https://h", "//x/y"}, {"http://h/a/b", "?q"}, {"http://h/%zz/", "%"}, {"x://h/a", "http://y"}, {"http://h/a", "#"}, {"//h?\x20", "#"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		var u, v URI
		if u.Parse(nil, []byte(base)) != nil || len(u.Host()) == 0 {
			return
		}
		from := u.String()
		if err := u.UpdateBytesErr([]byte(ref)); err != nil {
			checkLeft(t, &u, err)
			if left := u.String(); leadsSomewhere(left) {
				t.Fatalf("%q + %q: %v leaves %q", from, ref, err, left)
			}
			return
		}
		full := u.String()
		if err := v.Parse(nil, []byte(full)); err != nil || v.String() != full {
			t.Fatalf("%q + %q: %q is parsed as %q, %v", from, ref, full, v.String(), err)
		}
		compareWithNetURL(t, from, ref, &u)
	})
}

// compareWithNetURL compares the result of from and ref with net/url's, if both packages
// follow the same rule.
func compareWithNetURL(t *testing.T, from, ref string, u *URI) {
	// this package decodes escapes before it removes dot segments, merges repeated
	// slashes, and requires two slashes after a scheme
	path, _, _ := strings.Cut(from, "?")
	if ref == "" || strings.Contains(ref, ":") || strings.Contains(ref, "//") || strings.Contains(ref+path, "%") {
		return
	}
	b, err := url.Parse(from)
	if err != nil {
		return
	}
	r, err := b.Parse(ref)
	if err != nil || r.Host != b.Host {
		return
	}
	want := r.Path
	if want == "" {
		want = "/"
	}
	if got := string(u.Path()); got != want {
		t.Fatalf("%q + %q: path %q, net/url says %q", from, ref, got, want)
	}
	// text that can be sent: both packages keep spaces that were set, and net/url
	// keeps bytes that are not ASCII
	var query strings.Builder
	for _, b := range []byte(r.RawQuery) {
		if b == ' ' || b >= 0x80 {
			fmt.Fprintf(&query, "%%%02X", b)
		} else {
			query.WriteByte(b)
		}
	}
	full, _, _ := strings.Cut(string(u.FullURI()), "#")
	if _, got, _ := strings.Cut(full, "?"); got != query.String() {
		t.Fatalf("%q + %q: query %q, net/url says %q", from, ref, got, r.RawQuery)
	}
}

func BenchmarkURIUpdate(b *testing.B) {
	u := mustParseURI(b, "https://www.example.com/a/b/c?x=1")
	b.ReportAllocs()
	for b.Loop() {
		u.Update("../b/c?x=1")
	}
}
