package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

// heads are raw response heads; bytes after one stay in the reader.
var heads = []struct{ id, raw string }{
	{"minimal", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
	{"no-length", "HTTP/1.1 200 OK\r\n\r\n"},
	{"no-length-close", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"},
	{"no-length-ka", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n"},
	{"no-length-10", "HTTP/1.0 200 OK\r\n\r\n"},
	{"no-length-10-ka", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n"},
	{"empty", ""},
	{"crlf-only", "\r\n"},
	{"leading-crlf", "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
	{"leading-crlf-3", "\r\n\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
	{"leading-lf", "\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
	{"rest-stays", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbodyrest"},
	{"many", "HTTP/1.1 200 OK\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\nServer: s/1\r\nContent-Type: text/html\r\nContent-Length: 10\r\nSet-Cookie: a=b; path=/\r\nSet-Cookie: c=d\r\nX-A: 1\r\nX-A: 2\r\nx-b:3\r\nETag: \"x\"\r\nContent-Encoding: gzip\r\n\r\n"},
	{"lower-names", "HTTP/1.1 200 OK\r\nserver: s\r\ncontent-type: t\r\ncontent-length: 1\r\nset-cookie: a=b\r\nfoo-bar: x\r\n\r\n"},
	{"upper-names", "HTTP/1.1 200 OK\r\nSERVER: s\r\nCONTENT-TYPE: t\r\nCONTENT-LENGTH: 1\r\nFOO-BAR: x\r\n\r\n"},
	{"value-spaces", "HTTP/1.1 200 OK\r\nContent-Length:  5  \r\nFoo:\t a\tb \t\r\nBar:\r\nBaz: \r\n\r\n"},
	{"dup-foo", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo: 1\r\nFoo: 2\r\nfoo: 3\r\n\r\n"},
	{"dup-server", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nServer: 1\r\nServer: 2\r\n\r\n"},
	{"dup-ct", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Type: 1\r\nContent-Type: 2\r\n\r\n"},
	{"dup-date", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nDate: 1\r\nDate: 2\r\n\r\n"},
	{"dup-cookie", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=1\r\nSet-Cookie: a=2\r\nSet-Cookie: b=3\r\n\r\n"},
	{"cookie-odd", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie:\r\nSet-Cookie: novalue\r\nSet-Cookie: =x\r\nSet-Cookie: ;;;\r\nSet-Cookie: q=\"a b\"; Path=/\r\n\r\n"},
	{"conn-close", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
	{"conn-CLOSE", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: CLOSE\r\n\r\n"},
	{"conn-list", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive, close\r\n\r\n"},
	{"conn-two-lines", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n"},
	{"conn-upgrade", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"},
	{"conn-10", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"},
	{"conn-ka-10", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"},
	{"conn-KA-10", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n"},
	{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{"chunked-trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Foo, Bar\r\n\r\n"},
	{"trailer-forbidden", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Foo, Content-Length\r\n\r\n"},
	{"trailer-bad", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: a b\r\n\r\n"},

	{"cl-plus", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx"},
	{"cl-minus", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx"},
	{"cl-hex", "HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\nx"},
	{"cl-list-same", "HTTP/1.1 200 OK\r\nContent-Length: 1,1\r\n\r\nx"},
	{"cl-list-diff", "HTTP/1.1 200 OK\r\nContent-Length: 1,2\r\n\r\nx"},
	{"cl-empty", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nx"},
	{"cl-huge", "HTTP/1.1 200 OK\r\nContent-Length: 21000000000000000000\r\n\r\nx"},
	{"cl-max", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nx"},
	{"cl-zeros", "HTTP/1.1 200 OK\r\nContent-Length: 0000000000000000000000005\r\n\r\nx"},
	{"cl-letters", "HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\nx"},
	{"cl-inner", "HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n\r\nx"},
	{"cl-dup-same", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx"},
	{"cl-dup-diff", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx"},
	{"cl-te", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx"},
	{"te-cl", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\nx"},
	{"te-cl-bad", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: abc\r\n\r\nx"},
	{"te-10", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx"},
	{"te-CHUNKED", "HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\nx"},
	{"te-identity", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nx"},
	{"te-identity-cl", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 1\r\n\r\nx"},
	{"te-gzip", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx"},
	{"te-gzip-chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\nx"},
	{"te-chunked-gzip", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\nx"},
	{"te-dup", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\nx"},
	{"te-empty", "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\r\nx"},
	{"te-xchunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\nx"},
	{"te-sp-colon", "HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\nx"},

	{"s-100", "HTTP/1.1 100 Continue\r\n\r\n"},
	{"s-101", "HTTP/1.1 101 Switching Protocols\r\n\r\n"},
	{"s-103", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"},
	{"s-204", "HTTP/1.1 204 No Content\r\n\r\n"},
	{"s-204-cl", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"},
	{"s-304", "HTTP/1.1 304 Not Modified\r\n\r\n"},
	{"s-304-cl", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"},
	{"s-404", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
	{"s-custom", "HTTP/1.1 299 My Own Words\r\nContent-Length: 0\r\n\r\n"},
	{"s-nomsg-sp", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"},
	{"s-nomsg", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"},
	{"s-000", "HTTP/1.1 000 x\r\nContent-Length: 0\r\n\r\n"},
	{"s-99", "HTTP/1.1 99 x\r\nContent-Length: 0\r\n\r\n"},
	{"s-999", "HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n"},
	{"s-1000", "HTTP/1.1 1000 x\r\nContent-Length: 0\r\n\r\n"},
	{"s-2000", "HTTP/1.1 2000OK\r\nContent-Length: 0\r\n\r\n"},
	{"s-letters", "HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n"},
	{"s-20x", "HTTP/1.1 20x OK\r\nContent-Length: 0\r\n\r\n"},
	{"s-neg", "HTTP/1.1 -20 OK\r\nContent-Length: 0\r\n\r\n"},
	{"s-plus", "HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n"},
	{"s-empty", "HTTP/1.1 \r\nContent-Length: 0\r\n\r\n"},
	{"s-none", "HTTP/1.1\r\nContent-Length: 0\r\n\r\n"},
	{"s-two-sp", "HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n"},
	{"s-sp-after", "HTTP/1.1 200  OK \r\nContent-Length: 0\r\n\r\n"},
	{"s-tab", "HTTP/1.1\t200\tOK\r\nContent-Length: 0\r\n\r\n"},
	{"s-msg-utf8", "HTTP/1.1 200 é\r\nContent-Length: 0\r\n\r\n"},
	{"s-msg-ctl", "HTTP/1.1 200 a\x01b\r\nContent-Length: 0\r\n\r\n"},
	{"s-msg-nul", "HTTP/1.1 200 a\x00b\r\nContent-Length: 0\r\n\r\n"},
	{"s-huge", "HTTP/1.1 99999999999999999999 x\r\nContent-Length: 0\r\n\r\n"},
	{"v-1.2", "HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n"},
	{"v-2.0", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"},
	{"v-2", "HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n"},
	{"v-0.9", "HTTP/0.9 200 OK\r\nContent-Length: 0\r\n\r\n"},
	{"v-lower", "http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
	{"v-icy", "ICY 200 OK\r\nContent-Length: 0\r\n\r\n"},
	{"v-none", "200 OK\r\nContent-Length: 0\r\n\r\n"},
	{"v-lead-sp", " HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},

	{"lf-lines", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"},
	{"lf-first", "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n"},
	{"lf-header", "HTTP/1.1 200 OK\r\nContent-Length: 0\nFoo: x\r\n\r\n"},
	{"lf-end", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\n"},
	{"cr-header", "HTTP/1.1 200 OK\r\nContent-Length: 0\rFoo: x\r\n\r\n"},
	{"crcrlf", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\r\n\r\n"},
	{"fold-sp", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo: a\r\n b\r\n\r\n"},
	{"fold-tab", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo: a\r\n\tb\r\n\r\n"},
	{"fold-many", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo: a\r\n \r\n  b  \r\n\tc\r\n\r\n"},
	{"fold-first", "HTTP/1.1 200 OK\r\n Content-Length: 0\r\n\r\n"},
	{"fold-cl", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 0\r\n\r\n"},
	{"fold-te", "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n"},
	{"n-sp-colon", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo : x\r\n\r\n"},
	{"n-empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n: x\r\n\r\n"},
	{"n-nocolon", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo\r\n\r\n"},
	{"n-space-in", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo Bar: x\r\n\r\n"},
	{"n-utf8", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoé: x\r\n\r\n"},
	{"n-ctl", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFo\x01o: x\r\n\r\n"},
	{"n-ff", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFo\xffo: x\r\n\r\n"},
	{"n-punct", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n!#$%&'*+-.^_`|~09azAZ: x\r\n\r\n"},
	{"n-bad-punct", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFo(o): x\r\n\r\n"},
	{"val-nul", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo: a\x00b\r\n\r\n"},
	{"val-ctl", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo: a\x01b\r\n\r\n"},
	{"val-del", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo: a\x7fb\r\n\r\n"},
	{"val-high", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo: é\xff\r\n\r\n"},
	{"val-colon", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo: a:b:c\r\n\r\n"},
	{"val-long", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo: " + strings.Repeat("x", 2000) + "\r\n\r\n"},
	{"val-4096", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nFoo: " + strings.Repeat("x", 5000) + "\r\n\r\n"},
	{"fields-100", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + strings.Repeat("A: b\r\n", 100) + "\r\n"},
	{"fields-600", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + strings.Repeat("A: b\r\n", 600) + "\r\n"},
	{"garbage", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"},
	{"garbage-crlf", "\x16\x03\x01\r\n\r\n"},
}

func runReads() {
	for _, x := range heads {
		read("read/"+x.id, x.raw, nil)
	}
	for _, x := range heads {
		if strings.Contains(x.id, "names") || strings.HasPrefix(x.id, "dup") || strings.HasPrefix(x.id, "conn") || strings.HasPrefix(x.id, "fold") {
			read("read-raw/"+x.id, x.raw, func(h *fasthttp.ResponseHeader) { h.DisableNormalizing() })
		}
	}
	whole := "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nFoo: bar\r\n\r\n"
	for n := range len(whole) {
		read(fmt.Sprintf("read-cut/%02d", n), whole[:n], nil)
	}
}

// read prints the result of Read for the raw head, and how many bytes it read.
func read(id, raw string, setup func(*fasthttp.ResponseHeader)) {
	report.Run(id, func(c *report.Case) {
		var h fasthttp.ResponseHeader
		if setup != nil {
			setup(&h)
		}
		src := strings.NewReader(raw)
		br := bufio.NewReader(src)
		err := h.Read(br)
		c.Err("err", err)
		if err != nil {
			return
		}
		c.Val("consumed", len(raw)-src.Len()-br.Buffered())
		dump(c, &h)
	})
}

var trailerBlocks = []struct{ id, raw string }{
	{"none", "\r\n"},
	{"one", "Foo: bar\r\n\r\n"},
	{"two", "Foo: bar\r\nBaz: qux\r\n\r\nrest"},
	{"dup", "Foo: bar\r\nFoo: qux\r\n\r\n"},
	{"unannounced", "Other: x\r\n\r\n"},
	{"forbidden", "Content-Length: 5\r\n\r\n"},
	{"forbidden-te", "Transfer-Encoding: chunked\r\n\r\n"},
	{"bad-name", "Fo o: x\r\n\r\n"},
	{"nocolon", "Foo\r\n\r\n"},
	{"empty-name", ": x\r\n\r\n"},
	{"fold", "Foo: a\r\n b\r\n\r\n"},
	{"lf", "Foo: a\n\n"},
	{"cut", "Foo: a\r\n"},
	{"cut-2", "Foo"},
	{"empty", ""},
	{"nul", "Foo: a\x00b\r\n\r\n"},
	{"many", strings.Repeat("Foo: x\r\n", 150) + "\r\n"},
	{"long", "Foo: " + strings.Repeat("x", 5000) + "\r\n\r\n"},
}

func runTrailerReads() {
	for _, x := range trailerBlocks {
		report.Run("trailer/"+x.id, func(c *report.Case) {
			var h fasthttp.ResponseHeader
			h.SetContentLength(-1)
			c.Err("announce", h.SetTrailer("Foo, Baz"))
			src := strings.NewReader(x.raw)
			br := bufio.NewReader(src)
			err := h.ReadTrailer(br)
			c.Err("err", err)
			if err != nil {
				return
			}
			c.Val("consumed", len(x.raw)-src.Len()-br.Buffered())
			dump(c, &h)
		})
	}
}
