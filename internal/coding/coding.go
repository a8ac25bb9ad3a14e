// Package coding encodes and decodes content with gzip, deflate, brotli and zstd
// (RFC 9110 section 8.4.1), and negotiates which of them a client gets.
//
// Encoders and decoders come from pools, and what decoding may take is bounded. It
// knows nothing of messages, sockets and files.
//
// Start with Coding; encode.go, decode.go and negotiate.go are what its name says,
// applied.go undoes the codings of a body, and types.go knows the content that gains
// by it. It imports ascii, bufpool and, for the error of what is too large, http1.
package coding

import "github.com/valyala/fasthttp/internal/ascii"

// Coding is a way to encode content (RFC 9110 section 8.4.1). Of two codings that
// a client likes equally well the larger one is taken. The zero value is Identity.
//
// The numbers stand in the stamps of compressed copies of files, so none of them may
// change.
type Coding uint8

const (
	// Identity is the coding that changes nothing.
	Identity Coding = iota
	// Deflate is that of RFC 1950, with the header of zlib. It is decoded without
	// the header, too.
	Deflate
	// Gzip is that of RFC 1952.
	Gzip
	// Zstd is that of RFC 8878.
	Zstd
	// Brotli is that of RFC 7932.
	Brotli
	// Count is how many codings there are.
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

// named returns the coding with the name, which is compared without case.
func named(name []byte) (c Coding, ok bool) {
	for c, known := range names {
		// nearly all write them like this
		if string(name) == known || ascii.EqualFoldString(name, known) {
			return Coding(c), true
		}
	}
	// an old name that is still to be understood (RFC 9110 section 8.4.1.3)
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
