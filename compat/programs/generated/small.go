package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/gen"
	"github.com/valyala/fasthttp/compat/internal/report"
)

func runRanges() {
	number := func(s *gen.Source) string { return strconv.Itoa(s.N(s.N(3000) + 1)) }
	make := func(s *gen.Source) string {
		return "bytes=" + s.Maybe(80, number(s)) + "-" + s.Maybe(70, number(s))
	}
	pieces := []string{"-", ",", "=", " ", "0", "99999999999999999999", "-1", "+", "bytes", "x", "\x00", ".", "\t"}
	each("range", 1200, make, pieces, rangeTags, func(c *report.Case, in string) {
		for _, size := range []int{0, 1, 1000, 1 << 20} {
			from, to, err := fasthttp.ParseByteRange([]byte(in), size)
			c.Err(fmt.Sprint("err-", size), err)
			if err == nil {
				c.Val(fmt.Sprint("range-", size), fmt.Sprint(from, "-", to))
			}
		}
	})
}

// httpDate returns a date in one of the three forms of HTTP.
func httpDate(s *gen.Source) string {
	t := time.Unix(int64(s.N(4102444800)), 0).UTC()
	return t.Format(s.Pick(time.RFC1123, "Mon, 02 Jan 2006 15:04:05 GMT", "Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC, "Mon, 02-Jan-2006 15:04:05 GMT"))
}

func runDates() {
	pieces := []string{" ", "GMT", "gmt", "UTC", "+0100", "Feb", "30", "00", ":60", "99", "-", ",", "\x00", "１"}
	each("date", 1200, httpDate, pieces, dateTags, func(c *report.Case, in string) {
		t, err := fasthttp.ParseHTTPDate([]byte(in))
		c.Err("err", err)
		if err == nil {
			c.Str("time", t.UTC().Format(time.RFC3339))
			c.Bytes("again", fasthttp.AppendHTTPDate(nil, t))
		}
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.Set("If-Modified-Since", in)
		c.Val("modified", ctx.IfModifiedSince(time.Unix(1<<30, 0)))
	})
}

func runNumbers() {
	make := func(s *gen.Source) string {
		digits := func() string { return s.Join(1, 10, "", func() string { return s.Pick("0", "1", "9", "37") }) }
		return s.Pick(digits(), digits()+"."+digits(), digits()+"e"+s.Pick("", "+", "-")+s.Pick("0", "5", "12"), s.Join(4, 4, ".", func() string { return strconv.Itoa(s.N(300)) }), s.Join(3, 5, ".", func() string { return strconv.Itoa(s.N(256)) }))
	}
	pieces := []string{"+", "-", ".", "..", "e", "E", "0x", "_", " ", "\x00", "١", "inf", "nan", "00000000000000000000"}
	each("number", 1200, make, pieces, numberTags, func(c *report.Case, in string) {
		n, err := fasthttp.ParseUint([]byte(in))
		c.Err("uint-err", err)
		if err == nil {
			c.Val("uint", n)
		}
		f, err := fasthttp.ParseUfloat([]byte(in))
		c.Err("ufloat-err", err)
		if err == nil {
			// v1.77.0 adds up digits; the last bits are not documented.
			c.Str("ufloat", strconv.FormatFloat(f, 'e', 12, 64))
		}
		ip, err := fasthttp.ParseIPv4(net.IPv4zero.To4(), []byte(in))
		c.Err("ip-err", err)
		if err == nil {
			c.Bytes("ip", fasthttp.AppendIPv4(nil, ip))
		}
	})
}

func runText() {
	make := func(s *gen.Source) string {
		return s.Join(0, 6, "", func() string {
			return s.Pick(s.Word(), s.Word(), "<", ">", "&", "\"", "'", " ", "é", "日本", "%41", "%", "+", "-", "_", ";", "=", ",", "q=0.5")
		})
	}
	pieces := []string{"\x00", "\r", "\n", "\xff", "\xc3", "%zz", "%4", "<script>", "--", "\t", "\x7f", "\u2028", "\"\\\""}
	each("text", 1200, make, pieces, textTags, func(c *report.Case, in string) {
		b := []byte(in)
		c.Bytes("quoted", fasthttp.AppendQuotedArg(nil, b))
		c.Bytes("unquoted", fasthttp.AppendUnquotedArg(nil, b))
		c.Bytes("html", fasthttp.AppendHTMLEscape(nil, in))
		c.Bytes("html-bytes", fasthttp.AppendHTMLEscapeBytes(nil, b))
		if !strings.Contains(in, "\x00") {
			c.Bytes("key", fasthttp.AppendNormalizedHeaderKey(nil, in))
		}
		c.Str("missing-port", fasthttp.AddMissingPort(s3986(in), true))
		var pairs []string
		fasthttp.VisitHeaderParams([]byte("x; a=b; "+in), func(k, v []byte) bool {
			pairs = append(pairs, report.Pair(k, v))
			return len(pairs) < 5
		})
		c.Pairs("params", pairs)
		var h fasthttp.RequestHeader
		h.Set("Accept-Encoding", in)
		c.Val("accepts", h.HasAcceptEncoding("a"))
		h.SetContentType("multipart/form-data; boundary=" + in)
		c.Bytes("boundary", h.MultipartFormBoundary())
	})
}

// s3986 returns in without colons and brackets, ending with a letter: only names are tested.
func s3986(in string) string { return strings.Trim(strings.ReplaceAll(in, ":", ""), "[]") + "h" }
