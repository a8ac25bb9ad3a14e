package fasthttp

import (
	"bytes"
	"io"

	"github.com/valyala/fasthttp/internal/percent"
)

// FullURI returns the whole URI, scheme://host/path?query#hash. User name and
// password are left out. Spaces and control characters, which no URI holds, are
// escaped wherever they were set; in query and fragment other text than ASCII is,
// too.
func (u *URI) FullURI() []byte {
	u.full = u.AppendBytes(u.full[:0])
	return u.full
}

// AppendBytes appends what FullURI returns to dst and returns the extended
// slice.
func (u *URI) AppendBytes(dst []byte) []byte {
	dst = u.appendScheme(dst)
	if host := u.Host(); u.visible && len(host) > 0 && host[0] != '[' {
		dst = append(dst, host...)
	} else {
		dst = appendHost(dst, host)
	}
	dst = u.appendQuery(u.appendPath(dst))
	if hash := u.Hash(); len(hash) > 0 {
		dst = append(dst, '#')
		if u.visible {
			return append(dst, hash...)
		}
		dst = percent.AppendASCII(dst, hash)
	}
	return dst
}

// appendScheme appends the scheme and what separates it from the host.
func (u *URI) appendScheme(dst []byte) []byte {
	switch {
	case !u.parts[uriScheme].empty():
		return append(percent.AppendVisible(dst, u.bytes(uriScheme)), "://"...)
	case u.https:
		return append(dst, "https://"...)
	}
	return append(dst, "http://"...)
}

// String returns what FullURI does, as a string.
func (u *URI) String() string { return string(u.FullURI()) }

// WriteTo writes what FullURI returns to w, with one call of Write, whose error it
// returns. It implements io.WriterTo.
func (u *URI) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(u.FullURI())
	return int64(n), err
}

// RequestURI returns path and query, as they stand in the request line of a
// request to the host of the URI. Like FullURI it holds no spaces and control
// characters.
func (u *URI) RequestURI() []byte {
	u.shown = append(u.shown[:0], u.encodedTarget()...)
	return u.shown
}

// encodedTarget is RequestURI for those who do not write to it, so that it need not
// be made anew each time.
func (u *URI) encodedTarget() []byte {
	if v := u.version(); v == 0 || v != u.targetOf {
		u.target, u.targetOf = u.appendRequestURI(u.target[:0]), v
	}
	return u.target
}

func (u *URI) appendRequestURI(dst []byte) []byte {
	if u.DisablePathNormalizing && string(u.PathOriginal()) == "*" {
		// the target of an OPTIONS request that means the server itself
		return u.appendQuery(append(dst, '*'))
	}
	return u.appendQuery(u.appendPath(dst))
}

// appendPath appends the path in encoded form, with a slash in front.
func (u *URI) appendPath(dst []byte) []byte {
	if !u.DisablePathNormalizing && !u.badEscape {
		return percent.AppendPath(dst, u.Path())
	}
	original := u.PathOriginal()
	if len(original) == 0 {
		return percent.AppendPath(dst, u.Path())
	}
	start := len(dst)
	if original[0] != '/' {
		dst = append(dst, '/')
	}
	if u.DisablePathNormalizing {
		return percent.AppendVisible(dst, original)
	}
	// a percent sign that begins no escape is passed on as it is (other
	// software may give it a meaning); of the decoded path one cannot tell
	// it from an escaped one
	dst = percent.AppendRecodedPath(dst, original)
	return dst[:start+normalizePath(dst[start:])]
}

// appendQuery appends the query with its question mark, if there is one.
func (u *URI) appendQuery(dst []byte) []byte {
	if u.argsParsed && u.args.list.Changed {
		if u.args.Len() == 0 {
			return dst
		}
		return u.args.AppendBytes(append(dst, '?'))
	}
	query := u.QueryString()
	if len(query) == 0 {
		return dst
	}
	dst = append(dst, '?')
	if u.visible {
		return append(dst, query...)
	}
	for {
		// only a query that was set can hold one; it would begin the fragment
		i := bytes.IndexByte(query, '#')
		if i < 0 {
			return percent.AppendASCII(dst, query)
		}
		dst = append(percent.AppendASCII(dst, query[:i]), "%23"...)
		query = query[i+1:]
	}
}
