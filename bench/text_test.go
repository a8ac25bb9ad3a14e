package bench

import (
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

// textRows are functions for short texts. dst is empty at first, and has room then.
func textRows() []row {
	date, unix := []byte(dateText), time.Unix(784887151, 0)
	number, decimal, address := []byte("1234567"), []byte("1234.567"), []byte("192.0.2.107")
	plain, params := []byte(plainText), []byte(paramsText)
	quoted := fasthttp.AppendQuotedArg(nil, plain)
	part, suffix, rest := []byte("bytes=500-999"), []byte("bytes=-500"), []byte("bytes=9500-")
	return looped(func(*testing.B) *[]byte { return new([]byte) }, []work[*[]byte]{
		{"ParseHTTPDate", func(*[]byte) bool {
			got, err := fasthttp.ParseHTTPDate(date)
			return err == nil && got.Unix() == 784887151
		}},
		{"AppendHTTPDate", func(dst *[]byte) bool {
			*dst = fasthttp.AppendHTTPDate((*dst)[:0], unix)
			return string(*dst) == dateText
		}},
		// one text with markup and one without
		{"AppendHTMLEscape", func(dst *[]byte) bool {
			*dst = fasthttp.AppendHTMLEscape((*dst)[:0], markupText)
			*dst = fasthttp.AppendHTMLEscape(*dst, plainText)
			return len(*dst) > len(markupText)+len(plainText)
		}},
		{"VisitHeaderParams", func(*[]byte) bool {
			n := 0
			fasthttp.VisitHeaderParams(params, func(_, _ []byte) bool {
				n++
				return true
			})
			return n == 3
		}},
		// a range, a suffix range, and an open range
		{"ParseByteRange", func(*[]byte) bool {
			begin, end, err := fasthttp.ParseByteRange(part, 10_000)
			begin2, end2, err2 := fasthttp.ParseByteRange(suffix, 10_000)
			begin3, end3, err3 := fasthttp.ParseByteRange(rest, 10_000)
			return err == nil && err2 == nil && err3 == nil && end-begin+end2-begin2+end3-begin3 == 3*499
		}},
		{"ParseUint", func(*[]byte) bool {
			n, err := fasthttp.ParseUint(number)
			return err == nil && n == 1234567
		}},
		{"AppendUint", func(dst *[]byte) bool {
			*dst = fasthttp.AppendUint((*dst)[:0], 1234567)
			return len(*dst) == len("1234567")
		}},
		{"ParseUfloat", func(*[]byte) bool {
			f, err := fasthttp.ParseUfloat(decimal)
			return err == nil && f > 1234 && f < 1235
		}},
		{"ParseIPv4", func(ip *[]byte) (ok bool) {
			got, err := fasthttp.ParseIPv4(*ip, address)
			*ip = got
			return err == nil && got[3] == 107
		}},
		{"AppendQuotedArg", func(dst *[]byte) bool {
			*dst = fasthttp.AppendQuotedArg((*dst)[:0], plain)
			return len(*dst) > len(plain)
		}},
		{"AppendUnquotedArg", func(dst *[]byte) bool {
			*dst = fasthttp.AppendUnquotedArg((*dst)[:0], quoted)
			return len(*dst) == len(plainText)
		}},
		{"AppendNormalizedHeaderKey", func(dst *[]byte) bool {
			*dst = fasthttp.AppendNormalizedHeaderKey((*dst)[:0], "x-forwarded-for")
			return len(*dst) == len("X-Forwarded-For")
		}},
	})
}
