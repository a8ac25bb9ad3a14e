package coding

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/http1"
)

// The window sizes that a zstd stream may require of its decoder. A stream of a few bytes
// can require half a gigabyte.
const (
	// ZstdContentWindow is the largest window of the body of a message, in bytes
	// (RFC 9659 section 3).
	ZstdContentWindow = 8 << 20
	// zstdHelperWindow is the largest window that the zstd command accepts by
	// default.
	zstdHelperWindow = 128 << 20
	// zstdLargestWindow is the largest window if there is no limit.
	zstdLargestWindow = 512 << 20
)

// DefaultDecodedSize is the limit of the decoded size if no other is given, in bytes.
const DefaultDecodedSize = 256 << 20

// unlimitedSize is more than any content has. Adding to it does not overflow.
const unlimitedSize = math.MaxInt / 2

// Bound limits decoding.
type Bound struct {
	Size   int64 // of the result in bytes
	Window int   // of a zstd decoder in bytes
}

// HelperBound returns the bound for content that is not necessarily from the network.
func HelperBound() Bound { return Bound{Size: DefaultDecodedSize, Window: zstdHelperWindow} }

// streamBound returns the bound for content not kept in memory.
func streamBound() Bound { return Bound{Size: unlimitedSize, Window: zstdHelperWindow} }

// ContentBound returns the bound for the body of a message that was read with a limit
// in bytes. 0 or less means no limit.
func ContentBound(limit int) Bound {
	if limit <= 0 {
		limit = DefaultDecodedSize
	}
	return Bound{Size: int64(limit), Window: ZstdContentWindow}
}

// ExplicitBound returns the bound for a limit in bytes that the application has set.
// 0 or less means no limit. A larger limit allows larger windows of zstd, too.
func ExplicitBound(limit int) Bound {
	if limit <= 0 {
		return Bound{Size: unlimitedSize, Window: zstdLargestWindow}
	}
	windows := (int64(limit)-1)/ZstdContentWindow + 1
	return Bound{Size: int64(limit), Window: int(min(windows*ZstdContentWindow, zstdLargestWindow))}
}

// Decoder decodes a stream. Read returns io.EOF at the end of a complete stream, and
// an error that wraps io.ErrUnexpectedEOF if the stream is cut off. NewDecoder returns
// a Decoder; the caller must call Release on every path.
type Decoder struct {
	decoderState
	coding Coding
	home   *sync.Pool
	window int // see Bound
	begun  bool
	err    error         // returned by Read from now on
	bytes  bytes.Reader  // the source, if it is bytes
	stream *bufio.Reader // the source, if it is a stream
	source decoderSource // one of these two
}

// decoderState is the decoder of a library. start makes it read another stream from
// its start.
type decoderState interface {
	io.Reader
	start(src decoderSource, window int) error
}

// decoderSource is the source of encoded bytes. Decoders need no buffer of their own
// if they can read single bytes from it.
type decoderSource interface {
	io.Reader
	io.ByteScanner
}

// decoders holds the unused decoders. The zstd decoders that may hold large windows have
// their own pool; message content is decoded without them.
var (
	decoders          [Count]sync.Pool
	largeZstdDecoders sync.Pool
)

// NewDecoder returns a Decoder of the stream r. It may read more of r than it
// decodes. Only the window of the bound counts: the caller decides how much it reads.
// The coding must not be Identity.
func NewDecoder(coding Coding, r io.Reader, bound Bound) *Decoder {
	d := acquireDecoder(coding, bound)
	if d.stream == nil {
		d.stream = bufio.NewReader(r)
	} else {
		d.stream.Reset(r)
	}
	d.source = d.stream
	return d
}

// newBytesDecoder is like NewDecoder, for bytes.
func newBytesDecoder(coding Coding, p []byte, bound Bound) *Decoder {
	d := acquireDecoder(coding, bound)
	d.rewind(p)
	return d
}

func acquireDecoder(coding Coding, bound Bound) *Decoder {
	home := &decoders[coding]
	if coding == Zstd && bound.Window > ZstdContentWindow {
		home = &largeZstdDecoders
	}
	d, ok := home.Get().(*Decoder)
	if !ok {
		d = &Decoder{decoderState: newDecoderState(coding), coding: coding, home: home}
	}
	d.window = bound.Window
	return d
}

// rewind makes the decoder decode p from its start.
func (d *Decoder) rewind(p []byte) {
	d.bytes.Reset(p)
	d.source, d.begun, d.err = &d.bytes, false, nil
}

// Release returns the Decoder to its pool. It must not be used afterwards.
func (d *Decoder) Release() {
	d.rewind(nil)
	if d.stream != nil {
		d.stream.Reset(nil)
	}
	d.home.Put(d)
}

// Read implements io.Reader.
func (d *Decoder) Read(p []byte) (int, error) {
	if !d.begun {
		d.begun = true
		if err := d.start(d.source, d.window); err != nil {
			if err == io.EOF {
				// the stream ends inside its header
				err = io.ErrUnexpectedEOF
			}
			d.err = d.failure(err, true)
		}
	}
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.decoderState.Read(p)
	if err != nil {
		d.err = d.failure(err, false)
	}
	return n, d.err
}

// failure returns the error of Read for an error of a library. atStart means that the
// error is not in the data after a first member of gzip.
func (d *Decoder) failure(err error, atStart bool) error {
	if err == io.EOF {
		return err
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return http1.ErrBodyTooLarge
	}
	if err == gzip.ErrHeader && atStart || err == zlib.ErrHeader {
		// programs expect these errors, and their texts, for data without a valid header
		return err
	}
	return fmt.Errorf("fasthttp: cannot decode %s: %w", d.coding, err)
}

func newDecoderState(coding Coding) decoderState {
	switch coding {
	case Deflate:
		return &deflateDecoder{}
	case Gzip:
		return &gzipDecoder{}
	case Zstd:
		return &zstdDecoder{}
	case Brotli:
		return &brotliDecoder{}
	}
	panic("BUG: there is no decoder for " + coding.String())
}

type gzipDecoder struct{ gzip.Reader }

func (d *gzipDecoder) start(src decoderSource, _ int) error { return d.Reset(src) }

type brotliDecoder struct{ brotli.Reader }

func (d *brotliDecoder) start(src decoderSource, _ int) error { return d.Reset(src) }

// deflateDecoder decodes deflate with the header of zlib, and without it, as some
// peers send it.
type deflateDecoder struct {
	zlib, raw io.ReadCloser
	active    io.Reader
	some      bool // whether anything was decoded
}

func (d *deflateDecoder) Read(p []byte) (int, error) {
	n, err := d.active.Read(p)
	d.some = d.some || n > 0
	if _, corrupt := errors.AsType[flate.CorruptInputError](err); corrupt && !d.some && d.active == d.raw {
		// then the stream is not deflate without the header of zlib either
		err = zlib.ErrHeader
	}
	return n, err
}

func (d *deflateDecoder) start(src decoderSource, _ int) error {
	d.some = false
	first, err := src.ReadByte()
	if err != nil {
		return err
	}
	if err := src.UnreadByte(); err != nil {
		return err
	}
	if hasZlibMethod(first) {
		return d.startZlib(src)
	}
	if d.raw == nil {
		d.raw = flate.NewReader(src)
	} else if err := d.raw.(flate.Resetter).Reset(src, nil); err != nil {
		return err
	}
	d.active = d.raw
	return nil
}

// hasZlibMethod reports whether a stream of zlib can begin with the byte: its lower
// four bits are the method, which must be 8. A stream without the header of zlib
// cannot begin like this: that would be a stored block with a bit set in its padding,
// which no encoder writes.
func hasZlibMethod(first byte) bool { return first&0x0f == 8 && first>>4 <= 7 }

// emptyZlib is an encoded stream of no bytes. The library needs a well-formed stream
// to make a decoder.
const emptyZlib = "\x78\x9c\x03\x00\x00\x00\x00\x01"

func (d *deflateDecoder) startZlib(src decoderSource) (err error) {
	if d.zlib == nil {
		if d.zlib, err = zlib.NewReader(strings.NewReader(emptyZlib)); err != nil {
			return err
		}
	}
	d.active = d.zlib
	return d.zlib.(zlib.Resetter).Reset(src, nil)
}

type zstdDecoder struct {
	*zstd.Decoder
	window int // the largest window that it accepts
}

func (d *zstdDecoder) start(src decoderSource, window int) (err error) {
	switch {
	case d.Decoder == nil:
		d.Decoder, err = zstd.NewReader(src,
			zstd.WithDecoderMaxWindow(uint64(window)),
			zstd.WithDecoderLowmem(true),
			// more would start goroutines
			zstd.WithDecoderConcurrency(1))
	case d.window != window:
		err = d.ResetWithOptions(src, zstd.WithDecoderMaxWindow(uint64(window)))
	default:
		err = d.Reset(src)
	}
	d.window = window
	return err
}

// eagerSize is the number of bytes that are decoded into memory before their total
// number is known.
const eagerSize = 16 << 20

// AppendDecoded decodes src, appends the result to dst, and returns the extended
// slice. If src is faulty, it appends the part that could be decoded. If the result is larger
// than the bound allows, it appends nothing and returns http1.ErrBodyTooLarge.
//
// Large content is decoded twice, the first time only to count the bytes. So no
// memory is allocated for a few kilobytes that would decode to gigabytes, and content
// within the bound is not copied from buffer to buffer while it grows.
func AppendDecoded(dst, src []byte, coding Coding, bound Bound) ([]byte, error) {
	d := newBytesDecoder(coding, src, bound)
	defer d.Release()
	from := len(dst)
	eager := min(bound.Size, eagerSize)
	guess := min(eager, int64(max(4*len(src), 512)))
	dst, err := d.appendUpTo(slices.Grow(dst, int(guess)+1), eager)
	if err == http1.ErrBodyTooLarge && eager < bound.Size {
		total := int64(len(dst) - from)
		var rest int64
		if rest, err = d.count(bound.Size - total); err != http1.ErrBodyTooLarge {
			// a fault that was found ends decoding again
			dst = slices.Grow(dst[:from], int(total+rest)+1)
			d.rewind(src)
			dst, err = d.appendUpTo(dst, min(bound.Size, unlimitedSize))
		}
	}
	if err == http1.ErrBodyTooLarge {
		dst = dst[:from]
	}
	return dst, err
}

// Decode decodes content and returns the result in a new slice, or nil and an error.
// The error is http1.ErrBodyTooLarge if the result is larger than the bound allows.
func Decode(content []byte, coding Coding, bound Bound) ([]byte, error) {
	result, err := AppendDecoded(nil, content, coding, bound)
	if err != nil {
		return nil, err
	}
	return result, nil
}

// appendUpTo reads the decoded content and appends it to dst. It returns
// http1.ErrBodyTooLarge if there are more than limit bytes; then it has appended
// limit+1 bytes.
func (d *Decoder) appendUpTo(dst []byte, limit int64) ([]byte, error) {
	from := len(dst)
	for {
		got := len(dst) - from
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, int(min(int64(max(got, 512)), limit-int64(got)+1)))
		}
		// one byte more than allowed shows that the content is too large
		room := min(int64(cap(dst)-len(dst)), limit-int64(got)+1)
		n, err := d.Read(dst[len(dst) : len(dst)+int(room)])
		dst = dst[:len(dst)+n]
		switch {
		case int64(len(dst)-from) > limit:
			return dst, http1.ErrBodyTooLarge
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return dst, err
		}
	}
}

// decodePiece is the size of the pieces in which content is decoded if it is not kept
// in memory.
const decodePiece = 32 << 10

// count reads the stream to its end and returns the number of bytes. It returns
// http1.ErrBodyTooLarge as soon as there are more than limit.
func (d *Decoder) count(limit int64) (n int64, err error) {
	buf := bufpool.Get(decodePiece)
	defer bufpool.Put(buf)
	for {
		k, err := d.Read(buf.B[:cap(buf.B)])
		n += int64(k)
		switch {
		case n > limit:
			return n, http1.ErrBodyTooLarge
		case err == io.EOF:
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

// WriteDecoded decodes src and writes the result to w, piece by piece and without a
// bound on its size. It returns the number of bytes written.
func WriteDecoded(w io.Writer, src []byte, coding Coding) (n int, err error) {
	d := newBytesDecoder(coding, src, streamBound())
	defer d.Release()
	buf := bufpool.Get(decodePiece)
	defer bufpool.Put(buf)
	for {
		k, err := d.Read(buf.B[:cap(buf.B)])
		if k > 0 {
			written, err := w.Write(buf.B[:k])
			n += written
			if err == nil && written < k {
				err = io.ErrShortWrite
			}
			if err != nil {
				return n, err
			}
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
