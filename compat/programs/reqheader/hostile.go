package main

import (
	"fmt"
	"strings"
)

// hostile has strings that must not escape from their place in a head.
var hostile = []string{
	"", " ", "a\r\nX: y", "a\nX: y", "a\rX: y", "a\r\n\r\nbody", "a\x00b", "\x00", "\r", "\n", "\r\n",
	" lead", "trail ", "\ttab\t", "a\tb", "a  b", "\x01\x1f\x7f", "\x80\xff", "é", "日本", "a:b", "a;b", "a,b", "a=b", "\"q\"", "\\", "(c)", "{}", "a/b?c#d", "%0d%0a", "%00", "\r\n folded", "\r\n\tfolded", "a\u0085b", "a\u2028b",
	strings.Repeat("x", 300),
}

func label(i int, s string) string {
	if len(s) > 20 {
		return fmt.Sprintf("%d-long", i)
	}
	return fmt.Sprintf("%d-%s", i, s)
}

// runHostile passes every hostile string to every setter.
func runHostile() {
	for i, s := range hostile {
		l := label(i, s)
		brief("hostile/name/"+l, []op{{"Set", s, "v"}})
		brief("hostile/name-add/"+l, []op{{"Add", "a" + s, "v"}})
		brief("hostile/value/"+l, []op{{"Set", "Foo", s}})
		brief("hostile/value-add/"+l, []op{{"Add", "Foo", s}, {"Add", "Foo", s}})
		brief("hostile/canonical/"+l, []op{{"SetCanonical", s, s}})
		brief("hostile/no-normalise/"+l, []op{{"DisableNormalizing"}, {"Set", "x" + s, s}})
		brief("hostile/no-special/"+l, []op{{"DisableSpecialHeader"}, {"Set", "Host", s}})
		for _, setter := range []string{"SetRequestURI", "SetProtocol", "SetHost", "SetUserAgent", "SetReferer", "SetContentEncoding", "SetTrailer", "AddTrailer"} {
			brief("hostile/"+setter+"/"+l, []op{{setter, s}})
		}
		brief("hostile/SetMethod/"+l, []op{{"SetMethod", s}})
		brief("hostile/SetContentType/"+l, []op{{"SetMethod", "POST"}, {"SetContentType", s}})
		brief("hostile/SetMultipartFormBoundary/"+l, []op{{"SetMethod", "POST"}, {"SetMultipartFormBoundary", s}})
		brief("hostile/SetCookie-name/"+l, []op{{"SetCookie", s, "v"}})
		brief("hostile/SetCookie-value/"+l, []op{{"SetCookie", "k", s}})
		for _, name := range []string{"Host", "Connection", "Cookie", "Content-Length", "Transfer-Encoding", "Trailer", "Content-Type", "Expect"} {
			brief("hostile/Set "+name+"/"+l, []op{{"Set", name, s}})
		}
	}
}

// runSpecial sets, adds, sets again and deletes every well-known name.
func runSpecial() {
	names := []string{"Host", "Content-Type", "User-Agent", "Referer", "Content-Length", "Connection", "Transfer-Encoding", "Cookie", "Trailer", "Server", "Date", "Expect", "Upgrade", "TE", "Keep-Alive", "Proxy-Connection", "Authorization", "Accept", "Accept-Encoding", "Content-Encoding", "Set-Cookie", "Range", "If-Modified-Since", "X-Custom"}
	for _, n := range names {
		v1, v2 := "v1", "v2"
		switch n {
		case "Content-Length":
			v1, v2 = "11", "22"
		case "Connection":
			v1, v2 = "keep-alive", "close"
		case "Transfer-Encoding":
			v1, v2 = "chunked", "identity"
		}
		sequence("special/"+n, []op{
			{"Set", n, v1}, {"Peek", n}, {"Set", strings.ToLower(n), v2}, {"Peek", strings.ToUpper(n)}, {"Add", n, v1}, {"PeekAll", n}, {"Len"}, {"Del", strings.ToLower(n)}, {"Peek", n},
		})
		brief("special-post/"+n, []op{{"SetMethod", "POST"}, {"Add", n, v1}, {"Add", n, v2}, {"Len"}})
		brief("special-raw/"+n, []op{{"DisableNormalizing"}, {"Add", strings.ToLower(n), v1}, {"Add", n, v2}, {"Peek", n}, {"PeekAll", strings.ToLower(n)}, {"Del", n}})
		brief("special-off/"+n, []op{{"DisableSpecialHeader"}, {"Add", strings.ToLower(n), v1}, {"Add", n, v2}, {"Peek", n}, {"PeekAll", n}, {"Set", n, v1}, {"Del", n}})
		brief("special-copy/"+n, []op{{"SetMethod", "POST"}, {"Set", n, v1}, {"CopyTo"}, {"Add", n, v2}})
	}
}
