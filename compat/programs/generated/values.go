package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/gen"
	"github.com/valyala/fasthttp/compat/internal/report"
)

func query(s *gen.Source) string {
	text := func() string {
		return s.Join(0, 3, "", func() string {
			return s.Pick(s.Word(), s.Word(), "%20", "+", "%C3%A9", "é", "%26", "%3D", "-._~", "!$'()*,;:@/?", "0", "1.5", "true")
		})
	}
	return s.Join(0, 6, "&", func() string { return s.Pick("a", "b", text()) + s.Maybe(85, "="+text()) })
}

var queryPieces = []string{"%", "%%", "%4", "%zz", "%00", "%0a", "&", "&&", "=", "==", "+", ";", "#", "?", "\x00", "\r\n", "\xff", "\xc3", "日本", "\"", " ", "<"}

func runArgs() {
	each("args", 1500, query, queryPieces, nil, func(c *report.Case, in string) {
		var a, b fasthttp.Args
		a.Parse(in)
		first := ""
		var pairs []string
		for k, v := range a.All() {
			if first == "" {
				first = string(k)
			}
			pairs = append(pairs, report.Pair(k, v))
		}
		c.Pairs("all", pairs)
		c.Str("string", a.String())
		c.Bytes("peek", a.Peek(first))
		c.List("multi", a.PeekMulti("a"))
		c.Val("bool", a.GetBool("b"))
		n, err := a.GetUint("a")
		c.Val("uint", n)
		c.Err("uint-err", err)
		f, err := a.GetUfloat("b")
		c.Val("ufloat", f)
		c.Err("ufloat-err", err)
		b.ParseBytes(a.QueryString())
		c.Str("again", b.String())
		a.Set("a", in)
		a.Add("new", "&=+%")
		a.Del(first)
		a.AddNoValue("none")
		c.Str("changed", a.String())
		a.Sort(bytes.Compare)
		c.Str("sorted", a.String())
	})
}

func target(s *gen.Source) string {
	segment := func() string {
		return s.Pick(s.Word(), s.Word(), s.Word(), "", ".", "..", "%2e%2e", "a%2fb", "é", "%c3%a9", "a b", "a+b", "x;y=z", "@:", "~")
	}
	text := s.Maybe(70, "/") + s.Join(0, 5, "/", segment) + s.Maybe(40, "?"+query(s)) + s.Maybe(20, "#"+s.Word())
	if s.Chance(50) {
		return text
	}
	host := s.Pick(s.Word()+".com", "EXAMPLE.com", "1.2.3.4", "[::1]", "[2001:db8::1]", "localhost", "a-b.c_d", "xn--bcher-kva.de")
	user := s.Maybe(15, s.Word()+s.Maybe(50, ":"+s.Word())+"@")
	port := s.Maybe(30, ":"+s.Pick("80", "443", "8080", "1", "65535"))
	return s.Pick("http", "https", "HTTP", "ws", "x-y") + "://" + user + host + port + s.Maybe(80, "/"+strings.TrimPrefix(text, "/"))
}

var targetPieces = []string{"%", "%4", "%zz", "%00", "/", "//", "/../", "/./", "..", "\\", "?", "#", "@", ":", "://", "[", "]", "&", "=", " ", "\x00", "\r\n", "\x7f", "\xff", "é", "\"", "<", "^", ":99999", ":0", ".", "%25"}

func runURI() {
	each("uri", 2000, target, targetPieces, targetTags, func(c *report.Case, in string) {
		var u fasthttp.URI
		err := u.Parse([]byte("base.com"), []byte(in))
		c.Err("err", err)
		if err == nil {
			dumpURI(c, &u)
			var again fasthttp.URI
			c.Val("again", again.Parse(nil, u.FullURI()) == nil && string(again.FullURI()) == u.String())
		}
	})
	s := gen.New("references")
	each("update", 1000, target, targetPieces, referenceTags, func(c *report.Case, in string) {
		var u fasthttp.URI
		base := s.Pick("http://base.com/a/b?q#f", "https://base.com", "http://base.com:8080/a/", "http://base.com/a/b/c/d;e?f=g&h")
		c.Str("base", base)
		if err := u.Parse(nil, []byte(base)); err != nil {
			c.Err("base-err", err)
			return
		}
		u.UpdateBytes([]byte(in))
		dumpURI(c, &u)
	})
}

func dumpURI(c *report.Case, u *fasthttp.URI) {
	c.Bytes("scheme", u.Scheme())
	c.Bytes("user", u.Username())
	c.Bytes("password", u.Password())
	c.Bytes("host", u.Host())
	c.Bytes("path", u.Path())
	c.Bytes("original", u.PathOriginal())
	c.Bytes("query", u.QueryString())
	c.Bytes("hash", u.Hash())
	c.Bytes("last", u.LastPathSegment())
	c.Bytes("request-uri", u.RequestURI())
	c.Bytes("full", u.FullURI())
	c.Str("args", u.QueryArgs().String())
}

func setCookie(s *gen.Source) string {
	date := func() string { return httpDate(s) }
	return s.Word() + "=" + s.Pick(s.Word(), "\""+s.Word()+"\"", s.Word()+"="+s.Word(), "") + s.Join(0, 5, "", func() string {
		return s.Pick("; ", ";", " ; ", ";  ") + s.Pick("path=/"+s.Word(), "Path=/", "domain="+s.Word()+".com", "Domain=.x.org", "max-age="+s.Pick("0", "10", "3600", "-1", "x"), "expires="+date(), "secure", "Secure", "HttpOnly", "httponly", "SameSite=Lax", "samesite=strict", "SameSite=None", "SameSite", "Partitioned", "priority=high", s.Word(), "")
	})
}

var cookiePieces = []string{";", "; ", "=", "==", " ", "\"", ",", "\t", "\x00", "\r\n", "\x7f", "\xff", "é", "%41", "; secure", "; path=", "; max-age=", "; =x", ";;"}

func runCookies() {
	each("set-cookie", 1500, setCookie, cookiePieces, cookieTags, func(c *report.Case, in string) {
		var k fasthttp.Cookie
		err := k.Parse(in)
		c.Err("err", err)
		if err == nil {
			c.Str("key", string(k.Key()))
			c.Str("value", string(k.Value()))
			c.Val("rest", fmt.Sprint(string(k.Path()), " ", string(k.Domain()), " ", k.MaxAge(), " ", k.Expire().UTC().Format(time.RFC3339), " ", k.Secure(), k.HTTPOnly(), k.SameSite(), k.Partitioned()))
			c.Str("string", k.String())
		}
		var h fasthttp.ResponseHeader
		h.Set("Set-Cookie", in)
		for name, value := range h.Cookies() {
			c.Str("set-as", report.Pair(name, value))
		}
	})
	pair := func(s *gen.Source) string {
		return s.Join(0, 5, s.Pick("; ", ";", "; "), func() string {
			return s.Pick("a", "b", s.Word()) + s.Maybe(90, "="+s.Pick(s.Word(), "\""+s.Word()+"\"", ""))
		})
	}
	each("cookie", 1000, pair, cookiePieces, cookieTags, func(c *report.Case, in string) {
		var h fasthttp.RequestHeader
		h.Set("Cookie", in)
		c.Pairs("all", report.PairsOf(h.Cookies()))
		c.Bytes("a", h.Cookie("a"))
		c.Bytes("field", h.Peek("Cookie"))
		h.SetCookie("b", "new")
		h.DelCookie("a")
		// The order of the remaining pairs is not documented.
		c.Sorted("changed", report.PairsOf(h.Cookies()))
	})
}
