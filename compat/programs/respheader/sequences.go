package main

import (
	"fmt"

	"github.com/valyala/fasthttp/compat/internal/ops"
)

var sequences = []ops.Sequence{
	{"canonical-special", []op{{"SetCanonical", "Server", "s"}, {"SetCanonical", "Content-Type", "t"}, {"SetCanonical", "Content-Length", "5"}, {"SetCanonical", "Connection", "close"}, {"SetCanonical", "Set-Cookie", "a=b; Secure"}, {"SetCanonical", "Date", "d"}}},
	{"canonical-special-lower", []op{{"SetCanonical", "server", "s"}, {"SetCanonical", "content-type", "t"}, {"SetCanonical", "content-length", "5"}, {"SetCanonical", "connection", "close"}, {"SetCanonical", "set-cookie", "a=b"}}},
	{"empty-value", []op{{"Set", "Foo", ""}, {"Set", "Server", ""}, {"Set", "Content-Type", ""}}},
	{"no-normalise-special", []op{{"DisableNormalizing"}, {"Set", "server", "h"}, {"Set", "CONTENT-TYPE", "t"}, {"Set", "content-length", "7"}, {"Set", "CONNECTION", "close"}, {"Set", "set-cookie", "a=b"}, {"Set", "trailer", "Foo"}, {"Peek", "server"}, {"Peek", "Server"}}},

	{"cookies", []op{{"SetCookie", "a", "1"}, {"SetCookie", "b", "2", "/p", "Secure"}, {"SetCookie", "a", "3", "HTTPOnly", "Lax"}, {"PeekCookie", "a"}, {"PeekCookie", "A"}, {"PeekCookie", "none"}, {"Cookie", "a"}, {"Cookie", "none"}}},
	{"cookies-del", []op{{"SetCookie", "a", "1"}, {"SetCookie", "b", "2"}, {"DelCookie", "none"}, {"DelCookieBytes", "a"}}},
	{"cookie-client-del", []op{{"SetCookie", "a", "1"}, {"DelClientCookie", "a"}, {"DelClientCookie", "b"}, {"PeekCookie", "a"}}},
	{"cookie-header", []op{{"Set", "Set-Cookie", "a=1; path=/; HttpOnly"}, {"PeekCookie", "a"}, {"Cookie", "a"}}},
	{"cookie-header-twice", []op{{"Set", "Set-Cookie", "a=1"}, {"Set", "Set-Cookie", "b=2"}, {"Set", "Set-Cookie", "a=3"}}},
	{"cookie-header-add", []op{{"Add", "Set-Cookie", "a=1"}, {"Add", "Set-Cookie", "b=2"}, {"Add", "set-cookie", "a=3"}, {"PeekAll", "Set-Cookie"}, {"Peek", "Set-Cookie"}}},
	{"cookie-header-del", []op{{"SetCookie", "a", "1"}, {"Del", "Set-Cookie"}}},
	{"cookie-header-odd", []op{{"Add", "Set-Cookie", ""}, {"Add", "Set-Cookie", "novalue"}, {"Add", "Set-Cookie", "=v"}, {"Add", "Set-Cookie", ";;"}, {"Add", "Set-Cookie", "x=y=z; foo=bar"}}},
	{"cookie-request-name", []op{{"Set", "Cookie", "a=b"}, {"Peek", "Cookie"}}},
	{"cookie-empty", []op{{"SetCookie", "", "v"}, {"SetCookie", "k", ""}, {"SetCookie", "", ""}}},

	{"trailer-forbidden", []op{{"SetTrailer", "Content-Length"}, {"SetTrailer", "Transfer-Encoding"}, {"SetTrailer", "Host"}, {"AddTrailer", "Foo, Content-Type, Bar"}, {"AddTrailer", "Connection"}, {"AddTrailer", "Trailer"}, {"AddTrailer", "Set-Cookie"}, {"AddTrailer", "Server"}, {"AddTrailer", "Date"}, {"AddTrailer", "Location"}, {"AddTrailer", "Age"}, {"AddTrailer", "Expires"}, {"AddTrailer", "Vary"}, {"AddTrailer", "Retry-After"}, {"AddTrailer", "Www-Authenticate"}}},

	{"length", []op{{"SetContentLength", "5"}, {"SetContentLength", "0"}, {"SetContentLength", "-1"}, {"SetContentLength", "-2"}, {"SetContentLength", "-3"}, {"SetContentLength", "3"}}},
	{"length-minus2-close", []op{{"SetContentLength", "-2"}, {"ResetConnectionClose"}, {"SetContentLength", "5"}}},
	{"te-chunked-peek", []op{{"SetContentLength", "-1"}, {"Peek", "Transfer-Encoding"}, {"PeekAll", "Transfer-Encoding"}, {"Del", "Transfer-Encoding"}}},

	{"protocol-10-close", []op{{"SetProtocol", "HTTP/1.0"}, {"SetConnectionClose"}, {"ResetConnectionClose"}, {"Set", "Connection", "keep-alive"}}},
	{"range", []op{{"SetContentRange", "0", "10", "100"}, {"SetContentRange", "5", "4", "3"}, {"SetContentRange", "0", "0", "0"}}},
	{"last-modified", []op{{"SetLastModified", "0"}, {"SetLastModified", "1700000000"}, {"SetLastModified", "-1"}, {"Peek", "Last-Modified"}}},
	{"message", []op{{"SetStatusMessage", "Fine"}, {"SetStatusCode", "404"}, {"SetStatusMessage", ""}, {"SetStatusMessage", "a\r\nb: c"}, {"SetStatusMessage", "é"}}},
	{"status-order", []op{{"SetStatusCode", "404"}, {"SetStatusMessage", "Gone Fishing"}, {"SetStatusCode", "200"}}},

	{"no-default-ct", []op{{"SetNoDefaultContentType", "true"}, {"SetContentType", "a/b"}, {"SetNoDefaultContentType", "false"}}},
	{"no-default-ct-len", []op{{"SetContentLength", "3"}, {"SetNoDefaultContentType", "true"}, {"SetContentLength", "0"}}},
	{"ct-empty", []op{{"SetContentType", "a/b"}, {"SetContentType", ""}, {"SetContentLength", "4"}}},
	{"ct-del", []op{{"SetContentType", "a/b"}, {"Del", "Content-Type"}, {"Peek", "Content-Type"}}},
	{"ce", []op{{"SetContentEncoding", "gzip"}, {"Set", "Content-Encoding", "br"}, {"Add", "Content-Encoding", "x"}, {"Del", "Content-Encoding"}}},
	{"server", []op{{"SetServer", "s"}, {"Add", "Server", "b"}, {"PeekAll", "Server"}, {"Del", "Server"}}},
	{"date", []op{{"Set", "Date", "x"}, {"Add", "Date", "y"}, {"Peek", "Date"}, {"Del", "Date"}}},
	{"request-names", []op{{"Set", "Host", "h"}, {"Set", "User-Agent", "u"}, {"Peek", "Host"}}},
	{"location", []op{{"Set", "Location", "/a\r\nX: y"}, {"Set", "Location", "http://é/ "}}},
	{"copy", []op{{"SetStatusCode", "201"}, {"SetStatusMessage", "m"}, {"SetContentType", "t"}, {"SetServer", "s"}, {"SetCookie", "a", "b"}, {"Add", "Foo", "1"}, {"Add", "Foo", "2"}, {"SetContentLength", "-1"}, {"AddTrailer", "Foo"}, {"SetConnectionClose"}, {"SetProtocol", "HTTP/1.0"}, {"CopyTo"}}},
	{"copy-flags", []op{{"DisableNormalizing"}, {"SetNoDefaultContentType", "true"}, {"Set", "foo", "1"}, {"CopyTo"}, {"Set", "bar", "2"}}},
	{"reset", []op{{"SetStatusCode", "404"}, {"Set", "Foo", "1"}, {"SetCookie", "a", "b"}, {"SetNoDefaultContentType", "true"}, {"SetStatusMessage", "m"}, {"SetProtocol", "HTTP/1.0"}, {"Reset"}}},
	{"read-then-set", []op{{"Read", "HTTP/1.1 200 OK\r\nfoo: 1\r\nFoo: 2\r\nSet-Cookie: a=1\r\nServer: u\r\nContent-Length: 3\r\n\r\n"}, {"Set", "Foo", "3"}, {"Add", "Foo", "4"}, {"SetCookie", "a", "5"}, {"Del", "Server"}, {"SetStatusCode", "500"}}},
	{"read-then-del", []op{{"Read", "HTTP/1.1 404 Nope\r\nContent-Type: t\r\nContent-Length: 5\r\nConnection: close\r\nfoo: 1\r\nDate: d\r\n\r\nabcde"}, {"Del", "Content-Type"}, {"Del", "Content-Length"}, {"Del", "Connection"}, {"Del", "foo"}, {"Del", "Date"}}},
	{"read-twice", []op{{"Read", "HTTP/1.1 404 Nope\r\nContent-Type: t\r\nContent-Length: 5\r\nSet-Cookie: a=b\r\nFoo: 1\r\n\r\nabcde"}, {"Read", "HTTP/1.0 200 OK\r\nBar: 2\r\n\r\n"}}},
	{"read-after-set", []op{{"Set", "Foo", "1"}, {"SetCookie", "a", "b"}, {"Read", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}}},
	{"read-fail-after-set", []op{{"Set", "Foo", "1"}, {"SetStatusCode", "404"}, {"Read", "HTTP"}}},
	{"read-no-normal", []op{{"DisableNormalizing"}, {"Read", "HTTP/1.1 200 OK\r\nserver: i\r\nbAR: 2\r\nset-cookie: a=b\r\ncontent-type: t\r\ncontent-length: 3\r\nCONNECTION: close\r\n\r\n"}, {"Peek", "bar"}, {"Peek", "bAR"}, {"Peek", "server"}, {"Peek", "Server"}}},
}

// runStatuses shows the start line and the defaults of each kind of status.
func runStatuses() {
	for _, code := range []int{-1, 0, 1, 42, 99, 100, 101, 102, 103, 199, 200, 201, 204, 205, 206, 299, 301, 304, 399, 404, 418, 422, 451, 499, 500, 511, 599, 600, 999, 1000, 12345} {
		n := fmt.Sprint(code)
		program.Sequence("status/"+n, []op{{"SetStatusCode", n}})
		program.Brief("status-length/"+n, []op{{"SetStatusCode", n}, {"SetContentLength", "0"}, {"SetContentLength", "5"}, {"SetContentLength", "-1"}, {"SetContentLength", "-2"}})
		program.Brief("status-type/"+n, []op{{"SetStatusCode", n}, {"SetContentType", "a/b"}, {"SetContentLength", "5"}})
		program.Brief("status-message/"+n, []op{{"SetStatusCode", n}, {"SetStatusMessage", "hello there"}})
	}
}
