package fasthttp

import (
	"bytes"
	"io"
	"sync"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/uri"
)

// URI is a URI of the http family: scheme://user:password@host/path?query#hash.
// Every part except the host may be missing. The default scheme is http, and the
// default path is "/".
//
// Slices that its methods return point into the URI: they are valid until the next
// call of any of its methods, or until it is released, and must not be modified.
//
// The zero value is "http:///", ready for use. A URI must not be copied; use CopyTo. It
// must not be used by two goroutines at once.
type URI struct {
	_ noCopy

	// DisablePathNormalizing makes methods write the path as it was parsed or set.
	// A proxy needs this for servers to which such paths are different. Only spaces
	// and control characters, which would break a request line, are escaped. Path
	// still returns the normalized form.
	//
	// By default a path is written in its normalized form: without repeated slashes
	// and dot segments, and encoded anew.
	//
	// Reset sets it to false; Parse and Update leave it as it is.
	DisablePathNormalizing bool

	// args holds the query
	argsParsed bool

	text uri.Text
	args Args

	// the last results of FullURI and RequestURI, which callers may have modified, and
	// the last result of encodedTarget
	full, shown, target []byte

	// scratch is the memory of the default results of Scheme and Path
	scratch [len("https") + len("/")]byte

	// the version that target was made from
	targetOf uriVersion
}

// uriVersion identifies the written form of a URI: it changes whenever the URI does.
// 0 means that the version is unknown.
type uriVersion uint64

// version returns the current version of u. It is unknown once the arguments of the
// query were changed: they may change at any time.
func (u *URI) version() uriVersion {
	if u.argsParsed && u.args.list.Changed {
		return 0
	}
	v := uriVersion(u.text.Changes()) << 1
	if u.DisablePathNormalizing {
		v |= 1
	}
	return v
}

// maxKeptURI is the size in bytes over which Reset frees the memory of a URI. It is four
// times the limit of a request line.
const maxKeptURI = 64 << 10

var uriPool = sync.Pool{New: func() any { return new(URI) }}

// AcquireURI returns an empty URI from a pool. Return it with ReleaseURI when it is no
// longer needed. If it is never returned, the garbage collector frees it.
func AcquireURI() *URI { return uriPool.Get().(*URI) }

// ReleaseURI returns a URI from AcquireURI to the pool. Neither it nor a slice or Args that
// its methods returned may be used after that.
func ReleaseURI(u *URI) {
	u.poison()
	u.Reset()
	uriPool.Put(u)
}

// Reset makes u the empty URI, with default settings.
func (u *URI) Reset() {
	u.DisablePathNormalizing = false
	u.text.Clear()
	u.resetArgs()
	if cap(u.text.Memory())+cap(u.full)+cap(u.shown)+cap(u.target) > maxKeptURI {
		u.text.Release()
		u.full, u.shown, u.target, u.targetOf = nil, nil, nil, 0
	}
	if u.args.isLarge() {
		u.args.list, u.args.query = field.List{}, nil
	}
}

// CopyTo makes dst a copy of u.
func (u *URI) CopyTo(dst *URI) {
	dst.DisablePathNormalizing = u.DisablePathNormalizing
	u.text.CopyTo(&dst.text)
	if !u.argsParsed {
		dst.resetArgs()
		return
	}
	u.args.CopyTo(&dst.args)
	dst.args.list.Changed = u.args.list.Changed
	dst.argsParsed = true
}

// Scheme returns the scheme in lower case, "http" by default.
func (u *URI) Scheme() []byte {
	if !u.text.IsHTTP() {
		return u.text.Scheme()
	}
	// a copy, since callers may write to it
	scheme := u.scratch[:copy(u.scratch[:], u.text.Scheme())]
	return scheme[:len(scheme):len(scheme)]
}

// SetScheme sets the scheme: http, https, ws or the like. An empty one means
// http.
func (u *URI) SetScheme(scheme string) { u.SetSchemeBytes(bytesconv.Bytes(scheme)) }

// SetSchemeBytes is SetScheme for bytes, which are copied.
func (u *URI) SetSchemeBytes(scheme []byte) { u.text.SetScheme(scheme) }

// Username returns the user name as it was parsed or set. FullURI omits it.
func (u *URI) Username() []byte { return u.text.Bytes(uri.Username) }

// SetUsername sets the user name. It is plain text without escapes, and is sent as it is.
func (u *URI) SetUsername(username string) { u.SetUsernameBytes(bytesconv.Bytes(username)) }

// SetUsernameBytes is SetUsername for bytes, which are copied.
func (u *URI) SetUsernameBytes(username []byte) { u.text.Set(uri.Username, username) }

// Password returns the password as it was parsed or set. FullURI omits it.
func (u *URI) Password() []byte { return u.text.Bytes(uri.Password) }

// SetPassword sets the password. It is plain text without escapes, and is sent as it is.
func (u *URI) SetPassword(password string) { u.SetPasswordBytes(bytesconv.Bytes(password)) }

// SetPasswordBytes is SetPassword for bytes, which are copied.
func (u *URI) SetPasswordBytes(password []byte) { u.text.Set(uri.Password, password) }

// Host returns the host and, if there is one, the port, in lower case. The zone of an IPv6
// address keeps its case and is decoded.
func (u *URI) Host() []byte { return u.text.Bytes(uri.Host) }

// invalid returns the error of Parse or Update for the host that u still has: a request
// cannot be sent there. After any other error there is no host.
func (u *URI) invalid() error {
	if !u.text.BadHost() {
		return nil
	}
	return uriError(u.text.Err())
}

// SetHost sets host and port, without checking them. A name that is not ASCII is sent with
// A-labels, its form in DNS.
func (u *URI) SetHost(host string) { u.SetHostBytes(bytesconv.Bytes(host)) }

// SetHostBytes is SetHost for bytes, which are copied.
func (u *URI) SetHostBytes(host []byte) { u.text.SetHost(host) }

// Path returns the path in its normalized form: decoded, with a leading slash, and without
// repeated slashes and dot segments. "//f%20obar/baz/../zzz" becomes "/f obar/zzz".
func (u *URI) Path() []byte {
	if u.text.Has(uri.Path) {
		return u.text.Bytes(uri.Path)
	}
	// a copy, since callers may write to it
	root := u.scratch[len(u.scratch)-1:]
	root[0] = '/'
	return root
}

// SetPath sets the path, which it decodes and normalizes. So a percent sign that does not
// begin an escape must be escaped itself.
func (u *URI) SetPath(path string) { u.SetPathBytes(bytesconv.Bytes(path)) }

// SetPathBytes is SetPath for bytes, which are copied.
func (u *URI) SetPathBytes(path []byte) { u.text.SetPath(path) }

// PathOriginal returns the path as it was parsed or set, neither decoded nor normalized. It
// may be empty.
func (u *URI) PathOriginal() []byte { return u.text.Bytes(uri.Original) }

// LastPathSegment returns the text after the last slash of the path: "baz.html" for
// "/foo/bar/baz.html", and an empty slice for "/foo/bar/".
func (u *URI) LastPathSegment() []byte {
	path := u.Path()
	return path[bytes.LastIndexByte(path, '/')+1:]
}

// QueryString returns the query as it was parsed or set, without the question mark. It does
// not contain changes made through QueryArgs; RequestURI and FullURI do.
func (u *URI) QueryString() []byte { return u.text.Bytes(uri.Query) }

// SetQueryString sets the query, which must be encoded. It drops arguments that were set
// through QueryArgs.
func (u *URI) SetQueryString(queryString string) {
	u.SetQueryStringBytes(bytesconv.Bytes(queryString))
}

// SetQueryStringBytes is SetQueryString for bytes, which are copied.
func (u *URI) SetQueryStringBytes(queryString []byte) {
	u.text.Set(uri.Query, queryString)
	u.resetArgs()
}

// QueryArgs returns the arguments of the query. They belong to u: a change of them
// changes the URI. Until the caller changes them, the query is written as it was parsed
// or set. They are valid until the next call of Parse, Update, SetQueryString, Reset or
// ReleaseURI.
func (u *URI) QueryArgs() *Args {
	if !u.argsParsed {
		u.args.ParseBytes(u.text.Bytes(uri.Query))
		u.args.list.Changed = false
		u.argsParsed = true
	}
	return &u.args
}

func (u *URI) resetArgs() {
	if u.argsParsed {
		u.args.Reset()
		u.argsParsed = false
	}
}

// Hash returns the fragment: the text after the number sign.
func (u *URI) Hash() []byte { return u.text.Bytes(uri.Hash) }

// SetHash sets the fragment.
func (u *URI) SetHash(hash string) { u.SetHashBytes(bytesconv.Bytes(hash)) }

// SetHashBytes is SetHash for bytes, which are copied.
func (u *URI) SetHashBytes(hash []byte) { u.text.Set(uri.Hash, hash) }

// AddMissingPort returns addr with the default port, 443 if isTLS is true and 80
// otherwise, if addr has no port. An IPv6 address must be in brackets, "[::1]" or
// "[::1%lo0]". If addr is neither a host nor a host with a port, it is returned as it
// is.
func AddMissingPort(addr string, isTLS bool) string { return uri.AddPort(addr, isTLS) }

// ErrorInvalidURI is the error of a text other than a URI. All errors of [URI.Parse] wrap
// it, except for EscapeError and InvalidHostError.
var ErrorInvalidURI = uri.ErrInvalid

// EscapeError is the error of a host with a percent sign that begins no escape, or with an
// escape forbidden in a host. Its value is the text at the percent sign.
type EscapeError string

// Error implements error.
func (e EscapeError) Error() string { return uri.BadEscape(e).Error() }

// InvalidHostError is the error of a host with a forbidden character. Its value is that
// character.
type InvalidHostError string

// Error implements error.
func (e InvalidHostError) Error() string { return uri.BadHostByte(e).Error() }

// uriError converts an error of internal/uri to the exported error.
func uriError(err error) error {
	switch e := err.(type) {
	case uri.BadEscape:
		return EscapeError(e)
	case uri.BadHostByte:
		return InvalidHostError(e)
	}
	return err
}

// asciiHost returns a host, with or without a port, in its form for DNS, TLS and HTTP.
func asciiHost(host string) (string, error) {
	text, err := uri.ASCIIHost(host)
	return text, uriError(err)
}

// hostField returns host as it is sent in the field Host. The result is host itself if
// nothing has to be changed.
func hostField(host []byte) ([]byte, error) {
	text, err := uri.HostField(host)
	return text, uriError(err)
}

// Parse parses uri into u. If uri has no scheme and authority, it is the target of a
// request to host, a path with a query, and the scheme is http. Otherwise Parse ignores
// host. If host is empty, uri may also begin with the two slashes of its authority.
//
// The errors are ErrorInvalidURI, EscapeError and InvalidHostError. After an error of
// the host or its port u has all parts as they were parsed, and a client that should
// send a request there returns the same error. After any other error u is empty.
func (u *URI) Parse(host, uri []byte) error {
	u.resetArgs()
	return uriError(u.text.Parse(host, uri))
}

// parse is Parse for the target of a request to host. host is empty if a client, such
// as one of HTTP/1.0, did not send it. The scheme of a target without one is https if
// isTLS is true.
func (u *URI) parse(host, target []byte, isTLS bool) error {
	u.resetArgs()
	return uriError(u.text.ParseTarget(host, target, isTLS))
}

// Update is like [URI.UpdateBytes], but takes a string.
func (u *URI) Update(newURI string) { u.UpdateBytes(bytesconv.Bytes(newURI)) }

// UpdateBytes resolves newURI, a reference relative to u, and makes u the result (RFC 3986
// section 5.2):
//
//   - scheme://host/path?query replaces all of u.
//   - //host/path?query keeps the scheme.
//   - /path?query keeps scheme, user, host and port.
//   - path?query replaces the last segment of the path of u.
//   - ?query keeps the path too.
//   - #hash changes only the fragment.
//
// An empty reference does not change u. After a reference with an invalid host or port
// u has its parts, as after Parse. After any other invalid reference u is empty. A
// client does not send a request to either. Only the first form accepts a scheme:
// "mailto:a@b" is a path.
func (u *URI) UpdateBytes(newURI []byte) { _ = u.UpdateBytesErr(newURI) }

// UpdateBytesErr is UpdateBytes, but returns the error that Parse has for the URI to which
// newURI leads. A control character anywhere in newURI is an ErrorInvalidURI, in a query or
// fragment too.
func (u *URI) UpdateBytesErr(newURI []byte) error {
	err := u.text.Update(newURI, u.DisablePathNormalizing)
	if err != nil || len(newURI) > 0 && newURI[0] != '#' {
		u.resetArgs()
	}
	return uriError(err)
}

// FullURI returns the whole URI, scheme://host/path?query#hash, without user name and
// password. It escapes spaces and control characters, which a URI must not contain, in all
// parts, and text that is not ASCII in query and fragment. A percent sign in the path that
// begins no escape becomes "%25", unless the path belongs to a received request, or
// DisablePathNormalizing is set.
func (u *URI) FullURI() []byte {
	u.full = u.AppendBytes(u.full[:0])
	return u.full
}

// AppendBytes appends the result of FullURI to dst and returns the extended slice.
func (u *URI) AppendBytes(dst []byte) []byte {
	dst = u.text.AppendPath(u.text.AppendOrigin(dst), u.DisablePathNormalizing)
	return u.text.AppendHash(u.appendQuery(dst))
}

// String returns the result of FullURI as a string.
func (u *URI) String() string { return string(u.FullURI()) }

// WriteTo writes the result of FullURI to w, with one call of Write, whose error it
// returns. It implements io.WriterTo.
func (u *URI) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(u.FullURI())
	return int64(n), err
}

// RequestURI returns path and query, as in the request line of a request to the host of the
// URI. Like FullURI it escapes spaces and control characters.
func (u *URI) RequestURI() []byte {
	u.shown = append(u.shown[:0], u.encodedTarget()...)
	return u.shown
}

// encodedTarget is RequestURI for callers that do not modify the result, so that it
// need not be made anew each time.
func (u *URI) encodedTarget() []byte {
	if v := u.version(); v == 0 || v != u.targetOf {
		u.target, u.targetOf = u.appendRequestURI(u.target[:0]), v
	}
	return u.target
}

func (u *URI) appendRequestURI(dst []byte) []byte {
	if target := u.text.PlainTarget(); target != nil && !(u.argsParsed && u.args.list.Changed) {
		return append(dst, target...)
	}
	if u.DisablePathNormalizing && string(u.PathOriginal()) == "*" {
		// the target of an OPTIONS request to the server itself
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

// poison is Request.poison for a URI.
func (u *URI) poison() {
	if !bufpool.Poisons {
		return
	}
	for _, text := range [][]byte{u.text.Memory(), u.full, u.shown, u.target} {
		bufpool.Poison(text)
	}
	u.args.poison()
}
