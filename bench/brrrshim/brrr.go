// Package brrr stands in for the brotli package that fasthttp v1.77.0 was
// published with, so that this version builds wherever that package is not to
// be had. It offers the few names fasthttp needs, over andybalholm/brotli. No
// benchmark here compresses anything, so the choice does not touch a figure.
package brrr

import (
	"io"

	"github.com/andybalholm/brotli"
)

// The two ends of the scale of quality levels.
const (
	BestSpeed       = brotli.BestSpeed
	BestCompression = brotli.BestCompression
)

// Reader decompresses a brotli stream.
type Reader = brotli.Reader

// Writer compresses into a brotli stream.
type Writer = brotli.Writer

// NewReader returns a Reader of the compressed bytes in r.
func NewReader(r io.Reader) *Reader { return brotli.NewReader(r) }

// NewWriter returns a Writer that compresses into w at the given level. The
// error is always nil: levels out of bounds are brought to the nearest one.
func NewWriter(w io.Writer, level int) (*Writer, error) {
	return brotli.NewWriterLevel(w, min(max(level, BestSpeed), BestCompression)), nil
}
