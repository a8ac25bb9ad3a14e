package uri

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/urlencoded"
)

// AppendOrigin appends the scheme, its separator, and the host.
func (t *Text) AppendOrigin(dst []byte) []byte {
	dst = t.appendScheme(dst)
	if host := t.Bytes(Host); t.visible && len(host) > 0 && host[0] != '[' {
		return append(dst, host...)
	}
	return appendHost(dst, t.Bytes(Host))
}

func (t *Text) appendScheme(dst []byte) []byte {
	switch {
	case t.Has(Scheme):
		return append(urlencoded.AppendVisible(dst, t.Bytes(Scheme)), "://"...)
	case t.https:
		return append(dst, "https://"...)
	}
	return append(dst, "http://"...)
}

// AppendPath appends the path in encoded form, with a leading slash. With asIs it
// appends the path as received, otherwise the normal form.
func (t *Text) AppendPath(dst []byte, asIs bool) []byte {
	if !asIs && !t.asReceived && !t.badEscape {
		return t.appendNormal(dst)
	}
	original := t.Bytes(Original)
	if len(original) == 0 {
		return t.appendNormal(dst)
	}
	start := len(dst)
	if original[0] != '/' {
		dst = append(dst, '/')
	}
	if asIs {
		return urlencoded.AppendVisible(dst, original)
	}
	if t.asReceived {
		return urlencoded.AppendASCII(dst, original)
	}
	// the decoded path does not show whether a percent sign was escaped
	dst = urlencoded.AppendRecodedPath(dst, original)
	return dst[:start+NormalizePath(dst[start:])]
}

// appendNormal appends the normal form of the path.
func (t *Text) appendNormal(dst []byte) []byte {
	if !t.Has(Path) {
		return append(dst, '/')
	}
	return urlencoded.AppendPath(dst, t.Bytes(Path))
}

// AppendQuery appends the query with its question mark, if there is one.
func (t *Text) AppendQuery(dst []byte) []byte {
	query := t.Bytes(Query)
	if len(query) == 0 && !t.bareQuery {
		return dst
	}
	dst = append(dst, '?')
	if t.visible {
		return append(dst, query...)
	}
	for {
		// only a query that was set can hold one; it would begin the fragment
		i := bytes.IndexByte(query, '#')
		if i < 0 {
			return urlencoded.AppendASCII(dst, query)
		}
		dst = append(urlencoded.AppendASCII(dst, query[:i]), "%23"...)
		query = query[i+1:]
	}
}

// AppendHash appends the fragment with its number sign, if there is one.
func (t *Text) AppendHash(dst []byte) []byte {
	hash := t.Bytes(Hash)
	if len(hash) == 0 {
		return dst
	}
	dst = append(dst, '#')
	if t.visible {
		return append(dst, hash...)
	}
	return urlencoded.AppendASCII(dst, hash)
}
