package http1

import (
	"strings"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
)

// MaxTrailerNames limits the number of announced trailer field names.
const MaxTrailerNames = 64

// Trailers holds a header's trailer section: the announced names with their flags, and the
// fields to send after the content, with the flag field.InTrailers. Names have their id
// (field.Lookup).
type Trailers struct{ field.List }

// Announced returns the position of a name among the announced ones, or -1.
func (t *Trailers) Announced(id field.ID, name []byte) int {
	i := t.FindFold(id, name, 0)
	for i >= 0 && t.Entries[i].Flags&field.InTrailers != 0 {
		i = t.FindFold(id, name, i+1)
	}
	return i
}

// FindField returns the position of the first field with a name at or after from, or -1.
func (t *Trailers) FindField(id field.ID, name []byte, from int) int {
	i := t.FindFold(id, name, from)
	for i >= 0 && t.Entries[i].Flags&field.InTrailers == 0 {
		i = t.FindFold(id, name, i+1)
	}
	return i
}

// IsFullFor reports whether a name is one too many to be announced.
func (t *Trailers) IsFullFor(id field.ID, name []byte) bool {
	if t.Len() < MaxTrailerNames || t.Announced(id, name) >= 0 {
		return false
	}
	n := 0
	for range t.Names {
		n++
	}
	return n >= MaxTrailerNames
}

// MayBeTrailer reports whether a field may be in a trailer section.
func MayBeTrailer(name []byte) bool { return ascii.IsToken(name) && !IsBarredTrailer(name) }

// Reannounce announces a name again, if it was announced: with the stronger flags. It
// reports whether it was announced.
func (t *Trailers) Reannounce(id field.ID, name []byte, flags field.Flag) bool {
	i := t.Announced(id, name)
	if i < 0 {
		return false
	}
	e := &t.Entries[i]
	e.Flags = min(e.Flags, flags)
	return true
}

// Put adds a name or a field.
func (t *Trailers) Put(id field.ID, name, value []byte, flags field.Flag, keepName bool) {
	e := t.Add(bytesconv.String(name), bytesconv.String(value))
	e.ID, e.Flags = id, flags
	if !keepName {
		field.Normalize(t.Bytes(e.Name))
	}
	Clean(t.Bytes(e.Value))
}

// RemoveNames removes the announced names, and leaves the fields.
func (t *Trailers) RemoveNames() {
	next := func(from int) int {
		for i := from; i < t.Len(); i++ {
			if t.Entries[i].Flags&field.InTrailers == 0 {
				return i
			}
		}
		return -1
	}
	t.RemoveEach(next(0), next)
}

// RemoveFields removes the fields with a name, or only those with exactly that spelling.
func (t *Trailers) RemoveFields(id field.ID, name []byte, exact bool) {
	next := func(from int) int {
		i := t.FindField(id, name, from)
		for i >= 0 && exact && string(t.Name(i)) != string(name) {
			i = t.FindField(id, name, i+1)
		}
		return i
	}
	t.RemoveEach(next(0), next)
}

// Sends reports whether fields set under a name are sent after the content, since the name
// was announced here.
func (t *Trailers) Sends(id field.ID, name []byte) bool {
	i := t.Announced(id, name)
	return i >= 0 && t.Entries[i].Flags == 0
}

// HasOwn reports whether there is anything other than names announced by a peer, whose
// fields may never arrive.
func (t *Trailers) HasOwn() bool {
	for i := range t.Entries {
		if t.Entries[i].Flags&field.ByPeer == 0 {
			return true
		}
	}
	return false
}

// HasNames reports whether names were announced.
func (t *Trailers) HasNames() bool {
	for range t.Names {
		return true
	}
	return false
}

// Names calls yield for the position of each announced name until it returns false.
func (t *Trailers) Names(yield func(i int) bool) {
	for i := range t.Entries {
		if t.Entries[i].Flags&field.InTrailers == 0 && !yield(i) {
			return
		}
	}
}

// AppendNames appends the value of the Trailer field.
func (t *Trailers) AppendNames(dst []byte) []byte {
	from := len(dst)
	for i := range t.Names {
		if len(dst) > from {
			dst = append(dst, ", "...)
		}
		dst = append(dst, t.Name(i)...)
	}
	return dst
}

// EachName calls yield for every name until it returns false: the announced ones, then
// the names of other fields, each once.
func (t *Trailers) EachName(yield func(name []byte) bool) {
	for i := range t.Names {
		if !yield(t.Name(i)) {
			return
		}
	}
	for i := range t.Entries {
		e, name := &t.Entries[i], t.Name(i)
		if e.Flags&field.InTrailers != 0 && t.Announced(e.ID, name) < 0 && t.FindField(e.ID, name, 0) == i && !yield(name) {
			return
		}
	}
}

// barredTrailers are the fields that a trailer section must not contain. RFC 9110 section
// 6.5.1 names some, which control framing, routing, request modifiers, authentication, the
// response and the format of the content. By others a front end tells a server the identity
// of the client and its original request. A front end that sets or deletes these in the
// header section may forward a trailer section unchanged.
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

// barredPrefixes are the prefixes of other barred names.
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

// IsBarredTrailer reports whether a field with this name must not be in a trailer section.
// Neither case nor the characters between words matter: for CGI and similar interfaces
// X_Forwarded_For is the same as X-Forwarded-For.
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
// every byte other than letters and digits.
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
