package main

import (
	"fmt"
	"strings"
)

func request(line string, fields ...string) string {
	return line + "\r\nHost: h\r\n" + strings.Join(append(fields, "", ""), "\r\n")
}

func post(fields ...string) string { return request("POST /p HTTP/1.1", fields...) }

func chunked(body string) string { return post("Transfer-Encoding: chunked") + body }

// hidden is the request that a smuggler hides in a body.
const hidden = "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"

func inputs() []input {
	list := []input{
		{"get", request("GET / HTTP/1.1")},
		{"get-query", request("GET /a/b?c=d&e HTTP/1.1", "User-Agent: u", "Cookie: a=b; c=d", "X-A: 1", "X-A: 2")},
		{"head", request("HEAD /x HTTP/1.1")},
		{"post", post("Content-Length: 5") + "hello"},
		{"post-none", post()},
		{"post-zero", post("Content-Length: 0")},
		{"get-body", request("GET /x HTTP/1.1", "Content-Length: 5") + "hello"},
		{"delete-body", request("DELETE /x HTTP/1.1", "Content-Length: 5") + "hello"},
		{"options", request("OPTIONS /x HTTP/1.1")},
		{"options-star", request("OPTIONS * HTTP/1.1")},
		{"get-star", request("GET * HTTP/1.1")},
		{"trace", request("TRACE /x HTTP/1.1")},
		{"connect", "CONNECT a.com:443 HTTP/1.1\r\nHost: a.com:443\r\n\r\n"},
		{"connect-path", request("CONNECT /x HTTP/1.1")},
		{"connect-noport", request("CONNECT a.com HTTP/1.1")},
		{"patch", request("PATCH /x HTTP/1.1", "Content-Length: 2") + "ab"},
		{"query", request("QUERY /x HTTP/1.1", "Content-Length: 2") + "ab"},
		{"odd-method", request("FOO /x HTTP/1.1")},
		{"odd-method-body", request("FOO /x HTTP/1.1", "Content-Length: 2") + "ab"},
		{"lower-method", request("get /x HTTP/1.1")},
		{"two", request("GET /1 HTTP/1.1") + request("GET /2 HTTP/1.1")},
		{"post-then-get", post("Content-Length: 5") + "hello" + request("GET /2 HTTP/1.1")},
		{"many", strings.Repeat(request("GET /n HTTP/1.1"), 20)},
		{"close", request("GET / HTTP/1.1", "Connection: close")},
		{"close-upper", request("GET / HTTP/1.1", "Connection: CLOSE")},
		{"close-list", request("GET / HTTP/1.1", "Connection: keep-alive, close")},
		{"close-list2", request("GET / HTTP/1.1", "Connection: foo,Close,bar")},
		{"close-lines", request("GET / HTTP/1.1", "Connection: keep-alive", "Connection: close")},
		{"ka", request("GET / HTTP/1.1", "Connection: keep-alive")},
		{"10", "GET / HTTP/1.0\r\n\r\n"},
		{"10-host", request("GET / HTTP/1.0")},
		{"10-ka", request("GET / HTTP/1.0", "Connection: keep-alive")},
		{"10-KA", request("GET / HTTP/1.0", "Connection: Keep-Alive")},
		{"10-ka-list", request("GET / HTTP/1.0", "Connection: foo, keep-alive")},
		{"10-post", request("POST / HTTP/1.0", "Content-Length: 5") + "hello"},
		{"10-chunked", request("POST / HTTP/1.0", "Transfer-Encoding: chunked") + "5\r\nhello\r\n0\r\n\r\n"},
		{"10-expect", request("POST / HTTP/1.0", "Expect: 100-continue", "Content-Length: 5") + "hello"},
		{"upgrade", request("GET / HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket")},
		{"upgrade-h2c", request("GET / HTTP/1.1", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: x")},
		{"expect", post("Expect: 100-continue", "Content-Length: 5") + "hello"},
		{"expect-upper", post("Expect: 100-Continue", "Content-Length: 5") + "hello"},
		{"expect-other", post("Expect: foo", "Content-Length: 5") + "hello"},
		{"expect-list", post("Expect: 100-continue, foo", "Content-Length: 5") + "hello"},
		{"expect-empty", post("Expect:", "Content-Length: 5") + "hello"},
		{"expect-nobody", post("Expect: 100-continue", "Content-Length: 0")},
		{"expect-get", request("GET / HTTP/1.1", "Expect: 100-continue")},
		{"expect-chunked", post("Expect: 100-continue", "Transfer-Encoding: chunked") + "5\r\nhello\r\n0\r\n\r\n"},
		{"form", post("Content-Type: application/x-www-form-urlencoded", "Content-Length: 7") + "a=1&b=2"},
		{"multipart", multipartRequest("")},
		{"multipart-epilogue", multipartRequest(hidden)},
		{"multipart-broken", post("Content-Type: multipart/form-data; boundary=xx", "Content-Length: 7") + "garbage"},
		{"multipart-cut", post("Content-Type: multipart/form-data; boundary=xx", "Content-Length: 56") + "--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nvalue"},
		{"body-long", post("Content-Length: 50000") + strings.Repeat("x", 50000)},
		{"body-over-limit", post(fmt.Sprint("Content-Length: ", 5<<20)) + strings.Repeat("x", 1000)},
		{"body-cut", post("Content-Length: 500") + "short"},
		{"empty", ""},
		{"crlf", "\r\n"}, {"crlf-2", "\r\n\r\n"}, {"crlf-3", "\r\n\r\n\r\n"},
		{"crlf-before", "\r\n" + request("GET / HTTP/1.1")},
		{"crlf-after-body", post("Content-Length: 5") + "hello\r\n"},
		{"crlf-after-body-2", post("Content-Length: 5") + "hello\r\n\r\n"},
		{"crlf-after-body-3", post("Content-Length: 5") + "hello\r\n\r\n\r\n"},
		{"lf-before", "\n" + request("GET / HTTP/1.1")},
		{"garbage", "garbage\r\n\r\n"},
		{"tls", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"},
		{"h2-preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"},
	}
	list = append(list, framingInputs()...)
	list = append(list, chunkInputs()...)
	return append(list, headInputs()...)
}

func framingInputs() []input {
	list := []input{
		{"cl-te", post("Content-Length: 5", "Transfer-Encoding: chunked") + "0\r\n\r\n" + hidden},
		{"te-cl", post("Transfer-Encoding: chunked", "Content-Length: 3") + "8\r\nSMUGGLED\r\n0\r\n\r\n"},
		{"cl-te-get", request("GET /x HTTP/1.1", "Content-Length: 5", "Transfer-Encoding: chunked") + "0\r\n\r\n"},
		{"cl-dup-same", post("Content-Length: 5", "Content-Length: 5") + "hello"},
		{"cl-dup-diff", post("Content-Length: 5", "Content-Length: 6") + "hello"},
		{"te-dup", post("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + "0\r\n\r\n"},
		{"te-dup-identity", post("Transfer-Encoding: chunked", "Transfer-Encoding: identity") + "0\r\n\r\n"},
		{"te-sp-name", post("Transfer-Encoding : chunked") + "0\r\n\r\n"},
		{"te-fold", post("Transfer-Encoding:", " chunked") + "0\r\n\r\n"},
		{"te-under", post("Transfer_Encoding: chunked", "Content-Length: 5") + "0\r\n\r\n"},
		{"get-te", request("GET /x HTTP/1.1", "Transfer-Encoding: chunked") + "0\r\n\r\n"},
	}
	for i, v := range []string{"+5", "-5", "0x5", "5_0", "5,5", "5, 5", "5;5", "", "abc", "5a", "5 5", "5.0", "1e1", "05", "00000000000000000000005", "21000000000000000000", "9223372036854775807", "9223372036854775808", "18446744073709551621", "\"5\"", "5\x0b", "\x005", "٥"} {
		list = append(list, input{fmt.Sprintf("cl-value/%d-%s", i, v), post("Content-Length: "+v) + "hello"})
	}
	for i, v := range []string{"CHUNKED", "Chunked", "identity", "gzip", "deflate", "gzip, chunked", "chunked, gzip", "chunked, chunked", "chunked, identity", "identity, chunked", "", "xchunked", "chunkedx", "\"chunked\"", "chunked;q=1", "\x0bchunked", "\x00chunked", ",chunked", "chunked,", " chunked ", "\tchunked\t", "x", "chu nked", "trailers", "chunked\x0c"} {
		list = append(list, input{fmt.Sprintf("te-value/%d-%s", i, v), post("Transfer-Encoding: "+v) + "5\r\nhello\r\n0\r\n\r\n"})
	}
	return list
}

func chunkInputs() []input {
	var list []input
	for i, size := range []string{"5", "05", "005", strings.Repeat("0", 20) + "5", " 5", "5 ", "5\t", "\t5", "+5", "-5", "0x5", "5_", "", "g", "5;a", "5;a=b", "5 ; a=b", "5;a = b", "5;a=\"b\"", "5;a=\"b;\\\"c\"", "5;a=\"b", "5;", "5;;", "5;=b", "5;a=", "5;a=\x01", "5;a=\x00", "5;a=é", "5;a\nb", "5;a\rb", "5;a b", "5,a", "5:a", "10000000000000005", "ffffffffffffffff", "fffffffffffffffffff", "7fffffffffffffff", "5;" + strings.Repeat("a", 3000), "5;" + strings.Repeat("a", 5000), "5;" + strings.Repeat("a", 20000)} {
		id := size
		if len(id) > 30 {
			id = fmt.Sprint("long-", len(id))
		}
		list = append(list, input{fmt.Sprintf("chunk-size/%d-%s", i, id), chunked(size + "\r\nhello\r\n0\r\n\r\n")})
	}
	return append(list,
		input{"chunk/ok", chunked("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")},
		input{"chunk/lf-size", chunked("5\nhello\r\n0\r\n\r\n")},
		input{"chunk/lf-data", chunked("5\r\nhello\n0\r\n\r\n")},
		input{"chunk/lf-last", chunked("5\r\nhello\r\n0\n\r\n")},
		input{"chunk/lf-end", chunked("5\r\nhello\r\n0\r\n\n")},
		input{"chunk/cr-size", chunked("5\rhello\r\n0\r\n\r\n")},
		input{"chunk/crcrlf", chunked("5\r\r\nhello\r\n0\r\n\r\n")},
		input{"chunk/long-data", chunked("5\r\nhello!\r\n0\r\n\r\n")},
		input{"chunk/short-data", chunked("5\r\nhell\r\n0\r\n\r\n")},
		input{"chunk/no-crlf", chunked("5\r\nhello0\r\n\r\n")},
		input{"chunk/smuggle", chunked("0\r\n\r\n" + hidden)},
		input{"chunk/trailer", chunked("0\r\nFoo: bar\r\n\r\n")},
		input{"chunk/trailer-named", post("Transfer-Encoding: chunked", "Trailer: Foo") + "0\r\nFoo: bar\r\n\r\n"},
		input{"chunk/trailer-forbidden-named", post("Transfer-Encoding: chunked", "Trailer: Content-Length") + "0\r\nContent-Length: 5\r\n\r\n"},
		input{"chunk/trailer-forbidden", chunked("0\r\nContent-Length: 5\r\n\r\n")},
		input{"chunk/trailer-te", chunked("0\r\nTransfer-Encoding: chunked\r\n\r\n")},
		input{"chunk/trailer-host", chunked("0\r\nHost: evil\r\n\r\n")},
		input{"chunk/trailer-bad", chunked("0\r\nFo o: bar\r\n\r\n")},
		input{"chunk/trailer-nocolon", chunked("0\r\nFoo\r\n\r\n")},
		input{"chunk/trailer-fold", chunked("0\r\nFoo: a\r\n b\r\n\r\n")},
		input{"chunk/trailer-lf", chunked("0\r\nFoo: a\n\r\n")},
		input{"chunk/trailer-nul", chunked("0\r\nFoo: a\x00\r\n\r\n")},
		input{"chunk/trailer-many", chunked("0\r\n" + strings.Repeat("Foo: x\r\n", 150) + "\r\n")},
		input{"chunk/trailer-long", chunked("0\r\nFoo: " + strings.Repeat("x", 5000) + "\r\n\r\n")},
		input{"chunk/big", chunked("c350\r\n" + strings.Repeat("x", 50000) + "\r\n0\r\n\r\n")},
		input{"chunk/over-limit", chunked("500000\r\n" + strings.Repeat("x", 1000))},
		input{"chunk/cut", chunked("5000\r\nhello")},
	)
}

func headInputs() []input {
	var list []input
	for i, l := range []string{"GET  / HTTP/1.1", "GET /  HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET\t/ HTTP/1.1", "GET /\tHTTP/1.1", "GET /", "GET", "GET ", "", "GET HTTP/1.1", "GET  HTTP/1.1", "GET / HTTP/1.2", "GET / HTTP/1.9", "GET / HTTP/2.0", "GET / HTTP/2", "GET / HTTP/3.0", "GET / HTTP/0.9", "GET / HTTP/1", "GET / HTTP/1.", "GET / HTTP/1.10", "GET / HTTP/01.1", "GET / HTTP/11", "GET / http/1.1", "GET / HTTP /1.1", "GET / HTP/1.1", "GET / FOO", "GET / HTTP/x.y", "GET / HTTP/1.1x", "GET /a b HTTP/1.1", "GET /a\tb HTTP/1.1", "GET /a\x00b HTTP/1.1", "GET /a\x01b HTTP/1.1", "GET /a\x7fb HTTP/1.1", "GET /a\xffb HTTP/1.1", "GET /é HTTP/1.1", "GET /a\rb HTTP/1.1", "GET /a#b HTTP/1.1", "GET /%zz HTTP/1.1", "GET /% HTTP/1.1", "GET /%00 HTTP/1.1", "GET /a%2e%2e/b HTTP/1.1", "GET /../a HTTP/1.1", "GET //a//b HTTP/1.1", "GET /a\\b HTTP/1.1", "GET /\"<>^`{|} HTTP/1.1", "GET a HTTP/1.1", "GET ?a HTTP/1.1", "GET h/a HTTP/1.1", "GET http://a.com/x HTTP/1.1", "GET http://a.com HTTP/1.1", "GET http://a.com?x HTTP/1.1", "GET HTTP://A.com/x HTTP/1.1", "GET https://a.com/x HTTP/1.1", "GET http://u:p@a.com/x HTTP/1.1", "GET http:///x HTTP/1.1", "GET http://a b/x HTTP/1.1", "GET http://a:99999/x HTTP/1.1", "GET http://[::1]/x HTTP/1.1", "GET ftp://a/x HTTP/1.1", "GET a.com:80 HTTP/1.1", "GET mailto:x HTTP/1.1", "G@T / HTTP/1.1", "GE:T / HTTP/1.1", "GE\x00T / HTTP/1.1", "G\xffT / HTTP/1.1", "GÉT / HTTP/1.1", "!#$%&'*+-.^_`|~09az / HTTP/1.1", strings.Repeat("M", 100) + " / HTTP/1.1", "GET /" + strings.Repeat("x", 3000) + " HTTP/1.1", "GET /" + strings.Repeat("x", 5000) + " HTTP/1.1", "GET /" + strings.Repeat("x", 20000) + " HTTP/1.1"} {
		id := l
		if len(id) > 60 {
			id = fmt.Sprint("long-", len(id))
		}
		list = append(list, input{fmt.Sprintf("line/%d-%s", i, id), request(l)})
	}
	for i, h := range []string{"", " ", "a", "a:80", "a:", "a:x", "a:99999", "a:1:2", "u@a", "a b", "a/b", "a?b", "a#b", "a,b", "a;b", "a_b", "é", "a%41", "a%zz", "[::1]", "[::1]:80", "[::1", "[::g]", "[::1]a", "[fe80::1%25e]", "A.COM", ".", "-", "a\x00b", "a\x7f", "a\xff", "\"a\"", "<a>", "http://a", "*", "1.2.3.4", "a\tb", "a\\b", "a..b", "a."} {
		list = append(list, input{fmt.Sprintf("host/%d-%s", i, h), "GET /x HTTP/1.1\r\nHost: " + h + "\r\n\r\n"})
	}
	list = append(list,
		input{"host/none", "GET / HTTP/1.1\r\n\r\n"},
		input{"host/dup-same", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"},
		input{"host/dup-diff", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
		input{"host/none-abs", "GET http://a/ HTTP/1.1\r\n\r\n"},
		input{"host/case", "GET / HTTP/1.1\r\nhOST: a\r\n\r\n"},
		input{"host/none-10-ka", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"},
	)
	for i, f := range []string{"Foo: bar", "Foo:bar", "Foo:", "Foo: ", "Foo:  a  ", "Foo:\ta\t", "Foo : a", "Foo\t: a", ": a", "Foo", " Foo: a", "\tFoo: a", "Fo o: a", "Fo\x00o: a", "Fo\x01o: a", "Fo\x7fo: a", "Fo\xffo: a", "Foé: a", "Fo(o): a", "\"Foo\": a", "Foo: a\x00b", "Foo: a\x01b", "Foo: a\x0bb", "Foo: a\x7fb", "Foo: é\xff", "Foo: a\rb", "Foo: a\nb", "Foo: a\r", "Foo: a\r\n b", "Foo: a\r\n\tb", "Foo: a\r\n ", "foo_bar: a", "!#$%&'*+-.^_`|~09: a", "Foo: a:b", "Foo:: a", "Foo: " + strings.Repeat("x", 3000), "Foo: " + strings.Repeat("x", 5000), "Foo: " + strings.Repeat("x", 70000), strings.Repeat("A: b\r\n", 300) + "Z: z", strings.Repeat("A: b\r\n", 700) + "Z: z", strings.Repeat("n", 2000) + ": v"} {
		id := f
		if len(id) > 60 {
			id = fmt.Sprint("long-", len(id))
		}
		list = append(list, input{fmt.Sprintf("field/%d-%s", i, id), request("GET / HTTP/1.1", f)})
	}
	return append(list,
		input{"lf/all", "GET / HTTP/1.1\nHost: h\n\n"},
		input{"lf/line", "GET / HTTP/1.1\nHost: h\r\n\r\n"},
		input{"lf/field", "GET / HTTP/1.1\r\nHost: h\nFoo: x\r\n\r\n"},
		input{"lf/end", "GET / HTTP/1.1\r\nHost: h\r\n\n"},
		input{"lf/end-2", "GET / HTTP/1.1\r\nHost: h\n\r\n"},
		input{"cr/all", "GET / HTTP/1.1\rHost: h\r\r"},
		input{"cr/crcrlf", "GET / HTTP/1.1\r\nHost: h\r\r\n\r\n"},
		input{"cr/line", "GET / HTTP/1.1\r\r\nHost: h\r\n\r\n"},
		input{"cut/line", "GET / HT"},
		input{"cut/fields", "GET / HTTP/1.1\r\nHost: h\r\nFoo"},
	)
}

// handlerInputs select the responses of the handler.
func handlerInputs() []input {
	var list []input
	for _, p := range []string{"/close", "/empty", "/notfound", "/notmodified", "/success", "/stream", "/stream-chunked", "/stream-short", "/stream-long", "/writer", "/trailer", "/panic", "/timeout", "/timeout-code", "/hints", "/skip", "/write", "/reset", "/proto10", "/hijack", "/hijack?silent", "/error?n=400", "/error?n=0", "/error?n=204", "/set?Foo=bar&content-type=x", "/set?Content-Length=99", "/set?Transfer-Encoding=chunked", "/set?Connection=close", "/set?Connection=foo", "/set?Foo=a%0d%0aX:+y", "/set?a%0d%0ab=c", "/set?Server=&Date=&Content-Type=", "/set?Location=/x%0d%0ay", "/cookies?a=b&c=d", "/cookies?a%0d%0ax=b;c"} {
		for _, m := range []string{"GET", "HEAD"} {
			list = append(list, input{m + " " + p, request(m + " " + p + " HTTP/1.1")})
		}
		list = append(list, input{"GET-10 " + p, request("GET " + p + " HTTP/1.0")})
		list = append(list, input{"GET-10-ka " + p, request("GET "+p+" HTTP/1.0", "Connection: keep-alive")})
	}
	for _, n := range []string{"0", "99", "100", "101", "103", "200", "201", "204", "205", "206", "301", "304", "400", "404", "413", "500", "503", "599", "600", "999", "1000"} {
		list = append(list,
			input{"status " + n, request("GET /status?n=" + n + " HTTP/1.1")},
			input{"status-empty " + n, request("GET /status-empty?n=" + n + " HTTP/1.1")},
			input{"status-head " + n, request("HEAD /status?n=" + n + " HTTP/1.1")},
		)
	}
	for i, to := range []string{"/x", "x", "../x", "?q", "//b.com/x", "http://b.com/x", "https://b.com", "/a%20b", "/a%0d%0aX:%20y", "", "%23f", "http:///x", "javascript:alert(1)", "/é"} {
		list = append(list, input{fmt.Sprintf("redirect %d %s", i, to), request("GET /redirect?n=302&to=" + to + " HTTP/1.1")})
	}
	for _, n := range []string{"300", "301", "302", "303", "304", "305", "307", "308", "200", "404", "0"} {
		list = append(list, input{"redirect-code " + n, request("GET /redirect?n=" + n + "&to=/x HTTP/1.1")})
	}
	return list
}
