package fasthttp

import (
	"errors"

	"github.com/valyala/fasthttp/internal/ascii"
)

// Levels of compression for gzip and deflate. A level that is none of -2 to 9
// stands for CompressDefaultCompression.
const (
	CompressNoCompression      = 0
	CompressBestSpeed          = 1
	CompressBestCompression    = 9
	CompressDefaultCompression = 6
	CompressHuffmanOnly        = -2 // no search for repetitions, only short codes for frequent bytes
)

// Levels of compression for brotli. A level that is none of 0 to 11 stands for
// CompressBrotliDefaultCompression, which takes about as long as
// CompressDefaultCompression does with gzip.
const (
	CompressBrotliNoCompression      = 0 // brotli has no such level: this one is the fastest
	CompressBrotliBestSpeed          = 0
	CompressBrotliBestCompression    = 11
	CompressBrotliDefaultCompression = 4
)

// Levels of compression for zstd. CompressZstdSpeedNotSet, and any level that
// is not in this list, stands for CompressZstdDefault.
const (
	CompressZstdSpeedNotSet = iota
	CompressZstdBestSpeed
	CompressZstdDefault
	CompressZstdSpeedBetter
	CompressZstdBestCompression
)

// ErrContentEncodingUnsupported is returned where a body is to be decoded whose
// Content-Encoding names something else than gzip, deflate, br, zstd and
// identity, or more than four of them.
var ErrContentEncodingUnsupported = errors.New("fasthttp: unsupported content-encoding")

// contentCoding is a way to encode content (RFC 9110 section 8.4.1). Of two
// codings that a client likes equally well the larger one is taken.
type contentCoding uint8

const (
	codingIdentity contentCoding = iota
	codingDeflate                // of RFC 1950: with the header of zlib
	codingGzip
	codingZstd
	codingBrotli
	numCodings
)

// codingNames are the names of the codings in fields.
var codingNames = [numCodings]string{
	codingIdentity: "identity",
	codingDeflate:  "deflate",
	codingGzip:     "gzip",
	codingZstd:     "zstd",
	codingBrotli:   "br",
}

// String returns the name that the coding has in fields.
func (c contentCoding) String() string { return codingNames[c] }

// codingNamed returns the coding with the name, which is compared without case.
func codingNamed(name []byte) (c contentCoding, ok bool) {
	for c, known := range codingNames {
		// nearly all write them like this
		if string(name) == known || ascii.EqualFoldString(name, known) {
			return contentCoding(c), true
		}
	}
	// an old name that is still to be understood (RFC 9110 section 8.4.1.3)
	if ascii.EqualFoldString(name, "x-gzip") {
		return codingGzip, true
	}
	return codingIdentity, false
}

// codingSet is a set of codings.
type codingSet uint8

// codingsOf returns the set of the codings.
func codingsOf(codings ...contentCoding) (s codingSet) {
	for _, c := range codings {
		s |= 1 << c
	}
	return s
}

// has tells whether the coding is in the set.
func (s codingSet) has(c contentCoding) bool { return s>>c&1 != 0 }
