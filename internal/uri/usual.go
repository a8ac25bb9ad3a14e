package uri

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/urlencoded"
)

// usualBytes holds, for each byte, the parts of a usual URI in which it is allowed.
//
// The bits for a path are a state machine with two states: a byte is allowed if it has the
// bit of the current state, and its upper half is the next state.
var usualBytes = buildUsual()

const (
	inHost     = 1 << iota // in a host in normal form
	afterSlash             // in a path, after a slash
	inSegment              // in a path, after any other byte
	next       = 4         // shift of the upper half
)

func buildUsual() (t [256]uint8) {
	for i := range t {
		c := byte(i)
		if c < 0x80 && hostNameBytes[c] == c && c != 0 {
			t[i] |= inHost
		}
		switch {
		case !urlencoded.IsPath(c):
		case c == '/':
			// a second one is removed
			t[i] |= inSegment | afterSlash<<next
		case c == '.':
			// after a slash it may begin a dot segment
			t[i] |= inSegment | inSegment<<next
		default:
			t[i] |= afterSlash | inSegment | inSegment<<next
		}
	}
	return t
}

// parseUsual parses text if it has the form of nearly all URIs for clients, and
// reports whether it has. Otherwise it changes nothing.
//
// Such a URI begins with http or https. Its host has no user, and is in normal form, as is
// its path, which is written without an escape. Query and fragment are visible ASCII.
func (t *Text) parseUsual(text []byte) bool {
	start, https := len("http://"), false
	if len(text) <= start || string(text[:start]) != "http://" {
		start, https = len("https://"), true
		if len(text) <= start || string(text[:start]) != "https://" {
			return false
		}
	}
	path := usualHost(text, start)
	if path == start || path == len(text) || text[path] != '/' {
		return false
	}
	end := usualPath(text, path)
	var query, hash span
	if end < len(text) {
		if !ascii.IsVisible(text[end:]) {
			return false
		}
		to := end + ascii.IndexByte(text[end:], '#')
		if to < len(text) {
			hash = span{to + 1, len(text)}
		}
		switch text[end] {
		case '?':
			query = span{end + 1, to}
		case '#':
		default:
			return false
		}
	}
	t.changes++
	t.https, t.visible, t.badHost, t.badEscape = https, true, false, false
	t.asReceived, t.bareQuery = false, false
	t.plainUser = [2]bool{}
	t.block = append(t.block[:0], text...)
	t.parts = [numParts]span{Host: {start, path}, Original: {path, end}, Path: {path, end}, Query: query, Hash: hash}
	t.source, t.parsedAs, t.plain = span{0, len(text)}, t.changes, true
	return true
}

// usualHost returns the position after the host at text[start], which must be in normal
// form, and its port.
func usualHost(text []byte, start int) int {
	i := start
	for i < len(text) && usualBytes[text[i]]&inHost != 0 {
		i++
	}
	if i == len(text) || text[i] != ':' || i == start {
		return i
	}
	port := i + 1
	for i = port; i < len(text) && ascii.Is(text[i], ascii.Digit); i++ {
	}
	if !http1.ValidPort(text[port:i]) {
		return start
	}
	return i
}

// usualPath returns the end of the path in normal form at text[start].
func usualPath(text []byte, start int) int {
	state := uint8(inSegment)
	for i, c := range text[start:] {
		b := usualBytes[c]
		if b&state == 0 {
			return start + i
		}
		state = b >> next
	}
	return len(text)
}
