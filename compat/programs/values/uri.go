package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

// targets are parsed with their host.
var targets = []struct{ host, uri string }{
	{"", ""}, {"h", ""}, {"h", "/"}, {"h", "a"}, {"h", "/a"}, {"h", "/a/b"}, {"h", "a/b"}, {"h", "/a/b/"}, {"h", "?"}, {"h", "?q"}, {"h", "/?q"}, {"h", "/a?"}, {"h", "#"}, {"h", "#f"}, {"h", "/a#"}, {"h", "/a#f"}, {"h", "/a?q#f"}, {"h", "/a#f?q"}, {"h", "/a?q?r"}, {"h", "/a?q#f#g"}, {"h", "*"},
	{"h", "//"}, {"h", "///"}, {"h", "//a"}, {"h", "//a/b"}, {"h", "/a//b"}, {"h", "/a///b"}, {"h", "/a/./b"}, {"h", "/a/../b"}, {"h", "/../a"}, {"h", "/../../a"}, {"h", "/a/.."}, {"h", "/a/."}, {"h", "/."}, {"h", "/.."}, {"h", "/a/b/../../c"}, {"h", "/a/../../c"}, {"h", "/.a"}, {"h", "/..a"}, {"h", "/a../b"}, {"h", "/a./b"}, {"h", "/.../b"}, {"h", "/a/b/."}, {"h", "/a/b/.."}, {"h", "/./"}, {"h", "/../"}, {"h", "./a"}, {"h", "../a"}, {"h", "/a//../b"}, {"h", "/a/..//b"}, {"h", "/a/b//../.."},
	{"h", "/%2e%2e/a"}, {"h", "/a/%2e%2e/b"}, {"h", "/a/%2E./b"}, {"h", "/a%2fb"}, {"h", "/a%2F..%2Fb"}, {"h", "/a%5cb"}, {"h", "/a\\b"}, {"h", "\\a"}, {"h", "/a\\..\\b"}, {"h", "/a/..\\b"}, {"h", "/%5c../a"}, {"h", "\\\\evil.com"}, {"h", "/\\evil.com"},
	{"h", "/%41"}, {"h", "/%"}, {"h", "/%4"}, {"h", "/%zz"}, {"h", "/a%00b"}, {"h", "/%c3%a9"}, {"h", "/é"}, {"h", "/%ff"}, {"h", "/\xff"}, {"h", "/a b"}, {"h", "/a+b"}, {"h", "/a%20b"}, {"h", "/a%2bb"}, {"h", "/%25"}, {"h", "/%2541"}, {"h", "/a%3fb"}, {"h", "/a%23b"}, {"h", "/a;b"}, {"h", "/a,b"}, {"h", "/a:b"}, {"h", "/a@b"}, {"h", "/a=b"}, {"h", "/a&b"}, {"h", "/a$b!c'd(e)f*"}, {"h", "/~a-b_c.d"}, {"h", "/{a}|^`\"<>"}, {"h", "/a\r\nb"}, {"h", "/a\x00b"}, {"h", "/a\x01\x7f"}, {"h", "/a\tb"}, {"h", " /a"}, {"h", "/a "}, {"h", "/日本"}, {"h", "/%e6%97%a5"}, {"h", "/[a]"},
	{"h", "/a?b=c&d"}, {"h", "/a?%41=%zz"}, {"h", "/a?é"}, {"h", "/a? b"}, {"h", "/a?b/../c"}, {"h", "/a?\r\nX: y"}, {"h", "/a?#"}, {"h", "/a#%41é \r\n"}, {"h", "/a??b"}, {"h", "/a?b=//c"}, {"h", "/?http://x/"},
	{"", "http://a.com"}, {"", "http://a.com/"}, {"", "http://a.com/b"}, {"h", "http://a.com/b"}, {"", "http://a.com?q"}, {"", "http://a.com#f"}, {"", "http://a.com?q#f"}, {"", "http://a.com/?q"}, {"", "HTTP://A.COM/B"}, {"", "hTTps://a.com"}, {"", "https://a.com:443/"}, {"", "http://a.com:80/"}, {"", "http://a.com:8080/x"}, {"", "http://a.com:"}, {"", "http://a.com:/x"}, {"", "http://a.com:0"}, {"", "http://a.com:65535"}, {"", "http://a.com:65536"}, {"", "http://a.com:99999"}, {"", "http://a.com:abc"}, {"", "http://a.com:-1"}, {"", "http://a.com:8 0"}, {"", "http://a.com:80:80"}, {"", "http://:80"}, {"", "http://"}, {"", "http:///a"}, {"", "http:/a"}, {"", "http:a"}, {"", "http:"}, {"", "://a"}, {"", "://a/b"}, {"", "//a.com/b"}, {"", "//a.com"}, {"", "a.com/b"}, {"", "a.com:80/b"}, {"", "a:b"}, {"", "/a"}, {"", "?a"},
	{"", "ftp://a/b"}, {"", "x-y+z.1://a/b"}, {"", "1x://a/b"}, {"", "x y://a/b"}, {"", "file:///etc/passwd"}, {"", "mailto:a@b"}, {"", "javascript:alert(1)"}, {"", "data:text/plain,hi"}, {"", "unix:/tmp/x"}, {"", "ws://a/b"}, {"", "http//a"}, {"", "http://a.com//b"}, {"", "http://a.com/../b"}, {"", "http://a.com\\b"}, {"", "http:\\\\a.com"}, {"", "http://a.com\\@b.com"},
	{"", "http://u@a.com/"}, {"", "http://u:p@a.com/"}, {"", "http://u:@a.com/"}, {"", "http://:p@a.com/"}, {"", "http://@a.com/"}, {"", "http://:@a.com/"}, {"", "http://u:p:q@a.com/"}, {"", "http://u@v@a.com/"}, {"", "http://u%40v:p%3aq@a.com/"}, {"", "http://u%zz@a.com/"}, {"", "http://ü:ö@a.com/"}, {"", "http://u p@a.com/"}, {"", "http://u/p@a.com/"}, {"", "http://u?p@a.com/"}, {"", "http://u#p@a.com/"}, {"", "http://u;p=1@a.com"}, {"", "http://u[1]@a.com"}, {"", "http://u\r\n@a.com"},
	{"", "http://[::1]/"}, {"", "http://[::1]:80/"}, {"", "http://[::1]:"}, {"", "http://[::1]:x"}, {"", "http://[::1]x"}, {"", "http://[::1"}, {"", "http://::1]/"}, {"", "http://::1/"}, {"", "http://[]/"}, {"", "http://[:]/"}, {"", "http://[1.2.3.4]/"}, {"", "http://[g::1]/"}, {"", "http://[::ffff:1.2.3.4]/"}, {"", "http://[fe80::1%25eth0]/"}, {"", "http://[fe80::1%eth0]/"}, {"", "http://[fe80::1%25]/"}, {"", "http://[fe80::1%25e%20h]/"}, {"", "http://[fe80::1%25é]:80/"}, {"", "http://[fe80::1%25eth0]:80/a"}, {"", "http://[FE80::ABCD]/"}, {"", "http://[::1][::2]/"}, {"", "http://[[::1]]/"}, {"", "http://[v1.abc]/"}, {"", "http://a[::1]/"}, {"", "http://[::1]@a/"}, {"", "http://u@[::1]/"}, {"", "http://[1:2:3:4:5:6:7:8:9]/"}, {"", "http://[::1%25a]b]/"}, {"", "http://[2001:db8::1/64]/"},
	{"", "http://1.2.3.4/"}, {"", "http://1.2.3/"}, {"", "http://256.1.1.1/"}, {"", "http://0x7f.1/"}, {"", "http://a_b.com/"}, {"", "http://-a.com/"}, {"", "http://a..b/"}, {"", "http://.a/"}, {"", "http://a./"}, {"", "http://é.com/"}, {"", "http://日本.jp/"}, {"", "http://%41.com/"}, {"", "http://%e9.com/"}, {"", "http://a%2fb.com/"}, {"", "http://a%00b/"}, {"", "http://a%20b/"}, {"", "http://a%zz/"}, {"", "http://a%/"}, {"", "http://a b/"}, {"", "http://a\tb/"}, {"", "http://a\r\nb/"}, {"", "http://a\x00b/"}, {"", "http://a\x7fb/"}, {"", "http://a\xffb/"}, {"", "http://a<b>/"}, {"", "http://a\"b/"}, {"", "http://a^b/"}, {"", "http://a|b/"}, {"", "http://a`b/"}, {"", "http://a{b}/"}, {"", "http://a,b/"}, {"", "http://a;b/"}, {"", "http://a=b/"}, {"", "http://a&b/"}, {"", "http://a!b$c'd(e)*+/"}, {"", "http://a~b/"}, {"", "http://a@/"}, {"", "http://a%25b/"},
	{"H.Com", "/x"}, {"h:80", "/x"}, {"u:p@h", "/x"}, {"h/x", "/y"}, {"h?x", "/y"}, {"h#x", "/y"}, {"h h", "/y"}, {"[::1]:80", "/y"}, {"[::1", "/y"}, {"[fe80::1%25eth0]", "/y"}, {"h:99999", "/y"}, {"h:x", "/y"}, {"é", "/y"}, {"h\r\nx", "/y"}, {"h%41", "/y"}, {"h%zz", "/y"}, {"h\x00", "/y"}, {":80", "/y"}, {"a.com", "//b.com/x"}, {"a.com", "://b.com/x"}, {"a.com", "https://b.com/x"}, {"a.com", "http:///x"}, {"a,b", "/"}, {"a@", "/"},
}

func dumpURI(c *report.Case, u *fasthttp.URI) {
	c.Bytes("scheme", u.Scheme())
	c.Bytes("username", u.Username())
	c.Bytes("password", u.Password())
	c.Bytes("host", u.Host())
	c.Bytes("path", u.Path())
	c.Bytes("path-original", u.PathOriginal())
	c.Bytes("query", u.QueryString())
	c.Bytes("hash", u.Hash())
	c.Bytes("last", u.LastPathSegment())
	c.Bytes("request-uri", u.RequestURI())
	c.Bytes("full", u.FullURI())
	if s := u.String(); s != string(u.FullURI()) {
		c.Str("string", s)
	}
	if b := u.AppendBytes([]byte("x")); string(b) != "x"+string(u.FullURI()) {
		c.Bytes("append", b)
	}
	var buf bytes.Buffer
	n, err := u.WriteTo(&buf)
	if n != int64(buf.Len()) || err != nil || buf.String() != u.String() {
		c.Str("write-to", fmt.Sprint(n, " ", err, " ", buf.String()))
	}
	c.Str("args", u.QueryArgs().String())
}

func parseURI(c *report.Case, u *fasthttp.URI, host, uri string) {
	var h []byte
	if host != "" {
		h = []byte(host)
	}
	err := u.Parse(h, []byte(uri))
	c.Err("err", err)
	if err == nil {
		dumpURI(c, u)
	}
}

func runURI() {
	for i, x := range targets {
		id := strconv.Itoa(i) + "-" + x.host + " " + x.uri
		report.Run("uri/"+id, func(c *report.Case) {
			var u fasthttp.URI
			parseURI(c, &u, x.host, x.uri)
		})
		if strings.ContainsAny(x.uri, ".%\\") || strings.Contains(x.uri, "//") {
			report.Run("uri-plain/"+id, func(c *report.Case) {
				u := fasthttp.URI{DisablePathNormalizing: true}
				parseURI(c, &u, x.host, x.uri)
			})
			report.Run("uri-as-is/"+id, func(c *report.Case) {
				var u fasthttp.URI
				if u.Parse([]byte(x.host), []byte(x.uri)) == nil {
					u.DisablePathNormalizing = true
					dumpURI(c, &u)
				}
			})
		}
	}
	for i := range 256 {
		s := string([]byte{'x', byte(i), 'y'})
		report.Run(fmt.Sprintf("uri-byte/path/%02x", i), func(c *report.Case) {
			var u fasthttp.URI
			parseURI(c, &u, "h", "/"+s)
		})
		report.Run(fmt.Sprintf("uri-byte/escape/%02x", i), func(c *report.Case) {
			var u fasthttp.URI
			parseURI(c, &u, "h", fmt.Sprintf("/x%%%02Xy?x%%%02xy", i, i))
		})
		report.Run(fmt.Sprintf("uri-byte/host/%02x", i), func(c *report.Case) {
			var u fasthttp.URI
			parseURI(c, &u, "", "http://"+s+"/z")
		})
		report.Run(fmt.Sprintf("uri-byte/user/%02x", i), func(c *report.Case) {
			var u fasthttp.URI
			parseURI(c, &u, "", "http://"+s+"@h/z")
		})
		report.Run(fmt.Sprintf("uri-byte/set/%02x", i), func(c *report.Case) {
			var u fasthttp.URI
			u.SetScheme("x" + s)
			u.SetHost(s)
			u.SetPath("/" + s)
			u.SetQueryString(s)
			u.SetHash(s)
			u.SetUsername(s)
			u.SetPassword(s)
			dumpURI(c, &u)
		})
	}
	runURISetters()
	runURIUpdates()
}
