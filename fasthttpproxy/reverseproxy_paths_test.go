package fasthttpproxy_test

import (
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// No client reaches a path outside of the path of Target, however its server reads dot segments.
func TestPathsStayBelowTheTarget(t *testing.T) {
	peer, got := heads(t, servertest.OK)
	forward := func(_ *fasthttp.RequestCtx, req *fasthttp.Request) error {
		req.URI().SetQueryString("rewritten")
		return nil
	}
	for _, rewrite := range []func(*fasthttp.RequestCtx, *fasthttp.Request) error{nil, forward} {
		p := &fasthttpproxy.ReverseProxy{Target: peer.URL("/base/"), Rewrite: rewrite}
		s := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare)
		suffix := ""
		if rewrite != nil {
			suffix = "?rewritten"
		}
		for _, path := range []string{
			"/", "/a", "/a/../b", "/a/b/../..", "/a/%2e%2e/b", "/..a", "/a..", "/...", "/a/.../..", "/./a", "/%2e/a", "/a;x/..", "/a/%252e%252e/b", "/100%25/..", "/%252/..", "/%25252e",
			"//a", "/a%2fb/..", "/a/..%2fb/..", "/a/b/..%2f..%2fc%2fd/..",
		} {
			c := s.Dial()
			c.Send(servertest.Get(path))
			if lines := servertest.Receive(t, path, got); lines[0] != "GET /base"+path+suffix+" HTTP/1.1" {
				t.Errorf("%s: the server got %q", path, lines[0])
			}
			c.Expect(200, "ok")
			_ = c.Close()
		}
		for _, path := range []string{
			"/..", "/../", "/../x", "/a/../../x", "/%2e%2e/x", "/.%2E/x", "/%2E./x", "/..%2fx", "/a%2f..%2F..%2fx", "/..%5cx", "/..\\x",
			"/..;/x", "/..;a=b/x", "/%2e%2e%3b/x", "//../../x", "/a//../../x", "/./../x", "/%2e/%2e%2e/x", "/..%00/x", "/..%3f/x", "http://a/../x", "/a%2fb/../../", "/a%5cb/../..",
			"/a/..%2fb/../..", "/a/..%5cb/../../x", "/a/b/..%2f..%2fc%2fd/../..", "/a/..\\b/../..",
			"/%252e%252e/x", "/.%252E/x", "/..%252fx", "/%25252e./x", "/a/%252e%252e/../x",
		} {
			c := s.Dial()
			c.Send(servertest.Get(path))
			if resp := c.Next("GET"); resp.StatusCode != 400 {
				t.Errorf("%s: got %d", path, resp.StatusCode)
			}
			_ = c.Close()
		}
		if len(got) > 0 {
			t.Errorf("the server got %q", <-got)
		}
	}
}
