package main

var sequences = []struct {
	id  string
	ops []op
}{
	{"empty", []op{{"Len"}}},
	{"one", []op{{"Set", "Foo", "bar"}}},
	{"set-twice", []op{{"Set", "Foo", "bar"}, {"Set", "foo", "baz"}}},
	{"set-collapses-adds", []op{{"Add", "Foo", "a"}, {"Add", "Foo", "b"}, {"Add", "Bar", "x"}, {"Set", "Foo", "c"}}},
	{"add-twice", []op{{"Add", "Foo", "bar"}, {"Add", "foo", "baz"}, {"PeekAll", "Foo"}, {"Peek", "Foo"}}},
	{"del", []op{{"Add", "Foo", "a"}, {"Add", "Bar", "b"}, {"Add", "Foo", "c"}, {"Del", "fOO"}}},
	{"del-absent", []op{{"Set", "Foo", "a"}, {"Del", "Bar"}}},
	{"bytes-forms", []op{{"SetBytesK", "a-b", "1"}, {"SetBytesV", "c-d", "2"}, {"SetBytesKV", "e-f", "3"}, {"AddBytesK", "a-b", "4"}, {"AddBytesV", "c-d", "5"}, {"AddBytesKV", "e-f", "6"}, {"DelBytes", "C-D"}, {"PeekBytes", "a-b"}}},
	{"normalise", []op{{"Set", "fOO-bAR-baz", "1"}, {"Set", "x", "2"}, {"Set", "x-", "3"}, {"Set", "-x", "4"}, {"Set", "a--b", "5"}, {"Set", "a_b", "6"}, {"Set", "www-authenticate", "7"}, {"Set", "ETAG", "8"}}},
	{"canonical", []op{{"SetCanonical", "Foo-Bar", "1"}, {"SetCanonical", "foo-bar", "2"}, {"PeekCanonical", "foo-bar"}, {"PeekCanonical", "Foo-Bar"}, {"Peek", "foo-bar"}}},
	{"canonical-rename", []op{{"Set", "Sec-Websocket-Key", "1"}, {"SetCanonical", "Sec-WebSocket-Key", "2"}, {"Del", "Sec-Websocket-Key"}, {"PeekCanonical", "Sec-WebSocket-Key"}, {"Set", "Foo-Bar", "1"}, {"SetCanonical", "FOO-bar", "2"}, {"Del", "foo-bar"}, {"PeekCanonical", "FOO-bar"}}},
	{"canonical-special", []op{{"SetCanonical", "Host", "h"}, {"SetCanonical", "Content-Type", "t"}, {"SetCanonical", "User-Agent", "u"}, {"SetCanonical", "Content-Length", "5"}, {"SetCanonical", "Connection", "close"}, {"SetCanonical", "Cookie", "a=b"}}},
	{"canonical-special-lower", []op{{"SetCanonical", "host", "h"}, {"SetCanonical", "content-type", "t"}, {"SetCanonical", "content-length", "5"}, {"SetCanonical", "connection", "close"}, {"SetCanonical", "cookie", "a=b"}}},
	{"empty-value", []op{{"Set", "Foo", ""}, {"Set", "Host", ""}, {"Set", "User-Agent", ""}, {"Set", "Content-Type", ""}}},
	{"empty-name", []op{{"Set", "", "v"}, {"Add", "", "w"}, {"Peek", ""}, {"Del", ""}}},
	{"spaces-around", []op{{"Set", "Foo", "  a b  "}, {"Set", "Bar", "\ta\t"}, {"Set", " Baz", "1"}, {"Set", "Qux ", "2"}, {"Set", "Two Words", "3"}}},

	{"no-normalise", []op{{"DisableNormalizing"}, {"Set", "foo-BAR", "1"}, {"Set", "Foo-Bar", "2"}, {"Peek", "foo-BAR"}, {"Peek", "Foo-Bar"}, {"Peek", "FOO-BAR"}, {"Del", "foo-bar"}, {"Del", "foo-BAR"}}},
	{"no-normalise-special", []op{{"DisableNormalizing"}, {"Set", "host", "h"}, {"Set", "CONTENT-TYPE", "t"}, {"Set", "user-agent", "u"}, {"Set", "content-length", "7"}, {"Set", "CONNECTION", "close"}, {"Set", "cookie", "a=b"}, {"Set", "trailer", "Foo"}, {"Peek", "host"}, {"Peek", "Host"}}},
	{"normalise-again", []op{{"DisableNormalizing"}, {"DisableNormalizing"}, {"Set", "foo", "1"}, {"EnableNormalizing"}, {"EnableNormalizing"}, {"Set", "foo", "2"}, {"Peek", "foo"}}},
	{"reset-normalising", []op{{"DisableNormalizing"}, {"Reset"}, {"Set", "foo", "1"}}},
	{"no-special", []op{{"DisableSpecialHeader"}, {"Set", "Host", "h"}, {"Set", "Content-Type", "t"}, {"Set", "User-Agent", "u"}, {"Set", "Content-Length", "7"}, {"Set", "Connection", "close"}, {"Set", "Cookie", "a=b"}, {"Peek", "Host"}}},
	{"no-special-setters", []op{{"DisableSpecialHeader"}, {"SetHost", "h"}, {"SetContentType", "t"}, {"SetUserAgent", "u"}, {"SetCookie", "a", "b"}, {"SetContentLength", "4"}, {"SetConnectionClose"}, {"EnableSpecialHeader"}}},
	{"no-special-post", []op{{"DisableSpecialHeader"}, {"SetMethod", "POST"}, {"Set", "content-type", "t"}, {"Add", "Content-Type", "t2"}, {"Add", "Host", "a"}, {"Add", "Host", "b"}}},
	{"special-back", []op{{"DisableSpecialHeader"}, {"Set", "Host", "h"}, {"EnableSpecialHeader"}, {"Set", "Host", "g"}}},
	{"no-special-no-normal", []op{{"DisableSpecialHeader"}, {"DisableNormalizing"}, {"Set", "host", "h"}, {"Set", "HOST", "i"}, {"Set", "Host", "j"}, {"Peek", "Host"}, {"Peek", "host"}}},

	{"cookies", []op{{"SetCookie", "a", "1"}, {"SetCookie", "b", "2"}, {"SetCookie", "a", "3"}, {"Cookie", "a"}, {"Cookie", "A"}, {"Cookie", "none"}}},
	{"cookies-bytes", []op{{"SetCookieBytesKV", "a", "1"}, {"DelCookie", "b"}, {"DelCookie", "a"}}},
	{"cookies-all-gone", []op{{"SetCookie", "a", "1"}, {"SetCookie", "b", "2"}, {"DelAllCookies"}, {"SetCookie", "c", "3"}}},
	{"cookie-header", []op{{"Set", "Cookie", "a=1; b=2;c=3;  d = 4 ; e; =f; g=h=i"}, {"Cookie", "a"}, {"Cookie", "d"}, {"Cookie", "e"}, {"Cookie", ""}, {"Cookie", "g"}}},
	{"cookie-header-twice", []op{{"Set", "Cookie", "a=1"}, {"Set", "Cookie", "b=2"}}},
	{"cookie-header-add", []op{{"Add", "Cookie", "a=1"}, {"Add", "Cookie", "b=2"}, {"Add", "cookie", "a=3"}, {"PeekAll", "Cookie"}, {"Cookie", "a"}}},
	{"cookie-header-del", []op{{"SetCookie", "a", "1"}, {"Del", "Cookie"}}},
	{"cookie-peek", []op{{"SetCookie", "a", "1"}, {"SetCookie", "b", "2"}, {"Peek", "Cookie"}, {"Peek", "cookie"}}},
	{"cookie-mixed", []op{{"SetCookie", "a", "1"}, {"Set", "Cookie", "b=2; a=9"}, {"SetCookie", "c", "3"}}},
	{"cookie-empty", []op{{"Set", "Cookie", ""}, {"Set", "Cookie", ";;;"}, {"Set", "Cookie", "; ;a;"}}},
	{"cookie-quoted", []op{{"Set", "Cookie", `a="1"; b="x;y"; c="` + "\"; d=\\"}, {"Cookie", "a"}, {"Cookie", "b"}}},
	{"cookie-empty-key", []op{{"SetCookie", "", "v"}, {"SetCookie", "k", ""}, {"Cookie", ""}, {"Cookie", "k"}}},
	{"cookie-hostile", []op{{"SetCookie", "a;b", "c;d"}, {"SetCookie", "e\r\nX: y", "f\r\nZ: q"}, {"SetCookie", "g=h", "i=j"}, {"SetCookie", "n\x00", "\x00v"}, {"SetCookie", "s p", "v w"}, {"SetCookie", "c,d", "\"q\""}}},

	{"trailer-one", []op{{"SetTrailer", "Foo"}, {"Set", "Foo", "bar"}, {"Set", "Baz", "qux"}}},
	{"trailer-list", []op{{"SetTrailer", "foo, bar ,BAZ,,a-b"}, {"AddTrailer", "more"}, {"AddTrailer", "foo"}}},
	{"trailer-forbidden", []op{{"SetTrailer", "Content-Length"}, {"SetTrailer", "Transfer-Encoding"}, {"SetTrailer", "Host"}, {"AddTrailer", "Foo, Content-Type, Bar"}, {"AddTrailer", "Connection"}, {"AddTrailer", "Trailer"}, {"AddTrailer", "Authorization"}, {"AddTrailer", "Set-Cookie"}, {"AddTrailer", "Cookie"}, {"AddTrailer", "Cache-Control"}}},
	{"trailer-forbidden-more", []op{{"AddTrailer", "Content-Encoding"}, {"AddTrailer", "Content-Range"}, {"AddTrailer", "Expect"}, {"AddTrailer", "TE"}, {"AddTrailer", "Max-Forwards"}, {"AddTrailer", "Range"}, {"AddTrailer", "Www-Authenticate"}, {"AddTrailer", "Proxy-Connection"}, {"AddTrailer", "Proxy-Authenticate"}, {"AddTrailer", "Proxy-Authorization"}, {"AddTrailer", "If-Match"}, {"AddTrailer", "X-If"}, {"AddTrailer", "Keep-Alive"}, {"AddTrailer", "Upgrade"}, {"AddTrailer", "Location"}, {"AddTrailer", "Date"}, {"AddTrailer", "Content-Location"}, {"AddTrailer", "Content-MD5"}, {"AddTrailer", "Age"}, {"AddTrailer", "Vary"}, {"AddTrailer", "Expires"}}},
	{"trailer-header", []op{{"Set", "Trailer", "foo, Content-Length, bar"}, {"Peek", "Trailer"}, {"PeekAll", "Trailer"}, {"Add", "Trailer", "baz"}, {"Del", "Trailer"}}},
	{"trailer-bad", []op{{"AddTrailer", "a b"}, {"AddTrailer", "a\r\nb"}, {"AddTrailer", "a:b"}, {"AddTrailer", "é"}, {"AddTrailer", ""}, {"AddTrailer", "   "}}},
	{"trailer-reset", []op{{"AddTrailer", "Foo"}, {"SetTrailer", "Bar"}, {"SetTrailer", ""}}},
	{"trailer-values", []op{{"AddTrailer", "Foo"}, {"AddTrailer", "Bar"}, {"Set", "Bar", "2"}, {"Add", "Foo", "1"}, {"Add", "Foo", "x"}}},

	{"close", []op{{"SetConnectionClose"}, {"ResetConnectionClose"}, {"ResetConnectionClose"}}},
	{"close-header", []op{{"Set", "Connection", "close"}, {"Set", "Connection", "keep-alive"}, {"Set", "Connection", "Close"}, {"Peek", "Connection"}, {"Del", "Connection"}}},
	{"close-list", []op{{"Set", "Connection", "keep-alive, close"}, {"Set", "Connection", "close, TE"}}},
	{"close-upgrade", []op{{"Set", "Connection", "Upgrade"}, {"Set", "Upgrade", "websocket"}, {"SetConnectionClose"}, {"ResetConnectionClose"}}},
	{"close-upgrade-list", []op{{"Set", "Connection", "keep-alive, upgrade"}}},
	{"close-then-set", []op{{"SetConnectionClose"}, {"Set", "Connection", "keep-alive"}, {"Set", "Connection", "x"}}},
	{"close-add", []op{{"Add", "Connection", "close"}, {"Add", "Connection", "foo"}}},

	{"length", []op{{"SetContentLength", "5"}, {"SetMethod", "POST"}, {"SetContentLength", "0"}, {"SetContentLength", "-1"}, {"SetContentLength", "-2"}, {"SetContentLength", "3"}}},
	{"length-get", []op{{"SetContentLength", "-1"}, {"SetContentLength", "7"}}},
	{"length-header", []op{{"Set", "Content-Length", "12"}, {"Set", "Content-Length", "x"}, {"Set", "Content-Length", "-1"}, {"Set", "Content-Length", "99999999999999999999"}, {"Peek", "Content-Length"}, {"Del", "Content-Length"}}},
	{"length-add", []op{{"Add", "Content-Length", "12"}, {"Add", "Content-Length", "13"}, {"PeekAll", "Content-Length"}}},
	{"te-header", []op{{"Set", "Transfer-Encoding", "chunked"}, {"Add", "Transfer-Encoding", "gzip"}, {"Peek", "Transfer-Encoding"}, {"Del", "Transfer-Encoding"}}},
	{"te-chunked-peek", []op{{"SetMethod", "POST"}, {"SetContentLength", "-1"}, {"Peek", "Transfer-Encoding"}, {"Del", "Transfer-Encoding"}}},

	{"protocol", []op{{"SetProtocol", "HTTP/1.0"}, {"SetProtocol", "HTTP/1.1"}, {"SetProtocol", "HTTP/2.0"}, {"SetProtocol", ""}, {"SetProtocol", "foo bar"}, {"SetProtocol", "x\r\ny: z"}}},
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
	{"ct-twice", []op{{"SetContentType", "a/b"}, {"Add", "Content-Type", "c/d"}, {"PeekAll", "Content-Type"}}},
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
	for _, s := range sequences {
		sequence("seq/"+s.id, s.ops)
	}
	for _, m := range []string{"", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE", "QUERY", "get", "Post", "FOO", "F O", "A\r\nB: c", "G\x00T", "é", "M-SEARCH", "A/B", "(x)"} {
		sequence("method/"+m, []op{{"SetMethod", m}})
		brief("method-length/"+m, []op{{"SetMethod", m}, {"SetContentLength", "0"}, {"SetContentLength", "5"}, {"SetContentLength", "-1"}})
		brief("method-type/"+m, []op{{"SetMethod", m}, {"SetContentType", "text/x"}, {"SetContentLength", "5"}})
	}
}
