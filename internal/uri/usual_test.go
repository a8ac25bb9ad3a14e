package uri

import (
	"bytes"
	"testing"
)

var usualSeeds = []struct {
	text  string
	usual bool
}{
	{"http://a.test/", true}, {"https://a-b.test:8080/x/y.z?q=a%20b/../c", true}, {"http://127.0.0.1:/a?", true},
	{"http://a/b.c/d..e/f/?", true}, {"http://a/~b@c:d;e,f=g&h+i$j", true}, {"https://h/a/", true}, {"http://h:65535/a", true},
	{"http://a.test", false}, {"http://A.test/", false}, {"HTTP://a.test/", false}, {"http:///a", false}, {"http://:80/a", false},
	{"http://u@h/a", false}, {"http://[::1]/a", false}, {"http://h:65536/a", false}, {"http://h:8x/a", false}, {"http://h%41/", false},
	{"http://h/a//b", false}, {"http://h//", false}, {"http://h/./a", false}, {"http://h/a/..", false}, {"http://h/.a", false},
	{"http://h/a%20b", false}, {"http://h/a!b", false}, {"http://h/a b", false}, {"http://h/a?b c", false}, {"http://h/a?b#c", true},
	{"http://h/a#c", true}, {"http://h/#", true}, {"http://h/a?#", true}, {"http://h/a#b?c#d", true}, {"http://h/a#b c", false}, {"http://h/a?b#\u00e4", false}, {"http://h/\u00e4", false}, {"http://h\u00e4/a", false}, {"http://h?a=b", false}, {"http://", false},
	{"https://", false}, {"http:/", false}, {"/a/b", false}, {"", false}, {"http://h/a?\u00e4", false}, {"ftp://h/a", false},
}

func TestUsualURIs(t *testing.T) {
	for _, tt := range usualSeeds {
		var text Text
		if got := text.parseUsual([]byte(tt.text)); got != tt.usual {
			t.Errorf("%q: usual %t", tt.text, got)
		}
	}
}

// FuzzUsual compares the two parsers, and the output of their results.
func FuzzUsual(f *testing.F) {
	for _, tt := range usualSeeds {
		f.Add([]byte(tt.text), []byte("/x?y"))
	}
	f.Fuzz(func(t *testing.T, text, ref []byte) {
		var usual, other, again Text
		err := other.parseAny(nil, bytes.Clone(text), false, true)
		if source := other.Source(); source != nil {
			if fault := again.parseAny([]byte("other"), bytes.Clone(source), true, false); fault != nil || full(&again) != full(&other) {
				t.Fatalf("%q: %q, %v, again %q", text, full(&other), fault, full(&again))
			}
		}
		if !usual.parseUsual(text) {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if !bytes.Equal(usual.Source(), text) || !bytes.Equal(other.Source(), text) {
			t.Fatalf("%q: parsed from %q, and from %q", text, usual.Source(), other.Source())
		}
		sent := other.AppendQuery(other.AppendPath(nil, false))
		if got := usual.PlainTarget(); !bytes.Equal(got, sent) || !bytes.Equal(got, other.AppendQuery(other.AppendPath(nil, true))) {
			t.Fatalf("%q: %q is sent, want %q", text, got, sent)
		}
		if host, err := HostField(other.Bytes(Host)); !usual.HasPlainHost() || !bytes.Equal(host, usual.Bytes(Host)) || err != nil {
			t.Fatalf("%q: the host is %q, want %q", text, usual.Bytes(Host), host)
		}
		for range 2 {
			for p := range numParts {
				if !bytes.Equal(usual.Bytes(p), other.Bytes(p)) {
					t.Fatalf("%q: part %d is %q, want %q", text, p, usual.Bytes(p), other.Bytes(p))
				}
			}
			if usual.https != other.https || usual.badHost != other.badHost || usual.badEscape != other.badEscape || full(&usual) != full(&other) {
				t.Fatalf("%q: %+v, want %+v", text, usual, other)
			}
			if a, b := usual.Update(ref, false), other.Update(ref, false); (a == nil) != (b == nil) {
				t.Fatalf("%q, then %q: %v, want %v", text, ref, a, b)
			}
		}
		if len(ref) > 0 && (usual.Source() != nil || usual.PlainTarget() != nil) {
			t.Fatalf("%q, then %q: still parsed from %q", text, ref, usual.Source())
		}
	})
}
