// Package bodyio copies and writes the streams that the content of messages may be:
// whole, in chunks, with a size that they must have, encoded, or produced by a
// goroutine; and it reads those that arrive.
//
// It knows neither messages nor connections. It imports coding, recvbuf, and of http1
// the framing of content. Start with write.go; copy.go copies, pipe.go has streams that
// are produced, encode.go those that are encoded, incoming.go those that arrive in
// HTTP/1; collector.go makes one write of several, and gate.go stands between who reads
// a stream and who closes it.
package bodyio

import (
	"io"
	"sync"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// PieceSize is the size of the pieces in which streams are copied.
const PieceSize = 32 << 10

// WriterTo is a stream that says whether WriteTo may be called in the place of Read.
type WriterTo interface {
	io.WriterTo
	// SupportsBodyWriteTo reports whether WriteTo may be called.
	SupportsBodyWriteTo() bool
}

// Copy copies all of r to w.
func Copy(w io.Writer, r io.Reader) (int64, error) {
	if c, ok := r.(WriterTo); ok && !c.SupportsBodyWriteTo() {
		r = onlyReader{r}
	}
	c := copiers.Get().(*copier)
	n, err := c.copy(w, r)
	c.release()
	return n, err
}

// copier is what copying needs in memory, since it is in the hands of others.
type copier struct {
	dst    onlyWriter
	src    io.LimitedReader
	chunks chunkWriter
	more   [1]byte
}

var copiers = sync.Pool{New: func() any { return new(copier) }}

// copy copies all of r to w.
func (c *copier) copy(w io.Writer, r io.Reader) (int64, error) {
	buf := bufpool.Get(PieceSize)
	defer bufpool.Put(buf)
	c.dst.Writer = w
	return io.CopyBuffer(&c.dst, r, buf.B[:cap(buf.B)])
}

// release gives the copier back, unless there was a panic.
func (c *copier) release() {
	c.dst.Writer, c.src.R, c.chunks.w = nil, nil, nil
	copiers.Put(c)
}

type onlyReader struct{ io.Reader }

type onlyWriter struct{ io.Writer }
