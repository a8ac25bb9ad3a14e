package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/ops"
	"github.com/valyala/fasthttp/compat/internal/report"
)

var queries = []string{
	"", "a", "a=", "=a", "=", "==", "a=b", "a=b=c", "a==b", "&", "&&", "a&", "&a", "a&&b", "a=b&", "&a=b", "a=b&&c=d",
	"a=b&c=d", "a=1&a=2&a=3", "a&a=&a=x", "b&a&c", "a=b;c=d", "a;b", "?a=b", "a=b#c", "#", "a#b=c",
	"a+b=c+d", "+", "+=+", "a%20b=c%20d", "%61=%62", "%", "%%", "%a", "%zz=1", "a=%", "a=%4", "a=%4g", "a=%%41", "%41%", "a=%00", "a=%0d%0a", "a=%ff", "a=%C3%A9", "a=é", "é=a", "日本=語", "a=%e6%97%a5", "a=%E6%97", "%3D=%26", "a%3Db", "a%26b=c", "a=%2B", "a=%2b+", "a=b%3Bc",
	"a=\r\nb", "a=b\x00c", "a=\x01\x7f", "a=\xff\xfe", "a=\"b\"", "a='b'", "a=<b>", "a=b c", " a = b ", "a=\tb", "a=b\\c", "a={b}", "a=[b]", "a[]=1&a[]=2", "a[x]=1", "a.b=1", "a-b_c~d=1", "a*b!c'd(e)f=1", "a:b@c/d=1", "a,b=c,d", "a$b=c$d", "a|b=c|d", "a^b=c^d", "a`b=c`d",
	"bool=true&b2=1&b3=yes&b4=t&b5=y&b6=TRUE&b7=0&b8=on&b9", "n=1&m=-1&f=1.5&g=abc&h=&z=0", "n=18446744073709551616", "n=9223372036854775807", "n=9223372036854775808", "n=007", "n=+1", "n=1e3", "n=1.5e3", "n=.5", "n=5.", "n=1_000", "n= 1", "n=1 ", "n=0x10", "n=%31", "n=NaN", "n=Inf", "n=1.7976931348623157e309", "n=-1.5", "n=1e", "n=1e+", "n=1e-3", "n=1e+3", "n=1E3", "n=1.2.3",
	strings.Repeat("a", 500) + "=" + strings.Repeat("b", 500), strings.Repeat("k=v&", 100), strings.Repeat("&", 100), strings.Repeat("=", 50), strings.Repeat("%41", 50),
	"utf8=%E2%9C%93&q=go+lang", "a=1&b=2&A=3", "a=b&c", "a=b&=c", "&=&=&", "a%", "a=%c3%28", "a=%u1234", "+a+=+b+", "a=%2520",
}

func dumpArgs(c *report.Case, a *fasthttp.Args) {
	c.Val("len", a.Len())
	c.Pairs("all", report.PairsOf(a.All()))
	c.Pairs("visit", report.Visited(a.VisitAll))
	c.Bytes("query", a.QueryString())
	c.Str("string", a.String())
	c.Bytes("append", a.AppendBytes([]byte("x")))
	var buf bytes.Buffer
	n, err := a.WriteTo(&buf)
	c.Val("write-to", fmt.Sprint(n, report.ErrClass(err), buf.String() == a.String()))
}

func runArgs() {
	for i, q := range queries {
		id := strconv.Itoa(i) + "-" + q
		if len(q) > 60 {
			id = strconv.Itoa(i) + "-long"
		}
		report.Run("args/"+id, func(c *report.Case) {
			var a fasthttp.Args
			a.Parse(q)
			dumpArgs(c, &a)
			for _, k := range []string{"a", "b", "A", "", "é", "a b", "a=b"} {
				if a.Has(k) || len(a.Peek(k)) > 0 || len(a.PeekMulti(k)) > 0 {
					c.Val("has "+k, a.Has(k))
					c.Bytes("peek "+k, a.Peek(k))
					c.List("multi "+k, a.PeekMulti(k))
				}
			}
			var b fasthttp.Args
			b.ParseBytes(a.QueryString())
			c.Val("again", b.String() == a.String() && b.Len() == a.Len())
			a.CopyTo(&b)
			a.Reset()
			c.Val("reset", a.Len())
			c.Str("copy", b.String())
		})
		if strings.Contains(q, "n=") {
			report.Run("args-number/"+id, func(c *report.Case) {
				var a fasthttp.Args
				a.Parse(q)
				for _, k := range []string{"n", "m", "f", "g", "h", "z", "none"} {
					u, err := a.GetUint(k)
					c.Val("uint "+k, u)
					c.Err("uint-err "+k, err)
					f, err := a.GetUfloat(k)
					c.Val("ufloat "+k, f)
					c.Err("ufloat-err "+k, err)
					c.Val("or-zero "+k, fmt.Sprint(a.GetUintOrZero(k), " ", a.GetUfloatOrZero(k)))
				}
			})
		}
		if strings.HasPrefix(q, "bool") {
			report.Run("args-bool/"+id, func(c *report.Case) {
				var a fasthttp.Args
				a.Parse(q)
				for _, k := range []string{"bool", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9", "none"} {
					c.Val(k, a.GetBool(k))
				}
			})
		}
	}
	for _, x := range argSequences {
		report.Run("args-seq/"+x.ID, func(c *report.Case) {
			var a fasthttp.Args
			for i, o := range x.Ops {
				argCalls.Apply(&a, o)
				c.Str(fmt.Sprintf("%d.%s", i, o[0]), a.String())
			}
			dumpArgs(c, &a)
		})
	}
	for i := range 256 {
		report.Run(fmt.Sprintf("args-byte/%02x", i), func(c *report.Case) {
			var a fasthttp.Args
			s := string([]byte{'x', byte(i), 'y'})
			a.Add(s, s)
			c.Str("encoded", a.String())
			var b fasthttp.Args
			b.Parse(s + "=" + s)
			c.Str("parsed", b.String())
			c.Val("len", b.Len())
		})
	}
}

var argSequences = []ops.Sequence{
	{"set", []ops.Op{{"Set", "a", "1"}, {"Set", "b", "2"}, {"Set", "a", "3"}}},
	{"add", []ops.Op{{"Add", "a", "1"}, {"Add", "b", "2"}, {"Add", "a", "3"}, {"Set", "a", "4"}}},
	{"add-set-dup", []ops.Op{{"Parse", "a=1&b=2&a=3&c=4&a=5"}, {"Set", "a", "x"}}},
	{"del", []ops.Op{{"Parse", "a=1&b=2&a=3&c=4"}, {"Del", "a"}, {"Del", "none"}, {"DelBytes", "c"}, {"Del", "b"}}},
	{"novalue", []ops.Op{{"SetNoValue", "a"}, {"AddNoValue", "b"}, {"AddNoValue", "a"}, {"SetNoValue", "a"}, {"Set", "b", ""}, {"Set", "b", "x"}, {"SetNoValue", "b"}}},
	{"novalue-bytes", []ops.Op{{"SetBytesKNoValue", "a"}, {"AddBytesKNoValue", "b"}, {"AddBytesKNoValue", "b"}}},
	{"novalue-empty", []ops.Op{{"AddNoValue", ""}, {"AddNoValue", "a"}, {"Add", "", ""}, {"Add", "", "v"}}},
	{"bytes", []ops.Op{{"SetBytesK", "a", "1"}, {"SetBytesV", "b", "2"}, {"SetBytesKV", "c", "3"}, {"AddBytesK", "a", "4"}, {"AddBytesV", "b", "5"}, {"AddBytesKV", "c", "6"}}},
	{"uint", []ops.Op{{"SetUint", "a", "7"}, {"SetUint", "a", "0"}, {"SetUintBytes", "b", "123456789"}}},
	{"uint-negative", []ops.Op{{"SetUint", "a", "-7"}}},
	{"sort", []ops.Op{{"Parse", "c=1&a=2&b=3&a=1&c=0"}, {"Sort"}}},
	{"sort-keys", []ops.Op{{"Parse", "c=1&a=2&b=3&a=1&c=0"}, {"SortKeys"}}},
	{"sort-back", []ops.Op{{"Parse", "c=1&a=2&b=3&a=1&c=0"}, {"SortBack"}}},
	{"sort-novalue", []ops.Op{{"Parse", "c&a=&b&a&c=0"}, {"Sort"}}},
	{"parse-resets", []ops.Op{{"Parse", "a=1&b=2"}, {"Parse", "c=3"}, {"Parse", ""}}},
	{"hostile", []ops.Op{{"Add", "a\r\nb", "c\r\nd"}, {"Add", "x=y&z", "1&2=3"}, {"Add", "\x00", "\xff"}, {"Add", "é", "日"}, {"Add", " ", "+"}, {"Add", "%41", "%"}}},
	{"case", []ops.Op{{"Set", "A", "1"}, {"Set", "a", "2"}, {"Del", "A"}}},
}

var argCalls = ops.Set{
	"Parse":            (*fasthttp.Args).Parse,
	"Set":              (*fasthttp.Args).Set,
	"Add":              (*fasthttp.Args).Add,
	"SetBytesK":        (*fasthttp.Args).SetBytesK,
	"SetBytesV":        (*fasthttp.Args).SetBytesV,
	"SetBytesKV":       (*fasthttp.Args).SetBytesKV,
	"AddBytesK":        (*fasthttp.Args).AddBytesK,
	"AddBytesV":        (*fasthttp.Args).AddBytesV,
	"AddBytesKV":       (*fasthttp.Args).AddBytesKV,
	"SetNoValue":       (*fasthttp.Args).SetNoValue,
	"AddNoValue":       (*fasthttp.Args).AddNoValue,
	"SetBytesKNoValue": (*fasthttp.Args).SetBytesKNoValue,
	"AddBytesKNoValue": (*fasthttp.Args).AddBytesKNoValue,
	"Del":              (*fasthttp.Args).Del,
	"DelBytes":         (*fasthttp.Args).DelBytes,
	"SetUint":          (*fasthttp.Args).SetUint,
	"SetUintBytes":     (*fasthttp.Args).SetUintBytes,
	"Sort":             func(a *fasthttp.Args) { a.Sort(bytes.Compare) },
	"SortBack":         func(a *fasthttp.Args) { a.Sort(func(x, y []byte) int { return bytes.Compare(y, x) }) },
	"SortKeys":         func(a *fasthttp.Args) { a.SortKeys(bytes.Compare) },
}
