package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

const post = "POST /p?q=1 HTTP/1.1\r\nHost: h\r\n"

// multipartBody is a well-formed form with a value and a file.
const multipartBody = "--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nvalue\r\n--xx\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n.txt\"\r\nContent-Type: text/plain\r\n\r\nfile body\r\n--xx--\r\n"

func form(body string) string {
	return fmt.Sprintf("%sContent-Type: multipart/form-data; boundary=xx\r\nContent-Length: %d\r\n\r\n%s", post, len(body), body)
}

func chunked(body string) string { return post + "Transfer-Encoding: chunked\r\n\r\n" + body }

var requests = []struct{ id, raw string }{
	{"get", "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"get-rest", "GET /a HTTP/1.1\r\nHost: h\r\n\r\nrest"},
	{"get-10", "GET /a HTTP/1.0\r\n\r\n"},
	{"get-cl", "GET /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhellorest"},
	{"get-chunked", "GET /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nrest"},
	{"head-cl", "HEAD /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhellorest"},
	{"delete-cl", "DELETE /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhellorest"},
	{"query-cl", "QUERY /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhellorest"},
	{"odd-method-cl", "FOO /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhellorest"},
	{"odd-method", "FOO /a HTTP/1.1\r\nHost: h\r\n\r\nrest"},
	{"connect", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\nrest"},
	{"trace", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\nrest"},
	{"post-cl", post + "Content-Length: 5\r\n\r\nhellorest"},
	{"post-cl-0", post + "Content-Length: 0\r\n\r\nrest"},
	{"post-none", post + "\r\nrest"},
	{"post-none-10", "POST / HTTP/1.0\r\nHost: h\r\n\r\nrest"},
	{"post-cl-short", post + "Content-Length: 5\r\n\r\nhel"},
	{"post-cl-none", post + "Content-Length: 5\r\n\r\n"},
	{"post-cl-11", post + "Content-Length: 11\r\n\r\nhello worldrest"},
	{"post-cl-10", post + "Content-Length: 10\r\n\r\nhello worl"},
	{"post-cl-huge", post + "Content-Length: 4000000000\r\n\r\nhel"},
	{"post-big", post + "Content-Length: 20000\r\n\r\n" + strings.Repeat("x", 20000) + "rest"},
	{"post-form", post + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 12\r\n\r\na=b&c=%20d+e"},
	{"post-form-charset", post + "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\nContent-Length: 3\r\n\r\na=b"},
	{"post-form-upper", post + "Content-Type: Application/X-WWW-Form-URLEncoded\r\nContent-Length: 3\r\n\r\na=b"},
	{"post-form-suffix", post + "Content-Type: application/x-www-form-urlencodedfoo\r\nContent-Length: 3\r\n\r\na=b"},
	{"get-form", "GET / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=b"},
	{"put-form", "PUT / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=b"},
	{"expect", post + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello"},
	{"expect-upper", post + "Expect: 100-Continue\r\nContent-Length: 5\r\n\r\nhello"},
	{"expect-other", post + "Expect: foo\r\nContent-Length: 5\r\n\r\nhello"},
	{"expect-10", "POST / HTTP/1.0\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello"},
	{"expect-no-body", post + "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n"},
	{"expect-get", "GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n"},
	{"expect-chunked", post + "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},

	{"c-empty", chunked("0\r\n\r\nrest")},
	{"c-one", chunked("5\r\nhello\r\n0\r\n\r\nrest")},
	{"c-two", chunked("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nrest")},
	{"c-hex-lower", chunked("a\r\n0123456789\r\n0\r\n\r\n")},
	{"c-hex-upper", chunked("A\r\n0123456789\r\n0\r\n\r\n")},
	{"c-zeros", chunked("00005\r\nhello\r\n000\r\n\r\n")},
	{"c-zeros-many", chunked("00000000000000000000005\r\nhello\r\n0\r\n\r\n")},
	{"c-ext", chunked("5;a=b\r\nhello\r\n0;c\r\n\r\n")},
	{"c-ext-sp", chunked("5 ; a = b\r\nhello\r\n0\r\n\r\n")},
	{"c-ext-quoted", chunked("5;a=\"b;\\\"c\"\r\nhello\r\n0\r\n\r\n")},
	{"c-ext-ctl", chunked("5;a=\x01\r\nhello\r\n0\r\n\r\n")},
	{"c-ext-lf", chunked("5;a\nb\r\nhello\r\n0\r\n\r\n")},
	{"c-ext-cr", chunked("5;a\rb\r\nhello\r\n0\r\n\r\n")},
	{"c-ext-nul", chunked("5;a\x00b\r\nhello\r\n0\r\n\r\n")},
	{"c-ext-empty", chunked("5;\r\nhello\r\n0\r\n\r\n")},
	{"c-ext-long", chunked("5;" + strings.Repeat("a", 3000) + "\r\nhello\r\n0\r\n\r\n")},
	{"c-ext-huge", chunked("5;" + strings.Repeat("a", 9000) + "\r\nhello\r\n0\r\n\r\n")},
	{"c-sp-before", chunked(" 5\r\nhello\r\n0\r\n\r\n")},
	{"c-sp-after", chunked("5 \r\nhello\r\n0\r\n\r\n")},
	{"c-tab-after", chunked("5\t\r\nhello\r\n0\r\n\r\n")},
	{"c-plus", chunked("+5\r\nhello\r\n0\r\n\r\n")},
	{"c-minus", chunked("-5\r\nhello\r\n0\r\n\r\n")},
	{"c-0x", chunked("0x5\r\nhello\r\n0\r\n\r\n")},
	{"c-underscore", chunked("0_5\r\nhello\r\n0\r\n\r\n")},
	{"c-letters", chunked("xyz\r\nhello\r\n0\r\n\r\n")},
	{"c-none", chunked("\r\nhello\r\n0\r\n\r\n")},
	{"c-overflow", chunked("10000000000000005\r\nhello\r\n0\r\n\r\n")},
	{"c-overflow2", chunked("ffffffffffffffff\r\nhello\r\n0\r\n\r\n")},
	{"c-overflow3", chunked("8000000000000000\r\nhello\r\n0\r\n\r\n")},
	{"c-max", chunked("7fffffffffffffff\r\nhello\r\n0\r\n\r\n")},
	{"c-lf", chunked("5\nhello\r\n0\r\n\r\n")},
	{"c-lf-data", chunked("5\r\nhello\n0\r\n\r\n")},
	{"c-lf-end", chunked("5\r\nhello\r\n0\n\r\n")},
	{"c-lf-last", chunked("5\r\nhello\r\n0\r\n\n")},
	{"c-cr", chunked("5\rhello\r\n0\r\n\r\n")},
	{"c-crcrlf", chunked("5\r\r\nhello\r\n0\r\n\r\n")},
	{"c-data-long", chunked("5\r\nhello!\r\n0\r\n\r\n")},
	{"c-data-short", chunked("5\r\nhell\r\n0\r\n\r\n")},
	{"c-no-crlf", chunked("5\r\nhello0\r\n\r\n")},
	{"c-cut-size", chunked("5")},
	{"c-cut-size2", chunked("5\r")},
	{"c-cut-data", chunked("5\r\nhel")},
	{"c-cut-after", chunked("5\r\nhello")},
	{"c-cut-crlf", chunked("5\r\nhello\r\n")},
	{"c-cut-last", chunked("5\r\nhello\r\n0\r\n")},
	{"c-cut-last2", chunked("5\r\nhello\r\n0\r\n\r")},
	{"c-cut-none", chunked("")},
	{"c-trailer", chunked("5\r\nhello\r\n0\r\nFoo: bar\r\n\r\nrest")},
	{"c-trailer-announced", post + "Transfer-Encoding: chunked\r\nTrailer: Foo\r\n\r\n5\r\nhello\r\n0\r\nFoo: bar\r\n\r\nrest"},
	{"c-trailer-twice", post + "Transfer-Encoding: chunked\r\nTrailer: Foo\r\n\r\n0\r\nFoo: bar\r\nFoo: baz\r\n\r\nrest"},
	{"c-trailer-forbidden", chunked("0\r\nContent-Length: 5\r\n\r\nrest")},
	{"c-trailer-te", chunked("0\r\nTransfer-Encoding: chunked\r\n\r\nrest")},
	{"c-trailer-host", chunked("0\r\nHost: evil\r\n\r\nrest")},
	{"c-trailer-bad", chunked("0\r\nFo o: x\r\n\r\nrest")},
	{"c-trailer-nocolon", chunked("0\r\nFoo\r\n\r\nrest")},
	{"c-trailer-fold", chunked("0\r\nFoo: a\r\n b\r\n\r\nrest")},
	{"c-trailer-lf", chunked("0\r\nFoo: a\n\nrest")},
	{"c-trailer-cut", chunked("0\r\nFoo: a\r\n")},
	{"c-trailer-many", chunked("0\r\n" + strings.Repeat("Foo: x\r\n", 150) + "\r\n")},
	{"c-trailer-long", chunked("0\r\nFoo: " + strings.Repeat("x", 5000) + "\r\n\r\n")},
	{"c-big", chunked("4e20\r\n" + strings.Repeat("x", 20000) + "\r\n0\r\n\r\nrest")},
	{"c-many", chunked(strings.Repeat("1\r\nx\r\n", 100) + "0\r\n\r\nrest")},
	{"c-cl", post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\nrest"},
	{"cl-c", post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nrest"},
	{"c-10", "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nrest"},
	{"te-gzip", post + "Transfer-Encoding: gzip\r\n\r\nrest"},
	{"te-identity", post + "Transfer-Encoding: identity\r\n\r\nrest"},
	{"te-identity-cl", post + "Transfer-Encoding: identity\r\nContent-Length: 4\r\n\r\nrest"},
	{"te-gzip-chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nrest"},

	{"mp", form(multipartBody)},
	{"mp-epilogue", form(multipartBody + "epilogue bytes")},
	{"mp-preamble", form("preamble\r\n" + multipartBody)},
	{"mp-short", form("--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nval")},
	{"mp-empty", form("--xx--\r\n")},
	{"mp-nothing", form("")},
	{"mp-garbage", form("garbage")},
	{"mp-no-final-crlf", form(strings.TrimSuffix(multipartBody, "\r\n"))},
	{"mp-lf", form(strings.ReplaceAll(multipartBody, "\r\n", "\n"))},
	{"mp-smuggle", form("--xx--\r\n") + "GET /evil HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"mp-no-boundary", post + "Content-Type: multipart/form-data\r\nContent-Length: 5\r\n\r\nhello"},
	{"mp-dup-name", form("--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n2\r\n--xx--\r\n")},
	{"mp-chunked", post + "Content-Type: multipart/form-data; boundary=xx\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(multipartBody), multipartBody)},
	{"mp-cut", strings.TrimSuffix(form(multipartBody), "xx--\r\n")},
	{"mp-gzip", strings.Replace(form(multipartBody), "Content-Type:", "Content-Encoding: gzip\r\nContent-Type:", 1)},

	{"abs", "GET http://a.com/x?y HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"abs-fragment", "GET http://a.com/x?y#z HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"abs-no-host", "GET http://a.com/x HTTP/1.0\r\n\r\n"},
	{"abs-userinfo", "GET http://u:p@a.com/x HTTP/1.1\r\nHost: a.com\r\n\r\n"},
	{"abs-bad", "GET http://a b/x HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"abs-bad-host", "GET http://a%zz/x HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"dslash", "GET //evil.com/x HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"dots", "GET /a/../../b/./c HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"host-bad", "GET /x HTTP/1.1\r\nHost: a b\r\n\r\n"},
	{"host-upper", "GET /x HTTP/1.1\r\nHost: ABC.com:80\r\n\r\n"},
	{"no-host", "GET /x HTTP/1.1\r\n\r\n"},
	{"star", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"empty", ""},
	{"crlf", "\r\n"},
	{"cut-head", "GET / HT"},
	{"cut-head2", "GET / HTTP/1.1\r\nHost: h\r\n"},
	{"garbage", "\x00\x01\x02\r\n\r\n"},
	{"lf", "GET / HTTP/1.1\nHost: h\n\n"},
}

// text prints the result of String. Without a host it is the text of an error, and such texts
// may differ.
func text(c *report.Case, field string, req *fasthttp.Request) {
	if len(req.Host()) == 0 {
		field = "~" + field
	}
	c.Str(field, brief(req.String()))
}

// dumpRequest reports whether the body could be read.
func dumpRequest(c *report.Case, req *fasthttp.Request) bool {
	c.Str("head", req.Header.String())
	c.Val("length", req.Header.ContentLength())
	c.Val("close", req.ConnectionClose())
	c.Bytes("request-uri", req.RequestURI())
	c.Bytes("host", req.Host())
	c.Str("uri", req.URI().String())
	c.Bytes("uri-host", req.URI().Host())
	if req.MayContinue() {
		c.Str("may-continue", "true")
	}
	if req.IsBodyStream() {
		return dumpStream(c, req)
	}
	c.Bytes("body", []byte(brief(string(req.Body()))))
	c.Bytes("post-args", req.PostArgs().QueryString())
	c.Copied("trailers", req.Header.Trailers())
	for _, k := range []string{"Foo", "Host", "Content-Length", "Transfer-Encoding"} {
		c.List("peek-all "+k, req.Header.PeekAll(k))
	}
	text(c, "string", req)
	var dst fasthttp.Request
	req.CopyTo(&dst)
	if s := dst.String(); s != req.String() {
		c.Str("copy", s)
	}
	return true
}

func dumpStream(c *report.Case, req *fasthttp.Request) bool {
	body, err := io.ReadAll(req.BodyStream())
	c.Bytes("streamed", []byte(brief(string(body))))
	c.Err("streamed-err", err)
	c.Err("stream-close", req.CloseBodyStream())
	if err != nil {
		return false
	}
	for t := range req.Header.Trailers() {
		c.List("trailer "+string(t), req.Header.PeekAll(string(t)))
	}
	return true
}

func runRequestReads() {
	for _, x := range requests {
		read := func(mode string, f func(*fasthttp.Request, *bufio.Reader) error) {
			read("request/"+mode+"/"+x.id, x.raw, f, dumpRequest)
		}
		read("read", func(req *fasthttp.Request, br *bufio.Reader) error { return req.Read(br) })
		read("limit-10", func(req *fasthttp.Request, br *bufio.Reader) error { return req.ReadLimitBody(br, 10) })
		if strings.HasPrefix(x.raw, "POST") && !strings.Contains(x.id, "form") {
			read("continue", func(req *fasthttp.Request, br *bufio.Reader) error {
				if err := req.Header.Read(br); err != nil {
					return err
				}
				return req.ContinueReadBody(br, 0, false)
			})
			read("stream", func(req *fasthttp.Request, br *bufio.Reader) error {
				if err := req.Header.Read(br); err != nil {
					return err
				}
				return req.ContinueReadBodyStream(br, 8, false)
			})
			read("read-body", func(req *fasthttp.Request, br *bufio.Reader) error {
				if err := req.Header.Read(br); err != nil {
					return err
				}
				return req.ReadBody(br, req.Header.ContentLength(), 6)
			})
		}
	}
	runPipelined()
}

// runPipelined reads one message after another from one reader.
func runPipelined() {
	for _, x := range []struct{ id, raw string }{
		{"gets", "GET /1 HTTP/1.1\r\nHost: h\r\nFoo: 1\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"post-get", post + "Content-Length: 5\r\n\r\nhelloGET /2 HTTP/1.1\r\nHost: g\r\n\r\n"},
		{"chunked-get", chunked("5\r\nhello\r\n0\r\nFoo: x\r\n\r\n") + "GET /2 HTTP/1.1\r\nHost: g\r\n\r\n"},
		{"get-body-get", "GET /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET /2 HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"form-get", form(multipartBody+"epilogue") + "GET /2 HTTP/1.1\r\nHost: g\r\n\r\n"},
		{"extra-crlf", post + "Content-Length: 5\r\n\r\nhello\r\nGET /2 HTTP/1.1\r\nHost: g\r\n\r\n"},
	} {
		report.Run("request/pipelined/"+x.id, func(c *report.Case) {
			var req fasthttp.Request
			br := bufio.NewReader(strings.NewReader(x.raw))
			for i := range 5 {
				err := req.Read(br)
				c.Err(fmt.Sprint(i, ".err"), err)
				if err != nil {
					return
				}
				var buf bytes.Buffer
				fmt.Fprintf(&buf, "%s %s %s %q %q", req.Header.Method(), req.RequestURI(), req.Host(), req.Body(), req.Header.Peek("Foo"))
				c.Str(fmt.Sprint(i, ".request"), buf.String())
			}
		})
	}
}
