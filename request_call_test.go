package fasthttp

import (
	"bufio"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// Without parsing again, a URI equals the result of parsing.
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
			if got := req.uri.text.Source(); !req.isKnown() || string(got) != uri {
				t.Errorf("%s: %q is known", name, got)
			}
			if got := req.uri.String(); got != uri {
				t.Errorf("%s: the URI became %s", name, got)
			}
			change(&req)
		}
	}
}

// A program may change a URI that it has got, even after a call. A later SetRequestURI still
// takes effect.
func TestTargetIsThatOfTheLastSetter(t *testing.T) {
	var targets []string
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			targets = append(targets, req.RequestURI)
			c.Send(servertest.OK)
		}
	})
	changes := map[string]func(u *URI){
		"path":         func(u *URI) { u.SetPath("/two") },
		"host":         func(u *URI) { u.SetHost("other.test") },
		"scheme":       func(u *URI) { u.SetScheme("https") },
		"user":         func(u *URI) { u.SetUsername("u") },
		"query":        func(u *URI) { u.SetQueryString("two") },
		"arguments":    func(u *URI) { u.QueryArgs().Set("two", "2") },
		"hash":         func(u *URI) { u.SetHash("two") },
		"reference":    func(u *URI) { u.Update("/two") },
		"another host": func(u *URI) { u.Update("//other.test/two") },
		"copy": func(u *URI) {
			from := new(URI)
			from.SetPath("/two")
			from.CopyTo(u)
		},
		"parsed": func(u *URI) { _ = u.Parse(nil, []byte("http://other.test/two")) },
		"reset":  func(u *URI) { u.Reset() },
	}
	for name, change := range changes {
		targets = nil
		client := &Client{}
		req := requestTo(t, MethodGet, "")
		u := req.URI()
		for range 2 {
			req.SetRequestURI(p.URL("/one?a=b"))
			servertest.Must(t, client.Do(req, responseFor(t)))
			change(u)
		}
		req.SetRequestURI(p.URL("/one?a=b"))
		if err := client.Do(req, responseFor(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, target := range targets {
			if target != "/one?a=b" {
				t.Errorf("%s: asked for %s", name, target)
			}
		}
		if req.Header.Peek("Authorization") != nil || len(targets) != 3 {
			t.Errorf("%s: asked for %q with %q", name, targets, req.Header.String())
		}
		client.CloseIdleConnections()
	}
}

// Only an absolute URI is the same for every host.
func TestOnlyAbsoluteTargetsAreKnown(t *testing.T) {
	for _, target := range []string{"/path", "http", "httpfoo/bar", "://example.com/", "*", "//example.com/", "?http://x"} {
		var req Request
		req.SetRequestURI(target)
		req.Header.SetHost("example.com")
		_ = req.parseTarget()
		if req.isKnown() {
			t.Errorf("%q is known", target)
		}
	}
}

func readInto(req *Request, text string) {
	if err := req.Read(bufio.NewReader(strings.NewReader(text))); err != nil {
		panic(err)
	}
}

// The target is computed once if the URI does not change, and again after a change.
func TestWritingAgainSendsWhatChangedInBetween(t *testing.T) {
	const line = "GET /a%20b?c=d HTTP/1.1"
	for _, tt := range []struct {
		name   string
		change func(req *Request)
		want   string
	}{
		{"nothing", func(*Request) {}, line},
		{"the target of the header", func(req *Request) { req.Header.SetRequestURI("/x") }, line},
		{"the target", func(req *Request) { req.SetRequestURI("/x") }, "GET /x HTTP/1.1"},
		{"the path", func(req *Request) { req.URI().SetPath("/x") }, "GET /x?c=d HTTP/1.1"},
		{"the query", func(req *Request) { req.URI().QueryArgs().Set("c", "e") }, "GET /a%20b?c=e HTTP/1.1"},
		{"the URI", func(req *Request) { u := new(URI); u.SetHost("h"); req.SetURI(u) }, "GET / HTTP/1.1"},
		{"the setting of a client", func(req *Request) { req.uri.DisablePathNormalizing = true }, "GET /a%20b/../a%20b?c=d HTTP/1.1"},
		{"the method", func(req *Request) { req.Header.SetMethod(MethodConnect) }, "CONNECT h HTTP/1.1"},
		{"reset", func(req *Request) { req.Reset(); req.SetRequestURI("http://h/y") }, "GET /y HTTP/1.1"},
		{"copied over", func(req *Request) {
			from := new(Request)
			from.SetRequestURI("http://h/z")
			from.URI()
			from.CopyTo(req)
		}, "GET /z HTTP/1.1"},
	} {
		var req Request
		req.SetRequestURI("http://h/a%20b/../a%20b?c=d")
		for range 2 {
			if got, _, _ := strings.Cut(req.String(), "\r\n"); got != line {
				t.Errorf("%s: first %q", tt.name, got)
			}
		}
		tt.change(&req)
		for range 2 {
			if got, _, _ := strings.Cut(req.String(), "\r\n"); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			}
		}
	}
}

// A program may change a URI that it has got at any time, even after the request has
// another target.
func TestChangesOfAURIThatWasHandedOutAreSent(t *testing.T) {
	var req Request
	req.SetRequestURI("http://h/a")
	uri := req.URI()
	req.SetRequestURI("http://h/b")
	for _, path := range []string{"/b", "/c", "/d"} {
		if path != "/b" {
			uri.SetPath(path)
		}
		if got, _, _ := strings.Cut(req.String(), "\r\n"); got != "GET "+path+" HTTP/1.1" {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// A request that was sent before sends the same bytes as one that was not.
func TestRequestsSentAgainAreSentAsNewOnes(t *testing.T) {
	head := func(req *Request) string {
		if err := req.prepareForServer(); err != nil {
			return err.Error()
		}
		return string(req.appendHead(nil, req.encode(0)))
	}
	uris := []string{
		"http://a.test/x?y=z", "http://b\u00fccher.test/", "http://b%C3%BCcher.test/", "http://[fe80::1%25eth0]:81/x",
		"http://\uff45xample.test/", "http://u:p@a.test/x", "http://a.test", "http://a.test:80/", "http://a..b.test/%zz",
	}
	kinds := map[string]func(req *Request){
		"plain":    func(*Request) {},
		"POST":     func(req *Request) { req.Header.SetMethod(MethodPost); req.SetBodyString("x") },
		"GET":      func(req *Request) { req.Header.SetMethod(MethodGet) },
		"OPTIONS":  func(req *Request) { req.Header.SetMethod(MethodOptions) },
		"CONNECT":  func(req *Request) { req.Header.SetMethod(MethodConnect) },
		"HTTP/1.0": func(req *Request) { req.Header.SetProtocol("HTTP/1.0") },
		"special":  func(req *Request) { req.Header.DisableSpecialHeader(); req.Header.Set("x", "y") },
		"own host": func(req *Request) { req.UseHostHeader = true; req.Header.SetHost("own.test") },
		"by proxy": func(req *Request) { req.call.proxy = new(proxyForm) },
	}
	for name, kind := range kinds {
		again := new(Request)
		kind(again)
		for i := range 4 * len(uris) {
			uri := uris[i/2%len(uris)]
			fresh := new(Request)
			kind(fresh)
			fresh.SetRequestURI(uri)
			again.SetRequestURI(uri)
			if want, got := head(fresh), head(again); got != want {
				t.Errorf("%s %s: %q, want %q", name, uri, got, want)
			}
			if i%3 == 0 && name != "CONNECT" {
				// the target of the old URI is not used for the next one
				again.URI().SetHost("\u00e4.test")
				fresh.URI().SetHost("\u00e4.test")
				if want, got := head(fresh), head(again); got != want {
					t.Errorf("%s %s, for another host: %q, want %q", name, uri, got, want)
				}
			}
		}
	}
}
