// Package coding encodes and decodes content with gzip, deflate, brotli and zstd
// (RFC 9110 section 8.4.1), and negotiates the coding for a client.
//
// Encoders and decoders are pooled, and the memory and the result of decoding are
// bounded. The package knows nothing of messages, sockets and files.
//
// Start with Coding. encode.go, decode.go and negotiate.go do what their names say,
// applied.go undoes the codings of a body, and types.go has the media types worth
// encoding.
package coding

import "github.com/valyala/fasthttp/internal/ascii"

// Coding is a way to encode content (RFC 9110 section 8.4.1). If a client prefers
// two codings equally, the larger one is chosen. The zero value is Identity.
//
// Compressed copies of files have the numbers in their stamps, so none of them may
// change.
type Coding uint8

const (
	// Identity leaves content unchanged.
	Identity Coding = iota
	// Deflate is the coding of RFC 1950, with the header of zlib. Decoders accept it
	// without the header, too.
	Deflate
	// Gzip is the coding of RFC 1952.
	Gzip
	// Zstd is the coding of RFC 8878.
	Zstd
	// Brotli is the coding of RFC 7932.
	Brotli
	// Count is the number of codings.
	Count
)

// names are the names of the codings in fields.
var names = [Count]string{
	Identity: "identity",
	Deflate:  "deflate",
	Gzip:     "gzip",
	Zstd:     "zstd",
	Brotli:   "br",
}

// String returns the name that the coding has in fields.
func (c Coding) String() string { return names[c] }

// named returns the coding with this name, in any case.
func named(name []byte) (c Coding, ok bool) {
	for c, known := range names {
		// nearly all peers write the names like this
		if string(name) == known || ascii.EqualFoldString(name, known) {
			return Coding(c), true
		}
	}
	// an old name that recipients must still accept (RFC 9110 section 8.4.1.3)
	if ascii.EqualFoldString(name, "x-gzip") {
		return Gzip, true
	}
	return Identity, false
}

// Set is a set of codings. The zero value is the empty one.
type Set uint8

// SetOf returns the set of the codings.
func SetOf(codings ...Coding) (s Set) {
	for _, c := range codings {
		s |= 1 << c
	}
	return s
}

// Has reports whether the coding is in the set.
func (s Set) Has(c Coding) bool { return s>>c&1 != 0 }
