package http1

import (
	"slices"
	"strings"
	"testing"
)

func TestNamesThatHaveNoPlaceInTrailers(t *testing.T) {
	for _, name := range []string{
		"Content-Length", "TRANSFER-ENCODING", "te", "Host", "Authorization", "Cookie", "Set-Cookie", "Trailer",
		"If-Match", "If-Anything", "Proxy-Authorization", "Proxy", "Sec-WebSocket-Key",
		"X-Forwarded-For", "x-forwarded-host", "X-Forwarded", "X-ForwardedFor", "X-Real-IP", "Forwarded",
		"X-Auth-User", "X-Auth", "X-Authenticated-Userid", "X-Authorization", "X-User", "X-User-Id", "X-Username",
		"Content_Length", "X_Forwarded_For", "X-Forwarded_For", "x.real.ip", "X!Auth!User",
		"X-Forwarded-" + strings.Repeat("a", 100), "X-Goog-Authenticated-User-Email",
	} {
		if !IsBarredTrailer([]byte(name)) {
			t.Errorf("%s may come", name)
		}
	}
	for _, name := range []string{
		"", "X", "Etag", "Server-Timing", "Content-Digest", "X-Amz-Checksum-Crc32", "Grpc-Status", "Authentication-Info",
		"X-Author", "X-Sum", "Iffy", "Secret", "ContentLength", "XForwardedFor", "Content-Length2",
		strings.Repeat("a", 1000), "if", "Teapot",
	} {
		if IsBarredTrailer([]byte(name)) {
			t.Errorf("%s must not come", name)
		}
	}
}

// A name is looked up by its first bytes only.
func TestBarredNamesFitTheirLimit(t *testing.T) {
	names := slices.Clone(barredPrefixes)
	for name := range barredTrailers {
		names = append(names, name)
	}
	for _, name := range names {
		var text [longestBarred]byte
		if n := foldTrailer(&text, []byte(name)); n >= longestBarred || string(text[:n]) != name {
			t.Errorf("%s is never found", name)
		}
	}
}
