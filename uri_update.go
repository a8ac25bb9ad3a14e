package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
)

// Update makes u the URI that newURI, a reference found at u, refers to. See
// UpdateBytes.
func (u *URI) Update(newURI string) { u.UpdateBytes(bytesconv.Bytes(newURI)) }

// UpdateBytes makes u the URI that newURI, a reference found at u, refers to (RFC
// 3986 section 5.2):
//
//   - scheme://host/path?query replaces all of u.
//   - //host/path?query keeps the scheme.
//   - /path?query keeps scheme, user, host and port.
//   - path?query begins where the last segment of the path of u does.
//   - ?query keeps the path too.
//   - #hash changes the fragment alone.
//
// An empty reference leaves u as it is. One whose host or port is none makes u what
// Parse would, and any other one that is no URI leaves u empty: a client does not
// send a request to either. No form but the first accepts a scheme: "mailto:a@b" is a
// path.
func (u *URI) UpdateBytes(newURI []byte) { _ = u.update(newURI) }

// update is UpdateBytes that returns what is wrong with ref.
func (u *URI) update(ref []byte) error {
	if len(ref) == 0 {
		return nil
	}
	u.changes++
	if ascii.HasControl(ref) {
		u.clear()
		return ErrorInvalidURI
	}
	u.visible = u.visible && ascii.IsVisible(ref)
	colon, found := findScheme(ref)
	switch {
	case found && isScheme(ref[:colon]):
		return u.replaceFrom(ref, colon)
	case bytes.HasPrefix(ref, []byte("//")):
		return u.replaceFrom(ref, -1)
	case ref[0] == '#':
		u.set(uriHash, ref[1:])
		return nil
	}
	start := len(u.block)
	switch ref[0] {
	case '/':
		u.block = append(u.block, ref...)
		u.parseTarget(start, start)
	case '?':
		path, original, badEscape := u.parts[uriPath], u.parts[uriOriginal], u.badEscape
		u.block = append(u.block, ref...)
		u.parseTarget(start, start)
		u.parts[uriPath], u.parts[uriOriginal], u.badEscape = path, original, badEscape
	default:
		u.block = u.appendPath(u.block)
		from := start + bytes.LastIndexByte(u.block[start:], '/') + 1
		u.block = append(u.block[:from], ref...)
		u.parseTarget(start, from)
	}
	u.tidy()
	return nil
}

// replaceFrom takes over a reference with an authority, which begins behind the
// colon and two slashes. There is no scheme where the colon is not behind one.
func (u *URI) replaceFrom(ref []byte, colon int) error {
	start := len(u.block)
	u.block = append(u.block, ref...)
	if colon > 0 {
		u.takeScheme(uriSpan{start, start + colon})
	}
	err := u.parseHierarchy(start + colon + len("://"))
	switch {
	case err == nil:
		u.tidy()
	case !u.badHost:
		u.clear()
	}
	return err
}
