package uri

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
)

// CheckLocation refuses what names no place that a client of HTTP can go to: a
// reference with a scheme of another kind, and one with a scheme but without an
// authority. In a reference without a scheme no colon may come before the first
// slash (RFC 3986 section 4.2). The errors are NotHTTP, ErrNoHost and ErrScheme.
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

// KeepAsCame has path and query written as ref, which t was updated by last, has them: escapes
// and slashes stay as they are, and so does a question mark with nothing behind it. With dots
// set the dot segments of the path are removed (RFC 3986 section 5.2.4).
func (t *Text) KeepAsCame(ref []byte, dots bool) {
	ref, _, _ = bytes.Cut(ref, []byte("#"))
	if len(ref) == 0 {
		return
	}
	t.KeepQuestionMark(ref)
	t.changes++
	if ref[0] == '?' {
		return
	}
	t.asCame = true
	if path := t.Bytes(Original); dots && bytes.Contains(path, []byte("/.")) {
		s := t.store(path)
		s.end = s.start + removeDots(t.block[s.start:s.end])
		t.parts[Original] = s
	}
}

// KeepQuestionMark is KeepAsCame for a question mark with nothing behind it alone.
func (t *Text) KeepQuestionMark(ref []byte) {
	ref, _, _ = bytes.Cut(ref, []byte("#"))
	if len(ref) > 0 && bytes.IndexByte(ref, '?') == len(ref)-1 {
		t.changes++
		t.bareQuery = true
	}
}

// Origin returns scheme, host and port (RFC 6454 section 4).
func (t *Text) Origin() string {
	return string(t.Scheme()) + "://" + AddPort(string(t.Bytes(Host)), t.https)
}
