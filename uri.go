package fasthttp

import (
	"bytes"
	"io"
	"sync"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/uri"
)

// URI is a URI of the http family: scheme://user:password@host/path?query#hash.
// Everything but the host may be missing; without a scheme it is http,
// and without a path that is "/".
//
// Slices that its methods return are pieces of the URI: they are valid until
// the next call of any of its methods, or until it is released, and are not to
// be written to.
//
// The zero value is "http:///", ready for use. A URI must not be copied; use
// CopyTo. It must not be used by two goroutines at a time.
type URI struct {
	_ noCopy

	// DisablePathNormalizing has the path written as it was parsed or set, as
	// a proxy needs it for servers that tell such paths apart. Only what would
	// break a request line (spaces, control characters) is escaped. Path
	// returns the normal form all the same.
	//
	// By default, or if this is false, a path is written in its normal
	// form: without repeated slashes and dot segments, and encoded anew.
	//
	// Reset sets it to false; Parse and Update leave it as it is.
	DisablePathNormalizing bool

	// args holds the query
	argsParsed bool

	text uri.Text
	args Args

	// what FullURI and RequestURI returned last, which callers may have written to,
	// and what encodedTarget did
	full, shown, target []byte

	// lent is the memory of what Scheme and Path return by default
	lent [len("https") + len("/")]byte

	// the version of which target was made
	targetOf uriVersion
}

// uriVersion stands for what becomes of a URI when it is written: it is another
// one as soon as the URI is changed. 0 says that this cannot be told.
type uriVersion uint64

// version returns the version that u has now. Arguments of the query that were
// changed may change at any time.
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

// maxKeptURI is the size over which the memory of a URI is not kept for another
// use. It is four times the limit of a request line.
const maxKeptURI = 64 << 10

var uriPool = sync.Pool{New: func() any { return new(URI) }}

// AcquireURI returns an empty URI from a pool. Hand it back with ReleaseURI
// when it is no longer needed; one that is never handed back is only lost to
// the pool.
func AcquireURI() *URI { return uriPool.Get().(*URI) }

// ReleaseURI hands a URI from AcquireURI back. Neither it nor a slice or Args
// that it returned may be used after that.
func ReleaseURI(u *URI) {
	poisonURI(u)
	u.Reset()
	uriPool.Put(u)
}

// Reset makes u the empty URI, with default settings.
func (u *URI) Reset() {
	u.DisablePathNormalizing = false
	u.text.Clear()
	u.dropArgs()
	if cap(u.text.Memory())+cap(u.full)+cap(u.shown)+cap(u.target) > maxKeptURI {
		u.text.Drop()
		u.full, u.shown, u.target, u.targetOf = nil, nil, nil, 0
	}
	if cap(u.args.list.Block)+cap(u.args.query) > maxKeptArgsBytes || cap(u.args.list.Entries) > maxKeptArgsEntries {
		u.args.list, u.args.query = field.List{}, nil
	}
}

// CopyTo makes dst a copy of u.
func (u *URI) CopyTo(dst *URI) {
	dst.DisablePathNormalizing = u.DisablePathNormalizing
	u.text.CopyTo(&dst.text)
	if !u.argsParsed {
		dst.dropArgs()
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
	scheme := u.lent[:copy(u.lent[:], u.text.Scheme())]
	return scheme[:len(scheme):len(scheme)]
}

// SetScheme sets the scheme: http, https, ws or the like. An empty one means
// http.
func (u *URI) SetScheme(scheme string) { u.SetSchemeBytes(bytesconv.Bytes(scheme)) }

// SetSchemeBytes is SetScheme for bytes, which are copied.
func (u *URI) SetSchemeBytes(scheme []byte) { u.text.SetScheme(scheme) }

// Username returns the user name, as it stands in the URI or was set. It is not
// part of what FullURI returns.
func (u *URI) Username() []byte { return u.text.Bytes(uri.Username) }

// SetUsername sets the user name, which is text without escapes: it is sent as it
// is.
func (u *URI) SetUsername(username string) { u.SetUsernameBytes(bytesconv.Bytes(username)) }

// SetUsernameBytes is SetUsername for bytes, which are copied.
func (u *URI) SetUsernameBytes(username []byte) { u.text.Set(uri.Username, username) }

// Password returns the password, as it stands in the URI or was set. It is not
// part of what FullURI returns.
func (u *URI) Password() []byte { return u.text.Bytes(uri.Password) }

// SetPassword sets the password, which is text without escapes: it is sent as it
// is.
func (u *URI) SetPassword(password string) { u.SetPasswordBytes(bytesconv.Bytes(password)) }

// SetPasswordBytes is SetPassword for bytes, which are copied.
func (u *URI) SetPasswordBytes(password []byte) { u.text.Set(uri.Password, password) }

// Host returns the host and, if there is one, the port, in lower case. The
// zone of an IPv6 address is kept as it is, without escapes.
func (u *URI) Host() []byte { return u.text.Bytes(uri.Host) }

// invalid returns the error of Parse or Update for the host that u has had since
// then: there is nowhere to send a request to. Any other error has left no host.
func (u *URI) invalid() error { return uriError(u.text.Err()) }

// SetHost sets host and port. They are not checked. A name that is not ASCII is
// sent with A-labels, as it stands in DNS.
func (u *URI) SetHost(host string) { u.SetHostBytes(bytesconv.Bytes(host)) }

// SetHostBytes is SetHost for bytes, which are copied.
func (u *URI) SetHostBytes(host []byte) { u.text.SetHost(host) }

// Path returns the path in its normal form: decoded, with a slash in front, and
// without repeated slashes and dot segments. "//f%20obar/baz/../zzz" becomes
// "/f obar/zzz".
func (u *URI) Path() []byte {
	if u.text.Has(uri.Path) {
		return u.text.Bytes(uri.Path)
	}
	// a copy, since callers may write to it
	root := u.lent[len(u.lent)-1:]
	root[0] = '/'
	return root
}

// SetPath sets the path. It is decoded and brought into normal form, so that a
// percent sign which is not to be read as an escape has to be escaped itself.
func (u *URI) SetPath(path string) { u.SetPathBytes(bytesconv.Bytes(path)) }

// SetPathBytes is SetPath for bytes, which are copied.
func (u *URI) SetPathBytes(path []byte) { u.text.SetPath(path) }

// PathOriginal returns the path as it was parsed or set, neither decoded nor
// in normal form. It may be empty.
func (u *URI) PathOriginal() []byte { return u.text.Bytes(uri.Original) }

// LastPathSegment returns what follows the last slash of the path: "baz.html"
// of "/foo/bar/baz.html", and nothing of "/foo/bar/".
func (u *URI) LastPathSegment() []byte {
	path := u.Path()
	return path[bytes.LastIndexByte(path, '/')+1:]
}

// QueryString returns the query as it was parsed or set, without the question
// mark. Changes that were made through QueryArgs do not show here; RequestURI
// and FullURI have them.
func (u *URI) QueryString() []byte { return u.text.Bytes(uri.Query) }

// SetQueryString sets the query, which has to be encoded. Arguments that were
// set through QueryArgs are gone then.
func (u *URI) SetQueryString(queryString string) {
	u.SetQueryStringBytes(bytesconv.Bytes(queryString))
}

// SetQueryStringBytes is SetQueryString for bytes, which are copied.
func (u *URI) SetQueryStringBytes(queryString []byte) {
	u.text.Set(uri.Query, queryString)
	u.dropArgs()
}

// QueryArgs returns the arguments of the query. They belong to u, and changing
// them changes the URI; as long as nobody does, the query is written as it
// came. They are valid until the next call of Parse, Update, SetQueryString,
// Reset or ReleaseURI.
func (u *URI) QueryArgs() *Args {
	if !u.argsParsed {
		u.args.ParseBytes(u.text.Bytes(uri.Query))
		u.args.list.Changed = false
		u.argsParsed = true
	}
	return &u.args
}

func (u *URI) dropArgs() {
	if u.argsParsed {
		u.args.Reset()
		u.argsParsed = false
	}
}

// Hash returns the fragment: what follows the number sign.
func (u *URI) Hash() []byte { return u.text.Bytes(uri.Hash) }

// SetHash sets the fragment.
func (u *URI) SetHash(hash string) { u.SetHashBytes(bytesconv.Bytes(hash)) }

// SetHashBytes is SetHash for bytes, which are copied.
func (u *URI) SetHashBytes(hash []byte) { u.text.Set(uri.Hash, hash) }

// AddMissingPort returns addr with the default port of the scheme, 443 if isTLS is
// true and 80 otherwise, if it has none. An IPv6 address has to be in
// brackets, "[::1]" or "[::1%lo0]"; what is neither a host nor a host with a port
// is returned as it is.
func AddMissingPort(addr string, isTLS bool) string { return uri.AddPort(addr, isTLS) }

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
