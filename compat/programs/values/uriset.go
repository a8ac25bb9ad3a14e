package main

import (
	"fmt"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/ops"
	"github.com/valyala/fasthttp/compat/internal/report"
)

var uriSequences = []ops.Sequence{
	{"zero", nil},
	{"scheme", []ops.Op{{"Scheme", "HTTPS"}, {"Scheme", "x y"}, {"Scheme", ""}, {"Scheme", "a\r\nb"}}},
	{"host", []ops.Op{{"Host", "A.com:80"}, {"Host", ""}, {"Host", "a b"}, {"Host", "u@h"}, {"Host", "[::1]"}, {"Host", "a\r\nb"}, {"Host", "a/b?c#d"}, {"Host", "É"}}},
	{"path", []ops.Op{{"Path", "/a/../b"}, {"Path", "a"}, {"Path", ""}, {"Path", "//a"}, {"Path", "/a%20b c"}, {"Path", "/a?b#c"}, {"Path", "/é"}, {"Path", "/%zz"}, {"Path", "/\r\n"}, {"Path", "/a%2fb"}, {"Path", "/a+b"}, {"Path", "/a/./b//c/"}, {"Path", "*"}}},
	{"query", []ops.Op{{"Query", "a=b"}, {"Query", "?a"}, {"Query", "a b"}, {"Query", "a#b"}, {"Query", "é"}, {"Query", "\r\n"}, {"Query", ""}}},
	{"hash", []ops.Op{{"Hash", "a"}, {"Hash", "#a"}, {"Hash", "a b"}, {"Hash", "\r\n"}, {"Hash", ""}}},
	{"user", []ops.Op{{"Username", "u"}, {"Password", "p"}, {"Username", "u:v@w/x"}, {"Password", "p:q@r"}, {"Username", ""}, {"Password", ""}}},
	{"query-args", []ops.Op{{"Query", "a=1&b=2"}, {"ArgSet", "a", "3"}, {"ArgAdd", "c", "é &="}, {"ArgDel", "b"}, {"Query", "z=1"}, {"ArgSet", "y", "2"}}},
	{"args-emptied", []ops.Op{{"Query", "a=1"}, {"ArgDel", "a"}}},
	{"args-raw-kept", []ops.Op{{"Parse", "/a?x=%zz&y=+%20"}, {"ArgPeek", "x"}, {"ArgPeek", "y"}}},
	{"copy", []ops.Op{{"Parse", "http://u:p@h:1/a/../b?c=d#e"}, {"Copy"}}},
	{"copy-args", []ops.Op{{"Parse", "http://h/a?c=d"}, {"ArgSet", "c", "x"}, {"Copy"}}},
	{"copy-flag", []ops.Op{{"Plain"}, {"Parse", "http://h/a/../b"}, {"Copy"}, {"Path", "/x/../y"}}},
	{"reset", []ops.Op{{"Plain"}, {"Parse", "http://u:p@h/a?b#c"}, {"Reset"}, {"Path", "/x/../y"}}},
	{"plain-path", []ops.Op{{"Plain"}, {"Path", "/x/../y"}, {"Path", "a b"}, {"Path", "/é"}, {"Path", ""}, {"Path", "//"}, {"Path", "/a%20b"}, {"Path", "/a?b"}}},
	{"parse-then-set", []ops.Op{{"Parse", "http://h/a/b?c#d"}, {"Path", "/new path"}, {"Host", "g"}, {"Scheme", "https"}}},
	{"parse-twice", []ops.Op{{"Parse", "http://u:p@h/a/b?c=1#d"}, {"ArgPeek", "c"}, {"Parse", "/x"}, {"ArgPeek", "c"}}},
}

var uriCalls = ops.Set{
	"Scheme":   (*fasthttp.URI).SetScheme,
	"Host":     (*fasthttp.URI).SetHost,
	"Path":     (*fasthttp.URI).SetPath,
	"Query":    (*fasthttp.URI).SetQueryString,
	"Hash":     (*fasthttp.URI).SetHash,
	"Username": (*fasthttp.URI).SetUsername,
	"Password": (*fasthttp.URI).SetPassword,
	"ArgSet":   func(u *fasthttp.URI, a, b string) { u.QueryArgs().Set(a, b) },
	"ArgAdd":   func(u *fasthttp.URI, a, b string) { u.QueryArgs().Add(a, b) },
	"ArgDel":   func(u *fasthttp.URI, a string) { u.QueryArgs().Del(a) },
	"ArgPeek":  func(u *fasthttp.URI, a string) []byte { return u.QueryArgs().Peek(a) },
	"Plain":    func(u *fasthttp.URI) { u.DisablePathNormalizing = true },
	"Copy": func(u *fasthttp.URI) {
		var v fasthttp.URI
		u.CopyTo(&v)
		v.CopyTo(u)
	},
	"Reset":  (*fasthttp.URI).Reset,
	"Parse":  func(u *fasthttp.URI, raw []byte) error { return u.Parse(nil, raw) },
	"Update": (*fasthttp.URI).Update,
}

func runURISetters() {
	for _, x := range uriSequences {
		report.Run("uri-seq/"+x.ID, func(c *report.Case) {
			var u fasthttp.URI
			uriCalls.Play(c, &u, x.Ops, func(i int) {
				c.Str(fmt.Sprintf("%d.full", i), u.String())
				c.Str(fmt.Sprintf("%d.request", i), string(u.RequestURI()))
				c.Str(fmt.Sprintf("%d.path", i), string(u.Path()))
			})
			dumpURI(c, &u)
		})
	}
}

func runURIUpdates() {
	bases := []string{"http://a.com/b/c/d?q=1#f", "https://u:p@a.com:8443/", "http://a.com", "/x/y"}
	refs := []string{"", "e", "./e", "../e", "../../e", "../../../e", "/e", "/e/../f", "//b.com/e", "//b.com", "http://b.com/e", "https://b.com", "HTTPS://B.com/x", "?r=2", "?", "#g", "#", "e?r=2", "e#g", "e?r#g", "?r#g", ".", "..", "./", "../", "e/", "e/./f", "e/../f", ";x", "e:f", "g:h", "mailto:a@b", "://b.com/e", ":", "\\e", "\\\\b.com", "/\\b.com", "e f", "%65", "/é", "/a\r\nb", "http://", "http:///x", "http://u:p@b.com/", "//[::1]/x", "//[::1", "http://b com/", "?a=b/../c", "/e?x=/../y", "e//f", "//", "///e", "*"}
	for i, base := range bases {
		for j, ref := range refs {
			report.Run(fmt.Sprintf("update/%d.%d-%s + %s", i, j, base, ref), func(c *report.Case) {
				var u fasthttp.URI
				c.Err("err", u.Parse(nil, []byte(base)))
				u.QueryArgs()
				u.Update(ref)
				dumpURI(c, &u)
			})
		}
	}
	for j, ref := range refs {
		report.Run(fmt.Sprintf("update-plain/%d-%s", j, ref), func(c *report.Case) {
			u := fasthttp.URI{DisablePathNormalizing: true}
			c.Err("err", u.Parse(nil, []byte("http://a.com/b/../c/d?q=1")))
			u.Update(ref)
			dumpURI(c, &u)
		})
	}
}
