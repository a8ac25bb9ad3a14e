package uri

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/urlencoded"
)

// Parse sets t to the URI in text. If text has no scheme and authority it is the target of a
// request to host, a path with a query, and the scheme is http. Otherwise host is ignored.
// With an empty host, text may also begin with the two slashes of its authority.
//
// After an error about the host or its port, t has all parts as they were received, and Err
// returns the same error. After any other error t is empty.
func (t *Text) Parse(host, text []byte) error {
	return t.parse(host, text, false, len(host) == 0)
}

// ParseTarget is Parse for the target of a request to host, which is empty for an old client
// that did not send it. A target that begins with two slashes is always a path (RFC 9112
// section 3.2.1). The scheme of a target without a scheme is https if isTLS is true.
func (t *Text) ParseTarget(host, target []byte, isTLS bool) error {
	return t.parse(host, target, isTLS, false)
}

// parse is Parse. The default scheme is http or https. With slashes, two slashes at the start
// begin an authority.
func (t *Text) parse(host, text []byte, https, slashes bool) error {
	if t.parseUsual(text) {
		return nil
	}
	return t.parseAny(host, text, https, slashes)
}

// parseAny is parse for a text of any form.
func (t *Text) parseAny(host, text []byte, https, slashes bool) error {
	t.Clear()
	t.visible = ascii.IsVisible(text)
	if !t.visible && ascii.HasControl(text) {
		return ErrInvalid
	}
	t.https = https
	t.block = append(append(t.block, host...), text...)
	err := t.parseBlock(len(host), slashes)
	if err != nil && !t.badHost {
		t.Clear()
	}
	return err
}

// parseBlock parses the block, which is a host and, from start on, a URI. With slashes, the
// URI may begin with the slashes of its authority.
func (t *Text) parseBlock(start int, slashes bool) error {
	text := t.block[start:]
	if colon, found := FindScheme(text); found {
		if colon > 0 {
			if !IsScheme(text[:colon]) {
				return ErrScheme
			}
			t.takeScheme(span{start, start + colon})
		}
		err := t.parseHierarchy(start + colon + len("://"))
		if err == nil && colon > 0 && t.parts[Host].end == t.parts[Original].start {
			// no escape was removed: the text, with its letters in lower case, has the same parts
			t.source, t.parsedAs, t.plain = span{start, start + len(text)}, t.changes, false
		}
		return err
	}
	if slashes && bytes.HasPrefix(text, []byte("//")) {
		return t.parseHierarchy(len("//"))
	}
	err := t.parseAuthority(span{0, start})
	if err == nil || t.badHost {
		t.parseTarget(start, start)
	}
	return err
}

// FindScheme returns the position of the colon after the scheme of text. Two slashes follow
// the colon, and no other separator of URI parts precedes it. There may be no text before the
// colon: such a URI has the default scheme.
func FindScheme(text []byte) (colon int, found bool) {
	for i, c := range text {
		switch c {
		case '/', '?', '#':
			return 0, false
		case ':':
			if bytes.HasPrefix(text[i:], []byte("://")) {
				return i, true
			}
		}
	}
	return 0, false
}

// HasNoAuthority reports whether text is an absolute URI that names no host, such as
// "mailto:user@example.com": its scheme is not followed by two slashes. "http:example.com" is no such
// URI, since URIs of HTTP have an authority (RFC 9110 section 4.2); but browsers take it for
// "http://example.com".
func HasNoAuthority(text []byte) bool {
	end := bytes.IndexAny(text, ":/?#")
	if end <= 0 || text[end] != ':' || bytes.HasPrefix(text[end:], []byte("://")) {
		return false
	}
	scheme := text[:end]
	return IsScheme(scheme) && !ascii.EqualFoldString(scheme, "http") && !ascii.EqualFoldString(scheme, "https")
}

// IsScheme reports whether text is a scheme (RFC 3986 section 3.1), or nothing.
func IsScheme(text []byte) bool {
	for i, c := range text {
		if !ascii.Is(c, ascii.Alpha) && (i == 0 || !ascii.Is(c, ascii.Digit) && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return true
}

// takeScheme makes a text in the block the scheme.
func (t *Text) takeScheme(s span) {
	scheme := t.block[s.start:s.end]
	ascii.ToLower(scheme)
	t.https = string(scheme) == "https"
	if t.https || string(scheme) == "http" {
		s = span{}
	}
	t.parts[Scheme] = s
}

// parseHierarchy parses the part after the two slashes of a URI.
func (t *Text) parseHierarchy(start int) error {
	end := start
	for end < len(t.block) && t.block[end] != '/' && t.block[end] != '?' && t.block[end] != '#' {
		end++
	}
	err := t.parseAuthority(span{start, end})
	if err != nil && !t.badHost {
		return err
	}
	if end == len(t.block) {
		t.block = append(t.block, '/')
	}
	t.parseTarget(end, end)
	return err
}

// parseAuthority parses user information and host: RFC 3986 section 3.2. An invalid host is
// kept unchanged and sets badHost: the text after it is the path in any case.
func (t *Text) parseAuthority(s span) error {
	t.parts[Username], t.parts[Password] = span{}, span{}
	t.plainUser = [2]bool{}
	t.badHost = false
	if isPlainHost(t.block[s.start:s.end]) {
		t.parts[Host] = s
		return nil
	}
	if bytes.IndexByte(t.block[s.start:s.end], '@') >= 0 {
		at := bytes.LastIndexByte(t.block[s.start:s.end], '@')
		user := span{s.start, s.start + at}
		s.start = user.end + 1
		if !isUserinfo(t.block[user.start:user.end]) {
			return ErrUser
		}
		if colon := bytes.IndexByte(t.block[user.start:user.end], ':'); colon >= 0 {
			t.parts[Password] = span{user.start + colon + 1, user.end}
			user.end = user.start + colon
		}
		t.parts[Username] = user
	}
	n, err := normalizeHost(t.block[s.start:s.end])
	t.parts[Host] = span{s.start, s.start + n}
	t.badHost = err != nil
	if t.badHost || n < s.end-s.start {
		// a byte whose escape was removed is not ASCII
		t.visible = false
	}
	return err
}

// isUserinfo reports whether text can be user information: RFC 3986 section 3.2.1. A raw at
// sign is allowed, since all parsers agree that the last one ends the user information. Any
// other character before it, such as a backslash, makes parsers disagree about which part is
// the host.
func isUserinfo(text []byte) bool {
	for _, c := range text {
		if !ascii.Is(c, ascii.HostByte) && c != '@' || c == '[' || c == ']' {
			return false
		}
	}
	return true
}

// parseTarget parses path, query and fragment, which are the rest of the block from start on.
// The path extends at least to from.
func (t *Text) parseTarget(start, from int) {
	end := len(t.block)
	t.bareQuery = false
	t.parts[Query], t.parts[Hash] = span{}, span{}
	if i := bytes.IndexByte(t.block[from:end], '#'); i >= 0 {
		t.parts[Hash] = span{from + i + 1, end}
		end = from + i
	}
	if i := bytes.IndexByte(t.block[from:end], '?'); i >= 0 {
		t.parts[Query] = span{from + i + 1, end}
		end = from + i
	}
	t.takePath(span{start, end})
}

// KeepBadEscapes marks the path as received in a request. A percent sign that begins no escape
// is then passed on unchanged: other software may give it a meaning. In all other paths it is
// text, and is escaped.
func (t *Text) KeepBadEscapes() {
	if t.parts[Path] != t.parts[Original] {
		t.badEscape = urlencoded.HasBadEscape(t.Bytes(Original))
	}
}

// takePath makes a text in the block the path.
func (t *Text) takePath(s span) {
	t.badEscape, t.asReceived = false, false
	t.parts[Original], t.parts[Path] = s, s
	path := t.block[s.start:s.end]
	if len(path) == 0 || isNormalPath(path) {
		return
	}
	start := len(t.block)
	t.block = AppendNormalPath(t.block, path)
	t.parts[Path] = span{start, len(t.block)}
}
