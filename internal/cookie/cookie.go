// Package cookie reads and writes cookies as clients and servers do (RFC 6265): the
// one that a Set-Cookie field sets, and the pairs of a Cookie field.
//
// It is lenient as clients are, and writes nothing that would end a cookie or the
// field it stands in. It imports field and httpdate. Start with Set in this file;
// parse.go and write.go are its form on the wire, and pairs.go is that of pairs.
package cookie

import (
	"errors"
	"time"
)

// Errors of Parse.
var (
	ErrNone  = errors.New("fasthttp: no cookies found")
	ErrValue = errors.New("fasthttp: invalid cookie value")
)

// SameSite is the SameSite attribute.
type SameSite int

// The values of the attribute.
const (
	SameSiteNot     SameSite = iota // no attribute
	SameSiteDefault                 // the attribute without a value
	SameSiteLax
	SameSiteStrict
	SameSiteNone
)

// Set is what a Set-Cookie field says. None of its texts holds a byte that Clean
// replaces.
type Set struct {
	Name, Value, Domain, Path []byte // empty if the field does not say

	Expires     time.Time // zero if the field does not say
	MaxAge      int       // in seconds; 0 if the field does not say, negative to delete the cookie
	SameSite    SameSite  // with which requests from other sites it is sent
	HTTPOnly    bool      // scripts do not see it
	Secure      bool      // sent over TLS only; see IsSecure
	Partitioned bool      // kept apart for each site that embeds this one
}

// Reset makes c an empty cookie without attributes, and keeps the memory.
func (c *Set) Reset() {
	*c = Set{Name: c.Name[:0], Value: c.Value[:0], Domain: c.Domain[:0], Path: c.Path[:0]}
}

// CopyTo makes dst a copy of c.
func (c *Set) CopyTo(dst *Set) {
	name, value := append(dst.Name[:0], c.Name...), append(dst.Value[:0], c.Value...)
	domain, path := append(dst.Domain[:0], c.Domain...), append(dst.Path[:0], c.Path...)
	*dst = *c
	dst.Name, dst.Value, dst.Domain, dst.Path = name, value, domain, path
}

// Cap returns the size of the memory of c.
func (c *Set) Cap() int { return cap(c.Name) + cap(c.Value) + cap(c.Domain) + cap(c.Path) }

// IsSecure reports whether clients send the cookie over TLS only. A partitioned
// cookie is always secure: clients take no other ones.
func (c *Set) IsSecure() bool { return c.Secure || c.Partitioned }
