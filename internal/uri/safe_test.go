package uri

import "testing"

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
