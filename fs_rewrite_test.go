package fasthttp

import (
	"testing"
)

func rewritten(f PathRewriteFunc, host, target string) string {
	var ctx RequestCtx
	ctx.Request.SetRequestURI(target)
	ctx.Request.Header.SetHost(host)
	return string(f(&ctx))
}

func TestPathRewritersStripAndPrefix(t *testing.T) {
	for _, c := range []struct {
		f                  PathRewriteFunc
		host, target, want string
	}{
		{NewPathSlashesStripper(0), "", "/foo/bar", "/foo/bar"},
		{NewPathSlashesStripper(1), "", "/foo/bar", "/bar"},
		{NewPathSlashesStripper(2), "", "/foo/bar", ""},
		{NewPathSlashesStripper(9), "", "/foo/bar", ""},
		{NewPathSlashesStripper(-1), "", "/foo/bar", "/foo/bar"},
		{NewPathSlashesStripper(1), "", "/foo/", "/"},
		{NewPathPrefixStripper(0), "", "/foo/bar", "/foo/bar"},
		{NewPathPrefixStripper(3), "", "/foo/bar", "o/bar"},
		{NewPathPrefixStripper(7), "", "/foo/bar", "r"},
		{NewPathPrefixStripper(8), "", "/foo/bar", ""},
		{NewPathPrefixStripper(9), "", "/foo/bar", "/foo/bar"},
		{NewPathPrefixStripper(-1), "", "/foo/bar", "/foo/bar"},
		{NewVHostPathRewriter(0), "foobar.com", "/foo/bar", "/foobar.com/foo/bar"},
		{NewVHostPathRewriter(1), "img.aaa.com", "/images/123/456.jpg", "/img.aaa.com/123/456.jpg"},
		{NewVHostPathRewriter(9), "a", "/foo/bar", "/a"},
		{NewVHostPathRewriter(0), "", "/foo", "/invalid-host/foo"},
		{NewVHostPathRewriter(0), "..", "/foo", "/invalid-host/foo"},
		{NewVHostPathRewriter(0), ".", "/foo", "/invalid-host/foo"},
	} {
		if got := rewritten(c.f, c.host, c.target); got != c.want {
			t.Errorf("%s %s became %q, want %q", c.host, c.target, got, c.want)
		}
	}
}
