package cookie

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

// pairsText returns a list as quoted "name":"value" words.
func pairsText(l *field.List) string {
	var words []string
	for i := range l.Len() {
		words = append(words, fmt.Sprintf("%q:%q", l.Name(i), l.Value(i)))
	}
	return strings.Join(words, " ")
}

func TestRequestCookiesAreReadLeniently(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", ``},
		{";", ``},
		{"=", ``},
		{"a=b", `"a":"b"`},
		{"a=b; c=d", `"a":"b" "c":"d"`},
		{"a=b;c=d", `"a":"b" "c":"d"`},
		{";;a=b;;", `"a":"b"`},
		{"a=b; ; c=d", `"a":"b" "c":"d"`},
		{"  a = b ;\tc\t=\td\t", `"a":"b" "c":"d"`},
		{"a=b; a=c", `"a":"b" "a":"c"`},
		{"a", `"":"a"`},
		{"a; b=c", `"":"a" "b":"c"`},
		{"=b; c=d", `"":"b" "c":"d"`},
		{"a=; b=", `"a":"" "b":""`},
		{"a=b=c", `"a":"b=c"`},
		{"==", `"":"="`},
		{"a b=c d", `"a b":"c d"`},
		{"a=b,c=d", `"a":"b,c=d"`},
		{`a="b"`, `"a":"b"`},
		{`a="b c"`, `"a":"b c"`},
		{`a=" b "`, `"a":" b "`},
		{`a= "b" `, `"a":"b"`},
		{`a=""`, `"a":""`},
		{`"b"`, `"":"b"`},
		{`"a"=b`, `"\"a\"":"b"`},
		{"a=\xff", `"a":"\xff"`},
		{`a="; c=d`, `"c":"d"`},
		{`a=b"c; c=d`, `"c":"d"`},
		{`a=b\c; c=d`, `"c":"d"`},
		{`a="b;c"; d=e`, `"d":"e"`},
		{`a="b"c"; d=e`, `"d":"e"`},
	} {
		var l field.List
		AppendPairs(&l, []byte(tc.in))
		if got := pairsText(&l); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.in, got, tc.want)
		}
	}
}

func TestRequestCookiesOfSeveralFieldsAddUp(t *testing.T) {
	var l field.List
	AppendPairs(&l, []byte("a=b"))
	src := []byte("x; c=d; a=e")
	AppendPairs(&l, src)
	clear(src)
	if got, want := pairsText(&l), `"a":"b" "":"x" "c":"d" "a":"e"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// a change of one pair does not affect the others
	l.SetValue(2, "longer than before", 0)
	if got, want := pairsText(&l), `"a":"b" "":"x" "c":"longer than before" "a":"e"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRequestCookiesAreWritten(t *testing.T) {
	for _, tc := range []struct {
		pairs []string
		want  string
	}{
		{nil, ""},
		{[]string{"a", "b"}, "a=b"},
		{[]string{"a", "b", "c", "d"}, "a=b; c=d"},
		{[]string{"a", "", "c", "d"}, "a=; c=d"},
		{[]string{"", "b", "c", "d"}, "b; c=d"},
		{[]string{"", "b=c", "", "=", "", "b="}, "=b=c; ==; =b="},
		{[]string{"", "", "c", "d"}, "c=d"},
		{[]string{"a", "b", "", ""}, "a=b"},
		{[]string{"a;b", "c;d"}, "a b=c d"},
		{[]string{"a\r\nX", "c\r\n\r\nd"}, "a  X=c    d"},
		{[]string{"a\x00", "b\x01\x7f\t"}, "a =b  \t"},
		{[]string{"a", `"b" \ c,d=` + "\xff"}, `a="b" \ c,d=` + "\xff"},
	} {
		var l field.List
		for i := 0; i < len(tc.pairs); i += 2 {
			l.Add(tc.pairs[i], tc.pairs[i+1])
		}
		if got := string(AppendText([]byte("<"), &l)); got != "<"+tc.want {
			t.Errorf("%q: %q, want %q", tc.pairs, got, "<"+tc.want)
		}
	}
}

// A proxy that changes one cookie sends the others as it has understood them: no value becomes
// another cookie.
func TestNoCookieBecomesAnother(t *testing.T) {
	for _, in := range []string{"=a=b", "==", "=a=", `="a=b"`, `=" a=b "`, "= a=b; c=d", "a; =b; c="} {
		var received, again field.List
		AppendReceived(&received, []byte(in))
		text := AppendText(nil, &received)
		AppendReceived(&again, text)
		if got, want := pairsText(&again), pairsText(&received); got != want {
			t.Errorf("%q: %s are written as %q, which has %s", in, want, text, got)
		}
	}
}

func TestSetCookieNames(t *testing.T) {
	for in, want := range map[string]string{
		"": "", ";": "", "=": "", "a": "", "a; b=c": "", "=b": "", ";a=b": "",
		"a=b": "a", "a=b; Path=/": "a", " a = b ; path=/": "a", "\ta=b": "a",
		"a b=c": "a b", `"a"=b`: `"a"`, "a=b=c": "a",
	} {
		if got := string(NameIn([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestCookiePairsDoNotAllocate(t *testing.T) {
	src := []byte("session=0123456789abcdef; theme=dark; nameless; _ga=GA1.2.3")
	var l field.List
	dst := make([]byte, 0, 256)
	n := testing.AllocsPerRun(100, func() {
		l.Reset()
		AppendPairs(&l, src)
		dst = AppendText(dst[:0], &l)
	})
	if n != 0 || !bytes.Equal(dst, src) {
		t.Errorf("%v allocations, %q", n, dst)
	}
}

func FuzzPairs(f *testing.F) {
	for _, s := range []string{"a=b; c=d", `a="b;c"; d`, "=;=b;;", "a= \"b\" ", "\x00=\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var l field.List
		AppendPairs(&l, src)
		text := AppendText(nil, &l)
		if i := bytes.IndexAny(text, "\r\n\x00"); i >= 0 {
			t.Fatalf("%q gives %q", src, text)
		}
		if n := bytes.Count(text, []byte(";")); n >= max(l.Len(), 1) {
			t.Fatalf("%d cookies of %q are written as %q", l.Len(), src, text)
		}
		if name := NameIn(src); !bytes.Contains(src, name) {
			t.Fatalf("name of %q: %q", src, name)
		}
	})
}
