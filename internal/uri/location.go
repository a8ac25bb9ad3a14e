package uri

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
)

// CheckLocation rejects references that an HTTP client cannot follow: a reference with another
// kind of scheme, and one with a scheme but without an authority. In a reference without a
// scheme no colon may precede the first slash (RFC 3986 section 4.2). The errors are NotHTTP,
// ErrNoHost and ErrScheme.
func CheckLocation(location []byte) error {
	colon := bytes.IndexAny(location, ":/?#")
	if colon < 0 || location[colon] != ':' {
		return nil
	}
	scheme := location[:colon]
	switch {
	case colon == 0 || !IsScheme(scheme):
		return ErrScheme
	case !ascii.EqualFoldString(scheme, "http") && !ascii.EqualFoldString(scheme, "https"):
		return NotHTTP(scheme)
	case !bytes.HasPrefix(location[colon:], []byte("://")):
		return ErrNoHost
	}
	return nil
}

// KeepAsReceived makes path and query be written as in ref, the reference of the last Update:
// escapes, slashes and the question mark of an empty query are kept. With dots the dot
// segments of the path are removed (RFC 3986 section 5.2.4).
func (t *Text) KeepAsReceived(ref []byte, dots bool) {
	ref, _, _ = bytes.Cut(ref, []byte("#"))
	if len(ref) == 0 {
		return
	}
	t.KeepQuestionMark(ref)
	t.changes++
	if ref[0] == '?' {
		return
	}
	t.asReceived = true
	if path := t.Bytes(Original); dots && bytes.Contains(path, []byte("/.")) {
		s := t.store(path)
		s.end = s.start + removeDots(t.block[s.start:s.end])
		t.parts[Original] = s
	}
}

// KeepQuestionMark is KeepAsReceived for the question mark of an empty query only.
func (t *Text) KeepQuestionMark(ref []byte) {
	if bytes.IndexByte(ref, '#') >= 0 {
		ref, _, _ = bytes.Cut(ref, []byte("#"))
	}
	if len(ref) > 0 && ref[len(ref)-1] == '?' && bytes.IndexByte(ref, '?') == len(ref)-1 {
		t.changes++
		t.bareQuery = true
	}
}

// Origin returns scheme, host and port (RFC 6454 section 4).
func (t *Text) Origin() string {
	return string(t.Scheme()) + "://" + AddPort(string(t.Bytes(Host)), t.https)
}
