package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

func runHelpers() {
	for _, n := range []int{0, 1, 9, 10, 99, 100, 12345, 1 << 31, 1<<63 - 1, -1, -1 << 63} {
		report.Run(fmt.Sprint("append-uint/", n), func(c *report.Case) { c.Bytes("out", fasthttp.AppendUint([]byte("x"), n)) })
	}
	numbers := []string{"", "0", "1", "00", "007", "12345", "9223372036854775807", "9223372036854775808", "18446744073709551616", "99999999999999999999999", "-1", "+1", " 1", "1 ", "1a", "a1", "0x1", "1_0", "1.5", ".5", "5.", ".", "1.5.2", "1e3", "1E3", "1e+3", "1e-3", "1e", "e3", "1e400", "1.5e-400", "NaN", "inf", "1,5", "1\x00", "٣", "0.1", "123456789.123456789", "0.000000000000000000001", "1.", "-0", "1e1.5", "1-", "1e--1", "3.14159265358979323846264338327950288", "179769313486231570000000000000000000000", "1ee2", "1e2e3"}
	for i, s := range numbers {
		report.Run(fmt.Sprintf("number/%d-%s", i, s), func(c *report.Case) {
			n, err := fasthttp.ParseUint([]byte(s))
			c.Val("uint", n)
			c.Err("uint-err", err)
			f, err := fasthttp.ParseUfloat([]byte(s))
			c.Val("ufloat", strconv.FormatFloat(f, 'g', 12, 64))
			c.Err("ufloat-err", err)
		})
	}
	for i, ip := range []net.IP{nil, net.IPv4(1, 2, 3, 4), net.IPv4(0, 0, 0, 0), net.IPv4(255, 255, 255, 255), net.ParseIP("::1"), net.ParseIP("::ffff:1.2.3.4"), {1, 2, 3, 4}, {1, 2, 3}} {
		report.Run(fmt.Sprintf("append-ipv4/%d-%s", i, ip), func(c *report.Case) { c.Bytes("out", fasthttp.AppendIPv4([]byte("x"), ip)) })
	}
	ips := []string{"", "1.2.3.4", "0.0.0.0", "255.255.255.255", "256.1.1.1", "1.2.3", "1.2.3.4.5", "1.2.3.", ".1.2.3", "1..2.3", "a.b.c.d", "1.2.3.4x", "01.02.03.04", "1.2.3.0004", " 1.2.3.4", "1.2.3.4 ", "::1", "-1.2.3.4", "1.2.3.4:80", "1.2.3.99999999999999999999", "0x1.2.3.4", "1,2.3.4"}
	for _, s := range ips {
		report.Run("parse-ipv4/"+s, func(c *report.Case) {
			ip, err := fasthttp.ParseIPv4(nil, []byte(s))
			c.Err("err", err)
			if err == nil {
				c.Str("ip", ip.String())
			}
		})
	}
	for i, t := range []time.Time{{}, time.Unix(0, 0), time.Unix(1257894000, 0), time.Unix(1700000000, 999999999), time.Date(2024, 2, 29, 23, 59, 60, 0, time.FixedZone("x", 3600)), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)} {
		report.Run(fmt.Sprintf("append-date/%d", i), func(c *report.Case) { c.Bytes("out", fasthttp.AppendHTTPDate([]byte("x"), t)) })
	}
	dates := []string{"", "Tue, 10 Nov 2009 23:00:00 GMT", "Mon, 10 Nov 2009 23:00:00 GMT", "Tue, 10 Nov 2009 23:00:00 UTC", "Tue, 10 Nov 2009 23:00:00 +0100", "Tue, 10 Nov 2009 23:00:00", "Tuesday, 10-Nov-09 23:00:00 GMT", "Tue Nov 10 23:00:00 2009", "tue, 10 nov 2009 23:00:00 gmt", "Tue, 31 Feb 2009 23:00:00 GMT", "Tue, 10 Nov 2009 24:00:00 GMT", "Tue, 10 Nov 2009 23:60:00 GMT", "Tue, 10 Nov 2009 23:00:60 GMT", "Tue, 1 Nov 2009 23:00:00 GMT", "Tue, 10 Nov 09 23:00:00 GMT", " Tue, 10 Nov 2009 23:00:00 GMT", "Tue, 10 Nov 2009 23:00:00 GMT ", "Tue, 10 Nov 2009 23:00:00 GMTx", "garbage", "0", "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "2009-11-10T23:00:00Z", "Tue, 10 Xyz 2009 23:00:00 GMT", "Xxx, 10 Nov 2009 23:00:00 GMT", "Tue,10 Nov 2009 23:00:00 GMT", "Tue, 10 Nov 2009 23:00:00.5 GMT", "Tue, 29 Feb 2024 00:00:00 GMT", "Thu, 29 Feb 2023 00:00:00 GMT", "Sat, 01 Jan 0000 00:00:00 GMT"}
	for i, s := range dates {
		report.Run(fmt.Sprintf("parse-date/%d-%s", i, s), func(c *report.Case) {
			t, err := fasthttp.ParseHTTPDate([]byte(s))
			c.Err("err", err)
			if err == nil {
				c.Str("time", t.UTC().Format(time.RFC3339Nano))
				c.Str("zone", t.Location().String())
			}
		})
	}
	runRanges()
	for code := -1; code <= 1000; code++ {
		report.Run(fmt.Sprintf("status/%d", code), func(c *report.Case) {
			c.Str("message", fasthttp.StatusMessage(code))
			if fasthttp.StatusCodeIsRedirect(code) {
				c.Str("redirect", "true")
			}
		})
	}
	addrs := []string{"", "a", "a:80", "a:", "a.com", "a.com:8080", "1.2.3.4", "1.2.3.4:1", "::1", "[::1]", "[::1]:80", "[::1]:", "[fe80::1%eth0]", "fe80::1%eth0", ":80", ":", "[", "]", "[]", "a:b:c", "a b", "é", "[::1", "::1]", "[::1]x", "a]:80", "[a:80", "a:80:90"}
	for _, a := range addrs {
		report.Run("missing-port/"+a, func(c *report.Case) {
			c.Str("http", fasthttp.AddMissingPort(a, false))
			c.Str("https", fasthttp.AddMissingPort(a, true))
		})
	}
}

func runRanges() {
	ranges := []string{"", "bytes", "bytes=", "bytes=-", "bytes=0-", "bytes=0-0", "bytes=0-99", "bytes=0-100", "bytes=5-10", "bytes=10-5", "bytes=99-", "bytes=100-", "bytes=101-", "bytes=-1", "bytes=-0", "bytes=-100", "bytes=-200", "bytes=--1", "bytes=a-b", "bytes=1-b", "bytes=1", "bytes=0-1,2-3", "bytes=0-1, 2-3", "Bytes=0-1", "BYTES=0-1", "items=0-1", "bytes =0-1", "bytes= 0-1", "bytes=0 - 1", "bytes=0-1 ", "bytes:0-1", "bytes=0-99999999999999999999", "bytes=99999999999999999999-", "bytes=-99999999999999999999", "bytes=+1-2", "bytes=0x1-2", "0-1", "bytes=1-1-1", "bytes=,", "bytes=0-,"}
	for _, s := range ranges {
		for _, size := range []int{100, 0, 1} {
			report.Run(fmt.Sprintf("range/%s of %d", s, size), func(c *report.Case) {
				from, to, err := fasthttp.ParseByteRange([]byte(s), size)
				c.Err("err", err)
				if err == nil {
					c.Val("range", fmt.Sprint(from, "-", to))
				}
			})
		}
	}
}

func runText() {
	texts := []string{"", "abc", "<a href=\"x\">'&amp;'</a>", "a&b", "\x00\x01", "é", "\xff", "a b+c%d", "a/b?c#d", strings.Repeat("<", 40), "\r\n"}
	for i, s := range texts {
		report.Run(fmt.Sprintf("text/%d-%s", i, s), func(c *report.Case) {
			c.Str("html", string(fasthttp.AppendHTMLEscape([]byte("x"), s)))
			c.Str("html-bytes", string(fasthttp.AppendHTMLEscapeBytes(nil, []byte(s))))
			c.Str("quoted", string(fasthttp.AppendQuotedArg([]byte("x"), []byte(s))))
			c.Str("unquoted", string(fasthttp.AppendUnquotedArg([]byte("x"), []byte(s))))
		})
	}
	for i := range 256 {
		s := string([]byte{byte(i)})
		report.Run(fmt.Sprintf("text-byte/%02x", i), func(c *report.Case) {
			c.Str("html", string(fasthttp.AppendHTMLEscape(nil, s)))
			c.Str("quoted", string(fasthttp.AppendQuotedArg(nil, []byte(s))))
			c.Str("unquoted", string(fasthttp.AppendUnquotedArg(nil, []byte(s))))
			c.Str("escape", string(fasthttp.AppendUnquotedArg(nil, fmt.Appendf(nil, "%%%02x%%%02X", i, i))))
			c.Str("key", string(fasthttp.AppendNormalizedHeaderKey(nil, "a"+s+"bC-"+s+"d")))
		})
	}
	for _, s := range []string{"%", "%4", "%zz", "%4g", "%%41", "a%", "+", "%2B", "%+1", "% 1", "%-1", "%0x41"} {
		report.Run("unquote/"+s, func(c *report.Case) { c.Str("out", string(fasthttp.AppendUnquotedArg(nil, []byte(s)))) })
	}
	for _, s := range []string{"", "a", "A", "foo", "FOO", "foo-bar", "FOO-BAR-BAZ", "fOO--bAR", "-foo", "foo-", "-", "foo bar", " foo", "foo_bar", "foo.bar", "éa", "host", "content-type", "etag", "www-authenticate", "x-1a", "1a-2b", "a\r\nb", "a:b", "te", "dnt"} {
		report.Run("normal-key/"+s, func(c *report.Case) {
			c.Str("string", string(fasthttp.AppendNormalizedHeaderKey([]byte("x"), s)))
			c.Str("bytes", string(fasthttp.AppendNormalizedHeaderKeyBytes([]byte("x"), []byte(s))))
		})
	}
	params := []string{"", "a", "a/b", "a/b;", "a/b; c=d", "a/b;c=d", "a/b; c=d; e=f", "a/b; c=\"d\"", "a/b; c=\"d;e\"", "a/b; c=\"d\\\"e\"", "a/b; c=\"d", "a/b; c", "a/b; c=", "a/b; =d", "a/b; c = d", "a/b;;c=d", "a/b; c=d e", "a/b; c=d, e=f", "a/b; C=D", "; c=d", "c=d", "a/b; c=\"\"", "a/b; c=d;", "a/b; c=\"d\"x; e=f", "a/b; c=é", "a/b; c=\"é\"", "a/b; c=(d)", "a/b; (c)=d", "a/b;\tc=d", "a/b; c=d;e", "a/b; c=\"d\\", "a/b; c=d\r\n; e=f", "form-data; name=\"x\"; filename=\"a.txt\"", "form-data; name=x; filename*=UTF-8''%e2%82%ac", "multipart/form-data; boundary=----x"}
	for i, s := range params {
		report.Run(fmt.Sprintf("params/%d-%s", i, s), func(c *report.Case) {
			var pairs []string
			fasthttp.VisitHeaderParams([]byte(s), func(k, v []byte) bool {
				pairs = append(pairs, report.Pair(k, v))
				return true
			})
			c.Pairs("all", pairs)
			n := 0
			fasthttp.VisitHeaderParams([]byte(s), func(_, _ []byte) bool { n++; return false })
			c.Val("stopped-after", n)
		})
	}
}
