package main

import "github.com/valyala/fasthttp/compat/internal/ops"

var sequences = []ops.Sequence{
	{"del-absent", []op{{"Set", "Foo", "a"}, {"Del", "Bar"}}},
	{"canonical-special", []op{{"SetCanonical", "Host", "h"}, {"SetCanonical", "Content-Type", "t"}, {"SetCanonical", "User-Agent", "u"}, {"SetCanonical", "Content-Length", "5"}, {"SetCanonical", "Connection", "close"}, {"SetCanonical", "Cookie", "a=b"}}},
	{"canonical-special-lower", []op{{"SetCanonical", "host", "h"}, {"SetCanonical", "content-type", "t"}, {"SetCanonical", "content-length", "5"}, {"SetCanonical", "connection", "close"}, {"SetCanonical", "cookie", "a=b"}}},
	{"empty-value", []op{{"Set", "Foo", ""}, {"Set", "Host", ""}, {"Set", "User-Agent", ""}, {"Set", "Content-Type", ""}}},

	{"no-normalise-special", []op{{"DisableNormalizing"}, {"Set", "host", "h"}, {"Set", "CONTENT-TYPE", "t"}, {"Set", "user-agent", "u"}, {"Set", "content-length", "7"}, {"Set", "CONNECTION", "close"}, {"Set", "cookie", "a=b"}, {"Set", "trailer", "Foo"}, {"Peek", "host"}, {"Peek", "Host"}}},
	{"no-special", []op{{"DisableSpecialHeader"}, {"Set", "Host", "h"}, {"Set", "Content-Type", "t"}, {"Set", "User-Agent", "u"}, {"Set", "Content-Length", "7"}, {"Set", "Connection", "close"}, {"Set", "Cookie", "a=b"}, {"Peek", "Host"}}},
	{"no-special-setters", []op{{"DisableSpecialHeader"}, {"SetHost", "h"}, {"SetContentType", "t"}, {"SetUserAgent", "u"}, {"SetCookie", "a", "b"}, {"SetContentLength", "4"}, {"SetConnectionClose"}, {"EnableSpecialHeader"}}},
	{"no-special-post", []op{{"DisableSpecialHeader"}, {"SetMethod", "POST"}, {"Set", "content-type", "t"}, {"Add", "Content-Type", "t2"}, {"Add", "Host", "a"}, {"Add", "Host", "b"}}},
	{"special-back", []op{{"DisableSpecialHeader"}, {"Set", "Host", "h"}, {"EnableSpecialHeader"}, {"Set", "Host", "g"}}},
	{"no-special-no-normal", []op{{"DisableSpecialHeader"}, {"DisableNormalizing"}, {"Set", "host", "h"}, {"Set", "HOST", "i"}, {"Set", "Host", "j"}, {"Peek", "Host"}, {"Peek", "host"}}},

	{"cookies", []op{{"SetCookie", "a", "1"}, {"SetCookie", "b", "2"}, {"SetCookie", "a", "3"}, {"Cookie", "a"}, {"Cookie", "A"}, {"Cookie", "none"}}},
	{"cookies-bytes", []op{{"SetCookieBytesKV", "a", "1"}, {"DelCookie", "b"}, {"DelCookie", "a"}}},
	{"cookie-header", []op{{"Set", "Cookie", "a=1; b=2;c=3;  d = 4 ; e; =f; g=h=i"}, {"Cookie", "a"}, {"Cookie", "d"}, {"Cookie", "e"}, {"Cookie", ""}, {"Cookie", "g"}}},
	{"cookie-header-twice", []op{{"Set", "Cookie", "a=1"}, {"Set", "Cookie", "b=2"}}},
	{"cookie-header-add", []op{{"Add", "Cookie", "a=1"}, {"Add", "Cookie", "b=2"}, {"Add", "cookie", "a=3"}, {"PeekAll", "Cookie"}, {"Cookie", "a"}}},
	{"cookie-header-del", []op{{"SetCookie", "a", "1"}, {"Del", "Cookie"}}},
	{"cookie-peek", []op{{"SetCookie", "a", "1"}, {"SetCookie", "b", "2"}, {"Peek", "Cookie"}, {"Peek", "cookie"}}},
	{"cookie-mixed", []op{{"SetCookie", "a", "1"}, {"Set", "Cookie", "b=2; a=9"}, {"SetCookie", "c", "3"}}},
	{"cookie-empty", []op{{"Set", "Cookie", ""}, {"Set", "Cookie", ";;;"}, {"Set", "Cookie", "; ;a;"}}},
	{"cookie-quoted", []op{{"Set", "Cookie", `a="1"; b="x;y"; c="` + "\"; d=\\"}, {"Cookie", "a"}, {"Cookie", "b"}}},
	{"cookie-empty-key", []op{{"SetCookie", "", "v"}, {"SetCookie", "k", ""}, {"Cookie", ""}, {"Cookie", "k"}}},

	{"trailer-forbidden", []op{{"SetTrailer", "Content-Length"}, {"SetTrailer", "Transfer-Encoding"}, {"SetTrailer", "Host"}, {"AddTrailer", "Foo, Content-Type, Bar"}, {"AddTrailer", "Connection"}, {"AddTrailer", "Trailer"}, {"AddTrailer", "Authorization"}, {"AddTrailer", "Set-Cookie"}, {"AddTrailer", "Cookie"}, {"AddTrailer", "Cache-Control"}}},
	{"trailer-forbidden-more", []op{{"AddTrailer", "Content-Encoding"}, {"AddTrailer", "Content-Range"}, {"AddTrailer", "Expect"}, {"AddTrailer", "TE"}, {"AddTrailer", "Max-Forwards"}, {"AddTrailer", "Range"}, {"AddTrailer", "Www-Authenticate"}, {"AddTrailer", "Proxy-Connection"}, {"AddTrailer", "Proxy-Authenticate"}, {"AddTrailer", "Proxy-Authorization"}, {"AddTrailer", "If-Match"}, {"AddTrailer", "X-If"}, {"AddTrailer", "Keep-Alive"}, {"AddTrailer", "Upgrade"}, {"AddTrailer", "Location"}, {"AddTrailer", "Date"}, {"AddTrailer", "Content-Location"}, {"AddTrailer", "Content-MD5"}, {"AddTrailer", "Age"}, {"AddTrailer", "Vary"}, {"AddTrailer", "Expires"}}},

	{"close-upgrade-list", []op{{"Set", "Connection", "keep-alive, upgrade"}}},
	{"close-then-set", []op{{"SetConnectionClose"}, {"Set", "Connection", "keep-alive"}, {"Set", "Connection", "x"}}},

	{"length", []op{{"SetContentLength", "5"}, {"SetMethod", "POST"}, {"SetContentLength", "0"}, {"SetContentLength", "-1"}, {"SetContentLength", "-2"}, {"SetContentLength", "3"}}},
	{"length-get", []op{{"SetContentLength", "-1"}, {"SetContentLength", "7"}}},
	{"te-chunked-peek", []op{{"SetMethod", "POST"}, {"SetContentLength", "-1"}, {"Peek", "Transfer-Encoding"}, {"Del", "Transfer-Encoding"}}},

	{"protocol-10", []op{{"SetProtocol", "HTTP/1.0"}, {"SetConnectionClose"}, {"ResetConnectionClose"}, {"Set", "Connection", "keep-alive"}}},
	{"uri", []op{{"SetRequestURI", "/a b"}, {"SetRequestURI", ""}, {"SetRequestURI", "a"}, {"SetRequestURI", "http://h/p?q#f"}, {"SetRequestURI", "*"}, {"SetRequestURI", "/x\r\nFoo: bar"}, {"SetRequestURI", "/é?ü"}, {"SetRequestURI", "/\x00\x01\x7f"}}},
	{"range", []op{{"SetByteRange", "0", "10"}, {"SetByteRange", "5", "-1"}, {"SetByteRange", "-5", "0"}, {"SetByteRange", "10", "5"}}},
	{"boundary", []op{{"SetMultipartFormBoundary", "xyz"}, {"SetMultipartFormBoundary", "a b\"c"}, {"SetMultipartFormBoundary", ""}, {"SetMultipartFormBoundary", "x\r\nF: g"}}},
	{"boundary-parse-1", []op{{"SetContentType", "multipart/form-data; boundary=foo"}}},
	{"boundary-parse-2", []op{{"SetContentType", "multipart/form-data; boundary=\"foo bar\"; charset=x"}}},
	{"boundary-parse-3", []op{{"SetContentType", "Multipart/Form-Data;charset=x;Boundary=foo;z"}}},
	{"boundary-parse-4", []op{{"SetContentType", "multipart/form-data; xboundary=foo"}}},
	{"boundary-parse-5", []op{{"SetContentType", "multipart/form-data"}}},
	{"boundary-parse-6", []op{{"SetContentType", "multipart/mixed; boundary=foo"}}},
	{"boundary-parse-7", []op{{"SetContentType", "multipart/form-data; boundary="}}},
	{"boundary-parse-8", []op{{"SetContentType", "multipart/form-data; boundary=\"abc"}}},
	{"boundary-parse-9", []op{{"SetContentType", "multipart/form-data; charset=x; boundary=a;b"}}},
	{"boundary-parse-10", []op{{"SetContentType", "multipart/form-data;boundary=a, b"}}},
	{"boundary-parse-11", []op{{"SetContentType", "multipart/form-data; boundary=\"a\\\"b\""}}},
	{"boundary-parse-12", []op{{"SetContentType", "multipart/form-data; boundary = foo"}}},

	{"accept-encoding-1", []op{{"Set", "Accept-Encoding", "gzip, deflate, br"}, {"HasAcceptEncoding", "gzip"}, {"HasAcceptEncoding", "br"}, {"HasAcceptEncoding", "zip"}, {"HasAcceptEncoding", "sdhc"}, {"HasAcceptEncoding", "deflate"}, {"HasAcceptEncoding", "late"}, {"HasAcceptEncoding", ""}, {"HasAcceptEncoding", "GZIP"}}},
	{"accept-encoding-2", []op{{"Set", "Accept-Encoding", "gzip;q=0, br;q=1.0, *;q=0"}, {"HasAcceptEncoding", "gzip"}, {"HasAcceptEncoding", "br"}, {"HasAcceptEncoding", "deflate"}}},
	{"accept-encoding-3", []op{{"Set", "Accept-Encoding", "*"}, {"HasAcceptEncoding", "gzip"}, {"Set", "Accept-Encoding", "GZIP"}, {"HasAcceptEncoding", "gzip"}, {"Set", "Accept-Encoding", "x-gzip"}, {"HasAcceptEncoding", "gzip"}}},
	{"accept-encoding-4", []op{{"Add", "Accept-Encoding", "br"}, {"Add", "Accept-Encoding", "gzip"}, {"HasAcceptEncoding", "br"}, {"HasAcceptEncoding", "gzip"}}},
	{"accept-encoding-5", []op{{"HasAcceptEncoding", "gzip"}, {"Set", "Accept-Encoding", ""}, {"HasAcceptEncoding", "gzip"}, {"Set", "Accept-Encoding", "gzip"}, {"HasAcceptEncoding", "gzip"}, {"Set", "Accept-Encoding", "a,gzip ,b"}, {"HasAcceptEncoding", "gzip"}, {"Set", "Accept-Encoding", "gzip,"}, {"HasAcceptEncoding", "gzip"}, {"Set", "Accept-Encoding", "agzip,gzip"}, {"HasAcceptEncoding", "gzip"}}},

	{"no-default-ct", []op{{"SetMethod", "POST"}, {"SetNoDefaultContentType", "true"}, {"SetNoDefaultContentType", "false"}}},
	{"no-default-ct-len", []op{{"SetMethod", "POST"}, {"SetContentLength", "3"}, {"SetNoDefaultContentType", "true"}}},
	{"ct-get", []op{{"SetContentType", "a/b"}, {"SetMethod", "GET"}, {"SetMethod", "POST"}, {"SetContentType", ""}}},
	{"ce", []op{{"SetContentEncoding", "gzip"}, {"Set", "Content-Encoding", "br"}, {"Del", "Content-Encoding"}}},
	{"ce-get-add", []op{{"Add", "Content-Encoding", "gzip"}, {"Add", "Content-Encoding", "br"}}},
	{"ua-twice", []op{{"SetUserAgent", "a"}, {"Add", "User-Agent", "b"}, {"PeekAll", "User-Agent"}, {"Del", "User-Agent"}}},
	{"host-twice", []op{{"SetHost", "a"}, {"Add", "Host", "b"}, {"PeekAll", "Host"}, {"Del", "Host"}}},
	{"host-odd", []op{{"SetHost", "EXAMPLE.com:80"}, {"SetHost", "a b"}, {"SetHost", "h\r\nX: y"}, {"SetHost", "[::1]:80"}, {"Set", "Host", " h "}}},
	{"referer", []op{{"SetReferer", "http://a/b"}, {"Add", "Referer", "c"}, {"PeekAll", "Referer"}, {"Del", "Referer"}}},
	{"server-names", []op{{"Set", "Server", "s"}, {"Set", "Date", "d"}, {"Set", "Set-Cookie", "a=b"}, {"Peek", "Server"}}},
	{"copy", []op{{"SetMethod", "POST"}, {"SetRequestURI", "/a"}, {"SetHost", "h"}, {"SetContentType", "t"}, {"SetUserAgent", "u"}, {"SetCookie", "a", "b"}, {"Add", "Foo", "1"}, {"Add", "Foo", "2"}, {"SetContentLength", "-1"}, {"AddTrailer", "Foo"}, {"SetConnectionClose"}, {"SetProtocol", "HTTP/1.0"}, {"CopyTo"}}},
	{"copy-flags", []op{{"DisableNormalizing"}, {"DisableSpecialHeader"}, {"SetNoDefaultContentType", "true"}, {"Set", "foo", "1"}, {"CopyTo"}, {"Set", "bar", "2"}, {"SetMethod", "POST"}}},
	{"reset", []op{{"SetMethod", "POST"}, {"Set", "Foo", "1"}, {"SetCookie", "a", "b"}, {"SetNoDefaultContentType", "true"}, {"Reset"}, {"SetMethod", "POST"}}},
	{"read-then-set", []op{{"Read", "GET /a HTTP/1.1\r\nHost: h\r\nfoo: 1\r\nFoo: 2\r\nCookie: a=1; b=2\r\nUser-Agent: u\r\n\r\n"}, {"Set", "Foo", "3"}, {"Add", "Foo", "4"}, {"SetCookie", "a", "5"}, {"Del", "User-Agent"}, {"SetHost", "g"}, {"SetMethod", "PUT"}}},
	{"read-then-del", []op{{"Read", "POST /a HTTP/1.1\r\nHost: h\r\nContent-Type: t\r\nContent-Length: 5\r\nConnection: close\r\nfoo: 1\r\n\r\nabcde"}, {"Del", "Content-Type"}, {"Del", "Content-Length"}, {"Del", "Connection"}, {"Del", "Host"}, {"Del", "foo"}}},
	{"read-twice", []op{{"Read", "POST /a HTTP/1.1\r\nHost: h\r\nContent-Type: t\r\nContent-Length: 5\r\nCookie: a=b\r\nFoo: 1\r\n\r\nabcde"}, {"Read", "GET /b HTTP/1.0\r\nHost: i\r\nBar: 2\r\n\r\n"}}},
	{"read-after-set", []op{{"Set", "Foo", "1"}, {"SetCookie", "a", "b"}, {"Read", "GET /b HTTP/1.1\r\nHost: i\r\nBar: 2\r\n\r\n"}}},
	{"read-fail-after-set", []op{{"Set", "Foo", "1"}, {"SetHost", "h"}, {"Read", "GET"}}},
	{"read-no-normal", []op{{"DisableNormalizing"}, {"Read", "GET /b HTTP/1.1\r\nhost: i\r\nbAR: 2\r\nUSER-AGENT: u\r\ncookie: a=b\r\ncontent-type: t\r\nCONNECTION: close\r\n\r\n"}, {"Peek", "bar"}, {"Peek", "bAR"}, {"Peek", "host"}, {"Peek", "Host"}, {"Peek", "user-agent"}}},
	{"read-no-special", []op{{"DisableSpecialHeader"}, {"Read", "POST /b HTTP/1.1\r\nHost: i\r\nbAR: 2\r\nUser-Agent: u\r\nCookie: a=b\r\nContent-Type: t\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"}, {"Peek", "Host"}, {"Peek", "Content-Type"}, {"Cookie", "a"}}},
	{"header-then-set", []op{{"Set", "Foo", "1"}, {"Header"}, {"Set", "Foo", "2"}, {"Header"}}},
}

func runSequences() {
	program.Sequences(sequences)
	for _, m := range []string{"", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE", "QUERY", "get", "Post", "FOO", "F O", "A\r\nB: c", "G\x00T", "é", "M-SEARCH", "A/B", "(x)"} {
		program.Sequence("method/"+m, []op{{"SetMethod", m}})
		program.Brief("method-length/"+m, []op{{"SetMethod", m}, {"SetContentLength", "0"}, {"SetContentLength", "5"}, {"SetContentLength", "-1"}})
		program.Brief("method-type/"+m, []op{{"SetMethod", m}, {"SetContentType", "text/x"}, {"SetContentLength", "5"}})
	}
}
