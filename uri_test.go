package fasthttp

import (
	"bytes"
	"strings"
	"testing"
)

func mustParseURI(t testing.TB, text string) *URI {
	t.Helper()
	u := new(URI)
	if err := u.Parse(nil, []byte(text)); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return u
}

func TestURIZeroValue(t *testing.T) {
	var u URI
	if got, want := factsOf(&u), (uriFacts{scheme: "http", path: "/"}); got != want {
		t.Errorf("%+v", got)
	}
	if u.String() != "http:///" || string(u.RequestURI()) != "/" || u.QueryArgs().Len() != 0 || len(u.LastPathSegment()) != 0 {
		t.Errorf("%q, %q", u.String(), u.RequestURI())
	}
}

func TestURISetters(t *testing.T) {
	var u URI
	u.SetHost("H.X:1")
	u.SetScheme("HTTPS")
	u.SetUsername("U")
	u.SetPassword("P")
	u.SetHash("h")
	u.SetQueryString("a b=c&d")
	u.SetPath("/p q/../r%20s")
	if got, want := factsOf(&u), (uriFacts{"https", "U", "P", "h.x:1", "/r s", "/p q/../r%20s", "a b=c&d", "h"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := u.String(), "https://h.x:1/r%20s?a%20b=c&d#h"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	u.SetSchemeBytes([]byte("WSS"))
	u.SetHostBytes([]byte("[FE80::1%25En0]:2"))
	u.SetUsernameBytes([]byte("v"))
	u.SetPasswordBytes([]byte("w"))
	u.SetHashBytes([]byte("i"))
	u.SetQueryStringBytes([]byte("x=y"))
	u.SetPathBytes([]byte("z"))
	if got, want := factsOf(&u), (uriFacts{"wss", "v", "w", "[fe80::1%En0]:2", "/z", "z", "x=y", "i"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := u.String(), "wss://[fe80::1%25En0]:2/z?x=y#i"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	u.SetScheme("")
	u.SetHost("")
	u.SetHash("")
	u.SetQueryString("")
	u.SetPath("")
	if got, want := u.String(), "http:///"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestURIWritesNoSpacesAndControls(t *testing.T) {
	var u URI
	const bad = "a b\r\n\x00\x7f"
	u.SetScheme(bad)
	u.SetHost(bad)
	u.SetPath(bad)
	u.SetQueryString(bad + "#")
	u.SetHash(bad)
	const escaped = "a%20b%0D%0A%00%7F"
	if got, want := u.String(), escaped+"://"+escaped+"/"+escaped+"?"+escaped+"%23#"+escaped; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	u.DisablePathNormalizing = true
	if got, want := string(u.RequestURI()), "/"+escaped+"?"+escaped+"%23"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestURIWhatIsSetAfterParsingIsEscaped(t *testing.T) {
	for want, set := range map[string]func(u *URI){
		"http://a%20b/p?q=1#h":   func(u *URI) { u.SetHost("a b") },
		"http://a/x%20y?q=1#h":   func(u *URI) { u.SetPath("x y") },
		"http://a/p?x%20y%23#h":  func(u *URI) { u.SetQueryString("x y#") },
		"http://a/p?q=1#x%0Ay":   func(u *URI) { u.SetHash("x\ny") },
		"x%20y://a/p?q=1#h":      func(u *URI) { u.SetScheme("x y") },
		"http://a/x%20y?z%20#1":  func(u *URI) { u.Update("/x y?z #1") },
		"http://a/p?q=1#%20":     func(u *URI) { u.Update("# ") },
		"http://a/p?x=%23+%2520": func(u *URI) { u.SetHash(""); u.SetQueryString(""); u.QueryArgs().Set("x", "# %20") },
	} {
		u := mustParseURI(t, "http://a/p?q=1#h")
		set(u)
		if got := u.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestURIPathAsItCame(t *testing.T) {
	for in, want := range map[string]string{
		"": "/", "/": "/", "x": "/x", "//": "//", "/a//b": "/a//b", "/a/../b": "/a/../b", "/a%2fb": "/a%2fb", "/a b": "/a%20b", "/%zz": "/%zz",
		"/ä": "/ä", "/(*)": "/(*)", "/a?b": "/a?b", "/a%20": "/a%20",
	} {
		var u URI
		u.DisablePathNormalizing = true
		if err := u.Parse([]byte("h"), []byte(in)); err != nil {
			t.Fatal(err)
		}
		if got := string(u.RequestURI()); got != want || u.String() != "http://h"+want {
			t.Errorf("%q: %q and %q, want %q", in, got, u.String(), want)
		}
		if !u.DisablePathNormalizing {
			t.Error("Parse must not change the setting")
		}
		if u.DisablePathNormalizing = false; in == "/a//b" && string(u.RequestURI()) != "/a/b" {
			t.Errorf("normal: %q", u.RequestURI())
		}
		u.DisablePathNormalizing = true
		u.SetPath("/x/./y")
		if got := string(u.RequestURI()); !strings.HasPrefix(got, "/x/./y") || string(u.Path()) != "/x/y" {
			t.Errorf("set: %q, path %q", got, u.Path())
		}
		u.Reset()
		if u.DisablePathNormalizing {
			t.Error("Reset must turn the setting off")
		}
	}
	var u URI
	if err := u.Parse([]byte("h"), []byte("*")); err != nil {
		t.Fatal(err)
	}
	if got := string(u.RequestURI()); got != "/%2A" {
		t.Errorf("%q", got)
	}
	if u.DisablePathNormalizing = true; string(u.RequestURI()) != "*" || u.String() != "http://h/*" {
		t.Errorf("%q, %q", u.RequestURI(), u.String())
	}
}

func TestURIQueryIsWrittenAsItCameUntilItIsChanged(t *testing.T) {
	u := mustParseURI(t, "http://h/p?a=b/c&d=%zz&&e")
	if got := string(u.QueryArgs().Peek("a")); got != "b/c" {
		t.Errorf("%q", got)
	}
	if got, want := string(u.RequestURI()), "/p?a=b/c&d=%zz&&e"; got != want {
		t.Errorf("only looked at: %q, want %q", got, want)
	}
	u.QueryArgs().Del("none")
	if got, want := string(u.RequestURI()), "/p?a=b/c&d=%zz&&e"; got != want {
		t.Errorf("nothing deleted: %q, want %q", got, want)
	}
	for want, change := range map[string]func(a *Args){
		"?a=b%2Fc&d=%25zz&e&n":    func(a *Args) { a.AddNoValue("n") },
		"?a=b%2Fc&d=%25zz&e&n=":   func(a *Args) { a.Add("n", "") },
		"?a=x&d=%25zz&e":          func(a *Args) { a.Set("a", "x") },
		"?a=b%2Fc&e":              func(a *Args) { a.Del("d") },
		"?e&d=%25zz&a=b%2Fc":      func(a *Args) { a.SortKeys(func(x, y []byte) int { return bytes.Compare(y, x) }) },
		"?a=b%2Fc&d=%25zz&e":      func(a *Args) { a.Sort(bytes.Compare) },
		"":                        func(a *Args) { a.Reset() },
		"?x=y":                    func(a *Args) { a.Parse("x=y") },
		"?from=other":             func(a *Args) { var b Args; b.Set("from", "other"); b.CopyTo(a) },
		"?a=b%2Fc&d=%25zz&e&u=12": func(a *Args) { a.SetUint("u", 12) },
	} {
		u := mustParseURI(t, "http://h/p?a=b/c&d=%zz&&e")
		change(u.QueryArgs())
		if got := string(u.RequestURI()); got != "/p"+want {
			t.Errorf("%q, want %q", got, "/p"+want)
		}
		if got := string(u.QueryString()); got != "a=b/c&d=%zz&&e" {
			t.Errorf("QueryString: %q", got)
		}
		var v URI
		u.CopyTo(&v)
		if u.String() != v.String() {
			t.Errorf("copy: %q, want %q", v.String(), u.String())
		}
		u.SetQueryString("k=v")
		if got := string(u.RequestURI()); got != "/p?k=v" || string(u.QueryArgs().Peek("k")) != "v" {
			t.Errorf("set again: %q", got)
		}
	}
}

func TestURISlicesOutliveSettersOfOtherParts(t *testing.T) {
	u := mustParseURI(t, "http://host/path?query#hash")
	full, target, host, path := u.FullURI(), u.RequestURI(), u.Host(), u.Path()
	for range 1000 {
		u.SetQueryString("another")
		u.SetHash("another")
		u.SetScheme("https")
	}
	if string(full) != "http://host/path?query#hash" || string(target) != "/path?query" || string(host) != "host" || string(path) != "/path" {
		t.Errorf("%q, %q, %q, %q", full, target, host, path)
	}
}

func TestURICopies(t *testing.T) {
	u := mustParseURI(t, "https://u:p@h/a//b?q=1#f")
	u.DisablePathNormalizing = true
	var v URI
	v.QueryArgs().Set("old", "x")
	u.CopyTo(&v)
	want := factsOf(u)
	u.SetHost("other")
	u.SetPath("/other")
	u.QueryArgs().Set("q", "2")
	if got := factsOf(&v); got != want || v.String() != "https://h/a//b?q=1#f" || !v.DisablePathNormalizing {
		t.Errorf("%+v, %q", got, v.String())
	}
	u.CopyTo(&v)
	u.QueryArgs().Set("q", "3")
	if got := v.String(); got != "https://other/other?q=2#f" {
		t.Errorf("%q", got)
	}
}

func TestURIOutput(t *testing.T) {
	u := mustParseURI(t, "http://h/a?b#c")
	var w bytes.Buffer
	if n, err := u.WriteTo(&w); n != 14 || err != nil || w.String() != "http://h/a?b#c" {
		t.Error(n, err, w.String())
	}
	if got := string(u.AppendBytes([]byte("<"))); got != "<http://h/a?b#c" {
		t.Error(got)
	}
	for path, want := range map[string]string{"/foo/bar/baz.html": "baz.html", "/foo/bar/": "", "/foobar.js": "foobar.js", "/": "", "": "", "/a/b%2fc": "c"} {
		if u.SetPath(path); string(u.LastPathSegment()) != want {
			t.Errorf("%q: %q, want %q", path, u.LastPathSegment(), want)
		}
	}
}

func TestURIChangedOverAndOverDoesNotGrow(t *testing.T) {
	u := mustParseURI(t, "http://u:p@host/some/path?q=1#f")
	u.SetScheme("ftp")
	long := strings.Repeat("x", 100)
	for i := range 10000 {
		u.SetPath("/a//" + long)
		u.SetHash(long)
		u.SetHost(long)
		if i%3 == 0 {
			u.Update("../b?q=1")
		}
		if i%7 == 0 {
			_ = u.FullURI()
		}
	}
	if n := cap(u.text.Memory()) + cap(u.full); n > 32<<10 {
		t.Errorf("the blocks have grown to %d bytes", n)
	}
	if got := u.String(); got != "ftp://"+long+"/b?q=1" {
		t.Errorf("%q", got)
	}
	if string(u.Username()) != "u" || string(u.Password()) != "p" {
		t.Errorf("%q, %q", u.Username(), u.Password())
	}
}

func TestReleasedURIsAreEmptyAndNotLarge(t *testing.T) {
	u := AcquireURI()
	u.SetPath(strings.Repeat("x", 2*maxKeptURI))
	u.QueryArgs().Set("k", strings.Repeat("x", 2*maxKeptArgsBytes))
	u.DisablePathNormalizing = true
	ReleaseURI(u)
	for range 4 {
		v := AcquireURI()
		if v.String() != "http:///" || v.DisablePathNormalizing || cap(v.text.Memory()) > maxKeptURI || cap(v.args.list.Block) > maxKeptArgsBytes {
			t.Errorf("%q, %d bytes", v.String(), cap(v.text.Memory()))
		}
		defer ReleaseURI(v)
	}
}

func TestURIsDoNotAllocate(t *testing.T) {
	var u, v URI
	host := []byte("www.Example.com:8080")
	targets := [][]byte{
		[]byte("/static/beach-at-dawn.jpeg?size=large&v=3"),
		[]byte("/a/../b%20c//d/%zz?x=%20#frag"),
		[]byte("https://user:pass@other.example/path?x=y"),
	}
	dst := make([]byte, 0, 256)
	n := testing.AllocsPerRun(100, func() {
		for _, target := range targets {
			if err := u.parse(host, target, false); err != nil {
				t.Error(err)
			}
			u.Path()
			u.QueryArgs().Peek("v")
			u.RequestURI()
			u.CopyTo(&v)
			v.SetHost("elsewhere.example")
			v.SetPath("/x y")
			v.QueryArgs().Set("v", "4")
			v.Update("../z?w=1")
			dst = v.AppendBytes(dst[:0])
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkURIFull(b *testing.B) {
	u := mustParseURI(b, "https://www.example.com/static/images/2024/holiday/beach-at-dawn.jpeg?size=large&v=3")
	b.ReportAllocs()
	for b.Loop() {
		u.FullURI()
	}
}
