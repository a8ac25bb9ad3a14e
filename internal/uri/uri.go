// Package uri parses URIs of the http family (RFC 3986), normalizes their parts, resolves
// references, and writes URIs.
//
// A Text holds the text of all parts in one block, and returns slices of it. It does not
// parse query arguments. Start with Text in this file; parse.go parses URIs, update.go
// resolves references, write.go writes them, and host.go and path.go have the normal
// forms.
package uri

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/urlencoded"
)

// Text is a URI, divided into its parts. The zero value is "http:///".
type Text struct {
	// the scheme if its text is empty: https instead of http
	https bool
	// the host was parsed and is invalid
	badHost bool
	// the path was received with a percent sign that begins no escape: see KeepBadEscapes
	badEscape bool
	// the path is written as received, without dot segments: see KeepAsReceived
	asReceived bool
	// the query is present, and empty: see KeepAsReceived
	bareQuery bool
	// user name and password were set, not parsed: they hold no escapes
	plainUser [2]bool
	// all parsed text is visible ASCII, and since then no part was set but scheme and
	// path: host, query and fragment are written unchanged
	visible bool

	// block holds the text of all parts; it only grows until the next Parse
	block []byte
	parts [numParts]span

	// changes counts changes of a part and parsing
	changes uint64

	// source is an absolute URI with the same parts as t, as long as changes equals
	// parsedAs; if plain is set, its path and query are written as received
	parsedAs uint64
	source   span
	plain    bool
}

// Part is a part of a URI.
type Part uint8

// The parts of a URI. The scheme is empty for http and https.
const (
	Scheme Part = iota
	Username
	Password
	Host
	Original // the path as received
	Path     // the path in normal form
	Query
	Hash
	numParts
)

// span is a run of bytes in the block of a Text.
type span struct{ start, end int }

var (
	schemeHTTP  = []byte("http")
	schemeHTTPS = []byte("https")
)

// Clear empties all parts, and keeps the memory.
func (t *Text) Clear() {
	t.changes++
	t.https, t.badHost, t.badEscape, t.visible = false, false, false, false
	t.asReceived, t.bareQuery = false, false
	t.block = t.block[:0]
	t.parts = [numParts]span{}
	t.plainUser = [2]bool{}
}

// Memory returns the block. Bytes returns slices of it.
func (t *Text) Memory() []byte { return t.block }

// Release drops the memory. t must be empty.
func (t *Text) Release() { t.block = nil }

// CopyTo makes dst a copy of t.
func (t *Text) CopyTo(dst *Text) {
	dst.changes++
	dst.https, dst.badHost, dst.badEscape, dst.visible = t.https, t.badHost, t.badEscape, t.visible
	dst.asReceived, dst.bareQuery = t.asReceived, t.bareQuery
	dst.block = append(dst.block[:0], t.block...)
	dst.parts, dst.plainUser = t.parts, t.plainUser
}

// Changes counts changes of a part and parsing, so that a caller that has derived
// something from t can tell whether t is unchanged.
func (t *Text) Changes() uint64 { return t.changes }

// Bytes returns a part. Appending to it does not touch the block.
func (t *Text) Bytes(p Part) []byte {
	s := t.parts[p]
	return t.block[s.start:s.end:s.end]
}

// Has reports whether a part has text.
func (t *Text) Has(p Part) bool { return t.parts[p].start != t.parts[p].end }

// Scheme returns the scheme in lower case, http by default. It must not be written to.
func (t *Text) Scheme() []byte {
	switch {
	case t.Has(Scheme):
		return t.Bytes(Scheme)
	case t.https:
		return schemeHTTPS
	}
	return schemeHTTP
}

// IsHTTP reports whether the scheme is http or https.
func (t *Text) IsHTTP() bool { return !t.Has(Scheme) }

// IsHTTPS reports whether the scheme is https.
func (t *Text) IsHTTPS() bool { return t.https }

// store puts text at the end of the block, where it may be changed.
func (t *Text) store(text []byte) span {
	start := len(t.block)
	t.block = append(t.block, text...)
	return span{start, len(t.block)}
}

// Set replaces the user name, the password, the query or the fragment. SetScheme,
// SetHost and SetPath replace the other parts.
func (t *Text) Set(p Part, text []byte) {
	t.changes++
	t.parts[p] = t.store(text)
	t.visible = false
	if p == Query {
		t.bareQuery = false
	}
	if p == Username || p == Password {
		t.plainUser[p-Username] = true
	}
	t.tidy()
}

// SetScheme replaces the scheme. An empty one means http.
func (t *Text) SetScheme(scheme []byte) {
	t.changes++
	t.takeScheme(t.store(scheme))
	t.tidy()
}

// SetHost replaces host and port, and does not check them.
func (t *Text) SetHost(host []byte) {
	t.changes++
	s := t.store(host)
	s.end = s.start + lowerHost(t.block[s.start:s.end])
	t.parts[Host] = s
	t.visible, t.badHost = false, false
	t.tidy()
}

// SetPath replaces the path.
func (t *Text) SetPath(path []byte) {
	t.changes++
	t.takePath(t.store(path))
	t.tidy()
}

// tidyFrom is the size below which a block is not worth tidying.
const tidyFrom = 4 << 10

// tidy moves the text of all parts to a new block when most of the old one is unused, so
// that a URI may be changed over and over. The old block is left unchanged: slices of it
// may be in use.
func (t *Text) tidy() {
	if len(t.block) < tidyFrom {
		return
	}
	used := 0
	for _, s := range t.parts {
		used += s.end - s.start
	}
	if used > len(t.block)/4 {
		return
	}
	old := t.block
	t.block = make([]byte, 0, max(tidyFrom, 2*used))
	for p, s := range t.parts {
		t.parts[p] = t.store(old[s.start:s.end])
	}
}

// User is a copy of a user name and a password.
type User struct {
	name, password []byte
	plain          [2]bool
}

// User returns user name and password.
func (t *Text) User() User {
	return User{bytes.Clone(t.Bytes(Username)), bytes.Clone(t.Bytes(Password)), t.plainUser}
}

// SetUser replaces user name and password by the ones of another URI.
func (t *Text) SetUser(u User) {
	t.Set(Username, u.name)
	t.Set(Password, u.password)
	t.plainUser = u.plain
}

// IsEmpty reports whether there is neither.
func (u User) IsEmpty() bool { return len(u.name)+len(u.password) == 0 }

// HasUser reports whether there is a user name or a password.
func (t *Text) HasUser() bool { return t.Has(Username) || t.Has(Password) }

// AppendUser appends user name and password in decoded form, with a colon in between.
func (t *Text) AppendUser(dst []byte) []byte {
	dst = append(t.appendUserPart(dst, Username), ':')
	return t.appendUserPart(dst, Password)
}

func (t *Text) appendUserPart(dst []byte, p Part) []byte {
	if t.plainUser[p-Username] {
		return append(dst, t.Bytes(p)...)
	}
	return urlencoded.AppendDecodedPath(dst, t.Bytes(p))
}

// BadHost reports whether the host was parsed, and is invalid.
func (t *Text) BadHost() bool { return t.badHost }

// Err returns the error of Parse or Update for the host, if the host is still the same:
// no request can be sent to it. Any other error has left no host.
func (t *Text) Err() error {
	if !t.badHost {
		return nil
	}
	_, err := normalizeHost(bytes.Clone(t.Bytes(Host)))
	return err
}

// Source returns an absolute URI that parses into the parts of t, or nil. It is not nil if
// t was parsed from one with a host that has no escapes, and was not changed since then.
func (t *Text) Source() []byte {
	if t.parsedAs != t.changes {
		return nil
	}
	return t.block[t.source.start:t.source.end]
}

// PlainTarget returns path and query as they were parsed, if they are written unchanged.
// It may return nil even then.
func (t *Text) PlainTarget() []byte {
	if !t.plain || t.parsedAs != t.changes {
		return nil
	}
	end := t.parts[Path].end
	if t.Has(Query) {
		end = t.parts[Query].end
	}
	return t.block[t.parts[Path].start:end]
}

// HasPlainHost reports whether the host is sent unchanged. It may return false even then.
func (t *Text) HasPlainHost() bool {
	return t.visible && t.Has(Host) && t.block[t.parts[Host].start] != '['
}
