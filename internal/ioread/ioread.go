// Package ioread reads the first bytes of received data, and has the error of streams
// that were closed. It imports nothing of this module.
package ioread

import (
	"errors"
	"io"
)

// ErrClosed is what Read returns of a stream of content that was closed.
var ErrClosed = errors.New("fasthttp: read from a body stream that was closed")

// maxEmpty is how often in a row a reader may return neither bytes nor an error.
const maxEmpty = 100

// Some reads at least one byte into p, which must not be empty, or returns an
// error: that of r, or io.ErrNoProgress if r keeps returning neither bytes nor an
// error. As with any io.Reader, an error may come together with bytes.
func Some(r io.Reader, p []byte) (n int, err error) {
	if n, err = r.Read(p); n > 0 || err != nil {
		return n, err
	}
	return Again(r, p)
}

// Again is Some for a reader that has returned neither bytes nor an error.
func Again(r io.Reader, p []byte) (n int, err error) {
	for range maxEmpty - 1 {
		if n, err = r.Read(p); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}
