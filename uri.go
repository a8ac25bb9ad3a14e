package fasthttp

import (
	"bytes"
	"sync"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/percent"
)

// URI is a URI of the http family: scheme://user:password@host/path?query#hash.
// Everything but the host may be missing; where there is no scheme it is http,
// and where there is no path it is "/".
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
	// By default, or where this is false, a path is written in its normal
	// form: without repeated slashes and dot segments, and encoded anew.
	//
	// Reset sets it to false; Parse and Update leave it as it is.
	DisablePathNormalizing bool

	// the scheme, where its text is empty
	https bool
	// the host was parsed and is none
	badHost bool
	// the path was received with a percent sign that begins no escape
	badEscape bool
	// args holds the query
	argsParsed bool
	// user name and password were set, not parsed: they hold no escapes
	plainUser [2]bool
	// all that was parsed is visible ASCII, and since then no part was set but scheme
	// and path: host, query and fragment are written as they are
	visible bool

	// block holds the text of all parts; it only grows until the next Parse
	block []byte
	parts [numURIParts]uriSpan
	args  Args
	// what FullURI and RequestURI returned last, which callers may have written to,
	// and what encodedTarget did
	full, shown, target []byte
	// lent is the memory of what Scheme and Path return by default
	lent [len("https") + len("/")]byte

	// changes counts how often a part was set or all of it parsed, so that who has
	// made something of the URI can tell whether it is still the same. targetOf is
	// the version of which target was made
	changes  uint64
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
	v := uriVersion(u.changes) << 1
	if u.DisablePathNormalizing {
		v |= 1
	}
	return v
}

type uriPart uint8

// The parts of a URI. The scheme is empty for http and https.
const (
	uriScheme uriPart = iota
	uriUsername
	uriPassword
	uriHost
	uriOriginal // the path as it came
	uriPath     // the path in normal form
	uriQuery
	uriHash
	numURIParts
)

// uriSpan is a run of bytes in the block of a URI.
type uriSpan struct{ start, end int }

func (s uriSpan) empty() bool { return s.start == s.end }

var (
	schemeHTTP  = []byte("http")
	schemeHTTPS = []byte("https")
)

// maxKeptURI is the size over which the memory of a URI is not kept for another
// use. It is four times the limit of a request line.
const maxKeptURI = 64 << 10

var uriPool = sync.Pool{New: func() any { return new(URI) }}

// AcquireURI returns an empty URI from a pool. Hand it back with ReleaseURI
// where it is no longer needed; one that is never handed back is only lost to
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
	u.clear()
	if cap(u.block)+cap(u.full)+cap(u.shown)+cap(u.target) > maxKeptURI {
		u.block, u.full, u.shown, u.target, u.targetOf = nil, nil, nil, nil, 0
	}
	if cap(u.args.list.Block)+cap(u.args.query) > maxKeptArgsBytes || cap(u.args.list.Entries) > maxKeptArgsEntries {
		u.args.list, u.args.query = field.List{}, nil
	}
}

// clear empties all parts.
func (u *URI) clear() {
	u.changes++
	u.https, u.badHost, u.badEscape, u.visible = false, false, false, false
	u.block = u.block[:0]
	u.parts = [numURIParts]uriSpan{}
	u.plainUser = [2]bool{}
	u.dropArgs()
}

// CopyTo makes dst a copy of u.
func (u *URI) CopyTo(dst *URI) {
	dst.changes++
	dst.DisablePathNormalizing = u.DisablePathNormalizing
	dst.https, dst.badHost, dst.badEscape, dst.visible = u.https, u.badHost, u.badEscape, u.visible
	dst.block = append(dst.block[:0], u.block...)
	dst.parts, dst.plainUser = u.parts, u.plainUser
	if !u.argsParsed {
		dst.dropArgs()
		return
	}
	u.args.CopyTo(&dst.args)
	dst.args.list.Changed = u.args.list.Changed
	dst.argsParsed = true
}

// bytes returns a part. Appending to it does not touch the block.
func (u *URI) bytes(p uriPart) []byte {
	s := u.parts[p]
	return u.block[s.start:s.end:s.end]
}

// store puts text at the end of the block, where it may be changed.
func (u *URI) store(text []byte) uriSpan {
	start := len(u.block)
	u.block = append(u.block, text...)
	return uriSpan{start, len(u.block)}
}

// set replaces a part.
func (u *URI) set(p uriPart, text []byte) {
	u.changes++
	u.parts[p] = u.store(text)
	u.visible = false
	u.tidy()
}

// tidyURIFrom is the size under which a block is not worth tidying.
const tidyURIFrom = 4 << 10

// tidy moves the text of all parts to a new block once most of the old one is
// no part any more, so that a URI may be changed over and over. The old block is
// left as it is: slices of it may be in use.
func (u *URI) tidy() {
	if len(u.block) < tidyURIFrom {
		return
	}
	used := 0
	for _, s := range u.parts {
		used += s.end - s.start
	}
	if used > len(u.block)/4 {
		return
	}
	old := u.block
	u.block = make([]byte, 0, max(tidyURIFrom, 2*used))
	for p, s := range u.parts {
		u.parts[p] = u.store(old[s.start:s.end])
	}
}

// Scheme returns the scheme in lower case, "http" by default.
func (u *URI) Scheme() []byte {
	if s := u.bytes(uriScheme); len(s) > 0 {
		return s
	}
	// a copy, since callers may write to it
	scheme := u.lent[:copy(u.lent[:], u.scheme())]
	return scheme[:len(scheme):len(scheme)]
}

// scheme is Scheme for those who do not write to it.
func (u *URI) scheme() []byte {
	switch {
	case !u.parts[uriScheme].empty():
		return u.bytes(uriScheme)
	case u.https:
		return schemeHTTPS
	}
	return schemeHTTP
}

// SetScheme sets the scheme: http, https, ws or the like. An empty one means
// http.
func (u *URI) SetScheme(scheme string) { u.SetSchemeBytes(bytesconv.Bytes(scheme)) }

// SetSchemeBytes is SetScheme for bytes, which are copied.
func (u *URI) SetSchemeBytes(scheme []byte) {
	u.changes++
	u.takeScheme(u.store(scheme))
	u.tidy()
}

// Username returns the user name, as it stands in the URI or was set. It is not
// part of what FullURI returns.
func (u *URI) Username() []byte { return u.bytes(uriUsername) }

// SetUsername sets the user name, which is text without escapes: it is sent as it
// is.
func (u *URI) SetUsername(username string) { u.SetUsernameBytes(bytesconv.Bytes(username)) }

// SetUsernameBytes is SetUsername for bytes, which are copied.
func (u *URI) SetUsernameBytes(username []byte) {
	u.set(uriUsername, username)
	u.plainUser[0] = true
}

// Password returns the password, as it stands in the URI or was set. It is not
// part of what FullURI returns.
func (u *URI) Password() []byte { return u.bytes(uriPassword) }

// SetPassword sets the password, which is text without escapes: it is sent as it
// is.
func (u *URI) SetPassword(password string) { u.SetPasswordBytes(bytesconv.Bytes(password)) }

// SetPasswordBytes is SetPassword for bytes, which are copied.
func (u *URI) SetPasswordBytes(password []byte) {
	u.set(uriPassword, password)
	u.plainUser[1] = true
}

// hasUser reports whether there is a user name or a password.
func (u *URI) hasUser() bool {
	return !u.parts[uriUsername].empty() || !u.parts[uriPassword].empty()
}

// appendUser appends user name and password as they are meant, with a colon in
// between.
func (u *URI) appendUser(dst []byte) []byte {
	dst = append(u.appendUserPart(dst, uriUsername), ':')
	return u.appendUserPart(dst, uriPassword)
}

func (u *URI) appendUserPart(dst []byte, p uriPart) []byte {
	if u.plainUser[p-uriUsername] {
		return append(dst, u.bytes(p)...)
	}
	return percent.AppendDecodedPath(dst, u.bytes(p))
}

// Host returns the host and, where there is one, the port, in lower case. The
// zone of an IPv6 address is kept as it is, without escapes.
func (u *URI) Host() []byte { return u.bytes(uriHost) }

// invalid returns the error of Parse or Update for the host that u has had since
// then: there is nowhere to send a request to. Any other error has left no host.
func (u *URI) invalid() error {
	if !u.badHost {
		return nil
	}
	_, err := normalizeHost(bytes.Clone(u.Host()))
	return err
}

// SetHost sets host and port. They are not checked. A name that is not ASCII is
// sent with A-labels, as it stands in DNS.
func (u *URI) SetHost(host string) { u.SetHostBytes(bytesconv.Bytes(host)) }

// SetHostBytes is SetHost for bytes, which are copied.
func (u *URI) SetHostBytes(host []byte) {
	u.changes++
	s := u.store(host)
	s.end = s.start + lowerHost(u.block[s.start:s.end])
	u.parts[uriHost] = s
	u.visible, u.badHost = false, false
	u.tidy()
}

// Path returns the path in its normal form: decoded, with a slash in front, and
// without repeated slashes and dot segments. "//f%20obar/baz/../zzz" becomes
// "/f obar/zzz".
func (u *URI) Path() []byte {
	if u.parts[uriPath].empty() {
		// a copy, since callers may write to it
		root := u.lent[len(u.lent)-1:]
		root[0] = '/'
		return root
	}
	return u.bytes(uriPath)
}

// SetPath sets the path. It is decoded and brought into normal form, so that a
// percent sign which is not to be read as an escape has to be escaped itself.
func (u *URI) SetPath(path string) { u.SetPathBytes(bytesconv.Bytes(path)) }

// SetPathBytes is SetPath for bytes, which are copied.
func (u *URI) SetPathBytes(path []byte) {
	u.changes++
	u.takePath(u.store(path))
	// what is set, unlike what is received, is text to encode
	u.badEscape = false
	u.tidy()
}

// PathOriginal returns the path as it was parsed or set, neither decoded nor
// in normal form. It may be empty.
func (u *URI) PathOriginal() []byte { return u.bytes(uriOriginal) }

// LastPathSegment returns what follows the last slash of the path: "baz.html"
// of "/foo/bar/baz.html", and nothing of "/foo/bar/".
func (u *URI) LastPathSegment() []byte {
	path := u.Path()
	return path[bytes.LastIndexByte(path, '/')+1:]
}

// QueryString returns the query as it was parsed or set, without the question
// mark. Changes that were made through QueryArgs do not show here; RequestURI
// and FullURI have them.
func (u *URI) QueryString() []byte { return u.bytes(uriQuery) }

// SetQueryString sets the query, which has to be encoded. Arguments that were
// set through QueryArgs are gone then.
func (u *URI) SetQueryString(queryString string) {
	u.SetQueryStringBytes(bytesconv.Bytes(queryString))
}

// SetQueryStringBytes is SetQueryString for bytes, which are copied.
func (u *URI) SetQueryStringBytes(queryString []byte) {
	u.set(uriQuery, queryString)
	u.dropArgs()
}

// QueryArgs returns the arguments of the query. They belong to u, and changing
// them changes the URI; as long as nobody does, the query is written as it
// came. They are valid until the next call of Parse, Update, SetQueryString,
// Reset or ReleaseURI.
func (u *URI) QueryArgs() *Args {
	if !u.argsParsed {
		u.args.ParseBytes(u.bytes(uriQuery))
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
func (u *URI) Hash() []byte { return u.bytes(uriHash) }

// SetHash sets the fragment.
func (u *URI) SetHash(hash string) { u.SetHashBytes(bytesconv.Bytes(hash)) }

// SetHashBytes is SetHash for bytes, which are copied.
func (u *URI) SetHashBytes(hash []byte) { u.set(uriHash, hash) }
