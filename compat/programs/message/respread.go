package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

const ok = "HTTP/1.1 200 OK\r\n"

func chunkedResponse(body string) string { return ok + "Transfer-Encoding: chunked\r\n\r\n" + body }

var responses = []struct{ id, raw string }{
	{"cl", ok + "Content-Length: 5\r\n\r\nhellorest"},
	{"cl-0", ok + "Content-Length: 0\r\n\r\nrest"},
	{"cl-short", ok + "Content-Length: 5\r\n\r\nhel"},
	{"cl-none", ok + "Content-Length: 5\r\n\r\n"},
	{"cl-11", ok + "Content-Length: 11\r\n\r\nhello worldrest"},
	{"cl-10", ok + "Content-Length: 10\r\n\r\nhello worlrest"},
	{"cl-big", ok + "Content-Length: 20000\r\n\r\n" + strings.Repeat("x", 20000) + "rest"},
	{"cl-huge", ok + "Content-Length: 4000000000\r\n\r\nhel"},
	{"cl-bad", ok + "Content-Length: x\r\n\r\nhel"},
	{"cl-dup-same", ok + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nhelrest"},
	{"cl-dup-diff", ok + "Content-Length: 3\r\nContent-Length: 5\r\n\r\nhello"},
	{"identity", ok + "\r\nhello until the end"},
	{"identity-empty", ok + "\r\n"},
	{"identity-close", ok + "Connection: close\r\n\r\nhello until the end"},
	{"identity-ka", ok + "Connection: keep-alive\r\n\r\nhello until the end"},
	{"identity-10", "HTTP/1.0 200 OK\r\n\r\nhello until the end"},
	{"identity-short", ok + "\r\nhello"},
	{"identity-10-bytes", ok + "\r\n0123456789"},
	{"identity-big", ok + "\r\n" + strings.Repeat("x", 20000)},
	{"te-identity", ok + "Transfer-Encoding: identity\r\n\r\nhello until the end"},
	{"te-gzip", ok + "Transfer-Encoding: gzip\r\n\r\nhello until the end"},
	{"te-gzip-chunked", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
	{"te-chunked-gzip", ok + "Transfer-Encoding: chunked, gzip\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
	{"c-cl", ok + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\nrest"},
	{"cl-c", ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nrest"},
	{"c-10", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nrest"},
	{"c-close", ok + "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nrest"},

	{"s-100", "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello"},
	{"s-100-alone", "HTTP/1.1 100 Continue\r\n\r\n"},
	{"s-100-headers", "HTTP/1.1 100 Continue\r\nFoo: bar\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello"},
	{"s-100-cl", "HTTP/1.1 100 Continue\r\nContent-Length: 3\r\n\r\nabc" + ok + "Content-Length: 5\r\n\r\nhello"},
	{"s-100-twice", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello"},
	{"s-102", "HTTP/1.1 102 Processing\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello"},
	{"s-103", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello"},
	{"s-103-100", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello"},
	{"s-101", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nrest"},
	{"s-101-cl", "HTTP/1.1 101 Switching Protocols\r\nContent-Length: 4\r\n\r\nrest"},
	{"s-199", "HTTP/1.1 199 X\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello"},
	{"s-204", "HTTP/1.1 204 No Content\r\n\r\nrest"},
	{"s-204-cl", "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nrest"},
	{"s-204-c", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nrest"},
	{"s-205", "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\nrest"},
	{"s-304", "HTTP/1.1 304 Not Modified\r\n\r\nrest"},
	{"s-304-cl", "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nrest"},
	{"s-304-c", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nrest"},
	{"s-404", "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\noopsrest"},
	{"s-500-no-len", "HTTP/1.1 500 Boom\r\n\r\noops"},
	{"s-custom", "HTTP/1.1 299 My Own Words\r\nContent-Length: 0\r\n\r\n"},

	{"c-empty", chunkedResponse("0\r\n\r\nrest")},
	{"c-one", chunkedResponse("5\r\nhello\r\n0\r\n\r\nrest")},
	{"c-two", chunkedResponse("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nrest")},
	{"c-hex", chunkedResponse("aA\r\n" + strings.Repeat("z", 170) + "\r\n0\r\n\r\nrest")},
	{"c-zeros", chunkedResponse("00005\r\nhello\r\n000\r\n\r\nrest")},
	{"c-ext", chunkedResponse("5;a=b\r\nhello\r\n0;c\r\n\r\nrest")},
	{"c-ext-sp", chunkedResponse("5 ; a = b\r\nhello\r\n0\r\n\r\nrest")},
	{"c-ext-quoted", chunkedResponse("5;a=\"b;\\\"c\"\r\nhello\r\n0\r\n\r\n")},
	{"c-ext-ctl", chunkedResponse("5;a=\x01\r\nhello\r\n0\r\n\r\nrest")},
	{"c-ext-huge", chunkedResponse("5;" + strings.Repeat("a", 9000) + "\r\nhello\r\n0\r\n\r\nrest")},
	{"c-sp-before", chunkedResponse(" 5\r\nhello\r\n0\r\n\r\nrest")},
	{"c-sp-after", chunkedResponse("5 \r\nhello\r\n0\r\n\r\nrest")},
	{"c-plus", chunkedResponse("+5\r\nhello\r\n0\r\n\r\nrest")},
	{"c-0x", chunkedResponse("0x5\r\nhello\r\n0\r\n\r\nrest")},
	{"c-letters", chunkedResponse("xyz\r\nhello\r\n0\r\n\r\nrest")},
	{"c-none", chunkedResponse("\r\nhello\r\n0\r\n\r\nrest")},
	{"c-overflow", chunkedResponse("10000000000000005\r\nhello\r\n0\r\n\r\nrest")},
	{"c-overflow2", chunkedResponse("ffffffffffffffff\r\nhello\r\n0\r\n\r\nrest")},
	{"c-max", chunkedResponse("7fffffffffffffff\r\nhello\r\n0\r\n\r\nrest")},
	{"c-lf", chunkedResponse("5\nhello\r\n0\r\n\r\nrest")},
	{"c-lf-data", chunkedResponse("5\r\nhello\n0\r\n\r\nrest")},
	{"c-lf-last", chunkedResponse("5\r\nhello\r\n0\r\n\nrest")},
	{"c-data-long", chunkedResponse("5\r\nhello!\r\n0\r\n\r\nrest")},
	{"c-cut-size", chunkedResponse("5")},
	{"c-cut-data", chunkedResponse("5\r\nhel")},
	{"c-cut-after", chunkedResponse("5\r\nhello")},
	{"c-cut-crlf", chunkedResponse("5\r\nhello\r\n")},
	{"c-cut-last", chunkedResponse("5\r\nhello\r\n0\r\n")},
	{"c-cut-none", chunkedResponse("")},
	{"c-trailer", chunkedResponse("5\r\nhello\r\n0\r\nFoo: bar\r\n\r\nrest")},
	{"c-trailer-announced", ok + "Transfer-Encoding: chunked\r\nTrailer: Foo\r\n\r\n5\r\nhello\r\n0\r\nFoo: bar\r\n\r\nrest"},
	{"c-trailer-twice", ok + "Transfer-Encoding: chunked\r\nTrailer: Foo, Baz\r\n\r\n0\r\nFoo: bar\r\nBaz: 1\r\nFoo: baz\r\n\r\nrest"},
	{"c-trailer-forbidden", chunkedResponse("0\r\nContent-Length: 5\r\n\r\nrest")},
	{"c-trailer-cookie", chunkedResponse("0\r\nSet-Cookie: a=b\r\n\r\nrest")},
	{"c-trailer-bad", chunkedResponse("0\r\nFo o: x\r\n\r\nrest")},
	{"c-trailer-nocolon", chunkedResponse("0\r\nFoo\r\n\r\nrest")},
	{"c-trailer-lf", chunkedResponse("0\r\nFoo: a\n\nrest")},
	{"c-trailer-cut", chunkedResponse("0\r\nFoo: a\r\n")},
	{"c-trailer-many", chunkedResponse("0\r\n" + strings.Repeat("Foo: x\r\n", 150) + "\r\nrest")},
	{"c-big", chunkedResponse("4e20\r\n" + strings.Repeat("x", 20000) + "\r\n0\r\n\r\nrest")},
	{"c-many", chunkedResponse(strings.Repeat("1\r\nx\r\n", 100) + "0\r\n\r\nrest")},

	{"empty", ""},
	{"crlf", "\r\n"},
	{"cut-line", "HTTP/1.1 2"},
	{"cut-head", ok + "Content-Length: 5\r\n"},
	{"garbage", "\x00\x01\x02\r\n\r\n"},
	{"not-http", "hello world\r\n\r\n"},
	{"lf", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"},
	{"fold", ok + "Content-Length: 5\r\nFoo: a\r\n b\r\n\r\nhello"},
	{"no-msg", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello"},
	{"cookies", ok + "Set-Cookie: a=b\r\nSet-Cookie: c=d\r\nContent-Length: 5\r\n\r\nhello"},
	{"no-ct", ok + "Content-Length: 5\r\nContent-Type:\r\n\r\nhello"},
	{"gzip-named", ok + "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"},
}

// dumpResponse reports whether the body could be read.
func dumpResponse(c *report.Case, resp *fasthttp.Response) bool {
	c.Val("status", resp.StatusCode())
	c.Bytes("message", resp.Header.StatusMessage())
	c.Val("length", resp.Header.ContentLength())
	c.Val("close", resp.ConnectionClose())
	if resp.IsBodyStream() {
		c.Str("stream", "true")
		body, err := io.ReadAll(resp.BodyStream())
		c.Bytes("streamed", []byte(brief(string(body))))
		c.Err("streamed-err", err)
		c.Err("stream-close", resp.CloseBodyStream())
		if err != nil {
			return false
		}
	}
	c.Bytes("body", []byte(brief(string(resp.Body()))))
	c.Copied("trailers", resp.Header.Trailers())
	for _, k := range []string{"Foo", "Content-Type", "Connection", "Content-Length", "Transfer-Encoding", "Set-Cookie"} {
		c.List("peek-all "+k, resp.Header.PeekAll(k))
	}
	c.Str("head", report.MaskDates(resp.Header.String()))
	c.Str("string", brief(report.MaskDates(resp.String())))
	var dst fasthttp.Response
	resp.CopyTo(&dst)
	if s := report.MaskDates(dst.String()); s != report.MaskDates(resp.String()) {
		c.Str("copy", s)
	}
	return true
}

func runResponseReads() {
	for _, x := range responses {
		read := func(mode string, f func(*fasthttp.Response, *bufio.Reader) error) {
			read("response/"+mode+"/"+x.id, x.raw, f, dumpResponse)
		}
		read("read", func(resp *fasthttp.Response, br *bufio.Reader) error { return resp.Read(br) })
		read("limit-10", func(resp *fasthttp.Response, br *bufio.Reader) error { return resp.ReadLimitBody(br, 10) })
		read("head", func(resp *fasthttp.Response, br *bufio.Reader) error {
			resp.SkipBody = true
			return resp.Read(br)
		})
		read("stream", func(resp *fasthttp.Response, br *bufio.Reader) error {
			resp.StreamBody = true
			return resp.ReadLimitBody(br, 8)
		})
		read("read-body", func(resp *fasthttp.Response, br *bufio.Reader) error {
			if err := resp.Header.Read(br); err != nil {
				return err
			}
			return resp.ReadBody(br, 6)
		})
	}
	whole := chunkedResponse("5\r\nhello\r\n0\r\nFoo: bar\r\n\r\n")
	for n := range len(whole) {
		report.Run(fmt.Sprintf("response/cut/%02d", n), func(c *report.Case) {
			var resp fasthttp.Response
			c.Err("err", resp.Read(bufio.NewReader(strings.NewReader(whole[:n]))))
		})
	}
}
