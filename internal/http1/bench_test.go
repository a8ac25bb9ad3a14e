package http1

import (
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

// Typical heads: of a load generator, a browser, an API client (unknown names, lower case),
// and a response.
var benchHeads = []struct {
	name string
	role Role
	raw  string
}{
	{"minimal", Request, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
	{"browser", Request, "GET /articles/2024/index.html?ref=home HTTP/1.1\r\n" +
		"Host: www.example.com\r\n" +
		"Connection: keep-alive\r\n" +
		"Cache-Control: max-age=0\r\n" +
		"sec-ch-ua: \"Chromium\";v=\"124\", \"Google Chrome\";v=\"124\", \"Not-A.Brand\";v=\"99\"\r\n" +
		"sec-ch-ua-mobile: ?0\r\n" +
		"sec-ch-ua-platform: \"Linux\"\r\n" +
		"DNT: 1\r\n" +
		"Upgrade-Insecure-Requests: 1\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8\r\n" +
		"Sec-Fetch-Site: same-origin\r\n" +
		"Sec-Fetch-Mode: navigate\r\n" +
		"Sec-Fetch-User: ?1\r\n" +
		"Sec-Fetch-Dest: document\r\n" +
		"Referer: https://www.example.com/articles/2024/\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\n" +
		"Accept-Language: en-US,en;q=0.9,de;q=0.8\r\n" +
		"Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=yes; _ga=GA1.2.1234567890.1700000000\r\n" +
		"If-None-Match: \"5f8a1c-4d2\"\r\n" +
		"If-Modified-Since: Tue, 07 May 2024 10:00:00 GMT\r\n\r\n"},
	{"unknown", Request, "POST /v1/things HTTP/1.1\r\n" +
		"Host: api.example.com\r\n" +
		"X-Custom-Thing: some value\r\n" +
		"X-Another-Custom-Thing: another value\r\n" +
		"X-B3-Traceid: 463ac35c9f6413ad48485a3953bb6124\r\n" +
		"Grpc-Timeout: 100m\r\n" +
		"X-Api-Key: 0123456789abcdef\r\n" +
		"Idempotency-Key: 8e03978e-40d5-43e8-bc93-6894a57f9324\r\n\r\n"},
	{"lowercase", Request, "GET /v1/things HTTP/1.1\r\n" +
		"host: api.example.com\r\n" +
		"user-agent: undici\r\n" +
		"accept: */*\r\n" +
		"accept-language: *\r\n" +
		"x-custom-thing: some value\r\n" +
		"content-type: application/json\r\n" +
		"content-length: 0\r\n\r\n"},
	{"response", Response, "HTTP/1.1 200 OK\r\n" +
		"Server: nginx/1.25.3\r\n" +
		"Date: Tue, 07 May 2024 10:00:00 GMT\r\n" +
		"Content-Type: text/html; charset=utf-8\r\n" +
		"Content-Length: 12345\r\n" +
		"Connection: keep-alive\r\n" +
		"Vary: Accept-Encoding\r\n" +
		"Etag: \"5f8a1c-4d2\"\r\n" +
		"Cache-Control: public, max-age=3600\r\n\r\n"},
}

func BenchmarkParseHead(b *testing.B) {
	for _, c := range benchHeads {
		b.Run(c.name, func(b *testing.B) {
			// the parser normalises names in place, so every pass needs a fresh copy
			raw, buf := []byte(c.raw), make([]byte, len(c.raw))
			h, fields := new(Head), new(field.List)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				copy(buf, raw)
				h.Reset()
				fields.Reset()
				if n, err := h.Parse(c.role, buf, fields); n == 0 || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}
