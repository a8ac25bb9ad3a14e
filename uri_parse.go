package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/percent"
)

// Parse makes u the URI that uri is. Where uri has no scheme and authority it is
// the target of a request to host, a path with a query, and the scheme is http.
// Where it has, host does not count. With an empty host, uri may also begin with
// the two slashes of its authority.
//
// The errors are ErrorInvalidURI, EscapeError and InvalidHostError. After one that is
// about the host or its port u has all parts as they came, and a client that is to
// send a request there returns the same error; after any other one u is empty.
func (u *URI) Parse(host, uri []byte) error {
	return u.parseWith(host, uri, uriOptions{slashes: len(host) == 0})
}

// parse is Parse for the target of a request to host, which is empty for an old
// client that did not send it. What begins with two slashes is a path in any
// case (RFC 9112 section 3.2.1). The scheme of a target that has none is https
// where isTLS is true.
func (u *URI) parse(host, target []byte, isTLS bool) error {
	return u.parseWith(host, target, uriOptions{https: isTLS})
}

// uriOptions say how a URI without a scheme is read.
type uriOptions struct {
	https   bool // its scheme
	slashes bool // where it begins with two slashes, an authority follows
}

func (u *URI) parseWith(host, uri []byte, o uriOptions) error {
	u.clear()
	u.visible = ascii.IsVisible(uri)
	if !u.visible && ascii.HasControl(uri) {
		return ErrorInvalidURI
	}
	u.https = o.https
	u.block = append(append(u.block, host...), uri...)
	err := u.parseBlock(len(host), o.slashes)
	if err != nil && !u.badHost {
		u.clear()
	}
	return err
}

// parseBlock reads the block, which is a host and, from start on, a URI. With
// slashes, it may begin with those of its authority.
func (u *URI) parseBlock(start int, slashes bool) error {
	text := u.block[start:]
	if colon, found := findScheme(text); found {
		if colon > 0 {
			if !isScheme(text[:colon]) {
				return errURIScheme
			}
			u.takeScheme(uriSpan{start, start + colon})
		}
		return u.parseHierarchy(start + colon + len("://"))
	}
	if slashes && bytes.HasPrefix(text, []byte("//")) {
		return u.parseHierarchy(len("//"))
	}
	err := u.parseAuthority(uriSpan{0, start})
	if err == nil || u.badHost {
		u.parseTarget(start, start)
	}
	return err
}

// findScheme returns the position of the colon behind the scheme of text, which
// is followed by two slashes and stands before anything else that separates
// parts of a URI. There may be nothing before the colon: such a URI has the
// scheme that is the default.
func findScheme(text []byte) (colon int, found bool) {
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

// isScheme reports whether text is a scheme (RFC 3986 section 3.1), or nothing.
func isScheme(text []byte) bool {
	for i, c := range text {
		if !ascii.Is(c, ascii.Alpha) && (i == 0 || !ascii.Is(c, ascii.Digit) && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return true
}

// takeScheme makes a text in the block the scheme.
func (u *URI) takeScheme(s uriSpan) {
	scheme := u.block[s.start:s.end]
	ascii.ToLower(scheme)
	u.https = string(scheme) == "https"
	if u.https || string(scheme) == "http" {
		s = uriSpan{}
	}
	u.parts[uriScheme] = s
}

// parseHierarchy reads what follows the two slashes of a URI.
func (u *URI) parseHierarchy(start int) error {
	end := start
	for end < len(u.block) && u.block[end] != '/' && u.block[end] != '?' && u.block[end] != '#' {
		end++
	}
	err := u.parseAuthority(uriSpan{start, end})
	if err != nil && !u.badHost {
		return err
	}
	if end == len(u.block) {
		u.block = append(u.block, '/')
	}
	u.parseTarget(end, end)
	return err
}

// parseAuthority reads user information and host: RFC 3986 section 3.2. A host that
// is none is taken as it stands, and badHost says so: what follows it is the path
// all the same.
func (u *URI) parseAuthority(s uriSpan) error {
	u.parts[uriUsername], u.parts[uriPassword] = uriSpan{}, uriSpan{}
	u.plainUser = [2]bool{}
	u.badHost = false
	if bytes.IndexByte(u.block[s.start:s.end], '@') >= 0 {
		at := bytes.LastIndexByte(u.block[s.start:s.end], '@')
		user := uriSpan{s.start, s.start + at}
		s.start = user.end + 1
		if !isUserinfo(u.block[user.start:user.end]) {
			return errURIUser
		}
		if colon := bytes.IndexByte(u.block[user.start:user.end], ':'); colon >= 0 {
			u.parts[uriPassword] = uriSpan{user.start + colon + 1, user.end}
			user.end = user.start + colon
		}
		u.parts[uriUsername] = user
	}
	n, err := normalizeHost(u.block[s.start:s.end])
	u.parts[uriHost] = uriSpan{s.start, s.start + n}
	if u.badHost = err != nil; u.badHost {
		u.visible = false
	}
	return err
}

// isUserinfo reports whether text can be user information: RFC 3986 section
// 3.2.1. A raw at sign is let pass, since everybody agrees that the last one ends
// the user information. Anything else in front of that, such as a backslash, makes
// programs disagree about which part is the host.
func isUserinfo(text []byte) bool {
	for _, c := range text {
		if !ascii.Is(c, ascii.HostByte) && c != '@' || c == '[' || c == ']' {
			return false
		}
	}
	return true
}

// parseTarget reads path, query and fragment, which are the rest of the block
// from start on. The path lasts at least until from.
func (u *URI) parseTarget(start, from int) {
	end := len(u.block)
	u.parts[uriQuery], u.parts[uriHash] = uriSpan{}, uriSpan{}
	u.dropArgs()
	if i := bytes.IndexByte(u.block[from:end], '#'); i >= 0 {
		u.parts[uriHash] = uriSpan{from + i + 1, end}
		end = from + i
	}
	if i := bytes.IndexByte(u.block[from:end], '?'); i >= 0 {
		u.parts[uriQuery] = uriSpan{from + i + 1, end}
		end = from + i
	}
	u.takePath(uriSpan{start, end})
}

// takePath makes a text in the block the path.
func (u *URI) takePath(s uriSpan) {
	u.badEscape = false
	u.parts[uriOriginal], u.parts[uriPath] = s, s
	path := u.block[s.start:s.end]
	if len(path) == 0 || isNormalPath(path) {
		return
	}
	u.badEscape = percent.HasBadEscape(path)
	start := len(u.block)
	u.block = appendNormalPath(u.block, path)
	u.parts[uriPath] = uriSpan{start, len(u.block)}
}
