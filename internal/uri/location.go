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

// Origin returns scheme, host and port (RFC 6454 section 4).
func (t *Text) Origin() string {
	return string(t.Scheme()) + "://" + AddPort(string(t.Bytes(Host)), t.https)
}
