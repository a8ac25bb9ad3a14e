package main

import (
	"slices"

	"github.com/valyala/fasthttp/compat/internal/heads"
	"github.com/valyala/fasthttp/compat/internal/ops"
)

func hostile(s string) []ops.Sequence {
	return slices.Concat(
		heads.Setters(s, "SetStatusMessage", "SetProtocol", "SetServer", "SetContentType", "SetContentEncoding", "SetTrailer", "AddTrailer", "DelClientCookie"),
		[]ops.Sequence{
			{"SetCookie-name", []op{{"SetCookie", s, "v"}}},
			{"SetCookie-value", []op{{"SetCookie", "k", s}}},
			{"SetCookie-path", []op{{"SetCookie", "k", "v", "/" + s}}},
		})
}

var special = []string{"Content-Type", "Server", "Content-Length", "Connection", "Transfer-Encoding", "Set-Cookie", "Trailer", "Date", "Host", "User-Agent", "Content-Encoding", "Upgrade", "Keep-Alive", "Location", "Last-Modified", "ETag", "Vary", "WWW-Authenticate", "X-Custom", "Cookie"}

func specialCalls(n, v1, v2 string) []ops.Sequence {
	return []ops.Sequence{
		{"special-add", []op{{"SetStatusCode", "404"}, {"Add", n, v1}, {"Add", n, v2}, {"Len"}}},
		{"special-copy", []op{{"Set", n, v1}, {"CopyTo"}, {"Add", n, v2}}},
	}
}
