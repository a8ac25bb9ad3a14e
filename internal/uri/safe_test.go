package uri

import (
	"strings"
	"testing"
)

func TestURLsAreSafeInLogs(t *testing.T) {
	for in, want := range map[string]struct {
		safe   string
		scheme int
	}{
		"http://u:p@h/a?q=secret#f": {"http://h/a", 7}, "http:/u:p@h/a": {"http:/h/a", 0}, "u:p@h": {"h", 0}, "//u@h/a@b": {"//h/a@b", 0}, "/a@b": {"/a@b", 0}, "/a:b@c": {"/c", 0},
		"://u@h": {"://h", 3}, "": {"", 0}, "http://u:p@v:q@h": {"http://h", 7}, "http://?u:p@h": {"http://", 7},
	} {
		if safe, scheme := Safe([]byte(in)); safe != want.safe || scheme != want.scheme {
			t.Errorf("%q: %q, %d, want %q, %d", in, safe, scheme, want.safe, want.scheme)
		}
	}
}

func TestLacksHost(t *testing.T) {
	long := strings.Repeat("x", 300)
	for text, want := range map[string]string{
		"http://a.test/":       "",
		"a.test/b?c":           `"a.test/b" has no scheme: it does not begin with http:// or https://`,
		"/b":                   `"/b" has neither scheme nor host`,
		"http:///b":            `"http:///b" has no host`,
		"http://":              `"http://" has no host`,
		"user:secret@a.test/b": `"a.test/b" has no scheme: it does not begin with http:// or https://`,
		"/" + long:             `"/` + long[:maxQuoted-1] + `..." has neither scheme nor host`,
	} {
		if got, lacking := LacksHost([]byte(text)); got != want || lacking != (want != "") {
			t.Errorf("%s: %q, %v; want %q", text, got, lacking, want)
		}
	}
}
