package fasthttp

import (
	"bytes"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestCookieIsParsed(t *testing.T) {
	for _, tc := range []struct{ in, out string }{
		{";", ""},
		{"  ", ""},
		{"a", "a"},
		{"=b", "b"},
		{"=b=c; path=/", "=b=c; path=/"},
		{" = b=", "=b="},
		{"==", "=="},
		{`="b=c"`, "=b=c"},
		{"a=", "a="},
		{"a=b", "a=b"},
		{" a = b ; path = /x ", "a=b; path=/x"},
		{"\ta\t=\tb\t; path=\t/x", "a=b; path=/x"},
		{"a=b=c; path==", "a=b=c; path=="},
		{"path=/x", "path=/x"},
		{"a; path=/", "a; path=/"},
		{`a="b"`, "a=b"},
		{`a="b c"`, "a=b c"},
		{`a=b; path="/x"; domain="d"`, "a=b; domain=d; path=/x"},
		{"a=b;;; path=/;", "a=b; path=/"},
		{"a=b;PATH=/x;DOMAIN=D;httponly;secure;samesite=STRICT;MAX-AGE=5", "a=b; max-age=5; domain=D; path=/x; HttpOnly; secure; SameSite=Strict"},
		{"a=b; httponly=foo; secure=; partitioned=1", "a=b; HttpOnly; secure; Partitioned"},
		{"a=b; partitioned", "a=b; secure; Partitioned"},
		{"a=b; path=/x; path=/y; samesite=lax; samesite=strict; max-age=1; max-age=2", "a=b; max-age=2; path=/y; SameSite=Strict"},
		{`a=b; foo=bar; baz; x="; httponlyx; domainx=y`, "a=b"},
		{"a=b; path; domain; expires; max-age", "a=b"},
		{"a=b; path=; domain=; expires=; max-age=; samesite=", "a=b"},
		{"a=b; path=x%20y/../z", "a=b; path=x%20y/../z"},
		{"a=b; samesite", "a=b; SameSite"},
		{`a=b; samesite="lax"`, "a=b; SameSite=Lax"},
		{"a=b; SameSite=none", "a=b; SameSite=None"},
		{"a=b; samesite=foo", "a=b"},
		{"a=b; max-age=10; max-age=x", "a=b; max-age=10"},
		{`a=b; max-age="10"`, "a=b; max-age=10"},
		{"a=b; max-age=0", "a=b; max-age=0"},
		{"a=b; max-age=-0", "a=b; max-age=0"},
		{"a=b; max-age=-1", "a=b; max-age=0"},
		{"a=b; max-age=-99999999999999999999", "a=b; max-age=0"},
		{"a=b; max-age=99999999999999999999", "a=b; max-age=9223372036854775807"},
		{"a=b; max-age=+5", "a=b"},
		{"a=b; max-age=--1", "a=b"},
		{"a=b; expires=Tue, 10 Nov 2009 23:00:00 GMT", "a=b; expires=Tue, 10 Nov 2009 23:00:00 GMT"},
		{`a=b; expires="Tue, 10-Nov-2009 23:00:00 GMT"`, "a=b; expires=Tue, 10 Nov 2009 23:00:00 GMT"},
		{"a=b; expires=Tue, 10 Nov 2009 23:00:00 GMT; max-age=7", "a=b; max-age=7"},
		{"a=b; expires=foo", "a=b"},
		{"a\r\n=b\r\nX: y; domain=x; path=/", "a  =b  X: y; domain=x; path=/"},
		{"a=\x00\x01\x7f\ty", "a=   \ty"},
	} {
		var c Cookie
		c.SetPath("/old")
		c.SetSecure(true)
		if err := c.Parse(tc.in); err != nil {
			t.Errorf("%q: %v", tc.in, err)
		}
		if got := c.String(); got != tc.out {
			t.Errorf("%q: %q, want %q", tc.in, got, tc.out)
		}
	}
}

func TestCookieRefusesInvalidValues(t *testing.T) {
	for in, want := range map[string]error{
		"a=b; domain=x\ny":     ErrInvalidCookieValue,
		"a=b; path=/\x01z":     ErrInvalidCookieValue,
		"":                     ErrNoCookies,
		`a=b"c`:                ErrInvalidCookieValue,
		`a="b`:                 ErrInvalidCookieValue,
		`a=b\c`:                ErrInvalidCookieValue,
		`a="b;c"; path=/`:      ErrInvalidCookieValue,
		`a=b; domain="`:        ErrInvalidCookieValue,
		`a=b; domain=x\y`:      ErrInvalidCookieValue,
		"a=b; path=/ä":         ErrInvalidCookieValue,
		"a=b; path=/\xff":      ErrInvalidCookieValue,
		"a=b; path=/a\tb":      ErrInvalidCookieValue,
		"a=b; path=/\x00":      ErrInvalidCookieValue,
		"a=b; secure; path=/é": ErrInvalidCookieValue,
	} {
		var c Cookie
		if err := c.Parse(in); err != want {
			t.Errorf("%q: %v, want %v", in, err, want)
		}
		if got := c.String(); got != "" {
			t.Errorf("%q: the cookie is %q after the error", in, got)
		}
	}
}

func TestCookieAttributesAreWrittenInOrder(t *testing.T) {
	var c Cookie
	c.SetKey("k")
	c.SetValue("v")
	c.SetDomain("Dom")
	c.SetPath("/p")
	c.SetHTTPOnly(true)
	c.SetSecure(true)
	c.SetSameSite(CookieSameSiteLaxMode)
	c.SetExpire(time.Date(2001, 9, 9, 3, 46, 40, 5, time.FixedZone("x", 7200)))
	const rest = "; domain=Dom; path=/p; HttpOnly; secure; SameSite=Lax"
	for _, tc := range []struct {
		maxAge int
		want   string
	}{
		{0, "k=v; expires=Sun, 09 Sep 2001 01:46:40 GMT" + rest},
		{3, "k=v; max-age=3" + rest},
		{-5, "k=v; max-age=0" + rest},
	} {
		if c.SetMaxAge(tc.maxAge); c.String() != tc.want || c.MaxAge() != tc.maxAge {
			t.Errorf("%d: %q, want %q", tc.maxAge, c.String(), tc.want)
		}
	}
	c.SetMaxAge(0)
	c.SetExpire(CookieExpireDelete)
	if got, want := c.String(), "k=v; expires=Tue, 10 Nov 2009 23:00:00 GMT"+rest; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c.SetExpire(CookieExpireUnlimited)
	if got, want := c.String(), "k=v"+rest; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCookieExpiresInYearsThatClientsKnow(t *testing.T) {
	for in, want := range map[time.Time]string{
		time.Date(10020, 1, 1, 0, 0, 0, 0, time.UTC): "; expires=Fri, 31 Dec 9999 23:59:59 GMT",
		time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC):  "; expires=Tue, 10 Nov 2009 23:00:00 GMT",
		time.Unix(0, 0): "; expires=Thu, 01 Jan 1970 00:00:00 GMT",
	} {
		var c Cookie
		if c.SetExpire(in); c.String() != want || !c.Expire().Equal(in) {
			t.Errorf("%v: %q, want %q", in, c.String(), want)
		}
	}
}

func TestCookieKeepsPartitionedSecure(t *testing.T) {
	var c Cookie
	c.SetPath("/p")
	c.SetPartitioned(true)
	if got, want := c.String(), "; path=/; secure; Partitioned"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c.SetSecure(false)
	c.SetPath("/x")
	if got, want := c.String(), "; path=/x; secure; Partitioned"; got != want || !c.Secure() {
		t.Errorf("%q, want %q", got, want)
	}
	c.SetPartitioned(false)
	if got, want := c.String(), "; path=/x"; got != want || c.Secure() {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCookieSameSiteModes(t *testing.T) {
	for mode, want := range map[CookieSameSite]string{
		-1: "", CookieSameSiteDisabled: "", CookieSameSiteDefaultMode: "; SameSite", CookieSameSiteLaxMode: "; SameSite=Lax",
		CookieSameSiteStrictMode: "; SameSite=Strict", CookieSameSiteNoneMode: "; secure; SameSite=None", 5: "",
	} {
		var c Cookie
		if c.SetSameSite(mode); c.String() != want || c.SameSite() != mode {
			t.Errorf("%d: %q, want %q", mode, c.String(), want)
		}
	}
}

func TestCookiePathIsNormalized(t *testing.T) {
	for in, want := range map[string]string{
		"": "/", "/": "/", "x": "/x", "/a%20b": "/a b", "/a/../b": "/b", "//a": "/a", "/a;b": "/a b", "/a\r\nb%0a%3b": "/a  b  ",
		"/ä": "/ä", "/%zz": "/%zz", "/a?b#c": "/a?b#c", "/\x00\x01\x7f": "/   ",
	} {
		var c Cookie
		if c.SetPath(in); string(c.Path()) != want {
			t.Errorf("%q: %q, want %q", in, c.Path(), want)
		}
	}
}

func TestCookieSettersNeutralizeControls(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", `"a" \ =,`: `"a" \ =,`, "a;b": "a b", "a\r\nX: y": "a  X: y", "\x00\x01\x7f\t": "   \t", "ä\xff": "ä\xff", " a ": " a ",
	} {
		var c Cookie
		c.SetKey(in)
		c.SetValue(in)
		c.SetDomain(in)
		if string(c.Key()) != want || string(c.Value()) != want || string(c.Domain()) != want {
			t.Errorf("%q: %q, %q, %q, want %q", in, c.Key(), c.Value(), c.Domain(), want)
		}
		if got := c.String(); got != want+"="+want+"; domain="+want {
			t.Errorf("%q: %q", in, got)
		}
	}
	// the caller's bytes stay as they are
	src := []byte("a;b")
	var c Cookie
	c.SetValueBytes(src)
	c.SetPathBytes(src)
	if string(src) != "a;b" {
		t.Errorf("the caller's bytes became %q", src)
	}
}

// A path that was parsed is kept as it is, and may lack the leading slash.
func TestCookieSettersTakeTheTextsOfTheCookie(t *testing.T) {
	for in, want := range map[string]string{"a/b": "/a/b", "a%2fb/../c": "/a/c", "/a//b": "/a/b", "..": "/", "%41": "/A"} {
		var c Cookie
		if err := c.Parse("key=value; domain=d.example; path=" + in); err != nil {
			t.Fatal(err)
		}
		c.SetPathBytes(c.Path())
		c.SetKeyBytes(c.Key()[1:])
		c.SetDomainBytes(c.Domain()[2:])
		c.SetValueBytes(c.Value()[2:])
		if got := c.String(); got != "ey=lue; domain=example; path="+want {
			t.Errorf("%q: %q", in, got)
		}
		c.SetPathBytes(c.Cookie())
		if got := string(c.Path()); got != "/ey=lue  domain=example  path="+want {
			t.Errorf("%q: the path is %q", in, got)
		}
	}
}

func TestCookieCopies(t *testing.T) {
	var src, dst Cookie
	if err := src.Parse("a=b; expires=Tue, 10 Nov 2009 23:00:00 GMT; domain=d; path=/p; httponly; secure; samesite=none; partitioned"); err != nil {
		t.Fatal(err)
	}
	dst.SetKey("old")
	dst.SetMaxAge(3)
	dst.CopyTo(&src)
	src.SetKey("x")
	src.SetPath("/y")
	const want = "a=b; expires=Tue, 10 Nov 2009 23:00:00 GMT; domain=d; path=/p; HttpOnly; secure; SameSite=None; Partitioned"
	if got := dst.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var w bytes.Buffer
	if n, err := dst.WriteTo(&w); n != int64(len(want)) || err != nil || w.String() != want {
		t.Error(n, err, w.String())
	}
	if got := string(dst.AppendBytes([]byte("<"))); got != "<"+want {
		t.Error(got)
	}
	dst.Reset()
	if got := dst.String(); got != "" || dst.HTTPOnly() || dst.Secure() || dst.Partitioned() || dst.MaxAge() != 0 || !dst.Expire().IsZero() {
		t.Errorf("%q after Reset", got)
	}
}

func TestReleasedCookiesAreEmptyAndNotLarge(t *testing.T) {
	c := AcquireCookie()
	c.SetValue(strings.Repeat("x", 2*maxKeptCookie))
	ReleaseCookie(c)
	for range 4 {
		d := AcquireCookie()
		if len(d.Value()) != 0 || cap(d.Value()) > maxKeptCookie {
			t.Errorf("%d bytes", cap(d.Value()))
		}
		defer ReleaseCookie(d)
	}
}

func TestCookiesDoNotAllocate(t *testing.T) {
	var c, d Cookie
	src := []byte("session=0123456789abcdef; Expires=Tue, 10 Nov 2009 23:00:00 GMT; Path=/; Domain=example.com; HttpOnly; Secure; SameSite=Lax")
	dst := make([]byte, 0, 256)
	n := testing.AllocsPerRun(100, func() {
		if err := c.ParseBytes(src); err != nil {
			t.Error(err)
		}
		c.SetKey("other")
		c.SetPath("/a//b%20c")
		d.CopyTo(&c)
		dst = d.AppendBytes(dst[:0])
		d.Cookie()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzCookieParse(f *testing.F) {
	for _, s := range []string{
		"", "a=b; path=/x; domain=.d; HttpOnly; Secure; SameSite=Lax; max-age=10; Partitioned; expires=Tue, 10 Nov 2009 23:00:00 GMT",
		`a="b;c"; path="/"`, "a\r\n=b\x00; max-age=-1", "=;=;=", "a=b; expires=9 jan 70 1:2:3",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var c, d Cookie
		if err := c.ParseBytes(src); err != nil {
			if c.String() != "" {
				t.Fatalf("%q: %v leaves %q", src, err, c.String())
			}
			return
		}
		text := c.String()
		for i := range len(text) {
			if b := text[i]; b < 0x20 && b != '\t' || b == 0x7f {
				t.Fatalf("%q is written as %q", src, text)
			}
		}
		if text == "" {
			return
		}
		// the text of a parsed cookie parses as the same cookie, except for quotes within
		// quotes, and for spaces that were control characters or were in quotes
		if err := d.Parse(text); err != nil {
			t.Fatalf("%q is written as %q: %v", src, text, err)
		}
		if d.MaxAge() != c.MaxAge() || d.HTTPOnly() != c.HTTPOnly() || d.Secure() != c.Secure() || d.SameSite() != c.SameSite() || d.Partitioned() != c.Partitioned() {
			t.Fatalf("%q: %q is read as %q", src, text, d.String())
		}
		if !bytes.Equal(bytes.Trim(d.Key(), " \t"), bytes.Trim(c.Key(), " \t")) || !bytes.Equal(bytes.Trim(d.Value(), " \t"), bytes.Trim(c.Value(), " \t")) {
			t.Fatalf("%q: %q is read as %q", src, text, d.String())
		}
	})
}

func FuzzCookieSetters(f *testing.F) {
	f.Add("a", "b", "d", "/p", 3, int64(0))
	f.Add("a;\r\n", "\x00b; c", ";d\x7f", "p%0d%0a%3b", -3, int64(math.MaxInt32))
	f.Fuzz(func(t *testing.T, key, value, domain, path string, maxAge int, expire int64) {
		var c Cookie
		c.SetKey(key)
		c.SetValue(value)
		c.SetDomain(domain)
		c.SetPath(path)
		c.SetMaxAge(maxAge)
		c.SetExpire(time.Unix(expire, 0))
		text := c.String()
		want := 2
		if domain != "" {
			want++
		}
		if got := strings.Count(text, ";"); got != want || strings.ContainsAny(text, "\r\n\x00") {
			t.Fatalf("%q", text)
		}
		// net/http accepts fewer names and values than RFC 6265 section 5 requires. With a
		// plain name and value it must accept the attributes.
		c.SetKey("k")
		c.SetValue("v")
		text = c.String()
		if _, err := http.ParseSetCookie(text); err != nil {
			t.Fatalf("%q: net/http says %v", text, err)
		}
	})
}

func BenchmarkCookieAppend(b *testing.B) {
	var c Cookie
	if err := c.Parse("session=0123456789abcdef; Path=/; Domain=example.com; HttpOnly; Secure; SameSite=Lax"); err != nil {
		b.Fatal(err)
	}
	dst := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		dst = c.AppendBytes(dst[:0])
	}
}

func BenchmarkCookieParse(b *testing.B) {
	src := []byte("session=0123456789abcdef; Path=/; Domain=example.com; HttpOnly; Secure; SameSite=Lax")
	var c Cookie
	b.ReportAllocs()
	for b.Loop() {
		if err := c.ParseBytes(src); err != nil {
			b.Fatal(err)
		}
	}
}
