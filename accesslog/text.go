package accesslog

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
)

// mask replaces a secret.
const mask = "***"

// secretWords are parts of the names of arguments whose values are secret, and secretNames whole
// ones, in the form that plainName returns.
var (
	secretWords = []string{
		"token", "secret", "passw", "passphrase", "pwd", "signature", "credential", "apikey", "accesskey",
		"privatekey", "authkey", "authoriz", "oauth", "session", "assertion", "samlresponse", "samlrequest",
		"jwt", "ticket", "cookie",
	}
	secretNames = []string{"auth", "code", "key", "otp", "pass", "pin", "sid", "sig"}
)

const (
	// longestName is the longest name of an argument, decoded, to be compared with the
	// secrets. Values of longer names are replaced.
	longestName = 128
	// deepestURL is how many URLs are searched that are within each other, as arguments. Values
	// below that are replaced.
	deepestURL = 3
)

// secrets are the names of arguments whose values are not logged. A single goroutine uses them.
type secrets struct {
	names []string
	known [knownNames]knownName
	// decoded has room for one value at each depth of within
	decoded [deepestURL][MaxValue]byte
}

const (
	// knownNames is how many names are remembered. It is a power of two.
	knownNames = 256
	// longestKnown is the longest remembered name.
	longestKnown = 30
)

// knownName is a name as it was received, and the result of search for it.
type knownName struct {
	size   uint8 // of the name, and 1
	secret bool
	name   [longestKnown]byte
}

// newSecrets returns the known names and the given ones.
func newSecrets(more []string) (s secrets) {
	s.names = append(s.names, secretNames...)
	for _, name := range more {
		if plain, ok := plainName(nil, []byte(name)); ok {
			s.names = append(s.names, string(plain))
		}
	}
	return s
}

// appendURL appends a request target, or the value of a Referer field, escaped and without its
// secrets: values of arguments, and user names with passwords.
func (s *secrets) appendURL(dst, url []byte) []byte {
	// arguments of a path begin with a semicolon, such as jsessionid
	end, _, seen := scan(url, pathEnd)
	dst = s.appendPath(dst, url[:end], seen)
	for rest := url[end:]; len(rest) > 0; {
		dst, rest = append(dst, rest[0]), rest[1:]
		end, equals, seen := scan(rest, argumentEnd)
		name, value := rest[:equals], rest[equals:end]
		rest = rest[end:]
		if seen&suspicious != 0 && s.within(name, deepestURL) {
			dst = append(dst, mask...)
		} else {
			dst = appendSeen(dst, name, seen)
		}
		switch {
		case len(value) == 0:
		case s.has(name) || seen&suspicious != 0 && s.within(value[1:], deepestURL):
			dst = append(dst, "="+mask...)
		default:
			dst = appendSeen(dst, value, seen)
		}
	}
	return dst
}

// The classes of bytes in a URL, as bits.
const (
	pathEnd = 1 << iota
	argumentEnd
	equalsSign
	suspicious // a user, or a URL within the URL, may be there
	escaped    // for logs
)

// classes has the bits of each byte.
var classes = func() (classes [256]uint8) {
	for _, c := range ";?#" {
		classes[c] |= pathEnd | argumentEnd
	}
	classes['&'] |= argumentEnd
	classes['='] |= equalsSign
	for _, c := range "@%" {
		classes[c] |= suspicious
	}
	for c := range classes {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			classes[c] |= escaped
		}
	}
	return classes
}()

// scan returns the index of the first byte in a class, or the length of text. It also returns the
// index of the first equals sign before it, or the same index, and the classes of the bytes before it.
func scan(text []byte, class uint8) (end, equals int, seen uint8) {
	end, equals = len(text), -1
	for i, c := range text {
		is := classes[c]
		if is == 0 {
			continue
		}
		if is&class != 0 {
			end = i
			break
		}
		if is&equalsSign != 0 && equals < 0 {
			equals = i
		}
		seen |= is
	}
	if equals < 0 {
		equals = end
	}
	return end, equals, seen
}

// appendSeen appends a part of text in which scan has seen these classes.
func appendSeen(dst, text []byte, seen uint8) []byte {
	if seen&escaped == 0 {
		return append(dst, text...)
	}
	return appendEscaped(dst, text)
}

// nextArgument returns the next name, its value with the equals sign before it, and the rest,
// which begins with the separator.
func nextArgument(text []byte) (name, value, rest []byte) {
	end, equals, _ := scan(text, argumentEnd)
	return text[:equals], text[equals:end], text[end:]
}

// appendPath appends a URL without a query, segment by segment. A user is searched in all of them,
// since a path may have another URL in it. seen are the classes of its bytes.
func (s *secrets) appendPath(dst, url []byte, seen uint8) []byte {
	if seen&suspicious == 0 {
		return appendSeen(dst, url, seen)
	}
	for slashes, first := 0, true; len(url) > 0; first = false {
		end := bytes.IndexAny(url, `/\`)
		if end == 0 {
			slashes++
			dst, url = appendEscaped(dst, url[:1]), url[1:]
			continue
		}
		if end < 0 {
			end = len(url)
		}
		part := url[:end]
		url = url[end:]
		at := bytes.LastIndexByte(part, '@')
		switch {
		case s.within(part, deepestURL):
			dst = append(dst, mask...)
		case at >= 0 && (first || slashes > 1 || bytes.IndexByte(part[:at], ':') >= 0):
			dst = append(dst, mask...)
			dst = appendEscaped(dst, part[at:])
		default:
			dst = appendEscaped(dst, part)
		}
		slashes = 0
	}
	return dst
}

// hasUser reports whether text has a URL with a user: an at sign in what follows two slashes or more.
func hasUser(text []byte) bool {
	if bytes.IndexByte(text, '@') < 0 {
		return false
	}
	slashes, inHost := 0, false
	for _, c := range text {
		switch c {
		case '/', '\\':
			slashes++
			inHost = false
		case '?', '#':
			slashes, inHost = 0, false
		default:
			inHost = inHost || slashes > 1
			slashes = 0
			if c == '@' && inHost {
				return true
			}
		}
	}
	return false
}

// has reports whether the value of an argument is secret.
func (s *secrets) has(name []byte) bool {
	n := len(name)
	switch {
	case n == 0:
		return false
	case n > longestKnown:
		return s.search(name)
	}
	k := &s.known[(uint(n)*29+uint(name[0])*5+uint(name[n/2])*11+uint(name[n-1]))%knownNames]
	if int(k.size) != n+1 || string(k.name[:n]) != string(name) {
		k.size, k.secret = uint8(n+1), s.search(name)
		copy(k.name[:], name)
	}
	return k.secret
}

// search is has for a name that is not known.
func (s *secrets) search(name []byte) bool {
	var buf [longestName]byte
	plain, ok := plainName(buf[:0], name)
	if !ok {
		return true
	}
	for _, word := range secretWords {
		if bytes.Contains(plain, []byte(word)) {
			return true
		}
	}
	for _, name := range s.names {
		if string(plain) == name {
			return true
		}
	}
	return false
}

// within reports whether a value has a URL with a user, or arguments of its own, like a URL, and one
// of them is secret. Both may be encoded. depth is how many more URLs are searched, in each other.
func (s *secrets) within(value []byte, depth int) bool {
	if hasUser(value) {
		return true
	}
	if !mayHide(value) {
		return false
	}
	if depth == 0 {
		return true
	}
	decoded := s.decoded[depth-1][:0]
	for i := 0; i < len(value); i++ {
		c, size := decodeByte(value[i:])
		decoded = append(decoded, c)
		i += size - 1
	}
	if hasUser(decoded) {
		return true
	}
	for rest := decoded; len(rest) > 0; {
		var name, inner []byte
		name, inner, rest = nextArgument(rest)
		if len(inner) > 0 && (s.has(name) || s.within(inner[1:], depth-1)) || s.within(name, depth-1) {
			return true
		}
		if len(rest) > 0 {
			rest = rest[1:]
		}
	}
	return false
}

// mayHide reports whether decoding text may show an argument or a user in it: it has an equals sign
// or an at sign, and either is encoded, perhaps more than once, or another byte is.
func mayHide(text []byte) bool {
	plain := bytes.IndexByte(text, '=') >= 0 || bytes.IndexByte(text, '@') >= 0
	for {
		percent := bytes.IndexByte(text, '%')
		if percent < 0 {
			return false
		}
		if c, size := decodeByte(text[percent:]); size > 1 && (plain || c == '=' || c == '@' || c == '%') {
			return true
		}
		text = text[percent+1:]
	}
}

// plainName appends a decoded name in lower case, without punctuation. It returns false if the
// name is too long.
func plainName(dst, name []byte) ([]byte, bool) {
	for i := 0; i < len(name); i++ {
		c, size := decodeByte(name[i:])
		i += size - 1
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if strings.IndexByte("-_. +", c) >= 0 {
			continue
		}
		if len(dst) == longestName {
			return dst, false
		}
		dst = append(dst, c)
	}
	return dst, true
}

// decodeByte returns the first byte of percent-encoded text, and the size of its encoding.
func decodeByte(text []byte) (c byte, size int) {
	if text[0] == '%' && len(text) >= 3 {
		high, low := strings.IndexByte(hexDigits, lower(text[1])), strings.IndexByte(hexDigits, lower(text[2]))
		if high >= 0 && low >= 0 {
			return byte(high<<4 | low), 3
		}
	}
	return text[0], 1
}

const hexDigits = "0123456789abcdef"

func lower(c byte) byte {
	if 'A' <= c && c <= 'F' {
		return c + 'a' - 'A'
	}
	return c
}

// appendEscaped appends text for a log. Bytes other than printable ASCII, quotes and backslashes
// are escaped, as in a Go string.
func appendEscaped(dst, text []byte) []byte {
	if isPlain(text) {
		return append(dst, text...)
	}
	from := 0
	for i, c := range text {
		if classes[c]&escaped == 0 {
			continue
		}
		dst = append(dst, text[from:i]...)
		from = i + 1
		if c == '"' || c == '\\' {
			dst = append(dst, '\\', c)
			continue
		}
		dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
	}
	return append(dst, text[from:]...)
}

const ones = 0x0101010101010101

// isPlain reports whether no byte of text needs to be escaped. It may return false for text of fewer
// than eight bytes.
func isPlain(text []byte) bool {
	n := len(text)
	if n < 8 {
		return false
	}
	found := uint64(0)
	for i := 0; i+8 <= n; i += 8 {
		found |= notPlain(bytesconv.Word(text, i))
	}
	return (found|notPlain(bytesconv.Word(text, n-8)))&(0x80*ones) == 0
}

// notPlain returns a word that has the high bit of some byte if any byte of w needs to be escaped, and
// of none otherwise.
func notPlain(w uint64) uint64 {
	return w | (w - ' '*ones) | (w + ones) | ascii.ZeroBytes(w^'"'*ones) | ascii.ZeroBytes(w^'\\'*ones)
}
