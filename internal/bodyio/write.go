package bodyio

import (
	"errors"
	"fmt"
	"io"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/netio"
)

// Writer is the destination of messages: a bufio.Writer, or the output of a
// connection.
type Writer interface {
	io.Writer
	// Flush sends the written bytes.
	Flush() error
}

// ErrClosed is the error of Read from a stream that was closed.
var ErrClosed = netio.ErrClosed

// The errors of a stream that does not have its announced size.
var (
	ErrShort = errors.New("fasthttp: body stream is shorter than its size")
	ErrLong  = errors.New("fasthttp: body stream is longer than its size")
)

// short returns the error of a stream that ends before its size.
func short(got, size int) error {
	return fmt.Errorf("%w: %d of %d bytes: %w", ErrShort, got, size, io.ErrUnexpectedEOF)
}

// WriteFixed writes a stream, which must have size bytes.
func WriteFixed(w Writer, stream io.Reader, size int) error {
	dst := io.Writer(w)
	if p, ok := stream.(interface{ SendsPieces() bool }); ok && p.SendsPieces() {
		dst = &pieceWriter{w}
	}
	c := copiers.Get().(*copier)
	c.src = io.LimitedReader{R: stream, N: int64(size)}
	n, err := c.copy(dst, &c.src)
	switch {
	case err != nil:
	case n < int64(size):
		err = short(int(n), size)
	default:
		// the peer need not wait for the end check
		if err = w.Flush(); err == nil {
			err = expectEnd(stream, c.more[:])
		}
	}
	c.release()
	return err
}

// NewExact returns a stream that fails unless it has size bytes.
func NewExact(stream io.Reader, size int) *Exact { return &Exact{stream, size, size} }

// Exact is a body stream that fails if it does not have its announced size.
type Exact struct {
	io.Reader
	size, left int
}

// Read implements io.Reader.
func (s *Exact) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.left -= n
	switch {
	case s.left < 0:
		return n + s.left, ErrLong
	case err == io.EOF && s.left > 0:
		err = short(s.size-s.left, s.size)
	}
	return n, err
}

// Close implements io.Closer.
func (s *Exact) Close() error {
	if c, ok := s.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// expectEnd reads the io.EOF that must follow, into more.
func expectEnd(r io.Reader, more []byte) error {
	switch n, err := netio.Some(r, more); {
	case n > 0:
		return ErrLong
	case err == io.EOF:
		return nil
	default:
		return err
	}
}

// WriteChunked writes a stream in chunks, and flushes each of them. The caller writes
// the last chunk.
func WriteChunked(w Writer, stream io.Reader) error {
	c := copiers.Get().(*copier)
	c.chunks.w = w
	err := writePieces(&c.chunks, stream)
	c.release()
	return err
}

// WritePlain writes a stream unchanged, and flushes each piece.
func WritePlain(w Writer, stream io.Reader) error { return writePieces(&pieceWriter{w}, stream) }

// WriteChunk writes p as a chunk, and leaves the flushing to the caller.
func WriteChunk(w Writer, p []byte) error {
	out := chunkWriter{w: w}
	return out.write(p)
}

// writePieces writes the result of each Read of the stream with one Write.
func writePieces(w io.Writer, stream io.Reader) error {
	if c, ok := stream.(WriterTo); ok && c.SupportsBodyWriteTo() {
		_, err := c.WriteTo(w)
		return err
	}
	buf := bufpool.Get(PieceSize)
	defer bufpool.Put(buf)
	p := buf.B[:cap(buf.B)]
	for {
		n, err := stream.Read(p)
		if n > 0 {
			if _, err := w.Write(p[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// pieceWriter flushes after every write.
type pieceWriter struct{ w Writer }

func (p *pieceWriter) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if err == nil {
		err = p.w.Flush()
	}
	return n, err
}

// chunkWriter writes every piece as a chunk, and flushes it: a producer's bytes are
// not held back.
type chunkWriter struct {
	w    Writer
	line [24]byte
}

func (c *chunkWriter) Write(p []byte) (int, error) {
	if err := c.write(p); err != nil {
		return 0, err
	}
	return len(p), c.w.Flush()
}

// write writes p as a chunk, and leaves the flushing to the caller. An empty
// chunk would end the body: nothing is written for an empty p.
func (c *chunkWriter) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if _, err := c.w.Write(http1.AppendChunkStart(c.line[:0], len(p))); err != nil {
		return err
	}
	if _, err := c.w.Write(p); err != nil {
		return err
	}
	_, err := c.w.Write(crlf)
	return err
}

var crlf = []byte("\r\n")
