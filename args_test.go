package fasthttp

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// pairsText returns the arguments as quoted "key":"value" words.
func pairsText(a *Args) string {
	var words []string
	for key, value := range a.All() {
		words = append(words, fmt.Sprintf("%q:%q", key, value))
	}
	return strings.Join(words, " ")
}

func TestArgsAreParsed(t *testing.T) {
	for _, tc := range []struct{ in, pairs, out string }{
		{"", ``, ""},
		{"=", ``, ""},
		{"&", ``, ""},
		{"=&=", ``, ""},
		{"a", `"a":""`, "a"},
		{"a=", `"a":""`, "a="},
		{"=a", `"":"a"`, "=a"},
		{"==", `"":"="`, "=%3D"},
		{"a==b", `"a":"=b"`, "a=%3Db"},
		{"a&b", `"a":"" "b":""`, "a&b"},
		{"a=b&a=c", `"a":"b" "a":"c"`, "a=b&a=c"},
		{"&&a=1&&", `"a":"1"`, "a=1"},
		{"=&a", `"a":""`, "a"},
		{"a;b=c", `"a;b":"c"`, "a%3Bb=c"},
		{"a=b%26c&%61=1", `"a":"b&c" "a":"1"`, "a=b%26c&a=1"},
		{"a+b=c+d", `"a b":"c d"`, "a+b=c+d"},
		{"a b=c d", `"a b":"c d"`, "a+b=c+d"},
		{"%2B=%2b", `"+":"+"`, "%2B=%2B"},
		{"%=%", `"%":"%"`, "%25=%25"},
		{"a=%zz", `"a":"%zz"`, "a=%25zz"},
		{"a%3Db", `"a=b":""`, "a%3Db"},
		{"\x00=\xff", `"\x00":"\xff"`, "%00=%FF"},
		{"?a=1#b", `"?a":"1#b"`, "%3Fa=1%23b"},
		{"a.b-c_d~e=/:@", `"a.b-c_d~e":"/:@"`, "a.b-c_d~e=%2F%3A%40"},
	} {
		var a Args
		a.Add("old", "gone")
		a.Parse(tc.in)
		if got := pairsText(&a); got != tc.pairs {
			t.Errorf("%q: %s, want %s", tc.in, got, tc.pairs)
		}
		if got := a.String(); got != tc.out {
			t.Errorf("%q: written as %q, want %q", tc.in, got, tc.out)
		}
	}
}

func TestArgsThatWereParsedAreTheirOwnCopy(t *testing.T) {
	src := []byte("key=value&other=1")
	var a Args
	a.ParseBytes(src)
	clear(src)
	if got := a.String(); got != "key=value&other=1" {
		t.Error(got)
	}
}

func TestArgsMissingAndEmptyValuesDiffer(t *testing.T) {
	var a Args
	a.Parse("flag&empty=&full=x")
	for _, key := range []string{"flag", "empty"} {
		if v := a.Peek(key); v == nil || len(v) > 0 || !a.Has(key) {
			t.Errorf("%s: %#v, %v", key, v, a.Has(key))
		}
	}
	if v := a.Peek("none"); v != nil || a.Has("none") || a.PeekMulti("none") != nil {
		t.Errorf("missing: %#v, %v", v, a.Has("none"))
	}
	var none Args
	none.Add("", "")
	if none.Peek("") == nil || !none.Has("") {
		t.Error("an argument with an empty key and an empty value must exist")
	}
}

func TestArgsSetReplacesTheFirstOnly(t *testing.T) {
	var a Args
	a.Parse("x=1&y=2&x=3&y=4")
	a.Set("x", "longer than before")
	a.SetNoValue("y")
	a.Set("z", "")
	a.SetNoValue("f")
	a.SetUint("n", 0)
	a.SetUintBytes([]byte("m"), 42)
	if got, want := a.String(), "x=longer+than+before&y&x=3&y=4&z=&f&n=0&m=42"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	a.Set("y", "v")
	a.Del("x")
	a.DelBytes([]byte("none"))
	if got, want := a.String(), "y=v&y=4&z=&f&n=0&m=42"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestArgsFormsInBytesAndStringsAgree(t *testing.T) {
	for name, pairs := range map[string][]func(a *Args){
		"add": {
			func(a *Args) { a.Add("k", "v") },
			func(a *Args) { a.AddBytesK([]byte("k"), "v") },
			func(a *Args) { a.AddBytesV("k", []byte("v")) },
			func(a *Args) { a.AddBytesKV([]byte("k"), []byte("v")) },
		},
		"set": {
			func(a *Args) { a.Set("k", "v") },
			func(a *Args) { a.SetBytesK([]byte("k"), "v") },
			func(a *Args) { a.SetBytesV("k", []byte("v")) },
			func(a *Args) { a.SetBytesKV([]byte("k"), []byte("v")) },
		},
		"add without value": {
			func(a *Args) { a.AddNoValue("k") },
			func(a *Args) { a.AddBytesKNoValue([]byte("k")) },
		},
		"set without value": {
			func(a *Args) { a.SetNoValue("k") },
			func(a *Args) { a.SetBytesKNoValue([]byte("k")) },
		},
	} {
		var want string
		for i, f := range pairs {
			var a Args
			a.Parse("k=old&o=1")
			f(&a)
			if i == 0 {
				want = a.String()
			} else if got := a.String(); got != want {
				t.Errorf("%s, form %d: %q, want %q", name, i, got, want)
			}
		}
	}
}

func TestArgsValuesOfTheSameArgsMayBeSet(t *testing.T) {
	var a Args
	a.Parse("a=1&b=a+longer+one")
	for range 100 {
		a.SetBytesV("a", a.Peek("b"))
		a.AddBytesKV(a.Peek("b"), a.Peek("a"))
		a.SetBytesV("b", a.Peek("a"))
	}
	if got := string(a.Peek("a")); got != "a longer one" {
		t.Error(got)
	}
	a.ParseBytes(a.QueryString())
	if got := string(a.Peek("a longer one")); got != "a longer one" || a.Len() != 102 {
		t.Errorf("%q, %d", got, a.Len())
	}
	a.ParseBytes(a.Peek("a"))
	if got := a.String(); got != "a+longer+one" {
		t.Error(got)
	}
}

func TestArgsSetOverAndOverDoesNotGrow(t *testing.T) {
	var a Args
	short, long := "x", strings.Repeat("y", 1000)
	for i := range 10000 {
		a.Set("k", short)
		a.Set("k", long)
		a.Set("l", short)
		if i%2 == 0 {
			a.Del("l")
		}
	}
	if n := cap(a.list.Block); n > 64<<10 {
		t.Errorf("the block has grown to %d bytes", n)
	}
}

func TestArgsIterate(t *testing.T) {
	var a Args
	a.Parse("a=1&b&a=2")
	var got []string
	a.VisitAll(func(k, v []byte) { got = append(got, string(k)+":"+string(v)) })
	if want := []string{"a:1", "b:", "a:2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for k := range a.All() {
		if string(k) == "b" {
			break
		}
		got = got[:0]
	}
	var multi []string
	for _, v := range a.PeekMulti("a") {
		multi = append(multi, string(v))
	}
	if len(got) != 0 || !slices.Equal(multi, []string{"1", "2"}) {
		t.Errorf("%q, %q", got, multi)
	}
}

func TestArgsSortIsStable(t *testing.T) {
	const in = "b=2&a=2&b=1&a&a=1&c&A=7&a="
	for _, tc := range []struct {
		name, want string
		sort       func(a *Args)
	}{
		{"keys", "A=7&a=2&a&a=1&a=&b=2&b=1&c", func(a *Args) { a.SortKeys(bytes.Compare) }},
		{"keys and values", "A=7&a&a=&a=1&a=2&b=1&b=2&c", func(a *Args) { a.Sort(bytes.Compare) }},
		{"backwards", "c&b=2&b=1&a=2&a=1&a&a=&A=7", func(a *Args) {
			a.Sort(func(x, y []byte) int { return bytes.Compare(y, x) })
		}},
	} {
		var a Args
		a.Parse(in)
		tc.sort(&a)
		if got := a.String(); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestArgsNumbers(t *testing.T) {
	var a Args
	a.Parse("n=12&f=1.5&bad=x&empty=&flag&neg=-1")
	if n, err := a.GetUint("n"); n != 12 || err != nil {
		t.Error(n, err)
	}
	if f, err := a.GetUfloat("f"); f != 1.5 || err != nil {
		t.Error(f, err)
	}
	for _, key := range []string{"none", "empty", "flag"} {
		if n, err := a.GetUint(key); n != -1 || !errors.Is(err, ErrNoArgValue) {
			t.Error(key, n, err)
		}
		if f, err := a.GetUfloat(key); f != -1 || !errors.Is(err, ErrNoArgValue) {
			t.Error(key, f, err)
		}
	}
	for _, key := range []string{"bad", "neg"} {
		if n, err := a.GetUint(key); n != -1 || err == nil || errors.Is(err, ErrNoArgValue) {
			t.Error(key, n, err)
		}
		if a.GetUintOrZero(key) != 0 || a.GetUfloatOrZero(key) != 0 {
			t.Error(key)
		}
	}
	if a.GetUintOrZero("n") != 12 || a.GetUfloatOrZero("f") != 1.5 {
		t.Error("OrZero must return the number of a valid argument")
	}
	defer func() {
		if recover() == nil {
			t.Error("SetUint must refuse a negative number")
		}
	}()
	a.SetUint("n", -1)
}

func TestArgsBooleans(t *testing.T) {
	var a Args
	for _, v := range []string{"1", "t", "T", "true", "TRUE", "True", "y", "yes", "Y", "YES", "Yes"} {
		if a.Set("b", v); !a.GetBool("b") {
			t.Errorf("%q is not true", v)
		}
	}
	for _, v := range []string{"", "0", "on", "tRue", "yEs", "2", "true "} {
		if a.Set("b", v); a.GetBool("b") {
			t.Errorf("%q is true", v)
		}
	}
	if a.GetBool("none") {
		t.Error("a missing argument is true")
	}
}

func TestArgsCopyAndWrite(t *testing.T) {
	var a, b Args
	a.Parse("a=1&b&c=x+y")
	b.Parse("z=1")
	a.CopyTo(&b)
	a.Set("a", "2")
	var w bytes.Buffer
	if n, err := b.WriteTo(&w); n != 11 || err != nil || w.String() != "a=1&b&c=x+y" {
		t.Error(n, err, w.String())
	}
	if got := string(b.AppendBytes([]byte("?"))); got != "?a=1&b&c=x+y" {
		t.Error(got)
	}
	b.Reset()
	if b.Len() != 0 || b.String() != "" || b.QueryString() == nil {
		t.Errorf("%d arguments after Reset", b.Len())
	}
}

func TestReleasedArgsAreEmptyAndNotLarge(t *testing.T) {
	a := AcquireArgs()
	a.Set("k", strings.Repeat("x", 2*maxKeptArgsBytes))
	ReleaseArgs(a)
	for range 4 {
		b := AcquireArgs()
		if b.Len() != 0 || cap(b.list.Block) > maxKeptArgsBytes {
			t.Errorf("%d arguments, %d bytes", b.Len(), cap(b.list.Block))
		}
		defer ReleaseArgs(b)
	}
}

func TestArgsDoNotAllocate(t *testing.T) {
	var a Args
	src := []byte("user=joe&id=12345&tags=a%20b+c&debug")
	dst := make([]byte, 0, 256)
	n := testing.AllocsPerRun(100, func() {
		a.ParseBytes(src)
		if string(a.Peek("tags")) != "a b c" || !a.Has("debug") || a.GetUintOrZero("id") != 12345 {
			t.Error("arguments have changed")
		}
		a.Set("user", "jane")
		a.SetUint("id", 7)
		a.Add("more", "value")
		a.Del("debug")
		dst = a.AppendBytes(dst[:0])
		a.QueryString()
		for k, v := range a.All() {
			_, _ = k, v
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
	if string(dst) != "user=jane&id=7&tags=a+b+c&more=value" {
		t.Errorf("%q", dst)
	}
}

func FuzzArgsParse(f *testing.F) {
	for _, s := range []string{"", "a=b&c", "=&==", "a+b=%20%zz", "%=%&&x", "\x00=\xff&;"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var a, b Args
		a.ParseBytes(src)
		text := a.String()
		b.Parse(text)
		if got, want := pairsText(&b), pairsText(&a); got != want {
			t.Fatalf("%q is written as %q, which reads %s, want %s", src, text, got, want)
		}
		if again := b.String(); again != text {
			t.Fatalf("%q is written as %q, then as %q", src, text, again)
		}
		if bytes.ContainsAny(src, ";") {
			return
		}
		want, err := url.ParseQuery(string(src))
		if err != nil {
			return
		}
		for key, values := range want {
			var got []string
			for _, v := range a.PeekMulti(key) {
				got = append(got, string(v))
			}
			// net/url keeps arguments that have neither a key nor a value
			if key != "" && !slices.Equal(got, values) {
				t.Fatalf("%q: %q has %q, net/url says %q", src, key, got, values)
			}
		}
	})
}

func BenchmarkArgsParse(b *testing.B) {
	src := []byte("user=joe&id=12345&tags=a%20b+c&debug=1&page=3&sort=name")
	var a Args
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		a.ParseBytes(src)
	}
}

func BenchmarkArgsPeek(b *testing.B) {
	var a Args
	a.Parse("user=joe&id=12345&tags=a%20b+c&debug=1&page=3&sort=name")
	b.ReportAllocs()
	for b.Loop() {
		if a.Peek("sort") == nil {
			b.Fatal("missing")
		}
	}
}
