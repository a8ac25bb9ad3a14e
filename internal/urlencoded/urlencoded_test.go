package urlencoded

import (
	"bytes"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

func TestPairsAreReadAndWritten(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "&&": "", "=": "", "a": "a", "a=": "a=", "=b": "=b", "a=b=c&d": "a=b%3Dc&d", "a+b=%20%zz&&%C3%a4": "a+b=+%25zz&%C3%A4", "%": "%25", "a&=&b=%": "a&b=%25",
	} {
		var l field.List
		text := []byte(in)
		Parse(&l, text)
		clear(text)
		if got := string(Append([]byte("<"), &l)); got != "<"+want {
			t.Errorf("%q: %q, want %q", in, got, "<"+want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "a=b&c", "=&==", "a+b=%20%zz", "%=%&&x", "\x00=\xff&;"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var l, again field.List
		Parse(&l, src)
		text := Append(nil, &l)
		Parse(&again, text)
		if got := Append(nil, &again); !bytes.Equal(got, text) || again.Len() != l.Len() {
			t.Fatalf("%q is written as %q, then as %q", src, text, got)
		}
	})
}
