package fronts

import (
	"fmt"
	"strings"
)

// exchange is a well-formed request and its expected response.
type exchange struct {
	method, target string
	fields, body   string
	status, size   int // of the response and its body
}

func (e *exchange) raw(prefix string) string {
	return e.method + " " + prefix + e.target + " HTTP/1.1\r\nHost: h\r\n" + e.fields + "\r\n" + e.body
}

const (
	chunkedField = "Transfer-Encoding: chunked\r\n"
	inChunks     = "5;a=b\r\nhello\r\n10\r\nGET /evil HTTP/1\r\n0\r\n\r\n"
)

var large = strings.Repeat("GET /evil HTTP/1.1\r\nHost: h\r\n\r\n", 9000) // 279 kB

// sound are requests that a client sends on one connection without waiting.
var sound = []exchange{
	{"GET", "/a?n=10", "", "", 200, 10},
	{"GET", "/b?n=0", "", "", 200, 0},
	{"POST", "/c?n=20", "Content-Length: 5\r\n", "hello", 200, 20},
	{"POST", "/d?n=30", "Content-Length: 0\r\n", "", 200, 30},
	{"POST", "/e?n=40", chunkedField, inChunks, 200, 40},
	{"HEAD", "/f?n=50", "", "", 200, 0},
	{"GET", "/g?n=60", "Content-Length: 31\r\n", "GET /evil HTTP/1.1\r\nHost: h\r\n\r\n", 200, 60},
	{"GET", "/204", "", "", 204, 0},
	{"GET", "/h?n=70", "", "", 200, 70},
	{"GET", "/304", "", "", 304, 0},
	{"PUT", "/i?n=80", fmt.Sprintf("Content-Length: %d\r\n", len(large)), large, 200, 80},
	{"GET", "/stream?n=500000", "", "", 200, 500000},
	{"HEAD", "/stream?n=100", "", "", 200, 0},
	{"POST", "/unread?n=90", "Content-Length: 5\r\n", "hello", 200, 90},
	{"POST", "/unread?n=90", chunkedField, inChunks, 200, 90},
	{"GET", "/trailers?n=100", "", "", 200, 100},
	{"GET", "/close?n=110", "", "", 200, 110},
	{"DELETE", "/j?n=120", "", "", 200, 120},
	{"POST", "/k?n=130", chunkedField + "Trailer: X-Sum\r\n", "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", 200, 130},
	{"POST", "/l?n=140", "Expect: 100-continue\r\nContent-Length: 5\r\n", "hello", 200, 140},
	{"GET", "/m?n=1000000", "", "", 200, 1000000},
	{"OPTIONS", "/n?n=10", "X-Empty:\r\nX-Spaces:   a \t \r\nCookie: a=b\r\nCookie: c=d\r\n", "", 200, 10},
}

// oddCase is an odd request, which is sent on its own connection and followed by a
// sound request.
type oddCase struct{ name, raw string }

// last returns a request that ends the connection if the front end still reads after
// an odd request.
func last(id int) string {
	return fmt.Sprintf("GET /%d/last?n=10 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", id)
}

const evil = "GET /ID/evil?n=10 HTTP/1.1\r\nHost: h\r\n\r\n"

func oddPost(fields, body string) string {
	return "POST /ID/odd?n=10 HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n" + body
}

func oddGet(line, fields string) string { return line + "\r\n" + fields + "\r\n" }

// odd are requests that two parties may understand in different ways.
var odd = buildOdd()

func buildOdd() (cases []oddCase) {
	add := func(name, raw string) { cases = append(cases, oddCase{name, raw}) }

	// the Content-Length includes a request after the last chunk
	long := "0\r\n\r\n" + evil
	for _, length := range []string{"Content-Length: 47", "Content-Length: 5", "Content-Length: 6", "Content-Length: 0"} {
		add("length, then chunks: "+length, oddPost(length+"\r\n"+chunkedField, long))
		add("chunks, then length: "+length, oddPost(chunkedField+length+"\r\n", long))
	}
	for _, coding := range []string{
		"Transfer-Encoding: xchunked", "Transfer-Encoding: identity", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: identity, chunked",
		"Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: chunked;q=1", "Transfer-Encoding: \"chunked\"",
		"Transfer-Encoding: \tchunked", "Transfer-Encoding: chunked\t", "Transfer-Encoding: \x0bchunked", "Transfer-Encoding: chunked\x0c", "Transfer-Encoding: \x00chunked",
		"Transfer-Encoding:chunked", "Transfer-Encoding : chunked", " Transfer-Encoding: chunked", "Transfer-Encoding:\r\n chunked", "Transfer-Encoding:\r\n\tchunked",
		"Transfer-Encoding:\n chunked", "X: y\nTransfer-Encoding: chunked", "X: y\rTransfer-Encoding: chunked", "Transfer_Encoding: chunked", "transfer-encoding: CHUNKED",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked", "Transfer-Encoding: ,chunked", "Transfer-Encoding:",
		"Connection: close, Transfer-Encoding\r\nTransfer-Encoding: chunked", "Transfer-Encoding\r\nX: chunked", "X:Transfer-Encoding: chunked",
	} {
		add("coding alone: "+coding, oddPost(coding+"\r\n", long))
		add("coding and length: "+coding, oddPost(coding+"\r\nContent-Length: 47\r\n", long))
		add("length and coding: "+coding, oddPost("Content-Length: 5\r\n"+coding+"\r\n", long))
	}
	for _, length := range []string{
		"Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 47", "Content-Length: 47\r\nContent-Length: 5", "Content-Length: 5, 5", "Content-Length: 5,47",
		"Content-Length: +5", "Content-Length: -5", "Content-Length: 0x5", "Content-Length: 05", "Content-Length: 5 ", "Content-Length: 5 7", "Content-Length: 5;", "Content-Length:",
		"Content-Length: 5\x00", "Content-Length: 5\x0b", "Content-Length : 5", " Content-Length: 5", "Content-Length:\r\n 5", "Content_Length: 5", "Content-Length: 18446744073709551621",
		"Content-Length: 4294967301", "X: y\nContent-Length: 5", "X: y\rContent-Length: 5", "Connection: close, Content-Length\r\nContent-Length: 47", "Connection: Content-Length\r\nContent-Length: 47",
		"Content-Length: 1e1", "Content-Length: five",
	} {
		add("length: "+length, oddPost(length+"\r\n", "hello"+evil))
	}
	for _, body := range []string{
		"0x5\r\nhello\r\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n", " 5\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello0\r\n\r\n", "5\r\nhell\r\n0\r\n\r\n",
		"05\r\nhello\r\n00\r\n\r\n", "100000000000000005\r\nhello\r\n0\r\n\r\n", "5;a\nb\r\nhello\r\n0\r\n\r\n", "5;a=\"\r\n\"\r\nhello\r\n0\r\n\r\n", "5;\r\nhello\r\n0\r\n\r\n", "5;a\r\nhello\r\n0;b=c\r\n\r\n",
		"5\rhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\n\n", "5\r\nhello\r\n0\r\n\n", "0\r\nContent-Length: 47\r\n\r\n", "0\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\nHost: evil\r\n\r\n", "0\r\nX-A: b\n\r\n",
		"0\r\nX-A: b\r\n c\r\n\r\n", "0\r\nX-A : b\r\n\r\n", "0\r\n" + strings.Repeat("X-A: b\r\n", 200) + "\r\n", "0\r\nX-A\r\n\r\n", "0\r\nGET /ID/evil HTTP/1.1\r\n\r\n", "\r\n0\r\n\r\n", "x\r\n0\r\n\r\n",
	} {
		add(fmt.Sprintf("chunks: %.30q", body), oddPost(chunkedField, body+evil))
	}
	for _, field := range []string{
		"X-A: a\r\n b", "X-A: a\r\n\tContent-Length: 47", "X-A\r\n", " X-A: b", "X-A : b", "X-A: a\x00b", "X-A: a\rb", "X-A: a\nb: c", ": b", "X A: b", "X-A: b\r", "X(A): b", "\x80: b", "X-A: \xff", "Host: other", "Host:",
		"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "Expect: 100-continue", "Expect: 200-ok", "Connection: keep-alive, close", "Trailer: Content-Length, Host", "TE: chunked",
		"X-Forwarded-For: evil\r\nX_Forwarded_For: evil", "Content-Length: 0\r\n\r\n",
	} {
		add(fmt.Sprintf("field: %.40q", field), oddGet("GET /ID/odd?n=10 HTTP/1.1", "Host: h\r\n"+field+"\r\n")+evil)
	}
	for _, line := range []string{
		"GET  /ID/odd HTTP/1.1", "GET /ID/odd  HTTP/1.1", "GET /ID/odd HTTP/1.1 ", " GET /ID/odd HTTP/1.1", "GET\t/ID/odd HTTP/1.1", "GET /ID/odd", "GET /ID/odd HTTP/1.0", "GET /ID/odd HTTP/1.2", "GET /ID/odd HTTP/2.0",
		"GET /ID/odd HTTP/01.1", "GET /ID/o dd HTTP/1.1", "GET http://other/ID/odd HTTP/1.1", "GET http://other HTTP/1.1", "GET h:80 HTTP/1.1", "CONNECT h:80 HTTP/1.1", "OPTIONS * HTTP/1.1", "G(T /ID/odd HTTP/1.1", "get /ID/odd HTTP/1.1",
		"GET /ID/odd#x HTTP/1.1", "GET /ID/o%00dd HTTP/1.1", "GET /ID/o%zzdd HTTP/1.1", "GET /ID/\xffodd HTTP/1.1", "GET /ID/odd HTTP/1.1\n", "GET ID/odd HTTP/1.1", "GET //ID/odd HTTP/1.1", "GET /ID/../ID/odd HTTP/1.1", "\r\n\r\nGET /ID/odd HTTP/1.1", "\r\n\r\n\r\n\r\nGET /ID/odd HTTP/1.1",
	} {
		add(fmt.Sprintf("line: %q", line), oddGet(line, "Host: h\r\n")+evil)
	}
	add("chunks in HTTP/1.0", "POST /ID/odd HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n"+chunkedField+"\r\n"+long)
	add("LF alone", strings.ReplaceAll(oddGet("GET /ID/odd?n=10 HTTP/1.1", "Host: h\r\n"), "\r\n", "\n")+evil)
	add("no Host", oddGet("GET /ID/odd HTTP/1.1", "")+evil)
	add("a body that does not end", oddPost("Content-Length: 1000\r\n", "hello"))
	add("chunks that do not end", oddPost(chunkedField, "5\r\nhello\r\n"))
	add("a head that does not end", "GET /ID/odd HTTP/1.1\r\nHost: h\r\nX-A: ")
	return cases
}
