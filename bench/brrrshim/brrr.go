// Package brrr replaces the brotli package that fasthttp v1.77.0 requires, so that this
// version builds where that package is not available. It has the few names that fasthttp
// needs, implemented with andybalholm/brotli. No benchmark here compresses anything, so the
// choice affects no figure.
package brrr

import (
	"io"

	"github.com/andybalholm/brotli"
)

// The lowest and the highest quality level.
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

// NewWriter returns a Writer that compresses into w at the given level. The error is always
// nil: a level out of bounds becomes the nearest valid one.
func NewWriter(w io.Writer, level int) (*Writer, error) {
	return brotli.NewWriterLevel(w, min(max(level, BestSpeed), BestCompression)), nil
}
