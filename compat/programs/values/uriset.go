package main

import (
	"fmt"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

var uriSequences = []struct {
	id  string
	ops [][]string
}{
	{"zero", nil},
	{"scheme", [][]string{{"Scheme", "HTTPS"}, {"Scheme", "x y"}, {"Scheme", ""}, {"Scheme", "a\r\nb"}}},
	{"host", [][]string{{"Host", "A.com:80"}, {"Host", ""}, {"Host", "a b"}, {"Host", "u@h"}, {"Host", "[::1]"}, {"Host", "a\r\nb"}, {"Host", "a/b?c#d"}, {"Host", "É"}}},
	{"path", [][]string{{"Path", "/a/../b"}, {"Path", "a"}, {"Path", ""}, {"Path", "//a"}, {"Path", "/a%20b c"}, {"Path", "/a?b#c"}, {"Path", "/é"}, {"Path", "/%zz"}, {"Path", "/\r\n"}, {"Path", "/a%2fb"}, {"Path", "/a+b"}, {"Path", "/a/./b//c/"}, {"Path", "*"}}},
	{"query", [][]string{{"Query", "a=b"}, {"Query", "?a"}, {"Query", "a b"}, {"Query", "a#b"}, {"Query", "é"}, {"Query", "\r\n"}, {"Query", ""}}},
	{"hash", [][]string{{"Hash", "a"}, {"Hash", "#a"}, {"Hash", "a b"}, {"Hash", "\r\n"}, {"Hash", ""}}},
	{"user", [][]string{{"Username", "u"}, {"Password", "p"}, {"Username", "u:v@w/x"}, {"Password", "p:q@r"}, {"Username", ""}, {"Password", ""}}},
	{"query-args", [][]string{{"Query", "a=1&b=2"}, {"ArgSet", "a", "3"}, {"ArgAdd", "c", "é &="}, {"ArgDel", "b"}, {"Query", "z=1"}, {"ArgSet", "y", "2"}}},
	{"args-emptied", [][]string{{"Query", "a=1"}, {"ArgDel", "a"}}},
	{"args-raw-kept", [][]string{{"Parse", "/a?x=%zz&y=+%20"}, {"ArgPeek", "x"}, {"ArgPeek", "y"}}},
	{"copy", [][]string{{"Parse", "http://u:p@h:1/a/../b?c=d#e"}, {"Copy"}}},
	{"copy-args", [][]string{{"Parse", "http://h/a?c=d"}, {"ArgSet", "c", "x"}, {"Copy"}}},
	{"copy-flag", [][]string{{"Plain"}, {"Parse", "http://h/a/../b"}, {"Copy"}, {"Path", "/x/../y"}}},
	{"reset", [][]string{{"Plain"}, {"Parse", "http://u:p@h/a?b#c"}, {"Reset"}, {"Path", "/x/../y"}}},
	{"plain-path", [][]string{{"Plain"}, {"Path", "/x/../y"}, {"Path", "a b"}, {"Path", "/é"}, {"Path", ""}, {"Path", "//"}, {"Path", "/a%20b"}, {"Path", "/a?b"}}},
	{"parse-then-set", [][]string{{"Parse", "http://h/a/b?c#d"}, {"Path", "/new path"}, {"Host", "g"}, {"Scheme", "https"}}},
	{"parse-twice", [][]string{{"Parse", "http://u:p@h/a/b?c=1#d"}, {"ArgPeek", "c"}, {"Parse", "/x"}, {"ArgPeek", "c"}}},
}

func applyURI(u *fasthttp.URI, o []string) string {
	switch o[0] {
	case "Scheme":
		u.SetScheme(o[1])
	case "Host":
		u.SetHost(o[1])
	case "Path":
		u.SetPath(o[1])
	case "Query":
		u.SetQueryString(o[1])
	case "Hash":
		u.SetHash(o[1])
	case "Username":
		u.SetUsername(o[1])
	case "Password":
		u.SetPassword(o[1])
	case "ArgSet":
		u.QueryArgs().Set(o[1], o[2])
	case "ArgAdd":
		u.QueryArgs().Add(o[1], o[2])
	case "ArgDel":
		u.QueryArgs().Del(o[1])
	case "ArgPeek":
		return string(u.QueryArgs().Peek(o[1]))
	case "Plain":
		u.DisablePathNormalizing = true
	case "Copy":
		var v fasthttp.URI
		u.CopyTo(&v)
		v.CopyTo(u)
	case "Reset":
		u.Reset()
	case "Parse":
		return report.ErrClass(u.Parse(nil, []byte(o[1])))
	case "Update":
		u.Update(o[1])
	default:
		panic("unknown operation " + o[0])
	}
	return ""
}

func runURISetters() {
	for _, x := range uriSequences {
		report.Run("uri-seq/"+x.id, func(c *report.Case) {
			var u fasthttp.URI
			for i, o := range x.ops {
				if r := applyURI(&u, o); r != "" {
					c.Str(fmt.Sprintf("%d.%s", i, o[0]), r)
				}
				c.Str(fmt.Sprintf("%d.full", i), u.String())
				c.Str(fmt.Sprintf("%d.request", i), string(u.RequestURI()))
				c.Str(fmt.Sprintf("%d.path", i), string(u.Path()))
			}
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
