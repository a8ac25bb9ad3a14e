package bench

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/valyala/fasthttp"
)

const responseHeadText = "HTTP/1.1 200 OK\r\nServer: shop\r\nDate: " + dateText + "\r\n" +
	"Content-Type: application/json\r\nContent-Length: 512\r\nCache-Control: max-age=60\r\n" +
	"ETag: \"5f2b9c1d\"\r\nSet-Cookie: session=5f2b9c1d7a3e; path=/\r\n" +
	"X-Request-Id: 7f3a1c\r\n\r\n"

// BenchmarkRequestHeaderRead reads the request head of the server benchmarks.
func BenchmarkRequestHeaderRead(b *testing.B) {
	var header fasthttp.RequestHeader
	readInTurn(b, [][]byte{getRequest}, func(r *bufio.Reader) bool {
		return header.Read(r) == nil && len(header.Host()) == len(uriHost)
	})
}

func BenchmarkRequestHeaderWrite(b *testing.B) {
	var header fasthttp.RequestHeader
	readHead(b, &header, getRequest)
	written(b, header.Write)
}

func BenchmarkResponseHeaderRead(b *testing.B) {
	var header fasthttp.ResponseHeader
	readInTurn(b, [][]byte{[]byte(responseHeadText)}, func(r *bufio.Reader) bool {
		return header.Read(r) == nil && header.ContentLength() == 512
	})
}

func BenchmarkResponseHeaderWrite(b *testing.B) {
	var header fasthttp.ResponseHeader
	readHead(b, &header, []byte(responseHeadText))
	written(b, header.Write)
}

func readHead(b *testing.B, header interface{ Read(r *bufio.Reader) error }, text []byte) {
	b.Helper()
	if err := header.Read(bufio.NewReader(bytes.NewReader(text))); err != nil {
		b.Fatal(err)
	}
}

// requestHeader returns the header of a browser, followed by two fields that are not
// well known.
func requestHeader(b *testing.B) *fasthttp.RequestHeader {
	b.Helper()
	header := new(fasthttp.RequestHeader)
	readHead(b, header, getRequest)
	header.Set("X-Forwarded-For", "192.0.2.7")
	header.Set("X-Request-Id", "7f3a1c")
	return header
}

// headerRows are calls on such a header.
func headerRows() []row {
	name, value := []byte("X-Request-Id"), []byte("0badcafe")
	var dst []byte
	var copied fasthttp.RequestHeader
	return looped(requestHeader, []work[*fasthttp.RequestHeader]{
		{"HeaderPeekKnown", func(h *fasthttp.RequestHeader) bool { return len(h.Peek("Host")) == len(uriHost) }},
		// names that are not in their normalised form
		{"HeaderPeekLower", func(h *fasthttp.RequestHeader) bool {
			return len(h.Peek("host"))+len(h.Peek("x-request-id")) == len(uriHost+"7f3a1c")
		}},
		{"HeaderPeekMissing", func(h *fasthttp.RequestHeader) bool { return h.Peek("X-Trace-Id") == nil }},
		{"HeaderPeekCookie", func(h *fasthttp.RequestHeader) bool { return len(h.Cookie("lang")) == len("en") }},
		{"HeaderPeekUnknown", func(h *fasthttp.RequestHeader) bool { return len(h.Peek("X-Request-Id")) == len("7f3a1c") }},
		// the values of one well-known field and of another one
		{"HeaderSet", func(h *fasthttp.RequestHeader) bool {
			h.Set("User-Agent", "curl/8.14.1")
			h.Set("X-Request-Id", "0badcafe")
			return len(h.UserAgent()) == len("curl/8.14.1")
		}},
		{"HeaderDel", func(h *fasthttp.RequestHeader) bool {
			h.Del("X-Request-Id")
			h.Add("X-Request-Id", "7f3a1c")
			return true
		}},
		// fills an empty header with four fields
		{"HeaderAdd", func(h *fasthttp.RequestHeader) bool {
			h.Reset()
			h.Add("Accept", "text/html")
			h.Add("X-Forwarded-For", "192.0.2.7")
			h.Add("X-Forwarded-For", "198.51.100.9")
			h.Add("X-Request-Id", "7f3a1c")
			return len(h.Peek("Accept")) == len("text/html")
		}},
		{"HeaderSetCanonical", func(h *fasthttp.RequestHeader) bool {
			h.SetCanonical(name, value)
			return len(h.PeekCanonical(name)) == len(value)
		}},
		// copies all names and values, as a program that forwards them does
		{"HeaderAll", func(h *fasthttp.RequestHeader) bool {
			dst = dst[:0]
			n := 0
			for name, value := range h.All() {
				dst = append(append(dst, name...), value...)
				n++
			}
			return n == 6
		}},
		{"HeaderCopyTo", func(h *fasthttp.RequestHeader) bool {
			h.CopyTo(&copied)
			return len(copied.Host()) == len(uriHost)
		}},
	})
}

// BenchmarkResponseHeaderSet makes the head of a response as a handler does.
func BenchmarkResponseHeaderSet(b *testing.B) {
	var header fasthttp.ResponseHeader
	loop(b, func() bool {
		header.Reset()
		header.SetStatusCode(fasthttp.StatusCreated)
		header.SetContentType("application/json")
		header.Set("Location", "/orders/1729")
		header.Set("X-Request-Id", "7f3a1c")
		header.SetContentLength(512)
		return len(header.Peek("Location")) == len("/orders/1729")
	})
}

func BenchmarkResponseHeaderPeek(b *testing.B) {
	var header fasthttp.ResponseHeader
	readHead(b, &header, []byte(responseHeadText))
	loop(b, func() bool {
		return len(header.Peek("Content-Type"))+len(header.Peek("ETag"))+len(header.Peek("X-Request-Id")) ==
			len("application/json"+`"5f2b9c1d"`+"7f3a1c")
	})
}

func BenchmarkHasAcceptEncoding(b *testing.B) {
	var header fasthttp.RequestHeader
	header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
	loop(b, func() bool {
		return header.HasAcceptEncoding("br")
	})
}
