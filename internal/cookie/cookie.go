// Package cookie reads and writes cookies as clients and servers do (RFC 6265): the
// cookie of a Set-Cookie field, and the pairs of a Cookie field.
//
// It is as lenient as clients are, and writes nothing that would end a cookie or
// its field. Start with Set in this file; parse.go and write.go read and write it,
// and pairs.go handles the pairs.
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

// Set is the content of a Set-Cookie field. None of its texts holds a byte that
// Clean replaces.
type Set struct {
	Name, Value, Domain, Path []byte // empty if the field has none

	Expires     time.Time // zero if the field has none
	MaxAge      int       // in seconds; 0 if the field has none, negative to delete the cookie
	SameSite    SameSite  // which requests from other sites carry it
	HTTPOnly    bool      // hidden from scripts
	Secure      bool      // sent over TLS only; see IsSecure
	Partitioned bool      // separate for each site that embeds this one
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
// cookie is always secure: clients reject others.
func (c *Set) IsSecure() bool { return c.Secure || c.Partitioned }
