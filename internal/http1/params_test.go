package http1

import (
	"bytes"
	"fmt"
	"mime"
	"testing"

	"github.com/valyala/fasthttp/internal/ascii"
)

func TestParamsAreVisited(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "", "a;": "", "a; b=c": "b=c ", "a;;b=c ; d=e": "b=c d=e ", `a; b="c;\"d"; e=f`: `b=c;\"d e=f `, "a; b": "", "a; b=": "", `a; b="c`: "", "a; b=c d; e=f": "b=c e=f ",
	} {
		got := ""
		VisitParams([]byte(in), func(key, value []byte) bool {
			got += fmt.Sprintf("%s=%s ", key, value)
			return true
		})
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestFormBoundaries(t *testing.T) {
	for in, want := range map[string]string{
		"multipart/form-data; boundary=b": "b", "multipart/form-data \t; boundary=b": "b", "multipart/form-data boundary=b": "", "multipart/form-data ": "", "MULTIPART/Form-Data;BOUNDARY=b;c": "b", `multipart/form-data; a="boundary=x;"; boundary="b c"`: "b c",
		`multipart/form-data; a="; boundary=b`: "b", "multipart/form-data": "", "multipart/form-data; boundary": "", "multipart/form-dataa; boundary=b": "", "multipart/mixed; boundary=b": "",
	} {
		if got := string(FormBoundary([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestAcceptedCodings(t *testing.T) {
	for in, want := range map[string][2]bool{
		"": {}, "gzip": {true, true}, "br, GZIP;q=0.5": {true, true}, "gzip; q=0.0": {true, false}, "gzip;q=0, gzip": {true, false}, "gzipx": {}, "x;gzip": {},
	} {
		if listed, accepted := AcceptsCoding([]byte(in), []byte("gzip")); listed != want[0] || accepted != want[1] {
			t.Errorf("%q: %t, %t, want %t", in, listed, accepted, want)
		}
	}
}

func FuzzFormBoundary(f *testing.F) {
	for _, s := range []string{"multipart/form-data; boundary=b", `multipart/form-data; a="b;"; boundary="c d"`, `multipart/form-data;"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, contentType []byte) {
		got := FormBoundary(contentType)
		if !bytes.Contains(contentType, got) {
			t.Fatalf("%q: %q", contentType, got)
		}
		if len(got) == 0 || !ascii.IsVisible(bytes.ReplaceAll(contentType, []byte("; "), nil)) || bytes.ContainsAny(contentType, `"*\`) {
			return
		}
		if _, params, err := mime.ParseMediaType(string(contentType)); err == nil && params["boundary"] != string(got) {
			t.Fatalf("%q: %q, package mime says %q", contentType, got, params["boundary"])
		}
	})
}
