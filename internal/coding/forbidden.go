package coding

import (
	"slices"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// digests are the fields with a hash of the content. A hash of the representation, of RFC 9530
// section 3 or RFC 3230, covers its coding, too.
var digests = []string{"Content-Digest", "Content-MD5", "Repr-Digest", "Digest"}

// ForbiddenBy reports whether a field of a response forbids a change of the content,
// or describes its bytes.
func ForbiddenBy(id field.ID, name, value []byte) bool {
	switch id {
	case field.CacheControl:
		for rest := value; rest != nil; {
			var directive []byte
			directive, rest = ascii.NextElement(rest)
			if ascii.EqualFoldString(directive, "no-transform") {
				return true
			}
		}
		return false
	case field.ContentRange:
		return true
	}
	return slices.ContainsFunc(digests, func(digest string) bool { return ascii.EqualFoldString(name, digest) })
}
