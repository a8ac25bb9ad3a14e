package bench

import (
	"bufio"
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/cputime"
)

const (
	queryText  = "q=red+shoes&size=42&brand=caf%C3%A9&page=3&sort=price&dir=asc"
	cookieText = "session=5f2b9c1d7a3e; max-age=3600; domain=example.com; path=/shop; HttpOnly; secure; SameSite=Lax"
	uriHost    = "shop.example.com"
	uriText    = "/catalogue/red%20shoes/../boots/?size=42&sort=price#reviews"
	uriFull    = "http://shop.example.com/catalogue/boots/?size=42&sort=price#reviews"
	dateText   = "Tue, 15 Nov 1994 08:12:31 GMT"
	plainText  = "The quick brown fox jumps over the lazy dog, again and again and again."
	markupText = `<a href="/search?q=1&page=2">Tom & Jerry's "best" <b>episodes</b></a>`
	paramsText = `text/html; charset=utf-8; boundary="a quoted string"; q=0.8`

	responseHeadText = "HTTP/1.1 200 OK\r\nServer: shop\r\nDate: " + dateText + "\r\n" +
		"Content-Type: application/json\r\nContent-Length: 512\r\nCache-Control: max-age=60\r\n" +
		"ETag: \"5f2b9c1d\"\r\nSet-Cookie: session=5f2b9c1d7a3e; path=/\r\n" +
		"X-Request-Id: 7f3a1c\r\n\r\n"
)

// loop measures work, which reports whether its result is right. The figures of
// different rows here are not comparable with each other, only across builds.
func loop(b *testing.B, work func() bool) {
	b.Helper()
	if !work() {
		b.Fatal("the result is wrong")
	}
	b.ReportAllocs()
	begin := cputime.Used()
	for b.Loop() {
		if !work() {
			b.Fatal("the result is wrong")
		}
	}
	reportCPU(b, cputime.Used()-begin)
}

func BenchmarkArgsParse(b *testing.B) {
	var args fasthttp.Args
	loop(b, func() bool {
		args.Parse(queryText)
		return args.Len() == 6
	})
}

func BenchmarkArgsPeek(b *testing.B) {
	var args fasthttp.Args
	args.Parse(queryText)
	loop(b, func() bool {
		return len(args.Peek("sort")) == len("price")
	})
}

func BenchmarkArgsSet(b *testing.B) {
	var args fasthttp.Args
	args.Parse(queryText)
	loop(b, func() bool {
		args.Set("sort", "date")
		return args.Len() == 6
	})
}

// BenchmarkArgsAdd fills an empty list with four pairs.
func BenchmarkArgsAdd(b *testing.B) {
	var args fasthttp.Args
	loop(b, func() bool {
		args.Reset()
		args.Add("q", "red shoes")
		args.Add("size", "42")
		args.Add("size", "43")
		args.Add("page", "3")
		return args.Len() == 4
	})
}

func BenchmarkURIParse(b *testing.B) {
	var uri fasthttp.URI
	host, text := []byte(uriHost), []byte(uriText)
	loop(b, func() bool {
		err := uri.Parse(host, text)
		return err == nil && string(uri.Path()) == "/catalogue/boots/"
	})
}

func BenchmarkURIFullURI(b *testing.B) {
	var uri fasthttp.URI
	if err := uri.Parse([]byte(uriHost), []byte(uriText)); err != nil {
		b.Fatal(err)
	}
	loop(b, func() bool {
		return string(uri.FullURI()) == uriFull
	})
}

func BenchmarkCookieParse(b *testing.B) {
	var cookie fasthttp.Cookie
	loop(b, func() bool {
		err := cookie.Parse(cookieText)
		return err == nil && cookie.MaxAge() == 3600 && cookie.Secure()
	})
}

func BenchmarkCookieAppend(b *testing.B) {
	var cookie fasthttp.Cookie
	if err := cookie.Parse(cookieText); err != nil {
		b.Fatal(err)
	}
	var dst []byte
	loop(b, func() bool {
		dst = cookie.AppendBytes(dst[:0])
		return len(dst) == len(cookieText)
	})
}

// BenchmarkRequestHeaderRead reads the head that the server benchmarks get.
func BenchmarkRequestHeaderRead(b *testing.B) {
	var header fasthttp.RequestHeader
	source := bytes.NewReader(getRequest)
	reader := bufio.NewReader(source)
	b.SetBytes(int64(len(getRequest)))
	loop(b, func() bool {
		source.Reset(getRequest)
		reader.Reset(source)
		err := header.Read(reader)
		return err == nil && len(header.Host()) == len(uriHost)
	})
}

func BenchmarkRequestHeaderWrite(b *testing.B) {
	var header fasthttp.RequestHeader
	if err := header.Read(bufio.NewReader(bytes.NewReader(getRequest))); err != nil {
		b.Fatal(err)
	}
	writer := bufio.NewWriter(io.Discard)
	loop(b, func() bool {
		return header.Write(writer) == nil
	})
}

func BenchmarkResponseHeaderRead(b *testing.B) {
	var header fasthttp.ResponseHeader
	text := []byte(responseHeadText)
	source := bytes.NewReader(text)
	reader := bufio.NewReader(source)
	b.SetBytes(int64(len(text)))
	loop(b, func() bool {
		source.Reset(text)
		reader.Reset(source)
		err := header.Read(reader)
		return err == nil && header.ContentLength() == 512
	})
}

func BenchmarkResponseHeaderWrite(b *testing.B) {
	var header fasthttp.ResponseHeader
	if err := header.Read(bufio.NewReader(bytes.NewReader([]byte(responseHeadText)))); err != nil {
		b.Fatal(err)
	}
	writer := bufio.NewWriter(io.Discard)
	loop(b, func() bool {
		return header.Write(writer) == nil
	})
}

// requestHeader returns a header with two fields that are not well known behind
// a browser's.
func requestHeader(b *testing.B) *fasthttp.RequestHeader {
	b.Helper()
	header := new(fasthttp.RequestHeader)
	if err := header.Read(bufio.NewReader(bytes.NewReader(getRequest))); err != nil {
		b.Fatal(err)
	}
	header.Set("X-Forwarded-For", "192.0.2.7")
	header.Set("X-Request-Id", "7f3a1c")
	return header
}

func BenchmarkHeaderPeekKnown(b *testing.B) {
	header := requestHeader(b)
	loop(b, func() bool {
		return len(header.Peek("Host")) == len(uriHost)
	})
}

func BenchmarkHeaderPeekUnknown(b *testing.B) {
	header := requestHeader(b)
	loop(b, func() bool {
		return len(header.Peek("X-Request-Id")) == len("7f3a1c")
	})
}

// BenchmarkHeaderSet replaces the values of one well-known field and of one
// that is not.
func BenchmarkHeaderSet(b *testing.B) {
	header := requestHeader(b)
	loop(b, func() bool {
		header.Set("User-Agent", "curl/8.14.1")
		header.Set("X-Request-Id", "0badcafe")
		return len(header.UserAgent()) == len("curl/8.14.1")
	})
}

// BenchmarkHeaderAdd fills an empty header with four fields.
func BenchmarkHeaderAdd(b *testing.B) {
	header := new(fasthttp.RequestHeader)
	loop(b, func() bool {
		header.Reset()
		header.Add("Accept", "text/html")
		header.Add("X-Forwarded-For", "192.0.2.7")
		header.Add("X-Forwarded-For", "198.51.100.9")
		header.Add("X-Request-Id", "7f3a1c")
		return len(header.Peek("Accept")) == len("text/html")
	})
}

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
