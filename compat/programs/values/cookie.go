package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/ops"
	"github.com/valyala/fasthttp/compat/internal/report"
)

var setCookies = []string{
	"", "a", "a=", "=a", "=", "a=b", "a=b;", "a=b; ", ";", ";;", "; a=b", " a=b", "a=b ", "a = b", " a = b ; path = / ", "a=b=c", "a==b", "a=\"b\"", "a=\"b c\"", "a=\"b;c\"", "a=\"b", "a=b\"", "a=\"\"", "a=\"", "a=b c", "a=b,c", "a,b=c", "a=b\\c", "a=é", "é=a", "a=%41", "a\tb=c", "a=b\tc", "a=b\x00c", "a=b\r\nc", "a=b\nc", "a=\x7f", "a=\xff",
	"a=b; path=/", "a=b; Path=/x", "a=b; PATH=/x/y", "a=b; path=", "a=b; path", "a=b; path=x", "a=b; path=/a;path=/b", "a=b; path=\"/x\"", "a=b; path=/a b", "a=b; path=/é", "a=b; path=/%41/../x", "a=b;path=/x", "a=b;  path=/x  ; secure",
	"a=b; domain=x.com", "a=b; Domain=.x.com", "a=b; domain=", "a=b; domain=X.COM", "a=b; domain=a.com; domain=b.com", "a=b; domain=x y", "a=b; domain",
	"a=b; max-age=10", "a=b; Max-Age=0", "a=b; max-age=-1", "a=b; max-age=", "a=b; max-age=x", "a=b; max-age=99999999999999999999", "a=b; max-age=1.5", "a=b; max-age=+5", "a=b; max-age=007", "a=b; max-age=\"5\"", "a=b; max-age= 5 ", "a=b; max-age=2147483648", "a=b; max-age=5; max-age=6", "a=b; maxage=5",
	"a=b; expires=Mon, 02 Jan 2006 15:04:05 GMT", "a=b; expires=Mon, 02-Jan-2006 15:04:05 GMT", "a=b; expires=Monday, 02-Jan-06 15:04:05 GMT", "a=b; expires=Mon Jan  2 15:04:05 2006", "a=b; expires=Mon, 2 Jan 2006 15:04:05 GMT", "a=b; expires=Mon, 02 Jan 2006 15:04:05 UTC", "a=b; expires=Mon, 02 Jan 2006 15:04:05 +0100", "a=b; expires=garbage", "a=b; expires=", "a=b; expires", "a=b; expires=0", "a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=b; expires=Tue, 10 Nov 2009 23:00:00 GMT", "a=b; expires=mon, 02 jan 2006 15:04:05 gmt", "a=b; expires=Mon, 02 Jan 10000 15:04:05 GMT", "a=b; expires=\"Mon, 02 Jan 2006 15:04:05 GMT\"", "a=b; expires=Mon, 32 Jan 2006 15:04:05 GMT", "a=b; expires=Mon, 02 Jan 2006 15:04:05 GMT; max-age=5",
	"a=b; secure", "a=b; Secure", "a=b; SECURE=x", "a=b; secure=", "a=b;secure", "a=b; xsecure", "a=b; httponly", "a=b; HttpOnly", "a=b; httponly=1", "a=b; http-only", "a=b; HttpOnly; Secure",
	"a=b; samesite", "a=b; SameSite=Lax", "a=b; samesite=lax", "a=b; SameSite=STRICT", "a=b; samesite=none", "a=b; SameSite=None; Secure", "a=b; samesite=", "a=b; samesite=foo", "a=b; samesite=lax; samesite=strict", "a=b; samesite=default", "a=b; samesite=\"lax\"",
	"a=b; partitioned", "a=b; Partitioned; Secure; path=/", "a=b; partitioned=1", "a=b; Partitioned; path=/x",
	"a=b; foo", "a=b; foo=bar", "a=b; priority=high", "a=b; =x", "a=b; ; ;secure", "a=b, c=d", "a=b; Path=/; Domain=x.com; Max-Age=5; Expires=Mon, 02 Jan 2006 15:04:05 GMT; Secure; HttpOnly; SameSite=Strict; Partitioned",
	"__Host-a=b; secure; path=/", "__Secure-a=b", "a=" + strings.Repeat("x", 5000), strings.Repeat("n", 300) + "=v",
}

func dumpCookie(c *report.Case, k *fasthttp.Cookie) {
	c.Bytes("key", k.Key())
	c.Bytes("value", k.Value())
	c.Bytes("path", k.Path())
	c.Bytes("domain", k.Domain())
	c.Val("max-age", k.MaxAge())
	c.Str("expire", k.Expire().UTC().Format(time.RFC3339))
	c.Val("flags", fmt.Sprint("secure=", k.Secure(), " httponly=", k.HTTPOnly(), " samesite=", int(k.SameSite()), " partitioned=", k.Partitioned()))
	c.Str("string", k.String())
	if s := string(k.Cookie()); s != k.String() {
		c.Str("cookie", s)
	}
	if b := k.AppendBytes([]byte("x")); string(b) != "x"+k.String() {
		c.Bytes("append", b)
	}
	var buf bytes.Buffer
	n, err := k.WriteTo(&buf)
	if n != int64(buf.Len()) || err != nil || buf.String() != k.String() {
		c.Str("write-to", fmt.Sprint(n, " ", err, " ", buf.String()))
	}
}

func runCookie() {
	for i, s := range setCookies {
		id := strconv.Itoa(i) + "-" + s
		if len(s) > 250 {
			id = strconv.Itoa(i) + "-long"
		}
		report.Run("cookie/"+id, func(c *report.Case) {
			var k fasthttp.Cookie
			err := k.Parse(s)
			c.Err("err", err)
			if err == nil {
				dumpCookie(c, &k)
				var copied fasthttp.Cookie
				k.CopyTo(&copied)
				if copied.String() != k.String() {
					c.Str("copy", copied.String())
				}
				var again fasthttp.Cookie
				c.Err("again-err", again.Parse(k.String()))
				c.Str("again", again.String())
			}
		})
	}
	for _, x := range cookieSequences {
		report.Run("cookie-seq/"+x.ID, func(c *report.Case) {
			var k fasthttp.Cookie
			cookieCalls.Play(c, &k, x.Ops, func(i int) { c.Str(fmt.Sprintf("%d.string", i), k.String()) })
			dumpCookie(c, &k)
		})
	}
	for i := range 256 {
		s := string([]byte{'x', byte(i), 'y'})
		report.Run(fmt.Sprintf("cookie-byte/%02x", i), func(c *report.Case) {
			for _, setter := range []string{"Key", "Value", "Path", "Domain"} {
				var k fasthttp.Cookie
				k.SetKey("k")
				k.SetValue("v")
				cookieCalls.Apply(&k, ops.Op{setter, s})
				c.Str("set-"+setter, k.String())
			}
			var k fasthttp.Cookie
			// The state of a cookie after a failed call is not specified.
			err := k.Parse(s + "=" + s + "; path=/" + s + "; domain=" + s)
			c.Err("parse-err", err)
			if err == nil {
				c.Str("parse", k.String())
			}
		})
	}
}

var cookieSequences = []ops.Sequence{
	{"zero", nil},
	{"plain", []ops.Op{{"Key", "a"}, {"Value", "b"}, {"Path", "/x"}, {"Domain", "d.com"}, {"Secure", "1"}, {"HTTPOnly", "1"}, {"MaxAge", "5"}}},
	{"key-empty", []ops.Op{{"Value", "b"}, {"Secure", "1"}}},
	{"value-empty", []ops.Op{{"Key", "a"}, {"Path", "/"}}},
	{"path", []ops.Op{{"Key", "a"}, {"Path", "x"}, {"Path", "/a/../b"}, {"Path", "/a;b"}, {"Path", "/a b"}, {"Path", "/é"}, {"Path", "/a\r\nb"}, {"Path", "/%41"}, {"Path", ""}, {"Path", "//a"}}},
	{"domain", []ops.Op{{"Key", "a"}, {"Domain", "X.com"}, {"Domain", "a;b"}, {"Domain", "a\r\nb"}, {"Domain", ""}, {"Domain", ".x"}}},
	{"hostile-value", []ops.Op{{"Key", "a"}, {"Value", "b;c"}, {"Value", "b\r\nc"}, {"Value", "b\x00c"}, {"Value", "\"q\""}, {"Value", "a,b c"}, {"Value", "é"}}},
	{"hostile-key", []ops.Op{{"Value", "v"}, {"Key", "a;b"}, {"Key", "a=b"}, {"Key", "a\r\nb"}, {"Key", "a b"}, {"Key", "a\x00"}}},
	{"max-age", []ops.Op{{"Key", "a"}, {"MaxAge", "0"}, {"MaxAge", "-1"}, {"MaxAge", "-100"}, {"MaxAge", "10"}, {"MaxAge", "0"}}},
	{"expire", []ops.Op{{"Key", "a"}, {"Expire", "0"}, {"Expire", "1257894000"}, {"Expire", "1700000000"}, {"Expire", "-1"}, {"ExpireZero"}, {"ExpireDelete"}, {"ExpireUnlimited"}}},
	{"expire-and-age", []ops.Op{{"Key", "a"}, {"Expire", "1700000000"}, {"MaxAge", "5"}, {"MaxAge", "0"}, {"MaxAge", "-5"}}},
	{"samesite", []ops.Op{{"Key", "a"}, {"SameSite", "0"}, {"SameSite", "1"}, {"SameSite", "2"}, {"SameSite", "3"}, {"SameSite", "4"}, {"SameSite", "2"}, {"SameSite", "5"}, {"SameSite", "-1"}}},
	{"samesite-none-insecure", []ops.Op{{"Key", "a"}, {"SameSite", "4"}, {"Secure", "0"}}},
	{"partitioned", []ops.Op{{"Key", "a"}, {"Partitioned", "1"}, {"Secure", "0"}, {"Path", "/x"}, {"Partitioned", "0"}}},
	{"secure-off", []ops.Op{{"Key", "a"}, {"Secure", "1"}, {"Secure", "0"}, {"HTTPOnly", "1"}, {"HTTPOnly", "0"}}},
	{"parse-resets", []ops.Op{{"Key", "a"}, {"Path", "/x"}, {"Secure", "1"}, {"MaxAge", "5"}, {"Parse", "z=y"}}},
	{"parse-fails", []ops.Op{{"Key", "a"}, {"Value", "v"}, {"Parse", "z=y; max-age=x"}}},
	{"reset", []ops.Op{{"Key", "a"}, {"Value", "v"}, {"Secure", "1"}, {"SameSite", "2"}, {"Partitioned", "1"}, {"Reset"}}},
}

var cookieCalls = ops.Set{
	"Key":             (*fasthttp.Cookie).SetKey,
	"Value":           (*fasthttp.Cookie).SetValue,
	"Path":            (*fasthttp.Cookie).SetPath,
	"Domain":          (*fasthttp.Cookie).SetDomain,
	"Secure":          (*fasthttp.Cookie).SetSecure,
	"HTTPOnly":        (*fasthttp.Cookie).SetHTTPOnly,
	"Partitioned":     (*fasthttp.Cookie).SetPartitioned,
	"MaxAge":          (*fasthttp.Cookie).SetMaxAge,
	"Expire":          func(k *fasthttp.Cookie, seconds int) { k.SetExpire(time.Unix(int64(seconds), 0)) },
	"ExpireZero":      func(k *fasthttp.Cookie) { k.SetExpire(time.Time{}) },
	"ExpireDelete":    func(k *fasthttp.Cookie) { k.SetExpire(fasthttp.CookieExpireDelete) },
	"ExpireUnlimited": func(k *fasthttp.Cookie) { k.SetExpire(fasthttp.CookieExpireUnlimited) },
	"SameSite":        (*fasthttp.Cookie).SetSameSite,
	"Reset":           (*fasthttp.Cookie).Reset,
	"Parse":           (*fasthttp.Cookie).Parse,
}
