package coding

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

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
	return ascii.EqualFoldString(name, "Content-Digest") || ascii.EqualFoldString(name, "Content-MD5")
}
