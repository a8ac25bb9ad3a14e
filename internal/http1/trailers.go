package http1

import (
	"strings"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
)

// barredTrailers are the fields that a trailer section must not contain: those that
// RFC 9110 section 6.5.1 names, which control framing, routing, request modifiers,
// authentication, the response and the format of the content; and those by which a
// front end tells a server the identity of the client and its original request. A
// front end that sets or deletes the latter in the header section may forward a
// trailer section unchanged.
//
// The names are in the form of foldTrailer.
var barredTrailers = setOf(
	"transfer-encoding", "content-length", "host", "trailer",
	"connection", "keep-alive", "upgrade", "te", "http2-settings",
	"expect", "max-forwards", "cache-control", "pragma", "range",
	"authorization", "www-authenticate", "cookie", "cookie2", "set-cookie", "set-cookie2",
	"age", "date", "expires", "location", "retry-after", "vary",
	"content-encoding", "content-type", "content-range",

	"forwarded", "via", "from", "origin", "referer", "user-agent",
	"remote-addr", "remote-user", "client-ip", "true-client-ip", "fastly-client-ip", "x-real-ip", "x-true-client-ip", "x-cluster-client-ip",
	"x-originating-ip", "x-proxyuser-ip", "fly-client-ip", "do-connecting-ip",
	"x-host", "x-scheme", "x-url-scheme", "front-end-https", "x-rewrite-url",
	"x-http-method", "x-http-method-override", "x-method-override",
	"x-auth", "x-api-key", "x-access-token", "x-id-token", "x-csrf-token", "x-csrftoken", "x-xsrf-token",
)

// barredPrefixes are prefixes: fields whose names begin with one are barred, too.
var barredPrefixes = []string{
	"if-", "proxy", "wl-proxy-", "sec-",
	"x-forwarded", "x-original-", "x-envoy-",
	"x-auth-", "x-authe", "x-authori", "x-authz", "x-webauth-",
	"x-user", "x-remote-", "x-client-", "x-ssl-", "ssl-",
	"x-amzn-oidc-", "x-goog-authenticated-user-", "x-goog-iap-", "x-appengine-",
	"x-ms-client-", "x-ms-token-", "x-azure-", "cf-", "tailscale-user-",
}

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// longestBarred is more than the length of any name in barredTrailers and
// barredPrefixes.
const longestBarred = 32

// IsBarredTrailer reports whether a field with this name must not be in a trailer
// section. Neither case nor the characters between words matter: for CGI and similar
// interfaces X_Forwarded_For is the same as X-Forwarded-For.
func IsBarredTrailer(name []byte) bool {
	var text [longestBarred]byte
	n := foldTrailer(&text, name)
	folded := bytesconv.String(text[:n])
	if barredTrailers[folded] {
		return true
	}
	for _, prefix := range barredPrefixes {
		if strings.HasPrefix(folded, prefix) {
			return true
		}
	}
	return false
}

// foldTrailer copies the beginning of name to text, in lower case, with a hyphen for
// every byte that is neither a letter nor a digit.
func foldTrailer(text *[longestBarred]byte, name []byte) (n int) {
	for n < len(name) && n < len(text) {
		c := ascii.Lower(name[n])
		if c-'a' >= 26 && !ascii.Is(c, ascii.Digit) {
			c = '-'
		}
		text[n] = c
		n++
	}
	return n
}
