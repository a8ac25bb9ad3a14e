package main

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp/compat/internal/heads"
	"github.com/valyala/fasthttp/compat/internal/ops"
)

func hostile(s string) []ops.Sequence {
	return slices.Concat(
		heads.Setters(s, "SetRequestURI", "SetProtocol", "SetHost", "SetUserAgent", "SetReferer", "SetContentEncoding", "SetTrailer", "AddTrailer", "SetMethod"),
		[]ops.Sequence{
			{"no-special", []op{{"DisableSpecialHeader"}, {"Set", "Host", s}}},
			{"SetContentType", []op{{"SetMethod", "POST"}, {"SetContentType", s}}},
			{"SetMultipartFormBoundary", []op{{"SetMethod", "POST"}, {"SetMultipartFormBoundary", s}}},
			{"SetCookie-name", []op{{"SetCookie", s, "v"}}},
			{"SetCookie-value", []op{{"SetCookie", "k", s}}},
		})
}

var special = []string{"Host", "Content-Type", "User-Agent", "Referer", "Content-Length", "Connection", "Transfer-Encoding", "Cookie", "Trailer", "Server", "Date", "Expect", "Upgrade", "TE", "Keep-Alive", "Proxy-Connection", "Authorization", "Accept", "Accept-Encoding", "Content-Encoding", "Set-Cookie", "Range", "If-Modified-Since", "X-Custom"}

func specialCalls(n, v1, v2 string) []ops.Sequence {
	return []ops.Sequence{
		{"special-post", []op{{"SetMethod", "POST"}, {"Add", n, v1}, {"Add", n, v2}, {"Len"}}},
		{"special-off", []op{{"DisableSpecialHeader"}, {"Add", strings.ToLower(n), v1}, {"Add", n, v2}, {"Peek", n}, {"PeekAll", n}, {"Set", n, v1}, {"Del", n}}},
		{"special-copy", []op{{"SetMethod", "POST"}, {"Set", n, v1}, {"CopyTo"}, {"Add", n, v2}}},
	}
}
