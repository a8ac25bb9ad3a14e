package content

import (
	"bufio"
	"io"
	"math"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// Body is the content of a message: bytes in a buffer of the message, bytes of
// the application, or a stream.
type Body struct {
	Buf         *bufpool.Buffer // of the message, or nil
	Raw         []byte          // bytes of the application, instead of Buf
	Stream      io.Reader       // instead of both, or nil
	Size        int             // of stream; negative if it is not known
	Broken      error           // why stream could not be read to its end
	Limit       int             // in bytes, under which the content was read; also limits its decoded form
	FreeContent *Incoming       // for the next stream of SetStreamFrom, or nil
	Owner       Owner           // nil except for a server
}

// Owner closes the stream of an unsent body, if the body has an owner.
type Owner interface {
	// RecordStream records that r is the stream now, and reports whether it may still be
	// sent. Otherwise the caller closes it.
	RecordStream(r io.Reader) (sent bool)
	// ClaimStream reports whether the stream is still to be closed, which the caller must
	// then do.
	ClaimStream() bool
}

// BodyPoolLimits are the sizes over which buffers of request and response bodies
// do not go back to the pool; negative for no limit.
var BodyPoolLimits [2]atomic.Int64

func init() {
	BodyPoolLimits[0].Store(-1)
	BodyPoolLimits[1].Store(-1)
}

const (
	// RequestPool is the index of the limit for request bodies.
	RequestPool = 0
	// ResponsePool is the index of the limit for response bodies.
	ResponsePool = 1
)

// Bytes returns the buffered content.
func (b *Body) Bytes() []byte {
	if b.Raw != nil {
		return b.Raw
	}
	if b.Buf == nil {
		return nil
	}
	return b.Buf.B
}

// Write appends p, which may be a part of the buffer, to the buffered content. If the
// buffer is too small, the content moves to a larger one, and the old buffer goes back to
// the pool.
func (b *Body) Write(p []byte) {
	if b.Raw != nil {
		raw := b.Raw
		b.Raw = nil
		b.put(raw)
	}
	if b.Buf == nil {
		b.Buf = bufpool.Get(len(p))
	}
	if old := b.Buf; cap(old.B)-len(old.B) < len(p) {
		b.move(b.grown(len(p), math.MaxInt64))
		defer bufpool.Put(old)
	}
	b.Buf.B = append(b.Buf.B, p...)
}

// put replaces the buffered content by p, which may be a part of the buffer.
func (b *Body) put(p []byte) {
	if b.Buf != nil && cap(b.Buf.B) >= len(p) {
		b.Buf.B = append(b.Buf.B[:0], p...)
		return
	}
	old := b.Buf
	b.Buf = bufpool.Get(len(p))
	b.Buf.B = append(b.Buf.B, p...)
	bufpool.Put(old)
}

// move copies the content to another buffer, of size bytes. The caller has to
// return the old buffer to the pool.
func (b *Body) move(size int) {
	old := b.Buf
	b.Buf = bufpool.Get(size)
	if old != nil {
		b.Buf.B = append(b.Buf.B, old.B...)
	}
}

// Capacity returns the size of the buffer.
func (b *Body) Capacity() int {
	if b.Buf == nil {
		return 0
	}
	return cap(b.Buf.B)
}

// A full buffer doubles its size. If it has less than fastGrowth bytes, it grows
// fourfold instead: copying costs more than so little memory.
const fastGrowth = 64 << 10

// grown returns the size that the buffer needs for n more bytes, or 0 if it is large
// enough. At most left bytes are still expected: the size leaves no room for more than
// them.
func (b *Body) grown(n int, left int64) int {
	if b.Buf == nil {
		return n
	}
	size := cap(b.Buf.B)
	if size-len(b.Buf.B) >= n {
		return 0
	}
	grown := 2 * size
	if grown < fastGrowth {
		grown *= 2
	}
	if left < int64(grown) {
		grown = min(grown, len(b.Buf.B)+int(left))
	}
	return max(len(b.Buf.B)+n, grown)
}

// Grow replaces the buffer by one of size bytes, and returns the old one to the pool.
func (b *Body) Grow(size int) {
	old := b.Buf
	b.move(size)
	bufpool.Put(old)
}

// MakeRoom makes room for n bytes that have arrived. They are the first of left
// bytes that were announced.
func (b *Body) MakeRoom(n int, left int64) {
	if b.Buf == nil {
		return
	}
	if size := b.grown(n, left); size > 0 {
		b.Grow(size)
	}
}

// Set makes the content a copy of p.
func (b *Body) Set(p []byte) {
	if b.Stream != nil {
		_ = b.CloseStream()
	}
	b.Raw, b.Broken = nil, nil
	b.put(p)
}

// Append appends p to the buffered content. A stream is dropped.
func (b *Body) Append(p []byte) {
	_ = b.CloseStream()
	b.Broken = nil
	b.Write(p)
}

// Empty drops the content and keeps the buffer: the next content may be a part of
// the bytes in it.
func (b *Body) Empty() {
	_ = b.CloseStream()
	b.Raw, b.Broken = nil, nil
	if b.Buf != nil {
		b.Buf.B = b.Buf.B[:0]
	}
}

// SetRaw makes p the content, without copying it.
func (b *Body) SetRaw(p []byte) {
	b.Empty()
	b.Raw = p
}

// SetStream makes r the content: size bytes, or an unknown number if size is negative.
func (b *Body) SetStream(r io.Reader, size int) {
	b.Empty()
	if l, ok := r.(*io.LimitedReader); ok && size < 0 {
		// an io.LimitedReader knows how many bytes it has
		size = int(l.N)
	}
	b.Stream, b.Size = r, size
	if b.Owner != nil && r != nil && !b.Owner.RecordStream(r) {
		CloseUnsent(r)
	}
}

// CloseUnsent closes an unsent stream, or does nothing if there is none.
func CloseUnsent(stream io.Reader) {
	// a panic in a Close of the application matters no more than the failure that kept it from
	// being sent
	defer func() { _ = recover() }()
	if c, ok := stream.(io.Closer); ok {
		_ = c.Close()
	}
}

// DetachStream takes the stream out of the body, and returns its size as well.
func (b *Body) DetachStream() (stream io.Reader, size int) {
	if b.Stream == nil {
		return nil, b.Size
	}
	stream, b.Stream = b.Stream, nil
	if b.Owner != nil && !b.Owner.ClaimStream() {
		return nil, 0
	}
	return stream, b.Size
}

// OwnBuffer is the size up to which a message keeps the buffer of its body for the
// next body: most bodies are no larger, and using the pool takes time.
const OwnBuffer = 4 << 10

// Reset empties the body. Its buffer goes back to the pool unless it is small or
// keep is set.
func (b *Body) Reset(pool int, keep bool) {
	if b.Stream != nil {
		_ = b.CloseStream()
	}
	if b.Raw != nil {
		b.Raw = nil
	}
	if b.Broken != nil {
		b.Broken = nil
	}
	b.Limit = 0
	if b.Buf == nil {
		return
	}
	b.Buf.B = b.Buf.B[:0]
	if keep {
		return
	}
	size := cap(b.Buf.B)
	switch limit := BodyPoolLimits[pool].Load(); {
	case limit >= 0 && int64(size) > limit:
	case size <= OwnBuffer:
		return
	default:
		bufpool.Put(b.Buf)
	}
	b.Buf = nil
}

// Shrink drops a buffer larger than size, and leaves it to the garbage collector.
func (b *Body) Shrink(size int) {
	b.Raw = nil
	if b.Buf != nil && cap(b.Buf.B) > size {
		_ = b.CloseStream()
		b.Buf = nil
	}
}

// ReleaseBuffer returns the buffer to the pool.
func (b *Body) ReleaseBuffer() {
	bufpool.Put(b.Buf)
	b.Buf = nil
}

// Swap replaces the content by p, and returns the old content.
func (b *Body) Swap(p []byte) []byte {
	_ = b.Load()
	b.Broken = nil
	old := b.Bytes()
	b.Raw = nil
	if b.Buf == nil {
		b.Buf = new(bufpool.Buffer)
	}
	b.Buf.B = p
	return old
}

// CloseStream closes the stream, if there is one, and drops it.
func (b *Body) CloseStream() error {
	if b.Stream == nil {
		return nil
	}
	s, _ := b.DetachStream()
	c, ok := s.(io.Closer)
	if !ok {
		return nil
	}
	err := c.Close()
	b.reclaim(s)
	return err
}

// Load reads the stream into the buffer.
func (b *Body) Load() error {
	if b.Stream == nil {
		return b.Broken
	}
	stream := b.Stream
	_, b.Broken = bodyio.Copy((*Writer)(b), stream)
	_ = b.CloseStream()
	return b.Broken
}

// Writer appends to a body. BodyWriter returns it, so it must not have the methods of a
// body.
type Writer Body

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	(*Body)(w).Write(p)
	return len(p), nil
}

// WriteString implements io.StringWriter.
func (w *Writer) WriteString(s string) (int, error) { return w.Write(bytesconv.Bytes(s)) }

// SendTo writes the content to w, and closes the stream if there is one.
func (b *Body) SendTo(w io.Writer) error {
	if b.Stream == nil {
		_, err := w.Write(b.Bytes())
		return err
	}
	_, err := bodyio.Copy(w, b.Stream)
	if closed := b.CloseStream(); err == nil {
		err = closed
	}
	return err
}

// WriteFixed writes the stream, which must have size bytes, and closes it.
func (b *Body) WriteFixed(w bodyio.Writer) (err error) {
	defer b.EndStream(&err)
	return bodyio.WriteFixed(w, b.Stream, b.Size)
}

// WriteChunked writes the stream in chunks, flushes each of them, and closes the
// stream. The caller has to write the last chunk and the trailer section.
func (b *Body) WriteChunked(w bodyio.Writer) (err error) {
	defer b.EndStream(&err)
	return bodyio.WriteChunked(w, b.Stream)
}

// WritePlain writes the stream without a coding, flushes each piece, and closes the
// stream. The end of the connection must end the message.
func (b *Body) WritePlain(w bodyio.Writer) (err error) {
	defer b.EndStream(&err)
	return bodyio.WritePlain(w, b.Stream)
}

// Unsize makes a stream of a known size be sent in chunks, so that trailers can
// follow it. It is still an error if the stream has another size.
func (b *Body) Unsize() {
	if b.Size >= 0 {
		b.Stream = bodyio.NewExact(b.Stream, b.Size)
		b.Size = -1
	}
}

// EndStream closes the stream. It recovers from a panic of the stream and makes it
// the error.
func (b *Body) EndStream(err *error) {
	if p := recover(); p != nil {
		*err = StreamPanic("panic while writing body stream", p)
	}
	defer func() {
		if p := recover(); p != nil && *err == nil {
			*err = StreamPanic("panic while closing body stream", p)
		}
	}()
	if closed := b.CloseStream(); *err == nil {
		*err = closed
	}
}

// Within returns content and err, or http1.ErrBodyTooLarge if content is larger than
// limit. A limit of 0 or less means no limit.
func Within(limit int, content []byte, err error) ([]byte, error) {
	if err == nil && limit > 0 && len(content) > limit {
		return nil, http1.ErrBodyTooLarge
	}
	return content, err
}

// Encode encodes the buffered content. The result may be a few bytes larger.
func (b *Body) Encode(c coding.Coding, level int) {
	plain := b.Bytes()
	buf := bufpool.Get(len(plain) / 2)
	buf.B = coding.AppendEncoded(buf.B, plain, c, level)
	bufpool.Put(b.Buf)
	b.Buf, b.Raw = buf, nil
}

// EncodeStream replaces the stream by one that returns its bytes encoded.
func (b *Body) EncodeStream(c coding.Coding, level int) {
	b.Stream = bodyio.NewEncoded(b.Stream, b.Size, c, level)
	b.Size = -1
}

// SetStreamFrom makes the content still on r the stream of the body; h is the header of its
// message.
func (b *Body) SetStreamFrom(r *bufio.Reader, f http1.Framing, h *header.Header) {
	c := b.FreeContent
	if b.FreeContent = nil; c == nil {
		c = new(Incoming)
	}
	c.Owner = b
	c.StartIn(recvbuf.Buffered{R: r}, f, h, nil)
	b.SetStream(c, h.Length)
}

// reclaim keeps a stream of SetStreamFrom that b has closed for the next one. A stream that
// has moved to another body since is not kept: its owner may be reading it still.
func (b *Body) reclaim(stream io.Reader) {
	if c, ok := stream.(*Incoming); ok && c.Owner == b {
		c.Detach()
		c.H, c.Owner = nil, nil
		b.FreeContent = c
	}
}

// Poison overwrites all memory that slices of the content can point to.
func (b *Body) Poison() {
	if b.Buf != nil {
		bufpool.Poison(b.Buf.B)
	}
}
