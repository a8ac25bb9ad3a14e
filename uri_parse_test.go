package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/uri"
)

// uriFacts are the parts that the methods of a URI return.
type uriFacts struct {
	scheme, user, password, host, path, original, query, hash string
}

func factsOf(u *URI) uriFacts {
	return uriFacts{
		string(u.Scheme()), string(u.Username()), string(u.Password()), string(u.Host()),
		string(u.Path()), string(u.PathOriginal()), string(u.QueryString()), string(u.Hash()),
	}
}

func TestURIIsParsedIntoParts(t *testing.T) {
	for _, tc := range []struct {
		host, uri string
		want      uriFacts
		full      string
	}{
		{"", "", uriFacts{scheme: "http", path: "/"}, "http:///"},
		{"h", "", uriFacts{scheme: "http", host: "h", path: "/"}, "http://h/"},
		{"H.X:80", "/", uriFacts{scheme: "http", host: "h.x:80", path: "/", original: "/"}, "http://h.x:80/"},
		{"h", "/a?b#c", uriFacts{scheme: "http", host: "h", path: "/a", original: "/a", query: "b", hash: "c"}, "http://h/a?b#c"},
		{"h", "x", uriFacts{scheme: "http", host: "h", path: "/x", original: "x"}, "http://h/x"},
		{"h", "*", uriFacts{scheme: "http", host: "h", path: "/*", original: "*"}, "http://h/%2A"},
		{"h", "?q", uriFacts{scheme: "http", host: "h", path: "/", query: "q"}, "http://h/?q"},
		{"h", "#f", uriFacts{scheme: "http", host: "h", path: "/", hash: "f"}, "http://h/#f"},
		{"h", "//x/y", uriFacts{scheme: "http", host: "h", path: "/x/y", original: "//x/y"}, "http://h/x/y"},
		{"h", "http:/x", uriFacts{scheme: "http", host: "h", path: "/http:/x", original: "http:/x"}, "http://h/http:/x"},
		{"h", "a/b://c", uriFacts{scheme: "http", host: "h", path: "/a/b:/c", original: "a/b://c"}, "http://h/a/b:/c"},
		{"h", "?a://b", uriFacts{scheme: "http", host: "h", path: "/", query: "a://b"}, "http://h/?a://b"},
		{"u:p@h", "/", uriFacts{scheme: "http", user: "u", password: "p", host: "h", path: "/", original: "/"}, "http://h/"},
		{"", "//H/p", uriFacts{scheme: "http", host: "h", path: "/p", original: "/p"}, "http://h/p"},
		{"", "h/p", uriFacts{scheme: "http", path: "/h/p", original: "h/p"}, "http:///h/p"},
		{"", "http//h", uriFacts{scheme: "http", path: "/http/h", original: "http//h"}, "http:///http/h"},
		{"", "HTTP://H", uriFacts{scheme: "http", host: "h", path: "/", original: "/"}, "http://h/"},
		{"", "://h/p", uriFacts{scheme: "http", host: "h", path: "/p", original: "/p"}, "http://h/p"},
		{"x", "hTTps://h/p?q#f", uriFacts{scheme: "https", host: "h", path: "/p", original: "/p", query: "q", hash: "f"}, "https://h/p?q#f"},
		{"", "H+T.p-1://h/", uriFacts{scheme: "h+t.p-1", host: "h", path: "/", original: "/"}, "h+t.p-1://h/"},
		{"", "http://h?q#f?g", uriFacts{scheme: "http", host: "h", path: "/", query: "q", hash: "f?g"}, "http://h/?q#f?g"},
		{"", "http://h#f?q", uriFacts{scheme: "http", host: "h", path: "/", hash: "f?q"}, "http://h/#f?q"},
		{"", "http://h/p??q?#f#g", uriFacts{scheme: "http", host: "h", path: "/p", original: "/p", query: "?q?", hash: "f#g"}, "http://h/p??q?#f#g"},
		{"", "http://h/p?#", uriFacts{scheme: "http", host: "h", path: "/p", original: "/p"}, "http://h/p"},
		{"", "http://", uriFacts{scheme: "http", path: "/", original: "/"}, "http:///"},
		{"", "http:///p", uriFacts{scheme: "http", path: "/p", original: "/p"}, "http:///p"},
		{"", "http://u@h/", uriFacts{scheme: "http", user: "u", host: "h", path: "/", original: "/"}, "http://h/"},
		{"", "http://U:P@H/P?Q#F", uriFacts{scheme: "http", user: "U", password: "P", host: "h", path: "/P", original: "/P", query: "Q", hash: "F"}, "http://h/P?Q#F"},
		{"", "http://:p@h", uriFacts{scheme: "http", password: "p", host: "h", path: "/", original: "/"}, "http://h/"},
		{"", "http://@h", uriFacts{scheme: "http", host: "h", path: "/", original: "/"}, "http://h/"},
		{"", "http://u%40v:p:q@h", uriFacts{scheme: "http", user: "u%40v", password: "p:q", host: "h", path: "/", original: "/"}, "http://h/"},
		{"", "http://u%20x:p%40y@h/", uriFacts{scheme: "http", user: "u%20x", password: "p%40y", host: "h", path: "/", original: "/"}, "http://h/"},
		{"", "http://h/u@x", uriFacts{scheme: "http", host: "h", path: "/u@x", original: "/u@x"}, "http://h/u@x"},
		{"", "http://h//a/../b", uriFacts{scheme: "http", host: "h", path: "/b", original: "//a/../b"}, "http://h/b"},
		{"", "http://h/a%20b%2fc?d%20e+%zz", uriFacts{scheme: "http", host: "h", path: "/a b/c", original: "/a%20b%2fc", query: "d%20e+%zz"}, "http://h/a%20b/c?d%20e+%zz"},
		{"", "http://h/p q?r s#t u", uriFacts{scheme: "http", host: "h", path: "/p q", original: "/p q", query: "r s", hash: "t u"}, "http://h/p%20q?r%20s#t%20u"},
		{"", "http://h/ä?ä#ä", uriFacts{scheme: "http", host: "h", path: "/ä", original: "/ä", query: "ä", hash: "ä"}, "http://h/%C3%A4?%C3%A4#%C3%A4"},
		{"", "http://[A::1%25Eth0]:80/p", uriFacts{scheme: "http", host: "[a::1%Eth0]:80", path: "/p", original: "/p"}, "http://[a::1%25Eth0]:80/p"},
	} {
		var u URI
		u.SetScheme("https")
		u.SetUsername("old")
		u.SetHash("old")
		u.QueryArgs().Set("old", "x")
		if err := u.Parse([]byte(tc.host), []byte(tc.uri)); err != nil {
			t.Errorf("%q %q: %v", tc.host, tc.uri, err)
		}
		if got := factsOf(&u); got != tc.want {
			t.Errorf("%q %q:\n %+v, want\n %+v", tc.host, tc.uri, got, tc.want)
		}
		if got := u.String(); got != tc.full {
			t.Errorf("%q %q: full %q, want %q", tc.host, tc.uri, got, tc.full)
		}
	}
}

func TestURIHosts(t *testing.T) {
	for in, want := range map[string]string{
		"A.B": "a.b", "a_b~c": "a_b~c", "a:": "a:", ":80": ":80", "a:0": "a:0", "a:65535": "a:65535", "1.2.3.4:5": "1.2.3.4:5",
		"a!$&'()*+,;=b": "a!$&'()*+,;=b", "ä": "ä", "a%C3%A4B": "aäb", "a%ff": "a\xff", "%252E%c3%a4%25A": "%252eä%25a", "%25": "%25", "a%2525b:80": "a%2525b:80",
		"[::1]": "[::1]", "[A::B]:80": "[a::b]:80", "[::ffff:1.2.3.4]": "[::ffff:1.2.3.4]", "[FE80::1%25En0]": "[fe80::1%En0]", "[fe80::1%25%31]": "[fe80::1%1]",
	} {
		var u URI
		if err := u.Parse([]byte(in), []byte("/x")); err != nil || string(u.Host()) != want {
			t.Errorf("%q: %q, %v, want %q", in, u.Host(), err, want)
		}
		if err := u.Parse(nil, []byte("http://"+in+"/x")); err != nil || string(u.Host()) != want || string(u.Path()) != "/x" {
			t.Errorf("%q: %q, %v, want %q", in, u.Host(), err, want)
		}
		full := u.String()
		if err := u.Parse(nil, []byte(full)); err != nil || string(u.Host()) != want {
			t.Errorf("%q, from %q: %q, %v, want %q", full, in, u.Host(), err, want)
		}
	}
}

func TestURIErrors(t *testing.T) {
	for in, want := range map[string]error{
		"a b": InvalidHostError(" "), "a\\b": InvalidHostError(`\`), "a^b": InvalidHostError("^"), "a|b": InvalidHostError("|"),
		"a<b": InvalidHostError("<"), "a\"b": InvalidHostError(`"`), "a[b": InvalidHostError("["), "::1]": uri.ErrPort, "a]": InvalidHostError("]"),
		"a%20b": EscapeError("%20"), "a%zz": EscapeError("%zz"), "a%": EscapeError("%"), "a%4": EscapeError("%4"), "a%41": EscapeError("%41"), "a%2": EscapeError("%2"), "%24": EscapeError("%24"), "%25%2e": EscapeError("%2e"),
		"a%00": EscapeError("%00"), "a%2f": EscapeError("%2f"), "[::1%eth0]": EscapeError("%et"), "[::1%]": EscapeError("%]"),
		"a:65536": uri.ErrPort, "a:99999999999999999999": uri.ErrPort, "a:-1": uri.ErrPort, "a:8x": uri.ErrPort, "a:b:c": uri.ErrPort, "a:80:90": uri.ErrPort, "::1": uri.ErrPort,
		"[]": uri.ErrAddress, "[::1": uri.ErrAddress, "[::1]x": uri.ErrAddress, "[::1]:x": uri.ErrAddress, "[::1]:65536": uri.ErrAddress, "[1.2.3.4]": uri.ErrAddress,
		"[v1.a:b]": uri.ErrAddress, "[:::1]": uri.ErrAddress, "[::1%25]": uri.ErrAddress, "[::1%25a%20b]": uri.ErrAddress,
	} {
		var u URI
		if err := u.Parse([]byte(in), []byte("/x")); err != want {
			t.Errorf("host %q: %v, want %v", in, err, want)
		}
		if err := u.Parse(nil, []byte("http://u@"+in+"/x")); err != want {
			t.Errorf("authority %q: %v, want %v", in, err, want)
		}
		raw := uriFacts{scheme: "http", user: "u", host: in, path: "/x", original: "/x"}
		if got := factsOf(&u); got != raw {
			t.Errorf("%q leaves %+v", in, got)
		}
		var copied URI
		if u.CopyTo(&copied); copied.invalid() != want {
			t.Errorf("%q: the copy is refused with %v, want %v", in, copied.invalid(), want)
		}
		if u.SetHost("h"); u.invalid() != nil {
			t.Errorf("%q: another host is refused with %v", in, u.invalid())
		}
		if copied.Reset(); copied.invalid() != nil {
			t.Errorf("%q: the empty URI is refused with %v", in, copied.invalid())
		}
	}
	for in, want := range map[string]error{
		"/a\r\nb": ErrorInvalidURI, "/\x00": ErrorInvalidURI, "/a\tb": ErrorInvalidURI, "/?\x7f": ErrorInvalidURI, "/#\n": ErrorInvalidURI, "http://h\x01/": ErrorInvalidURI,
		" http://h/": uri.ErrScheme, "http ://h/": uri.ErrScheme, "1http://h/": uri.ErrScheme, "+://h/": uri.ErrScheme, "hä://h/": uri.ErrScheme,
	} {
		var u URI
		if err := u.Parse([]byte("h"), []byte(in)); err != want {
			t.Errorf("%q: %v, want %v", in, err, want)
		}
	}
	for _, host := range []string{"a/b", "a?b", "a#b", "a\r\nb", "a\x00", "a\tb"} {
		var u URI
		var wrong InvalidHostError
		if err := u.Parse([]byte(host), []byte("/")); !errors.As(err, &wrong) || string(wrong) != host[1:2] {
			t.Errorf("host %q: %v", host, err)
		}
	}
	for _, err := range []error{uri.ErrScheme, uri.ErrPort, uri.ErrAddress} {
		if !errors.Is(err, ErrorInvalidURI) {
			t.Errorf("%v is no ErrorInvalidURI", err)
		}
	}
	if got := EscapeError("%zz").Error() + InvalidHostError(" ").Error(); !strings.Contains(got, `"%zz"`) || !strings.Contains(got, `" "`) {
		t.Error(got)
	}
}

func TestURIOfARequestOverTLS(t *testing.T) {
	var u URI
	for uri, want := range map[string]string{"/p": "https://h/p", "http://x/p": "http://x/p", "://x/p": "https://x/p", "*": "https://h/%2A"} {
		if err := u.parse([]byte("h"), []byte(uri), true); err != nil || u.String() != want {
			t.Errorf("%q: %q, %v, want %q", uri, u.String(), err, want)
		}
	}
}

// A percent sign in a path that begins no escape is literal. In a received request it is
// forwarded unchanged, since other software may interpret it.
func TestBadEscapesInPaths(t *testing.T) {
	for _, tc := range []struct{ in, given, received string }{
		{"/%zz", "/%25zz", "/%zz"},
		{"/%", "/%25", "/%"},
		{"/100%/a%20b", "/100%25/a%20b", "/100%/a%20b"},
		{"/%25", "/%25", "/%25"},
		{"/a/../%zz//b", "/%25zz/b", "/%zz/b"},
		{"/%4%41", "/%254A", "/%4%41"},
		{"/a%%2f..", "/", "/"},
		{"/100%?q=50%", "/100%25?q=50%", "/100%?q=50%"},
		{"/?q=50%", "/?q=50%", "/?q=50%"},
	} {
		var req Request
		if err := req.Read(bufio.NewReader(strings.NewReader("GET " + tc.in + " HTTP/1.1\r\nHost: h\r\n\r\n"))); err != nil {
			t.Fatal(err)
		}
		req.URI()
		if got := string(req.RequestURI()); got != tc.received {
			t.Errorf("%q was received, and is %q, want %q", tc.in, got, tc.received)
		}
		var u URI
		if err := u.Parse([]byte("h"), []byte(tc.in)); err != nil || string(u.RequestURI()) != tc.given {
			t.Errorf("%q: %q, %v, want %q", tc.in, u.RequestURI(), err, tc.given)
		}
		for _, u := range []*URI{&u, req.URI()} {
			path := string(u.Path())
			var v URI
			if err := v.Parse(nil, u.FullURI()); err != nil || string(v.Path()) != path {
				t.Errorf("%q: the path is %q, and comes back as %q, %v", tc.in, path, v.Path(), err)
			}
		}
		req.URI().SetPath("/100%")
		if got := string(req.URI().RequestURI()); !strings.HasPrefix(got, "/100%25") {
			t.Errorf("after SetPath: %q", got)
		}
	}
}

func TestURIMayBeParsedFromItsOwnParts(t *testing.T) {
	var u URI
	if err := u.Parse(nil, []byte("https://host.example/a/b?q=1#f")); err != nil {
		t.Fatal(err)
	}
	if err := u.Parse(u.Host(), []byte("/x")); err != nil || u.String() != "http://host.example/x" {
		t.Errorf("%q, %v", u.String(), err)
	}
	if err := u.Parse(nil, u.FullURI()); err != nil || u.String() != "http://host.example/x" {
		t.Errorf("%q, %v", u.String(), err)
	}
	if err := u.Parse(u.Host(), u.RequestURI()); err != nil || u.String() != "http://host.example/x" {
		t.Errorf("%q, %v", u.String(), err)
	}
}

// leadsSomewhere reports whether the text that an error has left parses as a URI
// with a host.
func leadsSomewhere(left string) bool {
	var u URI
	return left != "http:///" && u.Parse(nil, []byte(left)) == nil && len(u.Host()) > 0
}

// checkLeft checks the URI that an error has left. It is empty, or it has a
// malformed host, which a client refuses with the same error, in a copy as well. The
// text of such a URI may parse as another one, since the host may hold any byte.
func checkLeft(t *testing.T, u *URI, err error) {
	t.Helper()
	left := u.String()
	if strings.ContainsFunc(left, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		t.Fatalf("%v leaves %q", err, left)
	}
	var of URI
	u.CopyTo(&of)
	for _, u := range []*URI{u, &of} {
		why := u.invalid()
		if why == nil && (left != "http:///" || len(u.Username())+len(u.Password()) > 0) {
			t.Fatalf("%v leaves %q, which no client refuses", err, left)
		}
		if why != nil && (why.Error() != err.Error() || len(u.Host()) == 0) {
			t.Fatalf("%v leaves %q, which is refused with %v", err, left, why)
		}
	}
}

func FuzzURIParse(f *testing.F) {
	for _, s := range [][2]string{
		{"h", "/a/../b?c=d#e"}, {"", "https://u:p@H:80/a%2fb%zz?x y#z"}, {"[::1%25eth0]:1", "//x"}, {"u@h", "?a://b"}, {"", "http:///"},
		{"a%c3%a4", "/%%2f..%"}, {"", "x+y://[A::1]?"}, {"", "//h"}, {"h", "*"}, {"[ %]", "0"},
	} {
		f.Add([]byte(s[0]), []byte(s[1]), false)
	}
	f.Add([]byte("h"), []byte("a//b"), true)
	f.Add([]byte("0#"), []byte("0"), true)
	f.Fuzz(func(t *testing.T, host, uri []byte, asIs bool) {
		var u, v URI
		u.DisablePathNormalizing = asIs
		v.DisablePathNormalizing = asIs
		if err := u.Parse(host, uri); err != nil {
			checkLeft(t, &u, err)
			if left := u.String(); len(host) == 0 && leadsSomewhere(left) {
				t.Fatalf("%q: %v leaves %q", uri, err, left)
			}
			return
		}
		full := u.String()
		for i := range len(full) {
			if full[i] <= ' ' || full[i] == 0x7f {
				t.Fatalf("%q %q: %q", host, uri, full)
			}
		}
		u.CopyTo(&v)
		if v.SetHashBytes(u.Hash()); v.String() != full {
			t.Fatalf("%q %q: %q, looking at every byte of it %q", host, uri, full, v.String())
		}
		if err := v.Parse(nil, []byte(full)); err != nil {
			t.Fatalf("%q %q: %q gives %v", host, uri, full, err)
		}
		if got := v.String(); got != full {
			t.Fatalf("%q %q: %q, then %q", host, uri, full, got)
		}
		if !bytes.Equal(u.Scheme(), v.Scheme()) || !bytes.Equal(u.Host(), v.Host()) || !bytes.Equal(u.Path(), v.Path()) {
			t.Fatalf("%q %q: %q: %+v, then %+v", host, uri, full, factsOf(&u), factsOf(&v))
		}
		if got, want := v.QueryArgs().String(), u.QueryArgs().String(); got != want {
			t.Fatalf("%q %q: query %q, then %q", host, uri, want, got)
		}
		if got := v.String(); got != full {
			t.Fatalf("%q after looking at its arguments is %q", full, got)
		}
	})
}

func BenchmarkURIParse(b *testing.B) {
	host, uri := []byte("www.example.com"), []byte("/static/images/2024/holiday/beach-at-dawn.jpeg?size=large&v=3")
	var u URI
	b.ReportAllocs()
	for b.Loop() {
		if err := u.parse(host, uri, false); err != nil {
			b.Fatal(err)
		}
	}
}

// User information decides which part is the host, so only text that RFC 3986
// section 3.2.1 allows passes for it.
func TestURIRefusesMalformedUserInformation(t *testing.T) {
	for _, raw := range []string{`http://a.com\@b.com/`, "http://\xc3\xbc@h/", "http://u p@h/", "http://u[1]@h/", "http://[::1]@h/", "http://<u>@h/"} {
		var u URI
		if err := u.Parse(nil, []byte(raw)); !errors.Is(err, ErrorInvalidURI) {
			t.Errorf("%q: %v", raw, err)
		}
		if len(u.Host()) > 0 {
			t.Errorf("%q: host %q", raw, u.Host())
		}
	}
}
