package fasthttp

import (
	"bufio"
	"strings"
	"testing"
)

// A URI that is not parsed again is what it would be if it were.
func TestTargetIsParsedAgainWhenItMustBe(t *testing.T) {
	const uri = "http://example.com/a?b=c"
	changes := map[string]func(req *Request){
		"nothing":        func(*Request) {},
		"another target": func(req *Request) { req.SetRequestURI("http://other.test/x"); _ = req.parseTarget() },
		"another host":   func(req *Request) { req.SetHost("other.test") },
		"another path":   func(req *Request) { req.URI().SetPath("/x") },
		"another query":  func(req *Request) { req.URI().QueryArgs().Set("x", "y") },
		"another URI":    func(req *Request) { u := new(URI); u.SetHost("other.test"); req.SetURI(u) },
		"no URI":         func(req *Request) { req.SetURI(nil) },
		"reset":          func(req *Request) { req.Reset() },
		"copied over": func(req *Request) {
			from := new(Request)
			from.SetRequestURI("http://x.test/")
			from.URI()
			from.CopyTo(req)
		},
		"read": func(req *Request) { readInto(req, "GET /read HTTP/1.1\r\nHost: read.test\r\n\r\n"); req.URI() },
		"read and known": func(req *Request) {
			readInto(req, "GET /read HTTP/1.1\r\nHost: read.test\r\n\r\n")
			_ = req.parseTarget()
		},
		"a method in between": func(req *Request) {
			req.Header.SetMethod(MethodConnect)
			_ = req.parseTarget()
			req.Header.SetMethod(MethodGet)
		},
		"a target that is bad": func(req *Request) { req.SetRequestURI("http://[::1/"); _ = req.parseTarget() },
	}
	for name, change := range changes {
		var req Request
		for range 3 {
			req.SetRequestURI(uri)
			if err := req.parseTarget(); err != nil {
				t.Fatal(err)
			}
			if string(req.known) != uri {
				t.Errorf("%s: %q is known", name, req.known)
			}
			if got := req.uri.String(); got != uri {
				t.Errorf("%s: the URI became %s", name, got)
			}
			change(&req)
		}
	}
}

// Only what is an absolute URI means the same whatever the host.
func TestOnlyAbsoluteTargetsAreKnown(t *testing.T) {
	for _, target := range []string{"/path", "http", "httpfoo/bar", "://example.com/", "*", "//example.com/", "?http://x"} {
		var req Request
		req.SetRequestURI(target)
		req.Header.SetHost("example.com")
		_ = req.parseTarget()
		if len(req.known) > 0 {
			t.Errorf("%q is known", target)
		}
	}
}

func readInto(req *Request, text string) {
	if err := req.Read(bufio.NewReader(strings.NewReader(text))); err != nil {
		panic(err)
	}
}
