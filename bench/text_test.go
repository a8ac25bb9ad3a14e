package bench

import (
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	dateText   = "Tue, 15 Nov 1994 08:12:31 GMT"
	plainText  = "The quick brown fox jumps over the lazy dog, again and again and again."
	markupText = `<a href="/search?q=1&page=2">Tom & Jerry's "best" <b>episodes</b></a>`
	paramsText = `text/html; charset=utf-8; boundary="a quoted string"; q=0.8`
)

func BenchmarkParseHTTPDate(b *testing.B) {
	text := []byte(dateText)
	loop(b, func() bool {
		date, err := fasthttp.ParseHTTPDate(text)
		return err == nil && date.Unix() == 784887151
	})
}

func BenchmarkAppendHTTPDate(b *testing.B) {
	date := time.Unix(784887151, 0)
	var dst []byte
	loop(b, func() bool {
		dst = fasthttp.AppendHTTPDate(dst[:0], date)
		return string(dst) == dateText
	})
}

// BenchmarkAppendHTMLEscape escapes one text with markup and one without.
func BenchmarkAppendHTMLEscape(b *testing.B) {
	var dst []byte
	loop(b, func() bool {
		dst = fasthttp.AppendHTMLEscape(dst[:0], markupText)
		dst = fasthttp.AppendHTMLEscape(dst, plainText)
		return len(dst) > len(markupText)+len(plainText)
	})
}

func BenchmarkVisitHeaderParams(b *testing.B) {
	text := []byte(paramsText)
	n := 0
	count := func(_, _ []byte) bool {
		n++
		return true
	}
	loop(b, func() bool {
		n = 0
		fasthttp.VisitHeaderParams(text, count)
		return n == 3
	})
}

// BenchmarkParseByteRange parses a range, a suffix range, and an open range.
func BenchmarkParseByteRange(b *testing.B) {
	part, suffix, rest := []byte("bytes=500-999"), []byte("bytes=-500"), []byte("bytes=9500-")
	loop(b, func() bool {
		begin, end, err := fasthttp.ParseByteRange(part, 10_000)
		begin2, end2, err2 := fasthttp.ParseByteRange(suffix, 10_000)
		begin3, end3, err3 := fasthttp.ParseByteRange(rest, 10_000)
		return err == nil && err2 == nil && err3 == nil && end-begin+end2-begin2+end3-begin3 == 3*499
	})
}

func BenchmarkParseUint(b *testing.B) {
	text := []byte("1234567")
	loop(b, func() bool {
		n, err := fasthttp.ParseUint(text)
		return err == nil && n == 1234567
	})
}

func BenchmarkAppendUint(b *testing.B) {
	var dst []byte
	loop(b, func() bool {
		dst = fasthttp.AppendUint(dst[:0], 1234567)
		return len(dst) == len("1234567")
	})
}

func BenchmarkParseUfloat(b *testing.B) {
	text := []byte("1234.567")
	loop(b, func() bool {
		f, err := fasthttp.ParseUfloat(text)
		return err == nil && f > 1234 && f < 1235
	})
}

func BenchmarkParseIPv4(b *testing.B) {
	text := []byte("192.0.2.107")
	var ip net.IP
	loop(b, func() bool {
		var err error
		ip, err = fasthttp.ParseIPv4(ip, text)
		return err == nil && ip[3] == 107
	})
}

func BenchmarkAppendQuotedArg(b *testing.B) {
	text := []byte(plainText)
	var dst []byte
	loop(b, func() bool {
		dst = fasthttp.AppendQuotedArg(dst[:0], text)
		return len(dst) > len(text)
	})
}

func BenchmarkAppendUnquotedArg(b *testing.B) {
	text := fasthttp.AppendQuotedArg(nil, []byte(plainText))
	var dst []byte
	loop(b, func() bool {
		dst = fasthttp.AppendUnquotedArg(dst[:0], text)
		return len(dst) == len(plainText)
	})
}
