package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

// head is a raw request head; bytes after it stay in the reader.
var heads = []struct{ id, raw string }{
	{"minimal", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"no-host-11", "GET / HTTP/1.1\r\n\r\n"},
	{"no-host-10", "GET / HTTP/1.0\r\n\r\n"},
	{"empty", ""},
	{"crlf-only", "\r\n"},
	{"crlf-twice", "\r\n\r\n"},
	{"crlf-thrice", "\r\n\r\n\r\n"},
	{"lf-only", "\n"},
	{"leading-crlf", "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"leading-crlf-2", "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"leading-crlf-3", "\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"leading-lf", "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"leading-sp", " GET / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"rest-stays", "GET / HTTP/1.1\r\nHost: h\r\n\r\nrest of it"},
	{"pipelined", "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"many", "GET /p?q=1 HTTP/1.1\r\nHost: example.com\r\nUser-Agent: ua/1\r\nAccept: */*\r\nAccept-Encoding: gzip, br\r\nReferer: http://r/\r\nCookie: a=b; c=d\r\nX-A: 1\r\nX-A: 2\r\nx-b:3\r\n\r\n"},
	{"post", "POST /p HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"},
	{"post-no-ct", "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"},
	{"post-no-len", "POST /p HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"get-len", "GET /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"},
	{"get-chunked", "GET /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{"chunked", "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{"chunked-trailer", "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: Foo, Bar\r\n\r\n0\r\n\r\n"},
	{"trailer-forbidden", "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: Foo, Content-Length\r\n\r\n0\r\n\r\n"},
	{"trailer-bad", "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: a b\r\n\r\n0\r\n\r\n"},
	{"lower-names", "GET / HTTP/1.1\r\nhost: h\r\nuser-agent: u\r\ncontent-type: t\r\nfoo-bar: x\r\n\r\n"},
	{"upper-names", "GET / HTTP/1.1\r\nHOST: h\r\nUSER-AGENT: u\r\nFOO-BAR: x\r\n\r\n"},
	{"value-spaces", "GET / HTTP/1.1\r\nHost:   h   \r\nFoo:\t a\tb \t\r\nBar:\r\nBaz: \r\n\r\n"},
	{"dup-foo", "GET / HTTP/1.1\r\nHost: h\r\nFoo: 1\r\nFoo: 2\r\nfoo: 3\r\n\r\n"},
	{"dup-cookie", "GET / HTTP/1.1\r\nHost: h\r\nCookie: a=1\r\nCookie: b=2; a=3\r\n\r\n"},
	{"cookie-odd", "GET / HTTP/1.1\r\nHost: h\r\nCookie: a; b=; =c; ;; d=\"x y\"; e=f=g;h=i\r\n\r\n"},
	{"dup-ua", "GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: a\r\nUser-Agent: b\r\n\r\n"},
	{"dup-ct", "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: a\r\nContent-Type: b\r\nContent-Length: 0\r\n\r\n"},
	{"conn-close", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"},
	{"conn-CLOSE", "GET / HTTP/1.1\r\nHost: h\r\nConnection: CLOSE\r\n\r\n"},
	{"conn-list", "GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, close\r\n\r\n"},
	{"conn-list2", "GET / HTTP/1.1\r\nHost: h\r\nConnection: foo,close ,bar\r\n\r\n"},
	{"conn-two-lines", "GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n"},
	{"conn-two-lines2", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n"},
	{"conn-upgrade", "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"},
	{"conn-upgrade-list", "GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n"},
	{"conn-ka-10", "GET / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n"},
	{"conn-KA-10", "GET / HTTP/1.0\r\nHost: h\r\nConnection: Keep-Alive\r\n\r\n"},
	{"conn-ka-list-10", "GET / HTTP/1.0\r\nHost: h\r\nConnection: foo, keep-alive\r\n\r\n"},
	{"conn-enclose", "GET / HTTP/1.1\r\nHost: h\r\nConnection: enclose\r\n\r\n"},
	{"expect", "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"},

	{"cl-0", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},
	{"cl-plus", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\nx"},
	{"cl-minus", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\nx"},
	{"cl-hex", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x1\r\n\r\nx"},
	{"cl-underscore", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1_0\r\n\r\nx"},
	{"cl-list-same", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1,1\r\n\r\nx"},
	{"cl-list-diff", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1, 2\r\n\r\nx"},
	{"cl-empty", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\nx"},
	{"cl-huge", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 21000000000000000000\r\n\r\nx"},
	{"cl-max", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9223372036854775807\r\n\r\nx"},
	{"cl-max1", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9223372036854775808\r\n\r\nx"},
	{"cl-zeros", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0000000000000000000000005\r\n\r\nhello"},
	{"cl-007", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 007\r\n\r\nx"},
	{"cl-trail", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1 \r\n\r\nx"},
	{"cl-inner", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1 1\r\n\r\nx"},
	{"cl-float", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1.0\r\n\r\nx"},
	{"cl-exp", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1e1\r\n\r\nx"},
	{"cl-letters", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: abc\r\n\r\nx"},
	{"cl-quoted", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \"1\"\r\n\r\nx"},
	{"cl-dup-same", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx"},
	{"cl-dup-diff", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx"},
	{"cl-bad-get", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: abc\r\n\r\nx"},
	{"cl-te", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx"},
	{"te-cl", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\nx"},
	{"te-cl-bad", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: abc\r\n\r\nx"},
	{"te-10", "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx"},
	{"te-CHUNKED", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: CHUNKED\r\n\r\nx"},
	{"te-identity", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\nx"},
	{"te-gzip", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\nx"},
	{"te-gzip-chunked", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\nx"},
	{"te-chunked-gzip", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, gzip\r\n\r\nx"},
	{"te-chunked-chunked", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, chunked\r\n\r\nx"},
	{"te-dup", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\nx"},
	{"te-dup-identity", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\nx"},
	{"te-empty", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n\r\nx"},
	{"te-xchunked", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\nx"},
	{"te-quoted", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \"chunked\"\r\n\r\nx"},
	{"te-param", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked;q=1\r\n\r\nx"},
	{"te-vt", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \x0bchunked\r\n\r\nx"},
	{"te-sp-colon", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\nx"},
	{"te-comma", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: ,chunked\r\n\r\nx"},
	{"te-trailing-comma", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked,\r\n\r\nx"},

	{"host-dup-same", "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n"},
	{"host-dup-diff", "GET / HTTP/1.1\r\nHost: h\r\nHost: g\r\n\r\n"},
	{"host-empty", "GET / HTTP/1.1\r\nHost:\r\n\r\n"},
	{"host-userinfo", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"},
	{"host-space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
	{"host-slash", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"},
	{"host-port", "GET / HTTP/1.1\r\nHost: a:80\r\n\r\n"},
	{"host-port-empty", "GET / HTTP/1.1\r\nHost: a:\r\n\r\n"},
	{"host-port-letters", "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"},
	{"host-port-big", "GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n"},
	{"host-two-colons", "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n"},
	{"host-v6", "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"},
	{"host-v6-zone", "GET / HTTP/1.1\r\nHost: [fe80::1%25eth0]\r\n\r\n"},
	{"host-v6-bad", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"},
	{"host-v6-junk", "GET / HTTP/1.1\r\nHost: [::g]\r\n\r\n"},
	{"host-v6-after", "GET / HTTP/1.1\r\nHost: [::1]a\r\n\r\n"},
	{"host-upper", "GET / HTTP/1.1\r\nHost: EXAMPLE.Com\r\n\r\n"},
	{"host-utf8", "GET / HTTP/1.1\r\nHost: é.com\r\n\r\n"},
	{"host-pct", "GET / HTTP/1.1\r\nHost: a%41.com\r\n\r\n"},
	{"host-under", "GET / HTTP/1.1\r\nHost: a_b.com\r\n\r\n"},
	{"host-comma", "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n"},
	{"host-query", "GET / HTTP/1.1\r\nHost: a?b\r\n\r\n"},
	{"abs", "GET http://a.com/x HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"abs-nohost", "GET http://a.com/x HTTP/1.1\r\n\r\n"},
	{"abs-https", "GET https://a.com/x HTTP/1.1\r\nHost: a.com\r\n\r\n"},
	{"abs-userinfo", "GET http://u:p@a.com/x HTTP/1.1\r\nHost: a.com\r\n\r\n"},
	{"abs-empty-path", "GET http://a.com HTTP/1.1\r\nHost: a.com\r\n\r\n"},
	{"abs-query", "GET http://a.com?x HTTP/1.1\r\nHost: a.com\r\n\r\n"},
	{"connect", "CONNECT a.com:443 HTTP/1.1\r\nHost: a.com:443\r\n\r\n"},
	{"connect-other-host", "CONNECT a.com:443 HTTP/1.1\r\nHost: b\r\n\r\n"},
	{"connect-path", "CONNECT /x HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"connect-noport", "CONNECT a.com HTTP/1.1\r\nHost: a.com\r\n\r\n"},
	{"options-star", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"get-star", "GET * HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"authority-get", "GET a.com:80 HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"noslash", "GET foo HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"dslash", "GET //a/b HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"frag", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"uri-utf8", "GET /é HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"uri-ctl", "GET /a\x01b HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"uri-nul", "GET /a\x00b HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"uri-del", "GET /a\x7fb HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"uri-ff", "GET /a\xffb HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"uri-tab", "GET /a\tb HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"uri-pct-bad", "GET /a%zz%1 HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"uri-quotes", "GET /\"<>\\^`{|} HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"uri-space", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"sp-double-1", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"sp-double-2", "GET /  HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"sp-trail", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n"},
	{"sp-tab", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"sp-tab2", "GET /\tHTTP/1.1\r\nHost: h\r\n\r\n"},
	{"no-proto", "GET /\r\nHost: h\r\n\r\n"},
	{"no-uri", "GET HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"no-uri-sp", "GET  HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"only-method", "GET\r\nHost: h\r\n\r\n"},
	{"only-method-sp", "GET \r\nHost: h\r\n\r\n"},
	{"http-09", "GET /\r\n"},
	{"v-1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n"},
	{"v-1.9", "GET / HTTP/1.9\r\nHost: h\r\n\r\n"},
	{"v-2.0", "GET / HTTP/2.0\r\nHost: h\r\n\r\n"},
	{"v-0.9", "GET / HTTP/0.9\r\nHost: h\r\n\r\n"},
	{"v-2", "GET / HTTP/2\r\nHost: h\r\n\r\n"},
	{"v-1", "GET / HTTP/1\r\nHost: h\r\n\r\n"},
	{"v-lower", "GET / http/1.1\r\nHost: h\r\n\r\n"},
	{"v-01.1", "GET / HTTP/01.1\r\nHost: h\r\n\r\n"},
	{"v-1.10", "GET / HTTP/1.10\r\nHost: h\r\n\r\n"},
	{"v-1.", "GET / HTTP/1.\r\nHost: h\r\n\r\n"},
	{"v-x", "GET / HTTP/x.y\r\nHost: h\r\n\r\n"},
	{"v-htp", "GET / HTP/1.1\r\nHost: h\r\n\r\n"},
	{"v-foo", "GET / FOO\r\nHost: h\r\n\r\n"},
	{"h2-preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	{"m-lower", "get / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"m-odd", "FOO-bar_1 / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"m-bad", "G@T / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"m-colon", "GE:T / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"m-nul", "GE\x00T / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"m-utf8", "GÉT / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"m-empty", " / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"m-all", "!#$%&'*+-.^_`|~09azAZ / HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"query", "QUERY / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},

	{"lf-lines", "GET / HTTP/1.1\nHost: h\n\n"},
	{"lf-first", "GET / HTTP/1.1\nHost: h\r\n\r\n"},
	{"lf-header", "GET / HTTP/1.1\r\nHost: h\nFoo: x\r\n\r\n"},
	{"lf-end", "GET / HTTP/1.1\r\nHost: h\r\n\n"},
	{"lf-end2", "GET / HTTP/1.1\r\nHost: h\n\r\n"},
	{"cr-in-line", "GET /\rx HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"cr-header", "GET / HTTP/1.1\r\nHost: h\rFoo: x\r\n\r\n"},
	{"cr-only", "GET / HTTP/1.1\rHost: h\r\r"},
	{"crcrlf", "GET / HTTP/1.1\r\nHost: h\r\r\n\r\n"},
	{"crcrlf-line", "GET / HTTP/1.1\r\r\nHost: h\r\n\r\n"},
	{"fold-sp", "GET / HTTP/1.1\r\nHost: h\r\nFoo: a\r\n b\r\n\r\n"},
	{"fold-tab", "GET / HTTP/1.1\r\nHost: h\r\nFoo: a\r\n\tb\r\n\r\n"},
	{"fold-many", "GET / HTTP/1.1\r\nHost: h\r\nFoo: a\r\n \r\n  b  \r\n\tc\r\n\r\n"},
	{"fold-first", "GET / HTTP/1.1\r\n Host: h\r\n\r\n"},
	{"fold-host", "GET / HTTP/1.1\r\nHost: h\r\n x\r\n\r\n"},
	{"fold-te", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n"},
	{"fold-cl", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n 0\r\n\r\n"},
	{"n-sp-colon", "GET / HTTP/1.1\r\nHost : h\r\n\r\n"},
	{"n-tab-colon", "GET / HTTP/1.1\r\nHost: h\r\nFoo\t: x\r\n\r\n"},
	{"n-empty", "GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n"},
	{"n-nocolon", "GET / HTTP/1.1\r\nHost: h\r\nFoo\r\n\r\n"},
	{"n-space-in", "GET / HTTP/1.1\r\nHost: h\r\nFoo Bar: x\r\n\r\n"},
	{"n-lead-sp", "GET / HTTP/1.1\r\nHost: h\r\n Foo: x\r\n\r\n"},
	{"n-utf8", "GET / HTTP/1.1\r\nHost: h\r\nFoé: x\r\n\r\n"},
	{"n-ctl", "GET / HTTP/1.1\r\nHost: h\r\nFo\x01o: x\r\n\r\n"},
	{"n-nul", "GET / HTTP/1.1\r\nHost: h\r\nFo\x00o: x\r\n\r\n"},
	{"n-ff", "GET / HTTP/1.1\r\nHost: h\r\nFo\xffo: x\r\n\r\n"},
	{"n-punct", "GET / HTTP/1.1\r\nHost: h\r\n!#$%&'*+-.^_`|~09azAZ: x\r\n\r\n"},
	{"n-bad-punct", "GET / HTTP/1.1\r\nHost: h\r\nFo(o): x\r\n\r\n"},
	{"n-quote", "GET / HTTP/1.1\r\nHost: h\r\n\"Foo\": x\r\n\r\n"},
	{"n-under", "GET / HTTP/1.1\r\nHost: h\r\nContent_Length: 5\r\n\r\n"},
	{"val-nul", "GET / HTTP/1.1\r\nHost: h\r\nFoo: a\x00b\r\n\r\n"},
	{"val-ctl", "GET / HTTP/1.1\r\nHost: h\r\nFoo: a\x01b\r\n\r\n"},
	{"val-vt", "GET / HTTP/1.1\r\nHost: h\r\nFoo: a\x0bb\r\n\r\n"},
	{"val-del", "GET / HTTP/1.1\r\nHost: h\r\nFoo: a\x7fb\r\n\r\n"},
	{"val-high", "GET / HTTP/1.1\r\nHost: h\r\nFoo: é\xff\r\n\r\n"},
	{"val-colon", "GET / HTTP/1.1\r\nHost: h\r\nFoo: a:b:c\r\n\r\n"},
	{"val-colons", "GET / HTTP/1.1\r\nHost: h\r\nFoo::: x\r\n\r\n"},
	{"val-long", "GET / HTTP/1.1\r\nHost: h\r\nFoo: " + strings.Repeat("x", 2000) + "\r\n\r\n"},
	{"val-4096", "GET / HTTP/1.1\r\nHost: h\r\nFoo: " + strings.Repeat("x", 5000) + "\r\n\r\n"},
	{"uri-long", "GET /" + strings.Repeat("x", 2000) + " HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"uri-too-long", "GET /" + strings.Repeat("x", 5000) + " HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"fields-100", "GET / HTTP/1.1\r\nHost: h\r\n" + strings.Repeat("A: b\r\n", 100) + "\r\n"},
	{"fields-600", "GET / HTTP/1.1\r\nHost: h\r\n" + strings.Repeat("A: b\r\n", 600) + "\r\n"},
	{"garbage", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"},
	{"garbage-crlf", "\x16\x03\x01\r\n\r\n"},
}

func runReads() {
	for _, x := range heads {
		read("read/"+x.id, x.raw, nil)
	}
	for _, x := range heads {
		if strings.Contains(x.id, "names") || strings.HasPrefix(x.id, "dup") || strings.HasPrefix(x.id, "conn") || strings.HasPrefix(x.id, "fold") {
			read("read-raw/"+x.id, x.raw, func(h *fasthttp.RequestHeader) { h.DisableNormalizing() })
			read("read-plain/"+x.id, x.raw, func(h *fasthttp.RequestHeader) { h.DisableSpecialHeader() })
		}
	}
	whole := "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nFoo: bar\r\n\r\n"
	for n := range len(whole) {
		read(fmt.Sprintf("read-cut/%02d", n), whole[:n], nil)
	}
}

// read prints the result of Read for the raw head, and how many bytes it read.
func read(id, raw string, setup func(*fasthttp.RequestHeader)) {
	report.Run(id, func(c *report.Case) {
		var h fasthttp.RequestHeader
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
	{"forbidden-host", "Host: x\r\n\r\n"},
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
			var h fasthttp.RequestHeader
			h.SetMethod("POST")
			h.SetHost("h")
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
