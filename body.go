package fasthttp

import (
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/http1"
)

// body is the content of a message: bytes in a buffer of the message, bytes of
// the application, or a stream.
type body struct {
	buf    *bufpool.Buffer
	raw    []byte // of SetBodyRaw
	stream io.Reader
	size   int   // of stream; negative if it is not known
	broken error // why stream could not be read to its end
	limit  int   // that it was read under, which holds for what it decodes to as well
}

// bodyPoolLimits are the sizes over which buffers of request and response
// bodies are not kept; negative for no limit.
var bodyPoolLimits [2]atomic.Int64

func init() {
	bodyPoolLimits[0].Store(-1)
	bodyPoolLimits[1].Store(-1)
}

const (
	requestPool  = 0
	responsePool = 1
)

// SetBodySizePoolLimit sets the sizes in bytes over which the buffers of
// request and response bodies are left to the garbage collector instead of
// being kept for other messages. A negative limit stands for none but that of
// the pool itself, which is 1 MiB; that is the default.
func SetBodySizePoolLimit(reqBodyLimit, respBodyLimit int) {
	bodyPoolLimits[requestPool].Store(int64(reqBodyLimit))
	bodyPoolLimits[responsePool].Store(int64(respBodyLimit))
}

// bytes returns what is buffered.
func (b *body) bytes() []byte {
	if b.raw != nil {
		return b.raw
	}
	if b.buf == nil {
		return nil
	}
	return b.buf.B
}

// write appends p to what is buffered. Where the buffer is too small the content
// moves to a larger one, and the room of the old one goes back to the pool.
func (b *body) write(p []byte) {
	if b.raw != nil {
		raw := b.raw
		b.raw = nil
		b.put(raw)
	}
	b.extend(p)
}

// put makes p, which may be a part of the buffer, all that is buffered.
func (b *body) put(p []byte) {
	if b.buf != nil && cap(b.buf.B) >= len(p) {
		b.buf.B = append(b.buf.B[:0], p...)
		return
	}
	old := b.buf
	b.buf = bufpool.Get(len(p))
	b.buf.B = append(b.buf.B, p...)
	bufpool.Put(old)
}

// fastGrowth is the size in bytes up to which a buffer is made four times as large
// when it is full, instead of twice: copying costs more than so little memory.
const fastGrowth = 64 << 10

// extend appends p, which may be a part of the buffer, to the buffer.
func (b *body) extend(p []byte) {
	if b.buf == nil {
		b.buf = bufpool.Get(len(p))
	}
	if old := b.buf; cap(old.B)-len(old.B) < len(p) {
		b.move(b.grown(len(p), math.MaxInt64))
		defer bufpool.Put(old)
	}
	b.buf.B = append(b.buf.B, p...)
}

// move gives the body another buffer, of size bytes. What was its buffer is left to
// the caller.
func (b *body) move(size int) {
	old := b.buf
	b.buf = bufpool.Get(size)
	if old != nil {
		b.buf.B = append(b.buf.B, old.B...)
	}
}

// room returns the size of the buffer.
func (b *body) room() int {
	if b.buf == nil {
		return 0
	}
	return cap(b.buf.B)
}

// grown returns which size the buffer must get for n bytes more, or 0 if it is large
// enough. All that is still to come is left bytes at most: the buffer gets no more room
// than for that.
func (b *body) grown(n int, left int64) int {
	if b.buf == nil {
		return n
	}
	size := cap(b.buf.B)
	if size-len(b.buf.B) >= n {
		return 0
	}
	grown := 2 * size
	if grown < fastGrowth {
		grown *= 2
	}
	if left < int64(grown) {
		grown = min(grown, len(b.buf.B)+int(left))
	}
	return max(len(b.buf.B)+n, grown)
}

// grow gives the body a buffer of size bytes, and the one it has back.
func (b *body) grow(size int) {
	old := b.buf
	b.move(size)
	bufpool.Put(old)
}

// makeRoom makes room for n bytes that are there, which are a part of left bytes that
// were announced.
func (b *body) makeRoom(n int, left int64) {
	if b.buf == nil {
		return
	}
	if size := b.grown(n, left); size > 0 {
		b.grow(size)
	}
}

func (b *body) set(p []byte) {
	_ = b.closeStream()
	b.raw, b.broken = nil, nil
	b.put(p)
}

func (b *body) append(p []byte) {
	_ = b.closeStream()
	b.broken = nil
	b.write(p)
}

// empty drops the content and keeps the buffer, since what is set next may well
// be made of the bytes in it.
func (b *body) empty() {
	_ = b.closeStream()
	b.raw, b.broken = nil, nil
	if b.buf != nil {
		b.buf.B = b.buf.B[:0]
	}
}

func (b *body) setRaw(p []byte) {
	b.empty()
	b.raw = p
}

func (b *body) setStream(r io.Reader, size int) {
	b.empty()
	if l, ok := r.(*io.LimitedReader); ok && size < 0 {
		// such a reader knows its size
		size = int(l.N)
	}
	b.stream, b.size = r, size
}

// ownBuffer is the size up to which a message keeps the buffer of its body for
// the next one: most bodies are no larger, and the pool has its price.
const ownBuffer = 4 << 10

// reset empties the body. Its buffer goes back to the pool unless it is small
// or is to be kept.
func (b *body) reset(pool int, keep bool) {
	if b.stream != nil {
		_ = b.closeStream()
	}
	if b.raw != nil {
		b.raw = nil
	}
	if b.broken != nil {
		b.broken = nil
	}
	b.limit = 0
	if b.buf == nil {
		return
	}
	b.buf.B = b.buf.B[:0]
	if keep {
		return
	}
	size := cap(b.buf.B)
	switch limit := bodyPoolLimits[pool].Load(); {
	case limit >= 0 && int64(size) > limit:
	case size <= ownBuffer:
		return
	default:
		bufpool.Put(b.buf)
	}
	b.buf = nil
}

// release lets go of a buffer that is larger than size.
func (b *body) release(size int) {
	b.raw = nil
	if b.buf != nil && cap(b.buf.B) > size {
		_ = b.closeStream()
		b.buf = nil
	}
}

// drop gives the buffer back.
func (b *body) drop() {
	bufpool.Put(b.buf)
	b.buf = nil
}

// swap exchanges the buffered bytes for p.
func (b *body) swap(p []byte) []byte {
	_ = b.load()
	b.broken = nil
	old := b.bytes()
	b.raw = nil
	if b.buf == nil {
		b.buf = new(bufpool.Buffer)
	}
	b.buf.B = p
	return old
}

func (b *body) closeStream() error {
	if b.stream == nil {
		return nil
	}
	s := b.stream
	b.stream = nil
	if c, ok := s.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// load reads the stream into the buffer.
func (b *body) load() error {
	if b.stream == nil {
		return b.broken
	}
	stream := b.stream
	_, b.broken = copyStream((*bodyWriter)(b), stream)
	_ = b.closeStream()
	return b.broken
}

// bodyWriter appends to a body.
type bodyWriter body

func (w *bodyWriter) Write(p []byte) (int, error) {
	(*body)(w).write(p)
	return len(p), nil
}

func (w *bodyWriter) WriteString(s string) (int, error) { return w.Write(bytesconv.Bytes(s)) }

// What streams of the package are made of, by the names that they have here.
type flushWriter = bodyio.Writer

var (
	errStreamClosed = bodyio.ErrClosed
	errShortStream  = bodyio.ErrShort
)

// copyStream copies all of r to w.
func copyStream(w io.Writer, r io.Reader) (int64, error) { return bodyio.Copy(w, r) }

// writeTo writes the content to w, whatever it is held in.
func (b *body) writeTo(w io.Writer) error {
	if b.stream == nil {
		_, err := w.Write(b.bytes())
		return err
	}
	_, err := copyStream(w, b.stream)
	if closed := b.closeStream(); err == nil {
		err = closed
	}
	return err
}

// writeFixed writes the stream, which must have size bytes, and closes it.
func (b *body) writeFixed(w flushWriter) (err error) {
	defer b.endStream(&err)
	return bodyio.WriteFixed(w, b.stream, b.size)
}

// writeChunked writes the stream in chunks, each of them at once, up to the
// last chunk, and closes it. The trailer section is left to the caller.
func (b *body) writeChunked(w flushWriter) (err error) {
	defer b.endStream(&err)
	return bodyio.WriteChunked(w, b.stream)
}

// writePlain writes the stream as it is, each piece at once, and closes it. The
// end of the connection must end the message.
func (b *body) writePlain(w flushWriter) (err error) {
	defer b.endStream(&err)
	return bodyio.WritePlain(w, b.stream)
}

// writeLastChunk writes what ends a chunked body: the last chunk and the
// trailer section of h.
func writeLastChunk(w flushWriter, h *header) error {
	end := http1.AppendLastChunk(h.scratch[scratchTrailers][:0])
	end = h.appendTrailers(end)
	h.scratch[scratchTrailers] = end
	_, err := w.Write(end)
	return err
}

// unsize makes a stream of a known size one that is sent in chunks, since fields
// are to follow it. It still must have its size.
func (b *body) unsize() {
	if b.size >= 0 {
		b.stream = bodyio.NewExact(b.stream, b.size)
		b.size = -1
	}
}

// endStream closes the stream, and turns a panic of it into an error.
func (b *body) endStream(err *error) {
	if p := recover(); p != nil {
		*err = streamPanic("panic while writing body stream", p)
	}
	defer func() {
		if p := recover(); p != nil && *err == nil {
			*err = streamPanic("panic while closing body stream", p)
		}
	}()
	if closed := b.closeStream(); *err == nil {
		*err = closed
	}
}

// streamPanic returns the error that a panic of a stream ends as.
func streamPanic(what string, value any) error {
	if err, ok := value.(error); ok {
		return &ErrBodyStreamWritePanic{fmt.Errorf("%s: %w", what, err), string(debug.Stack())}
	}
	return &ErrBodyStreamWritePanic{fmt.Errorf("%s: %v", what, value), string(debug.Stack())}
}

// within returns content unless it is larger than limit; 0 or less stands for
// no limit.
func within(limit int, content []byte, err error) ([]byte, error) {
	if err == nil && limit > 0 && len(content) > limit {
		return nil, ErrBodyTooLarge
	}
	return content, err
}

// encode encodes what is buffered. It may get a few bytes larger by that.
func (b *body) encode(c coding.Coding, level int) {
	plain := b.bytes()
	buf := bufpool.Get(len(plain) / 2)
	buf.B = coding.AppendEncoded(buf.B, plain, c, level)
	bufpool.Put(b.buf)
	b.buf, b.raw = buf, nil
}

// encodeStream puts an encoder between the stream and those who read it.
func (b *body) encodeStream(c coding.Coding, level int) {
	b.stream = bodyio.NewEncoded(b.stream, b.size, c, level)
	b.size = -1
}

// fileSpan is a body stream whose bytes lie in a file of the operating system,
// so that a connection may have them copied without looking at them. Who does
// that sends length bytes from offset on, never moves the file's own position,
// which other streams share, and closes the stream as it would any other.
type fileSpan interface {
	span() (file *os.File, offset, length int64)
}
