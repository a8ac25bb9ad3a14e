package fasthttp

import (
	"bufio"
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
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// body is the content of a message: bytes in a buffer of the message, bytes of
// the application, or a stream.
type body struct {
	buf         *bufpool.Buffer
	raw         []byte // the argument of SetBodyRaw
	stream      io.Reader
	size        int        // of stream; negative if it is not known
	broken      error      // why stream could not be read to its end
	limit       int        // in bytes, under which the content was read; also limits its decoded form
	freeContent *h1Content // for the next stream of setStreamFrom, or nil
	owner       streamOwner
}

// streamOwner closes the stream of an unsent body, if the body has an owner.
type streamOwner interface {
	// recordStream records that r is the stream now, and reports whether it may still be
	// sent. Otherwise the caller closes it.
	recordStream(r io.Reader) (sent bool)
	// claimStream reports whether the stream is still to be closed, which the caller must
	// then do.
	claimStream() bool
}

// bodyPoolLimits are the sizes over which buffers of request and response bodies
// do not go back to the pool; negative for no limit.
var bodyPoolLimits [2]atomic.Int64

func init() {
	bodyPoolLimits[0].Store(-1)
	bodyPoolLimits[1].Store(-1)
}

const (
	requestPool  = 0
	responsePool = 1
)

// SetBodySizePoolLimit sets the largest sizes in bytes of the buffers that are
// reused for other request and response bodies. The garbage collector frees larger
// buffers. With a negative limit, the default, only the limit of the pool itself
// applies, which is 1 MiB.
func SetBodySizePoolLimit(reqBodyLimit, respBodyLimit int) {
	bodyPoolLimits[requestPool].Store(int64(reqBodyLimit))
	bodyPoolLimits[responsePool].Store(int64(respBodyLimit))
}

// bytes returns the buffered content.
func (b *body) bytes() []byte {
	if b.raw != nil {
		return b.raw
	}
	if b.buf == nil {
		return nil
	}
	return b.buf.B
}

// write appends p to the buffered content. If the buffer is too small, the content
// moves to a larger one, and the old buffer goes back to the pool.
func (b *body) write(p []byte) {
	if b.raw != nil {
		raw := b.raw
		b.raw = nil
		b.put(raw)
	}
	b.extend(p)
}

// put replaces the buffered content by p, which may be a part of the buffer.
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

// A full buffer doubles its size. If it has less than fastGrowth bytes, it grows
// fourfold instead: copying costs more than so little memory.
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

// move copies the content to another buffer, of size bytes. The caller has to
// return the old buffer to the pool.
func (b *body) move(size int) {
	old := b.buf
	b.buf = bufpool.Get(size)
	if old != nil {
		b.buf.B = append(b.buf.B, old.B...)
	}
}

// capacity returns the size of the buffer.
func (b *body) capacity() int {
	if b.buf == nil {
		return 0
	}
	return cap(b.buf.B)
}

// grown returns the size that the buffer needs for n more bytes, or 0 if it is large
// enough. At most left bytes are still expected: the size leaves no room for more than
// them.
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

// grow replaces the buffer by one of size bytes, and returns the old one to the pool.
func (b *body) grow(size int) {
	old := b.buf
	b.move(size)
	bufpool.Put(old)
}

// makeRoom makes room for n bytes that have arrived. They are the first of left
// bytes that were announced.
func (b *body) makeRoom(n int, left int64) {
	if b.buf == nil {
		return
	}
	if size := b.grown(n, left); size > 0 {
		b.grow(size)
	}
}

func (b *body) set(p []byte) {
	if b.stream != nil {
		_ = b.closeStream()
	}
	b.raw, b.broken = nil, nil
	b.put(p)
}

func (b *body) append(p []byte) {
	_ = b.closeStream()
	b.broken = nil
	b.write(p)
}

// empty drops the content and keeps the buffer: the next content may be a part of
// the bytes in it.
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
		// an io.LimitedReader knows how many bytes it has
		size = int(l.N)
	}
	b.stream, b.size = r, size
	if b.owner != nil && r != nil && !b.owner.recordStream(r) {
		closeUnsent(r)
	}
}

// closeUnsent closes an unsent stream, or does nothing if there is none.
func closeUnsent(stream io.Reader) {
	// a panic in a Close of the application matters no more than the failure that kept it from
	// being sent
	defer func() { _ = recover() }()
	if c, ok := stream.(io.Closer); ok {
		_ = c.Close()
	}
}

// detachStream takes the stream out of the body, and returns its size as well.
func (b *body) detachStream() (stream io.Reader, size int) {
	if b.stream == nil {
		return nil, b.size
	}
	stream, b.stream = b.stream, nil
	if b.owner != nil && !b.owner.claimStream() {
		return nil, 0
	}
	return stream, b.size
}

// ownBuffer is the size up to which a message keeps the buffer of its body for the
// next body: most bodies are no larger, and using the pool takes time.
const ownBuffer = 4 << 10

// reset empties the body. Its buffer goes back to the pool unless it is small or
// keep is set.
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

// shrink drops a buffer larger than size, and leaves it to the garbage collector.
func (b *body) shrink(size int) {
	b.raw = nil
	if b.buf != nil && cap(b.buf.B) > size {
		_ = b.closeStream()
		b.buf = nil
	}
}

// releaseBuffer returns the buffer to the pool.
func (b *body) releaseBuffer() {
	bufpool.Put(b.buf)
	b.buf = nil
}

// swap replaces the content by p, and returns the old content.
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
	s, _ := b.detachStream()
	c, ok := s.(io.Closer)
	if !ok {
		return nil
	}
	err := c.Close()
	b.reclaim(s)
	return err
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

// bodyWriter appends to a body. BodyWriter returns it, so it must not have the methods of a
// body.
type bodyWriter body

func (w *bodyWriter) Write(p []byte) (int, error) {
	(*body)(w).write(p)
	return len(p), nil
}

func (w *bodyWriter) WriteString(s string) (int, error) { return w.Write(bytesconv.Bytes(s)) }

// Names of internal/bodyio that this package uses often.
type flushWriter = bodyio.Writer

var (
	errStreamClosed = bodyio.ErrClosed
	errShortStream  = bodyio.ErrShort
)

// copyStream copies all of r to w.
func copyStream(w io.Writer, r io.Reader) (int64, error) { return bodyio.Copy(w, r) }

// writeTo writes the content to w, and closes the stream if there is one.
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

// writeChunked writes the stream in chunks, flushes each of them, and closes the
// stream. The caller has to write the last chunk and the trailer section.
func (b *body) writeChunked(w flushWriter) (err error) {
	defer b.endStream(&err)
	return bodyio.WriteChunked(w, b.stream)
}

// writePlain writes the stream without a coding, flushes each piece, and closes the
// stream. The end of the connection must end the message.
func (b *body) writePlain(w flushWriter) (err error) {
	defer b.endStream(&err)
	return bodyio.WritePlain(w, b.stream)
}

// writeLastChunk writes the end of a chunked body: the last chunk and the trailer
// section of h.
func writeLastChunk(w flushWriter, h *header.Header) error {
	end := http1.AppendLastChunk(h.Scratch[header.ScratchTrailers][:0])
	end = h.AppendTrailers(end)
	h.Scratch[header.ScratchTrailers] = end
	_, err := w.Write(end)
	return err
}

// unsize makes a stream of a known size be sent in chunks, so that trailers can
// follow it. It is still an error if the stream has another size.
func (b *body) unsize() {
	if b.size >= 0 {
		b.stream = bodyio.NewExact(b.stream, b.size)
		b.size = -1
	}
}

// endStream closes the stream. It recovers from a panic of the stream and makes it
// the error.
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

// streamPanic returns the error for a panic of a stream.
func streamPanic(what string, value any) error {
	if err, ok := value.(error); ok {
		return &ErrBodyStreamWritePanic{fmt.Errorf("%s: %w", what, err), string(debug.Stack())}
	}
	return &ErrBodyStreamWritePanic{fmt.Errorf("%s: %v", what, value), string(debug.Stack())}
}

// within returns content and err, or ErrBodyTooLarge if content is larger than
// limit. A limit of 0 or less means no limit.
func within(limit int, content []byte, err error) ([]byte, error) {
	if err == nil && limit > 0 && len(content) > limit {
		return nil, ErrBodyTooLarge
	}
	return content, err
}

// encode encodes the buffered content. The result may be a few bytes larger.
func (b *body) encode(c coding.Coding, level int) {
	plain := b.bytes()
	buf := bufpool.Get(len(plain) / 2)
	buf.B = coding.AppendEncoded(buf.B, plain, c, level)
	bufpool.Put(b.buf)
	b.buf, b.raw = buf, nil
}

// encodeStream replaces the stream by one that returns its bytes encoded.
func (b *body) encodeStream(c coding.Coding, level int) {
	b.stream = bodyio.NewEncoded(b.stream, b.size, c, level)
	b.size = -1
}

// fileSpan is a body stream whose bytes lie in a file of the operating system, so
// that the kernel can copy them to a connection. The sender sends length bytes from
// offset on and closes the stream as it would any other. It must not move the
// position of the file, which other streams share.
type fileSpan interface {
	span() (file *os.File, offset, length int64)
}

// receiver receives the content of one message, piece by piece as it arrives, and
// appends it to the body of the message. It never blocks.
type receiver struct {
	decoder http1.Body
	limit   int64 // of the content in bytes; 0 for none
	got     int64
	// bodyOnly means that the caller reads the trailer section
	bodyOnly bool
	accept   header.TrailerFilter // nil except for a server
}

func (r *receiver) start(f http1.Framing, limit int) error {
	r.decoder.Start(f)
	r.limit, r.got = int64(max(limit, 0)), 0
	if r.limit > 0 && f.Kind == http1.Length && f.Length > r.limit {
		return ErrBodyTooLarge
	}
	return nil
}

// feed reads the bytes of b that belong to the message, and returns their number.
// They include the trailer section, which is added to h. done reports whether the
// message is complete.
func (r *receiver) feed(b []byte, dst *body, h *header.Header) (n int, done bool, err error) {
	for !r.decoder.Done() {
		content, used, err := r.decoder.Next(b[n:])
		n += used
		if err != nil {
			return n, false, brokenChunk(err)
		}
		r.got += int64(len(content))
		// the size of a chunk is checked before its content arrives
		if r.limit > 0 && (r.got > r.limit || r.decoder.Remaining() > r.limit-r.got) {
			return n, false, ErrBodyTooLarge
		}
		if len(content) == 0 {
			if r.decoder.Done() {
				break
			}
			return n, false, nil
		}
		if r.got > int64(len(content)) && r.decoder.Kind() == http1.Length {
			dst.makeRoom(len(content), int64(len(content))+r.decoder.Remaining())
		}
		dst.write(content)
	}
	if r.decoder.Kind() != http1.Chunks || r.bodyOnly {
		return n, true, nil
	}
	used, err := h.FeedTrailers(b[n:], r.accept)
	if err != nil {
		return n, false, err
	}
	return n + used, used > 0, nil
}

// grown returns the largest size that the buffer of dst can get if n bytes are fed,
// or 0 if it is large enough.
func (r *receiver) grown(dst *body, n int) int {
	if r.decoder.Kind() != http1.Length {
		return dst.grown(n, math.MaxInt64)
	}
	left := r.decoder.Remaining()
	return dst.grown(int(min(int64(n), left)), left)
}

// brokenChunk wraps an error of the chunked coding.
func brokenChunk(err error) error {
	return ErrBrokenChunk{err}
}

// readBody reads the content of a message from in into dst, and the trailer section
// after a chunked body into h.
func readBody(in recvbuf.Source, f http1.Framing, limit int, dst *body, h *header.Header) error {
	var r receiver
	return r.read(in, f, limit, dst, h)
}

// readBodyOnly is like readBody, but leaves the trailer section after a chunked
// body in the source: ReadTrailer reads it.
func readBodyOnly(in recvbuf.Source, f http1.Framing, limit int, dst *body, h *header.Header) error {
	r := receiver{bodyOnly: true}
	return r.read(in, f, limit, dst, h)
}

// bodyReader is readBody or readBodyOnly.
type bodyReader func(in recvbuf.Source, f http1.Framing, limit int, dst *body, h *header.Header) error

func (r *receiver) read(in recvbuf.Source, f http1.Framing, limit int, dst *body, h *header.Header) error {
	if err := r.start(f, limit); err != nil {
		return err
	}
	dst.limit = limit
	for {
		n, done, err := r.feed(in.Peek(), dst, h)
		in.Discard(n)
		if done || err != nil {
			return err
		}
		switch err := in.Fill(); {
		case err == nil:
		case err == io.EOF && f.Kind == http1.UntilClose:
			return nil
		case err == io.EOF:
			return io.ErrUnexpectedEOF
		case err == bufio.ErrBufferFull:
			// only a trailer section stays in the buffer until it is whole
			return atEnd(h.ReadTrailers(in, r.accept))
		default:
			return err
		}
	}
}

// atEnd returns the error of reading a part that a message must have at its end:
// the end of the stream is unexpected there.
func atEnd(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// contentSource is the content of a message, read while it arrives, in whatever
// protocol. A message, its context and its handlers know no more of the transport of
// the content than this.
//
// It is used by one goroutine at a time, except for Ended.
type contentSource interface {
	// Close ends the reading. Unread content stays where it is.
	io.ReadCloser
	// Limit limits the bytes that Read may still return to n. It returns
	// ErrBodyTooLarge if there are certainly more: then Read fails, as it does when it
	// finds more.
	Limit(n int64) error
	// Drain reads and discards the rest of the message, even after Close: limit bytes
	// at most, which it subtracts from limit.
	Drain(limit *int) bodyio.Drained
	// DrainArrived is Drain that does not wait for the rest.
	DrainArrived(limit *int) bodyio.Drained
	// Ended reports whether the message was read to its end.
	Ended() bool
	// trailersTo makes h the header that gets the trailer section.
	trailersTo(h *header.Header)
}

// h1Content is the content of a message in HTTP/1. It must not be copied once it was
// started.
type h1Content struct {
	bodyio.Incoming
	h      *header.Header
	accept header.TrailerFilter // nil except for a server
	owner  *body                // which uses it again after closing it, or nil
}

var (
	_ contentSource       = (*h1Content)(nil)
	_ ReadCloserWithError = (*h1Content)(nil)
	_ bodyio.Recipient    = (*h1Content)(nil)
)

// start makes c the content with framing f that begins in in.
func (c *h1Content) start(in recvbuf.Source, f http1.Framing, h *header.Header, accept header.TrailerFilter) {
	c.h, c.accept = h, accept
	c.Start(in, f, c)
}

// resume is start for content of which decoder has decoded a part.
func (c *h1Content) resume(in recvbuf.Source, decoder http1.Body, h *header.Header, accept header.TrailerFilter) {
	c.h, c.accept = h, accept
	c.Resume(in, decoder, c)
}

// clear makes c the zero value.
func (c *h1Content) clear() {
	c.Clear()
	c.h, c.accept = nil, nil
}

// trailersTo implements contentSource.
func (c *h1Content) trailersTo(h *header.Header) { c.h = h }

// FeedTrailers implements bodyio.Recipient.
func (c *h1Content) FeedTrailers(b []byte) (n int, err error) { return c.h.FeedTrailers(b, c.accept) }

// BrokenChunk implements bodyio.Recipient.
func (c *h1Content) BrokenChunk(err error) error { return brokenChunk(err) }

// setStreamFrom makes the content still on r the stream of the body; h is the header of its
// message.
func (b *body) setStreamFrom(r *bufio.Reader, f http1.Framing, h *header.Header) {
	c := b.freeContent
	if b.freeContent = nil; c == nil {
		c = new(h1Content)
	}
	c.owner = b
	c.start(recvbuf.Buffered{R: r}, f, h, nil)
	b.setStream(c, h.Length)
}

// reclaim keeps a stream of setStreamFrom that b has closed for the next one. A stream that
// has moved to another body since is not kept: its owner may be reading it still.
func (b *body) reclaim(stream io.Reader) {
	if c, ok := stream.(*h1Content); ok && c.owner == b {
		c.Detach()
		c.h, c.owner = nil, nil
		b.freeContent = c
	}
}
