// Package bodyio copies and writes streams of message content, whole, in chunks, with
// an announced size, encoded, or produced by a goroutine; and it reads the content of
// HTTP/1 messages while it arrives.
//
// It knows neither messages nor connections. Start with write.go; copy.go copies,
// pipe.go has streams that a goroutine produces, encode.go encodes streams,
// incoming.go arriving HTTP/1 content; collector.go joins several writes into one, and
// gate.go lets one goroutine close a stream that another one reads.
package bodyio

import (
	"io"
	"sync"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// PieceSize is the size of the pieces in which streams are copied.
const PieceSize = 32 << 10

// WriterTo is a stream that reports whether WriteTo may be called instead of Read.
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

// copier is the state of a copy. It is pooled, since passing it to interfaces would
// allocate it.
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
