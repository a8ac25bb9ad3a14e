package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/uri"
)

// ErrorInvalidURI says that a text is no URI. Errors of [URI.Parse] that say
// more wrap it, but for EscapeError and InvalidHostError.
var ErrorInvalidURI = uri.ErrInvalid

// EscapeError says that a host holds a percent sign that begins no escape, or
// one that must not stand in a host. Its text is what was found there.
type EscapeError string

// Error implements error.
func (e EscapeError) Error() string { return uri.BadEscape(e).Error() }

// InvalidHostError says that a host holds a character that must not stand
// there. Its text is that character.
type InvalidHostError string

// Error implements error.
func (e InvalidHostError) Error() string { return uri.BadHostByte(e).Error() }

// uriError returns an error of internal/uri as the one that users know.
func uriError(err error) error {
	switch e := err.(type) {
	case uri.BadEscape:
		return EscapeError(e)
	case uri.BadHostByte:
		return InvalidHostError(e)
	}
	return err
}

// asciiHost returns a host, with or without a port, in the form that DNS, TLS and
// HTTP know it by.
func asciiHost(host string) (string, error) {
	text, err := uri.ASCIIHost(host)
	return text, uriError(err)
}

// hostField returns host as it is sent in the field Host. It is host itself if
// there is nothing to do.
func hostField(host []byte) ([]byte, error) {
	text, err := uri.HostField(host)
	return text, uriError(err)
}

// Parse makes u the URI that uri is. If uri has no scheme and authority it is
// the target of a request to host, a path with a query, and the scheme is http.
// If it has, host does not count. With an empty host, uri may also begin with
// the two slashes of its authority.
//
// The errors are ErrorInvalidURI, EscapeError and InvalidHostError. After one that is
// about the host or its port u has all parts as they came, and a client that is to
// send a request there returns the same error; after any other one u is empty.
func (u *URI) Parse(host, uri []byte) error {
	u.dropArgs()
	return uriError(u.text.Parse(host, uri))
}

// parse is Parse for the target of a request to host, which is empty for an old
// client that did not send it. The scheme of a target that has none is https if
// isTLS is true.
func (u *URI) parse(host, target []byte, isTLS bool) error {
	u.dropArgs()
	return uriError(u.text.ParseTarget(host, target, isTLS))
}

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
	err := u.text.Update(ref, u.DisablePathNormalizing)
	if err != nil || len(ref) > 0 && ref[0] != '#' {
		u.dropArgs()
	}
	return uriError(err)
}

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
	dst = u.text.AppendPath(u.text.AppendOrigin(dst), u.DisablePathNormalizing)
	return u.text.AppendHash(u.appendQuery(dst))
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
	return u.appendQuery(u.text.AppendPath(dst, u.DisablePathNormalizing))
}

// appendQuery appends the query with its question mark, if there is one.
func (u *URI) appendQuery(dst []byte) []byte {
	if !u.argsParsed || !u.args.list.Changed {
		return u.text.AppendQuery(dst)
	}
	if u.args.Len() == 0 {
		return dst
	}
	return u.args.AppendBytes(append(dst, '?'))
}
